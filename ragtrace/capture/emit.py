"""Write one captured call as a span: the rag-call observation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.context import Context, get_value
from opentelemetry.trace import Span, SpanContext, Status, StatusCode, Tracer, format_trace_id, get_current_span

from ragtrace import semconv
from ragtrace.capture.place import Record, make_record
from ragtrace.capture.record import CapturedCall
from ragtrace.capture.serialise import clean_text, dump, to_json
from ragtrace.masking import Mask, apply, mask_text
from ragtrace.model import JsonValue
from ragtrace.sampling import is_sampled
from ragtrace.settings import Settings

_SPAN_OVERHEAD_BYTES = 4_000
_LONGEST_VALUE = 190
_MOST_METADATA = 32
_MOST_DOCUMENTS = 100
_EXPORTED_SCOPES = ("langfuse-sdk", "openinference", "opentelemetry.instrumentation.langchain")
_EXPERIMENT = {
    semconv.META_EXPERIMENT: "experiment_name",
    semconv.META_EXPERIMENT_DATASET: "experiment_dataset_id",
    semconv.META_EXPERIMENT_ITEM: "experiment_item_id",
}
"""What Langfuse's `run_experiment` puts into the context, by the metadata key that keeps it."""

Attribute = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitter:
    """Writes calls as spans, under one mask and one set of settings."""

    settings: Settings
    mask: Mask | None
    limit_bytes: int
    """Largest record."""

    def emit(self, call: CapturedCall, tracer: Tracer) -> int:
        """Write the span and return its size in bytes; 0 for a call that is outside the sample."""
        context = call.context if call.context is not None else Context()
        parent = get_current_span(context).get_span_context()
        if _is_own_traffic(call) or not self._is_wanted(parent):
            return 0
        span = tracer.start_span(
            semconv.SPAN_NAME,
            context=context,
            start_time=call.start_ns,
            # Langfuse's exporter decides by these, and looks when the span starts.
            attributes={
                semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_RETRIEVAL,
                semconv.LANGFUSE_TYPE: "chain",
            },
        )
        if not span.is_recording() or not self._is_wanted(span.get_span_context()):
            # A span that is never ended is never exported.
            return 0
        record = make_record(
            call,
            mask=self.mask,
            align_in_app=self.settings.capture_align_in_app,
            limit_bytes=self.limit_bytes,
        )
        span.set_attributes(dict(self._attributes(call, record, context)))
        self._set_status(span, call.error)
        span.end(max(call.start_ns, call.end_ns))
        return record.size + _SPAN_OVERHEAD_BYTES

    def _is_wanted(self, span: SpanContext) -> bool:
        if not span.is_valid:
            return True
        return span.trace_flags.sampled and is_sampled(
            format_trace_id(span.trace_id), self.settings.capture_rate, salt=self.settings.sampling_salt
        )

    def _attributes(self, call: CapturedCall, record: Record, context: Context) -> Iterator[tuple[str, Attribute]]:
        yield semconv.LANGFUSE_INPUT, record.input
        if record.output is not None:
            yield semconv.LANGFUSE_OUTPUT, record.output
        yield from self._identity(call, context)
        yield from self._retrieval(call)
        # Ours last: the application's metadata must not replace them.
        yield from self._metadata(call.metadata)
        yield from _summary(call, record, rate=self.settings.capture_rate)
        if _is_app_root(context):
            yield semconv.LANGFUSE_IS_APP_ROOT, True

    def _identity(self, call: CapturedCall, context: Context) -> Iterator[tuple[str, Attribute]]:
        """Whose call it was, as far as the call, Langfuse's `propagate_attributes`, settings or the parent say."""
        found: dict[str, object] = {
            semconv.SESSION_ID: call.session or _propagated(context, "session_id"),
            semconv.USER_ID: call.user or _propagated(context, "user_id"),
            semconv.LANGFUSE_TRACE_NAME: call.trace_name or _propagated(context, "trace_name"),
            semconv.LANGFUSE_ENVIRONMENT: call.environment
            or _propagated(context, "environment")
            or self.settings.environment
            or _of_parent(context, (semconv.LANGFUSE_ENVIRONMENT, *semconv.DEPLOYMENT_ENVIRONMENTS)),
            semconv.LANGFUSE_RELEASE: call.release
            or self.settings.release
            or _of_parent(context, (semconv.LANGFUSE_RELEASE,)),
            semconv.GEN_AI_REQUEST_MODEL: call.model,
            semconv.LANGFUSE_METADATA_PREFIX + semconv.META_MODEL: call.model,
            **{semconv.LANGFUSE_METADATA_PREFIX + key: _propagated(context, name) for key, name in _EXPERIMENT.items()},
            semconv.GEN_AI_RESPONSE_ID: call.response_id,
            semconv.GEN_AI_CONVERSATION_ID: call.conversation,
        }
        yield from ((key, self._short(value)) for key, value in found.items() if isinstance(value, str) and value)
        propagated = _propagated(context, "tags")
        tags = [*call.tags, *(propagated if isinstance(propagated, list | tuple) else ())]
        if tags:
            yield semconv.LANGFUSE_TRACE_TAGS, list(dict.fromkeys(self._short(str(tag)) for tag in tags))

    def _retrieval(self, call: CapturedCall) -> Iterator[tuple[str, Attribute]]:
        if call.question_rewritten:
            yield semconv.GEN_AI_RETRIEVAL_QUERY, self._short(call.question_rewritten)
        documents: list[JsonValue] = [
            {"id": passage.id, **({} if passage.score is None else {"score": to_json(passage.score)})}
            for passage in (call.passages or ())[:_MOST_DOCUMENTS]
            if passage.id is not None
        ]
        if documents:
            yield semconv.GEN_AI_RETRIEVAL_DOCUMENTS, dump(apply(self.mask, to_json(documents)))

    def _metadata(self, metadata: Mapping[str, object]) -> Iterator[tuple[str, Attribute]]:
        entries = [(key, value) for key, value in dict(metadata).items() if value is not None]
        for key, value in entries[:_MOST_METADATA]:
            json = apply(self.mask, to_json(value))
            written = json if isinstance(json, str | int | float) else dump(json)
            name = mask_text(self.mask, clean_text(str(key)))
            yield semconv.LANGFUSE_METADATA_PREFIX + name, (_shorten(written) if isinstance(written, str) else written)
        if len(entries) > _MOST_METADATA:
            dropped = len(entries) - _MOST_METADATA
            yield semconv.LANGFUSE_METADATA_PREFIX + semconv.META_METADATA_DROPPED, dropped

    def _set_status(self, span: Span, error: BaseException | None) -> None:
        if error is None:
            return
        message = self._short(f"{type(error).__name__}: {error}")
        span.set_attributes({semconv.LANGFUSE_LEVEL: "ERROR", semconv.LANGFUSE_STATUS_MESSAGE: message})
        span.set_status(Status(StatusCode.ERROR, message))

    def _short(self, text: str) -> str:
        return _shorten(mask_text(self.mask, clean_text(text)))


def _summary(call: CapturedCall, record: Record, *, rate: float) -> Iterator[tuple[str, Attribute]]:
    values: dict[str, Attribute | None] = {
        semconv.META_SCHEMA: semconv.SCHEMA_VERSION,
        semconv.META_PASSAGES_RETRIEVED: record.retrieved,
        semconv.META_PASSAGES_RECEIVED: record.received,
        semconv.META_ANSWER_LENGTH: None if record.output is None else len(record.output),
        semconv.META_PROMPT_LENGTH: record.prompt_length,
        semconv.META_PROMPT_DIGEST: record.prompt_digest,
        # What readers assume anyway is not written: small calls are many.
        semconv.META_CAPTURE_PROBABILITY: rate if rate < 1 else None,
        semconv.META_CONFIDENCE: call.confidence if call.confidence != "high" else None,
        semconv.META_MARKS: ",".join(record.marks) or None,
    }
    yield from ((semconv.LANGFUSE_METADATA_PREFIX + key, v) for key, v in values.items() if v is not None)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 20]}… [{len(text)} chars]"


def _propagated(context: Context, key: str) -> object:
    return get_value(semconv.LANGFUSE_PROPAGATED_PREFIX + key, context)


def _of_parent(context: Context, keys: Sequence[str]) -> object:
    """Return what the span around the call says of itself, else the resource that it belongs to.

    What an application tells Langfuse or its tracer provider in code stands nowhere else, and a call in another
    environment than its trace is not found there.
    """
    parent = get_current_span(context)
    sources = (parent, getattr(parent, "resource", None))
    found = (getattr(source, "attributes", None) or {} for source in sources)
    return next((attributes[key] for attributes in found for key in keys if attributes.get(key)), None)


def _is_own_traffic(call: CapturedCall) -> bool:
    """Say whether this is a judge's call, which is never captured."""
    return (
        call.environment == semconv.SCORER_ENVIRONMENT
        or semconv.JUDGE_MARK in call.tags
        or semconv.JUDGE_MARK in call.metadata
    )


def _is_app_root(context: Context) -> bool:
    """Say whether the parent is a span that Langfuse is not sent, so that this one is the root that people see."""
    parent = get_current_span(context)
    scope = getattr(parent, "instrumentation_scope", None)
    if scope is None:
        return parent.get_span_context().is_remote
    attributes = getattr(parent, "attributes", None) or {}
    is_exported = str(scope.name).startswith(_EXPORTED_SCOPES) or any(k.startswith("gen_ai.") for k in attributes)
    return not is_exported
