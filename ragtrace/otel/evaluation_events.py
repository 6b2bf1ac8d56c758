"""Write scores as `gen_ai.evaluation.result` events, for backends other than Langfuse.

The events are OTLP's own JSON, sent over HTTP or appended to a file as OpenTelemetry's file exporter would: their form
is stable, while the Python SDK's interface for events is not.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from ragtrace import __version__
from ragtrace.errors import ConfigError
from ragtrace.model import JsonValue, RagCall, Score, Unscored
from ragtrace.semconv import SCOPE_NAME
from ragtrace.settings import Settings

EVENT = "gen_ai.evaluation.result"
_NAME, _VALUE, _LABEL = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
_EXPLANATION = "gen_ai.evaluation.explanation"
_UNSCORED = "ragtrace.unscored"
_JUDGE = "ragtrace.judge.fingerprint"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLED = 1
_INFO = 9
_MOST_WAITING = 10_000
_SENT_AT_ONCE = 500
_TIMEOUT_SECONDS = 10.0
_logger = logging.getLogger(__name__)
Record = dict[str, JsonValue]


class EvaluationEvents:
    """Collects events and writes them now and then. A backend that does not take them costs events, never scores."""

    def __init__(self, target: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Write to an OTLP/HTTP address of logs, or to a file.

        Args:
            target: `http://…/v1/logs`, or the path of a file; events are appended to it, one JSON object a line.
            headers: Sent with each request.
        """
        self._target = target
        self._headers = dict(headers or {})
        self._waiting: list[Record] = []

    def add(self, call: RagCall, results: Sequence[Score | Unscored], *, judge: str | None) -> None:
        """Note the scores of one call.

        Args:
            call: The call, with the ids of the span that was evaluated.
            results: One a metric.
            judge: The judge's fingerprint; None where no judge was asked.
        """
        self._waiting += event_records(call, results, judge=judge, now=datetime.now(UTC))
        lost = len(self._waiting) - _MOST_WAITING
        if lost > 0:
            del self._waiting[:lost]
            _logger.warning("%d evaluation events are lost: %s does not take them", lost, self._target)

    async def send(self) -> None:
        """Write what waits; what the backend does not take is tried again the next time."""
        while portion := self._waiting[:_SENT_AT_ONCE]:
            try:
                await self._write(json.dumps(export_request(portion), ensure_ascii=False))
            except (OSError, httpx.HTTPError) as exc:
                _logger.warning("%d evaluation events wait: %s: %s", len(self._waiting), self._target, exc)
                return
            del self._waiting[: len(portion)]

    async def _write(self, line: str) -> None:
        if not is_address(self._target):
            with Path(self._target).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            return
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, headers=self._headers) as client:
            body = line.encode("utf-8", "replace")
            reply = await client.post(self._target, content=body, headers={"content-type": "application/json"})
            reply.raise_for_status()


def make_events(settings: Settings) -> EvaluationEvents | None:
    """Return where scores go as events; None where the settings name nothing.

    Raises:
        ConfigError: it is neither an address nor a file in a folder that is there.
    """
    target = settings.scorer_events
    if target is None:
        return None
    if "://" in target and not is_address(target):
        raise ConfigError(f"RAGTRACE_SCORER_EVENTS={target!r}: expected http://…/v1/logs, or a file")
    if not is_address(target) and not Path(target).parent.is_dir():
        raise ConfigError(f"RAGTRACE_SCORER_EVENTS={target!r}: there is no such folder: make it first")
    secret = settings.otel_exporter_otlp_headers
    pairs = (pair.partition("=") for pair in (secret.get_secret_value() if secret else "").split(","))
    return EvaluationEvents(target, headers={k.strip(): unquote(v.strip()) for k, equals, v in pairs if equals})


def event_records(
    call: RagCall, results: Sequence[Score | Unscored], *, judge: str | None, now: datetime
) -> Iterator[Record]:
    """Yield an event for each result, on the span that was evaluated; what has no number says why."""
    for result in results:
        attributes: dict[str, JsonValue] = {_NAME: result.name, _JUDGE: judge}
        if isinstance(result, Unscored):
            attributes |= {_UNSCORED: result.reason, _EXPLANATION: result.detail}
        else:
            key = _LABEL if isinstance(result.value, str) else _VALUE
            attributes |= {key: result.value, _EXPLANATION: result.comment}
        yield {
            "timeUnixNano": _nanoseconds(now),
            "observedTimeUnixNano": _nanoseconds(now),
            "severityNumber": _INFO,
            "eventName": EVENT,
            "traceId": call.trace_id,
            "spanId": call.observation_id,
            "flags": _SAMPLED,
            "attributes": [_attribute(key, value) for key, value in attributes.items() if value is not None],
        }


def export_request(records: Sequence[Record]) -> Record:
    """Return the body of an OTLP request for logs."""
    resource: Record = {"attributes": [_attribute("service.name", "ragtrace")]}
    scope: Record = {"name": SCOPE_NAME, "version": __version__}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": list(records)}]}]}


def is_address(target: str) -> bool:
    """Tell whether events are sent there, not written into a file."""
    return urlsplit(target).scheme in ("http", "https")


def _attribute(key: str, value: JsonValue) -> Record:
    return {"key": key, "value": {"doubleValue": value} if isinstance(value, float | int) else {"stringValue": value}}


def _nanoseconds(moment: datetime) -> str:
    # OTLP's JSON writes 64-bit numbers as texts.
    return str((moment - _EPOCH) // timedelta(microseconds=1) * 1000)
