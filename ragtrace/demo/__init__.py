"""Show the whole of ragtrace on real input: a small RAG application, its faults, and what the judge says."""
