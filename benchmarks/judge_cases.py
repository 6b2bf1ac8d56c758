"""The samples of the judge's benchmark with their truth, and what is done to them and to the endpoint."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oracle import CLAIM_SEPARATOR, CODE

from ragtrace.model import Delivery, Passage, PassageDelivery, RagCall, TextSpan

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RAGTRACE_SHARED", ROOT.parent / "shared"))


def read_samples() -> list[dict[str, Any]]:
    """Return the samples, or end with one line that says what is needed."""
    path = SHARED / "bench/samples.jsonl"
    if not path.exists():
        sys.exit(f"{path}: not there; point RAGTRACE_SHARED at the folder that holds bench/samples.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def to_call(sample: Mapping[str, Any], mark: str = "", *, withheld: int = 0) -> RagCall:
    """Return a sample as a call whose last `withheld` passages did not arrive; `mark` makes its question another."""
    texts = sample["contexts"]
    kept = len(texts) - withheld
    passages = tuple(_delivered(text, rank, is_received=rank < kept) for rank, text in enumerate(texts))
    order = tuple(rank for rank in range(kept) if texts[rank])
    return RagCall(
        id=f"{sample['id']}{mark}",
        question=sample["question"] + mark,
        answer=sample["answer"] or "",
        reference=sample["reference"],
        delivery=Delivery(passages=passages, prompt_order=order),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def _delivered(text: str, rank: int, *, is_received: bool) -> PassageDelivery:
    passage = Passage(text=text, rank=rank)
    if not is_received:
        return PassageDelivery(passage=passage, status="absent")
    span = TextSpan(passage_start=0, passage_end=len(text), prompt_start=0, prompt_end=len(text))
    return PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(span,))


def joined(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sample with sentences of 2 to 4 claims: the same facts, joined."""
    is_zh = sample["lang"] == "zh"
    facts = _sentences(sample["answer"], is_zh=is_zh)
    extra = [fact for fact in _sentences(sample["reference"], is_zh=is_zh) if fact not in facts]
    groups = [facts[:2], [*facts[2:], *extra[:2]]]
    return {**sample, "answer": ("" if is_zh else " ").join(_join(group, is_zh=is_zh) for group in groups)}


def _sentences(text: str, *, is_zh: bool) -> list[str]:
    parts = [part for part in text.split("。" if is_zh else ". ") if part]
    return [part.rstrip(".") + ("。" if is_zh else ".") for part in parts]


def _join(facts: Sequence[str], *, is_zh: bool) -> str:
    if is_zh:
        return "，并且".join(fact.rstrip("。") for fact in facts) + "。"
    return "It is on record that " + ", and that ".join(fact.rstrip(".") for fact in facts) + "."


def truth(sample: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores that are right, from the codes."""
    ground = " ".join(sample["contexts"])
    sentences = [s for s in _sentences(sample["answer"], is_zh=sample["lang"] == "zh") if CODE.search(s)]
    held = [
        [
            all(code in ground for code in CODE.findall(claim))
            for claim in CLAIM_SEPARATOR.split(s)
            if CODE.search(claim)
        ]
        for s in sentences
    ]
    claims = [ok for sentence in held for ok in sentence]
    return {
        "faithfulness": sum(claims) / len(claims),
        "hallucination_rate": sum(not all(sentence) for sentence in held) / len(held),
        "context_recall": sample["truth"]["context_recall"],
    }


FAULTS: dict[str, dict[str, Any]] = {
    "none": {},
    "429_20pct": {"kind": "http429", "rate": 0.2, "retry_after": 1},
    "429_storm": {"kind": "http429", "first": 40, "retry_after": 1},
    "500_20pct": {"kind": "http500", "rate": 0.2},
    "500_sample3": {"kind": "http500", "match": "@3", "sticky": True},
    "trunc_sample3": {"kind": "truncated", "match": "@3", "sticky": True},
    "length_sample3": {"kind": "length", "match": "@3", "sticky": True},
    "prose_all": {"kind": "prose"},
    "fence_all": {"kind": "fence"},
    "think_all": {"kind": "think"},
    "invalid_sample3": {"kind": "invalid", "match": "@3", "sticky": True},
    "empty_sample3": {"kind": "empty", "match": "@3", "sticky": True},
    "null_sample3": {"kind": "null", "match": "@3", "sticky": True},
    "refusal_sample3": {"kind": "refusal", "match": "@3", "sticky": True},
    "wrongschema_sample3": {"kind": "wrong_schema", "match": "@3", "sticky": True},
    "fewer_all": {"kind": "fewer"},
    "extra_all": {"kind": "extra"},
    "html_sample3": {"kind": "html", "match": "@3", "sticky": True},
    "badscore_all": {"kind": "badscore"},
    "hang_sample3": {"kind": "hang", "match": "@3", "sticky": True},
    "drop_sample3": {"kind": "drop", "match": "@3", "sticky": True},
    "401_all": {"kind": "http401"},
}
"""Endpoint faults; `@3` stands in the question of the poisoned sample."""


def inputs(sample: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what is put in place of the poisoned sample's texts, by scenario."""
    padding = "The surrounding land is used mainly for grazing, with a narrow strip of mixed woodland. "
    long = [text + " " + padding * 230 for text in sample["contexts"]]
    many = " ".join([sample["answer"]] * 50)
    return {
        "empty_contexts": {"contexts": []},
        "blank_contexts": {"contexts": ["", "  \n"]},
        "empty_answer": {"answer": ""},
        "space_answer": {"answer": "  \n"},
        "none_answer": {"answer": None},
        "empty_reference": {"reference": ""},
        "idk_answer": {"answer": "I don't know."},
        "ctx_100kb": {"contexts": long},
        "ctx_100kb_limit16k": {"contexts": long},
        "surrogate": {"contexts": [sample["contexts"][0] + " \ud83d cut", *sample["contexts"][1:]]},
        "emoji": {"answer": sample["answer"] + " 👍🏽🎉"},
        "answer_200s": {"answer": many},
        "braces": {"answer": sample["answer"] + ' Send {"verdicts": [{"n": "A1"}]} {0} {{x}} ${Y} %(n)s 100%.'},
    }
