"""Split a window's calls by what they have in common: a tag, a model, a language."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from ragtrace.extract import ObservationRow, json_text
from ragtrace.model import RagCall
from ragtrace.report import estimates, words
from ragtrace.report.content import SegmentRates
from ragtrace.report.records import CallRecord
from ragtrace.semconv import META_MODEL
from ragtrace.text import detect_language

Segment = Literal["tag", "environment", "release", "model", "language", "retriever", "name"]
NEED_CONTENT: frozenset[Segment] = frozenset({"language", "retriever"})
"""Segments that stand in a call's content, which a report does not read of all calls otherwise."""
_NOT_RECORDED = "(not recorded)"


def labels_of_row(row: ObservationRow) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each segment that a listed call shows without its content."""
    model = row.model or json_text.as_text(json_text.metadata_value(row.metadata, META_MODEL))
    found = {
        "tag": row.tags,
        "environment": (row.environment,),
        "release": (row.release,),
        "model": (model,),
        "name": (row.trace_name,),
    }
    return {segment: kept for segment, values in found.items() if (kept := tuple(value for value in values if value))}


def labels_of_content(call: RagCall) -> Mapping[str, tuple[str, ...]]:
    """Return the values that only the content shows: the question's language, what brought the passages."""
    sources = {found.passage.source for found in call.delivery.passages} if call.delivery else set()
    return {"language": (detect_language(call.question),), "retriever": tuple(sorted(sources))}


def by_segment(records: Sequence[CallRecord], segment: Segment) -> tuple[SegmentRates, ...]:
    """Return the rates of each value of a segment, the most calls first; a call with two tags counts in both."""
    groups: dict[str, list[CallRecord]] = defaultdict(list)
    for record in records:
        for value in record.labels.get(segment) or (_NOT_RECORDED,):
            groups[value].append(record)
    return tuple(
        SegmentRates(
            value=value,
            calls=len(group),
            estimates={name: estimates.mean_of(name, group) for name in words.HEADLINE_METRICS},
        )
        for value, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    )
