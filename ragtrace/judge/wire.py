"""Read what an OpenAI-compatible endpoint sent: bodies differ more than the specification says."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtrace.model import JsonValue


class GarbledError(Exception):
    """The body is not what such an endpoint sends, as when a gateway answers in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One reply of a model."""

    text: str
    """"" where there was none."""
    is_cut_off: bool = False
    """The reply ran into the token limit."""
    declined: str | None = None
    """What the model, or a filter, said in place of a reply."""
    prompt_tokens: int | None = None
    """None where the endpoint does not count."""
    completion_tokens: int | None = None


def read_completion(content: bytes) -> Completion:
    """Return the first choice that says anything.

    Raises:
        GarbledError: there is no choice at all.
    """
    body = _object(content)
    choices = [choice for choice in _list(body.get("choices")) if isinstance(choice, dict)]
    if not choices:
        raise GarbledError(f"a reply without choices: {_shortened(body.get('error', '{}'))}")
    choice = next((choice for choice in choices if _said(choice)), choices[0])
    message, finish = _mapping(choice.get("message")), choice.get("finish_reason")
    refusal = message.get("refusal")
    declined = refusal if isinstance(refusal, str) and refusal else None
    if finish == "content_filter":
        declined = declined or "its content filter stopped the reply"
    usage = _mapping(body.get("usage"))
    return Completion(
        text=_said(choice),
        is_cut_off=finish in ("length", "max_tokens"),
        declined=_shortened(declined) if declined else None,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def read_error(content: bytes) -> object:
    """Return what a refusal says of itself: its `error` object, its JSON, or its text."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
    return body.get("error", body) if isinstance(body, dict) else body


def read_vectors(content: bytes, count: int) -> list[list[float]]:
    """Return the vectors of an embeddings reply, in the order of the texts.

    Raises:
        GarbledError: they are not as many as the texts, or not numbers of one length.
    """
    entries = [entry for entry in _list(_object(content).get("data")) if isinstance(entry, dict)]
    entries.sort(key=lambda entry: _count(entry.get("index")) or 0)
    vectors = [[x for x in _list(entry.get("embedding")) if isinstance(x, int | float)] for entry in entries]
    if len(vectors) != count or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
        raise GarbledError(f"{len(vectors)} vectors for {count} texts")
    return vectors


def _said(choice: Mapping[str, JsonValue]) -> str:
    """Return a choice's text; some endpoints send it in parts, thoughts among them."""
    content = _mapping(choice.get("message")).get("content")
    if isinstance(content, str):
        return content
    parts = [part for part in _list(content) if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(str(part.get("text", "")) for part in parts)


def _object(content: bytes) -> Mapping[str, JsonValue]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise GarbledError(f"a reply that is no JSON: {_shortened(content.decode(errors='replace'))}") from None
    return _mapping(body)


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else []


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _shortened(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())[:120]
