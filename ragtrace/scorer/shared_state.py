"""The scorer's state in Redis, where several machines share it; the only module here that speaks to Redis.

Losing it costs judge calls, never a duplicate, as with the state file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry as Reconnect

from ragtrace.errors import ConfigError
from ragtrace.scorer.pauses import pause_after
from ragtrace.scorer.state import CallKey, Finished, Retry, Slot, StateFile, Status

REMEMBERED = timedelta(days=30)
"""Redis forgets a finished call after so long; its mark in Langfuse says the same."""

RECONNECTS, RECONNECTS_AFTER = 20, ExponentialBackoff(cap=2.0, base=0.1)
"""How clients wait for a Redis that is restarted: about half a minute."""


def connect(url: str) -> redis.Redis:
    """Return a client that has had an answer.

    Raises:
        ConfigError: the URL is none, or nothing answers there.
    """
    try:
        redis.Redis.from_url(url, socket_connect_timeout=5.0).ping()
        return redis.Redis.from_url(
            url,
            decode_responses=True,
            retry=Reconnect(RECONNECTS_AFTER, RECONNECTS),
            retry_on_error=[redis.ConnectionError],
        )
    except (ValueError, redis.RedisError) as exc:
        # The URL may hold a password.
        raise ConfigError(f"--distributed: Redis cannot be used ({exc}): give redis://host:port/0") from exc


def key_prefix(project: str) -> str:
    """Return what all keys of a Langfuse project begin with."""
    return f"ragtrace:{hashlib.sha256(project.encode()).hexdigest()[:16]}"


class SharedState(StateFile):
    """Ledger, retries, budget slots and positions in Redis; the outbox in memory, for the time of one task.

    A task is acknowledged after its scores are written, so that what a killed worker had in its outbox is judged again.
    """

    def __init__(self, client: redis.Redis, *, project: str) -> None:
        super().__init__(Path(":memory:"), project=project)
        self._redis = client
        self._prefix = key_prefix(project)

    def known(self, keys: Iterable[CallKey]) -> dict[CallKey, Status]:
        """Return the status of those calls that are finished."""
        wanted = sorted(set(keys))
        if not wanted:
            return {}
        statuses = cast("list[Status | None]", self._redis.mget([self._call(key) for key in wanted]))
        return {key: status for key, status in zip(wanted, statuses, strict=True) if status}

    def remember_done(self, keys: Iterable[CallKey]) -> None:
        """Note calls about which nothing is left to do."""
        self._conclude(keys, "done")

    def _conclude(self, keys: Iterable[CallKey], status: Status) -> None:
        with self._redis.pipeline() as pipe:
            for key in keys:
                pipe.set(self._call(key), status, ex=REMEMBERED)
                self._drop_retry(pipe, _member(key))
            pipe.execute()

    def _drop_retry(self, pipe: "redis.client.Pipeline", *members: str) -> None:
        pipe.zrem(self._key("due"), *members)
        pipe.zrem(self._key("started"), *members)
        pipe.hdel(self._key("tries"), *members)

    def acknowledge(self, score_ids: Sequence[str]) -> tuple[Finished, ...]:
        """Take scores that Langfuse has taken out of the outbox; return the calls that this finished."""
        finished = super().acknowledge(score_ids)
        self._conclude((call.key for call in finished), "done")
        return finished

    def refuse(self, score_ids: Sequence[str]) -> tuple[CallKey, ...]:
        """Give up calls of which Langfuse refused a score."""
        refused = super().refuse(score_ids)
        self._conclude(refused, "refused")
        return refused

    def postpone(self, key: CallKey, *, started_at: datetime, reason: str, now: datetime) -> None:
        """Note a call to be tried again; pauses grow as in the state file."""
        member = _member(key)
        tries = self._redis.hincrby(self._key("tries"), member, 1)
        with self._redis.pipeline() as pipe:
            pipe.zadd(self._key("due"), {member: (now + pause_after(tries)).timestamp()})
            pipe.zadd(self._key("started"), {member: started_at.timestamp()})
            pipe.execute()

    def postponed(self, keys: Iterable[CallKey]) -> set[CallKey]:
        """Return those of the calls that are put off."""
        wanted = sorted(set(keys))
        if not wanted:
            return set()
        found = self._redis.zmscore(self._key("due"), [_member(key) for key in wanted])
        return {key for key, due_at in zip(wanted, found, strict=True) if due_at is not None}

    def expire(self, before: datetime) -> int:
        """Stop trying calls that started before; return how many there were."""
        old = cast("list[str]", self._redis.zrangebyscore(self._key("started"), "-inf", f"({before.timestamp()}"))
        if old:
            with self._redis.pipeline() as pipe:
                self._drop_retry(pipe, *old)
                pipe.execute()
        return len(old)

    def due(self, now: datetime, *, limit: int) -> tuple[Retry, ...]:
        """Return calls whose time to be tried again has come, the longest overdue first."""
        members = cast(
            "list[str]", self._redis.zrangebyscore(self._key("due"), "-inf", now.timestamp(), start=0, num=limit)
        )
        if not members:
            return ()
        started = self._redis.zmscore(self._key("started"), members)
        tries = cast("list[str | None]", self._redis.hmget(self._key("tries"), members))
        # A worker may have finished one of them between these requests.
        return tuple(
            Retry(key=_key_of(member), started_at=datetime.fromtimestamp(moment, UTC), tries=int(count))
            for member, moment, count in zip(members, started, tries, strict=True)
            if moment is not None and count is not None
        )

    def slots(self, since: datetime) -> dict[datetime, Slot]:
        """Return the slots from a moment on whose thresholds are fixed."""
        starts = cast("list[str]", self._redis.zrangebyscore(self._key("slot starts"), since.timestamp(), "+inf"))
        if not starts:
            return {}
        bodies = cast("list[str]", self._redis.hmget(self._key("slots"), starts))
        return {
            datetime.fromisoformat(start): Slot(**json.loads(body)) for start, body in zip(starts, bodies, strict=True)
        }

    def fix_slots(self, slots: Mapping[datetime, Slot]) -> None:
        """Fix thresholds; one that is fixed stays as it is, since calls were drawn with it."""
        with self._redis.pipeline() as pipe:
            for start, slot in slots.items():
                body = json.dumps({"threshold": slot.threshold, "expected": slot.expected})
                pipe.hsetnx(self._key("slots"), start.isoformat(), body)
                pipe.zadd(self._key("slot starts"), {start.isoformat(): start.timestamp()})
            pipe.execute()

    def position(self, name: str) -> datetime | None:
        """Return a remembered moment."""
        value = cast("str | None", self._redis.hget(self._key("positions"), name))
        return datetime.fromisoformat(value) if value else None

    def move_position(self, name: str, moment: datetime) -> None:
        """Remember a moment."""
        self._redis.hset(self._key("positions"), name, moment.isoformat())

    def _key(self, name: str) -> str:
        return f"{self._prefix}:{name}"

    def _call(self, key: CallKey) -> str:
        return f"{self._prefix}:call:{_member(key)}"


def _member(key: CallKey) -> str:
    return json.dumps(key)


def _key_of(member: str) -> CallKey:
    trace_id, observation_id = json.loads(member)
    return (trace_id, observation_id)
