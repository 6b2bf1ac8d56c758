"""The judge's share of wholly supported answers beside what people's answers make of it, from a real server."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import httpx
import pytest
from rich.console import Console

from ragtrace.langfuse import OutgoingScore, ScoreRecord, open_langfuse
from ragtrace.langfuse.configs import ScoreShape
from ragtrace.model import JsonValue
from ragtrace.report.as_csv import to_csv
from ragtrace.report.collect import Window, read_records
from ragtrace.report.command import as_line, print_report, read_report
from ragtrace.report.content import Report
from ragtrace.report.corrected import corrected_shares
from ragtrace.report.html import render_page
from ragtrace.report.records import CallRecord
from ragtrace.settings import Settings, load_settings
from tests.seed import STARTED_AT, TOWER, many, seed, span_id, trace_id

CALLS, REVIEWED = 60, 20
CORRECTED = 0.6 + 14.4 / 20.85 * (0.75 - 0.8)
"""By hand: people's mean 12 / 20, the judge's 45 / 60 over the window and 16 / 20 over the reviewed calls.

In sixtieths, a call's part in the judge's difference is 0.25 (29 calls) or -0.75 (11) where nobody reviewed it, and
-0.35 (16) or 1.65 (4) where somebody did: their squares add up to 20.85. In people's mean it is 1.2 (12 calls) or
-1.8 (4 that the judge supports, 4 that it does not): the products add up to -14.4.
"""


def _is_supported(number: int) -> bool:
    """Say what the judge says: 16 of the first 20, 29 of the other 40."""
    return number < 16 or 20 <= number < 49


def _settings(server) -> Settings:
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
        }
    )


def _scores(number: int) -> Iterator[ScoreRecord]:
    common: dict[str, JsonValue] = {"inclusion_probability": 1.0, "claims": 1}
    sentence: JsonValue = {"text": TOWER, "start": 0, "end": len(TOWER), "kind": "statement", "claims": []}
    judge: JsonValue = {"model": "m", "fingerprint": "0123456789"}
    outcome = {**common, "judge": judge, "sentences": [sentence]}
    values: list[tuple[str, float | str, dict[str, JsonValue]]] = [
        ("rag_outcome", "scored", outcome),
        ("faithfulness", float(_is_supported(number)), common),
    ]
    if number < REVIEWED:
        values.append(("rag_review", "high", {"inclusion_probability": 0.5}))
    for name, value, metadata in values:
        yield ScoreRecord(
            id=f"{name}-{number}",
            trace_id=trace_id(number),
            observation_id=span_id(number),
            name=name,
            value=value,
            data_type="CATEGORICAL" if isinstance(value, str) else "NUMERIC",
            timestamp=STARTED_AT,
            metadata=metadata,
        )


async def _seed(server) -> None:
    """Sixty judged calls; twenty went before people, who say yes to twelve; one more person answered unasked."""
    seed(server, many(CALLS))
    async with open_langfuse(_settings(server)) as api:
        config = (await api.ensure_configs([ScoreShape(name="human_supported", data_type="BOOLEAN", description="")]))[
            "human_supported"
        ]
        outgoing = [OutgoingScore(id=r.id, body=r.body()) for n in range(CALLS) for r in _scores(n)]
        assert [r.rejected async for r in api.write_scores(outgoing)] == [()]
    body = [
        {
            "traceId": trace_id(number),
            "observationId": span_id(number),
            "name": "human_supported",
            "value": int(number < 12),
            "dataType": "BOOLEAN",
            "source": "ANNOTATION",
            "configId": config.id,
        }
        for number in (*range(REVIEWED), CALLS - 1)
    ]
    url = f"{server.base_url}/api/public/scores"
    reply = httpx.post(url, json=body, auth=(server.public_key, server.secret_key))
    assert reply.status_code == 202


def _by(record: CallRecord, fingerprint: str | None) -> CallRecord:
    assert record.outcome is not None
    return replace(record, outcome=replace(record.outcome, judge_fingerprint=fingerprint))


def _saying(record: CallRecord, text: str) -> CallRecord:
    assert record.outcome is not None
    (sentence,) = record.outcome.answer
    return replace(record, outcome=replace(record.outcome, answer=(replace(sentence, text=text),)))


def _printed(report: Report) -> str:
    out = StringIO()
    print_report(report, Console(file=out, width=160))
    return out.getvalue()


async def test_raw_and_corrected_stand_side_by_side(local_langfuse):
    """Terminal, page, JSON and CSV show the judge's share, the corrected one, and on how many calls it stands."""
    await _seed(local_langfuse)
    report = await read_report(_settings(local_langfuse), Window(shown=0))
    (share,) = report.corrected
    said = "The corrected share of m (01234567), language en, stands on 20 calls that people reviewed."
    rows = {row["part"]: row for row in csv.DictReader(io.StringIO(to_csv(report)))}
    (as_json,) = json.loads(as_line(report))["corrected"]

    assert (share.judge, share.language, share.raw.n, share.corrected.n) == ("m (01234567)", "en", 60, 20)
    assert share.raw.value == pytest.approx(0.75)
    assert share.corrected.value == pytest.approx(CORRECTED)
    for text in (_printed(report), render_page(report)):
        assert said in text
        assert "0.75 (0.6" in text
        assert "0.57 (0.3" in text
    assert (rows["judge"]["group"], rows["judge"]["value"], rows["judge"]["n"]) == ("m (01234567) en", "0.75", "60")
    assert (rows["corrected"]["value"], rows["corrected"]["n"]) == ("0.565468", "20")
    assert (as_json["raw"]["value"], as_json["corrected"]["n"]) == (share.raw.value, 20)


async def test_an_audit_is_of_one_judge_and_one_language(local_langfuse):
    """Reviewed calls of the window before count, but not those of another judge, another language, or too few."""
    await _seed(local_langfuse)
    async with open_langfuse(_settings(local_langfuse)) as api:
        records = await read_records(api, Window())
    asked = [r for r in records if r.review_probability]
    later = [replace(r, trace_id=f"later{r.trace_id}", human_supported=None) for r in records]

    assert [share.corrected.n for share in corrected_shares(later, asked)] == [20]
    assert corrected_shares(later, asked[:9]) == ()
    assert corrected_shares([_by(r, "f" * 10) for r in later], asked) == ()
    assert corrected_shares([_by(r, None) for r in later], asked) == ()
    assert corrected_shares([_saying(r, "Der Turm ist 57 Meter hoch und steht am Fluss.") for r in later], asked) == ()
    assert corrected_shares([_saying(r, "") for r in later], asked) == ()
    assert corrected_shares(later) == ()
