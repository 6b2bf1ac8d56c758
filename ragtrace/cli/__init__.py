"""The `ragtrace` command: parse arguments, call one package, print; one line per error, exit codes 0, 1 and 2."""

import errno
import os
import sys
from typing import NoReturn

import typer

from ragtrace.cli import (  # noqa: F401 - each registers its commands
    alarming,
    comparing,
    judging,
    planning,
    referencing,
    reporting,
    review,
    scoring,
    serving,
)
from ragtrace.cli.app import app
from ragtrace.errors import RagtraceError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the command; an error of ours, and a full disk, are one line on stderr and exit code 2."""
    try:
        app()
    except RagtraceError as exc:
        typer.echo(f"ragtrace: {exc}", err=True)
        sys.exit(2)
    except (OSError, ExceptionGroup) as exc:
        _end_by(exc)


def _end_by(exc: Exception) -> NoReturn:
    failed = _of_output(exc)
    if failed is None:
        raise exc
    if failed.errno == errno.EPIPE:
        # Who read our output, `head` for one, has had enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    typer.echo(f"ragtrace: {failed.strerror}: make room, then run the same again", err=True)
    sys.exit(2)


def _of_output(exc: Exception) -> OSError | None:
    """Return the error of a full disk or a closed pipe; tasks that run together hand it on in a group."""
    if isinstance(exc, ExceptionGroup):
        return next((found for one in exc.exceptions if (found := _of_output(one))), None)
    return exc if isinstance(exc, OSError) and exc.errno in (*_NO_ROOM, errno.EPIPE) else None
