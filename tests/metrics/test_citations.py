"""Citation accuracy and coverage."""

from dataclasses import replace

import pytest

from ragtrace.metrics import MetricOptions
from ragtrace.metrics.citations import citation_accuracy, citation_coverage, find_citations
from ragtrace.metrics.overlap import entities, likely_source
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
        metadata={"citations": 2, "right": 1, "by": "markers"},
    )
    assert isinstance(coverage, Score)
    assert coverage.value == pytest.approx(2 / 3)


def test_an_answer_without_citations_is_unscored():
    """Without a marker, and without a name or number that a passage shares, there is nothing to measure."""
    judged = verdicts([sentence(claim())])

    assert citation_accuracy(call(delivery=received("a")), judged, OPTIONS) == Unscored(
        name="citation_accuracy", reason="no_citations", detail="none, and no names or numbers shared with a passage"
    )


def test_coverage_without_a_supported_sentence_is_unscored():
    """Cited or not, unsupported sentences leave nothing to cover."""
    judged = verdicts([sentence(claim("unsupported"), text="First [1].")])

    result = citation_coverage(call(answer="First [1].", delivery=received("a")), judged, OPTIONS)

    assert result == Unscored(name="citation_coverage", reason="no_claims", detail="no sentence is supported")


def test_without_citations_names_and_numbers_stand_in():
    """Each sentence is held against the passage that shares most of them, and both results say so."""
    answer = "The tower stands in Paris. It was built in 1889. It is tall."
    judged = verdicts(
        [
            sentence(claim(evidence=(0,)), text="The tower stands in Paris.", start=0),
            sentence(claim(evidence=(0,)), text="It was built in 1889.", start=27, number=2),
            sentence(claim(evidence=(1,)), text="It is tall.", start=49, number=3),
        ]
    )
    asked = call(answer=answer, delivery=received("The Eiffel Tower is in Paris.", "Built 1887-1889, it is tall."))

    said = " The answer has no citations: passages were assigned by shared names and numbers."
    assert citation_accuracy(asked, judged, OPTIONS) == Score(
        name="citation_accuracy",
        value=0.5,
        comment="1 of 2 citations name a passage that supports their sentence. First wrong: “It was built in 1889.”."
        + said,
        metadata={"citations": 2, "right": 1, "by": "entity overlap"},
    )
    assert citation_coverage(asked, judged, OPTIONS) == Score(
        name="citation_coverage",
        value=pytest.approx(2 / 3),
        comment="2 of 3 supported sentences are cited." + said,
        metadata={"supported": 3, "cited": 2, "by": "entity overlap"},
    )


def test_citations_of_the_provider_come_first():
    """What the provider reported is used, whatever brackets the answer holds; a passage that was not there is wrong."""
    judged = verdicts([sentence(claim(evidence=(1,)), text="First [1].")])
    cited = (Citation(start=0, end=9, passages=(1,)), Citation(start=0, end=9, passages=(7,)))
    asked = replace(call(answer="First [1].", delivery=received("a", "b")), citations=cited)

    assert citation_accuracy(asked, judged, OPTIONS) == Score(
        name="citation_accuracy",
        value=0.5,
        comment="1 of 2 citations name a passage that supports their sentence. First wrong: “First [1].”.",
        metadata={"citations": 2, "right": 1, "by": "provider"},
    )


def test_footnotes_cite():
    """A marker after the full stop cites for the sentence before it."""
    answer = "First.[^1] Second.[^2]"
    judged = verdicts(
        [
            sentence(claim(evidence=(0,)), text="First.", start=0),
            sentence(claim(evidence=(1,)), text="Second.", start=11, number=2),
        ]
    )

    result = citation_accuracy(call(answer=answer, delivery=received("a", "b")), judged, OPTIONS)

    assert isinstance(result, Score)
    assert (result.value, result.metadata) == (1.0, {"citations": 2, "right": 2, "by": "markers"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Founded in 1889 by Gustave Eiffel.", {"1889", "gustave", "eiffel"}),
        ("Paris is large.", set()),
        ("员工每年有5天带薪年假。", {"5"}),
        ("首都は東京タワーです。", {"タワー"}),
        ("It costs １２.50.", {"12.50"}),
        ("", set()),
    ],
)
def test_entities_are_names_and_numbers(text: str, found: set[str]):
    """The word that opens a sentence is capitalised anyway and says nothing."""
    assert entities(text) == found


@pytest.mark.parametrize(
    ("sentence_text", "source"),
    [
        ("It is 15 days in Rome.", 1),
        ("It is 5 days.", 0),
        ("It is 25 days in Oslo and Bergen.", None),
        ("No names here.", None),
    ],
)
def test_a_source_holds_half_of_the_entities(sentence_text: str, source: int | None):
    """Numbers match whole; a passage with fewer than half of the names and numbers is no source."""
    assert likely_source(sentence_text, {0: "有5天。", 1: "15 days, also in Rome"}) == source
