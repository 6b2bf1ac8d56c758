"""Text that the generator never got: it may lift retrieval_recall, and nothing that a judge says lifts anything else."""

import pytest

from ragtrace import metrics
from ragtrace.model import Claim, Score, Unscored
from tests.build import absent, call, delivery, head, whole
from tests.judge.conftest import Judges
from tests.judge.endpoint import ScriptedEndpoint, claim, says, verdicts

FEE = call(
    question="What is the fee?",
    answer="The fee is 5 euros.",
    delivery=delivery(
        whole("Fees are due in May.", rank=0),
        absent("The fee is 5 euros.", rank=1),
        head("Students pay half. Others pay in full.", 18, rank=2),
    ),
    reference="The fee is 5 euros.",
)
NAMES = ("faithfulness", "hallucination_rate", "context_recall", "retrieval_recall", "context_precision")


async def scores(endpoint: ScriptedEndpoint, judges: Judges, found: dict[str, list[object]]) -> dict[str, object]:
    endpoint.answers(lambda asked: says(verdicts(asked, found)))
    result = await judges().judge(FEE)
    computed = metrics.compute(FEE, result, names=NAMES)
    return {r.name: r.value if isinstance(r, Score) else r.reason for r in computed if isinstance(r, Score | Unscored)}


@pytest.mark.parametrize(
    "about_the_fee",
    [
        claim("supported", "W1"),
        claim("supported", "W1", "W2"),
        claim("unsupported", "W1"),
        claim("supported", "w1", "9"),
    ],
)
async def test_withheld_evidence_lifts_retrieval_recall_alone(
    endpoint: ScriptedEndpoint, judges: Judges, about_the_fee: dict[str, object]
):
    """A judge that credits withheld text, however it puts it, changes no other score."""
    found = await scores(endpoint, judges, {"A1": [about_the_fee], "R1": [about_the_fee]})

    assert found == {
        "faithfulness": 0.0,
        "hallucination_rate": 1.0,
        "context_recall": 0.0,
        "retrieval_recall": 1.0,
        "context_precision": 0.0,
        "rag_outcome": "scored",
    }


async def test_withheld_evidence_is_kept_apart(endpoint: ScriptedEndpoint, judges: Judges):
    """The claim stays unsupported, with the withheld passages beside its evidence; the answer's claim knows of none."""
    endpoint.answers(
        lambda asked: says(
            verdicts(asked, {"A1": [claim("unsupported", "W1")], "R1": [claim("supported", "W1", "W2")]})
        )
    )

    found = await judges().judge(FEE)

    assert found.answer[0].claims == (Claim(text="The fee is 5 euros.", verdict="unsupported"),)
    assert found.reference[0].claims == (
        Claim(text="The fee is 5 euros.", verdict="unsupported", withheld_evidence=(1, 2)),
    )


async def test_evidence_of_both_kinds_counts_for_what_each_is(endpoint: ScriptedEndpoint, judges: Judges):
    """A claim that a received passage supports, too, is supported by that one."""
    both = claim("supported", "1", "W1")
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": [both], "R1": [both]})))

    found = await judges().judge(FEE)

    assert (found.answer[0].claims, found.reference[0].claims) == (
        (Claim(text="The fee is 5 euros.", verdict="supported", evidence=(0,)),),
        (Claim(text="The fee is 5 euros.", verdict="supported", evidence=(0,), withheld_evidence=(1,)),),
    )


async def test_withheld_text_contradicts_nothing(endpoint: ScriptedEndpoint, judges: Judges):
    """A contradiction that only withheld text holds is none: the generator could not know."""
    against = claim("contradicted", "W1")
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": [against], "R1": [against]})))

    found = await judges().judge(FEE)

    assert [s.claims[0] for s in (*found.answer, *found.reference)] == [
        Claim(text="The fee is 5 euros.", verdict="unsupported")
    ] * 2


async def test_withheld_numbers_that_were_not_given_out_are_no_evidence(endpoint: ScriptedEndpoint, judges: Judges):
    """Support by a withheld passage that does not exist is no verdict."""
    endpoint.answers(
        lambda asked: says(verdicts(asked, {"A1": [claim("unsupported")], "R1": [claim("supported", "W7")]}))
    )

    found = await judges().judge(FEE)

    assert found.reference[0].claims == (Claim(text="The fee is 5 euros.", verdict="undecided"),)


async def test_with_nothing_received_only_the_reference_is_asked_about(endpoint: ScriptedEndpoint, judges: Judges):
    """Where all was withheld, the judge sees it for the reference, and the answer is not asked about."""
    endpoint.answers(lambda asked: says(verdicts(asked, {"R1": [claim("unsupported", "W1")]})))
    about = call(
        answer="The fee is 5 euros.", delivery=delivery(absent("The fee is 5 euros.")), reference="It is 5 euros."
    )

    found = await judges().judge(about)

    assert (endpoint.asked[0].labels, found.answer[0].claims) == (["R1"], ())
    assert found.reference[0].claims == (Claim(text="It is 5 euros.", verdict="unsupported", withheld_evidence=(0,)),)


async def test_lean_replies_keep_withheld_text_apart(endpoint: ScriptedEndpoint, judges: Judges):
    """In letters, too, withheld passages count for the reference's recall alone."""
    endpoint.answers(lambda asked: says({"id": asked.code, "refused": False, "verdicts": ["A1 SW1", "R1 UW1,W2"]}))

    found = await judges(judge_mode="lean").judge(FEE)

    assert (found.answer[0].claims[0].verdict, found.reference[0].claims[0].withheld_evidence) == (
        "unsupported",
        (1, 2),
    )
