"""Write comments on observations, which people read in Langfuse beside the observation itself."""

import json

from ragtrace.langfuse import wire
from ragtrace.langfuse.connection import Connection, JsonObject

_PATH = "api/public/comments"
_OBSERVATION = "OBSERVATION"


async def read_comments(connection: Connection, observation_id: str) -> tuple[str, ...]:
    """Return what was said on an observation."""
    query = {"objectType": _OBSERVATION, "objectId": observation_id}
    pages = wire.numbered_pages(connection, "read comments", _PATH, _content, query=query)
    return tuple([content async for page in pages for content in page])


async def add_comment(connection: Connection, project_id: str, observation_id: str, content: str) -> None:
    """Comment on an observation; Langfuse refuses one that it does not know, and has no way back."""
    body = {"projectId": project_id, "objectType": _OBSERVATION, "objectId": observation_id, "content": content}
    await connection.post("comment on an answer", _PATH, json.dumps(body, ensure_ascii=False).encode())


def _content(comment: JsonObject) -> str:
    return wire.text(comment["content"])
