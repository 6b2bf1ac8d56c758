"""Read a judge's reply: every number exactly once, every verdict one that was on offer, or it does not count."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragtrace.errors import JudgeReplyInvalid
from ragtrace.judge.json_text import LIST_KEY, REFUSED_KEY, own_object
from ragtrace.judge.protocol import NEEDS_LABEL, Findings, Found, Item, Plan, decide, met_by
from ragtrace.judge.words import read_verdict
from ragtrace.model import Claim, JsonValue, Need

NEEDS_KEY: Final = "needs"
_LETTERS_LINE = re.compile(r"\s*([A-Za-z]+\d+)\s*[:=]?\s*(.*)", re.DOTALL)
_LETTER = re.compile(r"([A-Za-z])\s*[:=]?\s*((?:[Ww]?\d+\s*[,+&]\s*)*[Ww]?\d+)?[\s;|,.]*")
_BRACKETS = str.maketrans("()[]", "    ")
_WORDS = re.compile(r"\b(?:supported|unsupported|contradicted)\b", re.IGNORECASE)
_LIST_SEPARATOR = re.compile(r"[,+&\s]+")
_NO_CLAIM = "N"
_MOST_CLAIMS = 50
_LONGEST_TEXT = 1_000
_LONGEST_REASON = 300

Answered = tuple[str, tuple[Claim, ...] | None]
"""A label and its claims; None: answered, but not as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a judge."""

    code: str
    """Drawn for this request; in no text under judgement."""
    plan: Plan
    """The passages as numbered in this request."""
    items: tuple[Item, ...]
    is_lean: bool
    wants_needs: bool = False


def read_reply(text: str, request: Request) -> Findings:
    """Return what the reply answers as it was asked to; labels that it leaves out, repeats or garbles are not in it.

    Raises:
        JudgeReplyInvalid: the reply is no answer to this request at all.
    """
    own = own_object(text, request.code)
    entries = _listed(own.get(LIST_KEY, []), is_lean=request.is_lean)
    if not isinstance(entries, list):
        raise JudgeReplyInvalid(f"`{LIST_KEY}` is no list in the judge's reply")
    items = {item.label: item for item in request.items}
    read = _read_letters if request.is_lean else _read_claims
    answered = [found for entry in entries if (found := read(entry, items, request.plan))]
    times = Counter(label for label, _ in answered)
    return Findings(
        claims={label: claims for label, claims in answered if claims is not None and times[label] == 1},
        refused=own.get(REFUSED_KEY) is True,
        needs=_read_needs(own.get(NEEDS_KEY), request.plan) if request.wants_needs else None,
    )


def _listed(entries: JsonValue, *, is_lean: bool) -> JsonValue:
    """Return verdicts as a list where they were written by label."""
    if not isinstance(entries, dict):
        return entries
    if is_lean:
        return [f"{label} {letters}" for label, letters in entries.items()]
    return [{"n": label, "claims": claims} for label, claims in entries.items()]


def _read_claims(entry: JsonValue, items: Mapping[str, Item], plan: Plan) -> Answered | None:
    """Read `{"n": "A1", "claims": [...]}`; None where the label was not asked about."""
    if not isinstance(entry, dict) or (item := items.get(_label(entry.get("n")))) is None:
        return None
    listed = entry.get("claims", [entry] if "verdict" in entry else None)
    if isinstance(listed, dict):
        # One claim, not in a list.
        listed = [listed]
    if not isinstance(listed, list) or len(listed) > _MOST_CLAIMS:
        return item.label, None
    claims = [_read_claim(claim, item, plan, is_only=len(listed) == 1) for claim in listed]
    return item.label, _all_or_none(claims)


def _read_claim(entry: JsonValue, item: Item, plan: Plan, *, is_only: bool) -> Claim | None:
    if not isinstance(entry, dict) or (verdict := read_verdict(entry.get("verdict"))) is None:
        return None
    text = _text(entry.get("claim"), _LONGEST_TEXT)
    if not text and not is_only:
        return None
    found = decide(verdict, _labels(entry.get("evidence")), side=item.side, plan=plan)
    return _claim(found, text or item.text, _text(entry.get("reason"), _LONGEST_REASON))


def _claim(found: Found | None, text: str, reason: str = "") -> Claim | None:
    if found is None:
        return None
    return Claim(
        text=text,
        verdict=found.verdict,
        evidence=found.evidence,
        withheld_evidence=found.withheld_evidence,
        reason=reason or None,
    )


def _read_letters(entry: JsonValue, items: Mapping[str, Item], plan: Plan) -> Answered | None:
    """Read `"A1 S1,3 U"`; None where the label was not asked about."""
    line = _LETTERS_LINE.fullmatch(_plain(entry)) if isinstance(entry, str) else None
    if line is None or (item := items.get(_label(line.group(1)))) is None:
        return None
    letters, at = list[re.Match[str]](), 0
    while found := _LETTER.match(line.group(2), at):
        letters.append(found)
        at = found.end()
    if not letters or at < len(line.group(2)):
        return item.label, None
    if [found.group(1).upper() for found in letters] == [_NO_CLAIM]:
        return item.label, ()
    return item.label, _all_or_none([_read_letter(found, item, plan) for found in letters])


def _plain(entry: str) -> str:
    """Return a line of letters without brackets, full-width forms and words that stand for letters."""
    line = unicodedata.normalize("NFKC", entry).translate(_BRACKETS)
    return _WORDS.sub(lambda word: word.group()[0].upper(), line)


def _read_letter(found: re.Match[str], item: Item, plan: Plan) -> Claim | None:
    verdict = read_verdict(found.group(1)) if found.group(1).upper() in "SCU" else None
    if verdict is None:
        return None
    labels = _LIST_SEPARATOR.split(found.group(2)) if found.group(2) else []
    return _claim(decide(verdict, labels, side=item.side, plan=plan), item.text)


def _read_needs(value: JsonValue, plan: Plan) -> tuple[Need, ...] | None:
    """Return the numbered needs, or None unless they are numbered from 1 without a gap."""
    if not isinstance(value, list) or not value:
        return None
    needs = [entry for entry in value if isinstance(entry, dict) and _text(entry.get("need"), _LONGEST_TEXT)]
    if [_label(need.get("n")) for need in needs] != [f"{NEEDS_LABEL}{n}" for n in range(1, len(value) + 1)]:
        return None
    found = [(_text(need.get("need"), _LONGEST_TEXT), met_by(_labels(need.get("evidence")), plan)) for need in needs]
    return tuple(Need(text=text, met=bool(evidence), evidence=evidence) for text, evidence in found)


def _all_or_none(claims: Sequence[Claim | None]) -> tuple[Claim, ...] | None:
    whole = tuple(claim for claim in claims if claim is not None)
    return whole if len(whole) == len(claims) else None


def _label(value: object) -> str:
    return str(value).strip(" \t\n[]().:#").upper()


def _labels(value: JsonValue) -> Iterable[object]:
    """Return what `evidence` lists, however it was written: a list, a number, or numbers in a string."""
    if isinstance(value, list):
        return value
    return _LIST_SEPARATOR.split(value) if isinstance(value, str) else [value]


def _text(value: JsonValue, longest: int) -> str:
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""
