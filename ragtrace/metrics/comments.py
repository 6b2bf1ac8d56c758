"""Write the one comment that people read beside a score: worst sentence first, its verdict, the passage concerned."""

from collections.abc import Callable, Sequence

from ragtrace.model import Claim, JudgedSentence, RagCall

LONGEST = 500
"""Characters; Langfuse shows no more in its lists."""
_SENTENCE = 180
_SEVERITY = {"contradicted": 0, "unsupported": 1, "undecided": 2, "supported": 3}
_WORDS = {"contradicted": "Contradicted", "unsupported": "Not supported", "undecided": "Undecided"}


def on_answer(call: RagCall, sentences: Sequence[JudgedSentence], counts: str) -> str:
    """Name the worst sentence of the answer, or say that there is none."""
    worst = min((claim for s in sentences for claim in s.claims), key=_severity, default=None)
    if worst is None or worst.verdict == "supported":
        return shorten(f"All claims supported. {counts}.")
    owner = next(s for s in sentences if worst in s.claims)
    said = f"{_WORDS[worst.verdict]}: “{shorten(owner.sentence.text, _SENTENCE)}”"
    return shorten(f"{said}{_where(call, worst)}{_why(owner, worst)}. {counts}.")


def on_reference(sentences: Sequence[JudgedSentence], is_held: Callable[[Claim], bool], counts: str) -> str:
    """Name the first claim of the reference that the passages do not hold."""
    missing = next((c for s in sentences for c in s.claims if c.verdict != "undecided" and not is_held(c)), None)
    if missing is None:
        return f"All found. {counts}."
    owner = next(s for s in sentences if missing in s.claims)
    text = missing.text if len(owner.claims) > 1 else owner.sentence.text
    hint = " (retrieved, but not in the prompt)" if missing.withheld_evidence else ""
    return shorten(f"Missing{hint}: “{shorten(text, _SENTENCE)}”. {counts}.")


def shorten(text: str, longest: int = LONGEST) -> str:
    """Fold white space and cut at `longest` characters, with an ellipsis."""
    folded = " ".join(text.split())
    return folded if len(folded) <= longest else folded[: longest - 1].rstrip() + "…"


def _severity(claim: Claim) -> int:
    return _SEVERITY[claim.verdict]


def _where(call: RagCall, claim: Claim) -> str:
    if not claim.evidence or call.delivery is None:
        return ""
    passage = call.delivery.passages[claim.evidence[0]].passage
    name = f" ({shorten(passage.id, 60)})" if passage.id else ""
    return f" by passage {passage.rank + 1}{name}" if claim.verdict == "contradicted" else ""


def _why(owner: JudgedSentence, claim: Claim) -> str:
    claimed = f": “{shorten(claim.text, 120)}”" if len(owner.claims) > 1 else ""
    return f"{claimed} — {claim.reason.rstrip('.')}" if claim.reason else claimed
