"""The published example of each system that ragtrace matches, through the whole protocol with a scripted judge."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ragtrace.scorer import ajudge_calls
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, claim, says, verdicts

SEEDS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "benchmarks" / "seeds.jsonl").read_text(encoding="utf-8").splitlines()
]
WORDS = {"S": "supported", "C": "contradicted", "U": "unsupported"}
CLASSIC = {"faithfulness", "context_recall", "context_precision", "answer_relevancy"}


def answer_from(seed: dict[str, Any], asked: Asked) -> Reply:
    """Answer verdicts, questions generated back, and vectors as the seed says."""
    if asked.path.endswith("/embeddings"):
        vectors = [[1.0, 0.0], *([cosine, math.sqrt(1 - cosine**2)] for cosine in seed["relevancy"]["cosines"])]
        assert asked.body["input"] == [seed["question"], *seed["relevancy"]["questions"]]
        return Reply(body=json.dumps({"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}))
    if asked.items["END"] == "questions":
        return says({"id": asked.code, "questions": seed["relevancy"]["questions"], "noncommittal": False})
    found = {
        label: [claim(WORDS[entry[0]], *entry[1:], text=entry) for entry in seed["script"][label]]
        for label in asked.labels
    }
    return says(verdicts(asked, found))


@pytest.mark.parametrize("seed", SEEDS, ids=[seed["name"] for seed in SEEDS])
async def test_the_published_example_comes_out(seed: dict[str, Any], endpoint: ScriptedEndpoint):
    """Prompt, splitting, parsing and metric give the value that the system's own documentation gives."""
    names = list(seed["expected"])
    endpoint.answers(lambda asked: answer_from(seed, asked))
    row = {
        key: seed[key] for key in ("question", "contexts", "answer", "reference", "reference_contexts") if key in seed
    }

    [output] = await ajudge_calls([row], settings=endpoint.settings(embedding_model="vectors"), metric_names=names)

    values = {name: output["scores"][name]["value"] for name in names}
    assert values == pytest.approx(seed["expected"], abs=1e-4), output
    assert len(endpoint.asked) == (3 if "relevancy" in seed else 1 if seed["script"] else 0)


def test_the_handbook_rows_go_through_all_four_classic_metrics():
    """Both rows of the Chinese handbook state a value for each of the four."""
    handbook = [set(seed["expected"]) for seed in SEEDS if seed["name"].startswith("handbook")]

    assert [CLASSIC - names for names in handbook] == [set(), set()]


def test_every_system_of_the_table_names_its_seed():
    """Each example stands in the documentation's table of systems, by its name."""
    docs = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    table = docs.partition("## The same metric elsewhere")[2].partition("\n## ")[0]

    assert [seed["name"] for seed in SEEDS if f"`{seed['name']}`" not in table] == []
