"""The scripted endpoint, and a judge behind it."""

from collections.abc import AsyncIterator, Iterator
from random import Random

import pytest

from ragtrace.judge.llm import LlmJudge
from tests.judge.endpoint import ScriptedEndpoint


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    scripted = ScriptedEndpoint()
    yield scripted
    scripted.close()


class Judges:
    """Makes judges at the endpoint, and closes them."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self._endpoint = endpoint
        self._made: list[LlmJudge] = []

    def __call__(self, **settings: object) -> LlmJudge:
        judge = LlmJudge(self._endpoint.settings(**settings), random=Random(7), first_pause_seconds=0.001)
        self._made.append(judge)
        return judge

    async def aclose(self) -> None:
        for judge in self._made:
            await judge.aclose()


@pytest.fixture
async def judges(endpoint: ScriptedEndpoint) -> AsyncIterator[Judges]:
    made = Judges(endpoint)
    yield made
    await made.aclose()
