"""Listening on loopback, stopping, and the command."""

import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from starlette.responses import PlainTextResponse
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.local.app import make_app
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.local.in_thread import local_langfuse as serve_locally
from ragtrace.local.serve import ServeError, base_url, listen, open_store, run, running
from ragtrace.local.store import Store

HELLO = PlainTextResponse("hello")


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_the_fixture_serves_a_fresh_file(local_langfuse: LocalLangfuse) -> None:
    """A test gets a real server on a free port, with keys of its own and nothing stored."""
    keys = (local_langfuse.public_key, local_langfuse.secret_key)

    answer = httpx.get(f"{local_langfuse.base_url}/api/public/v2/observations", auth=keys)

    assert answer.json() == {"data": [], "meta": {}}
    assert local_langfuse.store.scores.count() == 0
    assert local_langfuse.faults.status is None


def test_two_servers_have_different_keys(tmp_path: Path, local_langfuse: LocalLangfuse) -> None:
    """The SDK keeps one client a public key, so no two servers share one."""
    with serve_locally(tmp_path / "second.sqlite", emulate="4.16") as second:
        version = httpx.get(f"{second.base_url}/api/public/health").json()["version"]

        assert second.public_key != local_langfuse.public_key
        assert version == "4.16.0"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com"])
def test_other_addresses_than_loopback_are_refused(host: str) -> None:
    """The server has no users and no encryption: it is for this machine only."""
    with pytest.raises(ServeError, match=rf"^--host {re.escape(host)}: .* loopback only"):
        listen(host, 0)


def test_a_port_in_use() -> None:
    """The message names the port."""
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ServeError, match=rf"^--port {port}: cannot listen there \(.*\); choose another port$"):
            listen("127.0.0.1", port)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback address")
def test_ipv6_loopback() -> None:
    """An IPv6 address stands in brackets."""
    with running(HELLO, host="::1") as url:
        assert re.fullmatch(r"http://\[::1\]:\d+", url)
        assert httpx.get(url).text == "hello"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: (folder / "file").write_text("no folder") and folder / "file" / "db", "--db "),
        (lambda folder: (folder / "db").write_text("no database, but long enough") and folder / "db", "--db "),
    ],
)
def test_files_that_are_no_database(tmp_path: Path, make: object, message: str) -> None:
    """The message names the file."""
    path = make(tmp_path)  # type: ignore[operator] # one of the functions above

    with pytest.raises(ServeError, match=f"^{message}{re.escape(str(path))}: .*; name another file$"):
        open_store(path)


def test_folders_are_made(tmp_path: Path) -> None:
    """The file's folder need not be there."""
    with open_store(tmp_path / "a" / "b" / "db") as store:
        assert store.scores.count() == 0


def test_an_idle_server_stops(store: Store) -> None:
    """With `idle_exit_seconds` the server answers, and stops by itself once nobody has asked for so long."""
    server = make_app(store, public_key="pk", secret_key="sk")
    listener = listen("127.0.0.1", 0)
    now = [0.0]
    answers = []

    def ask_then_wait(url: str) -> None:
        answers.append(httpx.get(f"{url}/api/public/health").status_code)
        now[0] += 100

    client = threading.Thread(target=ask_then_wait, args=[base_url(listener)])
    client.start()
    run(server, listener, idle_exit_seconds=60, clock=lambda: now[0])
    client.join()

    assert answers == [200]


COMMAND = [sys.executable, "-c", "from ragtrace.cli import main; main()", "serve"]


def test_the_command_serves_until_interrupted(tmp_path: Path) -> None:
    """`ragtrace serve` prints the lines to export, answers, and stops on Ctrl-C with exit code 0."""
    options = ["--port", "0", "--db", str(tmp_path / "a" / "db"), "--public-key", "p", "--secret-key", "s"]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        exported = dict(process.stdout.readline().removeprefix("export ").strip().split("=", 1) for _ in range(3))
        answer = httpx.get(
            exported["LANGFUSE_BASE_URL"] + "/api/public/projects",
            auth=(exported["LANGFUSE_PUBLIC_KEY"], exported["LANGFUSE_SECRET_KEY"]),
        )
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)

    assert (answer.status_code, process.returncode) == (200, 0)
    assert re.fullmatch(r"Langfuse 4\.59 as far as ragtrace needs it: http://127\.0\.0\.1:\d+ .*\n", errors)


def test_the_command_stops_when_idle(tmp_path: Path) -> None:
    """With --idle-exit-seconds it ends by itself."""
    options = ["serve", "--port", "0", "--db", str(tmp_path / "db"), "--emulate", "4.16", "--idle-exit-seconds", "0"]

    result = CliRunner().invoke(app, options)

    assert (result.exit_code, result.stdout.count("export LANGFUSE_")) == (0, 3)


def test_the_command_refuses_in_one_line() -> None:
    """What keeps it from starting is an error of ours."""
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0"])

    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).startswith("--host 0.0.0.0: ")


def test_the_command_names_a_missing_extra() -> None:
    """Without the extra the line says what to install."""
    code = "import sys; sys.modules['starlette'] = None; from ragtrace.cli import main; main()"

    done = subprocess.run([sys.executable, "-c", code, "serve"], capture_output=True, text=True)

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "pip install 'ragtrace-adapter[serve]'" in done.stderr


def test_base_url_of_a_listener() -> None:
    """The port that was free is in the URL."""
    with listen("127.0.0.1", 0) as listener:
        assert base_url(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
