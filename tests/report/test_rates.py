"""A window summed up."""

from dataclasses import replace

import pytest

from ragtrace.judge.embedded import MODEL
from ragtrace.report.content import CauseCount, MetricRates
from ragtrace.report.estimates import pooled as pooled_rate
from ragtrace.report.rates import headline, obtained, summarise, weighted_mean
from ragtrace.report.records import badness
from ragtrace.report.words import counted, pass_mark, period, plural, pooled, shown_of, window
from ragtrace.stats import mean, ratio
from tests.report.samples import MADE_AT, STARTED_AT, clear, contradicted, refused, report, unseen


def _records(*samples):
    return [s.record for s in samples]


def test_rates_count_numbers_and_reasons():
    """A metric has a mean over the calls with a number, and counts the others by reason."""
    made = report(contradicted(), clear(), refused(), unseen())

    assert made.rates[0] == MetricRates(
        name="faithfulness",
        label="Faithfulness",
        meaning="of an answer’s claims stand on what was received",
        mean=pytest.approx(2 / 3),
        scored=2,
        unscored={"refusal": 1},
        is_headline=True,
        estimate=mean([1 / 3, 1.0], [1.0, 1.0], clusters=["t1", "t2"]),
        pooled=None,
        unit="claims",
        pass_mark=0.8,
        has_passed=False,
    )
    assert [r.name for r in made.rates] == [
        "faithfulness",
        "hallucination_rate",
        "context_recall",
        "context_delivery",
        "contradiction_rate",
        "retrieval_recall",
    ]
    assert [counted(r) for r in made.rates[:2]] == ["2 answers, 1 without a number"] * 2


def test_own_metrics_are_listed_last():
    """A metric of the user's own appears under its name."""
    made = contradicted()
    own = replace(made, record=replace(made.record, scores={"tone": 0.5}))

    assert (report(own).rates[-1].name, report(own).rates[-1].label) == ("tone", "Tone")


def test_sampled_calls_weigh_what_they_stand_for():
    """A call that was judged with probability 0.1 counts ten times."""
    rare, sure = contradicted().record, clear().record
    assert rare.outcome is not None
    rare = replace(rare, outcome=replace(rare.outcome, inclusion_probability=0.1))

    assert weighted_mean("hallucination_rate", [rare, sure]) == pytest.approx((10 * 2 / 3 + 0) / 11)
    assert weighted_mean("mrr", [rare, sure]) is None


def test_both_means_of_a_window_are_given_and_named():
    """Macro: answers count the same; micro: claims count the same; both weigh sampled calls by what they stand for."""
    long, short = contradicted().record, clear().record
    assert long.outcome is not None
    long = replace(
        long,
        units={"hallucination_rate": 9, "faithfulness": 9},
        outcome=replace(long.outcome, inclusion_probability=0.5),
    )
    short = replace(short, units={"hallucination_rate": 2})

    [_, rates, *_] = summarise([long, short], {"hallucination_rate": 0.6})

    assert rates == MetricRates(
        name="hallucination_rate",
        label="Hallucination rate",
        meaning="of an answer’s sentences claim something that was not received",
        mean=pytest.approx((2 * 2 / 3 + 0) / 3),
        scored=2,
        unscored={},
        is_headline=True,
        estimate=mean([2 / 3, 0.0], [0.5, 1.0], clusters=["t1", "t2"]),
        pooled=ratio([6.0, 0.0], [9, 2], [0.5, 1.0], clusters=["t1", "t2"]),
        unit="sentences",
        pass_mark=0.6,
        has_passed=True,
        is_lower_better=True,
    )
    assert (pooled(rates), pass_mark(rates)) == ("", "pass (at most 0.6)")
    assert pooled_rate("faithfulness", [short]) is None


def test_pooled_rate_has_an_interval():
    """Twenty long answers with 6 of 9 sentences wrong, judged with probability 0.5, and as many clean ones of 2."""
    long, short = contradicted().record, clear().record
    assert long.outcome is not None
    long = replace(long, units={"hallucination_rate": 9}, outcome=replace(long.outcome, inclusion_probability=0.5))
    short = replace(short, units={"hallucination_rate": 2})
    many = [replace(long, trace_id=f"long{n}") for n in range(20)]
    many += [replace(short, trace_id=f"short{n}") for n in range(20)]

    [_, rates, *_] = summarise(many)

    assert rates.pooled is not None
    assert rates.pooled.value == pytest.approx(0.6)
    assert rates.pooled.low is not None
    assert rates.pooled.low < 0.6
    assert pooled(rates) == "0.60 of sentences (0.51 to 0.68), few"


def test_a_mark_without_a_number_is_no_failure():
    """Neither a metric without numbers nor one without a mark passes or fails."""
    rates = {r.name: r for r in summarise([replace(clear().record, scores={"tone": 1.0})])}

    assert (pass_mark(rates["faithfulness"]), pass_mark(rates["tone"])) == ("no number (at least 0.8)", "")


def test_advice_follows_the_window():
    """Low means are named with what to try, under the user's own thresholds too."""
    assert [advice.layer for advice in report(contradicted()).advice] == ["delivery", "generation"]
    assert report(clear()).advice == ()


def test_worst_calls_come_first():
    """More hallucinated sentences are worse, then less recall; among equals the latest comes first."""
    bad, good, declined, waiting = contradicted(), clear(), refused(), unseen()
    ordered = sorted(_records(waiting, good, declined, bad), key=badness)

    assert [r.trace_id for r in ordered] == ["t1", "t4", "t3", "t2"]


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([], "Nothing was captured in this window."),
        ([unseen()], "No answer has been judged yet."),
        ([clear()], "All 1 judged answer kept to what the generator was sent."),
        ([clear(), contradicted()], "1 of 2 judged answers says more than the generator was told."),
    ],
)
def test_headline_says_the_one_thing(samples, words):
    """The title is a sentence, also for a window without calls."""
    assert headline(_records(*samples)) == words


def test_report_says_how_numbers_were_obtained():
    """Sample, judge and calibration are three plain sentences."""
    assert obtained(_records(clear(), contradicted()))[:2] == (
        "Sample: none was drawn, all 2 captured answers went to the scorer.",
        "Judge: scripted (fingerprint abcdef01) compared each sentence with the text that the generator was really sent.",
    )
    assert obtained(_records(unseen())) == ("No scorer has looked at these answers: run `ragtrace score`.",)


def test_samples_and_several_judges_are_said():
    """A sample and a change of judge are named, since they change what the numbers mean."""
    sample_said, judges_said, _ = obtained(_records(clear(), refused(), unseen()))

    assert sample_said == (
        "Sample: 2 of 3 captured answers went to the scorer, chosen by a hash of the trace id; in the means each weighs "
        "one over its probability of being chosen."
    )
    assert judges_said == (
        "Judges: scripted (fingerprint abcdef01) (1 answer); scripted (1 answer). Their numbers do not mix: compare "
        "only answers of one judge."
    )


def test_embedded_judge_says_what_it_cannot_do():
    """The judge by wording is never presented as a language model."""
    record = clear().record
    assert record.outcome is not None

    assert "is no language model" in obtained([replace(record, outcome=replace(record.outcome, judge_model=MODEL))])[1]


def test_no_judge_is_said_too():
    """Where nothing could be judged the report says so."""
    record = clear().record
    assert record.outcome is not None

    assert obtained([replace(record, outcome=replace(record.outcome, judge_model=None))])[1] == (
        "Judge: none was needed; no answer could be judged."
    )


def test_causes_keep_the_order_of_the_pipeline():
    """Retrieval, delivery, generation, relevancy, reference: each with its count, also where it is none."""
    assert report(contradicted(), refused()).causes == (
        CauseCount(
            layer="retrieval",
            title="Retrieval fell short",
            text="Part of the reference stands in no retrieved passage, or behind idle ones.",
            calls=0,
        ),
        CauseCount(
            layer="delivery",
            title="Lost on the way",
            text="Part of the reference was retrieved, but cut or dropped before the prompt.",
            calls=1,
        ),
        CauseCount(
            layer="generation",
            title="The generator went beyond",
            text="The answer says what no received passage says, or the opposite.",
            calls=1,
        ),
        CauseCount(
            layer="relevancy",
            title="Question not answered",
            text="The answer declines, although part of the reference was received, or speaks of something else.",
            calls=1,
        ),
        CauseCount(
            layer="reference",
            title="The reference does not fit",
            text="The passages hold what the question needs and nothing of the reference: mend the reference first.",
            calls=0,
        ),
    )


def test_window_is_said_once_a_day():
    """Calls, scored calls, calls without outcome and the time, without saying a date twice."""
    assert window(report(contradicted(), unseen())) == (
        "2 answers captured, 1 scored, 1 not sampled or still waiting. 1 Mar 2026, 12:01 to 12:04 UTC."
    )
    assert window(report()) == "No calls were captured in this window."
    assert period(STARTED_AT, STARTED_AT) == "1 Mar 2026, 12:00 UTC"
    assert period(STARTED_AT, MADE_AT) == "1 Mar 2026, 12:00 UTC to 2 Mar 2026, 09:30 UTC"


def test_report_says_which_answers_follow():
    """A page that does not show all answers says how many there are."""
    assert shown_of(report(clear(), contradicted(), shown=[contradicted()])) == "The worst 1 of 2"
    assert shown_of(report(clear())) == "All 1 answer"
    assert plural(1200, "answer") == "1,200 answers"


def test_agreement_with_people_is_said():
    """Where people looked at judged answers their agreement with the judge takes the place of the warning."""
    same = replace(clear().record, human_supported=True)
    other = replace(contradicted().record, human_supported=True)
    unjudged = replace(refused().record, human_supported=False)

    assert obtained([same, other, unjudged])[2] == (
        "Calibration: people looked at 2 of these answers, doubtful ones first, and agreed with the judge on 1; "
        "`ragtrace review` says more."
    )
