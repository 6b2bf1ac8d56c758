"""What is remembered of one call while it runs: its runs, retrievals, model calls, and how it ended."""

import asyncio
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, Protocol
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.trace import Span, TracerProvider

from ragtrace.capture import UnwrittenCall
from ragtrace.model import PassageSource
from ragtrace_instrumentation_langchain.documents import Found, Snapshot
from ragtrace_instrumentation_langchain.messages import Cited, Prompt

RunKind = Literal["chain", "retriever", "tool", "model"]
Role = Literal["generator", "helper"]

_MOST_EVENTS = 500

next_order = count(1).__next__
"""Numbers events in the order in which this process saw them: clocks are too coarse for that."""


class Client(Protocol):
    """Takes finished calls: `ragtrace.capture`, what `ragtrace.configure` returns, or a list in a test."""

    def submit(self, call: UnwrittenCall, /) -> None:
        """Take over a finished call without waiting."""


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One LangChain run."""

    id: UUID
    kind: RunKind
    name: str
    call: "Call"
    parent: "Run | None"
    start_ns: int
    order: int
    is_open: bool = True
    is_in_retriever: bool = False
    """Some run above it is a retriever: it belongs to retrieval's own machinery."""
    tool: "Run | None" = None
    """The nearest tool run above it, the root excepted."""
    had_documents: bool = False
    """Chains: there were documents in the input, so those in the output are no news."""
    has_retrieved: bool = False
    """A retrieval was seen inside: what it returns was brought by that one."""
    query: str | None = None
    """Retrievers: what was asked."""
    tool_call_id: str | None = None
    spans: dict[str, tuple[Span, TracerProvider | None]] | None = None
    """Spans that other tracers made for this run, by scope name."""


CURRENT: ContextVar[Run | None] = ContextVar("ragtrace_run", default=None)
"""The run that started last in this context; copies of the context share it by reference."""


@dataclass(slots=True, kw_only=True, eq=False)
class Retrieval:
    """Documents that one run brought."""

    documents: Sequence[Found]
    order: int
    start_ns: int
    query: str | None = None
    source: PassageSource = "retriever"
    is_nested: bool = False
    """It happened inside another retriever, which may have dropped some."""
    tool: Run | None = None
    """The tool run that it happened in."""

    @property
    def characters(self) -> int:
        """How much text it keeps alive."""
        documents = self.documents
        return documents.characters if isinstance(documents, Snapshot) else sum(len(d.text) for d in documents)

    @property
    def tool_call_id(self) -> str | None:
        """Id of the model's tool call that asked for it; known at the end of the tool at the latest."""
        return self.tool.tool_call_id if self.tool else None


@dataclass(slots=True, kw_only=True, eq=False)
class Generation:
    """One model call."""

    run: Run
    prompt: Prompt
    model: str | None = None
    role: Role | None = None
    """Set by the user, against our own judgement."""
    text: str | None = None
    """None until it ended, or when it failed before it said anything."""
    arguments: tuple[Mapping[str, object], ...] = ()
    """Arguments of the tool calls that it made."""
    cited: tuple[Cited, ...] = ()
    response_id: str | None = None
    error: BaseException | None = None
    end_ns: int = 0
    end_order: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Ending:
    """How the root of a call ended."""

    texts: tuple[str, ...] = ()
    """The strings of its output."""
    values: tuple[Mapping[str, object], ...] = ()
    """The structured values of its output."""
    error: BaseException | None = None
    is_awaited: bool = False
    """Models that still speak will end, too."""
    is_abandoned: bool = False
    """A stream that its reader left: the answer may hold text that nobody saw."""


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """Everything seen under one root run."""

    id: UUID
    client: Client
    metadata: Mapping[str, object]
    tags: tuple[str, ...]
    context: Context
    ambient: Span | None
    """The live span around the call, the application's own as a rule."""
    touched: float
    """When its last event came, on the table's clock."""
    question: str | None = None
    is_interrupted: bool = False
    """It stopped to ask a person; another call will resume it."""
    is_resumed: bool = False
    """It continues an interrupted call of the same conversation."""
    root: Run | None = None
    """The run that everything else hangs on; None before it begins."""
    runs: dict[int, Run] = field(default_factory=dict)
    """All runs, by the number of their ids: the hash of a UUID is dear."""
    retrievals: deque[Retrieval] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    generations: deque[Generation] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    answering: dict[int, Generation] = field(default_factory=dict)
    """Model calls that have not ended."""
    ending: Ending | None = None
    owner: "weakref.ref[asyncio.Task[object]] | None" = None
