"""Rates of the calls that share a tag, a model or a language."""

from ragtrace.extract import ObservationRow
from ragtrace.report.segments import by_segment, labels_of_content, labels_of_row
from tests.report.samples import STARTED_AT, contradicted, refused, unseen
from tests.report.windows import window_of


def _row(**fields) -> ObservationRow:
    return ObservationRow(id="o", trace_id="t", name="rag-call", type="CHAIN", start_time=STARTED_AT, **fields)


def test_labels_stand_on_the_row():
    """Tags, environment, release, model and name are listed with the call; what is not recorded is left out."""
    row = _row(tags=("a", "b"), environment="prod", trace_name="ask", metadata={"ragtrace_model": "small"})

    assert labels_of_row(row) == {"tag": ("a", "b"), "environment": ("prod",), "model": ("small",), "name": ("ask",)}
    assert labels_of_row(_row(release="r1", model="large")) == {"release": ("r1",), "model": ("large",)}


def test_language_is_that_of_the_question():
    """The question's language and what brought the passages stand in the content."""
    assert labels_of_content(refused().call) == {"language": ("zh",), "retriever": ("retriever",)}
    assert labels_of_content(unseen().call) == {"language": ("en",), "retriever": ()}
    assert labels_of_content(contradicted().call)["language"] == ("en",)


def test_calls_count_in_each_of_their_tags():
    """The largest segment comes first; calls without a value are a segment of their own."""
    both = window_of([1.0] * 12, labels={"tag": ("a", "b")})
    only = window_of([0.5] * 15, labels={"tag": ("b",)})
    found = by_segment([*both, *only, *window_of([0.0])], "tag")

    assert [(s.value, s.calls) for s in found] == [("b", 27), ("a", 12), ("(not recorded)", 1)]
    assert [s.estimates["faithfulness"].n for s in found] == [27, 12, 1]
    assert found[1].estimates["faithfulness"].value == 1.0
