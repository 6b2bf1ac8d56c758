"""Known good answers: kept in a file, matched to production questions, checked against their own questions."""

from ragtrace.references.book import ReferenceBook
from ragtrace.references.rows import ReferenceRow

__all__ = ["ReferenceBook", "ReferenceRow"]
