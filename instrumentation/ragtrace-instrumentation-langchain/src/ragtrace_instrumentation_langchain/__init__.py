"""Capture the passages that a LangChain generator received."""
