"""Scoring traces that carry no rag-call."""

import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from ragtrace.extract import ObservationRow
from ragtrace.extract.span import Span
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, RetryPolicy
from ragtrace.langfuse.datasets import read_items
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer import ScoringOptions, StateFile, Tally
from ragtrace.scorer.follow import Follower, Lookback
from ragtrace.scorer.promote import PromoteRequest, parse_limits, run_promote
from ragtrace.scorer.rebuild import TraceRebuilder, make_rebuilder
from ragtrace.scorer.rebuild_rules import Rules, read
from ragtrace.scorer.selection import Sampling
from ragtrace.settings import load_settings
from tests.extract.recordings import CONVENTIONS, WITH_TEXT, recorded
from tests.langfuse.test_api import Limited
from tests.scorer.judges import ExactJudge, unavailable
from tests.scorer.test_follow import Clock
from tests.seed import RIVER, STARTED_AT, TOWER, SeedCall, seed, stored_scores, trace_id

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)
QUESTION = "How high is the tower?"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One observation, in the number of seconds after the start of its trace."""

    kind: str
    span: int
    start: float
    end: float
    parent: int | None = 1
    given: object = QUESTION
    returned: object = TOWER
    more: dict[str, object] = field(default_factory=dict)


DOCUMENTS = [{"page_content": text, "id": f"d{rank}", "type": "Document"} for rank, text in enumerate((TOWER, RIVER))]
ROOT = Part(kind="chain", span=1, start=0, end=3, parent=None)
RETRIEVER = Part(kind="retriever", span=2, start=0.5, end=1, returned=DOCUMENTS)
PROMPT = [{"role": "system", "content": f"Use: {TOWER}"}, {"role": "user", "content": QUESTION}]
GENERATION = Part(
    kind="generation", span=3, start=1, end=3, given=PROMPT, returned={"role": "assistant", "content": TOWER}
)
WHOLE = (ROOT, RETRIEVER, GENERATION)


def put(server: LocalLangfuse, number: int, parts: tuple[Part, ...], *, minutes: float = 0) -> None:
    """Send observations of a trace as Langfuse's SDK does."""
    start = STARTED_AT + timedelta(minutes=minutes)
    send(server, [_span(part, number, int(start.timestamp())) for part in parts], scope="langfuse-sdk")


def send(server: LocalLangfuse, spans: list[dict[str, object]], *, scope: str) -> None:
    """Send spans in OTLP's JSON."""
    scoped = {"scope": {"name": scope}, "spans": spans}
    body = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scoped]}]}
    url = f"{server.base_url}/api/public/otel/v1/traces"
    assert httpx.post(url, json=body, auth=(server.public_key, server.secret_key)).status_code == 200


def span_id(number: int, span: int) -> str:
    return f"{(number + 1) * 1000 + span:016x}"


def _span(part: Part, number: int, start: int) -> dict[str, object]:
    attributes = {
        "langfuse.observation.type": part.kind,
        "langfuse.observation.input": _text(part.given),
        "langfuse.observation.output": _text(part.returned),
        **part.more,
    }
    return {
        "traceId": trace_id(number),
        "spanId": span_id(number, part.span),
        **({"parentSpanId": span_id(number, part.parent)} if part.parent else {}),
        "name": part.kind,
        "kind": 1,
        "startTimeUnixNano": str(int((start + part.start) * 1e9)),
        "endTimeUnixNano": str(int((start + part.end) * 1e9)),
        "attributes": [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()],
        "status": {"code": 0},
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(kw_only=True)
class Setting:
    """A scorer that follows a server and rebuilds traces; each look may be by a new process."""

    server: LocalLangfuse
    state_path: Path
    judge: ExactJudge = field(default_factory=ExactJudge)
    clock: Clock = field(default_factory=lambda: Clock(now=STARTED_AT + timedelta(seconds=90)))

    transport: httpx.AsyncBaseTransport | None = None

    async def look(self, **options: object) -> Tally:
        tally = Tally()
        url, keys = self.server.base_url, (self.server.public_key, self.server.secret_key)
        connection = Connection(url, public_key=keys[0], secret_key=keys[1], policy=QUICK, transport=self.transport)
        with StateFile(self.state_path, project="p") as state:
            async with LangfuseApi(connection) as api:
                scoring = ScoringOptions(concurrency=4, now=self.clock, **options)
                rebuilder = TraceRebuilder(api, self.judge, state, options=scoring, rules=Rules())
                follower = Follower(
                    api,
                    self.judge,
                    state,
                    options=scoring,
                    lookback=Lookback(),
                    first_since=STARTED_AT - timedelta(hours=1),
                    now=self.clock,
                    passes=[rebuilder],
                )
                await follower.look(tally)
        return tally

    def outcomes(self) -> dict[tuple[str, str], str]:
        """Return the outcome of each scored observation."""
        return {
            (str(s["subject"]["traceId"]), str(s["subject"]["id"])): str(s["value"])
            for s in stored_scores(self.server, name="rag_outcome")
        }


@pytest.fixture
def setting(local_langfuse, tmp_path):
    return Setting(server=local_langfuse, state_path=tmp_path / "state.sqlite")


def adds_up(tally: Tally) -> bool:
    return tally.listed == tally.own_traffic + tally.not_sampled + tally.sampled and tally.sampled == tally.finished


async def test_a_trace_without_a_rag_call_is_scored_on_its_generation(setting):
    """A trace of Langfuse's handler is rebuilt and judged on what its generator received, once."""
    put(setting.server, 0, WHOLE)
    first = await setting.look()
    setting.clock.forward(minutes=1)
    second = await setting.look()

    assert setting.outcomes() == {(trace_id(0), span_id(0, 3)): "scored"}
    scores = {str(s["name"]): s["value"] for s in stored_scores(setting.server)}
    assert (scores["faithfulness"], scores["context_delivery"]) == (1.0, pytest.approx(0.44, abs=0.01))
    assert (first.scored, second.already_scored, len(setting.judge.judged)) == (1, 1, 1)
    assert adds_up(first)
    assert adds_up(second)


async def test_a_trace_that_is_not_whole_waits_alone(setting):
    """Half a trace is neither dropped nor scored: it is tried again with growing pauses, then scored once.

    Other traces are not held up meanwhile.
    """
    put(setting.server, 0, (RETRIEVER,))
    put(setting.server, 1, WHOLE)
    early = await setting.look()
    setting.clock.forward(minutes=1.5)
    middle = await setting.look()
    put(setting.server, 0, (ROOT, replace(GENERATION, end=150)))
    setting.clock.forward(minutes=1)
    before_due = await setting.look()
    for _ in range(3):
        setting.clock.forward(minutes=2)
        last = await setting.look()

    assert early.pending == {"incomplete_capture": 1}
    assert (early.scored, middle.pending, before_due.put_off) == (1, {"incomplete_capture": 1}, 1)
    assert setting.outcomes() == {
        (trace_id(0), span_id(0, 3)): "scored",
        (trace_id(1), span_id(1, 3)): "scored",
    }
    assert len(setting.judge.judged) == 2
    assert adds_up(last)


async def test_what_stays_incomplete_is_unscored_at_the_deadline(setting):
    """A trace whose answer never comes is marked incomplete after the deadline, on its retrieval, and left alone."""
    put(setting.server, 0, (RETRIEVER,))
    await setting.look()
    for _ in range(6):
        setting.clock.forward(minutes=16)
        tally = await setting.look()

    assert setting.outcomes() == {(trace_id(0), span_id(0, 2)): "incomplete_capture"}
    assert setting.judge.judged == []
    assert adds_up(tally)


async def test_a_trace_with_a_rag_call_is_never_rebuilt(setting):
    """Where the handler recorded the call, its record is scored and nothing else, whatever else is in the trace."""
    call = SeedCall(number=0, question=QUESTION)
    seed(setting.server, [call])
    put(setting.server, 0, WHOLE)
    put(setting.server, 1, WHOLE)
    seed(setting.server, [replace(call, number=1)])
    await setting.look(sampling=Sampling(rate=1.0))
    setting.clock.forward(minutes=2)
    await setting.look()

    assert set(setting.outcomes()) == {call.key, replace(call, number=1).key}


async def test_a_rag_call_outside_the_sample_keeps_its_trace_out(setting):
    """A trace whose rag-call is not listed now, having started earlier, is recognised by its content."""
    seed(setting.server, [SeedCall(number=0, started_at=STARTED_AT - timedelta(hours=2))])
    put(setting.server, 0, WHOLE)
    tally = await setting.look()

    assert (setting.outcomes(), tally.listed, adds_up(tally)) == ({}, 0, True)


async def test_the_same_sample_is_taken(setting):
    """Traces are sampled by the hash of their ids, like rag-calls."""
    for number in range(12):
        put(setting.server, number, WHOLE)
    sampling = Sampling(rate=0.5)
    tally = await setting.look(sampling=sampling)
    held = {n for n in range(12) if sampling.holds(_listed(n))}

    assert {trace for trace, _ in setting.outcomes()} == {trace_id(n) for n in held}
    assert (tally.scored, tally.not_sampled, adds_up(tally)) == (len(held), 12 - len(held), True)


async def test_a_judge_that_is_down_leaves_traces_for_later(setting):
    """Without a judge nothing is marked; the trace is tried again."""
    put(setting.server, 0, WHOLE)
    setting.judge.before = unavailable
    down = await setting.look()
    setting.judge.before = lambda call: None
    setting.clock.forward(minutes=2)
    up = await setting.look()

    assert (down.pending, up.scored) == ({"judge_unavailable": 1}, 1)
    assert len(setting.outcomes()) == 1


async def test_losing_the_state_file_duplicates_nothing(setting):
    """Marks in Langfuse say what is done: without the state file, nothing is judged again."""
    put(setting.server, 0, WHOLE)
    await setting.look()
    setting.state_path = setting.state_path.with_name("other.sqlite")
    again = await setting.look()
    rescored = await setting.look(is_rescore=True)

    assert (again.already_scored, rescored.scored, len(setting.judge.judged)) == (1, 1, 2)
    assert len(setting.outcomes()) == 1


async def test_each_answer_of_a_trace_is_scored(setting):
    """A trace with two questions gives two scored generations."""
    later = [replace(part, span=part.span + 10, start=part.start + 10, end=part.end + 10) for part in WHOLE]
    batch = Part(kind="span", span=9, start=0, end=14, parent=None)
    chains = [replace(part, parent=9) if part.kind == "chain" else part for part in (*WHOLE, *later)]
    inside = [replace(part, parent=11) if part.span in (12, 13) else part for part in chains]
    put(setting.server, 0, (batch, *inside))
    tally = await setting.look()

    assert setting.outcomes() == {(trace_id(0), span_id(0, n)): "scored" for n in (3, 13)}
    assert (tally.scored, adds_up(tally)) == (2, True)


async def test_a_judges_own_trace_is_left_alone(setting):
    """What a judge did is never scored, not even as a trace of another instrumentation."""
    own = {"langfuse.environment": "ragtrace-scorer"}
    put(setting.server, 0, tuple(replace(part, more=own) for part in WHOLE))
    put(setting.server, 1, (ROOT, RETRIEVER, replace(GENERATION, more=own)))
    tally = await setting.look()

    assert (setting.outcomes(), setting.judge.judged, adds_up(tally)) == ({}, [], True)


async def test_traces_too_large_to_be_answered_hold_up_nobody(setting):
    """A trace with an observation that Langfuse cannot hand out is marked on its retrieval; others are scored."""
    put(setting.server, 0, WHOLE)
    put(setting.server, 1, (ROOT, replace(RETRIEVER, returned="x" * 20_000), GENERATION))
    put(setting.server, 2, (RETRIEVER,))
    setting.transport = Limited(8_000)
    first = await setting.look()
    put(setting.server, 2, (replace(GENERATION, given="x" * 20_000),))
    setting.transport = Limited(8_000)
    setting.clock.forward(minutes=2)
    second = await setting.look()

    assert setting.outcomes() == {(trace_id(0), span_id(0, 3)): "scored", (trace_id(1), span_id(1, 2)): "too_long"}
    assert (first.pending, second.pending) == ({"incomplete_capture": 1},) * 2
    assert adds_up(first)
    assert adds_up(second)


async def test_a_judge_that_stays_down_ends_the_look(setting):
    """After several failures in a row the rest waits for the next look, which loses none."""
    for number in range(12):
        put(setting.server, number, WHOLE)
    put(setting.server, 12, (ROOT, replace(RETRIEVER, kind="retrieval"), GENERATION))
    setting.judge.before = unavailable
    down = await setting.look()
    setting.judge.before = lambda call: None
    setting.clock.forward(minutes=2)
    up = await setting.look()

    assert (down.stopped_by, down.pending.total()) == ("judge_unavailable", 12)
    assert (up.scored, len(setting.outcomes())) == (12, 12)


async def test_rebuilding_is_asked_for_in_the_settings(setting):
    """Without the setting, traces without a rag-call are left alone."""
    settings = [load_settings({}), load_settings({"RAGTRACE_SCORER_REBUILD": "true"})]
    connection = Connection("http://127.0.0.1:9", public_key="p", secret_key="s", policy=QUICK)
    with StateFile(setting.state_path, project="p") as state:
        async with LangfuseApi(connection) as api:
            made = [make_rebuilder(one, api, setting.judge, state, ScoringOptions()) for one in settings]

    assert [type(one).__name__ for one in made] == ["NoneType", "TraceRebuilder"]


async def test_what_other_instrumentations_sent_is_scored(setting):
    """What Langfuse made of a real instrumentation's spans is enough to rebuild the call from, if they hold texts."""
    start = int(STARTED_AT.timestamp() * 1e9)
    traces = {convention: recorded(convention, "chain") for convention in CONVENTIONS}
    for convention, spans in traces.items():
        scope = "openinference" if convention == "openinference" else "opentelemetry.instrumentation.langchain"
        send(setting.server, [_recorded_span(span, start) for span in spans], scope=scope)
    await setting.look()

    outcomes = {trace: outcome for (trace, _span), outcome in setting.outcomes().items()}
    assert {convention: outcomes[spans[0].trace_id] for convention, spans in traces.items()} == {
        "otel_genai": "contexts_unknown",
        **dict.fromkeys(WITH_TEXT, "scored"),
    }
    comments = {str(s["value"]): s.get("comment") for s in stored_scores(setting.server, name="rag_outcome")}
    why = "the instrumentation writes ids of documents without their texts"
    assert comments == {"contexts_unknown": why, "scored": None}


def test_observations_that_do_not_hang_together_are_waited_for():
    """Two parents that are missing mean that something is still under way; at the deadline, what is there counts."""
    rows = [
        replace(_listed(0), id=str(n), type=kind, parent_id=f"p{n}", input=given, output=output, end_time=STARTED_AT)
        for n, (kind, given, output) in enumerate(
            [("RETRIEVER", QUESTION, _text(DOCUMENTS)), ("GENERATION", _text(PROMPT), _text({"content": TOWER}))]
        )
    ]
    states = [
        read(rows, listed_end=STARTED_AT, rules=Rules(), now=STARTED_AT + timedelta(minutes=minutes)).state
        for minutes in (0, 2, 40)
    ]

    assert states == ["waiting", "waiting", "whole"]


def _recorded_span(span: Span, start: int) -> dict[str, object]:
    return {
        "traceId": span.trace_id,
        "spanId": span.id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(start + span.start_ns),
        "endTimeUnixNano": str(start + (span.end_ns or 0)),
        "attributes": [{"key": k, "value": {"stringValue": str(v)}} for k, v in span.attributes.items()],
        "status": {"code": 0},
    }


def _listed(number: int) -> ObservationRow:
    return ObservationRow(id="", trace_id=trace_id(number), name="", type="", start_time=STARTED_AT)


def test_queries_for_retrievals():
    """Retrievals are listed by type, or by how their names begin."""
    assert CallQuery(name=None, type="RETRIEVER").conditions() == [
        {"type": "stringOptions", "column": "type", "operator": "any of", "value": ["RETRIEVER"]}
    ]
    assert CallQuery(name_prefix="retrieval").conditions() == [
        {"type": "string", "column": "name", "operator": "starts with", "value": "retrieval"}
    ]


async def test_rebuilt_calls_are_promoted_with_what_they_hold(setting):
    """Question, received text and answer of a rebuilt call are in the dataset as those of a recorded one are."""
    put(setting.server, 0, WHOLE)
    seed(setting.server, [SeedCall(number=1, question=QUESTION)])
    await setting.look()
    variables = {
        "LANGFUSE_BASE_URL": setting.server.base_url,
        "LANGFUSE_PUBLIC_KEY": setting.server.public_key,
        "LANGFUSE_SECRET_KEY": setting.server.secret_key,
    }
    limits = parse_limits([], ["faithfulness=0.5"])
    request = PromoteRequest(dataset="good", limits=limits, since=STARTED_AT, until=STARTED_AT + timedelta(hours=1))
    await run_promote(load_settings(variables), request)

    connection = Connection(
        setting.server.base_url, public_key=setting.server.public_key, secret_key=setting.server.secret_key
    )
    async with LangfuseApi(connection) as api:
        items = await read_items(api.connection, "good")
    assert {item.trace_id: item.input for item in items} == {
        trace_id(0): {"question": QUESTION, "contexts": [TOWER]},
        trace_id(1): {"question": QUESTION, "contexts": [TOWER, RIVER]},
    }
