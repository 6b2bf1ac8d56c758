"""Show an observation with the field groups that were asked for."""

from collections.abc import Callable, Mapping

from ragtrace.local.observation import Observation
from ragtrace.local.wire import PROJECT_ID, Json, from_metadata, iso

_LONGEST_METADATA = 200
Shown = dict[str, Json]


def show(observation: Observation, groups: frozenset[str], *, is_full: bool) -> Shown:
    """Return the wire form; core fields, latency and prices are there whatever was asked.

    Args:
        is_full: Show metadata values whole; else they are cut at 200 characters, before they are parsed.
    """
    shown = _core(observation)
    for group, add in _GROUPS.items():
        if group in groups:
            shown |= add(observation)
    if "metadata" in groups:
        longest = None if is_full else _LONGEST_METADATA
        shown["metadata"] = {key: from_metadata(text[:longest]) for key, text in observation.metadata.items()}
    has_first_token = not groups.isdisjoint(("time", "metrics"))
    return shown | {
        "latency": _seconds(observation, observation.end_ms),
        "timeToFirstToken": _seconds(observation, observation.completion_start_ms) if has_first_token else None,
        "modelId": None,
        "inputPrice": None,
        "outputPrice": None,
        "totalPrice": None,
    }


def _seconds(observation: Observation, moment_ms: int | None) -> float | None:
    return None if moment_ms is None else (moment_ms - observation.start_ms) / 1000


def _core(observation: Observation) -> Shown:
    return {
        "id": observation.id,
        "traceId": observation.trace_id,
        "startTime": iso(observation.start_ms),
        "endTime": iso(observation.start_ms if observation.end_ms is None else observation.end_ms),
        "projectId": PROJECT_ID,
        "parentObservationId": observation.parent_id,
        "type": observation.type,
    }


def _basic(observation: Observation) -> Shown:
    return {
        "name": observation.name,
        "level": observation.level,
        "statusMessage": observation.status_message,
        "version": observation.version,
        "environment": observation.environment,
        "userId": observation.user_id,
        "sessionId": observation.session_id,
        "isRootObservation": observation.is_root,
        "bookmarked": False,
        "public": observation.is_public,
    }


def _time(observation: Observation) -> Shown:
    first_token = observation.completion_start_ms
    return {
        "completionStartTime": None if first_token is None else iso(first_token),
        "createdAt": iso(observation.updated_ms),
        "updatedAt": iso(observation.updated_ms),
    }


def _io(observation: Observation) -> Shown:
    return {"input": observation.input, "output": observation.output}


def _model(observation: Observation) -> Shown:
    return {
        "model": observation.model,
        "internalModelId": "",
        "modelParameters": dict(observation.model_parameters),
    }


def _usage(observation: Observation) -> Shown:
    usage, cost = observation.usage, observation.cost
    return {
        "usageDetails": dict(usage),
        "inputUsage": usage.get("input", 0),
        "outputUsage": usage.get("output", 0),
        "totalUsage": usage.get("total", 0),
        "costDetails": dict(cost),
        "inputCost": cost.get("input"),
        "outputCost": cost.get("output"),
        "totalCost": cost.get("total", 0),
        "usagePricingTierId": None,
        "usagePricingTierName": None,
    }


def _prompt(observation: Observation) -> Shown:
    return {
        "promptId": "",
        "promptName": observation.prompt_name,
        "promptVersion": observation.prompt_version,
    }


def _trace_context(observation: Observation) -> Shown:
    return {
        "traceName": observation.trace_name,
        "release": observation.release,
        "tags": list(observation.tags),
    }


_GROUPS: Mapping[str, Callable[[Observation], Shown]] = {
    "basic": _basic,
    "time": _time,
    "io": _io,
    "model": _model,
    "usage": _usage,
    "prompt": _prompt,
    "trace_context": _trace_context,
}
