"""Put the published examples to judges and print what each gives beside the expected value.

    python benchmarks/seeds.py                                  the embedded judge
    python benchmarks/seeds.py --judge URL --model NAME         an OpenAI-compatible endpoint beside it

The expected values are those of the verdicts that the example's authors have in mind; a judge that words by wording
alone will differ, and that is shown.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from ragtrace.scorer import judge_calls
from ragtrace.settings import Settings, load_settings

SEEDS = Path(__file__).parent / "seeds.jsonl"
ROW = ("question", "contexts", "answer", "reference", "reference_contexts")


def measure(seeds: list[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """Return the scores of each seed by metric name."""
    names = list(dict.fromkeys(name for seed in seeds for name in seed["expected"]))
    rows = [{key: seed[key] for key in ROW if key in seed} for seed in seeds]
    return [output["scores"] for output in judge_calls(rows, settings=settings, metric_names=names)]


def show(score: dict[str, Any]) -> str:
    return f"{score['value']:.4g}" if score["value"] is not None else score["reason"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", help="base URL of an OpenAI-compatible endpoint")
    parser.add_argument("--model", help="model name there")
    arguments = parser.parse_args()
    seeds = [json.loads(line) for line in SEEDS.read_text(encoding="utf-8").splitlines()]
    embedded = measure(seeds, load_settings({}))
    other = None
    if arguments.judge:
        named = {"openai_base_url": arguments.judge, "judge_model": arguments.model or "default"}
        other = measure(seeds, load_settings(overrides=named))
    print(f"{'example':20}{'metric':24}{'expected':>10}{'embedded':>20}" + (f"{'endpoint':>20}" if other else ""))
    for number, seed in enumerate(seeds):
        for name, expected in seed["expected"].items():
            line = f"{seed['name']:20}{name:24}{expected:>10.4g}{show(embedded[number][name]):>20}"
            print(line + (f"{show(other[number][name]):>20}" if other else ""))


if __name__ == "__main__":
    main()
