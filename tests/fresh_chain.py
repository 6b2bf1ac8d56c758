"""Run by test_fresh_environment in an environment of its own: a chain, the callback, a server that counts."""

import importlib
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

import ragtrace
from ragtrace_instrumentation_langchain import RagCallbackHandler

bodies: list[bytes] = []


class Collector(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


class Manual(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [Document("The pump weighs 14 kg.")]


def find(module: str) -> str:
    try:
        importlib.import_module(module)
    except ImportError as exc:
        return type(exc).__name__
    return "installed"


server = HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {
    "LANGFUSE_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    "LANGFUSE_PUBLIC_KEY": "pk",
    "LANGFUSE_SECRET_KEY": "sk",
}
prompt = ChatPromptTemplate.from_template("Context: {context}\n\nQuestion: {question}")
model = FakeListChatModel(responses=["The pump weighs 14 kg."])
chain = {"context": Manual(), "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
answer = chain.invoke("How heavy is the pump?", config={"callbacks": [RagCallbackHandler()]})
ragtrace.flush(5.0)

print("answer:", answer)  # noqa: T201
print("delivered:", len(bodies))  # noqa: T201
print("scorer side:", find("langfuse") + ",", find("openai"))  # noqa: T201
ragtrace.shutdown()
server.shutdown()
