"""A BM25 retriever over the demo's corpus, as LangChain knows retrievers."""

from collections.abc import Sequence
from typing import Any, Self

import bm25s  # type: ignore[import-untyped]  # it ships no types
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from ragtrace.demo.corpus import CorpusPassage
from ragtrace.demo.words import terms


class Bm25Retriever(BaseRetriever):
    """Return the passages that share the rarest terms with the query, best first."""

    passages: tuple[CorpusPassage, ...]
    k: int = 6
    """Most passages returned; those that share no term are left out."""
    _index: Any = PrivateAttr()

    @classmethod
    def over(cls, passages: Sequence[CorpusPassage], *, k: int = 6) -> Self:
        """Index the passages."""
        retriever = cls(passages=tuple(passages), k=min(k, len(passages)))
        retriever._index = bm25s.BM25()
        retriever._index.index([terms(p.text) for p in passages], show_progress=False)
        return retriever

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        rows, scores = self._index.retrieve([terms(query)], k=self.k, show_progress=False)
        return [
            _document(self.passages[int(row)], score=float(score))
            for row, score in zip(rows[0], scores[0], strict=True)
            if score > 0
        ]


def _document(passage: CorpusPassage, *, score: float) -> Document:
    metadata = {"document": passage.document, "language": passage.language, "score": round(score, 3)}
    return Document(id=passage.id, page_content=passage.text, metadata=metadata)
