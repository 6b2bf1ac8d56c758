"""Collect a span's metadata: flat keys, raw texts."""

from collections.abc import Iterator

from ragtrace.local.spans import Attributes, Span
from ragtrace.local.wire import Json, from_text, to_text

_OWN = "langfuse.observation.metadata"
_TRACE = "langfuse.trace.metadata"
_SDK_SCOPE = "langfuse-sdk"
_FORBIDDEN = ("__proto__", "constructor", "prototype")


def read_metadata(span: Span, *, used: frozenset[str]) -> dict[str, str]:
    """Return the metadata of a span.

    Args:
        used: Attributes that became input or output and are not repeated here.
    """
    found = {
        **dict(_prefixed("resourceAttributes", span.resource)),
        **{f"scope.{key}": text for key, text in _scope(span) if text},
        **dict(_prefixed("scope.attributes", span.scope_attributes)),
        **_unmapped(span, used),
        **_own(span.attributes, _TRACE),
        **_own(span.attributes, _OWN),
    }
    return {key: text for key, text in found.items() if not any(part in key for part in _FORBIDDEN)}


def _unmapped(span: Span, used: frozenset[str]) -> dict[str, str]:
    """Return the remaining attributes; Langfuse drops them where its own SDK made the span."""
    if span.scope_name.startswith(_SDK_SCOPE):
        return {}
    kept = {
        key: value for key, value in span.attributes.items() if key not in used and not key.startswith((_OWN, _TRACE))
    }
    return dict(_prefixed("attributes", kept))


def _scope(span: Span) -> tuple[tuple[str, str], ...]:
    return (("name", span.scope_name), ("version", span.scope_version))


def _prefixed(prefix: str, attributes: Attributes) -> Iterator[tuple[str, str]]:
    return ((f"{prefix}.{key}", _raw(value)) for key, value in attributes.items())


def _own(attributes: Attributes, prefix: str) -> dict[str, str]:
    """Return `prefix.key` attributes by key, over what the bare attribute holds as a JSON object."""
    keyed = {
        key.removeprefix(f"{prefix}."): _raw(value) for key, value in attributes.items() if key.startswith(f"{prefix}.")
    }
    return {**dict(_flatten(_parsed(attributes.get(prefix)), "")), **keyed}


def _parsed(value: Json) -> Json:
    """Return the bare attribute's object; anything else is dropped."""
    try:
        parsed = from_text(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _flatten(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield path, _raw(value)
        return
    for key, inner in value.items():
        yield from _flatten(inner, f"{path}.{key}" if path else key)


def _raw(value: Json) -> str:
    return value if isinstance(value, str) else to_text(value)
