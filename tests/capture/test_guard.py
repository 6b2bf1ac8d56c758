"""The guard between our failures and the program."""

import logging

import pytest

from ragtrace.capture.guard import guard, raising
from ragtrace.errors import ConfigError


def _fail(doing: str, error: BaseException) -> None:
    with guard(doing):
        raise error


def test_a_failure_is_logged_once_a_kind(caplog):
    """The program goes on; the log names what failed and where, once."""
    for _ in range(3):
        _fail("testing the guard once", KeyError("a.sample@example.org"))

    assert (len(caplog.records), caplog.records[0].levelno) == (1, logging.ERROR)
    assert "testing the guard once failed with KeyError at test_guard.py:" in caplog.text


def test_the_users_text_stays_out_of_the_log(caplog):
    """A foreign exception's message may hold content, so it is not logged."""
    _fail("testing what is logged", ValueError("4711-0815"))

    assert "4711-0815" not in caplog.text


def test_our_own_messages_are_logged_whole(caplog):
    """An error of ours says what to do, and each one is logged."""
    _fail("testing our own", ConfigError("set this"))
    _fail("testing our own", ConfigError("set that"))

    assert [r.getMessage() for r in caplog.records] == [
        "ragtrace: testing our own: set this",
        "ragtrace: testing our own: set that",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit()])
def test_interrupts_belong_to_the_program(error):
    """What ends or cancels the program is not ours to swallow."""
    with pytest.raises(type(error)):
        _fail("testing interrupts", error)


def test_under_test_failures_come_through():
    """Inside `raising` nothing is hidden, also when it is nested."""
    with raising(), raising(), pytest.raises(ValueError):
        _fail("testing the tests", ValueError())


def test_without_a_failure_nothing_happens(caplog):
    """A block that works is left alone."""
    with guard("testing nothing"):
        pass

    assert caplog.records == []


def test_kinds_without_end_do_not_fill_the_memory(caplog):
    """Of very many kinds of failure the oldest are forgotten, and logged again if they come back."""
    for number in [*range(300), 0]:
        _fail(f"testing kind {number}", ValueError())

    assert len(caplog.records) == 301
