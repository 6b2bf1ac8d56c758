"""Fit retrieved passages into the prompt: what most RAG applications do between retrieval and generation."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from ragtrace.demo.words import count_tokens, head_within


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How much text the generator may be sent."""

    a_passage: int = 120
    """Longest head of one passage, in tokens."""
    in_all: int = 420
    """Longest context, in tokens; passages that do not fit are dropped."""

    def fit(self, documents: Sequence[Document]) -> str:
        """Return the context: numbered heads of the passages, best first."""
        heads: list[str] = []
        left = self.in_all
        for document in documents:
            head = head_within(document.page_content, min(self.a_passage, left))
            if not head:
                break
            heads.append(head)
            left -= count_tokens(head)
        return "\n\n".join(f"[{number}] {head}" for number, head in enumerate(heads, start=1))
