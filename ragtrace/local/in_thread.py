"""Start a whole server for a test or a demo: file, keys, port, thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from ragtrace.local.app import Generation, make_app
from ragtrace.local.faults import Faults
from ragtrace.local.serve import running
from ragtrace.local.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLangfuse:
    """A running local server."""

    base_url: str
    public_key: str
    secret_key: str
    store: Store
    faults: Faults
    """Set its fields to make the server misbehave; `faults.clear()` ends that."""


@contextmanager
def local_langfuse(path: Path, *, emulate: Generation = "4.59") -> Iterator[LocalLangfuse]:
    """Serve the SQLite file at `path` on a free loopback port while the block runs."""
    # The Langfuse SDK keeps one client a public key for the whole process, its URL included.
    public_key, secret_key = f"pk-{token_hex(4)}", f"sk-{token_hex(4)}"
    with Store(path) as store:
        faults = Faults()
        app = make_app(store, public_key=public_key, secret_key=secret_key, emulate=emulate, faults=faults)
        with running(app) as base_url:
            yield LocalLangfuse(
                base_url=base_url,
                public_key=public_key,
                secret_key=secret_key,
                store=store,
                faults=faults,
            )
