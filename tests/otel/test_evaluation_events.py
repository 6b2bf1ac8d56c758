"""Scores as OTel events."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ragtrace.errors import ConfigError
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi
from ragtrace.model import Score, Unscored
from ragtrace.otel import evaluation_events
from ragtrace.otel.evaluation_events import EvaluationEvents, make_events
from ragtrace.scorer import ScoringOptions, StateFile, Tally
from ragtrace.scorer.window import score_calls
from ragtrace.settings import load_settings
from tests.build import call
from tests.scorer.judges import ExactJudge
from tests.seed import many, seed, trace_id

RESULTS = (
    Score(name="faithfulness", value=0.5, comment="One of two claims."),
    Score(name="rag_outcome", value="scored", data_type="CATEGORICAL"),
    Unscored(name="context_recall", reason="no_reference", detail="no reference"),
)


@dataclass
class Collector:
    """A server that takes OTLP."""

    url: str = ""
    status: int = 200
    requests: list[tuple[str | None, dict]] = field(default_factory=list)


@pytest.fixture
def collector() -> Iterator[Collector]:
    taken = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if taken.status == 200:
                taken.requests.append((self.headers["x-key"], json.loads(body)))
            self.send_response(taken.status)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    taken.url = f"http://127.0.0.1:{server.server_port}/v1/logs"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield taken
    server.shutdown()
    thread.join()
    server.server_close()


def records(request: dict) -> list[dict]:
    return request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]


def attributes(record: dict) -> dict[str, object]:
    return {pair["key"]: next(iter(pair["value"].values())) for pair in record["attributes"]}


async def test_events_are_on_the_evaluated_span(tmp_path):
    """Each result is one event with the ids of the span that was evaluated; a file gets one request a line."""
    file = tmp_path / "events.jsonl"
    events = EvaluationEvents(str(file))
    events.add(call(), RESULTS, judge="f1")
    await events.send()
    await events.send()

    (line,) = file.read_text(encoding="utf-8").splitlines()
    found = records(json.loads(line))
    assert {(r["eventName"], r["traceId"], r["spanId"]) for r in found} == {
        ("gen_ai.evaluation.result", "0" * 31 + "1", "0" * 15 + "2")
    }
    assert [attributes(record) for record in found] == [
        {
            "gen_ai.evaluation.name": "faithfulness",
            "ragtrace.judge.fingerprint": "f1",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.explanation": "One of two claims.",
        },
        {
            "gen_ai.evaluation.name": "rag_outcome",
            "ragtrace.judge.fingerprint": "f1",
            "gen_ai.evaluation.score.label": "scored",
        },
        {
            "gen_ai.evaluation.name": "context_recall",
            "ragtrace.judge.fingerprint": "f1",
            "ragtrace.unscored": "no_reference",
            "gen_ai.evaluation.explanation": "no reference",
        },
    ]


async def test_what_a_backend_does_not_take_is_sent_again(collector, caplog):
    """A failing backend costs nothing but time; the events wait, within a bound."""
    settings = load_settings({"RAGTRACE_SCORER_EVENTS": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b"})
    events = make_events(settings)
    assert events is not None
    events.add(call(), RESULTS, judge=None)
    collector.status = 503
    await events.send()
    collector.status = 200
    await events.send()

    ((key, request),) = collector.requests
    assert (key, len(records(request))) == ("a b", 3)
    assert "3 evaluation events wait" in caplog.text


async def test_events_that_wait_are_bounded(tmp_path, caplog):
    """Beyond the bound the oldest are dropped, and the log says how many."""
    events = EvaluationEvents(str(tmp_path / "missing" / "events.jsonl"))
    for _ in range(evaluation_events._MOST_WAITING // 3 + 1):
        events.add(call(), RESULTS, judge=None)
    await events.send()

    assert "2 evaluation events are lost" in caplog.text


@pytest.mark.parametrize(
    ("target", "problem"),
    [("grpc://x:4317", "expected http://…/v1/logs, or a file"), ("/no/such/folder/x.jsonl", "there is no such folder")],
)
def test_a_wrong_target_is_said_at_the_start(target, problem):
    """A setting that cannot work is an error before anything is scored; without it there are no events."""
    with pytest.raises(ConfigError, match=problem):
        make_events(load_settings({"RAGTRACE_SCORER_EVENTS": target}))
    assert make_events(load_settings({})) is None


async def test_the_scorer_writes_events_beside_its_scores(local_langfuse, tmp_path):
    """With the setting, every score that goes to Langfuse is an event, too, and a call done before gives none."""
    seed(local_langfuse, many(2))
    file = tmp_path / "events.jsonl"
    options = ScoringOptions(events=EvaluationEvents(str(file)))
    connection = Connection(
        local_langfuse.base_url, public_key=local_langfuse.public_key, secret_key=local_langfuse.secret_key
    )
    with StateFile(tmp_path / "state.sqlite", project="p") as state:
        async with LangfuseApi(connection) as api:
            for _ in range(2):
                await score_calls(api, ExactJudge(), state, query=CallQuery(), options=options, tally=Tally())

    (line,) = file.read_text(encoding="utf-8").splitlines()
    outcomes = [r for r in records(json.loads(line)) if attributes(r)["gen_ai.evaluation.name"] == "rag_outcome"]
    assert sorted(record["traceId"] for record in outcomes) == [trace_id(0), trace_id(1)]
