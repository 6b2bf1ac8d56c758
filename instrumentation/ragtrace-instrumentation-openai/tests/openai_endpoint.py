"""An endpoint on loopback that speaks chat completions and responses, whole and streamed."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "The gate opens at six."
_PIECES = ("The gate ", "opens at ", "six.")


class Endpoint:
    """Answers every request with the same words, or as `replies` say."""

    def __init__(self) -> None:
        self.replies: list[dict[str, Any] | int] = []
        """What the next requests get instead: a message for chat completions, or an error status."""
        self.asked: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.asked.append(body)
                status, kind, content = endpoint._answer(self.path, body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str, body: dict[str, Any]) -> tuple[int, str, bytes]:
        reply = self.replies.pop(0) if self.replies else {"content": ANSWER}
        if isinstance(reply, int):
            return reply, "application/json", b'{"error": {"message": "no"}}'
        events = _response_events() if path.endswith("/responses") else _chunks()
        if body.get("stream"):
            lines = [
                f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" if "type" in e else f"data: {json.dumps(e)}\n\n"
                for e in events
            ]
            end = "" if path.endswith("/responses") else "data: [DONE]\n\n"
            return 200, "text/event-stream", ("".join(lines) + end).encode()
        whole = _response() if path.endswith("/responses") else _completion(reply)
        return 200, "application/json", json.dumps(whole).encode()


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "model-1", "choices": [choice]}


def _chunks() -> list[dict[str, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "model-1"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in _PIECES), {}]
    return [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]


def _response() -> dict[str, Any]:
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "model-1",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
    }


def _response_events() -> list[dict[str, Any]]:
    place = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
    deltas = [{"type": "response.output_text.delta", **place, "delta": piece} for piece in _PIECES]
    started = {**_response(), "output": [], "status": "in_progress"}
    item = {**_response()["output"][0], "content": [], "status": "in_progress"}
    part = {"type": "output_text", "text": "", "annotations": []}
    events = [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        *deltas,
        {"type": "response.completed", "response": _response()},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]
