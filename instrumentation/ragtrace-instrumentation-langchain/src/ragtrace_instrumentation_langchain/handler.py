"""Follow LangChain's callbacks: at each event, keep references to strings and nothing more."""

import sys
from collections.abc import Mapping, Sequence
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

import ragtrace.capture
from ragtrace.capture import guard, hear_retrieved, note_follower
from ragtrace.model import Passage
from ragtrace_instrumentation_langchain import join, observe
from ragtrace_instrumentation_langchain.calls import CURRENT, Call, Client, Run, RunKind
from ragtrace_instrumentation_langchain.finish import finish
from ragtrace_instrumentation_langchain.inline import would_silence_others
from ragtrace_instrumentation_langchain.messages import Prompt, read_prompt
from ragtrace_instrumentation_langchain.runs import RunTable

_TABLE = RunTable()
_following = guard("following a LangChain run")


class RagCallbackHandler(BaseCallbackHandler):
    """Captures what a chain's generator received: `chain.invoke(q, config={"callbacks": [RagCallbackHandler()]})`.

    One instance may serve any number of calls at once, in threads and tasks. However many handlers see a call, it is
    captured once, for the client of the first.

    Args:
        client: What takes the captured calls, as `ragtrace.configure` returns it; the default one otherwise.
        tracer_provider: The provider that another tracer of LangChain was given, where it is not the global one.
        runs: A table of its own, for tests; all handlers of a process share one otherwise.
    """

    raise_error = True
    """Nothing gets past our guard except under `ragtrace.testing`, where it should be seen."""

    ignore_retry = True
    ignore_custom_event = True

    def __init__(
        self,
        *,
        client: Client | None = None,
        tracer_provider: trace.TracerProvider | None = None,
        runs: RunTable | None = None,
    ) -> None:
        self._client: Client = client if client is not None else ragtrace.capture
        self._runs = runs if runs is not None else _TABLE
        if tracer_provider is not None:
            join.link(tracer_provider)
        hear_retrieved(_hear)
        self._runs.hear = _hear
        note_follower(_is_following)

    @property
    def run_inline(self) -> bool:  # type: ignore[override]  # LangChain reads it at each event, nobody writes it
        """Be called before all others, in the caller's own context, in asynchronous code too."""
        return not would_silence_others(sys._getframe(1))

    @property
    def open_runs(self) -> int:
        """How many runs and calls are held: 0 when nothing is running."""
        return len(self._runs)

    def on_chain_start(
        self,
        serialized: Mapping[str, object] | None,
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with _following:
            run = self._begin("chain", run_id, parent_run_id, serialized, kwargs)
            if run is not None and not kwargs.get("defers_inputs"):
                observe.chain_inputs(run, inputs)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        with _following:
            if (run := self._end(run_id, kwargs)) is not None:
                if run.parent is not None:
                    observe.chain_outputs(run, outputs)
                self._leave(run, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._fail(error, run_id, kwargs)

    def on_retriever_start(
        self,
        serialized: Mapping[str, object] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with _following:
            if (run := self._begin("retriever", run_id, parent_run_id, serialized, kwargs)) is not None:
                run.query = query if isinstance(query, str) else None

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: object) -> None:
        with _following:
            if (run := self._end(run_id, kwargs)) is not None:
                observe.retrieved(run, documents)
                self._leave(run, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._fail(error, run_id, kwargs)

    def on_tool_start(
        self,
        serialized: Mapping[str, object] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with _following:
            if (run := self._begin("tool", run_id, parent_run_id, serialized, kwargs)) is not None:
                tool_call_id = kwargs.get("tool_call_id")
                run.tool_call_id = tool_call_id if isinstance(tool_call_id, str) else None

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        with _following:
            if (run := self._end(run_id, kwargs)) is not None:
                if run.parent is not None:
                    observe.tool_returned(run, output)
                self._leave(run, output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._fail(error, run_id, kwargs)

    def on_chat_model_start(
        self,
        serialized: Mapping[str, object],
        messages: Sequence[Sequence[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with _following:
            if (run := self._begin("model", run_id, parent_run_id, serialized, kwargs)) is not None:
                observe.model_started(run, read_prompt(messages[0]), settings=kwargs)

    def on_llm_start(
        self,
        serialized: Mapping[str, object],
        prompts: Sequence[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with _following:
            if (run := self._begin("model", run_id, parent_run_id, serialized, kwargs)) is not None:
                prompt = Prompt(parts=(prompts[0],), question=prompts[0].strip() or None)
                observe.model_started(run, prompt, settings=kwargs)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        with _following:
            if (run := self._end(run_id, kwargs)) is not None:
                self._leave(run, observe.model_ended(run, response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        with _following:
            if (run := self._end(run_id, kwargs)) is not None:
                response = kwargs.get("response")
                observe.model_ended(run, response if isinstance(response, LLMResult) else None, error)
                self._leave(run, None, error)

    def _begin(
        self,
        kind: RunKind,
        run_id: UUID,
        parent_id: UUID | None,
        serialized: Mapping[str, object] | None,
        settings: Mapping[str, object],
    ) -> Run | None:
        """Note that a run starts; None if another handler told us already, or nobody wants to know."""
        if self._runs.find(run_id) is not None:
            return None
        parent = self._runs.find(parent_id)
        if parent is None and not is_instrumentation_enabled():
            return None
        call = parent.call if parent is not None else self._open(run_id, settings)
        run = self._runs.begin(run_id, kind, name=_name(serialized, settings), call=call, parent=parent)
        join.follow(run)
        if parent is None and kind in ("retriever", "model"):
            self._runs.close_with_task(run)
        return run

    def _open(self, run_id: UUID, settings: Mapping[str, object]) -> Call:
        for stale in self._runs.sweep():
            finish(stale, self._runs)
        # Late, since the application may set its provider after it made this handler.
        join.link(trace.get_tracer_provider())
        metadata, tags = settings.get("metadata"), settings.get("tags")
        return self._runs.open(
            Call(
                id=run_id,
                client=self._client,
                metadata=dict(metadata) if isinstance(metadata, Mapping) else {},
                tags=tuple(tags) if isinstance(tags, list) else (),
                context=otel_context.get_current(),
                ambient=join.current_span(),
                touched=self._runs.clock(),
            )
        )

    def _end(self, run_id: UUID, settings: Mapping[str, object]) -> Run | None:
        """Note that a run ended; None if it is not ours, or another handler told us already."""
        run = self._runs.end(run_id)
        if run is not None and "inputs" in settings:
            # A stream's input is known when the stream is over.
            observe.chain_inputs(run, settings["inputs"])
        return run

    def _fail(self, error: BaseException, run_id: UUID, settings: Mapping[str, object]) -> None:
        with _following:
            if (run := self._end(run_id, settings)) is not None:
                observe.failed(run, error)
                self._leave(run, None, error)

    def _leave(self, run: Run, outputs: object, error: BaseException | None = None) -> None:
        """Finish the call if this was its root, or the model that its root did not wait for."""
        join.adopt(run)
        call = run.call
        if run.parent is None:
            observe.root_ended(run, outputs, error)
        if call.ending is not None and not (call.ending.is_awaited and call.answering):
            finish(call, self._runs)


def _hear(passages: Sequence[Passage]) -> None:
    """Take what `ragtrace.retrieved` is told for the run that is current here, else for a model call to come."""
    run = CURRENT.get()
    if run is not None and run.is_open:
        observe.told(passages, run)
    else:
        _TABLE.loose.add(observe.told_outside(passages))


def _is_following() -> bool:
    run = CURRENT.get()
    return run is not None and run.is_open


def _name(serialized: Mapping[str, object] | None, settings: Mapping[str, object]) -> str:
    """Name a run as Langfuse's handler and OpenInference name their spans for it."""
    if name := settings.get("name"):
        return str(name)
    named = serialized or {}
    if name := named.get("name"):
        return str(name)
    path = named.get("id")
    return str(path[-1]) if isinstance(path, list) and path else "<unknown>"
