"""Spans that real instrumentations wrote, as JSON.

One LCEL chain and one agent with a retriever tool, with opentelemetry-instrumentation-genai-langchain 1.3b0,
openinference-instrumentation-langchain 0.1.80, langfuse 5.0.4 and OpenLLMetry's
opentelemetry-instrumentation-langchain 0.62.4. The retriever finds `GATE` and `DOGS`; the chain's prompt holds the
first only, the agent's both. Attributes that no reader looks at are left out.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ragtrace.extract.span import Span, labels_of
from ragtrace.model import JsonValue

FOLDER = Path(__file__).parent / "recorded"
CONVENTIONS = ("otel_genai", "openinference", "langfuse", "openllmetry")
WITH_TEXT = ("openinference", "langfuse", "openllmetry")
GATE = "The gate opens at 06:00 on working days and at 08:00 on Saturdays."
DOGS = "Dogs are allowed on the whole site, except in the canteen."
QUESTION = "When does the gate open?"
ANSWER = "It opens at 06:00."


def recorded(convention: str, shape: str) -> list[Span]:
    """Return the spans of one run."""
    spans = json.loads((FOLDER / f"{convention}.json").read_text(encoding="utf-8"))[shape]
    return [Span(**span, labels=labels_of(span["attributes"])) for span in (_without_scope(span) for span in spans)]


def changed(spans: list[Span], name: str, attributes: Mapping[str, JsonValue]) -> list[Span]:
    """Return the spans with other attributes on those of a name; None takes one away."""

    def change(span: Span) -> Span:
        merged = {**span.attributes, **attributes}
        return replace(span, attributes={key: value for key, value in merged.items() if value is not None})

    return [change(span) if span.name == name else span for span in spans]


def _without_scope(span: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in span.items() if key != "scope"}
