"""Decide which model call answered, and what the question was: the rules of the LangChain handler, for spans."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragtrace.extract.content import Said, read_messages
from ragtrace.extract.json_text import JsonObject
from ragtrace.extract.step import Step
from ragtrace.extract.values import unfold, walk
from ragtrace.model import Confidence, JsonValue

_QUESTION_KEYS = ("question", "query", "input", "user_input", "user_query", "user_question", "prompt", "text", "q")
_ANSWER_KEYS = ("answer", "output", "result", "response", "text", "content")
_DEEPEST = 8
_MOST_VALUES = 600
_SHORTEST_CONTAINED = 12
_CALL_TYPES = ("tool_call", "tool_use", "function_call")
_CALL_KEYS = ("tool_calls", "invalid_tool_calls", "additional_kwargs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model call that answered, and how sure that is."""

    step: Step
    answer: str | None
    """None where it failed before it said anything, or what it said is not on the span."""
    confidence: Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the root of a call returned."""

    texts: tuple[str, ...]
    values: tuple[JsonObject, ...]


def read_ending(returned: JsonValue) -> Ending:
    """Keep the texts and the structured values of a root's output."""
    found = tuple(walk(_without_calls(unfold(returned)), depth=_DEEPEST, most=_MOST_VALUES))
    return Ending(
        texts=tuple(value.strip() for value in found if isinstance(value, str)),
        values=tuple(value for value in found if isinstance(value, dict)),
    )


def choose_answer(models: Sequence[Step], ending: Ending) -> Choice | None:
    """Tell which model call answered: whose words are in the root's output, else who spoke last.

    Who only asked for tools did not answer.
    """
    finished = sorted((s for s in models if s.said and not s.span.is_error), key=lambda s: -(s.span.end_ns or 0))
    for find, confidence in _TESTS:
        for step in finished:
            if step.said and (answer := find(step.said, ending)) is not None:
                return Choice(step=step, answer=answer, confidence=confidence)
    speaking = [step for step in finished if step.said and not step.said.calls_tools]
    if speaking and speaking[0].said:
        confidence = "medium" if len(models) == 1 else "low"
        return Choice(step=speaking[0], answer=speaking[0].said.text, confidence=confidence)
    silent = [step for step in models if step.said is None or step.span.is_error]
    if not silent:
        return None
    last = max(silent, key=lambda step: step.span.start_ns)
    return Choice(step=last, answer=last.said.text if last.said else None, confidence="low")


def find_question(given: JsonValue, *, depth: int = 3) -> str | None:
    """Return what the person asked, from a root's input; None where that does not say."""
    value = unfold(given)
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list):
        return _asked(value, depth)
    if not isinstance(value, dict) or not depth:
        return None
    if "role" in value or "parts" in value:
        return _asked([value], depth)
    for key in (*_QUESTION_KEYS, "messages"):
        if value.get(key) and (question := find_question(value[key], depth=depth - 1)):
            return question
    texts = [text for text in value.values() if isinstance(text, str) and text.strip()]
    return texts[0].strip() if len(texts) == 1 else None


def asked_last(step: Step) -> str | None:
    """Return what a person said last in the prompt of a model call."""
    said = (message.last_block for message in reversed(step.messages) if message.role == "user")
    return next((text.strip() for text in said if text), None)


def _asked(messages: list[JsonValue], depth: int) -> str | None:
    said = [m.last_block for m in read_messages(messages) if m.role == "user" and m.last_block]
    # Some write a chain's input, itself JSON, as the text of a message.
    inner = unfold(said[-1]) if said else None
    return find_question(inner, depth=depth - 1) if depth and inner is not None else None


def _find_same(said: Said, ending: Ending) -> str | None:
    """Return the answer if the output of the root is just that."""
    for arguments in (*said.arguments, *(_written_objects(said.text) if ending.values else ())):
        if any(_is_made_from(value, dict(arguments)) for value in ending.values):
            return _as_answer(dict(arguments))
    return next((text for text in _sayings(said) if text in ending.texts), None)


def _find_contained(said: Said, ending: Ending) -> str | None:
    """Return the answer if the output of the root holds it, or is a part of it."""
    for text in _sayings(said):
        for other in ending.texts:
            if min(len(text), len(other)) >= _SHORTEST_CONTAINED and (text in other or other in text):
                return text
    return None


_TESTS: tuple[tuple[Callable[[Said, Ending], str | None], Confidence], ...] = (
    (_find_same, "high"),
    (_find_contained, "medium"),
)


def _sayings(said: Said) -> list[str]:
    """Return what a model said: its text, or the texts of its structured output."""
    if not said.calls_tools:
        return [said.text.strip()] if said.text.strip() else []
    return [v.strip() for arguments in said.arguments for v in arguments.values() if isinstance(v, str) and v.strip()]


def _written_objects(text: str) -> tuple[JsonObject, ...]:
    """Read the JSON object that a model wrote as its text, fenced or not."""
    found = unfold(text[text.find("{") : text.rfind("}") + 1])
    return (found,) if isinstance(found, dict) else ()


def _is_made_from(value: JsonObject, arguments: JsonObject) -> bool:
    """A structured output adds defaults to the arguments that it was made from."""
    return bool(arguments) and all(key in value and value[key] == item for key, item in arguments.items())


def _as_answer(arguments: JsonObject) -> str:
    """Write structured output as text: the field that holds the answer, else all of it."""
    for key in _ANSWER_KEYS:
        if isinstance(text := arguments.get(key), str) and text.strip():
            return text
    return json.dumps(arguments, ensure_ascii=False)


def _without_calls(value: JsonValue, depth: int = _DEEPEST) -> JsonValue:
    """Leave out the tool calls in a conversation: their arguments are nobody's answer."""
    if not depth:
        return None
    if isinstance(value, list):
        return [_without_calls(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in _CALL_TYPES:
        return None
    return {key: _without_calls(inner, depth - 1) for key, inner in value.items() if key not in _CALL_KEYS}
