"""What ragtrace asks of a Langfuse project."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from ragtrace.extract import ObservationRow
from ragtrace.langfuse import border, configs, observations, scores, write
from ragtrace.langfuse.configs import ScoreConfig, ScoreShape
from ragtrace.langfuse.connection import Connection, JsonObject, RetryPolicy
from ragtrace.langfuse.observations import CallQuery, FetchedBatch
from ragtrace.langfuse.scores import ScoreQuery, StoredScore
from ragtrace.langfuse.write import OutgoingScore, WriteReceipt
from ragtrace.settings import Settings

_VERSION = "say its version"
_PROJECT = "name the project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Which Langfuse answers."""

    version: str
    takes_score_arrays: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Which project the keys belong to."""

    id: str
    name: str


class LangfuseApi:
    """Reads calls and scores of one project and writes scores to it.

    Every method raises `BackendUnavailable` or `BackendRejected`, with a line that says what to do.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.connection.aclose()

    async def health(self) -> Server:
        """Ask which version answers; once in the life of this object."""
        if self._server is None:
            usual = self.connection.policy
            # The first request of all: where nobody answers, people should not wait for minutes.
            policy = replace(usual, timeout_seconds=min(usual.timeout_seconds, 10.0), attempts=min(usual.attempts, 2))
            reply = await self.connection.get(_VERSION, "api/public/health", policy=policy)
            version = self._text(_VERSION, reply, "version")
            self._server = Server(version=version, takes_score_arrays=write.takes_arrays(version))
        return self._server

    async def project(self) -> Project | None:
        """Return the project that the keys are of, None where Langfuse names none."""
        reply = await self.connection.get(_PROJECT, "api/public/projects")
        listed = reply.get("data")
        first = listed[0] if isinstance(listed, list) and listed else None
        if not isinstance(first, dict):
            return None
        return Project(id=self._text(_PROJECT, first, "id"), name=self._text(_PROJECT, first, "name"))

    def _text(self, purpose: str, reply: JsonObject, key: str) -> str:
        value = reply.get(key)
        if not isinstance(value, str):
            malformed = border.MalformedError(f"no {key}")
            raise border.describe(malformed, base_url=self.connection.base_url, purpose=purpose)
        return value

    def list_calls(self, query: CallQuery) -> AsyncIterator[tuple[ObservationRow, ...]]:
        """Yield pages of observations without content, newest first; an id may come twice."""
        return observations.list_calls(self.connection, query)

    def fetch(self, wanted: Sequence[ObservationRow]) -> AsyncIterator[FetchedBatch]:
        """Yield the wanted observations with content, in batches bounded in bytes."""
        return observations.fetch(self.connection, wanted)

    async def fetch_traces(self, trace_ids: Sequence[str]) -> tuple[ObservationRow, ...]:
        """Return all observations of some traces, with content."""
        return await observations.fetch_traces(self.connection, trace_ids)

    async def marks(self, trace_ids: Iterable[str]) -> set[tuple[str, str]]:
        """Return (trace id, observation id) of the calls in these traces that are done."""
        return await scores.marks(self.connection, trace_ids)

    async def write_scores(self, outgoing: Sequence[OutgoingScore]) -> AsyncIterator[WriteReceipt]:
        """Write scores in the order given, in the largest requests that this server takes."""
        server = await self.health()
        send = write.write_arrays if server.takes_score_arrays else write.write_singly
        async for receipt in send(self.connection, outgoing):
            yield receipt

    async def delete_score(self, score_id: str) -> None:
        """Delete a score; Langfuse does so some time after its answer."""
        await self.connection.delete("delete a score", f"api/public/scores/{score_id}")

    async def ensure_configs(self, shapes: Sequence[ScoreShape]) -> Mapping[str, ScoreConfig]:
        """Return the score config of each name, creating those that are not there."""
        return await configs.ensure_configs(self.connection, shapes)

    def read_scores(self, query: ScoreQuery) -> AsyncIterator[tuple[StoredScore, ...]]:
        """Yield pages of stored scores with comment, metadata and target, newest first."""
        return scores.read_scores(self.connection, query)


def open_langfuse(settings: Settings, policy: RetryPolicy | None = None) -> LangfuseApi:
    """Return the project that the settings name; nothing is sent yet.

    Raises:
        ConfigError: the URL or a key is not set.
    """
    base_url, public_key, secret_key = settings.require_langfuse()
    chosen = policy or RetryPolicy(timeout_seconds=settings.langfuse_timeout_seconds)
    return LangfuseApi(Connection(base_url, public_key=public_key, secret_key=secret_key, policy=chosen))
