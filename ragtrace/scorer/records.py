"""Turn the results for one call into the scores that Langfuse keeps."""

import hashlib
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtrace import __version__
from ragtrace.extract import json_text
from ragtrace.langfuse import OutgoingScore, ScoreRecord
from ragtrace.model import Claim, JsonValue, JudgedSentence, RagCall, ReferenceMatch, Score, Unscored, Verdicts
from ragtrace.scorer.selection import Draw
from ragtrace.semconv import RAG_OUTCOME
from ragtrace.text import suspicions

MARK_BYTES = 100_000
"""Largest metadata of `rag_outcome`."""
_LONGEST_COMMENT = 500
_LONGEST_CLAIM = 400
_SCORE_NAME = re.compile(r"[\r\n]")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScores:
    """Everything that is written about one call; the mark is written last."""

    scores: tuple[OutgoingScore, ...]
    mark: OutgoingScore
    outcome: str
    """`scored`, or why not."""


def score_id(trace_id: str, observation_id: str, name: str) -> str:
    """Return the id of a score: the same whenever and wherever this metric of this call is written."""
    return stable_id(trace_id, observation_id, name)


def stable_id(*parts: str) -> str:
    """Return an id for Langfuse that is the same whenever and wherever the same thing is written."""
    return "rt-" + hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def make_scores(
    call: RagCall,
    results: Sequence[Score | Unscored],
    *,
    verdicts: Verdicts | None,
    draw: Draw,
    config_id: Callable[[Score], str | None] = lambda score: None,
) -> CallScores | None:
    """Return what to write, or None where the outcome is pending: then nothing at all is written.

    Args:
        call: A call with trace and observation id.
        results: One a metric, `rag_outcome` among them.
        verdicts: What the judge found, if it was asked and answered.
        draw: How the call came into the sample.
        config_id: Returns the score config to write a score with.
    """
    mark = next((r for r in results if r.name == RAG_OUTCOME and isinstance(r, Score)), None)
    if mark is None:
        return None
    common: dict[str, JsonValue] = {
        "inclusion_probability": draw.probability,
        "ragtrace": __version__,
        "judge": describe_judge(verdicts),
    }
    if call.reference_match:
        common["reference"] = dict(_reference(call.reference_match))
    if draw.stratum:
        common["stratum"] = draw.stratum
    scores = [r for r in results if isinstance(r, Score) and r.name != RAG_OUTCOME and _is_storable(r)]
    described = _mark_metadata({**mark.metadata, **common, **_suspicious(call)}, verdicts)
    return CallScores(
        scores=tuple(_outgoing(call, s, {**s.metadata, **common}, config_id=config_id(s)) for s in scores),
        mark=_outgoing(call, mark, described, config_id=config_id(mark)),
        outcome=str(mark.value),
    )


def _reference(match: ReferenceMatch) -> Mapping[str, JsonValue]:
    """Say which reference a recall stands on."""
    asked = match.question[:_LONGEST_CLAIM]
    return {"how": match.how, "question": asked, "similarity": round(match.similarity, 4), "source": match.source}


def _suspicious(call: RagCall) -> dict[str, JsonValue]:
    """Return the marks of a call for reviews to prefer it by; of a call that we did not capture, our own look at it."""
    marks: list[JsonValue] = list(dict.fromkeys((*call.marks, *suspicions(call.answer))))
    return {"marks": marks} if marks else {}


def describe_sentences(sentences: Iterable[JudgedSentence]) -> list[JsonValue]:
    """Return sentences with verdict and claims, as JSON."""
    return [
        {
            "text": s.sentence.text,
            "start": s.sentence.start,
            "end": s.sentence.end,
            "kind": s.sentence.kind,
            "verdict": worst_verdict(s.claims),
            "claims": [_describe_claim(claim) for claim in s.claims],
        }
        for s in sentences
    ]


def worst_verdict(claims: Sequence[Claim]) -> str | None:
    """Return the verdict that a sentence is marked with: its worst claim's; None where it claims nothing."""
    verdicts = {claim.verdict for claim in claims}
    return next((v for v in ("contradicted", "unsupported", "undecided", "supported") if v in verdicts), None)


def _describe_claim(claim: Claim) -> dict[str, JsonValue]:
    described: dict[str, JsonValue] = {
        "text": claim.text[:_LONGEST_CLAIM],
        "verdict": claim.verdict,
        "evidence": list(claim.evidence),
    }
    if claim.withheld_evidence:
        described["withheld_evidence"] = list(claim.withheld_evidence)
    if claim.reason:
        described["reason"] = claim.reason[:_LONGEST_CLAIM]
    return described


def describe_judge(verdicts: Verdicts | None) -> dict[str, JsonValue] | None:
    """Return which judge gave the verdicts and what it cost, as JSON."""
    if verdicts is None:
        return None
    judge = verdicts.judge
    return {
        "fingerprint": judge.fingerprint,
        "model": judge.model,
        "calls": judge.calls,
        "prompt_tokens": judge.prompt_tokens,
        "completion_tokens": judge.completion_tokens,
        "cached": judge.cached,
        "cost": judge.cost,
    }


def _mark_metadata(metadata: dict[str, JsonValue], verdicts: Verdicts | None) -> dict[str, JsonValue]:
    """Add the sentences, leaving out what is least needed until all fits: reasons, claims' texts, last sentences."""
    if verdicts is None:
        return metadata
    answer, reference = describe_sentences(verdicts.answer), describe_sentences(verdicts.reference)
    full = {**metadata, "sentences": answer, "reference_sentences": reference}
    if _size(full) <= MARK_BYTES:
        return full
    answer, reference = _without_texts(answer), _without_texts(reference)
    while answer or reference:
        cut: dict[str, JsonValue] = {
            **metadata,
            "sentences": answer,
            "reference_sentences": reference,
            "is_shortened": True,
        }
        if _size(cut) <= MARK_BYTES:
            return cut
        answer, reference = answer[: len(answer) * 3 // 4], reference[: len(reference) * 3 // 4]
    return {**metadata, "is_shortened": True}


def _without_texts(sentences: list[JsonValue]) -> list[JsonValue]:
    kept = ("start", "end", "kind", "verdict")
    return [{key: s[key] for key in kept} | {"text": "", "claims": []} for s in sentences if isinstance(s, dict)]


def _size(metadata: Mapping[str, JsonValue]) -> int:
    return len(json_text.dump(metadata))


def _is_storable(score: Score) -> bool:
    """A number that is none never leaves the process, whoever computed it."""
    if isinstance(score.value, str) or math.isfinite(score.value):
        return True
    _logger.error("metric %s gave %r: not written; a metric without a number is Unscored", score.name, score.value)
    return False


def _outgoing(
    call: RagCall, score: Score, metadata: Mapping[str, JsonValue], *, config_id: str | None
) -> OutgoingScore:
    trace_id, observation_id = call.trace_id or "", call.observation_id or ""
    record = ScoreRecord(
        id=score_id(trace_id, observation_id, score.name),
        trace_id=trace_id,
        observation_id=observation_id,
        name=_SCORE_NAME.sub(" ", score.name),
        value=score.value if isinstance(score.value, str) else float(score.value),
        data_type=score.data_type,
        timestamp=call.started_at,
        environment=call.environment,
        comment=json_text.without_surrogates(score.comment)[:_LONGEST_COMMENT] if score.comment else None,
        metadata=json_text.clean_object(metadata),
        config_id=config_id,
    )
    return OutgoingScore(id=record.id, body=record.body())
