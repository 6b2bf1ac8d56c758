"""Citation accuracy and coverage."""

import pytest

from ragtrace.metrics import MetricOptions
from ragtrace.metrics.citations import citation_accuracy, citation_coverage, find_citations
from ragtrace.model import Citation, Score, Unscored
from tests.build import call, claim, delivery, received, sentence, verdicts, whole

OPTIONS = MetricOptions()


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("A [1].", [(0,)]),
        ("A [1, 3] and B[^2].", [(0, 2), (1,)]),
        ("A [1-3]", [(0, 1, 2)]),
        ("甲【2】乙【1†source】", [(1,), (0,)]),
        ("A [d2] and [doc-2]", [(2,), (1,)]),
        ("A [9]", [(-1,)]),
        ("See [the manual](http://x) and [note] and a[i].", []),
    ],
)
def test_markers_of_every_kind_are_found(answer: str, named: list[tuple[int, ...]]):
    """Numbers, lists, ranges, footnotes, CJK brackets and ids; links and other brackets are no citations."""
    found = find_citations(call(answer=answer, delivery=received("a", "b", "c")))

    assert [c.passages for c in found] == named


def test_numbers_count_in_prompt_order():
    """[1] is the first passage of the prompt, wherever retrieval ranked it."""
    asked = call(answer="A [1].", delivery=delivery(whole("a"), whole("b", rank=1), order=(1, 0)))

    assert find_citations(asked) == (Citation(start=2, end=5, passages=(1,)),)


def test_accuracy_and_coverage_of_a_half_cited_answer():
    """One right and one wrong citation, one supported sentence without any."""
    answer = "First. [1] Second [1]. Third."
    judged = verdicts(
        [
            sentence(claim(evidence=(0,)), text="First.", start=0),
            sentence(claim(evidence=(1,)), text="Second [1].", start=11, number=2),
            sentence(claim(evidence=(1,)), text="Third.", start=23, number=3),
        ]
    )
    asked = call(answer=answer, delivery=received("a", "b"))

    accuracy = citation_accuracy(asked, judged, OPTIONS)
    coverage = citation_coverage(asked, judged, OPTIONS)

    assert accuracy == Score(
        name="citation_accuracy",
        value=0.5,
        comment="1 of 2 citations name a passage that supports their sentence. First wrong: “Second [1].”.",
        metadata={"citations": 2, "right": 1},
    )
    assert isinstance(coverage, Score)
    assert coverage.value == pytest.approx(2 / 3)


def test_an_answer_without_citations_is_unscored():
    """Without a marker there is nothing to measure."""
    judged = verdicts([sentence(claim())])

    assert citation_accuracy(call(delivery=received("a")), judged, OPTIONS) == Unscored(
        name="citation_accuracy", reason="no_citations", detail="the answer cites no passage"
    )


def test_coverage_without_a_supported_sentence_is_unscored():
    """Cited or not, unsupported sentences leave nothing to cover."""
    judged = verdicts([sentence(claim("unsupported"), text="First [1].")])

    result = citation_coverage(call(answer="First [1].", delivery=received("a")), judged, OPTIONS)

    assert result == Unscored(name="citation_coverage", reason="no_claims", detail="no sentence is supported")
