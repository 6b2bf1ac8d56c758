"""Map a span's attributes to an observation as Langfuse does."""

import re
from collections.abc import Iterable, Mapping

from ragtrace.local.content import as_text, find_content
from ragtrace.local.metadata import read_metadata
from ragtrace.local.observation import Observation
from ragtrace.local.spans import Attributes, Span
from ragtrace.local.usage import read_cost, read_parameters, read_usage
from ragtrace.local.wire import Json, clean_environment, from_text, parse_loose_time

TYPES = (
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
LEVELS = ("DEBUG", "DEFAULT", "WARNING", "ERROR")

_LEVEL_ALIASES = {"INFO": "DEFAULT", "WARN": "WARNING", "FATAL": "ERROR", "CRITICAL": "ERROR", "TRACE": "DEBUG"}
_OPENINFERENCE = {kind: kind for kind in TYPES} | {"LLM": "GENERATION"}
_OPERATIONS = {
    **dict.fromkeys(("chat", "completion", "text_completion", "generate_content", "generate"), "GENERATION"),
    "embeddings": "EMBEDDING",
    "invoke_agent": "AGENT",
    "create_agent": "AGENT",
    "execute_tool": "TOOL",
}
_MODELS = (
    "langfuse.observation.model.name",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "model",
)
_TOOLS = ("gen_ai.tool.name", "gen_ai.tool.call.id")
_ENVIRONMENTS = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
_STATUS_ERROR = 2
_MOST_DIGITS = 15


def observe(span: Span, *, now_ms: int) -> Observation:
    """Return the observation of a span; `now_ms` stands in for a start that is missing."""
    attributes, both = span.attributes, {**span.resource, **span.attributes}
    content = find_content(attributes)
    start = _start(span, now_ms)
    name = _first(attributes, ("gen_ai.tool.name",)) if _is_tool_call(attributes) else ""
    is_root = not span.parent_id or attributes.get("langfuse.internal.is_app_root") in (True, "true")
    return Observation(
        trace_id=span.trace_id,
        id=span.span_id,
        parent_id=span.parent_id or None,
        type=_type(attributes),
        name=name or span.name,
        start_ms=start,
        end_ms=None if span.end_nanos is None else _end(span.end_nanos),
        level=_level(span),
        status_message=_first(attributes, ("langfuse.observation.status_message",)) or span.status_message,
        version=_first(both, ("langfuse.version", "service.version")),
        environment=clean_environment(_first(both, _ENVIRONMENTS) or "default"),
        user_id=_first(attributes, ("langfuse.user.id", "user.id")),
        session_id=_first(attributes, ("langfuse.session.id", "session.id", "gen_ai.conversation.id")),
        is_root=is_root,
        is_public=attributes.get("langfuse.trace.public") in (True, "true"),
        trace_name=_first(attributes, ("langfuse.trace.name",)) or ((name or span.name) if is_root else None),
        release=_first(both, ("langfuse.release",)),
        tags=_tags(attributes),
        completion_start_ms=_quoted_time(attributes.get("langfuse.observation.completion_start_time")),
        model=_first(attributes, _MODELS),
        model_parameters=read_parameters(attributes),
        usage=read_usage(attributes),
        cost=read_cost(attributes),
        prompt_name=_first(attributes, ("langfuse.observation.prompt.name",)),
        prompt_version=_whole(attributes.get("langfuse.observation.prompt.version")),
        metadata=read_metadata(span, used=content.used),
        input=content.input,
        output=content.output,
    )


def _start(span: Span, now_ms: int) -> int:
    nanos = span.start_nanos if span.start_nanos is not None else span.end_nanos
    return now_ms if nanos is None else nanos // 1_000_000


def _end(nanos: int) -> int:
    """Divide as a double: seen on the real server, where .2009999 s ends at .201 s but starts at .200 s."""
    return int(nanos / 1_000_000)


def _first(attributes: Mapping[str, Json], keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := as_text(attributes.get(key)))), "")


def _type(attributes: Attributes) -> str:
    own = attributes.get("langfuse.observation.type")
    kind = attributes.get("openinference.span.kind")
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(own, str) and own.islower() and own.upper() in TYPES:
        return own.upper()
    if isinstance(kind, str) and kind in _OPENINFERENCE:
        return _OPENINFERENCE[kind]
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if _first(attributes, _TOOLS):
        return "TOOL"
    return "GENERATION" if _first(attributes, _MODELS) else "SPAN"


def _is_tool_call(attributes: Attributes) -> bool:
    return attributes.get("gen_ai.operation.name") == "execute_tool"


def _level(span: Span) -> str:
    level = _first(span.attributes, ("langfuse.observation.level",)).upper()
    known = _LEVEL_ALIASES.get(level, level)
    if known in LEVELS:
        return known
    return "ERROR" if span.status_code == _STATUS_ERROR else "DEFAULT"


def _tags(attributes: Attributes) -> tuple[str, ...]:
    keys = ("langfuse.trace.tags", "langfuse.tags", "tag.tags")
    value = next((attributes[key] for key in keys if attributes.get(key)), None)
    if isinstance(value, str):
        value = _listed(value)
    return tuple(str(tag) for tag in value) if isinstance(value, list) else ()


def _listed(text: str) -> Json:
    """Read tags that came as one text: a JSON list or names between commas."""
    if text.startswith("["):
        try:
            return from_text(text)
        except ValueError:
            return [text]
    return [tag for part in text.split(",") if (tag := part.strip())]


def _quoted_time(value: Json) -> int | None:
    """Read a time that the SDK sends as a JSON text, in quotes."""
    return parse_loose_time(re.sub(r'^"|"$', "", value)) if isinstance(value, str) else None


def _whole(value: Json) -> int | None:
    text = as_text(value)
    return int(text) if text is not None and text.isdecimal() and len(text) <= _MOST_DIGITS else None
