"""Retrievers and models that say what a test tells them to, and a client that keeps what was captured."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import LLM
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from pydantic import Field

from ragtrace.capture import CapturedCall, UnwrittenCall
from ragtrace_instrumentation_langchain import RagCallbackHandler
from ragtrace_instrumentation_langchain.runs import RunTable

GATE = "The gate opens at 06:00 on working days and at 08:00 on Saturdays, Sundays and public holidays."
DOGS = "Dogs are allowed on the whole site, except in the canteen and where signs say otherwise."
DEPOT = "The depot in Gera closed in 1998."


class Records(list[CapturedCall]):
    """A client that keeps what was captured."""

    def submit(self, call: UnwrittenCall, /) -> None:
        self.extend(call.write())


class Shelf(BaseRetriever):
    """Returns the same texts for every query, or what a function of the query says."""

    texts: Sequence[str] = (GATE, DOGS)
    find: Callable[[str], list[Document]] | None = None
    fails: bool = False
    waits: bool = False
    """Asynchronous retrieval goes on until it is cancelled."""
    waiting: list[str] = Field(default_factory=list)
    """Queries that wait."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if self.fails:
            raise ConnectionError("the index is down")
        if self.find is not None:
            return self.find(query)
        return [Document(page_content=text, id=f"d{i}") for i, text in enumerate(self.texts)]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if self.waits:
            self.waiting.append(query)
            await asyncio.Event().wait()
        return self._get_relevant_documents(query, run_manager=run_manager)


Reply = Callable[[Sequence[BaseMessage]], "AIMessage | str"]


class Talker(BaseChatModel):
    """A chat model whose replies a function gives; streams them word by word."""

    reply: Reply
    breaks_after: int | None = None
    """Words after which a stream fails."""
    waits: bool = False
    """Asynchronous generation goes on until it is cancelled."""
    waiting: list[int] = Field(default_factory=list)
    """One entry for each call that waits."""
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "talker"

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        return {"ls_provider": "tests", "ls_model_name": "talker-1", "ls_model_type": "chat"}

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "Runnable[Any, AIMessage]":
        return self.bind(tools=tools)

    def _message(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(list(messages))
        said = self.reply(messages)
        return AIMessage(content=said) if isinstance(said, str) else said

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._message(messages))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if self.waits:
            self.waiting.append(1)
            await asyncio.Event().wait()
        return self._generate(messages)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        message = self._message(messages)
        if message.tool_calls or not isinstance(message.content, str):
            yield ChatGenerationChunk(message=AIMessageChunk(**message.model_dump(exclude={"type"})))
            return
        words = message.content.split(" ")
        for place, word in enumerate(words):
            if place == self.breaks_after:
                raise ConnectionError("the stream broke")
            yield ChatGenerationChunk(message=AIMessageChunk(content=word if place == len(words) - 1 else word + " "))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk
            await asyncio.sleep(0)


class Writer(LLM):
    """A string model with one reply."""

    text: str = "At 06:00."

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        return self.text


def says(text: str) -> Talker:
    """Make a model that always says the same."""
    return Talker(reply=lambda _messages: text)


def asks_tool(name: str, call_id: str = "call-1", **arguments: object) -> AIMessage:
    """Make a message in which a model asks for a tool."""
    return AIMessage(content="", tool_calls=[ToolCall(name=name, args=arguments, id=call_id)])


def write_out(documents: Sequence[Document]) -> str:
    """Format documents as most chains do."""
    return "\n\n".join(document.page_content for document in documents)


PROMPT = ChatPromptTemplate.from_template("Context:\n{context}\n\nQuestion: {question}")


def stuff_chain(retriever: Any = None, model: Any = None) -> Runnable[Any, str]:
    """Make the commonest RAG chain."""
    sources = {"context": (retriever or Shelf()) | RunnableLambda(write_out), "question": RunnablePassthrough()}
    return sources | PROMPT | (model or says("At 06:00.")) | StrOutputParser()


def make_handler(records: Records, **options: Any) -> RagCallbackHandler:
    """Make a handler with a table of its own, so that a test can look into it."""
    return RagCallbackHandler(client=records, runs=RunTable(), **options)
