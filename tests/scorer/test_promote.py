"""Worst answers go into a dataset of a real server on loopback."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from typer.testing import CliRunner

from ragtrace import __version__
from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.langfuse import Connection, LangfuseApi, OutgoingScore, ScoreRecord, datasets
from ragtrace.scorer.promote import Limit, PromoteRequest, PromoteSummary, item_id, parse_limits, run_promote
from ragtrace.settings import load_settings
from tests.seed import RIVER, STARTED_AT, TOWER, SeedCall, seed, span_id, trace_id


def settings_of(server):
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
        }
    )


async def write_scores(server, values: dict[int, float]) -> None:
    records = [
        ScoreRecord(
            id=f"s{number}",
            trace_id=trace_id(number),
            observation_id=span_id(number),
            name="faithfulness",
            value=value,
            data_type="NUMERIC",
            timestamp=STARTED_AT,
        )
        for number, value in values.items()
    ]
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key)
    async with LangfuseApi(connection) as api:
        async for _ in api.write_scores([OutgoingScore(id=r.id, body=r.body()) for r in records]):
            pass


BELOW = Limit(metric="faithfulness", below=0.5)


async def promote(server, *limits: Limit, **changes) -> PromoteSummary:
    request = PromoteRequest(limits=limits or (BELOW,), dataset="regressions", since=STARTED_AT - timedelta(days=1))
    return await run_promote(settings_of(server), replace(request, **changes))


def items(server) -> list[dict]:
    url = f"{server.base_url}/api/public/dataset-items?datasetName=regressions"
    return httpx.get(url, auth=(server.public_key, server.secret_key)).json()["data"]


async def test_the_worst_answers_become_items_once(local_langfuse):
    """Answers below the limit are in the dataset with all that tells their story; a second time changes nothing."""
    calls = [
        SeedCall(number=0, reference=RIVER),
        SeedCall(number=1),
        SeedCall(number=2, passages=None, answer="It is 99 metres high."),
    ]
    seed(local_langfuse, calls)
    await write_scores(local_langfuse, {0: 0.25, 1: 0.5, 2: 0.0, 7: 0.1})
    first = await promote(local_langfuse)
    stored = items(local_langfuse)
    again = await promote(local_langfuse)

    assert first.as_text("r") == "3 calls beyond a limit: 2 added to 'r', 0 already there, 1 no longer in Langfuse."
    assert again == PromoteSummary(found=3, added=0, present=2)
    assert items(local_langfuse) == stored
    shown = {
        i["id"]: (i["input"], i["expectedOutput"], i["metadata"], i["sourceTraceId"], i["sourceObservationId"])
        for i in stored
    }
    assert shown == {
        item_id("regressions", calls[0].key): (
            {"question": calls[0].question, "contexts": [TOWER, RIVER]},
            RIVER,
            {"answer": TOWER, "scores": {"faithfulness": 0.25}, "ragtrace": __version__},
            *calls[0].key,
        ),
        item_id("regressions", calls[2].key): (
            {"question": calls[2].question, "contexts": None},
            None,
            {"answer": "It is 99 metres high.", "scores": {"faithfulness": 0}, "ragtrace": __version__},
            *calls[2].key,
        ),
    }


async def test_nothing_below_makes_no_dataset(local_langfuse):
    """Without an answer below the limit nothing is written."""
    summary = await promote(local_langfuse)

    assert summary.as_text("r") == "0 calls beyond a limit: 0 added to 'r', 0 already there."
    assert (
        httpx.get(
            f"{local_langfuse.base_url}/api/public/v2/datasets",
            auth=(local_langfuse.public_key, local_langfuse.secret_key),
        ).json()["data"]
        == []
    )


async def test_a_limit_from_above_takes_what_is_higher(local_langfuse):
    """Where low is good, the calls above the limit are the worst; the limit itself is still good."""
    seed(local_langfuse, [SeedCall(number=n) for n in range(3)])
    await write_scores(local_langfuse, {0: 0.2, 1: 0.5, 2: 0.75})
    summary = await promote(local_langfuse, Limit(metric="faithfulness", above=0.5))

    assert summary == PromoteSummary(found=1, added=1)
    assert [item["sourceTraceId"] for item in items(local_langfuse)] == [trace_id(2)]


async def test_the_window_has_an_end(local_langfuse):
    """Calls that started at or after the end are left alone."""
    seed(local_langfuse, [SeedCall()])
    await write_scores(local_langfuse, {0: 0.2})

    assert await promote(local_langfuse, until=STARTED_AT) == PromoteSummary()


async def test_a_dry_run_writes_nothing(local_langfuse):
    """What would be added is counted, without a dataset and with one; no dataset is made, no item added."""
    seed(local_langfuse, [SeedCall(number=n) for n in range(2)])
    await write_scores(local_langfuse, {0: 0.2})
    first = await promote(local_langfuse, is_dry_run=True)
    made = httpx.get(
        f"{local_langfuse.base_url}/api/public/v2/datasets",
        auth=(local_langfuse.public_key, local_langfuse.secret_key),
    ).json()["data"]
    await promote(local_langfuse)
    await write_scores(local_langfuse, {1: 0.2})
    second = await promote(local_langfuse, is_dry_run=True)

    assert first.as_text("r") == "1 calls beyond a limit: 1 would be added to 'r', 0 already there."
    assert made == []
    assert second == PromoteSummary(found=2, added=1, present=1, is_dry_run=True)
    assert len(items(local_langfuse)) == 1


@pytest.mark.parametrize("text", ["", "faithfulness", "faithfulness=low"])
@pytest.mark.parametrize("option", ["below", "above"])
def test_a_limit_is_a_metric_and_a_number(option, text):
    """Anything but METRIC=NUMBER is refused in one line that names the option."""
    with pytest.raises(ConfigError, match=f"--{option} .*expected METRIC=NUMBER"):
        parse_limits(**{option: [text]})


def test_without_a_limit_nothing_is_promoted():
    """No limit at all is a mistake, not all calls."""
    with pytest.raises(ConfigError, match="give --below METRIC=NUMBER or --above"):
        parse_limits()


def test_limits_are_read():
    """Several limits may be given, on both sides."""
    assert parse_limits(["faithfulness=0.5", "context_recall=1"], ["hallucination_rate=0.2"]) == (
        Limit(metric="faithfulness", below=0.5),
        Limit(metric="context_recall", below=1.0),
        Limit(metric="hallucination_rate", above=0.2),
    )


async def test_a_dataset_larger_than_a_page_is_read_whole(local_langfuse):
    """Items beyond the first hundred are known too, so that none is added again."""
    connection = Connection(
        local_langfuse.base_url, public_key=local_langfuse.public_key, secret_key=local_langfuse.secret_key
    )
    async with connection:
        await datasets.ensure_dataset(connection, "d")
        for number in range(101):
            item = datasets.DatasetItem(
                id=f"i{number}", input={}, expected_output=None, metadata={}, trace_id="t", observation_id="o"
            )
            await datasets.add_item(connection, "d", item)
        found = await datasets.item_ids(connection, "d")

    assert found == {f"i{number}" for number in range(101)}


async def _prepare(server) -> None:
    seed(server, [SeedCall()])
    await write_scores(server, {0: 0.25})


def test_the_command(local_langfuse):
    """`ragtrace promote` says how many answers it added."""
    asyncio.run(_prepare(local_langfuse))
    arguments = ["promote", "--below", "faithfulness=0.5", "--dataset", "regressions", "--since", "2026-01-01"]
    variables = {
        "LANGFUSE_BASE_URL": local_langfuse.base_url,
        "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
        "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
    }
    outcome = CliRunner().invoke(app, arguments, env=variables)

    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("1 calls beyond a limit: 1 added to 'regressions', 0 already there")
