"""Write a report as JSON for other programs."""

from dataclasses import asdict
from datetime import datetime

from ragtrace.report.content import Report


def to_json(report: Report) -> dict[str, object]:
    """Return the report's fields as JSON values, times as ISO 8601."""
    converted = _convert(asdict(report))
    assert isinstance(converted, dict)  # noqa: S101 - told to the type checker
    return converted


def _convert(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _convert(item) for key, item in value.items()}
    return [_convert(item) for item in value] if isinstance(value, list | tuple) else value
