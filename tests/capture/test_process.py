"""How a whole program behaves that captures: its exit, its interrupt, its children."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from tests.capture.otlp_server import OtlpServer, attributes, otlp_server

PROGRAM = """
import os, sys, time
import ragtrace
from ragtrace.capture import submit
from tests.capture.calls import call
ragtrace.configure(base_url=sys.argv[1], public_key="pk", secret_key="sk")
"""
# More than any program here needs: the bound of five seconds at exit, start-up, and a slow machine.
PATIENCE_SECONDS = 60


def _start(server: OtlpServer, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + program, server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(server: OtlpServer, program: str) -> tuple[int, str, str]:
    process = _start(server, program)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err


def _questions(server: OtlpServer) -> Sequence[str]:
    inputs = (json.loads(str(attributes(span)["langfuse.observation.input"])) for span in server.spans)
    return sorted(record["question"] for record in inputs)


def test_what_was_captured_is_sent_at_exit():
    """A program that ends right after its last answer loses nothing, and says nothing."""
    with otlp_server() as server:
        done = _run(server, 'for n in range(50): submit(call(question=f"q{n:02}"))')

    assert (done, _questions(server)) == ((0, "", ""), [f"q{n:02}" for n in range(50)])


def test_a_server_that_never_answers_cannot_hold_up_the_exit():
    """The program ends within its bound, by itself or interrupted, and says how many calls were not delivered."""
    hang = threading.Event()
    with otlp_server(hang=hang) as server:
        ending = _start(server, "for n in range(200): submit(call(question=str(n)))")
        interrupted = _start(
            server,
            """
for n in range(200): submit(call(question=str(n)))
print("ready", flush=True)
time.sleep(60)
""",
        )
        assert interrupted.stdout is not None
        interrupted.stdout.readline()
        interrupted.send_signal(signal.SIGINT)
        errors = [process.communicate(timeout=PATIENCE_SECONDS)[1] for process in (ending, interrupted)]

    assert [error.count("200 captured calls were not delivered") for error in errors] == [1, 1]
    assert ("KeyboardInterrupt" in errors[0], "KeyboardInterrupt" in errors[1]) == (False, True)


def test_a_second_interrupt_ends_the_wait():
    """Who presses Ctrl+C again does not wait for the rest of the bound, and is told the loss all the same."""
    with otlp_server(hang=threading.Event()) as server:
        process = _start(
            server,
            """
import atexit, signal, threading
ending = threading.Event()
def interrupt():
    ending.wait()
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
submit(call())
# Runs before ragtrace's own exit function, which is registered earlier.
atexit.register(ending.set)
""",
        )
        _out, error = process.communicate(timeout=PATIENCE_SECONDS)

    assert error.splitlines() == ["ragtrace: 1 captured calls were not delivered"]


def test_workers_forked_from_a_running_program_deliver():
    """As with a preloading web server: capture ran before the fork, each worker captures and delivers its own."""
    with otlp_server() as server:
        done = _run(
            server,
            """
submit(call(question="master"))
children = []
for n in range(3):
    child = os.fork()
    if child == 0:
        submit(call(question=f"worker {n}"))
        sys.exit(0)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
""",
        )

    assert (done, _questions(server)) == ((0, "[0, 0, 0]\n", ""), ["master", "worker 0", "worker 1", "worker 2"])


def test_a_program_that_is_frozen_between_requests_can_flush():
    """A serverless function delivers before it answers, whatever happens to it afterwards."""
    with otlp_server() as server:
        done = _run(server, 'submit(call(question="q")); print(ragtrace.flush(), flush=True); os._exit(0)')

    assert (done, _questions(server)) == ((0, "True\n", ""), ["q"])
