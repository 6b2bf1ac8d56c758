"""Find the spans that other tracers make for a run, so that the rag-call lands in their trace."""

from contextvars import ContextVar
from dataclasses import dataclass
from weakref import WeakSet, ref

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision

from ragtrace.capture.guard import guard
from ragtrace_instrumentation_langchain.calls import CURRENT, Call, Run

# In order of preference where several trace the same run.
_TRACERS = (
    "langfuse-sdk",
    "openinference.instrumentation.langchain",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.genai.langchain",
)
_NAMED_AFTER_RUN = _TRACERS[:2]

_early: ContextVar[tuple[Span, TracerProvider | None] | None] = ContextVar("ragtrace_early_span", default=None)
_linked: "WeakSet[TracerProvider]" = WeakSet()
is_linked = False
"""Whether any provider is watched."""
_reading = guard("joining another tracer's trace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a rag-call belongs."""

    context: Context
    """The caller's context with the span to be under, or with none."""
    provider: trace.TracerProvider | None = None
    """The provider of that span, where a tracer of LangChain made it."""


class RunLink(SpanProcessor):
    """Notices the span that a tracer starts for the current run.

    `on_start` is called synchronously in the tracer's context, which is ours or a copy of it: in asynchronous code
    our handler runs first, in synchronous code the order of the handlers decides.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = ref(provider)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Tie a tracer's span to the run that it stands for."""
        scope = span.instrumentation_scope
        if scope is None or not scope.name.startswith(_TRACERS):
            return
        with _reading:
            run, hit = CURRENT.get(), (span, self._provider())
            is_fitting = not scope.name.startswith(_NAMED_AFTER_RUN) or (run and span.name == run.name)
            if run is not None and run.is_open and is_fitting and scope.name not in (run.spans or ()):
                run.spans = {**(run.spans or {}), scope.name: hit}
            else:
                _early.set(hit)


def link(provider: trace.TracerProvider) -> None:
    """Watch the spans of a provider; once for each provider, whatever the number of handlers."""
    global is_linked
    if isinstance(provider, TracerProvider) and provider not in _linked:
        is_linked = True
        _linked.add(provider)
        provider.add_span_processor(RunLink(provider))


def follow(run: Run) -> None:
    """Give a run the span that a tracer started for it before we were told."""
    early = _early.get()
    if early is not None:
        span, _provider = early
        scope = span.instrumentation_scope
        if scope is not None and span.is_recording() and span.name == run.name:
            run.spans = {**(run.spans or {}), scope.name: early}
        _early.set(None)


def adopt(run: Run) -> None:
    """Let the root take the spans of a run that ended, for the case that it has none of its own."""
    root = run.call.root
    if run.spans and root is not None and run is not root:
        root.spans = run.spans | (root.spans or {})


def find_place(call: Call) -> Place | None:
    """Tell where the rag-call of a call belongs; None: the tracer of this program samples, and dropped it."""
    context = call.around if call.around is not None else Context()
    spans = call.root.spans if call.root else None
    if spans:
        scope = min(spans, key=_preference)
        span, provider = spans[scope]
        return Place(context=_under(span, context), provider=provider)
    if (ambient := _find_ambient(call)) is not None:
        return Place(context=_under(ambient, context))
    if is_sampled_out(trace.get_tracer_provider(), context):
        return None
    return Place(context=trace.set_span_in_context(trace.INVALID_SPAN, context))


def _find_ambient(call: Call) -> trace.Span | None:
    """Return the span around a call, else that which a tracer we do not know opened for its root.

    Not one that had ended before the call began: it leaked out of an earlier call.
    """
    for context in (call.around, call.inside):
        span = trace.get_current_span(context) if context is not None else trace.INVALID_SPAN
        ended_ns = getattr(span, "end_time", None)
        if span.get_span_context().is_valid and (ended_ns is None or ended_ns >= call.began_ns):
            return span
    return None


def _preference(scope: str) -> int:
    return next(place for place, prefix in enumerate(_TRACERS) if scope.startswith(prefix))


def _under(span: trace.Span, context: Context) -> Context:
    # The span itself, not its ids alone: whether Langfuse is ever sent it decides who is the root there.
    return trace.set_span_in_context(span, context)


def is_sampled_out(provider: trace.TracerProvider, context: Context) -> bool:
    """Ask a provider's sampler about a trace of our own, since a span that it dropped is never shown to us."""
    if not isinstance(provider, TracerProvider) or "root:AlwaysOnSampler" in provider.sampler.get_description():
        return False
    rootless = trace.set_span_in_context(trace.INVALID_SPAN, context)
    trace_id = provider.id_generator.generate_trace_id()
    return provider.sampler.should_sample(rootless, trace_id, "rag-call").decision is Decision.DROP
