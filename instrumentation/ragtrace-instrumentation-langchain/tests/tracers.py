"""Chains run under other tracers, and where the records of their calls belong."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import create_retriever_tool
from langchain_kit import Shelf, Talker, asks_tool, stuff_chain
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace.capture import CapturedCall
from ragtrace_instrumentation_langchain import RagCallbackHandler

LANGFUSE_KEY = "pk-lf-join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A tracer provider and what it exported."""

    provider: TracerProvider
    exporter: InMemorySpanExporter


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A traced application with our handler."""

    application: Application
    handler: RagCallbackHandler

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.application.exporter.get_finished_spans()

    def root_of(self, question: str) -> tuple[int, int]:
        """Return (trace id, span id) of the one root span whose input or output holds a question."""
        roots = [span for span in self.spans if span.parent is None]
        (found,) = [ids_of(span) for span in roots if question in str(dict(span.attributes or {}))]
        return found


def ids_of(span: ReadableSpan) -> tuple[int, int]:
    """Return (trace id, span id)."""
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def place_of(call: CapturedCall) -> tuple[int, int]:
    """Return (trace id, span id) of the span that a record belongs under."""
    assert call.context is not None
    span = trace.get_current_span(call.context).get_span_context()
    return span.trace_id, span.span_id


def echo_chain() -> Any:
    """Make a chain whose answer names the question, so that its spans can be told apart."""
    reply = lambda messages: "Answer to " + str(messages[-1].content).rpartition("Question: ")[2]  # noqa: E731
    return stuff_chain(model=Talker(reply=reply)).with_config(run_name="rag")


def echo_agent() -> Any:
    """Make an agent with a retriever tool, whose answer names the question."""

    def reply(messages: Any) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return "Answer to " + str(messages[0].content)
        return asks_tool("search", query="gate")

    return create_agent(Talker(reply=reply), [create_retriever_tool(Shelf(), "search", "Search.")])


def ask(question: str) -> dict[str, Any]:
    return {"messages": [("user", question)]}


Ways = dict[str, Callable[[Any, list[str]], object]]


async def _drain(stream: Any) -> None:
    async for _part in stream:
        pass


async def _gather(config: Any, questions: list[str]) -> None:
    chain = echo_chain()
    async with asyncio.TaskGroup() as group:
        for question in questions:
            group.create_task(chain.ainvoke(question, config))


def _threads(config: Any, questions: list[str]) -> None:
    with ThreadPoolExecutor(len(questions)) as pool:
        list(pool.map(lambda question: echo_chain().invoke(question, config), questions))


ONE_BY_ONE: Ways = {
    "invoke": lambda config, qs: echo_chain().invoke(qs[0], config),
    "stream": lambda config, qs: list(echo_chain().stream(qs[0], config)),
    "ainvoke": lambda config, qs: asyncio.run(echo_chain().ainvoke(qs[0], config)),
    "astream": lambda config, qs: asyncio.run(_drain(echo_chain().astream(qs[0], config))),
    "agent": lambda config, qs: echo_agent().invoke(ask(qs[0]), config),
    "async agent": lambda config, qs: asyncio.run(echo_agent().ainvoke(ask(qs[0]), config)),
}
SEVERAL: Ways = {
    "abatch": lambda config, qs: asyncio.run(echo_chain().abatch(qs, config)),
    "tasks": lambda config, qs: asyncio.run(_gather(config, qs)),
    "threads": _threads,
}
BATCH: Ways = {"batch": lambda config, qs: echo_chain().batch(qs, config)}
