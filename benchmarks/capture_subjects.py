"""The chain that `capture.py` measures, the handlers that it is measured under, and a server that counts bytes."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import ragtrace
from ragtrace_instrumentation_langchain import RagCallbackHandler

ANSWER = "The gate opens at six in the morning and closes at ten in the evening."
_SINK = """
import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Sink(BaseHTTPRequestHandler):
    total = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Sink.total += len(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        self.reply(b"")
    def do_GET(self):
        self.reply(str(Sink.total).encode())
    def reply(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a retriever returns."""

    documents: int
    characters: int

    def __str__(self) -> str:
        return f"{self.documents} × {self.characters // 1000} KB"


def make_documents(size: Size, *, seed: int = 7) -> list[Document]:
    """Make prose of made-up words, the same in each run."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(2, 9))) for _ in range(4000)]
    texts = [" ".join(chance.choices(words, k=size.characters // 4))[: size.characters] for _ in range(size.documents)]
    return [
        Document(page_content=text, id=f"d{i}", metadata={"source": f"manual-{i}.md", "page": i})
        for i, text in enumerate(texts)
    ]


class Shelf(BaseRetriever):
    """Returns what it was given."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return list(self.documents)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return list(self.documents)


class Model(BaseChatModel):
    """Answers after a while, or streams words at once."""

    seconds: float = 0.0
    tokens: int = 0

    @property
    def _llm_type(self) -> str:
        return "bench"

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        return {"ls_provider": "bench", "ls_model_name": "bench-1", "ls_model_type": "chat"}

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.seconds:
            time.sleep(self.seconds)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        await asyncio.sleep(self.seconds)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for _ in range(self.tokens):
            yield ChatGenerationChunk(message=AIMessageChunk(content="word "))


def make_chain(
    documents: Sequence[Document], *, write: Callable[[str], str] = str, seconds: float = 0.0, tokens: int = 0
) -> Runnable[str, str]:
    """Make the commonest RAG chain; `write` is what becomes of a passage on its way into the prompt."""

    def write_out(found: list[Document]) -> str:
        return "\n\n".join(write(document.page_content) for document in found)

    async def awrite_out(found: list[Document]) -> str:
        return write_out(found)

    sources: Any = {
        "context": Shelf(documents=list(documents)) | RunnableLambda(write_out, afunc=awrite_out),
        "question": RunnablePassthrough(),
    }
    prompt = ChatPromptTemplate.from_template("Answer from this:\n{context}\n\nQuestion: {question}")
    return sources | prompt | Model(seconds=seconds, tokens=tokens) | StrOutputParser()


class Nothing(BaseCallbackHandler):
    """Overrides each event and does nothing in it: what calling any handler costs, called inline as ours is."""

    run_inline = True


def _ignore(*_arguments: Any, **_options: Any) -> None:
    return


for _event in [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]:
    setattr(Nothing, _event, _ignore)


class NullExporter(SpanExporter):
    """Throws spans away."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@contextmanager
def sink() -> Iterator[tuple[str, Callable[[], int]]]:
    """Run a server that counts the bytes of what it is sent; in a process of its own, so that its CPU is not ours."""
    with subprocess.Popen([sys.executable, "-c", _SINK], stdout=subprocess.PIPE, text=True) as process:
        port = process.stdout.readline().strip() if process.stdout else ""
        url = f"http://127.0.0.1:{port}"

        def received() -> int:
            with urlopen(url) as reply:
                return int(reply.read())

        try:
            yield url, received
        finally:
            process.terminate()


class Subjects:
    """The handlers to compare: none, one that does nothing, ours, Langfuse's and OpenInference."""

    NAMES = ("none", "no-op", "ragtrace", "langfuse", "openinference")

    def __init__(self, url: str) -> None:
        ragtrace.configure(base_url=url, public_key="pk-bench", secret_key="sk-bench")
        provider = TracerProvider(shutdown_on_exit=False)
        Langfuse(
            public_key="pk-lf-bench",
            secret_key="sk-lf-bench",
            base_url=url,
            tracer_provider=provider,
            span_exporter=NullExporter(),
        )
        self._openinference = TracerProvider(shutdown_on_exit=False)
        self._openinference.add_span_processor(BatchSpanProcessor(NullExporter()))
        self.handlers: dict[str, list[BaseCallbackHandler]] = {
            "none": [],
            "no-op": [Nothing()],
            "ragtrace": [RagCallbackHandler()],
            "langfuse": [CallbackHandler(public_key="pk-lf-bench")],
            "openinference": [],
        }

    @contextmanager
    def using(self, name: str) -> Iterator[dict[str, Any]]:
        """Give the LangChain config under which one of them sees a call."""
        instrumentor = LangChainInstrumentor() if name == "openinference" else None
        if instrumentor:
            instrumentor.instrument(tracer_provider=self._openinference)
        try:
            yield {"callbacks": list(self.handlers[name])}
        finally:
            if instrumentor:
                instrumentor.uninstrument()
