"""Check a score as it was sent and make of it what is stored."""

import math
from collections.abc import Iterator
from uuid import uuid4

from ragtrace.local.checks import (
    MISSING,
    Fields,
    Issue,
    custom,
    no_discriminator,
    no_union,
    not_a_datetime,
    too_big,
    too_small,
    wrong_type,
)
from ragtrace.local.score import Score
from ragtrace.local.wire import Json, clean_environment, parse_strict_time

LONGEST_ID = 800
_LONGEST_TEXT = 500
_TYPES = ("NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION")
_SUBJECTS = ["traceId", "sessionId", "datasetRunId", "observationId"]
_ONE_SUBJECT = (
    "Provide exactly one of the following: traceId (with optional observationId), sessionId or datasetRunId. "
    "ObservationId requires traceId."
)
_NOT_BOOLEAN = "Value must be a number equal to either 0 or 1 for data type BOOLEAN"
_CONFIG_REQUIRED = "configId is required when source is ANNOTATION (except for CORRECTION scores)."


def check_score(fields: Fields) -> None:
    """Add to `fields` whatever keeps the score from being accepted."""
    data_type = fields.raw("dataType")
    if data_type not in (MISSING, None, *_TYPES):
        fields.add(no_discriminator("dataType", fields.path("dataType")))
        return
    fields.text("name", shortest=1)
    for issue in _value_issues(fields.raw("value"), data_type, fields.path("value")):
        fields.add(issue)
    for key in ("comment", "configId", "queueId", "environment", *_SUBJECTS):
        fields.optional_text(key)
    source = fields.option("source", ("API", "ANNOTATION"), default="API")
    if fields.issues:
        return
    if source == "ANNOTATION" and not fields.is_set("configId") and data_type != "CORRECTION":
        fields.add(custom(_CONFIG_REQUIRED, ["configId"]))
    subjects = sum(fields.is_set(key) for key in _SUBJECTS[:3])
    if subjects != 1 or (fields.is_set("observationId") and not fields.is_set("traceId")):
        fields.add(custom(_ONE_SUBJECT, _SUBJECTS))


def _value_issues(value: object, data_type: object, path: list[str | int]) -> Iterator[Issue]:
    if data_type in (MISSING, None):
        if not _is_number(value) and not isinstance(value, str):
            alternatives = [[wrong_type(expected, value, ())] for expected in ("string", "number")]
            yield no_union(alternatives, path)
    elif data_type in ("NUMERIC", "BOOLEAN"):
        if not _is_number(value):
            yield wrong_type("number", value, path)
        elif data_type == "BOOLEAN" and value not in (0, 1):
            yield custom(_NOT_BOOLEAN, path)
    elif not isinstance(value, str):
        yield wrong_type("string", value, path)
    elif data_type == "TEXT":
        yield from _length_issues(value, path)


def _length_issues(value: str, path: list[str | int]) -> Iterator[Issue]:
    if not value:
        yield too_small("string", 1, path)
    if len(value) > _LONGEST_TEXT:
        yield too_big("string", _LONGEST_TEXT, path)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_timestamp(fields: Fields) -> None:
    """Add to `fields` if there is a timestamp that is none."""
    if fields.is_set("timestamp") and parse_strict_time(fields.text("timestamp")) is None:
        fields.add(not_a_datetime(fields.path("timestamp")))


def make_score(fields: Fields, *, timestamp_ms: int) -> Score:
    """Return the score of fields that passed `check_score`; an id is made up where none was sent."""
    value = fields.raw("value")
    inferred = "CATEGORICAL" if isinstance(value, str) else "NUMERIC"
    data_type = _text(fields, "dataType") or inferred
    return Score(
        id=_text(fields, "id") or str(uuid4()),
        name="output" if data_type == "CORRECTION" else str(fields.raw("name")),
        data_type=data_type,
        value=float(value) if isinstance(value, int | float) else str(value),
        timestamp_ms=timestamp_ms,
        trace_id=_text(fields, "traceId"),
        observation_id=_text(fields, "observationId"),
        session_id=_text(fields, "sessionId"),
        dataset_run_id=_text(fields, "datasetRunId"),
        comment=_text(fields, "comment"),
        metadata=_metadata(fields.json("metadata")),
        environment=clean_environment(_text(fields, "environment") or "default"),
        source=_text(fields, "source") or "API",
        config_id=_text(fields, "configId"),
        queue_id=_text(fields, "queueId"),
    )


def _text(fields: Fields, key: str) -> str | None:
    value = fields.raw(key)
    return value if isinstance(value, str) else None


def _metadata(value: Json) -> dict[str, Json]:
    """Langfuse wraps what is no object."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"metadata": value}
