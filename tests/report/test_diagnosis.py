"""Where an answer went wrong, in words."""

from dataclasses import replace

import pytest

from ragtrace.report.content import Finding
from ragtrace.report.diagnosis import count_layers, find, sentence_counts
from ragtrace.report.outcome import Outcome
from ragtrace.report.records import CallRecord
from tests.report.samples import claim, clear, contradicted, refused, sentences, unseen


def judged(outcome: Outcome, **scores: float) -> CallRecord:
    return replace(clear().record, outcome=outcome, scores=scores)


def test_losses_are_told_apart():
    """What retrieval missed, what was cut, and what the generator added are three findings."""
    text = "A. B. C."
    outcome = Outcome(
        value="scored",
        reference=sentences(
            text,
            ("A.", claim("supported", evidence=[0])),
            ("B.", claim("unsupported", withheld=[0, 2])),
            ("C.", claim("unsupported")),
        ),
        answer=sentences(text, ("A.", claim("unsupported")), ("B.", claim("contradicted")), ("C.", None)),
    )

    assert find(judged(outcome, retrieval_recall=2 / 3, context_recall=1 / 3, faithfulness=0.0)) == (
        Finding(
            layer="retrieval",
            text="Retrieval fell short. 1 of 3 claims of the reference stands in no retrieved passage.",
        ),
        Finding(
            layer="delivery",
            text="Lost on the way. 1 of 3 claims of the reference stands only in text of passages 1, 3 that the "
            "generator was not sent.",
        ),
        Finding(
            layer="generation",
            text="The generator went beyond. 2 of 2 sentences claim something that no received passage says, or that "
            "one contradicts.",
        ),
    )


def test_one_wrong_sentence_is_named_by_its_kind():
    """A single verdict is said plainly."""
    for verdict, words in (
        ("unsupported", "something that no received passage says"),
        ("contradicted", "something that a received passage contradicts"),
    ):
        outcome = Outcome(value="scored", answer=sentences("A.", ("A.", claim(verdict))))

        assert [f.text for f in find(judged(outcome, faithfulness=0.0))] == [
            f"The generator went beyond. 1 of 1 sentence claims {words}."
        ]


def test_needless_refusal_is_a_finding():
    """An answer that declines although the reference was received went wrong."""
    assert [f.text for f in find(refused().record)] == [
        "Question not answered. 1 of 1 claim of the reference stands in what the generator was sent."
    ]


def test_undecided_claims_say_nothing():
    """An undecided claim of the reference counts as neither found nor missed."""
    assert find(judged(Outcome(value="scored", reference=sentences("A.", ("A.", claim("undecided")))))) == ()


def test_faults_without_stored_claims_are_said_in_general():
    """Where the sentences were too many to store, or a graded metric failed, the finding does without counts."""
    outcome = Outcome(value="scored")
    values = {"retrieval_recall": 0.5, "context_recall": 0.25, "contradiction_rate": 0.5, "answer_relevancy": 0.1}

    assert [f.text for f in find(judged(outcome, **values))] == [
        "Retrieval fell short. Retrieval did not find what the reference says.",
        "Lost on the way. Retrieval found it, but it was cut or dropped before the prompt.",
        "The generator went beyond. The answer contradicts a passage that the generator received.",
        "Question not answered. The answer does not answer the question.",
    ]
    assert [f.layer for f in find(judged(outcome, retrieval_recall=0.0, sufficiency=1.0))] == ["reference"]
    assert find(judged(outcome, answer_relevancy=0.1), {"answer_relevancy": 0.05}) == ()


def test_layers_are_counted_over_calls():
    """A call counts for each layer that failed it; calls without an outcome do not count."""
    records = [s.record for s in (contradicted(), clear(), refused(), unseen())]

    assert count_layers(records) == {"delivery": 1, "generation": 1, "relevancy": 1}


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["supported"], "all supported"),
        (["contradicted", "supported"], "1 of 2 sentences contradicted"),
        (["unsupported"], "1 of 1 sentence not supported"),
        (["unsupported", "contradicted", "undecided"], "1 contradicted, 1 not supported of 3 sentences"),
        (["undecided", "supported"], "1 of 2 sentences undecided"),
    ],
)
def test_verdicts_are_summed_up(verdicts, words):
    """The line beside a question says the worst first."""
    assert sentence_counts(verdicts) == words
