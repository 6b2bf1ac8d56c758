"""One call, ready for reading."""

from ragtrace.report.calls import show_call, show_sentences
from ragtrace.report.content import ShownClaim, ShownScore, ShownSentence
from ragtrace.report.outcome import Outcome
from tests.report.samples import BAD_ANSWER, claim, clear, contradicted, refused, sample, sentences, unseen


def _show(made):
    return show_call(made.record, made.call, number=1, url="u")


def test_sentences_carry_verdict_claims_and_evidence():
    """Each sentence stands with its verdict; evidence is numbered from 1; a quote of cut text is recognised."""
    shown = _show(contradicted())

    assert shown.answer == (
        ShownSentence(
            lead="",
            text="Stations have 36 months.",
            kind="statement",
            verdict="supported",
            claims=(ShownClaim(text="", verdict="supported", reason=None, evidence=(1,)),),
        ),
        ShownSentence(
            lead=" ",
            text="Batteries have 90 months.",
            kind="statement",
            verdict="contradicted",
            claims=(ShownClaim(text="", verdict="contradicted", reason="The passage says 24.", evidence=(1,)),),
        ),
        ShownSentence(
            lead=" ",
            text="Labels are free in Europe.",
            kind="statement",
            verdict="unsupported",
            claims=(ShownClaim(text="Labels are free", verdict="unsupported", reason=None, evidence=()),),
            in_cut_text=2,
        ),
    )
    assert (shown.verdict, shown.severity) == ("1 contradicted, 1 not supported of 3 sentences", "contradicted")


def test_scores_come_with_reasons():
    """A metric has its number, or the reason why there is none, headline metrics first."""
    assert _show(clear()).scores == (
        ShownScore(name="faithfulness", label="Faithfulness", value=1.0, unscored=None),
        ShownScore(name="hallucination_rate", label="Hallucination rate", value=0.0, unscored=None),
        ShownScore(name="contradiction_rate", label="Contradiction rate", value=0.0, unscored=None),
        ShownScore(name="context_recall", label="Context recall", value=None, unscored="no reference answer"),
        ShownScore(name="retrieval_recall", label="Retrieval recall", value=None, unscored="no reference answer"),
        ShownScore(name="context_delivery", label="Delivery", value=1.0, unscored=None),
    )
    assert _show(clear()).severity == "clear"


def test_unjudged_answers_are_shown_whole():
    """A refusal and an answer that no scorer saw are shown without marks, and say why."""
    declined, waiting = _show(refused()), _show(unseen())

    assert (declined.verdict, declined.severity, declined.language) == (
        "the answer declines to answer",
        "unscored",
        "zh",
    )
    assert (waiting.verdict, waiting.severity, waiting.passages) == ("not scored yet", "unscored", None)
    assert waiting.answer == (ShownSentence(lead="", text="Perhaps.", kind="statement", verdict=None, claims=()),)


def test_reason_of_an_unscored_call_is_its_outcome():
    """Without verdicts and without reasons by metric the outcome itself is said."""
    made = sample(1, answer="A.", delivered=None, outcome=Outcome(value="masked"))

    assert _show(made).verdict == "the content was masked"


def test_unsupported_answers_are_told_from_contradicted_ones():
    """Severity follows the worst verdict."""
    outcome = Outcome(value="scored", answer=sentences("A.", ("A.", claim("unsupported"))))

    assert _show(sample(1, answer="A.", delivered=None, outcome=outcome)).severity == "unsupported"


def test_pieces_make_up_the_answer():
    """Nothing of the answer is lost between sentences, and sentences of another answer are left out."""
    judged = sentences(BAD_ANSWER, ("Batteries have 90 months.", claim("unsupported")))
    elsewhere = sentences("x" * 200 + "Far.", ("Far.", claim("unsupported")))
    shown = show_sentences(BAD_ANSWER, (*judged, *elsewhere), withheld=["short"])

    assert "".join(s.lead + s.text for s in shown) == BAD_ANSWER
    assert [s.verdict for s in shown] == ["unsupported", None]


def test_short_sentences_are_no_quotes():
    """A sentence of a few letters stands in many texts by chance."""
    shown = show_sentences("No.", sentences("No.", ("No.", claim("unsupported"))), withheld=["no, never"])

    assert [s.in_cut_text for s in shown] == [None]
