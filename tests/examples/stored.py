"""What arrived at the local server."""

import json
from typing import Any

import httpx

from ragtrace.local.in_thread import LocalLangfuse


def stored(server: LocalLangfuse) -> list[dict[str, Any]]:
    """Return the rag-calls, oldest first."""
    reply = httpx.get(
        f"{server.base_url}/api/public/v2/observations",
        params={"name": "rag-call", "fields": "core,basic,io,metadata"},
        auth=(server.public_key, server.secret_key),
    )
    found: list[dict[str, Any]] = reply.json()["data"]
    return sorted(found, key=lambda row: str(row["startTime"]))


def question_passages_answer(row: dict[str, Any]) -> tuple[str, list[tuple[str, str]] | None, str]:
    """Return what was asked, the text and status of each passage (None: unknown), and the answer."""
    record = json.loads(row["input"])
    passages = record["passages"]
    received = None if passages is None else [(p["text"] or p.get("cut", ""), p["received"]) for p in passages]
    return record["question"], received, row["output"]
