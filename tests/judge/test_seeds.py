"""The published example of each system that ragtrace matches, through the whole protocol with a scripted judge."""

import json
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
NEEDS_EMBEDDINGS = {"answer_relevancy"}


def answer_from(script: dict[str, list[str]], asked: Asked) -> Reply:
    """Answer every label that is asked about with what the script says of it."""
    found = {
        label: [claim(WORDS[entry[0]], *entry[1:], text=entry) for entry in script[label]] for label in asked.labels
    }
    return says(verdicts(asked, found))


@pytest.mark.parametrize("seed", SEEDS, ids=[seed["name"] for seed in SEEDS])
async def test_the_published_example_comes_out(seed: dict[str, Any], endpoint: ScriptedEndpoint):
    """Prompt, splitting, parsing and metric give the value that the system's own documentation gives."""
    names = [name for name in seed["expected"] if name not in NEEDS_EMBEDDINGS]
    endpoint.answers(lambda asked: answer_from(seed["script"], asked))
    row = {
        key: seed[key] for key in ("question", "contexts", "answer", "reference", "reference_contexts") if key in seed
    }

    [output] = await ajudge_calls([row], settings=endpoint.settings(), metric_names=names)

    values = {name: output["scores"][name]["value"] for name in names}
    assert values == pytest.approx({name: seed["expected"][name] for name in names}, abs=1e-4), output
    assert len(endpoint.asked) == (1 if seed["script"] else 0)
