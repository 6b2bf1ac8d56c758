"""A real redis-server on loopback, with persistence, that a test may kill and start again."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis


@dataclass(kw_only=True)
class RedisServer:
    """One server; what it acknowledged survives a restart."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program, "install redis-server"
        where = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        kept = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        self.process = subprocess.Popen([program, *where, *kept], stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(self.url) as client:
            for _ in range(400):
                try:
                    client.ping()
                except redis.ConnectionError:
                    time.sleep(0.025)
                else:
                    return
        raise AssertionError("redis-server does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def running_redis(folder: Path) -> Iterator[RedisServer]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    server = RedisServer(folder=folder, port=port)
    server.start()
    try:
        yield server
    finally:
        server.kill()
