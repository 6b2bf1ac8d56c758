"""Every name and phrase that a report uses, once."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ragtrace import semconv
from ragtrace.metrics.diagnosis import Layer
from ragtrace.report.content import (
    CauseCount,
    Change,
    CorrectedShare,
    DeliveryLoss,
    JudgingCost,
    MetricRates,
    Report,
    ShownCall,
    ShownPassage,
    Step,
    TextPiece,
)
from ragtrace.stats import Estimate

HEADLINE_METRICS = (
    semconv.FAITHFULNESS,
    semconv.HALLUCINATION_RATE,
    semconv.CONTEXT_RECALL,
    semconv.CONTEXT_DELIVERY,
)
LABELS: Mapping[str, tuple[str, str]] = {
    semconv.FAITHFULNESS: ("Faithfulness", "of an answer’s claims stand on what was received"),
    semconv.HALLUCINATION_RATE: (
        "Hallucination rate",
        "of an answer’s sentences claim something that was not received",
    ),
    semconv.CONTRADICTION_RATE: ("Contradiction rate", "of an answer’s sentences contradict what was received"),
    semconv.CONTEXT_RECALL: ("Context recall", "of a reference’s claims stand in what was received"),
    semconv.RETRIEVAL_RECALL: ("Retrieval recall", "of a reference’s claims stand in what was retrieved"),
    semconv.CONTEXT_DELIVERY: ("Delivery", "of the retrieved text reached the generator"),
    semconv.CONTEXT_PRECISION: ("Context precision", "average precision of the received passages, in prompt order"),
    semconv.CITATION_ACCURACY: ("Citation accuracy", "of citations name a passage that supports their sentence"),
    semconv.CITATION_COVERAGE: ("Citation coverage", "of supported sentences carry a citation"),
    semconv.SUFFICIENCY: ("Sufficiency", "of what the question needs stands in what was received"),
}
REASONS: Mapping[str, str] = {
    "no_reference": "no reference answer",
    "reference_mismatch": "the reference does not fit the question",
    "contexts_unknown": "which passages were received is unknown",
    "no_contexts": "no passage was received",
    "refusal": "the answer declines to answer",
    "no_answer": "no answer",
    "no_claims": "nothing is claimed",
    "no_labels": "no labelled passages",
    "no_citations": "no citations",
    "no_embeddings": "no embedding model is configured",
    "language_mismatch": "answer and passages are in different languages",
    "incomplete_capture": "the record is incomplete",
    "masked": "the content was masked",
    "undecided": "the judge could not decide",
    "judge_unavailable": "the judge did not answer",
    "judge_reply_invalid": "the judge’s reply was not usable",
    "judge_refused": "the judge declined",
    "too_long": "too long for the judge",
    "over_budget": "over the token budget",
    "not_scored": "not scored yet",
}
VERDICTS: Mapping[str, str] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "unsupported": "not supported",
    "undecided": "undecided",
}
CAUSES: Mapping[Layer, tuple[str, str]] = {
    "retrieval": ("Retrieval fell short", "Part of the reference stands in no retrieved passage, or behind idle ones."),
    "delivery": ("Lost on the way", "Part of the reference was retrieved, but cut or dropped before the prompt."),
    "generation": ("The generator went beyond", "The answer says what no received passage says, or the opposite."),
    "relevancy": (
        "Question not answered",
        "The answer declines, although part of the reference was received, or speaks of something else.",
    ),
    "reference": (
        "The reference does not fit",
        "The passages hold what the question needs and nothing of the reference: mend the reference first.",
    ),
}


def count_causes(counts: Mapping[Layer, int]) -> tuple[CauseCount, ...]:
    """Put counts under their titles, in the order of the pipeline."""
    return tuple(
        CauseCount(layer=layer, title=title, text=text, calls=counts.get(layer, 0))
        for layer, (title, text) in CAUSES.items()
    )


def label(name: str) -> str:
    """Return a metric's name for people."""
    return LABELS[name][0] if name in LABELS else name.replace("_", " ").capitalize()


def meaning(name: str) -> str:
    """Return what a metric's number is a share of; "" for a user's own."""
    return LABELS.get(name, ("", ""))[1]


def reason(word: str) -> str:
    """Say why there is no number."""
    return REASONS.get(word, word.replace("_", " "))


def moment(at: datetime) -> str:
    """Write a time to the minute."""
    return at.astimezone(UTC).strftime("%-d %b %Y, %H:%M UTC")


def period(first: datetime, last: datetime) -> str:
    """Write a stretch of time, a day that both ends share once."""
    start, end = (at.astimezone(UTC) for at in (first, last))
    if start.date() != end.date():
        return f"{moment(start)} to {moment(end)}"
    return moment(start) if f"{start:%H:%M}" == f"{end:%H:%M}" else f"{start:%-d %b %Y, %H:%M} to {end:%H:%M} UTC"


def window(report: Report) -> str:
    """Say how many calls there were and when."""
    if report.first_at is None or report.last_at is None:
        return "No calls were captured in this window."
    spoken = f"{plural(report.calls, 'answer')} captured, {report.judged:,} scored"
    unseen = f", {report.unseen:,} not sampled or still waiting" if report.unseen else ""
    return f"{spoken}{unseen}. {period(report.first_at, report.last_at)}."


def counted(rates: MetricRates) -> str:
    """Say on how many answers a mean stands."""
    missing = sum(rates.unscored.values())
    return f"{plural(rates.scored, 'answer')}" + (f", {missing:,} without a number" if missing else "")


def pass_mark(rates: MetricRates) -> str:
    """Say what a mean is held against, and how it fares; "" without a threshold."""
    if rates.pass_mark is None:
        return ""
    verdict = {True: "pass", False: "fail", None: "no number"}[rates.has_passed]
    return f"{verdict} ({'at most' if rates.is_lower_better else 'at least'} {rates.pass_mark:g})"


def pooled(rates: MetricRates) -> str:
    """Write the share of all claims or sentences with its interval; "" where there is none, or from too few answers."""
    found = rates.pooled
    return (
        ""
        if found is None or found.value is None
        else f"{found.value:.2f} of {rates.unit} ({span(found)}){_few(found)}"
    )


def estimate(found: Estimate) -> str:
    """Write a value with its interval, or say that there are too few answers for either."""
    if found.value is None:
        return f"too few ({found.n:,})" if found.n else "–"
    return f"{found.value:.2f} ({span(found)}){_few(found)}"


def _few(found: Estimate) -> str:
    return ", few" if found.quality == "low" else ""


def span(found: Estimate) -> str:
    """Write the 95 % interval; why there is none where there is none."""
    if found.low is None or found.high is None:
        return "too few answers for an interval" if found.n else "no interval"
    return f"{found.low:z.2f} to {found.high:z.2f}"


def stands_on(found: CorrectedShare) -> str:
    """Say what a corrected share stands on."""
    return (
        f"The corrected share of {found.judge}, language {found.language}, stands on "
        f"{plural(found.corrected.n, 'call')} that people reviewed."
    )


def change(found: Change) -> str:
    """Say whether a metric changed and since when."""
    if found.difference.value is None:
        return "too few answers to compare"
    if found.since is None:
        return f"{found.difference.value:+z.2f} ({span(found.difference)}): may be chance"
    return f"{found.difference.value:+z.2f} ({span(found.difference)}), most likely since {moment(found.since)}"


def compared(report: Report) -> str:
    """Say what this window is compared with; "" where nothing was to be compared."""
    if report.compared_since is None:
        return ""
    spoken = f"The window before begins {moment(report.compared_since)} and is as long"
    if report.changes:
        return f"{spoken}. A difference counts where its 95 % interval leaves out 0."
    return f"{spoken}: it has no numbers, or another judge’s, so nothing is compared."


def loss(found: DeliveryLoss) -> str:
    """Say what was found and then lost on the way to the generator."""
    lost = f"{estimate(found.recall)} of recall is lost between retrieval and prompt" if found.recall.n else ""
    text = f"{estimate(found.text)} of the retrieved text was received" if found.text.n else ""
    spoken = "; ".join(part for part in (lost, text) if part)
    return f"Delivery: {spoken}." if spoken else "Delivery: not known for any answer."


def cost(found: JudgingCost) -> str:
    """Say what judging took."""
    if not found.calls:
        return "Cost of judging: no call of a model is on record."
    tokens = f"{found.prompt_tokens:,} prompt and {found.completion_tokens:,} completion tokens"
    spoken = f"Cost of judging: {plural(found.calls, 'call')}, {tokens}"
    if found.money is None:
        return f"{spoken}; set [prices] to see it in money."
    rest = f", {found.unpriced:,} of the calls without a price" if found.unpriced else ""
    return f"{spoken}, {found.money:,.4f} in the currency of [prices]{rest}."


def stretch(at: datetime, step: Step) -> str:
    """Write where a stretch of a trend begins."""
    return at.astimezone(UTC).strftime("%-d %b %Y, %H:00" if step == "hour" else "%-d %b %Y")


def shown_of(report: Report) -> str:
    """Say which answers follow."""
    shown = len(report.shown)
    return f"The worst {shown:,} of {report.calls:,}" if shown < report.calls else f"All {plural(shown, 'answer')}"


def fate(passage: ShownPassage) -> str:
    """Say what became of a passage."""
    copies = f", {passage.copies} times" if passage.copies > 1 else ""
    share = f"{passage.share:.0%} arrived" if passage.share is not None else "part of it arrived"
    return {
        "received": f"received whole{copies}",
        "cut": f"cut: {share}{copies}",
        "dropped": "dropped: the generator never saw it",
        "changed": "arrived in other words",
        "unknown": "not known whether it arrived",
    }[passage.fate]


def amount(piece: TextPiece) -> str:
    """Count a stretch of text: words, or characters where words have no spaces between them."""
    words = len(piece.text.split())
    letters = len(piece.text.strip())
    return plural(letters, "character") if letters > 15 * words else plural(words, "word")


def passages_title(call: ShownCall) -> str:
    """Say how many passages there were and what came of them."""
    if call.passages is None:
        return "Which passages there were is unknown"
    if not call.passages:
        return "Retrieval found nothing"
    counts = {kind: sum(p.fate == kind for p in call.passages) for kind in ("received", "cut", "dropped")}
    spoken = [
        f"{count} {words}" for count, words in zip(counts.values(), ("whole", "cut", "dropped"), strict=True) if count
    ]
    return f"{plural(len(call.passages), 'passage')} retrieved: {', '.join(spoken) or 'fate unknown'}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
