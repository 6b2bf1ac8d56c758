"""What one span says about a RAG call, whichever convention it follows."""

from dataclasses import dataclass
from typing import Literal

from ragtrace.extract.content import Found, Message, Said
from ragtrace.extract.span import Span
from ragtrace.model import JsonValue

StepKind = Literal["model", "retriever", "reranker", "tool", "chain", "foreign"]
"""`foreign`: a span of no GenAI convention, such as a web server's."""
RETRIEVING: tuple[StepKind, ...] = ("retriever", "reranker")
"""Kinds that bring documents."""
REDACTED = "__REDACTED__"
"""What OpenInference writes in place of hidden content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One span, read."""

    span: Span
    kind: StepKind
    query: str | None = None
    """Retrievers and rerankers: what was asked."""
    documents: tuple[Found, ...] | None = None
    """Retrievers and rerankers: what came back; None: that is not on the span."""
    messages: tuple[Message, ...] = ()
    """Models: what was sent."""
    said: Said | None = None
    """Models: what was answered."""
    given: JsonValue = None
    """The whole input."""
    returned: JsonValue = None
    """The whole output."""
    model: str | None = None
    response_id: str | None = None
    conversation: str | None = None
    is_cut: bool = False
    """Some of its content lost its end, so that what it says is not all there was."""

    @property
    def is_masked(self) -> bool:
        """Whether its content was hidden before it was written."""
        said = self.said.text if self.said else None
        texts = (self.query, said, *(m.text for m in self.messages), *(d.text for d in self.documents or ()))
        return REDACTED in texts
