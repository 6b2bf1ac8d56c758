"""Take OTLP exports."""

from contextlib import suppress

from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.mapping import observe
from ragtrace.local.otlp import LONGEST_BODY, TOO_BIG, decode
from ragtrace.local.wire import Json, RefusedError, Reply

_NEWEST_VERSION = 4


def _export(call: Call) -> Reply:
    _check_version(call.headers.get("x-langfuse-ingestion-version"))
    spans = decode(
        call.content,
        content_type=call.headers.get("content-type", ""),
        is_gzip=call.headers.get("content-encoding") == "gzip",
    )
    now = call.store.now_ms()
    observations = [observe(span, now_ms=now) for span in spans if span.trace_id and span.span_id]
    # Langfuse acknowledges text that UTF-8 cannot hold, and then loses everything it is about to write with it.
    with suppress(UnicodeEncodeError):
        call.store.observations.put(observations)
    return Reply(body={})


def _check_version(version: str | None) -> None:
    if version is None:
        return
    if not version.isdecimal() or int(version) > _NEWEST_VERSION:
        message = f'Unsupported x-langfuse-ingestion-version: "{version}". Maximum supported: "{_NEWEST_VERSION}".'
        raise RefusedError(400, {"error": message})


def _ignore_metrics(_call: Call) -> Reply:
    body: Json = {"message": "OK"}
    return Reply(body=body)


def trace_endpoints(backend: Backend) -> dict[str, Endpoint]:
    export = Action(handle=_export, longest_body=LONGEST_BODY, too_big=TOO_BIG)
    return {
        "/api/public/otel/v1/traces": Endpoint(backend, {"POST": export}),
        "/api/public/otel/v1/metrics": Endpoint(backend, {"POST": Action(handle=_ignore_metrics)}),
    }
