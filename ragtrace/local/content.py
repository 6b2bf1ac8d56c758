"""Find a span's input and output among the attributes of many conventions, first hit wins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragtrace.local.spans import Attributes
from ragtrace.local.wire import Json, from_text, to_text

_PAIRS = (
    ("langfuse.observation.input", "langfuse.observation.output"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("input.value", "output.value"),
    ("input", "output"),
    ("tool_arguments", "tool_response"),
)
_LISTS = (
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.input_messages", "llm.output_messages"),
)
_INSTRUCTIONS = "gen_ai.system_instructions"
_INPUT_MESSAGES, _OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
_TOOL = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Input and output as text, and the attributes that they were taken from."""

    input: str | None = None
    output: str | None = None
    used: frozenset[str] = frozenset()


def find_content(attributes: Attributes) -> Content:
    """Return what the span says it was given and gave."""
    return next((content for content in _candidates(attributes) if content is not None), Content())


def as_text(value: Json) -> str | None:
    """Return an attribute's value as Langfuse stores it; an empty text counts as absent."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else to_text(value)


def _candidates(attributes: Attributes) -> Iterator[Content | None]:
    for pair in _PAIRS:
        yield _pair(attributes, *pair)
    for prefixes in _LISTS:
        yield _indexed(attributes, *prefixes)
    yield _messages(attributes)
    yield _pair(attributes, *_TOOL)


def _pair(attributes: Attributes, input_key: str, output_key: str) -> Content | None:
    input_text, output_text = as_text(attributes.get(input_key)), as_text(attributes.get(output_key))
    if input_text is None and output_text is None:
        return None
    return Content(input=input_text, output=output_text, used=frozenset((input_key, output_key)))


def _indexed(attributes: Attributes, input_prefix: str, output_prefix: str) -> Content | None:
    """Collect `prefix.0.role`-like keys into lists."""
    sides = [_collect(attributes, prefix) for prefix in (input_prefix, output_prefix)]
    if not any(used for _, used in sides):
        return None
    texts = [to_text(items) if items else None for items, _ in sides]
    return Content(input=texts[0], output=texts[1], used=frozenset(key for _, used in sides for key in used))


def _collect(attributes: Attributes, prefix: str) -> tuple[list[Json], list[str]]:
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.(.+)")
    items: dict[int, dict[str, Json]] = {}
    used = []
    for key, value in attributes.items():
        if match := pattern.fullmatch(key):
            _place(items.setdefault(int(match[1]), {}), match[2].split("."), value)
            used.append(key)
    return [items[index] for index in sorted(items)], used


def _place(item: dict[str, Json], path: list[str], value: Json) -> None:
    """Put a value at a dotted path; a scalar in the way gives way."""
    for key in path[:-1]:
        inner = item.get(key)
        if not isinstance(inner, dict):
            inner = item[key] = {}
        item = inner
    item[path[-1]] = value


def _messages(attributes: Attributes) -> Content | None:
    """Read the newer OTel attributes, with the system instructions put in front."""
    found = _pair(attributes, _INPUT_MESSAGES, _OUTPUT_MESSAGES)
    instructions = _instructions(attributes.get(_INSTRUCTIONS))
    if found is None or not instructions:
        return found
    messages = _parsed_list(found.input)
    system: dict[str, Json] = {"role": "system", "content": instructions}
    return Content(input=to_text([system, *messages]), output=found.output, used=found.used | {_INSTRUCTIONS})


def _instructions(value: Json) -> str:
    parts = _parsed_list(value)
    texts = [part.get("content") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _parsed_list(value: Json) -> list[Json]:
    try:
        parsed = from_text(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return []
    return parsed if isinstance(parsed, list) else []
