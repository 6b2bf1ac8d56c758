"""Read what a request sends to the model: texts, the person's last words, and what tools returned."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragtrace.model import Passage

_DEEPEST = 4
_LABEL = re.compile(r"\b(?:question|query|frage|вопрос|问题|問題|質問|pregunta)\s*[:：]\s*", re.IGNORECASE)
_LEAST_OVERLAP = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The texts of one request, in order."""

    parts: tuple[str, ...]
    asked: str | None = None
    """What the person said last."""
    tool_results: tuple[str, ...] = ()
    """What tools returned since."""


def read_chat(arguments: Mapping[str, object]) -> Prompt:
    """Read the arguments of `chat.completions.create`."""
    return _read(arguments.get("messages"))


def read_response(arguments: Mapping[str, object]) -> Prompt:
    """Read the arguments of `responses.create`."""
    given, instructions = arguments.get("input"), arguments.get("instructions")
    prompt = Prompt(parts=(given,), asked=given) if isinstance(given, str) else _read(given)
    if not isinstance(instructions, str):
        return prompt
    return Prompt(parts=(instructions, *prompt.parts), asked=prompt.asked, tool_results=prompt.tool_results)


def _read(messages: object) -> Prompt:
    parts: list[str] = []
    results: list[str] = []
    asked: str | None = None
    # Any iterable is sent by the client, but reading it here would use it up.
    for message in messages if isinstance(messages, list | tuple) else ():
        role, texts = _get(message, "role"), [*_texts(_get(message, "content"), _DEEPEST)]
        if _get(message, "type") == "function_call_output":
            role, texts = "tool", [*_texts(_get(message, "output"), _DEEPEST)]
        parts += texts
        if role == "user" and texts:
            asked, results = texts[-1], []
        elif role in ("tool", "function"):
            results += texts
    return Prompt(parts=tuple(parts), asked=asked, tool_results=tuple(results))


def _texts(content: object, depth: int) -> Iterator[str]:
    if isinstance(content, str):
        if content:
            yield content
    elif depth and isinstance(content, list | tuple):
        for block in content:
            yield from _texts(_get(block, "text") if _get(block, "type") else block, depth - 1)


def _get(value: object, name: str) -> object:
    """Return a field of a dictionary or of one of the client's own models."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def find_question(asked: str, passages: Sequence[Passage]) -> str:
    """Return the question out of a message that may hold passages and instructions, too."""
    labels = [*_LABEL.finditer(asked)]
    if labels and (labelled := asked[labels[-1].end() :].strip()):
        return labelled
    held = [passage.text for passage in passages if _holds(asked, passage.text)]
    if not held:
        return asked.strip()
    rest = asked
    for text in held:
        rest = rest.replace(text.strip(), "\n\n")
    paragraphs = [paragraph.strip() for paragraph in rest.split("\n\n") if any(map(str.isalnum, paragraph))]
    return paragraphs[-1] if paragraphs else asked.strip()


def _holds(asked: str, text: str) -> bool:
    return len(text) >= _LEAST_OVERLAP and text.strip()[:_LEAST_OVERLAP] in asked
