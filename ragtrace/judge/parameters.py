"""Which request parameters an endpoint takes, found out once and remembered."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from ragtrace.model import JsonValue

Format = Literal["json_schema", "json_object", "text"]
TokenLimit = Literal["max_completion_tokens", "max_tokens"]
_LOGGER = logging.getLogger(__name__)
_MOST_REFUSALS: Final = 2
"""Refused requests an endpoint is asked for; then only what every endpoint takes is sent."""
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured output", "json mode", "guided")
_AT_MOST = re.compile(r"(?:at most|maximum (?:value )?(?:of|is)|less than or equal to|<=)\s*(\d{2,7})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What is sent beside model and messages."""

    format: Format
    token_limit: TokenLimit = "max_completion_tokens"
    most_tokens: int | None = None
    """Largest limit that the endpoint takes, where it said so."""
    has_temperature: bool = True
    has_system_role: bool = True

    def used(self) -> dict[str, JsonValue]:
        """Return what is recorded with the verdicts."""
        return {"response_format": self.format, "temperature": 0 if self.has_temperature else None}


class KnownParameters:
    """What one model at one endpoint takes; shared by all requests to it."""

    def __init__(self, preferred: Format) -> None:
        self.current = Parameters(format=preferred)
        self.window: int | None = None
        """The model's window in tokens, where the endpoint said so."""
        self._refusals = 0

    def body(
        self, model: str, messages: tuple[str, str], *, schema: JsonValue, most_tokens: int
    ) -> dict[str, JsonValue]:
        """Return the body of a chat completion as the endpoint takes it."""
        now = self.current
        system, user = messages
        both: list[JsonValue] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        merged: list[JsonValue] = [{"role": "user", "content": f"{system}\n\n{user}"}]
        body: dict[str, JsonValue] = {"model": model, "messages": both if now.has_system_role else merged}
        body[now.token_limit] = min(most_tokens, now.most_tokens or most_tokens)
        if now.has_temperature:
            body["temperature"] = 0
        if now.format == "json_schema":
            named: JsonValue = {"name": "verdicts", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif now.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def narrow(self, window: int | None) -> None:
        """Remember that the model's window is smaller than was thought."""
        if window and (self.window is None or window < self.window):
            self.window = window

    def learn(self, sent: Parameters, refusal: str, parameter: str | None) -> bool:
        """Leave out what the endpoint refused; return False if nothing is left to leave out.

        Args:
            sent: The parameters of the refused request.
            refusal: What the endpoint said, in lower case.
            parameter: The parameter that it named, if any.
        """
        if sent != self.current:
            return True
        self._refusals += 1
        learned = _without(sent, refusal, parameter)
        if learned is None or (self._refusals >= _MOST_REFUSALS and not _is_next_format(sent, learned)):
            learned = _least(learned or sent)
        if learned == sent:
            return False
        _LOGGER.warning("The judge's endpoint refused %s; going on with %s.", refusal[:200], _difference(sent, learned))
        self.current = learned
        return True


def _without(sent: Parameters, refusal: str, parameter: str | None) -> Parameters | None:
    """Return the parameters without the one that the refusal is about, or None if it names none that was sent."""
    named = (parameter or refusal).lower()
    if sent.format != "text" and any(word in named for word in _FORMAT_WORDS):
        return replace(sent, format="json_object" if sent.format == "json_schema" else "text")
    if sent.has_temperature and "temperature" in named:
        return replace(sent, has_temperature=False)
    if sent.token_limit in named:
        return _other_limit(sent, refusal)
    if sent.has_system_role and ("system role" in refusal or "role: system" in refusal or "'system'" in refusal):
        return replace(sent, has_system_role=False)
    return None


def _other_limit(sent: Parameters, refusal: str) -> Parameters:
    most = _AT_MOST.search(refusal)
    if most:
        return replace(sent, most_tokens=int(most.group(1)))
    other: Mapping[TokenLimit, TokenLimit] = {
        "max_completion_tokens": "max_tokens",
        "max_tokens": "max_completion_tokens",
    }
    return replace(sent, token_limit=other[sent.token_limit])


def _is_next_format(sent: Parameters, learned: Parameters) -> bool:
    return sent.format == "json_object" and learned.format == "text"


def _least(parameters: Parameters) -> Parameters:
    return replace(parameters, format="text", has_temperature=False)


def _difference(sent: Parameters, learned: Parameters) -> str:
    names = ("format", "token_limit", "most_tokens", "has_temperature", "has_system_role")
    return ", ".join(f"{n}={getattr(learned, n)!r}" for n in names if getattr(sent, n) != getattr(learned, n))
