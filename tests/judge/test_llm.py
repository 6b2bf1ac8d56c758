"""The LLM judge as a whole: one request for every verdict, and what becomes of replies that are not as asked."""

from ragtrace.model import Claim
from tests.build import call, received
from tests.judge.conftest import Judges
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, claim, says, verdicts

TANK = call(
    question="Tell me about the tank.",
    answer="The tank holds 40 l. It is made of steel.",
    delivery=received("Our tank holds 40 l.", "It weighs 9 kg."),
    reference="It weighs 9 kg.",
)


async def test_one_request_yields_all_verdicts(endpoint: ScriptedEndpoint, judges: Judges):
    """Claims of the answer and of the reference, their evidence and reasons come with one request."""

    def answer(asked: Asked) -> Reply:
        found = {
            "A1": [claim("supported", "1")],
            "A2": [claim("unsupported", reason="No passage names the material.")],
            "R1": [claim("supported", "2")],
        }
        return says(verdicts(asked, found))

    endpoint.answers(answer)

    found = await judges().judge(TANK)

    assert [sentence.claims for sentence in found.answer] == [
        (Claim(text="The tank holds 40 l.", verdict="supported", evidence=(0,)),),
        (Claim(text="It is made of steel.", verdict="unsupported", reason="No passage names the material."),),
    ]
    assert [s.claims for s in found.reference] == [(Claim(text="It weighs 9 kg.", verdict="supported", evidence=(1,)),)]
    assert (found.useful, found.refused, len(endpoint.asked)) == ((0, 1), False, 1)


async def test_only_missing_verdicts_are_asked_again(endpoint: ScriptedEndpoint, judges: Judges):
    """A number that the judge left out is asked about alone, once."""
    endpoint.answers(
        lambda asked: says(verdicts(asked, {"A1": [claim("supported", "1")], "R1": [claim("supported", "2")]})),
        lambda asked: says(verdicts(asked, {"A2": [claim("contradicted", 1)]})),
    )

    found = await judges().judge(TANK)

    assert [asked.labels for asked in endpoint.asked] == [["A1", "A2", "R1"], ["A2"]]
    assert found.answer[1].claims == (Claim(text="It is made of steel.", verdict="contradicted", evidence=(0,)),)
