"""Judged calls go before people once, and what people say comes back, through a real server on loopback."""

import asyncio
import json
import os
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.errors import BackendRejected, ConfigError
from ragtrace.langfuse import Connection, LangfuseApi, OutgoingScore, ScoreRecord, queues
from ragtrace.langfuse.configs import ScoreShape
from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS
from ragtrace.scorer.command import ScoreRequest, run_score
from ragtrace.scorer.labels import read_labels
from ragtrace.scorer.review import JudgedCall, Opinion, agreements, band_of, choose
from ragtrace.scorer.review_pull import PullSummary, pull
from ragtrace.scorer.review_push import QUEUE, PushRequest, PushSummary, push
from ragtrace.settings import Settings, load_settings
from ragtrace.stats.correction import AuditedCall
from tests.seed import RIVER, STARTED_AT, TOWER, SeedCall, seed, span_id, stored_scores, trace_id

SINCE = STARTED_AT - timedelta(days=1)
REQUEST = PushRequest(since=SINCE, share=1.0)


def judged(number: int, **changes) -> JudgedCall:
    call = JudgedCall(
        key=(trace_id(number), span_id(number)),
        faithfulness=1.0,
        needs_review=False,
        marks=frozenset(),
        probability=0.5,
    )
    return replace(call, **changes)


@pytest.mark.parametrize(
    ("changes", "band"),
    [
        ({}, "high"),
        ({"faithfulness": 0.8}, "high"),
        ({"faithfulness": 0.79}, "low"),
        ({"faithfulness": None}, None),
        ({"marks": frozenset({"negation"})}, "suspicious"),
        ({"marks": frozenset({"capped"})}, "high"),
        ({"needs_review": True, "marks": frozenset({"jargon"})}, "undecided"),
        ({"needs_review": True, "faithfulness": None}, "undecided"),
    ],
)
def test_bands(changes, band):
    """Undecided before suspicious before high and low; a call without a verdict and without a doubt is not reviewed."""
    assert band_of(judged(0, **changes), DEFAULT_THRESHOLDS) == band


def chosen(calls: list[JudgedCall], share: float, salt: str = "s"):
    return choose(calls, share=share, salt=salt, thresholds=DEFAULT_THRESHOLDS)


def test_a_share_is_chosen_by_hash():
    """The same calls every time, those of a small share among those of a large one, and the probability with them."""
    calls = [judged(number) for number in range(1000)]
    small, large = chosen(calls, 0.1), chosen(calls, 0.2)

    assert small == chosen(calls[::-1], 0.1)[::-1]
    assert {call.key for call in small} < {call.key for call in large}
    assert 70 < len(small) < 130
    assert {(call.band, call.probability) for call in small} == {("high", 0.05)}
    assert {call.key for call in small} != {call.key for call in chosen(calls, 0.1, salt="other")}


def test_what_is_doubtful_is_chosen_whole():
    """Every undecided and every suspicious call is chosen, with the probability of having been judged."""
    doubtful = [judged(n, needs_review=n % 2 == 0, marks=frozenset({"negation"})) for n in range(50)]

    assert [call.probability for call in chosen(doubtful, 0.1)] == [0.5] * 50


def test_agreement_is_weighted():
    """A call that was unlikely to be shown stands for more calls than one that was certain to be."""
    rare = [Opinion(key=(str(n), "o"), band="high", probability=0.1, human=True, judge=True) for n in range(30)]
    sure = [
        Opinion(key=(f"s{n}", "o"), band="suspicious", probability=1.0, human=True, judge=n < 10 or None)
        for n in range(12)
    ]
    wrong = [replace(o, key=(f"w{o.key[0]}", "o"), human=False) for o in rare]
    found = {a.band: a for a in agreements([*rare, *wrong[:10], *sure])}

    assert found["high"].share.value == pytest.approx(30 / 40)
    assert found["high"].is_low
    assert (found["suspicious"].labelled, found["suspicious"].share.n, found["suspicious"].share.value) == (12, 10, 1.0)
    assert found["low"].share.value is None
    assert not found["low"].is_low
    assert found[None].share.value == pytest.approx((300 + 10) / (400 + 10))


def settings_of(server, tmp_path=None) -> Settings:
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
            "RAGTRACE_STATE": str(tmp_path / "state.sqlite") if tmp_path else os.devnull,
        }
    )


def api_of(server) -> LangfuseApi:
    return LangfuseApi(Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key))


def record(number: int, name: str, value: float | str, **metadata) -> ScoreRecord:
    return ScoreRecord(
        id=f"{name}-{number}",
        trace_id=trace_id(number),
        observation_id=span_id(number),
        name=name,
        value=value,
        data_type="CATEGORICAL" if isinstance(value, str) else "NUMERIC",
        timestamp=STARTED_AT,
        metadata={"inclusion_probability": 0.5, **metadata},
    )


async def write(server, *records: ScoreRecord) -> None:
    async with api_of(server) as api:
        async for _ in api.write_scores([OutgoingScore(id=r.id, body=r.body()) for r in records]):
            pass


async def four_calls(server) -> None:
    """One call in each band, and one that nobody needs to see."""
    await write(
        server,
        record(0, "rag_outcome", "scored"),
        record(0, "faithfulness", 1.0),
        record(1, "rag_outcome", "scored"),
        record(1, "faithfulness", 0.5),
        record(2, "rag_outcome", "undecided", needs_review=True),
        record(3, "rag_outcome", "scored", marks=["negation", "capped"]),
        record(3, "faithfulness", 1.0),
        record(4, "rag_outcome", "no_contexts"),
    )


def get(server, path: str) -> list[dict]:
    reply = httpx.get(f"{server.base_url}/api/public/{path}", auth=(server.public_key, server.secret_key))
    return reply.json()["data"]


def items(server) -> list[dict]:
    (queue,) = get(server, "annotation-queues")
    return get(server, f"annotation-queues/{queue['id']}/items?limit=100")


async def test_calls_are_put_into_the_queue_once(local_langfuse):
    """Queue, question and record of the probability are made; a second time nothing is added."""
    await four_calls(local_langfuse)
    settings = settings_of(local_langfuse)
    look = await push(settings, replace(REQUEST, is_dry_run=True))
    untouched = get(local_langfuse, "annotation-queues")
    first, again = await push(settings, REQUEST), await push(settings, REQUEST)

    assert look == PushSummary(judged=5, chosen=first.chosen, added=4, is_dry_run=True)
    assert untouched == []
    assert first.as_text(QUEUE) == (
        "5 judged calls: 1 high, 1 low, 1 undecided, 1 suspicious; 4 added to 'ragtrace review', 0 already there."
    )
    assert again == replace(first, added=0)
    assert sorted((i["objectId"], i["objectType"]) for i in items(local_langfuse)) == [
        (span_id(number), "OBSERVATION") for number in range(4)
    ]
    (queue,) = get(local_langfuse, "annotation-queues")
    (config,) = get(local_langfuse, "score-configs")
    assert (config["name"], config["dataType"], queue["scoreConfigIds"]) == (
        "human_supported",
        "BOOLEAN",
        [config["id"]],
    )
    recorded = {
        s["subject"]["id"]: (s["value"], s["metadata"]["inclusion_probability"])
        for s in stored_scores(local_langfuse, name="rag_review")
    }
    assert recorded == {
        span_id(0): ("high", 0.5),
        span_id(1): ("low", 0.5),
        span_id(2): ("undecided", 0.5),
        span_id(3): ("suspicious", 0.5),
    }


async def test_a_larger_share_is_the_probability_of_all(local_langfuse):
    """Calls that were chosen by a smaller share stand with the larger one from then on, never the other way round."""
    await write(local_langfuse, record(0, "rag_outcome", "scored"), record(0, "faithfulness", 1.0))
    settings = settings_of(local_langfuse)

    async def probability(share: float) -> list[float]:
        await push(settings, replace(REQUEST, share=share))
        return [s["metadata"]["inclusion_probability"] for s in stored_scores(local_langfuse, name="rag_review")]

    assert [await probability(share) for share in (0.9, 1.0, 0.95)] == [[0.45], [0.5], [0.5]]


async def test_a_dry_run_counts_what_is_new(local_langfuse):
    """What was chosen before is not counted again."""
    await four_calls(local_langfuse)
    await push(settings_of(local_langfuse), REQUEST)
    summary = await push(settings_of(local_langfuse), replace(REQUEST, is_dry_run=True))

    assert summary.as_text("q").endswith("0 would be added to 'q', 4 already there.")


async def test_somebody_elses_queue(local_langfuse):
    """A queue that does not ask our question is used, and what it lacks is said."""
    await four_calls(local_langfuse)
    async with api_of(local_langfuse) as api:
        other = (await api.ensure_configs([ScoreShape(name="style", description="")]))["style"]
        for name in (QUEUE, "another"):
            await queues.ensure_queue(api.connection, name, description="", config_id=other.id)
    summary = await push(settings_of(local_langfuse), REQUEST)

    assert summary.lacks_question
    assert summary.as_text(QUEUE).endswith("add this score config to it in Langfuse.")


async def test_a_config_that_people_cannot_answer_with(local_langfuse):
    """A config of our name and another type is not used."""
    async with api_of(local_langfuse) as api:
        await api.ensure_configs([ScoreShape(name="human_supported", description="")])

    with pytest.raises(BackendRejected, match="not BOOLEAN"):
        await push(settings_of(local_langfuse), REQUEST)


async def test_a_langfuse_that_makes_no_queue(local_langfuse):
    """Where Langfuse refuses the queue, the way out is named."""
    async with api_of(local_langfuse) as api:
        with pytest.raises(BackendRejected, match=r"create an annotation queue .*make a queue in Langfuse by hand"):
            await queues.ensure_queue(api.connection, QUEUE, description="", config_id="nothing")


async def test_nothing_is_queued_that_is_not_recorded(local_langfuse):
    """Where Langfuse refuses the record of the probability, the call is not put before people either."""
    await four_calls(local_langfuse)
    faults = local_langfuse.faults
    faults.path, faults.method, faults.status = "/api/public/scores", "POST", 400

    with pytest.raises(BackendRejected, match="`rag_review` was not written"):
        await push(settings_of(local_langfuse), REQUEST)
    faults.clear()
    assert items(local_langfuse) == []


async def test_a_share_is_a_share(local_langfuse):
    """Nothing, or more than all, is refused."""
    with pytest.raises(ConfigError, match="--share 0: expected"):
        await push(settings_of(local_langfuse), replace(REQUEST, share=0))


def answer(server, answers: dict[int, bool]) -> None:
    """Answer as people do in the queue."""
    (config,) = [c for c in get(server, "score-configs") if c["name"] == "human_supported"]
    body = [
        {
            "traceId": trace_id(number),
            "observationId": span_id(number),
            "name": "human_supported",
            "value": int(value),
            "dataType": "BOOLEAN",
            "source": "ANNOTATION",
            "configId": config["id"],
        }
        for number, value in answers.items()
    ]
    url = f"{server.base_url}/api/public/scores"
    reply = httpx.post(url, json=body, auth=(server.public_key, server.secret_key))
    assert reply.status_code == 202, reply.text


async def test_answers_come_back(local_langfuse, tmp_path):
    """From trace to label: calls are judged, shown, answered, and the file of labels is what `calibrate` reads."""
    wrong = "It is 99 metres high."
    calls = [SeedCall(number=n, answer=TOWER if n < 12 else wrong, passages=(TOWER, RIVER)) for n in range(24)]
    seed(local_langfuse, calls)
    settings = settings_of(local_langfuse, tmp_path)
    await run_score(settings, ScoreRequest(since="2026-02-01"))
    await push(settings, REQUEST)
    answer(local_langfuse, {**dict.fromkeys(range(12), True), **dict.fromkeys(range(12, 23), False)})
    await write(local_langfuse, record(23, "human_supported", 1.0))
    path = tmp_path / "labels.jsonl"
    found = await pull(settings, since=SINCE, labels=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = read_labels(path)

    assert (found.chosen, found.labelled) == (24, 23)
    assert found.agreements[-1].share.value == 1.0
    assert [sum(label.is_supported for label in row.labels) for row in rows].count(1) == 12
    assert sum(len(row.labels) for row in rows) == 23
    audited = [
        AuditedCall(**{k: line[k] for k in ("trace_id", "human_score", "judge_score", "probability")}) for line in lines
    ]
    assert {(a.human_score, a.judge_score) for a in audited} == {(1.0, 1.0), (0.0, 0.0)}
    assert {line["lang"] for line in lines} == {"en"}
    assert all(line["judge_fingerprint"] for line in lines)
    assert lines[0]["contexts"] == [TOWER, RIVER]


class Sibling(SeedCall):
    """Another observation of the same trace."""

    def span(self) -> dict[str, object]:
        return {**super().span(), "spanId": span_id(99)}


async def test_answers_without_claims(local_langfuse, tmp_path):
    """A no to several claims does not say which; a call without a verdict of the judge is still counted."""
    seed(local_langfuse, [*(SeedCall(number=n, passages=None) for n in range(2)), Sibling(number=0)])
    claims = [{"text": "a"}, {"text": "b"}, "?"]
    await write(
        local_langfuse,
        record(0, "rag_outcome", "scored", sentences=[{"claims": claims}, {}, "?"]),
        record(0, "faithfulness", 0.5),
        record(1, "rag_outcome", "undecided", needs_review=True),
    )
    settings = settings_of(local_langfuse)
    await push(settings, REQUEST)
    answer(local_langfuse, {0: False, 1: True})
    path = tmp_path / "labels.jsonl"
    found = await pull(settings, since=SINCE, labels=path)
    lines = {line["band"]: line for line in map(json.loads, path.read_text().splitlines())}

    assert (lines["low"]["claims"], lines["undecided"]["judge_score"]) == ([], None)
    assert read_labels(path) == []
    assert found.as_text().splitlines() == [
        "2 of 2 chosen calls were reviewed. Person and judge say the same:",
        "  high        too few (0 calls)",
        "  low         too few (1 calls)",
        "  undecided   too few (0 calls, 1 without a verdict)",
        "  suspicious  too few (0 calls)",
        "  all         too few (1 calls, 1 without a verdict)",
    ]


async def test_labels_need_a_file_that_can_be_written(local_langfuse, tmp_path):
    """A folder is none."""
    with pytest.raises(ConfigError, match=r"--labels .*: cannot be written"):
        await pull(settings_of(local_langfuse), since=SINCE, labels=tmp_path)


def test_low_agreement_is_one_line():
    """Under 80 % is said once, with the bands that it is about."""
    opinions = [Opinion(key=(str(n), "o"), band="low", probability=1.0, human=n < 20, judge=True) for n in range(40)]
    summary = PullSummary(chosen=50, labelled=40, agreements=agreements(opinions))

    assert summary.as_text().splitlines()[2::2] == [
        "  low         50% [34%, 66%] (40 calls)",
        "  suspicious  too few (0 calls)",
        "Under 80% on low, all: read these answers, and do not rely on the judge's numbers before it is calibrated or "
        "another model judges.",
    ]
    low = summary.as_json()["agreement"][1]
    assert (low["band"], low["is_low"], low["value"], low["n"]) == ("low", True, 0.5, 40)


def test_the_commands(local_langfuse):
    """`ragtrace review push` and `pull` say what they did."""
    asyncio.run(four_calls(local_langfuse))
    variables = {
        "LANGFUSE_BASE_URL": local_langfuse.base_url,
        "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
        "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
    }
    runner = CliRunner(env=variables)
    pushed = runner.invoke(app, ["review", "push", "--since", "2026-02-01", "--share", "1", "--queue", "q"])
    answer(local_langfuse, {0: True})
    text = runner.invoke(app, ["review", "pull", "--since", "2026-02-01"])
    as_json = runner.invoke(app, ["review", "pull", "--since", "2026-02-01", "--json"])

    assert pushed.exit_code == 0, pushed.output
    assert "4 added to 'q'" in pushed.stdout
    assert text.stdout.startswith("1 of 4 chosen calls were reviewed.")
    assert json.loads(as_json.stdout)["labelled"] == 1
