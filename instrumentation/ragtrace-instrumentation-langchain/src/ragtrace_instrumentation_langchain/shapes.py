"""Decide what a call was about: its question, which model call answered, and what its output says."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

from ragtrace.model import Confidence
from ragtrace_instrumentation_langchain.calls import Ending, Generation
from ragtrace_instrumentation_langchain.messages import find_human, message_text

_QUESTION_KEYS = ("question", "query", "input", "user_input", "user_query", "user_question", "prompt", "text", "q")
_ANSWER_KEYS = ("answer", "output", "result", "response", "text", "content")
_DEEPEST = 4
_MOST_VALUES = 300
_SHORTEST_CONTAINED = 12
_MOST_BLANKS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model call that answered, and how sure that is."""

    generation: Generation
    answer: str | None
    confidence: Confidence


def find_question(inputs: object, *, depth: int = 2) -> str | None:
    """Return what the person asked, from a root's input; None where that does not say."""
    if isinstance(inputs, str):
        return inputs.strip() or None
    if isinstance(inputs, BaseMessage):
        return find_human([inputs])
    if isinstance(inputs, PromptValue):
        return find_human(inputs.to_messages())
    if isinstance(inputs, (list, tuple)):
        return find_human(inputs)
    named = _by_name(inputs)
    for key in (*_QUESTION_KEYS, "messages"):
        if depth and (value := named.get(key)) and (question := find_question(value, depth=depth - 1)):
            return question
    texts = [value for value in named.values() if isinstance(value, str) and value.strip()]
    return texts[0].strip() if len(texts) == 1 else None


def read_output(output: object, error: BaseException | None = None) -> Ending:
    """Keep the strings and the structured values of a root's output."""
    values = tuple(_walk(output))
    return Ending(
        texts=tuple(value for value in values if isinstance(value, str)),
        values=tuple(value for value in values if not isinstance(value, str)),
        error=error,
    )


def choose_generation(generations: Iterable[Generation], ending: Ending) -> Choice | None:
    """Tell which model call answered.

    The user's word first; then the last one whose text is in the output; then the last one that called no tool. Of a
    call that broke off, the last one that began: what came before was on the way to it.
    Calls made by retrieval itself never count, calls made by tools only where there is no other.
    """
    usable = [g for g in generations if g.role != "helper" and not g.run.is_in_retriever]
    pool = [g for g in usable if g.role == "generator"] or [g for g in usable if g.run.tool is None] or usable
    finished = sorted((g for g in pool if g.end_order and g.error is None), key=lambda g: -g.end_order)
    for find, confidence in _TESTS:
        for generation in finished:
            if (answer := find(generation, ending)) is not None:
                return Choice(generation=generation, answer=answer, confidence=confidence)
    # Who only asked for tools did not answer.
    speaking = [g for g in finished if not g.arguments]
    broken = sorted((g for g in pool if g.error or not g.end_order), key=lambda g: g.run.order)
    is_last = bool(broken) and all(g.run.order < broken[-1].run.order for g in speaking)
    if speaking and not (is_last and ending.is_broken):
        is_sure = len(pool) == 1 or speaking[0].role is not None
        return Choice(generation=speaking[0], answer=speaking[0].text, confidence="medium" if is_sure else "low")
    return Choice(generation=broken[-1], answer=broken[-1].text, confidence="low") if broken else None


def _find_same(generation: Generation, ending: Ending) -> str | None:
    """Return the answer if the output of the root is just that."""
    for arguments in generation.arguments or (_parsed(generation.text) if ending.values else ()):
        if any(_is_made_from(value, arguments) for value in ending.values):
            return _written(arguments)
    for said in _sayings(generation):
        if any(abs(len(text) - len(said)) < _MOST_BLANKS and text.strip() == said for text in ending.texts):
            return said
    return None


def _find_contained(generation: Generation, ending: Ending) -> str | None:
    """Return the answer if the output of the root holds it, or is a part of it."""
    for said in _sayings(generation):
        for text in ending.texts:
            shorter = min(len(said), len(text.strip()))
            if shorter >= _SHORTEST_CONTAINED and (said in text or text.strip() in said):
                return said
    return None


_TESTS: tuple[tuple[Callable[[Generation, Ending], str | None], Confidence], ...] = (
    (_find_same, "high"),
    (_find_contained, "medium"),
)


def _sayings(generation: Generation) -> list[str]:
    """Return what a model said: its text, or the strings of its structured output."""
    if not generation.arguments:
        texts = [generation.text or ""]
    else:
        texts = [value for arguments in generation.arguments for value in arguments.values() if isinstance(value, str)]
    return [text.strip() for text in texts if text.strip()]


def _parsed(text: str | None) -> tuple[Mapping[str, object], ...]:
    """Read the JSON object that a model wrote as its text, fenced or not."""
    written = text or ""
    try:
        value = json.loads(written[written.index("{") : written.rindex("}") + 1])
    except ValueError:
        return ()
    return (value,)


def _is_made_from(value: Mapping[str, object], arguments: Mapping[str, object]) -> bool:
    """A model object adds defaults to the arguments that it was made from."""
    return bool(arguments) and all(key in value and value[key] == item for key, item in arguments.items())


def _written(arguments: Mapping[str, object]) -> str:
    """Write structured output as text: the field that holds the answer, else all of it."""
    for key in _ANSWER_KEYS:
        if isinstance(text := arguments.get(key), str) and text.strip():
            return text
    return json.dumps(arguments, ensure_ascii=False, default=str)


def _by_name(inputs: object) -> Mapping[str, object]:
    if isinstance(inputs, Mapping):
        return inputs
    if is_dataclass(inputs) and not isinstance(inputs, type):
        return {field.name: getattr(inputs, field.name) for field in fields(inputs)}
    return vars(inputs) if isinstance(inputs, BaseModel) else {}


def _walk(output: object) -> Iterator[str | Mapping[str, object]]:
    """Yield the strings and the model objects inside an output, within bounds."""
    stack: list[tuple[object, int]] = [(output, _DEEPEST)]
    seen = 0
    while stack and seen < _MOST_VALUES:
        value, depth = stack.pop()
        seen += 1
        if isinstance(value, str):
            yield value
        elif isinstance(value, BaseMessage):
            yield message_text(value)
        elif isinstance(value, BaseModel) and not isinstance(value, (Document, PromptValue)):
            yield value.model_dump()
        elif depth and isinstance(value, Mapping):
            yield value
            stack.extend((inner, depth - 1) for inner in value.values())
        elif depth and isinstance(value, (list, tuple)) and not (value and isinstance(value[0], Document)):
            stack.extend((inner, depth - 1) for inner in value)
