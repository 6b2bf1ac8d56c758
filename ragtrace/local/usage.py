"""Read a span's model parameters, token counts and costs."""

from collections.abc import Mapping

from ragtrace.local.spans import Attributes
from ragtrace.local.wire import Json, from_text

_REQUEST = "gen_ai.request."
_USAGE = "gen_ai.usage."
_USAGE_NAMES = {
    "input_tokens": "input",
    "prompt_tokens": "input",
    "output_tokens": "output",
    "completion_tokens": "output",
    "total_tokens": "total",
}
_TOKEN_COUNTS = {
    "llm.token_count.prompt": "input",
    "llm.token_count.completion": "output",
    "llm.token_count.total": "total",
}


def read_parameters(attributes: Attributes) -> Mapping[str, Json]:
    for key in ("langfuse.observation.model.parameters", "llm.invocation_parameters"):
        if found := _parsed_object(attributes.get(key)):
            return found
    return {
        key.removeprefix(_REQUEST): value
        for key, value in attributes.items()
        if key.startswith(_REQUEST) and key != "gen_ai.request.model"
    }


def read_usage(attributes: Attributes) -> Mapping[str, float]:
    """Return token counts by kind; a total is added where none was sent."""
    own = _numbers(_parsed_object(attributes.get("langfuse.observation.usage_details")))
    gen_ai = {
        _USAGE_NAMES.get(key.removeprefix(_USAGE), key.removeprefix(_USAGE)): value
        for key, value in attributes.items()
        if key.startswith(_USAGE)
    }
    counts = {name: attributes[key] for key, name in _TOKEN_COUNTS.items() if key in attributes}
    return _with_total(own or _numbers(gen_ai) or _numbers(counts))


def read_cost(attributes: Attributes) -> Mapping[str, float]:
    """Return costs by kind; a total is added where none was sent."""
    own = _numbers(_parsed_object(attributes.get("langfuse.observation.cost_details")))
    cost = attributes.get("gen_ai.usage.cost")
    return _with_total(own or _numbers({"total": cost}))


def _with_total(amounts: dict[str, float]) -> dict[str, float]:
    if not amounts or "total" in amounts:
        return amounts
    return amounts | {"total": round(sum(amounts.values()), 12)}


def _numbers(values: Mapping[str, Json]) -> dict[str, float]:
    return {
        key: value for key, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _parsed_object(value: Json) -> dict[str, Json]:
    try:
        parsed = from_text(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
