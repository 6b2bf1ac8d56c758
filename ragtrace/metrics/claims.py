"""Metrics that count claims and sentences: recalls, faithfulness, hallucination and contradiction rate."""

from collections.abc import Iterable

from ragtrace.metrics import comments
from ragtrace.metrics.ground import (
    MetricOptions,
    answer_ground,
    contexts_missing,
    judged,
    withheld_passages,
)
from ragtrace.model import Claim, JsonValue, JudgedSentence, RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import (
    CONTEXT_RECALL,
    CONTRADICTION_RATE,
    FAITHFULNESS,
    HALLUCINATION_RATE,
    RETRIEVAL_RECALL,
)

Result = Score | Unscored
_NOT_SUPPORTED = ("unsupported", "contradicted")


def faithfulness(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Result:
    """Return the share of the answer's decided claims that received passages support, 0–1.

    Formula: supported / (supported + unsupported + contradicted), claim by claim (RAGAS Faithfulness; Es et al.
    2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", section 3). Undecided claims are in
    neither part; more than `options.undecided_limit` of them leave no number.
    """
    ground = answer_ground(call, verdicts, FAITHFULNESS)
    if isinstance(ground, Unscored):
        return ground
    claims = _claims(ground.answer)
    if unscored := _too_few(claims, FAITHFULNESS, options):
        return unscored
    supported, decided = _count(claims, ("supported",)), _decided(claims)
    return Score(
        name=FAITHFULNESS,
        value=supported / decided,
        comment=comments.on_answer(call, ground.answer, f"{supported} of {decided} claims supported"),
        metadata=_counts(claims),
    )


def hallucination_rate(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Result:
    """Return the share of the answer's statement sentences with at least one claim not supported, 0–1.

    Sentences without a decided claim (questions, greetings, headings, undecided ones) are in neither part.
    """
    return _sentence_rate(
        call, verdicts, options, name=HALLUCINATION_RATE, faults=_NOT_SUPPORTED, words="not supported"
    )


def contradiction_rate(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Result:
    """Return the share of the answer's statement sentences with a claim that a received passage contradicts, 0–1."""
    return _sentence_rate(
        call, verdicts, options, name=CONTRADICTION_RATE, faults=("contradicted",), words="contradicted"
    )


def context_recall(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Result:
    """Return the share of the reference's decided claims that received passages support, 0–1.

    Formula: supported reference claims / decided reference claims (RAGAS LLMContextRecall; TruLens has none). With a
    reference and nothing received it is 0 by definition, without asking a judge.
    """
    return _recall(call, verdicts, options, name=CONTEXT_RECALL, counts_withheld=False)


def retrieval_recall(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Result:
    """Return the share of the reference's decided claims that retrieved passages support, received or not, 0–1.

    `retrieval_recall - context_recall` is the delivery loss: what retrieval found and the prompt did not carry.
    """
    return _recall(call, verdicts, options, name=RETRIEVAL_RECALL, counts_withheld=True)


def _recall(
    call: RagCall,
    verdicts: Verdicts | Unscored | None,
    options: MetricOptions,
    *,
    name: str,
    counts_withheld: bool,
) -> Result:
    if call.reference_match and call.reference_match.is_mismatch:
        return Unscored(name=name, reason="reference_mismatch", detail="the reference does not answer its own question")
    if not (call.reference and call.reference.strip()):
        return Unscored(name=name, reason="no_reference")
    missing = contexts_missing(call)
    if missing and missing != "no_contexts":
        return Unscored(name=name, reason=missing)
    nothing = missing == "no_contexts" and not (counts_withheld and withheld_passages(call))
    if nothing:
        said = "nothing was retrieved" if counts_withheld else "no passage was received"
        return Score(name=name, value=0.0, comment=f"No ground: {said}.", metadata={"claims": None})
    ground = judged(verdicts, name)
    if isinstance(ground, Unscored):
        return ground
    claims = _claims(ground.reference)
    if unscored := _too_few(claims, name, options):
        return unscored
    is_held = _is_held_anywhere if counts_withheld else _is_received
    held, decided = sum(map(is_held, claims)), _decided(claims)
    return Score(
        name=name,
        value=held / decided,
        comment=comments.on_reference(ground.reference, is_held, f"{held} of {decided} reference claims found"),
        metadata=_counts(claims) | {"withheld_only": sum(map(_is_withheld_only, claims))},
    )


def _sentence_rate(
    call: RagCall,
    verdicts: Verdicts | Unscored | None,
    options: MetricOptions,
    *,
    name: str,
    faults: tuple[str, ...],
    words: str,
) -> Result:
    ground = answer_ground(call, verdicts, name)
    if isinstance(ground, Unscored):
        return ground
    if unscored := _too_few(_claims(ground.answer), name, options):
        return unscored
    sentences = [s for s in ground.answer if _decided(s.claims)]
    faulty = [s for s in sentences if _count(s.claims, faults)]
    return Score(
        name=name,
        value=len(faulty) / len(sentences),
        comment=comments.on_answer(call, ground.answer, f"{len(faulty)} of {len(sentences)} sentences {words}"),
        metadata={"sentences": len(sentences), "faulty": len(faulty)} | _counts(_claims(ground.answer)),
    )


def _too_few(claims: tuple[Claim, ...], name: str, options: MetricOptions) -> Unscored | None:
    if not claims:
        return Unscored(name=name, reason="no_claims", detail="the text claims nothing that can be checked")
    undecided = len(claims) - _decided(claims)
    if undecided > options.undecided_limit * len(claims):
        return Unscored(
            name=name, reason="undecided", detail=f"verdicts for {_decided(claims)} of {len(claims)} claims"
        )
    return None


def _claims(sentences: Iterable[JudgedSentence]) -> tuple[Claim, ...]:
    return tuple(claim for sentence in sentences for claim in sentence.claims)


def _decided(claims: Iterable[Claim]) -> int:
    return sum(claim.verdict != "undecided" for claim in claims)


def _count(claims: Iterable[Claim], verdicts: tuple[str, ...]) -> int:
    return sum(claim.verdict in verdicts for claim in claims)


def _is_received(claim: Claim) -> bool:
    return claim.verdict == "supported"


def _is_withheld_only(claim: Claim) -> bool:
    return claim.verdict in _NOT_SUPPORTED and bool(claim.withheld_evidence)


def _is_held_anywhere(claim: Claim) -> bool:
    return _is_received(claim) or _is_withheld_only(claim)


def _counts(claims: tuple[Claim, ...]) -> dict[str, JsonValue]:
    kinds = ("supported", "unsupported", "contradicted", "undecided")
    counts: dict[str, JsonValue] = {kind: _count(claims, (kind,)) for kind in kinds}
    review: dict[str, JsonValue] = {"needs_review": True} if counts["undecided"] else {}
    return {"claims": len(claims), **counts, **review}
