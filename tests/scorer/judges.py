"""Judges whose verdicts a test can foresee."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from ragtrace.errors import JudgeUnavailable
from ragtrace.model import Claim, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts


@dataclass(slots=True, kw_only=True)
class ExactJudge:
    """Supports a text that stands in a passage letter by letter; one sentence, one claim."""

    fingerprint: str = "exact-1"
    model: str = "exact"
    is_calibrated: bool = False
    judged: list[str] = field(default_factory=list)
    """Ids of the calls it was asked about."""
    before: Callable[[RagCall], None] = lambda call: None
    """Runs before the verdict; may raise."""
    in_flight: int = 0
    most_in_flight: int = 0
    is_closed: bool = False

    async def judge(self, call: RagCall) -> Verdicts:
        self.judged.append(call.id)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0)
            self.before(call)
        finally:
            self.in_flight -= 1
        answer = (_sentence(call, call.answer),) if call.answer.strip() else ()
        reference = (_sentence(call, call.reference),) if call.reference else ()
        return Verdicts(
            judge=JudgeInfo(
                fingerprint=self.fingerprint, model=self.model, calls=1, prompt_tokens=100, completion_tokens=10
            ),
            answer=answer,
            reference=reference,
            useful=tuple(sorted({i for s in (*answer, *reference) for c in s.claims for i in c.evidence})),
        )

    async def aclose(self) -> None:
        self.is_closed = True


def _sentence(call: RagCall, text: str) -> JudgedSentence:
    deliveries = call.delivery.passages if call.delivery else ()
    evidence = tuple(i for i, d in enumerate(deliveries) if text in d.received_text)
    claim = Claim(text=text, verdict="supported" if evidence else "unsupported", evidence=evidence)
    return JudgedSentence(sentence=Sentence(number=1, text=text, start=0, end=len(text)), claims=(claim,))


def unavailable(call: RagCall) -> None:
    raise JudgeUnavailable("OPENAI_BASE_URL='http://x': no answer")
