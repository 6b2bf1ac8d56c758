"""Stop the servers that a test's demo started."""

from ragtrace.demo.server import STARTED


def stop_servers() -> None:
    while STARTED:
        process = STARTED.pop()
        process.terminate()
        process.wait()
