"""Every setting: its name, default, range and meaning."""

from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragtrace.errors import ConfigError
from ragtrace.settings.tables import AlarmSettings, FeedbackSettings, Price, StratumSettings


def _alias(name: str) -> Any:
    """Accept a field by its own name and by another program's variable."""
    return Field(default=None, validation_alias=AliasChoices(name.lower(), name))


class Settings(BaseSettings):
    """Everything that can be configured. Environment variables are `RAGTRACE_` plus the field name in capitals.

    Langfuse's and OpenAI's own variables are read under their own names. `ragtrace.toml` holds the tables
    `[judge]`, `[capture]`, `[sampling]`, `[metrics]`, `[scorer]` (keys without the prefix), `[prices]`,
    `[strata.NAME]`, `[feedback.NAME]`, `[thresholds]` and `[alarms.NAME]`; any other key is an error.
    """

    model_config = SettingsConfigDict(
        env_prefix="RAGTRACE_", extra="forbid", frozen=True, populate_by_name=True, env_ignore_empty=True
    )

    langfuse_base_url: str | None = _alias("LANGFUSE_BASE_URL")
    """Where Langfuse is. Never guessed: without it nothing is sent anywhere."""
    langfuse_public_key: str | None = _alias("LANGFUSE_PUBLIC_KEY")
    langfuse_secret_key: SecretStr | None = _alias("LANGFUSE_SECRET_KEY")
    langfuse_timeout_seconds: float = Field(default=30.0, gt=0)
    """Longest wait for one answer of Langfuse."""
    openai_base_url: str | None = _alias("OPENAI_BASE_URL")
    openai_api_key: SecretStr | None = _alias("OPENAI_API_KEY")
    otel_exporter_otlp_endpoint: str | None = _alias("OTEL_EXPORTER_OTLP_ENDPOINT")
    """Where captured calls go when no Langfuse is named; `/v1/traces` is added."""
    otel_exporter_otlp_traces_endpoint: str | None = _alias("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    """The same, taken as it is."""
    otel_exporter_otlp_headers: SecretStr | None = _alias("OTEL_EXPORTER_OTLP_HEADERS")
    otel_exporter_otlp_traces_headers: SecretStr | None = _alias("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
    environment: str | None = Field(
        default=None,
        validation_alias=AliasChoices("environment", "RAGTRACE_ENVIRONMENT", "LANGFUSE_TRACING_ENVIRONMENT"),
    )
    release: str | None = Field(
        default=None, validation_alias=AliasChoices("release", "RAGTRACE_RELEASE", "LANGFUSE_RELEASE")
    )

    judge_model: str | None = None
    """Model name at the OpenAI-compatible endpoint; None: the embedded judge."""
    judge_mode: Literal["lean", "default", "all"] = "default"
    """`lean`: verdict letters only; `all`: a reason for every claim."""
    judge_timeout_seconds: float = Field(default=60.0, gt=0)
    """Longest wait for one HTTP reply."""
    judge_deadline_seconds: float = Field(default=120.0, gt=0)
    """Longest wait for one call's verdicts, retries included."""
    judge_context_tokens: int = Field(default=100_000, ge=1_000)
    """The judge model's window; longer prompts are split by passage."""
    judge_completion_tokens: int = Field(default=4_096, ge=64)
    judge_tokens_per_hour: int | None = Field(default=None, ge=1)
    judge_tokens_per_run: int | None = Field(default=None, ge=1)
    judge_calibration: Path | None = None
    """File of `ragtrace calibrate`: where labels of people placed the embedded judge's threshold."""
    embedding_model: str | None = None

    capture_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of calls that are captured at all, by hash of the trace id."""
    capture_pipeline: Literal["own", "application"] = "own"
    capture_align_in_app: bool = False
    capture_record_bytes: int = Field(default=4_000_000, ge=10_000)
    """Largest rag-call observation; a larger one is capped and marked."""
    capture_queue_bytes: int = Field(default=64_000_000, ge=1_000_000)
    """Most text waiting for the background thread; more is dropped and counted."""

    sample_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of captured calls that are judged, by hash of the trace id."""
    sampling_salt: str = ""
    sampling_tokens_per_hour: int | None = Field(default=None, ge=1)
    """Judge tokens that an hour may cost: thins the sample evenly, five minutes by five minutes."""
    concurrency: int = Field(default=16, ge=1, le=1024)
    """Most judge calls in flight."""
    state: Path = Path(".ragtrace/state.sqlite")
    """The scorer's ledger and cache; losing it costs judge calls, never a duplicate."""

    scorer_poll_seconds: float = Field(default=30.0, gt=0)
    """`ragtrace score --follow` looks for new calls so often."""
    scorer_overlap_seconds: float = Field(default=300.0, ge=0)
    """Each look goes back so far behind the last: as late as calls usually arrive, clocks being off included."""
    scorer_late_seconds: float = Field(default=7200.0, ge=0)
    """A deep look goes back so far, for calls that arrive very late."""
    scorer_sweep_seconds: float = Field(default=900.0, gt=0)
    """A deep look is taken so often."""
    scorer_longest_call_seconds: float = Field(default=600.0, gt=0)
    """No call takes longer from its first retrieval to its answer."""
    scorer_rebuild: bool = False
    """Score traces of other instrumentations, too, which have no rag-call: rebuilt from their observations."""
    scorer_settle_seconds: float = Field(default=60.0, ge=0)
    """A trace without a rag-call is read when nothing of it ended for so long."""
    scorer_incomplete_seconds: float = Field(default=1800.0, ge=0)
    """A trace that lacks its answer is waited for so long, then unscored."""
    scorer_comments: bool = False
    """Comment in Langfuse on each answer that fails, once."""
    scorer_events: str | None = None
    """Where scores go as OTel events, too: an OTLP/HTTP address of logs (`http://…/v1/logs`), or a file."""
    scorer_drain_seconds: float = Field(default=30.0, ge=0)
    """After SIGTERM, calls that are with the judge get so long to be finished."""
    scorer_feedback_delay_seconds: float = Field(default=900.0, ge=0)
    """Feedback of users is looked at when it is this old."""
    scorer_claim_seconds: float = Field(default=600.0, gt=0)
    """With --distributed: work that a worker did not finish in so long is taken over by another."""
    scorer_listen: str | None = None
    """`host:port` for /healthz, /readyz and /metrics of `ragtrace score --follow`."""

    references_file: Path = Path(".ragtrace/references.jsonl")
    """Known good answers, as `ragtrace references` keeps them; read where it is there."""
    references_similarity: float | None = Field(default=None, ge=0.5, le=1)
    """From this similarity of their words on, two questions count as the same; not set: only equal ones do."""
    references_function: str | None = None
    """`module:function` that is given each call and returns its reference, or None."""
    references_gate: bool = True
    """A reference that `ragtrace references check` found wanting gives `reference_mismatch` instead of a recall."""

    metrics_k: int = Field(default=5, ge=1)
    """Cut-off of the rank metrics, in passages."""
    metrics_string_similarity: float = Field(default=0.5, ge=0, le=1)
    """Above it two passages count as the same in `string_context_recall`."""
    metrics_undecided_limit: float = Field(default=0.25, ge=0, le=1)
    """Largest share of undecided claims that still leaves a number."""

    strata: dict[str, StratumSettings] = Field(default_factory=dict)
    """Kinds of calls with rates of their own; a call of several kinds has the highest rate."""
    feedback: dict[str, FeedbackSettings] = Field(default_factory=dict)
    """Feedback of users whose calls are judged at a rate of their own, in a second pass of `--follow` and `--once`."""
    prices: dict[str, Price] = Field(default_factory=dict)
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Pass marks by score name, in place of the defaults that the documentation of the metrics lists."""

    alarms: dict[str, AlarmSettings] = Field(default_factory=dict)
    """What `ragtrace alarms` watches."""

    def require_langfuse(self) -> tuple[str, str, str]:
        """Return (base URL, public key, secret key) of Langfuse.

        Raises:
            ConfigError: one of the three is not set.
        """
        base_url, public_key, secret_key = self.langfuse_base_url, self.langfuse_public_key, self.langfuse_secret_key
        if base_url and public_key and secret_key:
            return base_url.rstrip("/"), public_key, secret_key.get_secret_value()
        found = {
            "LANGFUSE_BASE_URL": base_url,
            "LANGFUSE_PUBLIC_KEY": public_key,
            "LANGFUSE_SECRET_KEY": secret_key,
        }
        missing = ", ".join(name for name, value in found.items() if not value)
        raise ConfigError(f"{missing} not set: name your Langfuse project, or start one with `ragtrace serve`")
