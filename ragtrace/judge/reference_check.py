"""Ask a language model whether references answer their questions, many in one request."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ragtrace.errors import JudgeReplyInvalid
from ragtrace.judge.json_text import own_object
from ragtrace.judge.llm import LlmJudge
from ragtrace.judge.planning import clean
from ragtrace.judge.prompt import draw_code, list_schema, object_schema
from ragtrace.model import JsonValue
from ragtrace.prompts import LANGUAGES, reference_check
from ragtrace.text import detect_language

_A_REQUEST: Final = 20
_LONGEST: Final = 2_000
_LONGEST_REASON: Final = 300
_MOST_REPLIES: Final = 2
_AT_ONCE: Final = 4
_SCHEMA: Final = object_schema(
    id={"type": "string"},
    references=list_schema(object_schema(n={"type": "string"}, fits={"type": "boolean"}, why={"type": "string"})),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether a reference answers its question."""

    fits: bool
    why: str | None = None
    """Why not."""


async def check_references(
    judge: LlmJudge, pairs: Sequence[tuple[str, str]], *, random: Random | None = None
) -> list[Fit | None]:
    """Return one finding a (question, reference) pair; None where the model did not answer as asked, twice.

    Raises:
        JudgeUnavailable: the endpoint did not answer.
        JudgeOverBudget: no tokens are left.
    """
    chance, places = random or Random(), asyncio.Semaphore(_AT_ONCE)
    found: list[Fit | None] = [None] * len(pairs)

    async def check(portion: Sequence[int]) -> None:
        async with places:
            for _ in range(_MOST_REPLIES):
                missing = [index for index in portion if found[index] is None]
                if missing:
                    for index, fit in await _ask(judge, pairs, missing, chance):
                        found[index] = fit

    try:
        async with asyncio.TaskGroup() as tasks:
            for start in range(0, len(pairs), _A_REQUEST):
                tasks.create_task(check(range(start, min(start + _A_REQUEST, len(pairs)))))
    except ExceptionGroup as failed:
        # All requests go to the same endpoint: the first failure says it all.
        raise failed.exceptions[0] from None
    return found


async def _ask(
    judge: LlmJudge, pairs: Sequence[tuple[str, str]], wanted: Sequence[int], random: Random
) -> list[tuple[int, Fit]]:
    shown = {f"R{index + 1}": (clean(pairs[index][0]), clean(pairs[index][1])) for index in wanted}
    code = draw_code([text for pair in shown.values() for text in pair], random)
    lines = [
        f"{code} {label} {kind} {text[:_LONGEST]}"
        for label, pair in shown.items()
        for kind, text in zip(("Q", "A"), pair, strict=True)
    ]
    language = detect_language(pairs[wanted[0]][0])
    system = reference_check(language if language in LANGUAGES else LANGUAGES[0])
    try:
        text = await judge.complete(system, "\n".join([*lines, f"{code} END {' '.join(shown)}"]), schema=_SCHEMA)
        own = own_object(text, code)
    except JudgeReplyInvalid:
        return []
    return [(index, fit) for index, fit in _read(own.get("references")) if index in wanted]


def _read(listed: JsonValue) -> Iterator[tuple[int, Fit]]:
    for entry in listed if isinstance(listed, list) else ():
        number = str(entry.get("n", "")).strip(" []().:#").upper().removeprefix("R") if isinstance(entry, dict) else ""
        if isinstance(entry, dict) and number.isdigit() and isinstance(fits := entry.get("fits"), bool):
            why = entry.get("why")
            reason = " ".join(why.split())[:_LONGEST_REASON] if isinstance(why, str) and not fits else None
            yield int(number) - 1, Fit(fits=fits, why=reason or None)
