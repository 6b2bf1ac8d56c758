"""Capture a LlamaIndex application, once with `async with` and once with the decorator.

Set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`.
"""

import asyncio
import re

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.prompts import ChatPromptTemplate
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import ragtrace

NODES = [
    TextNode(id_="gate", text="The gate opens at 06:00 on working days and at 08:00 on Saturdays."),
    TextNode(id_="depot", text="The gate of the old depot was closed in 1998."),
    TextNode(id_="dogs", text="Dogs are allowed on the whole site, except in the canteen."),
]
TEMPLATE = ChatPromptTemplate(
    [ChatMessage("Answer from this:\n{context}", role="system"), ChatMessage("{question}", role="user")]
)
BUDGET = 2


class WordRetriever(BaseRetriever):
    """Stand for your index: ranks by words in common."""

    def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
        asked = _words(query.query_str)
        scored = [NodeWithScore(node=node, score=len(asked & _words(node.text)) / len(asked)) for node in NODES]
        return sorted(scored, key=lambda node: node.score or 0.0, reverse=True)


class FakeModel(CustomLLM):
    """Stand for your model."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="fake")

    def complete(self, prompt: str, formatted: bool = False, **_options: object) -> CompletionResponse:
        return CompletionResponse(text="The gate opens at 06:00 on working days.")

    def stream_complete(self, prompt: str, formatted: bool = False, **_options: object) -> CompletionResponseGen:
        yield self.complete(prompt)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _messages(question: str, nodes: list[NodeWithScore]) -> list[ChatMessage]:
    context = "\n\n".join(node.get_content() for node in nodes[:BUDGET])
    return TEMPLATE.format_messages(context=context, question=question)


async def ask(question: str) -> str:
    """Answer, and say what was retrieved, sent and answered."""
    async with ragtrace.rag_call(question) as call:
        nodes = await WordRetriever().aretrieve(question)
        call.retrieved(nodes)
        messages = _messages(question, nodes)
        call.prompt(messages)
        reply = await FakeModel().achat(messages)
        answer = reply.message.content or ""
        call.answer(answer)
    return answer


@ragtrace.rag_function
async def ask_decorated(question: str) -> str:
    """Answer the same: the decorator takes the argument for the question and the result for the answer."""
    nodes = ragtrace.retrieved(await WordRetriever().aretrieve(question))
    messages = ragtrace.prompted(_messages(question, nodes))
    reply = await FakeModel().achat(messages)
    return reply.message.content or ""


async def main() -> None:
    """Ask two questions."""
    print(await ask("When does the gate open on working days?"))
    print(await ask_decorated("At what hour does the gate open on working days?"))


asyncio.run(main())
print("delivered" if ragtrace.flush(timeout_seconds=5) else "not delivered: see the log")
