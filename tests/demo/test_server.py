"""The demo's own server."""

import json
import socket
from dataclasses import replace

import pytest

from ragtrace.demo.server import DemoServer, answers, find_or_start
from ragtrace.errors import BackendUnavailable
from tests.demo.servers import stop_servers


@pytest.fixture(autouse=True)
def _stop():
    yield
    stop_servers()


def test_server_of_an_earlier_demo_is_reused(tmp_path):
    """The first demo starts a server that outlives it, the next one finds it; its file is private."""
    first = find_or_start(tmp_path / "demo", idle_seconds=60)
    second = find_or_start(tmp_path / "demo", idle_seconds=60)

    assert first == second
    assert answers(first)
    assert not answers(replace(first, secret_key="sk-wrong"))
    assert (tmp_path / "demo" / "server.json").stat().st_mode & 0o077 == 0


def test_server_of_other_code_is_replaced(tmp_path):
    """After a change of the code, or when the earlier server is gone, a new one starts over a new database."""
    first = find_or_start(tmp_path, idle_seconds=60)
    old = json.loads((tmp_path / "server.json").read_text())
    (tmp_path / "server.json").write_text(json.dumps({**old, "source": "older"}))
    second = find_or_start(tmp_path, idle_seconds=60)

    assert second.base_url != first.base_url
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_dead_server_does_not_answer():
    """A server that is gone, or whose address makes no sense, is not reused."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{free.getsockname()[1]}"
    server = DemoServer(base_url=gone, public_key="pk", secret_key="sk", pid=0, source="")

    assert not answers(server)
    assert not answers(replace(server, base_url="nonsense"))


def test_server_that_does_not_start_names_its_log(tmp_path):
    """Where the server ends before it says its address, the error names the log."""
    with pytest.raises(BackendUnavailable, match=r"did not start: see .*server-[0-9a-f]+\.log$"):
        find_or_start(tmp_path, idle_seconds=-1)


def test_server_that_starts_too_slowly_is_not_waited_for(tmp_path):
    """A server that says nothing in time is an error."""
    with pytest.raises(BackendUnavailable, match="did not start"):
        find_or_start(tmp_path, start_seconds=0.0)
