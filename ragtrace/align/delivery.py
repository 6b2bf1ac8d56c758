"""Turn the segments received of a passage into its delivery."""

from collections.abc import Sequence

from ragtrace.align.labels import label, main_stretches
from ragtrace.align.segments import Segment
from ragtrace.align.skeleton import Skeleton
from ragtrace.model import Passage, PassageDelivery, TextSpan


def delivered(passage: Passage, segments: Sequence[Segment], *, form: Skeleton, prompt: Skeleton) -> PassageDelivery:
    """Label what was received; heads, tails and middles become one span, whole passages end where their text ends."""
    length = len(form.letters)
    if not segments:
        return PassageDelivery(passage=passage, status="absent")
    stretches = [(segment.start, segment.end) for segment in segments]
    status, kind = label(stretches, length)
    if status == "absent":
        return PassageDelivery(passage=passage, status=status)
    if kind is not None:
        main = set(main_stretches(stretches))
        segments = [segment for segment in segments if (segment.start, segment.end) in main]
    if kind in ("head", "tail", "middle"):
        segments = [_hull(segments)]
    spans = [_span(segment, form, prompt) for segment in segments]
    if status == "full" or kind == "head":
        spans[0] = _moved(spans[0], start=0)
    if status == "full" or kind == "tail":
        spans[-1] = _moved(spans[-1], end=len(passage.text))
    return PassageDelivery(
        passage=passage,
        status=status,
        kind=kind,
        coverage=sum(end - start for start, end in stretches) / length,
        spans=tuple(spans),
    )


def _hull(segments: Sequence[Segment]) -> Segment:
    return Segment(
        segments[0].start,
        segments[-1].end,
        min(segment.place for segment in segments),
        max(segment.place_end for segment in segments),
    )


def _span(segment: Segment, form: Skeleton, prompt: Skeleton) -> TextSpan:
    return TextSpan(
        passage_start=form.start(segment.start),
        passage_end=form.end(segment.end),
        prompt_start=prompt.start(segment.place),
        prompt_end=prompt.end(segment.place_end),
    )


def _moved(span: TextSpan, *, start: int | None = None, end: int | None = None) -> TextSpan:
    return TextSpan(
        passage_start=span.passage_start if start is None else start,
        passage_end=span.passage_end if end is None else end,
        prompt_start=span.prompt_start,
        prompt_end=span.prompt_end,
    )
