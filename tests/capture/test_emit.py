"""The rag-call span."""

import json
from dataclasses import replace

import pytest
from opentelemetry import trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, attach, detach, set_value
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from ragtrace import capture
from ragtrace.capture.in_memory import capture_in_memory
from ragtrace.sampling import is_sampled
from tests.capture.calls import START_NS, TEXT, call, config, passages

METADATA = "langfuse.observation.metadata."


def _parent(trace_id: int = 0xABC, *, sampled: bool = True, remote: bool = False) -> Context:
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return set_span_in_context(NonRecordingSpan(SpanContext(trace_id, 0xDEF, remote, flags)), Context())


def _attributes(calls, index: int = 0) -> dict:
    return dict(calls.spans[index].attributes)


def test_a_call_is_one_span_of_the_given_time(captured_calls):
    """Name, scope, kind and times are those of the call, whenever it is written."""
    capture.submit(call(TEXT))
    (span,) = captured_calls.spans

    assert (span.name, span.instrumentation_scope.name, span.kind, span.start_time, span.end_time, span.parent) == (
        "rag-call",
        "ragtrace",
        SpanKind.INTERNAL,
        START_NS,
        START_NS + 1_500_000_000,
        None,
    )


def test_the_span_carries_a_handful_of_attributes(captured_calls):
    """What a plain call writes, whole."""
    capture.submit(call(TEXT))
    attributes = _attributes(captured_calls)

    assert json.loads(attributes.pop("langfuse.observation.input"))["question"] == "What is the fee?"
    assert len(attributes.pop(METADATA + "ragtrace_prompt_digest")) == 16
    assert attributes == {
        "gen_ai.operation.name": "retrieval",
        "langfuse.observation.type": "chain",
        "langfuse.observation.output": "Three euros for each night.",
        "gen_ai.retrieval.documents": '[{"id":"d0"}]',
        METADATA + "ragtrace_schema": 1,
        METADATA + "ragtrace_passages_retrieved": 1,
        METADATA + "ragtrace_passages_received": 1,
        METADATA + "ragtrace_answer_length": len("Three euros for each night."),
        METADATA + "ragtrace_prompt_length": 19 + len(TEXT),
    }


def test_who_and_where_stand_on_the_span(captured_calls):
    """Session, user, tags, names and model, since Langfuse does not join them from the trace."""
    capture.submit(
        call(
            session="s",
            user="u",
            tags=("a", "b", "a"),
            environment="prod",
            release="1.2",
            trace_name="chat",
            model="gpt",
            response_id="r1",
            question_rewritten="fee?",
            confidence="low",
            metadata={"tenant": "t1", "k": 4, "none": None, "list": [1, 2], "long": "x" * 500},
        )
    )
    attributes = _attributes(captured_calls)

    assert {key: value for key, value in attributes.items() if not key.startswith("langfuse.observation.")} == {
        "session.id": "s",
        "user.id": "u",
        "langfuse.trace.tags": ("a", "b"),
        "langfuse.environment": "prod",
        "langfuse.release": "1.2",
        "langfuse.trace.name": "chat",
        "gen_ai.request.model": "gpt",
        "gen_ai.response.id": "r1",
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "fee?",
    }
    assert {key.removeprefix(METADATA): attributes[key] for key in attributes if METADATA in key} == {
        "tenant": "t1",
        "k": 4,
        "list": "[1,2]",
        "long": "x" * 170 + "… [500 chars]",
        "ragtrace_model": "gpt",
        "ragtrace_confidence": "low",
        "ragtrace_schema": 1,
        "ragtrace_passages_retrieved": 0,
        "ragtrace_passages_received": 0,
        "ragtrace_answer_length": attributes[METADATA + "ragtrace_answer_length"],
        "ragtrace_prompt_length": attributes[METADATA + "ragtrace_prompt_length"],
        "ragtrace_prompt_digest": attributes[METADATA + "ragtrace_prompt_digest"],
    }


def test_what_langfuse_propagates_counts(captured_calls):
    """Session, user and tags of `propagate_attributes` are found in the caller's context."""
    context = Context()
    for key, value in {"session_id": "s", "user_id": "u", "tags": ["t"], "trace_name": "n", "environment": "e"}.items():
        context = set_value(f"langfuse.propagated.{key}", value, context)
    capture.submit(call(context=context, tags=("own",)))
    found = _attributes(captured_calls)

    assert [
        found[k]
        for k in ("session.id", "user.id", "langfuse.trace.tags", "langfuse.trace.name", "langfuse.environment")
    ] == [
        "s",
        "u",
        ("own", "t"),
        "n",
        "e",
    ]


def test_the_span_joins_the_callers_trace(captured_calls):
    """With a parent in the call's context, the span is its child."""
    capture.submit(call(context=_parent()))
    (span,) = captured_calls.spans

    assert (span.context.trace_id, span.parent.span_id) == (0xABC, 0xDEF)


@pytest.mark.parametrize(
    ("scope", "attributes", "is_root"),
    [
        ("langfuse-sdk", {}, None),
        ("openinference.instrumentation.langchain", {}, None),
        ("app", {"gen_ai.system": "x"}, None),
        ("opentelemetry.instrumentation.fastapi", {"http.method": "POST"}, True),
    ],
)
def test_under_a_span_that_langfuse_does_not_get_it_is_the_root(captured_calls, scope, attributes, is_root):
    """Below a web framework's span, the rag-call is what people see as the root."""
    parent = TracerProvider().get_tracer(scope).start_span("POST /ask", attributes=attributes)
    capture.submit(call(context=set_span_in_context(parent, Context())))

    assert _attributes(captured_calls).get("langfuse.internal.is_app_root") == is_root


def test_under_a_remote_parent_it_is_the_root(captured_calls):
    """A parent in another process is not known to reach Langfuse."""
    capture.submit(call(context=_parent(remote=True)))

    assert _attributes(captured_calls)["langfuse.internal.is_app_root"] is True


def test_an_unsampled_trace_is_not_captured(captured_calls):
    """Where the application dropped the trace, no lone span is left over."""
    off = TracerProvider(sampler=ALWAYS_OFF).get_tracer("app").start_span("root")
    capture.submit(call(context=_parent(sampled=False)))
    capture.submit(call(context=set_span_in_context(off, Context())))

    assert captured_calls.spans == ()


def test_the_capture_rate_follows_the_trace_id():
    """A call is captured exactly where the scorer's hash says so, and the rate is on it."""
    with capture_in_memory(config(capture_rate=0.3)) as calls:
        for number in range(200):
            capture.submit(call(context=_parent(number + 1)))
        chosen = {span.context.trace_id for span in calls.spans}

        assert chosen == {n + 1 for n in range(200) if is_sampled(f"{n + 1:032x}", 0.3)}
        assert {_attributes(calls, i)[METADATA + "ragtrace_capture_probability"] for i in range(len(chosen))} == {0.3}


def test_the_capture_rate_holds_without_a_parent():
    """A call that starts its own trace is sampled by the id it gets."""
    with capture_in_memory(config(capture_rate=0.5)) as calls:
        for _ in range(200):
            capture.submit(call())

        assert 50 < len(calls.spans) < 150
        assert all(is_sampled(trace.format_trace_id(span.context.trace_id), 0.5) for span in calls.spans)


def test_a_judges_traffic_is_never_captured(captured_calls):
    """Neither under suppression, nor with the judge's mark or environment."""
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    capture.submit(call())
    detach(token)
    capture.submit(call(environment="ragtrace-scorer"))
    capture.submit(call(tags=("ragtrace.judge",)))
    capture.submit(call(metadata={"ragtrace.judge": True}))

    assert captured_calls.spans == ()


def test_an_error_is_a_level_and_a_message(captured_calls):
    """A failed generator shows as an error."""
    capture.submit(call(answer=None, error=ValueError("no such model")))
    (span,) = captured_calls.spans
    attributes = _attributes(captured_calls)

    assert (
        attributes["langfuse.observation.level"],
        attributes["langfuse.observation.status_message"],
        span.status.is_ok,
        attributes[METADATA + "ragtrace_marks"],
        captured_calls.answers,
    ) == ("ERROR", "ValueError: no such model", False, "error", [None])


def test_the_mask_covers_the_span():
    """Ids, tags, names, metadata with its keys, and the message of an error are masked like the text."""

    def hide(text: str) -> str:
        return text.replace("4711", "***")

    secret = "4711"
    with capture_in_memory(config(mask=hide)) as calls:
        capture.submit(
            call(
                session=secret,
                user=secret,
                tags=(secret,),
                trace_name=secret,
                environment=secret,
                release=secret,
                model=secret,
                response_id=secret,
                question=secret,
                metadata={secret: secret, "number": 4711},
                error=ValueError(secret),
                passages=(replace(passages(TEXT)[0], id=secret),),
            )
        )
        (span,) = calls.spans

        assert secret not in span.to_json()
        assert _attributes(calls)[METADATA + "number"] == "***"


def test_more_metadata_than_fits_is_counted(captured_calls):
    """Metadata beyond a few keys is left out, which is said, and never pushes the content out."""
    capture.submit(call(metadata={f"k{n}": n for n in range(300)}))
    attributes = _attributes(captured_calls)

    assert (attributes[METADATA + "ragtrace_metadata_dropped"], len(attributes) < 64) == (268, True)


def test_forty_passages_arrive_under_the_default_limits(captured_calls):
    """However many passages there are, the span has few attributes, so none is evicted."""
    texts = [f"Passage number {n}: value {n * 7}." for n in range(40)]
    capture.submit(call(*texts))
    (record,) = captured_calls.inputs

    assert [p["text"] for p in record["passages"]] == texts


def test_the_applications_metadata_cannot_replace_ours(captured_calls):
    """A key of ours in the run's metadata loses."""
    capture.submit(call(metadata={"ragtrace_schema": 99}))

    assert _attributes(captured_calls)[METADATA + "ragtrace_schema"] == 1


def test_an_end_before_the_start_is_moved(captured_calls):
    """Clocks that jump make no span of negative length."""
    capture.submit(call(end_ns=START_NS - 5))

    assert captured_calls.spans[0].end_time == START_NS


def test_captured_calls_can_be_cleared(captured_calls):
    """A test can start over."""
    capture.submit(call())
    captured_calls.clear()

    assert captured_calls.spans == ()
