"""Put a call's content, scores and verdicts together for reading."""

from collections.abc import Mapping, Sequence

from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS
from ragtrace.model import RagCall
from ragtrace.report import diagnosis, words
from ragtrace.report.content import Severity, ShownCall, ShownClaim, ShownScore, ShownSentence
from ragtrace.report.outcome import Outcome, StoredClaim, StoredSentence
from ragtrace.report.passages import show_passages
from ragtrace.report.records import CallRecord
from ragtrace.text import detect_language, normalise

_LONGEST_ANSWER = 20_000
_UNSEEN = Outcome(value="not_scored")
_SHORTEST_QUOTE = 12
"""Letters of a sentence that make its place in a cut text more than chance."""


def show_call(
    record: CallRecord,
    call: RagCall,
    *,
    number: int,
    url: str,
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS,
) -> ShownCall:
    """Return the call as number `number` of the page; `url` is its trace in Langfuse."""
    outcome = record.outcome or _UNSEEN
    passages = call.delivery.passages if call.delivery else None
    withheld = [normalise(delivery.withheld_text) for delivery in passages or ()]
    answer = show_sentences(call.answer, outcome.answer, withheld=withheld)
    verdicts = [sentence.verdict for sentence in answer if sentence.verdict]
    return ShownCall(
        number=number,
        trace_id=record.trace_id,
        url=url,
        started_at=record.started_at,
        language=detect_language(call.question),
        question=call.question,
        answer=answer,
        reference=call.reference,
        passages=None if passages is None else show_passages(passages, outcome),
        scores=_scores(record, outcome.unscored),
        findings=diagnosis.find(record, thresholds),
        verdict=_verdict(outcome, verdicts),
        severity=_severity(verdicts),
        model=call.model,
        tags=call.tags,
    )


def show_sentences(
    answer: str, sentences: Sequence[StoredSentence], *, withheld: Sequence[str]
) -> tuple[ShownSentence, ...]:
    """Cut the answer at its judged sentences; together the pieces are the answer.

    Args:
        answer: The text that `sentences` point into.
        sentences: In text order.
        withheld: Normalised text of each passage that the generator was not sent.
    """
    shown: list[ShownSentence] = []
    place = 0
    for sentence in sentences:
        if not place <= sentence.start < sentence.end <= len(answer):
            continue
        text = answer[sentence.start : sentence.end]
        shown.append(
            ShownSentence(
                lead=answer[place : sentence.start],
                text=text,
                kind=sentence.kind,
                verdict=sentence.verdict,
                claims=tuple(map(_claim, sentence.claims)),
                in_cut_text=None if sentence.verdict == "supported" else _place_in_cut_text(text, withheld),
            )
        )
        place = sentence.end
    rest = answer[place : place + _LONGEST_ANSWER]
    tail = ShownSentence(lead="", text=rest, kind="statement", verdict=None, claims=())
    return (*shown, tail) if rest.strip() else tuple(shown)


def _place_in_cut_text(sentence: str, withheld: Sequence[str]) -> int | None:
    wanted = normalise(sentence)
    if len(wanted) < _SHORTEST_QUOTE:
        return None
    return next((number for number, text in enumerate(withheld, start=1) if wanted in text), None)


def _claim(claim: StoredClaim) -> ShownClaim:
    evidence = tuple(index + 1 for index in claim.evidence)
    return ShownClaim(text=claim.text, verdict=claim.verdict, reason=claim.reason, evidence=evidence)


def _scores(record: CallRecord, unscored: Mapping[str, str]) -> tuple[ShownScore, ...]:
    values = record.scores
    names = [name for name in (*words.LABELS, *sorted(values)) if name in values or name in unscored]
    return tuple(
        ShownScore(
            name=name,
            label=words.label(name),
            value=values.get(name),
            unscored=words.reason(unscored[name]) if name not in values else None,
            comment=record.comments.get(name),
        )
        for name in dict.fromkeys(names)
    )


def _verdict(outcome: Outcome, verdicts: Sequence[str]) -> str:
    if verdicts:
        return diagnosis.sentence_counts(verdicts)
    reasons = [*outcome.unscored.values(), outcome.value]
    return words.reason("refusal" if "refusal" in reasons else reasons[0])


def _severity(verdicts: Sequence[str]) -> Severity:
    if "contradicted" in verdicts:
        return "contradicted"
    if "unsupported" in verdicts:
        return "unsupported"
    return "clear" if verdicts else "unscored"
