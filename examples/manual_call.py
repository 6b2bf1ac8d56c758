"""Capture any stack with four lines, here plain functions.

Set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`.
"""

import ragtrace


def search(question: str) -> list[str]:
    """Stand for your retrieval."""
    return ["The gate opens at 06:00.", "Dogs are allowed on a lead."]


def generate(prompt: str) -> str:
    """Stand for your model."""
    return "The gate opens at six."


question = "When does the gate open?"
with ragtrace.rag_call(question) as call:
    passages = search(question)
    call.retrieved(passages)
    prompt = f"Context: {passages[0]}\n\nQuestion: {question}"
    call.prompt(prompt)
    answer = generate(prompt)
    call.answer(answer)

print(answer)
print("delivered" if ragtrace.flush(timeout_seconds=5) else "not delivered: see the log")
