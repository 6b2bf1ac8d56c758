"""Score what your RAG generator actually saw."""

__version__ = "0.1.0"
