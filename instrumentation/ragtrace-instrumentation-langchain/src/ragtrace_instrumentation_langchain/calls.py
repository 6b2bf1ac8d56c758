"""What is remembered of one call while it runs: its runs, retrievals, model calls, and how it ended."""

import asyncio
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal, Protocol

from langchain_core.messages import BaseMessage
from opentelemetry.context import Context
from opentelemetry.trace import Span, TracerProvider

from ragtrace.capture import UnwrittenCall
from ragtrace.model import PassageSource
from ragtrace.semconv import USER_ROLE
from ragtrace_instrumentation_langchain.documents import Found, Snapshot
from ragtrace_instrumentation_langchain.messages import Prompt

RunKind = Literal["chain", "retriever", "tool", "model"]
Role = Literal["generator", "helper"]

_MOST_EVENTS = 500
_ROLES: Mapping[object, Role] = {"generator": "generator", "helper": "helper"}

_events: Callable[[], deque[Any]] = partial(deque, (), _MOST_EVENTS)
next_order = count(1).__next__
"""Numbers events in the order in which this process saw them: clocks are too coarse for that."""


class Client(Protocol):
    """Takes finished calls: `ragtrace.capture`, what `ragtrace.configure` returns, or a list in a test."""

    def submit(self, call: UnwrittenCall, /) -> None:
        """Take over a finished call without waiting."""


@dataclass(slots=True, eq=False)
class Run:
    """One LangChain run: what we were told when it started, read only where that is needed.

    Fields by position, here and below: these are made inside the application's calls.
    """

    kind: RunKind
    number: int
    """Its id as a number: the hash of a UUID is dear."""
    call: "Call"
    parent: "Run | None"
    given: Any
    """What it was started with, as LangChain told us."""
    serialized: Mapping[str, object] | None
    """The component that runs, where LangChain describes it."""
    settings: Mapping[str, object]
    """What else came with the event: name, metadata, tags."""
    order: int
    """Its place among all events of the process."""
    at: float = 0.0
    """When it started, on its call's clock; 0 for steps that are no search and no model call."""
    is_open: bool = True
    is_called_by_retriever: bool = False
    """A retriever called it without handing on its callbacks."""
    has_retrieved: bool = False
    """A retrieval was seen inside: what it returns was brought by that one."""
    returned_call_id: str | None = None
    """Tools: the id of the model's tool call, where only the result tells it."""
    spans: dict[str, tuple[Span, TracerProvider | None]] | None = None
    """Spans that other tracers made for this run, by scope name."""

    @property
    def start_ns(self) -> int:
        """When it started, in nanoseconds since the epoch."""
        call = self.call
        return call.began_ns + (round((self.at - call.began_at) * 1e9) if self.at else 0)

    @property
    def name(self) -> str:
        """Its name, as Langfuse's handler and OpenInference name their spans for it."""
        if name := self.settings.get("name"):
            return str(name)
        named = self.serialized or {}
        if name := named.get("name"):
            return str(name)
        path = named.get("id")
        return str(path[-1]) if isinstance(path, list) and path else "<unknown>"

    @property
    def is_in_retriever(self) -> bool:
        """Some run above it is a retriever: it belongs to retrieval's own machinery."""
        run = self
        while not run.is_called_by_retriever:
            if run.parent is None:
                return False
            run = run.parent
            if run.kind == "retriever":
                return True
        return True

    @property
    def tool(self) -> "Run | None":
        """The nearest tool run above it, the root excepted."""
        run = self.parent
        while run is not None and (run.kind != "tool" or run.parent is None):
            run = run.parent
        return run

    @property
    def query(self) -> str | None:
        """Retrievers, and functions that search: what was asked."""
        return self.given if self.kind in ("retriever", "chain") and isinstance(self.given, str) else None

    @property
    def tool_call_id(self) -> str | None:
        """Tools: id of the model's tool call that asked for it; known at its end at the latest."""
        known = self.settings.get("tool_call_id")
        return known if isinstance(known, str) else self.returned_call_id


CURRENT: ContextVar[Run | None] = ContextVar("ragtrace_run", default=None)
"""The run that started last in this context; copies of the context share it by reference."""


@dataclass(slots=True, eq=False)
class Retrieval:
    """Documents that one run brought."""

    documents: Sequence[Found]
    order: int
    run: Run | None
    """The run that brought them, or in which the program told us of them; None: outside of all."""
    source: PassageSource = "retriever"
    told_ns: int = 0
    """When the program told us, outside of all runs."""

    @property
    def start_ns(self) -> int:
        """When the search began, in nanoseconds since the epoch."""
        return self.run.start_ns if self.run else self.told_ns

    @property
    def query(self) -> str | None:
        """What was asked, where that is known."""
        return self.run.query if self.run else None

    @property
    def is_nested(self) -> bool:
        """It happened inside another retriever, which may have dropped some."""
        if self.run is None or self.source not in ("retriever", "manual"):
            return False
        return self.run.is_in_retriever or (self.source == "manual" and self.run.kind == "retriever")

    @property
    def tool_call_id(self) -> str | None:
        """Id of the model's tool call that asked for it; known at the end of the tool at the latest."""
        tool = self.run if self.run is None or self.run.kind == "tool" else self.run.tool
        return tool.tool_call_id if tool else None

    @property
    def characters(self) -> int:
        """How much text it keeps alive."""
        documents = self.documents
        return documents.characters if isinstance(documents, Snapshot) else sum(len(d.text) for d in documents)


@dataclass(slots=True, eq=False)
class Generation:
    """One model call."""

    run: Run
    prompt: Prompt
    text: str | None = None
    """None until it ended, or when it failed before it said anything."""
    message: BaseMessage | None = None
    """Chat models: what it said as it was returned."""
    output: Mapping[str, object] | None = None
    """What the provider told beside it."""
    arguments: tuple[Mapping[str, object], ...] = ()
    """Arguments of the tool calls that it made."""
    error: BaseException | None = None
    end_ns: int = 0
    end_order: int = 0

    @property
    def role(self) -> Role | None:
        """Set by the user, against our own judgement: by tag, else by metadata."""
        role = _ROLES.get(self._metadata.get(USER_ROLE))
        tags = self.run.settings.get("tags")
        for tag in tags if isinstance(tags, list) else ():
            if tag.startswith(USER_ROLE):
                role = _ROLES.get(tag.removeprefix(USER_ROLE).lstrip(":="), role)
        return role

    @property
    def model(self) -> str | None:
        """The model's name, as it was asked for or as it calls itself."""
        return _string(self._metadata.get("ls_model_name")) or _string(self._response.get("model_name"))

    @property
    def response_id(self) -> str | None:
        """The provider's id of the answer."""
        return _string(self._response.get("id")) or _string((self.output or {}).get("id"))

    @property
    def _metadata(self) -> Mapping[object, object]:
        metadata = self.run.settings.get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    @property
    def _response(self) -> Mapping[str, object]:
        return self.message.response_metadata if self.message is not None else {}


@dataclass(slots=True, eq=False)
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

    @property
    def is_broken(self) -> bool:
        """It failed, was cancelled or was left."""
        return self.error is not None or self.is_abandoned


@dataclass(slots=True, eq=False)
class Call:
    """Everything seen under one root run."""

    client: Client
    clock: Callable[[], float]
    began_at: float
    """When its root started, on its clock."""
    began_ns: int
    """The same in nanoseconds since the epoch."""
    runs: list[Run] = field(default_factory=list)
    """All runs, the root first."""
    root: Run | None = None
    """The run that everything else hangs on; None before it begins."""
    around: Context | None = None
    """The caller's OpenTelemetry context: span, session, user."""
    inside: Context | None = None
    """The same when the second run started, by which time other tracers may have opened a span for the root."""
    is_beginning: bool = True
    """Few of its steps have started, or it is resumed: there is something to look for where the next one starts."""
    question: str | None = None
    is_interrupted: bool = False
    """It stopped to ask a person; another call will resume it."""
    is_resumed: bool = False
    """It continues an interrupted call of the same conversation."""
    retrievals: deque[Retrieval] = field(default_factory=_events)
    generations: deque[Generation] = field(default_factory=_events)
    answering: dict[int, Generation] = field(default_factory=dict)
    """Model calls that have not ended."""
    characters: int = 0
    """How much text its retrievals keep alive."""
    ending: Ending | None = None
    ended_at: float = 0.0
    """When its root ended before a model did, on its clock."""
    owner: "weakref.ref[asyncio.Task[object]] | None" = None

    @property
    def heard_at(self) -> float:
        """When its root ended or, before that, its last search or model call started; on its clock."""
        return self.ended_at or max((run.at for run in self.runs), default=0.0) or self.began_at

    @property
    def metadata(self) -> Mapping[str, object]:
        """The root's metadata: the user's, LangChain's and Langfuse's."""
        metadata = self.root.settings.get("metadata") if self.root else None
        return metadata if isinstance(metadata, dict) else {}

    @property
    def tags(self) -> Sequence[str]:
        """The root's tags."""
        tags = self.root.settings.get("tags") if self.root else None
        return tags if isinstance(tags, list) else ()

    def forget(self) -> None:
        """Let go of all texts: runs and calls refer to each other, so that else they wait for the garbage collector."""
        self.root = self.around = self.inside = None
        for run in self.runs:
            # What was asked is remembered with what it brought.
            run.given = run.query
        for held in (self.runs, self.retrievals, self.generations, self.answering):
            held.clear()


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
