"""Store findings by what was judged and by which judge, so that nothing is judged twice.

Passages are kept by their place in the prompt: the same texts may stand at other indexes of another call.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any, cast

from ragtrace.judge.protocol import Excerpt, Findings, Plan
from ragtrace.model import Claim, ClaimVerdict, Grades, JsonValue, Need, Relevancy

_StoredClaim = tuple[str, ClaimVerdict, list[int], list[int], str | None]


def cache_key(fingerprint: str, plan: Plan) -> str:
    """Return a hash of judge and content; no code, id or time of a request is in it."""
    content = [
        fingerprint,
        plan.language,
        plan.question,
        [excerpt.text for excerpt in plan.received],
        [excerpt.text for excerpt in plan.withheld],
        [[item.label, item.text] for item in plan.items],
        sorted(plan.wanted),
        plan.answer_text if plan.wanted else None,
    ]
    return sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def encode(findings: Findings, plan: Plan) -> JsonValue:
    """Return findings as JSON."""
    received, withheld = _places(plan.received), _places(plan.withheld)
    claims: dict[str, JsonValue] = {
        label: [
            [c.text, c.verdict, _renumber(c.evidence, received), _renumber(c.withheld_evidence, withheld), c.reason]
            for c in found
        ]
        for label, found in findings.claims.items()
    }
    needs: JsonValue = None
    if findings.needs is not None:
        needs = [[need.text, _renumber(need.evidence, received)] for need in findings.needs]
    return {
        "claims": claims,
        "refused": findings.refused,
        "needs": needs,
        "grades": asdict(findings.grades) if findings.grades else None,
        "relevancy": asdict(findings.relevancy) if findings.relevancy else None,
    }


def decode(stored: JsonValue, plan: Plan) -> Findings:
    """Return findings from the JSON that `encode` made of a plan with the same texts."""
    # What `encode` wrote is read back: nothing else writes the table.
    entry = cast("dict[str, object]", stored)
    received = [excerpt.passage for excerpt in plan.received]
    withheld = [excerpt.passage for excerpt in plan.withheld]
    claims = cast("dict[str, list[_StoredClaim]]", entry["claims"])
    needs = cast("list[tuple[str, list[int]]] | None", entry["needs"])
    grades, relevancy = (cast("dict[str, Any] | None", entry[name]) for name in ("grades", "relevancy"))
    return Findings(
        claims={label: tuple(_claim(claim, received, withheld) for claim in found) for label, found in claims.items()},
        refused=bool(entry["refused"]),
        needs=None if needs is None else tuple(_need(text, places, received) for text, places in needs),
        grades=Grades(**grades) if grades else None,
        relevancy=_relevancy(relevancy) if relevancy else None,
    )


def _relevancy(stored: dict[str, Any]) -> Relevancy:
    return Relevancy(
        questions=tuple(stored["questions"]),
        cosines=tuple(stored["cosines"]),
        noncommittal=stored["noncommittal"],
    )


def _claim(stored: _StoredClaim, received: Sequence[int], withheld: Sequence[int]) -> Claim:
    text, verdict, evidence, held_back, reason = stored
    return Claim(
        text=text,
        verdict=verdict,
        evidence=tuple(received[place] for place in evidence),
        withheld_evidence=tuple(withheld[place] for place in held_back),
        reason=reason,
    )


def _need(text: str, places: Iterable[int], received: Sequence[int]) -> Need:
    evidence = tuple(received[place] for place in places)
    return Need(text=text, met=bool(evidence), evidence=evidence)


def _places(excerpts: Sequence[Excerpt]) -> dict[int, int]:
    return {excerpt.passage: place for place, excerpt in enumerate(excerpts)}


def _renumber(indexes: Iterable[int], places: dict[int, int]) -> list[JsonValue]:
    return [places[index] for index in indexes]
