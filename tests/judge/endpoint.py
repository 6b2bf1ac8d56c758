"""A scripted OpenAI-compatible endpoint on loopback: a real HTTP server in a thread."""

import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragtrace.settings import Settings, load_settings


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request, as the endpoint read it."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    at: float

    @property
    def system(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def user(self) -> str:
        return self.body["messages"][-1]["content"]

    @property
    def code(self) -> str:
        """The word that opens every item."""
        return self.user.rsplit("\n", 1)[-1].split(" ")[0]

    @property
    def items(self) -> dict[str, str]:
        """Text by label: passages, question, sentences."""
        parts = re.split(rf"^{self.code} (\w+) ?", self.user, flags=re.MULTILINE)
        return {label: text.removesuffix("\n") for label, text in zip(parts[1::2], parts[2::2], strict=True)}

    @property
    def labels(self) -> list[str]:
        """The labels to judge, ranges written out."""
        return [label for part in self.items["END"].split() for label in _written_out(part)]


def _written_out(part: str) -> list[str]:
    first, _, last = part.partition("-")
    return [f"{first[0]}{n}" for n in range(int(first[1:]), int(last[1:]) + 1)] if last else [first]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the endpoint sends back."""

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drops: bool = False
    """Close the connection without a word."""
    hangs: bool = False
    """Never answer, until the endpoint is closed."""


Answer = Callable[[Asked], Reply]


def says(
    content: object, *, finish: str = "stop", usage: tuple[int, int] | None = (100, 20), **message: object
) -> Reply:
    """A completion with that content; JSON where it is no text."""
    text = content if isinstance(content, str | None) else json.dumps(content, ensure_ascii=False)
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, "refusal": None} | message,
    }
    counted = {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}} if usage else {}
    return Reply(body=json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]} | counted))


def fails(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **error: object) -> Reply:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": None} | error}
    return Reply(body=json.dumps(body), status=status, headers=headers or {})


def claim(verdict: object, *evidence: object, text: str = "", reason: str = "") -> dict[str, object]:
    return {"claim": text, "evidence": list(evidence), "verdict": verdict, "reason": reason}


def verdicts(asked: Asked, found: Mapping[str, Sequence[object]], **more: object) -> dict[str, object]:
    """The object that a judge replies with."""
    entries = [{"n": label, "claims": list(claims)} for label, claims in found.items()]
    return {"id": asked.code, "refused": False, "verdicts": entries} | more


def supports_all(asked: Asked) -> Reply:
    """Every sentence is supported by the first passage."""
    return says(verdicts(asked, {label: [claim("supported", "1")] for label in asked.labels}))


class ScriptedEndpoint:
    """Answers each request with the next of its script, the last one over and over."""

    def __init__(self) -> None:
        self.script: list[Answer] = [supports_all]
        self.asked: list[Asked] = []
        self.most_in_flight = 0
        self.latency = 0.0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked = Asked(path=self.path, body=body, headers=dict(self.headers), at=time.monotonic())
                endpoint._serve(self, asked)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def settings(self, **more: object) -> Settings:
        """Settings of a judge at this endpoint, with a state file that cannot be written unless one is named."""
        given = {
            "openai_base_url": self.base_url,
            "openai_api_key": "sk-secret-of-the-test",
            "judge_model": "scripted",
            "state": "/dev/null/state.sqlite",
        }
        return load_settings({}, overrides=given | more)

    def answers(self, *script: Answer | Reply) -> None:
        """Set the script."""
        self.script = [step if callable(step) else _always(step) for step in script]

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        with self._counted(asked) as answer:
            if self.latency:
                time.sleep(self.latency)
            reply = answer(asked)
            if reply.hangs:
                self._closing.wait()
        if reply.drops or reply.hangs:
            handler.close_connection = True
            return
        content = reply.body.encode("utf-8", "surrogatepass")
        if reply.headers.get("content-encoding") == "gzip":
            content = gzip.compress(content)
        handler.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    @contextmanager
    def _counted(self, asked: Asked) -> Iterator[Answer]:
        with self._lock:
            answer = self.script[min(len(self.asked), len(self.script) - 1)]
            self.asked.append(asked)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            yield answer
        finally:
            with self._lock:
                self._in_flight -= 1


def _always(reply: Reply) -> Answer:
    return lambda _asked: reply
