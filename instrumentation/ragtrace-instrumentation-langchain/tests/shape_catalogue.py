"""Every shape of RAG application that capture knows, small enough to run; run as a program, it writes the table."""

import asyncio
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_classic.chains import RetrievalQA, create_history_aware_retriever, create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
)
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import PydanticOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.tools import create_retriever_tool, tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_kit import (
    DEPOT,
    DOGS,
    GATE,
    PROMPT,
    Records,
    Shelf,
    Talker,
    Writer,
    asks_tool,
    make_handler,
    says,
    stuff_chain,
    write_out,
)
from langchain_text_splitters import CharacterTextSplitter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import ragtrace
from ragtrace.align import align
from ragtrace.capture import CapturedCall

QUESTION = "When does the gate open?"
ANSWER = "At 06:00."
BOTH = (GATE, DOGS)
TABLE = Path(__file__).parents[3] / "docs" / "shapes.md"
HEAD = """# Shapes of RAG applications

What capture makes of each: the question, how many passages retrieval returned, what of them stood in the prompt that
the generator was sent, and the answer. Written by a test that runs every row.

| shape | question | retrieved | received | answer |
|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A way to build RAG, and what capture must make of it."""

    name: str
    run: Callable[[Any], object]
    """Runs it once, with a LangChain config."""
    question: str = QUESTION
    rewritten: str | None = None
    retrieved: tuple[str, ...] | None = BOTH
    received: tuple[str, ...] = BOTH
    answer: str = ANSWER
    candidates: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Where they do not all come from a retriever."""
    confidence: str = "high"
    marks: tuple[str, ...] = ()
    records: int = 1


SHAPES: list[Shape] = []


def shape(name: str, **expected: Any) -> Callable[[Callable[[Any], object]], Callable[[Any], object]]:
    """Add a function to the catalogue."""

    def add(run: Callable[[Any], object]) -> Callable[[Any], object]:
        SHAPES.append(Shape(name=name, run=run, **expected))
        return run

    return add


def received_texts(call: CapturedCall) -> tuple[str, ...]:
    """Return the received text of each passage that was received at all."""
    delivery = align(call.passages or (), call.prompt_parts)
    return tuple(p.received_text for p in delivery.passages if p.status in ("full", "partial"))


# Chains.


@shape("LCEL: retriever, prompt, chat model, parser")
def lcel(config: Any) -> object:
    return stuff_chain().invoke(QUESTION, config)


@shape("LCEL with a string model")
def lcel_string_model(config: Any) -> object:
    return stuff_chain(model=Writer()).invoke(QUESTION, config)


@shape("LCEL with `assign`, output a dictionary")
def lcel_assign(config: Any) -> object:
    chain = RunnablePassthrough.assign(docs=operator.itemgetter("question") | Shelf()).assign(
        answer=RunnableLambda(lambda x: {"context": write_out(x["docs"]), "question": x["question"]})
        | PROMPT
        | says(ANSWER)
        | StrOutputParser()
    )
    return chain.invoke({"question": QUESTION, "language": "English"}, config)


@shape("`create_retrieval_chain`")
def retrieval_chain(config: Any) -> object:
    prompt = ChatPromptTemplate.from_messages([("system", "Use this:\n{context}"), ("human", "{input}")])
    return create_retrieval_chain(Shelf(), create_stuff_documents_chain(says(ANSWER), prompt)).invoke(
        {"input": QUESTION}, config
    )


@shape("`RetrievalQA`, with source documents")
def retrieval_qa(config: Any) -> object:
    chain = RetrievalQA.from_chain_type(llm=says(ANSWER), retriever=Shelf(), return_source_documents=True)
    return chain.invoke({"query": QUESTION}, config)


@shape("stuff chain given documents that plain code retrieved", confidence="medium")
def stuff_documents(config: Any) -> object:
    documents = Shelf().invoke(QUESTION, config)
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    return create_stuff_documents_chain(says(ANSWER), prompt).invoke(
        {"context": documents, "question": QUESTION}, config | {"run_name": "answering"}
    )


@shape("stuff chain given documents from nowhere", sources=("manual", "manual"))
def given_documents(config: Any) -> object:
    documents = [Document(page_content=text) for text in BOTH]
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    return create_stuff_documents_chain(says(ANSWER), prompt).invoke(
        {"context": documents, "question": QUESTION}, config
    )


# What happens to passages between retrieval and prompt.


@shape("token budget that cuts a passage and drops one", received=(GATE[:60],))
def truncated(config: Any) -> object:
    cut = RunnableLambda(lambda documents: write_out(documents)[:60])
    return stuff_chain(Shelf() | cut | RunnableLambda(lambda text: [Document(page_content=text)])).invoke(
        QUESTION, config
    )


@shape("function that shortens the documents", received=(GATE[:60], DOGS[:60]))
def shortened(config: Any) -> object:
    shorten = RunnableLambda(lambda ds: [Document(page_content=d.page_content[:60]) for d in ds])
    return stuff_chain(Shelf() | shorten).invoke(QUESTION, config)


class KeepFirst(BaseDocumentCompressor):
    """A reranker: keeps the best, as new documents without ids, as they do."""

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        return [Document(page_content=documents[0].page_content, metadata={"relevance_score": 0.9})]


@shape("reranking (`ContextualCompressionRetriever`)", retrieved=(GATE,), received=(GATE,), candidates=(DOGS,))
def reranked(config: Any) -> object:
    return stuff_chain(ContextualCompressionRetriever(base_retriever=Shelf(), base_compressor=KeepFirst())).invoke(
        QUESTION, config
    )


@shape(
    "extraction by a model (`LLMChainExtractor`)",
    retrieved=("opens at 06:00", "opens at 06:00")[:1],
    received=("opens at 06:00",),
    candidates=BOTH,
)
def extracted(config: Any) -> object:
    extractor = LLMChainExtractor.from_llm(says("opens at 06:00"))
    return stuff_chain(ContextualCompressionRetriever(base_retriever=Shelf(), base_compressor=extractor)).invoke(
        QUESTION, config
    )


@shape("`MultiQueryRetriever`")
def multi_query(config: Any) -> object:
    retriever = MultiQueryRetriever.from_llm(retriever=Shelf(), llm=says("gate hours\nopening time"))
    return stuff_chain(retriever).invoke(QUESTION, config)


@shape("`EnsembleRetriever`", retrieved=(GATE, DOGS), received=(GATE, DOGS))
def ensemble(config: Any) -> object:
    retriever = EnsembleRetriever(retrievers=[Shelf(texts=(GATE,)), Shelf(texts=(DOGS,))], weights=[0.6, 0.4])
    return stuff_chain(retriever).invoke(QUESTION, config)


@shape("`ParentDocumentRetriever`", retrieved=(f"{GATE}\n\n{DOGS}",), received=(f"{GATE}\n\n{DOGS}",))
def parent_document(config: Any) -> object:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator="\n\n", chunk_size=40, chunk_overlap=0),
    )
    retriever.add_documents([Document(page_content=f"{GATE}\n\n{DOGS}")])
    return stuff_chain(retriever).invoke(QUESTION, config)


@shape("two retrievers side by side", retrieved=(GATE, DEPOT), received=(GATE, DEPOT))
def two_retrievers(config: Any) -> object:
    both = {"a": Shelf(texts=(GATE,)), "b": RunnableLambda(lambda q: q) | Shelf(texts=(DEPOT,))}
    joined = RunnableLambda(lambda x: x["a"] + x["b"])
    return stuff_chain(RunnableLambda(lambda q: q) | both | joined).invoke(QUESTION, config)


@shape("retrieval finds nothing", retrieved=(), received=(), answer="I do not know.")
def empty(config: Any) -> object:
    return stuff_chain(Shelf(texts=()), says("I do not know.")).invoke(QUESTION, config)


# Retrieval without a retriever.


@shape("function that returns documents")
def function_documents(config: Any) -> object:
    search = RunnableLambda(lambda _q: [Document(page_content=text) for text in BOTH])
    return stuff_chain(search).invoke(QUESTION, config)


@shape("function that searches and formats: nothing to see", retrieved=None, received=())
def hidden_search(config: Any) -> object:
    chain = {"context": RunnableLambda(lambda _q: f"{GATE}\n\n{DOGS}"), "question": RunnablePassthrough()}
    return (chain | PROMPT | says(ANSWER) | StrOutputParser()).invoke(QUESTION, config)


@shape("function that searches and formats, telling `ragtrace.retrieved(docs)`", sources=("manual", "manual"))
def told(config: Any) -> object:
    def search(_question: str) -> str:
        return write_out(ragtrace.retrieved([Document(page_content=text) for text in BOTH]))

    chain = {"context": RunnableLambda(search), "question": RunnablePassthrough()}
    return (chain | PROMPT | says(ANSWER) | StrOutputParser()).invoke(QUESTION, config)


@shape("plain code: `retriever.invoke`, then `llm.invoke`", confidence="medium")
def imperative(config: Any) -> object:
    documents = Shelf().invoke(QUESTION, config)
    return says(ANSWER).invoke(f"Context:\n{write_out(documents)}\n\nQuestion: {QUESTION}", config)


@shape("plain code: `retriever.invoke` in another thread, then `llm.invoke`", confidence="medium")
def imperative_thread(config: Any) -> object:
    with ThreadPoolExecutor(1) as pool:
        documents = pool.submit(Shelf().invoke, QUESTION, config).result()
    return says(ANSWER).invoke(f"Context:\n{write_out(documents)}\n\nQuestion: {QUESTION}", config)


class Found(TypedDict, total=False):
    question: str
    documents: list[Document]
    generation: str


@shape("LangGraph: retrieve with a retriever, generate")
def graph(config: Any) -> object:
    return _graph(lambda state: {"documents": Shelf().invoke(state["question"])}).invoke({"question": QUESTION}, config)


@shape("LangGraph: retrieve from a vector store, generate")
def graph_vector_store(config: Any) -> object:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts([GATE])
    store.add_texts([DOGS])
    found = sorted(store.similarity_search(QUESTION), key=lambda d: d.page_content, reverse=True)
    return _graph(lambda _state: {"documents": found}).invoke({"question": QUESTION}, config)


@shape("LangGraph with a grader that drops a passage", received=(GATE,))
def graph_grader(config: Any) -> object:
    grader = Talker(reply=lambda messages: "yes" if GATE in str(messages[-1].content) else "no")

    def grade(state: Found) -> Found:
        kept = [d for d in state["documents"] if grader.invoke(f"Relevant? {d.page_content}").content == "yes"]
        return {"documents": kept}

    return _graph(lambda state: {"documents": Shelf().invoke(state["question"])}, grade).invoke(
        {"question": QUESTION}, config
    )


def _graph(retrieve: Callable[[Found], Any], grade: Callable[[Found], Any] | None = None) -> Any:
    def generate(state: Found) -> Found:
        prompt = f"Context:\n{write_out(state['documents'])}\n\nQuestion: {state['question']}"
        return {"generation": str(says(ANSWER).invoke(prompt).content)}

    builder = StateGraph(Found)
    builder.add_node("retrieve", retrieve)
    builder.add_node("grade", grade or (lambda _state: {}))
    builder.add_node("generate", generate)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "grade")
    builder.add_edge("grade", "generate")
    builder.add_edge("generate", END)
    return builder.compile()


# Agents.


def agent_model() -> Talker:
    """Make a model that asks the tool `search` once and then answers."""

    def reply(messages: Sequence[BaseMessage]) -> AIMessage | str:
        return ANSWER if isinstance(messages[-1], ToolMessage) else asks_tool("search", query="gate hours")

    return Talker(reply=reply)


def search_tool(retriever: Any = None, **options: Any) -> Any:
    return create_retriever_tool(retriever or Shelf(), "search", "Search the handbook.", **options)


ASK = {"messages": [("user", QUESTION)]}


@shape("agent with a retriever tool", rewritten="gate hours")
def agent(config: Any) -> object:
    return create_agent(agent_model(), [search_tool()]).invoke(ASK, config)


@shape("agent, documents attached to the tool's message", rewritten="gate hours")
def agent_artifact(config: Any) -> object:
    return create_agent(agent_model(), [search_tool(response_format="content_and_artifact")]).invoke(ASK, config)


@shape("agent with a tool that attaches documents, no retriever", sources=("tool", "tool"))
def agent_own_artifact(config: Any) -> object:
    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the handbook."""
        documents = [Document(page_content=text) for text in BOTH]
        return write_out(documents), documents

    return create_agent(agent_model(), [search]).invoke(ASK, config)


@shape(
    "agent with a tool that returns text",
    retrieved=(f"{GATE} {DOGS}",),
    received=(f"{GATE} {DOGS}",),
    sources=("tool",),
)
def agent_text_tool(config: Any) -> object:
    @tool
    def search(query: str) -> str:
        """Search the handbook."""
        return f"{GATE} {DOGS}"

    return create_agent(agent_model(), [search]).invoke(ASK, config)


class TrimTools(AgentMiddleware):
    """Cuts tool results before the model sees them; what is attached stays whole."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        trimmed = [
            m.model_copy(update={"content": m.content[:60]}) if isinstance(m, ToolMessage) else m
            for m in request.messages
        ]
        return handler(request.override(messages=trimmed))


@shape("agent whose middleware trims tool results", rewritten="gate hours", received=(GATE[:60],))
def agent_trimmed(config: Any) -> object:
    tools = [search_tool(response_format="content_and_artifact")]
    return create_agent(agent_model(), tools, middleware=[TrimTools()]).invoke(ASK, config)


@shape("agent that searches twice", retrieved=(GATE, DEPOT), received=(GATE, DEPOT), rewritten="first\nsecond")
def agent_twice(config: Any) -> object:
    def reply(messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = sum(isinstance(m, ToolMessage) for m in messages)
        queries = ["first", "second"]
        return ANSWER if asked == 2 else asks_tool("search", f"call-{asked}", query=queries[asked])

    texts = {"first": [GATE], "second": [GATE, DEPOT]}
    shelf = Shelf(find=lambda query: [Document(page_content=text) for text in texts[query]])
    return create_agent(Talker(reply=reply), [search_tool(shelf)]).invoke(ASK, config)


class Verdict(BaseModel):
    answer: str
    sure: bool = True


@shape("agent with structured output", rewritten="gate hours")
def agent_structured(config: Any) -> object:
    def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        if any(isinstance(m, ToolMessage) for m in messages):
            return asks_tool("Verdict", "call-2", answer=ANSWER)
        return asks_tool("search", query="gate hours")

    return create_agent(Talker(reply=reply), [search_tool()], response_format=ToolStrategy(Verdict)).invoke(ASK, config)


# Streams and batches.


@shape("`stream`")
def streamed(config: Any) -> object:
    return "".join(stuff_chain().stream(QUESTION, config))


@shape("`ainvoke`")
def awaited(config: Any) -> object:
    return asyncio.run(stuff_chain().ainvoke(QUESTION, config))


@shape("`ainvoke` with a string model")
def awaited_string_model(config: Any) -> object:
    return asyncio.run(stuff_chain(model=Writer()).ainvoke(QUESTION, config))


@shape("`astream`")
def astreamed(config: Any) -> object:
    async def run() -> str:
        return "".join([part async for part in stuff_chain().astream(QUESTION, config)])

    return asyncio.run(run())


@shape("`astream_events`")
def astream_events(config: Any) -> object:
    async def run() -> int:
        return len([event async for event in stuff_chain().astream_events(QUESTION, config)])

    return asyncio.run(run())


@shape("`batch`", records=3)
def batched(config: Any) -> object:
    return stuff_chain().batch([QUESTION] * 3, config)


@shape("`abatch`", records=3)
def abatched(config: Any) -> object:
    return asyncio.run(stuff_chain().abatch([QUESTION] * 3, config))


@shape("agent, `astream`", rewritten="gate hours")
def agent_astreamed(config: Any) -> object:
    async def run() -> int:
        stream = create_agent(agent_model(), [search_tool()]).astream(ASK, config, stream_mode="messages")
        return len([part async for part in stream])

    return asyncio.run(run())


# Several model calls.


@shape("history-aware rewriting", question="And when does it open?", rewritten=QUESTION)
def history_aware(config: Any) -> object:
    rewriting = ChatPromptTemplate.from_messages([MessagesPlaceholder("chat_history"), ("human", "Rewrite: {input}")])
    retriever = create_history_aware_retriever(says(QUESTION), Shelf(), rewriting)
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), MessagesPlaceholder("chat_history"), ("human", "{input}")]
    )
    chain = create_retrieval_chain(retriever, create_stuff_documents_chain(says(ANSWER), prompt))
    history = [HumanMessage("Where is the gate?"), AIMessage("In the north.")]
    return chain.invoke({"input": "And when does it open?", "chat_history": history}, config)


def summarise(messages: Sequence[BaseMessage]) -> str:
    text = str(messages[-1].content)
    return "opens at six in the morning" if GATE in text else "dogs may come along" if DOGS in text else ANSWER


@shape("map-reduce", marks=("indirect",))
def map_reduce(config: Any) -> object:
    model = Talker(reply=summarise)
    each = ChatPromptTemplate.from_template("Summarise: {text}") | model | StrOutputParser()
    texts = Shelf() | RunnableLambda(lambda ds: [{"text": d.page_content} for d in ds])
    reduce = ChatPromptTemplate.from_template("Combine: {summaries}\n\nQuestion: {question}") | model
    chain = {"summaries": texts | each.map(), "question": RunnablePassthrough()} | reduce | StrOutputParser()
    return chain.invoke(QUESTION, config)


@shape("refine", marks=("indirect",))
def refine(config: Any) -> object:
    def reply(messages: Sequence[BaseMessage]) -> str:
        return ANSWER if DOGS in str(messages[-1].content) else "It opens at six in the morning."

    model = Talker(reply=reply)

    def chain(question: str) -> str:
        so_far = ""
        for document in Shelf().invoke(question):
            prompt = f"So far: {so_far}\n\nRefine it with: {document.page_content}\n\n{question}"
            so_far = str(model.invoke(prompt).content)
        return so_far

    return RunnableLambda(chain).invoke(QUESTION, config)


@shape("retry: the first attempt fails")
def retried(config: Any) -> object:
    attempts: list[int] = []

    def reply(_messages: Sequence[BaseMessage]) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("try again")
        return ANSWER

    model = Talker(reply=reply).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    return stuff_chain(model=model).invoke(QUESTION, config)


@shape("fallback to another model")
def fallback(config: Any) -> object:
    def reply(_messages: Sequence[BaseMessage]) -> str:
        raise ConnectionError("overloaded")

    return stuff_chain(model=Talker(reply=reply).with_fallbacks([says(ANSWER)])).invoke(QUESTION, config)


@shape("structured output by a tool call")
def structured(config: Any) -> object:
    model = Talker(reply=lambda _messages: asks_tool("Verdict", answer=ANSWER))
    parse = RunnableLambda(lambda message: Verdict(**message.tool_calls[0]["args"]))
    sources = {"context": Shelf() | RunnableLambda(write_out), "question": RunnablePassthrough()}
    return (sources | PROMPT | model | parse).invoke(QUESTION, config)


@shape("structured output parsed from text")
def parsed(config: Any) -> object:
    sources = {"context": Shelf() | RunnableLambda(write_out), "question": RunnablePassthrough()}
    model = says('```json\n{"answer": "At 06:00."}\n```')
    return (sources | PROMPT | model | PydanticOutputParser(pydantic_object=Verdict)).invoke(QUESTION, config)


@shape("answer decorated afterwards", answer="The gate opens at six.", confidence="medium")
def decorated(config: Any) -> object:
    add = RunnableLambda(lambda text: f"{text}\n\nAsk the desk for more.")
    return (stuff_chain(model=says("The gate opens at six.")) | add).invoke(QUESTION, config)


# Messages with parts.


@shape("document blocks and a picture in the prompt", marks=("sent_to_adapter",))
def document_blocks(config: Any) -> object:
    def build(x: dict[str, Any]) -> list[BaseMessage]:
        blocks: list[Any] = [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": d.page_content}}
            for d in x["documents"]
        ]
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        return [HumanMessage(content=[*blocks, picture, {"type": "text", "text": x["question"]}])]

    sources = {"documents": Shelf(), "question": RunnablePassthrough()}
    return (sources | RunnableLambda(build) | says(ANSWER) | StrOutputParser()).invoke(QUESTION, config)


# Conversations.


@shape(
    "second turn, the first turn's tool result still in the prompt",
    rewritten="dogs",
    sources=("retriever", "history"),
    question="Are dogs allowed?",
    retrieved=(DOGS, GATE),
    received=(DOGS, GATE),
    answer="Yes.",
    records=2,
)
def second_turn(config: Any) -> object:
    def reply(messages: Sequence[BaseMessage]) -> AIMessage | str:
        is_dogs = "dogs" in str([m for m in messages if isinstance(m, HumanMessage)][-1].content)
        if isinstance(messages[-1], ToolMessage):
            return "Yes." if is_dogs else ANSWER
        return asks_tool("search", f"call-{len(messages)}", query="dogs" if is_dogs else "gate")

    texts = {"gate": [GATE], "dogs": [DOGS]}
    shelf = Shelf(find=lambda query: [Document(page_content=text) for text in texts[query]])
    graph = create_agent(Talker(reply=reply), [search_tool(shelf)], checkpointer=InMemorySaver())
    thread = config | {"configurable": {"thread_id": "t-1"}}
    graph.invoke(ASK, thread)
    return graph.invoke({"messages": [("user", "Are dogs allowed?")]}, thread)


@shape("interrupted for approval, then resumed")
def resumed(config: Any) -> object:
    def approve(state: Found) -> Found:
        interrupt("May I?")
        return {}

    def generate(state: Found) -> Found:
        prompt = f"Context:\n{write_out(state['documents'])}\n\nQuestion: {state['question']}"
        return {"generation": str(says(ANSWER).invoke(prompt).content)}

    builder = StateGraph(Found)
    builder.add_node("retrieve", lambda state: {"documents": Shelf().invoke(state["question"])})
    builder.add_node("approve", approve)
    builder.add_node("generate", generate)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "approve")
    builder.add_edge("approve", "generate")
    graph = builder.compile(checkpointer=InMemorySaver())
    thread = config | {"configurable": {"thread_id": "t-2"}}
    graph.invoke({"question": QUESTION}, thread)
    return graph.invoke(Command(resume="yes"), thread)


def write_page() -> str:
    """Write the catalogue as a Markdown page, from what capture really makes of each shape."""
    return HEAD + "\n".join(_row(entry) for entry in SHAPES) + "\n"


def _row(entry: Shape) -> str:
    records = Records()
    entry.run({"callbacks": [make_handler(records)]})
    call = records[-1]
    asked = f"{call.question}, searched as: {call.question_rewritten}" if call.question_rewritten else call.question
    cells = [entry.name, asked, _retrieved(call), _received(call), call.answer or "–"]
    return "| " + " | ".join(cell.replace("\n", " / ") for cell in cells) + " |"


def _retrieved(call: CapturedCall) -> str:
    if call.passages is None:
        return "unknown"
    dropped = f"; {len(call.candidates)} dropped before" if call.candidates else ""
    counts = Counter(passage.source for passage in call.passages)
    others = ", ".join(f"{n} {source}" for source, n in counts.items() if source != "retriever")
    return f"{len(call.passages)}{f' ({others})' if others else ''}{dropped}"


def _received(call: CapturedCall) -> str:
    if not call.passages:
        return "–"
    counts = Counter(placed.status for placed in align(call.passages, call.prompt_parts).passages)
    through = ", through other model calls" if "indirect" in call.marks else ""
    names = {"full": "whole", "partial": "cut", "absent": "not"}
    return ", ".join(f"{counts[status]} {name}" for status, name in names.items() if counts[status]) + through


if __name__ == "__main__":
    TABLE.write_text(write_page(), encoding="utf-8")
