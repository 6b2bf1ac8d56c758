"""Capture a LangChain chain with two lines: an import and a callback.

Needs langchain-core; set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`.
"""

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

import ragtrace
from ragtrace_instrumentation_langchain import RagCallbackHandler

MANUAL = [
    Document("The pump weighs 14 kg and draws 9 W.", id="manual-1"),
    Document("The seal must be replaced every 24 months. Order number 4711.", id="manual-2"),
]


class Manual(BaseRetriever):
    """Stands for your vector store."""

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return MANUAL


def shorten(documents: list[Document]) -> str:
    """Stand for a token budget: the order number of the seal never reaches the prompt."""
    return "\n\n".join(document.page_content for document in documents)[:80]


prompt = ChatPromptTemplate.from_template("Answer from this only:\n{context}\n\nQuestion: {question}")
model = FakeListChatModel(responses=["The seal is replaced every 24 months; its order number is 4711."])
chain = {"context": Manual() | shorten, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()

answer = chain.invoke("When is the seal replaced?", config={"callbacks": [RagCallbackHandler()]})

print(answer)
print("delivered" if ragtrace.flush(timeout_seconds=5) else "not delivered: see the log")
