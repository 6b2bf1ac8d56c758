"""Find the local server of an earlier demo, or start one that outlives this process for a while."""

import json
import os
import re
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

from ragtrace.errors import BackendUnavailable

IDLE_SECONDS = 900
_POLL_SECONDS = 0.03
_ASK_SECONDS = 2.0
_SAID = re.compile(r"^export LANGFUSE_BASE_URL=(\S+)$", re.MULTILINE)
_SERVE = "from ragtrace.cli import main; main()"
STARTED: list[subprocess.Popen[bytes]] = []
"""Servers of this process; kept, since Python complains of a running child that is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoServer:
    """A server on loopback and the keys it takes."""

    base_url: str
    public_key: str
    secret_key: str
    pid: int
    source: str
    """Which code it runs; another one is not reused."""


def find_or_start(folder: Path, *, idle_seconds: int = IDLE_SECONDS, start_seconds: float = 20.0) -> DemoServer:
    """Return the server whose files are in `folder`, a new one unless the earlier one still answers.

    Raises:
        BackendUnavailable: it did not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    earlier = _read(folder / "server.json")
    if earlier and earlier.source == source_mark() and answers(earlier):
        return earlier
    server = start(folder, idle_seconds=idle_seconds, start_seconds=start_seconds)
    # The file holds keys, if only to this machine's own demo.
    descriptor = os.open(folder / "server.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(server), file)
    return server


def start(folder: Path, *, idle_seconds: int, start_seconds: float) -> DemoServer:
    """Start a detached server over a new database; what it prints goes to `server.log`.

    Raises:
        BackendUnavailable: it did not say its address in time.
    """
    run = token_hex(4)
    public_key, secret_key = f"pk-demo-{run}", f"sk-demo-{token_hex(8)}"
    log = folder / f"server-{run}.log"
    options = {
        "--port": "0",
        "--db": str(folder / f"langfuse-{run}.sqlite"),
        "--public-key": public_key,
        "--secret-key": secret_key,
        "--idle-exit-seconds": str(idle_seconds),
    }
    arguments = [part for option in options.items() for part in option]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, "serve", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    STARTED.append(process)
    base_url = _wait_for_address(log, start_seconds, is_running=lambda: process.poll() is None)
    return DemoServer(
        base_url=base_url, public_key=public_key, secret_key=secret_key, pid=process.pid, source=source_mark()
    )


def answers(server: DemoServer) -> bool:
    """Tell whether the server is there and takes these keys."""
    credentials = b64encode(f"{server.public_key}:{server.secret_key}".encode()).decode()
    try:
        request = Request(f"{server.base_url}/api/public/projects", headers={"Authorization": f"Basic {credentials}"})
        # A proxy of the environment has no business on loopback.
        with build_opener(ProxyHandler({})).open(request, timeout=_ASK_SECONDS) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError, ValueError):
        return False


def _wait_for_address(log: Path, seconds: float, *, is_running: Callable[[], bool]) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        said = _SAID.search(log.read_text(encoding="utf-8", errors="replace"))
        if said:
            return said[1]
        if not is_running():
            break
        time.sleep(_POLL_SECONDS)
    raise BackendUnavailable(f"the demo's local server did not start: see {log}")


def _read(file: Path) -> DemoServer | None:
    try:
        return DemoServer(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def source_mark() -> str:
    """Return a mark of the code that a server started now would run."""
    package = Path(__file__).parent.parent
    latest = max(file.stat().st_mtime_ns for file in package.rglob("*.py"))
    return f"{package} {latest}"
