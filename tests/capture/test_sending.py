"""Every way to send: through each, a rag-call arrives typed, whole, in its trace, and with all that says whose it is."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import httpx
import pytest
from langfuse import Langfuse, propagate_attributes
from opentelemetry.context import get_current
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragtrace.capture.client import Capture
from ragtrace.extract import complete_delivery, read_rag_call
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.local.serve import running
from tests.capture.calls import TEXT, call, config

OTHER = "The lamp draws nine watts and weighs two kilograms, said the sheet that came with it."
IDENTITY = {
    "sessionId": "session-7",
    "userId": "user-3",
    "tags": ["beta"],
    "environment": "staging",
    "release": "2026.3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A program that answers a question inside a span of its own."""

    capture: Capture
    provider: TracerProvider
    open_request: Callable[[], AbstractContextManager[object]]
    flush: Callable[[], object]

    def answer(self, **identity: object) -> None:
        with self.open_request():
            self.submit(**identity)
        self.finish()

    def submit(self, **identity: object) -> None:
        self.capture.submit(call(TEXT, OTHER, prompt=[TEXT], context=get_current(), provider=self.provider, **identity))

    def finish(self) -> None:
        assert self.capture.flush(10)
        self.flush()
        self.capture.shutdown(10)


def with_otel(capture: Capture, provider: TracerProvider) -> Application:
    """An application that speaks OpenTelemetry only."""
    tracer = provider.get_tracer("app")
    return Application(
        capture=capture,
        provider=provider,
        open_request=lambda: tracer.start_as_current_span("request"),
        flush=provider.force_flush,
    )


@contextmanager
def with_langfuse(capture: Capture, server: LocalLangfuse) -> Iterator[Application]:
    """An application that uses the Langfuse SDK, and tells it environment and release in code."""
    provider = TracerProvider(shutdown_on_exit=False)
    langfuse = Langfuse(
        public_key=server.public_key,
        secret_key=server.secret_key,
        base_url=server.base_url,
        tracer_provider=provider,
        environment="staging",
        release="2026.3",
    )
    yield Application(
        capture=capture,
        provider=provider,
        open_request=lambda: langfuse.start_as_current_observation(name="request", as_type="chain"),
        flush=langfuse.flush,
    )
    langfuse.shutdown()


def headers(server: LocalLangfuse) -> dict[str, str]:
    keys = b64encode(f"{server.public_key}:{server.secret_key}".encode()).decode()
    return {"Authorization": f"Basic {keys}", "x-langfuse-ingestion-version": "4"}


def settings_for(server: LocalLangfuse) -> dict[str, object]:
    return {
        "langfuse_base_url": server.base_url,
        "langfuse_public_key": server.public_key,
        "langfuse_secret_key": server.secret_key,
    }


def exporting_to(url: str, **given: str) -> TracerProvider:
    provider = TracerProvider(resource=Resource({"deployment.environment.name": "staging"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, headers=given)))
    return provider


@contextmanager
def own_pipeline(server: LocalLangfuse) -> Iterator[Application]:
    """ragtrace sends by itself; the application sends its spans to Langfuse through OpenTelemetry."""
    provider = exporting_to(f"{server.base_url}/api/public/otel/v1/traces", **headers(server))
    yield with_otel(Capture(config(**settings_for(server))), provider)
    provider.shutdown()


@contextmanager
def own_pipeline_below_langfuse(server: LocalLangfuse) -> Iterator[Application]:
    """ragtrace sends by itself; the application sends its spans with the Langfuse SDK."""
    with with_langfuse(Capture(config(**settings_for(server))), server) as application:
        yield application


@contextmanager
def langfuse_pipeline(server: LocalLangfuse) -> Iterator[Application]:
    """Both through the Langfuse SDK's tracer provider, with its export filter."""
    with with_langfuse(Capture(config(capture_pipeline="application")), server) as application:
        yield application


@contextmanager
def any_pipeline(server: LocalLangfuse) -> Iterator[Application]:
    """Whatever OpenTelemetry pipeline the application has, here straight to Langfuse."""
    provider = exporting_to(f"{server.base_url}/api/public/otel/v1/traces", **headers(server))
    yield with_otel(Capture(config(capture_pipeline="application")), provider)
    provider.shutdown()


@contextmanager
def collector(server: LocalLangfuse) -> Iterator[str]:
    """Stand in for an OpenTelemetry Collector: take OTLP/HTTP without keys, pass it on with them."""

    async def forward(request: Request) -> Response:
        kept = {name: request.headers[name] for name in ("content-type", "content-encoding") if name in request.headers}
        async with httpx.AsyncClient(headers={**headers(server), **kept}) as client:
            reply = await client.post(f"{server.base_url}/api/public/otel/v1/traces", content=await request.body())
        return Response(reply.content, reply.status_code, media_type=reply.headers["content-type"])

    with running(Starlette(routes=[Route("/v1/traces", forward, methods=["POST"])])) as url:
        yield url


@contextmanager
def own_pipeline_to_a_collector(server: LocalLangfuse) -> Iterator[Application]:
    """ragtrace sends by itself, to the endpoint that OpenTelemetry's variables name."""
    with collector(server) as url:
        provider = exporting_to(f"{url}/v1/traces")
        yield with_otel(Capture(config(otel_exporter_otlp_endpoint=url)), provider)
        provider.shutdown()


@contextmanager
def application_to_a_collector(server: LocalLangfuse) -> Iterator[Application]:
    """The application's pipeline leads to a Collector."""
    with collector(server) as url:
        provider = exporting_to(f"{url}/v1/traces")
        yield with_otel(Capture(config(capture_pipeline="application")), provider)
        provider.shutdown()


WAYS = [
    own_pipeline,
    own_pipeline_below_langfuse,
    langfuse_pipeline,
    any_pipeline,
    own_pipeline_to_a_collector,
    application_to_a_collector,
]


def rows(server: LocalLangfuse) -> dict[str, dict[str, object]]:
    reply = httpx.get(
        f"{server.base_url}/api/public/v2/observations",
        params={"fields": "core,basic,time,io,metadata,trace_context"},
        auth=(server.public_key, server.secret_key),
    )
    return {row["name"]: row for row in reply.json()["data"]}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_call_arrives_whole(local_langfuse, way):
    """Typed as a chain, below the application's span, with session, user, tags, environment, release, and all text."""
    with way(local_langfuse) as application:
        application.answer(session="session-7", user="user-3", tags=("beta",), environment="staging", release="2026.3")
    stored = rows(local_langfuse)
    call_row, request = stored["rag-call"], stored["request"]
    connection = Connection(
        local_langfuse.base_url, public_key=local_langfuse.public_key, secret_key=local_langfuse.secret_key
    )
    async with LangfuseApi(connection) as api:
        (page,) = [page async for page in api.list_calls(CallQuery())]
        (batch,) = [batch async for batch in api.fetch(page)]
    (read,) = [complete_delivery(read_rag_call(row)) for row in batch.rows]

    assert {key: call_row[key] for key in ("type", "traceId", "parentObservationId", *IDENTITY)} == {
        "type": "CHAIN",
        "traceId": request["traceId"],
        "parentObservationId": request["id"],
        **IDENTITY,
    }
    assert (read.question, read.answer) == ("What is the fee?", "Three euros for each night.")
    assert [(d.passage.text, d.status) for d in read.delivery.passages] == [(TEXT, "full"), (OTHER, "absent")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_call_is_in_the_environment_of_its_trace(local_langfuse, way):
    """Where only the application says which environment it is, in code, the rag-call is in the same one."""
    with way(local_langfuse) as application:
        application.answer()
    stored = rows(local_langfuse)

    assert stored["rag-call"]["environment"] == stored["request"]["environment"] == "staging"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_langfuse_propagates_is_on_the_call(local_langfuse, way):
    """Session, user, tags and environment that `propagate_attributes` put around the answer hold for its rag-call."""
    with (
        way(local_langfuse) as application,
        propagate_attributes(session_id="session-7", user_id="user-3", tags=["beta"], environment="staging"),
    ):
        application.answer(release="2026.3")

    assert {key: rows(local_langfuse)["rag-call"][key] for key in IDENTITY} == IDENTITY


@pytest.mark.parametrize("way", [own_pipeline_below_langfuse, langfuse_pipeline], ids=lambda way: way.__name__)
def test_a_call_is_of_the_release_of_its_trace(local_langfuse, way):
    """A release that only the Langfuse SDK was told, in code, is the rag-call's, too."""
    with way(local_langfuse) as application:
        application.answer()
    stored = rows(local_langfuse)

    assert stored["rag-call"]["release"] == stored["request"]["release"] == "2026.3"


def test_langfuses_filter_lets_the_call_pass_and_not_its_parent(local_langfuse):
    """Below a span that Langfuse's default filter drops, the rag-call arrives and is the root that people see."""
    with langfuse_pipeline(local_langfuse) as application:
        with application.provider.get_tracer("app").start_as_current_span("plain"):
            application.submit()
        application.finish()
    stored = rows(local_langfuse)

    assert list(stored) == ["rag-call"]
    assert stored["rag-call"]["isRootObservation"] is True
