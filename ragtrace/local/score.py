"""Hold a score as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragtrace.local.wire import Json

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One score; its subject is a trace (and perhaps an observation in it), a session or a dataset run."""

    id: str
    name: str
    data_type: str
    value: float | str
    """A number for NUMERIC and BOOLEAN (0 or 1), else text."""
    timestamp_ms: int
    trace_id: str | None = None
    observation_id: str | None = None
    session_id: str | None = None
    dataset_run_id: str | None = None
    comment: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    environment: str = "default"
    source: str = "API"
    config_id: str | None = None
    queue_id: str | None = None
    author_user_id: str | None = None
    created_ms: int = 0
    updated_ms: int = 0
    """Set by the store, as is `created_ms`."""

    @property
    def day(self) -> int:
        """The UTC day of the timestamp, counted from 1970."""
        return self.timestamp_ms // DAY_MS


def merge(old: Score, new: Score) -> Score:
    """Return what 4.16 makes of a second post of an id: its subject, time and environment stay."""
    return replace(
        new,
        timestamp_ms=old.timestamp_ms,
        trace_id=old.trace_id,
        observation_id=old.observation_id,
        session_id=old.session_id,
        dataset_run_id=old.dataset_run_id,
        environment=old.environment,
        comment=old.comment if new.comment is None else new.comment,
        metadata=_merge_metadata(old.metadata, new.metadata),
        config_id=new.config_id or old.config_id,
        queue_id=new.queue_id or old.queue_id,
        created_ms=old.created_ms,
    )


def _merge_metadata(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    merged = dict(old)
    for key, value in new.items():
        inner = merged.get(key)
        both_objects = isinstance(inner, dict) and isinstance(value, dict)
        merged[key] = _merge_metadata(inner, value) if both_objects else value  # type: ignore[arg-type] # just checked
    return merged
