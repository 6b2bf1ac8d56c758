"""Decode the body of an OTLP trace export: protobuf or JSON, gzip or plain."""

import gzip
import io
import zlib

from ragtrace.local.otlp_json import spans_of_json
from ragtrace.local.otlp_protobuf import spans_of_protobuf
from ragtrace.local.spans import Span
from ragtrace.local.wire import RefusedError

LONGEST_BODY = 64 * 1024 * 1024
"""Langfuse has no limit of its own here; this one keeps a gzip bomb from filling the memory."""
TOO_BIG: str = f"The request body exceeds {LONGEST_BODY} bytes"


def decode(content: bytes, *, content_type: str, is_gzip: bool) -> list[Span]:
    """Return the spans of a request body.

    Raises:
        RefusedError: the body cannot be read, or any span in it is unusable (then nothing is taken).
    """
    is_protobuf = content_type.startswith("application/x-protobuf")
    if not (is_protobuf or content_type.startswith("application/json")):
        raise RefusedError(400, {"error": "Invalid content type"})
    body = _decompress(content) if is_gzip else content
    return spans_of_protobuf(body) if is_protobuf else spans_of_json(body)


def _decompress(content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            body = file.read(LONGEST_BODY + 1)
    except (OSError, EOFError, zlib.error):
        raise RefusedError(400, {"error": "Failed to decompress request body"}) from None
    if len(body) > LONGEST_BODY:
        raise RefusedError(413, TOO_BIG)
    return body
