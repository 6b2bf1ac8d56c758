"""An OpenAI-compatible endpoint that knows the truth: a claim is supported if passages hold each of its codes.

Run: python benchmarks/oracle.py --port 8900 --latency-ms 50
It speaks ragtrace's judge protocol and nothing else. `POST /control` sets latency, faults and counting, `GET /control`
tells what was served. Every fact of the bench samples carries a code such as QX-4821, so its verdicts are known.
"""

import argparse
import asyncio
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

CODE = re.compile(r"[A-Z]{2}-\d{4}")
CLAIM_SEPARATOR = re.compile(r",? and that |，并且")
REASON = {
    "en": "No passage states this; the closest one names another number.",
    "zh": "没有段落这样说，最接近的段落是另一个编号。",
}


@dataclass
class State:
    """What was set and what was served."""

    latency: float = 0.05
    fault: dict[str, Any] = field(default_factory=dict)
    window: int = 0
    counts_tokens: bool = False
    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    tokens: tuple[int, int, int] = (0, 0, 0)
    """Prompt, completion, and the prompt's part that is the same for all."""


STATE = State()
_ENCODING: Any = None


def count(text: str) -> int:
    """Return cl100k tokens, or a quarter of the characters where they are not counted."""
    global _ENCODING
    if not STATE.counts_tokens:
        return len(text) // 4
    if _ENCODING is None:
        import tiktoken

        _ENCODING = tiktoken.get_encoding("cl100k_base")
    return len(_ENCODING.encode(text, disallowed_special=()))


def read_items(user: str) -> tuple[str, dict[str, str]]:
    """Return the request's code and its items by label."""
    code = user.rsplit("\n", 1)[-1].split(" ")[0]
    parts = re.split(rf"^{re.escape(code)} (\w+) ?", user, flags=re.MULTILINE)
    return code, {label: text.removesuffix("\n") for label, text in zip(parts[1::2], parts[2::2], strict=True)}


def labels_of(end: str) -> list[str]:
    """Write out `A1-A3 R1`."""
    labels = []
    for part in end.split():
        first, _, last = part.partition("-")
        numbers = range(int(first[1:]), int((last or first)[1:]) + 1) if first[1:] else []
        labels += [f"{first[0]}{n}" for n in numbers]
    return labels


def judge(user: str, *, is_lean: bool, explains_all: bool) -> dict[str, Any]:
    """Return the reply that is right."""
    code, items = read_items(user)
    passages = {label: text for label, text in items.items() if label.isdigit()}
    withheld = {label: text for label, text in items.items() if label[0] == "W"}
    verdicts = []
    for label in labels_of(items["END"]):
        claims = [_verdict(claim, passages, withheld if label[0] == "R" else {}) for claim in _claims(items[label])]
        if is_lean:
            letters = " ".join(("S" if ok else "U") + ",".join(evidence) for _, ok, evidence in claims)
            verdicts.append(f"{label} {letters or 'N'}")
        else:
            verdicts.append({"n": label, "claims": [_entry(claim, len(claims), explains_all) for claim in claims]})
    declines = bool(re.search(r"I don't know|不知道", items.get("A1", "")))
    return {"id": code, "refused": declines, "verdicts": verdicts}


def _claims(sentence: str) -> list[str]:
    return [claim for claim in CLAIM_SEPARATOR.split(sentence) if claim.strip()]


def _verdict(claim: str, passages: dict[str, str], withheld: dict[str, str]) -> tuple[str, bool, list[str]]:
    codes = CODE.findall(claim)
    evidence = [label for label, text in passages.items() if any(code in text for code in codes)]
    held = {code for code in codes if any(code in text for text in passages.values())}
    if codes and held == set(codes):
        return claim, True, evidence
    return claim, False, [label for label, text in withheld.items() if codes and all(code in text for code in codes)]


def _entry(found: tuple[str, bool, list[str]], count: int, explains_all: bool) -> dict[str, Any]:
    claim, ok, evidence = found
    language = "zh" if re.search(r"[\u4e00-\u9fff]", claim) else "en"
    return {
        "claim": claim.strip() if count > 1 else "",
        "evidence": evidence,
        "verdict": "supported" if ok else "unsupported",
        "reason": REASON[language] if not ok or explains_all else "",
    }


def spoil(reply: dict[str, Any], kind: str, cut: float) -> tuple[str | None, str, str | None]:
    """Return (content, finish reason, refusal) of a reply with that fault."""
    # Without blanks, as the example in the prompt is written and as strict JSON modes write.
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    verdicts = reply["verdicts"]
    contents: dict[str, str | None] = {
        "truncated": text[: int(len(text) * cut)],
        "length": text[: int(len(text) * cut)],
        "fence": f"```json\n{text}\n```",
        "prose": f"Sure! Here is {{my}} assessment.\n\n```json\n{text}\n```\n\nNeed {{more}} detail?",
        "think": f"<think>\nMaybe {json.dumps(reply | {'verdicts': []})}? No.\n</think>\n{text}",
        "invalid": re.sub(r"}", ",}", text.replace('"', "'")),
        "empty": "",
        "null": None,
        "refusal": None,
        "wrong_schema": json.dumps({"foo": 1}),
        "fewer": json.dumps(reply | {"verdicts": verdicts[:-1]}),
        "extra": json.dumps(reply | {"verdicts": [*verdicts, verdicts[-1]]}),
        "badscore": re.sub(r'"evidence":\[[^]]*\]', '"evidence":[97]', text),
    }
    finish = "length" if kind == "length" else "stop"
    return contents.get(kind, text), finish, "I can't help with that." if kind == "refusal" else None


def serve(body: dict[str, Any]) -> tuple[int, bytes, dict[str, str], str]:
    """Return status, body, headers and what was done."""
    system, user = (message["content"] for message in body["messages"][-2:])
    text = f"{system}\n{user}"
    fault = _fault(user)
    extra = json.dumps(body["response_format"]) if body.get("response_format", {}).get("type") == "json_schema" else ""
    prompt_tokens = count(text) + 8 + (count(extra) if extra else 0)
    if STATE.window and prompt_tokens + body.get("max_completion_tokens", 0) > STATE.window:
        message = f"This model's maximum context length is {STATE.window} tokens, you asked for {prompt_tokens}."
        return _error(400, message, code="context_length_exceeded")
    if fault.startswith("http"):
        status = int(fault[4:7])
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
        wait = STATE.fault.get("retry_after")
        return _error(status, f"as asked: {status}", code=code, headers={"retry-after": str(wait)} if wait else {})
    if fault == "html":
        return 200, b"<html><body>502 Bad Gateway</body></html>", {"content-type": "text/html"}, fault
    if fault in ("hang", "drop"):
        return 0, b"", {}, fault
    is_lean = '"verdicts":["A1' in system
    reply = judge(user, is_lean=is_lean, explains_all='"reason":""},{' not in system)
    content, finish, refusal = spoil(reply, fault, STATE.fault.get("cut", 0.6))
    completion_tokens = count(content or "")
    STATE.tokens = (
        STATE.tokens[0] + prompt_tokens,
        STATE.tokens[1] + completion_tokens,
        STATE.tokens[2] + count(system) + (count(extra) if extra else 0),
    )
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    completion = {"id": "o", "object": "chat.completion", "choices": [choice], "usage": usage}
    return 200, json.dumps(completion).encode(), {}, "ok"


def _fault(user: str) -> str:
    fault = STATE.fault
    if not fault or fault.get("match", "") not in user:
        return ""
    if fault.get("first") is not None and STATE.statuses[fault["kind"]] >= fault["first"]:
        return ""
    material = re.sub(r"^\w+ ", "", user, flags=re.MULTILINE)
    STATE.attempts[material] += 1
    draw = random.Random(f"{material}{'' if fault.get('sticky') else STATE.attempts[material]}").random()
    if draw >= fault.get("rate", 1.0):
        return ""
    STATE.statuses[fault["kind"]] += 1
    return str(fault["kind"])


def _error(
    status: int, message: str, *, code: str | None, headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str], str]:
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return status, json.dumps(body).encode(), headers or {}, str(status)


def control(body: dict[str, Any]) -> bytes:
    """Set what the body names, start counting anew, and return what was served before."""
    told = {
        "calls": STATE.calls,
        "most_in_flight": STATE.most_in_flight,
        "statuses": dict(STATE.statuses),
        "tokens": STATE.tokens,
    }
    if body:
        STATE.__init__()  # type: ignore[misc]  # the one state starts over
        for name, value in body.items():
            setattr(STATE, name, value)
    return json.dumps(told).encode()


class Connection(asyncio.Protocol):
    """One keep-alive connection; as little HTTP as ragtrace's client needs, so that the endpoint costs little."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, _, rest = self.buffer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        size = int(length.group(1)) if length else 0
        if not _ or len(rest) < size:
            return
        self.buffer = rest[size:]
        path, body = head.split(b" ", 2)[1], json.loads(rest[:size] or b"{}")
        if path.endswith(b"/control"):
            self.send(200, control(body), {})
            return
        STATE.calls += 1
        STATE.in_flight += 1
        STATE.most_in_flight = max(STATE.most_in_flight, STATE.in_flight)
        asyncio.get_running_loop().call_later(STATE.latency, self.answer, body)

    def answer(self, body: dict[str, Any]) -> None:
        status, content, headers, done = serve(body)
        STATE.in_flight -= done != "hang"
        if done == "drop":
            self.transport.close()
        elif done != "hang":
            self.send(status, content, headers)

    def send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        lines = {"content-type": "application/json", "content-length": str(len(content)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.transport.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + content)


async def main(port: int) -> None:
    """Serve until killed; print the port once it listens."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=50)
    arguments = parser.parse_args()
    STATE.latency = arguments.latency_ms / 1000
    try:
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    except ImportError:
        print("without uvloop the endpoint itself costs more", file=sys.stderr)
    asyncio.run(main(arguments.port))
