"""Servers without a socket: the real application, spoken to in this process."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from ragtrace.local.faults import Faults
from ragtrace.local.store import Store
from tests.local.talk import Clock, talk


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with Store(tmp_path / "langfuse.sqlite", now_ms=clock) as opened:
        yield opened


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def client(store: Store, faults: Faults) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that behaves as 4.59."""
    async with talk(store, faults=faults) as opened:
        yield opened


@pytest.fixture
async def recorded(store: Store) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that behaves as the recorded 4.16."""
    async with talk(store, emulate="4.16") as opened:
        yield opened
