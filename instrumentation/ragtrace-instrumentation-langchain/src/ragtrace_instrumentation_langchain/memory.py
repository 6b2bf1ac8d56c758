"""Remember for a while what a later call may need: retrievals outside any call, and a conversation's passages."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from weakref import ref

from ragtrace.capture import shows
from ragtrace_instrumentation_langchain.calls import Retrieval

_MOST_CHARACTERS = 16_000_000
_MOST_LOOSE = 512
_MOST_HERE = 16
_LOOSE_SECONDS = 60.0
_DOCUMENTS_TRIED = 3
_MOST_CONVERSATIONS = 256
_CONVERSATION_SECONDS = 3600.0


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class Loose:
    """A retrieval under no call: `retriever.invoke(q)` in plain code, or in a thread that lost the callbacks."""

    retrieval: Retrieval
    at: float
    is_used: bool = False


Here = tuple["ref[Loose]", ...]
"""The last retrievals of a context. Weak: contexts of idle threads would keep their texts alive."""

HERE: ContextVar[Here] = ContextVar("ragtrace_loose_retrievals", default=())


class LooseRetrievals:
    """The last retrievals under no call, for the model call whose prompt holds their text."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._recent: deque[Loose] = deque(maxlen=_MOST_LOOSE)

    def __len__(self) -> int:
        """Count the retrievals that are held."""
        return len(self._recent)

    def add(self, retrieval: Retrieval) -> None:
        """Remember a retrieval, here and for other contexts."""
        loose = Loose(retrieval=retrieval, at=self._clock())
        HERE.set((*HERE.get()[1 - _MOST_HERE :], ref(loose)))
        self._recent.append(loose)
        self._shrink()

    def claim(self, prompt: Sequence[str], *, here: Here, since_ns: int = 0) -> tuple[Retrieval, ...]:
        """Return those whose text the prompt holds, of this context before any other, else whose query it holds."""
        if not self._recent:
            return ()
        now = self._clock()
        recent = [
            loose
            for loose in list(self._recent)
            if now - loose.at < _LOOSE_SECONDS and loose.retrieval.start_ns >= since_ns
        ]
        own = [loose for loose in recent if any(loose is other() for other in here)]
        claimed = (
            [loose for loose in own if _is_shown(loose, prompt)]
            or [loose for loose in own if _is_asked(loose, prompt)]
            or [loose for loose in recent if _is_shown(loose, prompt)]
        )
        for loose in claimed:
            loose.is_used = True
        return tuple(loose.retrieval for loose in claimed)

    def _shrink(self) -> None:
        total = 0
        for place, loose in enumerate(reversed(list(self._recent))):
            total += characters((loose.retrieval,))
            if place and (total > _MOST_CHARACTERS or self._clock() - loose.at > _LOOSE_SECONDS):
                for _ in range(len(self._recent) - place):
                    self._recent.popleft()
                return


def _is_shown(loose: Loose, prompt: Sequence[str]) -> bool:
    return any(shows(document.text, prompt) for document in loose.retrieval.documents[:_DOCUMENTS_TRIED])


def _is_asked(loose: Loose, prompt: Sequence[str]) -> bool:
    query = loose.retrieval.query
    return not loose.is_used and bool(query) and any(str(query) in part for part in prompt)


@dataclass(slots=True, kw_only=True, eq=False)
class Conversation:
    """What the turns of one conversation brought so far."""

    earlier: dict[str, Retrieval] = field(default_factory=dict)
    """By the id of the tool call that brought them, else by a name of our own."""
    question: str | None = None
    """Of a turn that was interrupted and may be resumed."""
    pending: tuple[Retrieval, ...] = ()
    """Retrievals of that turn."""
    at: float = 0.0


class Conversations:
    """Passages of earlier turns, by the conversation's id: later prompts hold them again."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by_id: dict[str, Conversation] = {}

    def __len__(self) -> int:
        """Count the conversations that are remembered."""
        return len(self._by_id)

    def find(self, thread_id: str) -> Conversation:
        """Return what is known of a conversation."""
        return self._by_id.get(thread_id) or Conversation()

    def save(self, thread_id: str, conversation: Conversation) -> None:
        """Remember a conversation, as the last one used; forget the oldest beyond our bounds."""
        conversation.at = self._clock()
        self._by_id.pop(thread_id, None)
        self._by_id[thread_id] = conversation
        total = 0
        for place, (key, kept) in enumerate(reversed(list(self._by_id.items()))):
            total += characters((*kept.earlier.values(), *kept.pending))
            is_old = place >= _MOST_CONVERSATIONS or conversation.at - kept.at > _CONVERSATION_SECONDS
            if place and (is_old or total > _MOST_CHARACTERS):
                self._by_id.pop(key, None)


def characters(retrievals: Iterable[Retrieval]) -> int:
    """Count the characters that retrievals keep alive."""
    return sum(retrieval.characters for retrieval in retrievals)
