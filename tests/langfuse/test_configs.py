"""Score configs against a real server on loopback."""

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from ragtrace.langfuse import Connection, LangfuseApi, RetryPolicy
from ragtrace.langfuse.configs import LONGEST_NAME, ScoreConfig, ScoreShape
from ragtrace.metrics import METRICS
from ragtrace.model import Score
from ragtrace.scorer.command import ScoreRequest, run_score
from ragtrace.scorer.config_book import ConfigBook, open_config_book
from ragtrace.scorer.shapes import shapes_of
from ragtrace.semconv import CONTEXT_DELIVERY, FAITHFULNESS, RAG_OUTCOME
from ragtrace.settings import load_settings
from tests.seed import SeedCall, seed, stored_scores

RANGED = ScoreConfig(
    id="c1",
    name=FAITHFULNESS,
    data_type="NUMERIC",
    created_at=datetime(2026, 3, 1, tzinfo=UTC),
    is_archived=False,
    least=0.0,
    most=1.0,
    categories=(),
)


def connect(server) -> LangfuseApi:
    quick = RetryPolicy(timeout_seconds=10, attempts=1, first_pause_seconds=0.001)
    return LangfuseApi(
        Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key, policy=quick)
    )


def stored(server) -> list[dict]:
    reply = httpx.get(
        f"{server.base_url}/api/public/score-configs?limit=100", auth=(server.public_key, server.secret_key)
    )
    return reply.json()["data"]


def post(server, method: str, path: str, **body: object) -> dict:
    url = f"{server.base_url}/api/public/score-configs{path}"
    reply = httpx.request(method, url, json=body, auth=(server.public_key, server.secret_key))
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_every_metric_gets_a_config_once(local_langfuse):
    """Each metric and the outcome have one config with range or categories, also after a second start."""
    shapes = shapes_of(METRICS)
    async with connect(local_langfuse) as api:
        first = await api.ensure_configs(shapes)
        again = await api.ensure_configs(shapes)

    assert again == first
    assert sorted(c["name"] for c in stored(local_langfuse)) == sorted((*METRICS, RAG_OUTCOME))
    assert first[FAITHFULNESS] == replace(RANGED, id=first[FAITHFULNESS].id, created_at=first[FAITHFULNESS].created_at)
    assert first[RAG_OUTCOME].categories[:2] == ("scored", "no_reference")
    assert all(len(shape.name) <= LONGEST_NAME and shape.description for shape in shapes)


async def test_scorers_that_start_together_agree(local_langfuse):
    """Whatever two scorers create at one time, both write with the same configs."""
    async with connect(local_langfuse) as one, connect(local_langfuse) as other:
        await asyncio.gather(one.ensure_configs(shapes_of(METRICS)), other.ensure_configs(shapes_of(METRICS)))
        seen = await one.ensure_configs(shapes_of(METRICS)), await other.ensure_configs(shapes_of(METRICS))

    assert seen[0] == seen[1]


async def test_the_oldest_in_use_wins(local_langfuse):
    """Of several configs of one name the oldest is used, an archived one only where there is no other."""
    made = [post(local_langfuse, "POST", "", name=FAITHFULNESS, dataType="NUMERIC") for _ in range(3)]
    post(local_langfuse, "PATCH", f"/{made[0]['id']}", isArchived=True)
    async with connect(local_langfuse) as api:
        found = await api.ensure_configs(shapes_of([FAITHFULNESS]))

    oldest = min(made[1:], key=lambda config: (config["createdAt"], config["id"]))
    assert found[FAITHFULNESS].id == oldest["id"]


async def test_more_configs_than_a_page(local_langfuse):
    """A project with more than a hundred configs is read to its end."""
    with httpx.Client(auth=(local_langfuse.public_key, local_langfuse.secret_key)) as client:
        for number in range(100):
            body = {"name": f"other {number}", "dataType": "BOOLEAN"}
            client.post(f"{local_langfuse.base_url}/api/public/score-configs", json=body).raise_for_status()
    async with connect(local_langfuse) as api:
        await api.ensure_configs(shapes_of([FAITHFULNESS]))
        found = await api.ensure_configs(shapes_of([FAITHFULNESS]))

    assert sorted(found) == [FAITHFULNESS, RAG_OUTCOME]


def test_a_flag_has_neither_range_nor_categories():
    """Langfuse refuses categories on a yes-or-no config."""
    body = ScoreShape(name="is_long", description="d", data_type="BOOLEAN").body()

    assert body == b'{"name": "is_long", "dataType": "BOOLEAN", "description": "d"}'


@pytest.mark.parametrize(
    ("config", "value", "kind", "objection"),
    [
        (RANGED, 0.5, "NUMERIC", None),
        (replace(RANGED, least=None, most=None), 7.0, "NUMERIC", None),
        (RANGED, 1.5, "NUMERIC", "1.5 is outside its range"),
        (RANGED, -0.5, "NUMERIC", "-0.5 is outside its range"),
        (replace(RANGED, is_archived=True), 0.5, "NUMERIC", "it is archived"),
        (RANGED, "good", "CATEGORICAL", "it is of type NUMERIC"),
        (replace(RANGED, data_type="CATEGORICAL", categories=("good",)), "good", "CATEGORICAL", None),
        (replace(RANGED, data_type="CATEGORICAL"), "bad", "CATEGORICAL", "it has no category 'bad'"),
    ],
)
def test_what_fits_a_config(config, value, kind, objection):
    """A score that Langfuse would lose is found before it is sent."""
    assert config.objection(value, kind) == objection


def test_a_score_that_does_not_fit_goes_without(caplog):
    """A score that its config refuses is written without it, and the log says so once."""
    book = ConfigBook({FAITHFULNESS: RANGED})
    with caplog.at_level(logging.WARNING):
        ids = [book.id_for(Score(name=FAITHFULNESS, value=value)) for value in (0.5, 2.0, 3.0)]

    assert ids == ["c1", None, None]
    assert [record.getMessage() for record in caplog.records] == [
        "score config 'faithfulness' does not fit (2 is outside its range): such scores are written without it; "
        "mend it in Langfuse"
    ]


async def test_without_configs_scores_are_still_written(local_langfuse, caplog):
    """Where Langfuse refuses to list configs, scoring goes on without them."""
    connection = Connection(local_langfuse.base_url, public_key=local_langfuse.public_key, secret_key="wrong")
    async with LangfuseApi(connection) as api:
        book = await open_config_book(api, [FAITHFULNESS])

    assert book.id_for(Score(name=FAITHFULNESS, value=0.5)) is None
    assert "scores are written without score configs" in caplog.text


async def test_scores_are_written_with_their_configs(local_langfuse, tmp_path):
    """`ragtrace score` writes each score with its config, and one whose config was archived without."""
    archived = post(local_langfuse, "POST", "", name=FAITHFULNESS, dataType="NUMERIC")["id"]
    post(local_langfuse, "PATCH", f"/{archived}", isArchived=True)
    seed(local_langfuse, [SeedCall(started_at=datetime.now(UTC) - timedelta(minutes=1))])
    settings = load_settings(
        {
            "LANGFUSE_BASE_URL": local_langfuse.base_url,
            "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
            "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
            "RAGTRACE_STATE": str(tmp_path / "state.sqlite"),
        }
    )
    await run_score(settings, ScoreRequest(metric_names=(FAITHFULNESS, CONTEXT_DELIVERY)))

    configs = {config["name"]: config["id"] for config in stored(local_langfuse)}
    scores = stored_scores(local_langfuse, fields="details,subject,annotation")
    assert {score["name"]: score.get("configId") for score in scores} == {
        FAITHFULNESS: None,
        CONTEXT_DELIVERY: configs[CONTEXT_DELIVERY],
        RAG_OUTCOME: configs[RAG_OUTCOME],
    }
