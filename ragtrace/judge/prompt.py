"""Write the messages of a judge request: what never changes first, then the items, each behind the request's code."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import Final, Literal

from ragtrace.judge.protocol import NEEDS_LABEL, Item
from ragtrace.judge.reply import Request
from ragtrace.model import JsonValue
from ragtrace.prompts import section
from ragtrace.semconv import JUDGE_MARK

Mode = Literal["lean", "default", "all"]
EXAMPLE_CODE: Final = "tuba"
"""Stands in the examples, so no request carries it."""
_OWN_REQUEST = re.compile(r"([a-z]{4,}) (?:1|Q) .*^\1 END [ARN0-9a-z -]*\Z", re.DOTALL | re.MULTILINE)
_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_SHORTEST_CODE: Final = 4
_DRAWS_A_LENGTH: Final = 20


def is_judge_text(text: str) -> bool:
    """Tell whether a text is a judge's own request, as somebody else's instrumentation may have recorded it."""
    start = text.lstrip()
    return start.startswith(JUDGE_MARK) or _OWN_REQUEST.match(start) is not None


def draw_code(texts: Sequence[str], random: Random) -> str:
    """Return a word that stands in none of the texts.

    So nothing that is judged can open an item, or be taken for the reply when the judge quotes it.
    """
    everything = "\n".join(texts).casefold()
    length = _SHORTEST_CODE
    while True:
        for _ in range(_DRAWS_A_LENGTH):
            code = "".join(random.choice(_VOWELS if i % 2 else _CONSONANTS) for i in range(length))
            if code != EXAMPLE_CODE and code not in everything:
                return code
        length += 2


def write_messages(request: Request, mode: Mode) -> tuple[str, str]:
    """Return the system text, the same for all calls of one language, and the user text."""
    plan = request.plan
    return _system(plan.language, mode, request.wants_needs), _user(request)


@cache
def _system(language: str, mode: Mode, wants_needs: bool) -> str:
    text = section(language, "lean" if mode == "lean" else "default")
    text = text.replace("{reasons}", section(language, "reasons all" if mode == "all" else "reasons"))
    text = text.replace("{example supported}", section(language, "example supported") if mode == "all" else "")
    return f"{text}\n\n{section(language, 'sufficiency')}" if wants_needs else text


def _user(request: Request) -> str:
    plan, code = request.plan, request.code
    answer = [item for item in request.items if item.side == "A"]
    reference = [item for item in request.items if item.side == "R"]
    # Withheld passages stand behind the answer's sentences: they are there for the reference's alone.
    lines = [
        *(f"{code} {number} {excerpt.text}" for number, excerpt in enumerate(plan.received, 1)),
        f"{code} Q {plan.question}",
        *(f"{code} {item.label} {item.text}" for item in answer),
        *(f"{code} W{number} {excerpt.text}" for number, excerpt in enumerate(plan.withheld if reference else (), 1)),
        *(f"{code} {item.label} {item.text}" for item in reference),
        f"{code} END {' '.join([*_ranges(request.items), *([NEEDS_LABEL] if request.wants_needs else [])])}",
    ]
    return "\n".join(lines)


def _ranges(items: Iterable[Item]) -> list[str]:
    """Return the labels, runs of neighbours as `A1-A4`."""
    runs: list[list[str]] = []
    for item in items:
        label = item.label
        follows = runs and runs[-1][-1] == f"{label[0]}{int(label[1:]) - 1}"
        if follows:
            runs[-1].append(label)
        else:
            runs.append([label])
    return [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def reply_schema(mode: Mode, *, wants_needs: bool) -> JsonValue:
    """Return the JSON schema of a reply, strict, the same for all requests of one kind."""
    claim = object_schema(
        claim={"type": "string"},
        evidence=list_schema({"type": "string"}),
        verdict={"type": "string", "enum": ["supported", "contradicted", "unsupported"]},
        reason={"type": "string"},
    )
    sentence: JsonValue = (
        {"type": "string"} if mode == "lean" else object_schema(n={"type": "string"}, claims=list_schema(claim))
    )
    need = object_schema(n={"type": "string"}, need={"type": "string"}, evidence=list_schema({"type": "string"}))
    needs = {"needs": list_schema(need)} if wants_needs else {}
    return object_schema(id={"type": "string"}, refused={"type": "boolean"}, verdicts=list_schema(sentence), **needs)


def object_schema(**properties: JsonValue) -> JsonValue:
    """Return the schema of an object with exactly these properties, as strict endpoints want it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(items: JsonValue) -> JsonValue:
    """Return the schema of a list."""
    return {"type": "array", "items": items}
