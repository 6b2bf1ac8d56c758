"""Read what the user configured: arguments over environment over `ragtrace.toml`."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from ragtrace.errors import ConfigError

TOML_NAME = "ragtrace.toml"
_PREFIXES = {
    "judge": "judge_",
    "capture": "capture_",
    "sampling": "sampling_",
    "metrics": "metrics_",
    "scorer": "scorer_",
}
_TABLE_KEYS = {("sampling", "rate"): "sample_rate"}
_WHOLE_TABLES = ("prices", "strata", "thresholds")
_LONGEST_SHOWN = 60


class Price(BaseModel):
    """What a model costs, in one currency, per million tokens."""

    model_config = ConfigDict(extra="forbid")

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class StratumSettings(BaseModel):
    """A kind of calls that is sampled at a rate of its own: `[strata.NAME]`; all conditions that are set must hold."""

    model_config = ConfigDict(extra="forbid")

    rate: float = Field(ge=0, le=1)
    trace_names: tuple[str, ...] = ()
    """Any of these."""
    tags: tuple[str, ...] = ()
    """Any of these."""
    environments: tuple[str, ...] = ()
    """Any of these."""
    marks: tuple[str, ...] = ()
    """Any of these suspicions of capture."""
    is_error: bool | None = None
    latency_over_seconds: float | None = Field(default=None, ge=0)
    delivery_below: float | None = Field(default=None, ge=0, le=1)
    """Share of retrieved passages of which something was received."""


def _alias(name: str) -> Any:
    """Accept a field by its own name and by another program's variable."""
    return Field(default=None, validation_alias=AliasChoices(name.lower(), name))


class Settings(BaseSettings):
    """Everything that can be configured. Environment variables are `RAGTRACE_` plus the field name in capitals.

    Langfuse's and OpenAI's own variables are read under their own names. `ragtrace.toml` holds the tables
    `[judge]`, `[capture]`, `[sampling]`, `[metrics]`, `[scorer]` (keys without the prefix), `[prices]`,
    `[strata.NAME]` and `[thresholds]`; any other key is an error.
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
    scorer_drain_seconds: float = Field(default=30.0, ge=0)
    """After SIGTERM, calls that are with the judge get so long to be finished."""
    scorer_listen: str | None = None
    """`host:port` for /healthz, /readyz and /metrics of `ragtrace score --follow`."""

    metrics_k: int = Field(default=5, ge=1)
    """Cut-off of the rank metrics, in passages."""
    metrics_string_similarity: float = Field(default=0.5, ge=0, le=1)
    """Above it two passages count as the same in `string_context_recall`."""
    metrics_undecided_limit: float = Field(default=0.25, ge=0, le=1)
    """Largest share of undecided claims that still leaves a number."""

    strata: dict[str, StratumSettings] = Field(default_factory=dict)
    """Kinds of calls with rates of their own; a call of several kinds has the highest rate."""
    prices: dict[str, Price] = Field(default_factory=dict)
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Pass marks by score name, in place of the defaults that the documentation of the metrics lists."""

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


def load_settings(
    environ: Mapping[str, str] | None = None,
    *,
    toml: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings; the only place that looks at the environment.

    Args:
        environ: Variables; the process's own by default.
        toml: Settings file; `ragtrace.toml` in the working directory by default, if it is there.
        overrides: Arguments by field name; None values are ignored.

    Raises:
        ConfigError: a value is out of its range, a key is unknown, or the file cannot be read.
    """
    variables = {name.lower(): value for name, value in (os.environ if environ is None else environ).items()}
    from_toml = _read_toml(toml)
    arguments = {name: value for name, value in (overrides or {}).items() if value is not None}

    class Configured(Settings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *sources: object, **named: object
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            environment = EnvSettingsSource(settings_cls, env_ignore_empty=True)
            environment.env_vars = {name: value for name, value in variables.items() if value}
            return (
                InitSettingsSource(settings_cls, arguments),
                environment,
                InitSettingsSource(settings_cls, from_toml),
            )

    try:
        return Configured()
    except ValidationError as exc:
        raise ConfigError(_describe(exc, variables, arguments)) from None
    except SettingsError as exc:
        raise ConfigError(
            f"environment: {exc}; tables such as prices are JSON there, or write them in {TOML_NAME}"
        ) from None


def _read_toml(path: Path | None) -> dict[str, object]:
    """Return the file's values by field name."""
    file = path or Path(TOML_NAME)
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if path is None:
            return {}
        raise ConfigError(f"{path}: there is no such settings file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{file}: not TOML: {exc}") from None
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be read: {exc.strerror}") from None
    return {field: value for field, (value, _shown) in _by_field(tables, file).items()}


def _by_field(tables: Mapping[str, object], file: Path) -> dict[str, tuple[object, str]]:
    """Flatten `[judge] model` to `judge_model`, refusing keys that no field has."""
    found: dict[str, tuple[object, str]] = {}
    for table, content in tables.items():
        if table in _WHOLE_TABLES:
            found[table] = (content, f"[{table}]")
            continue
        if table not in _PREFIXES or not isinstance(content, dict):
            known = ", ".join(f"[{name}]" for name in (*_PREFIXES, *_WHOLE_TABLES))
            raise ConfigError(f"{file}: `{table}`: unknown key; expected one of {known}")
        for key, value in content.items():
            field = _TABLE_KEYS.get((table, key), _PREFIXES[table] + key)
            if field not in Settings.model_fields:
                raise ConfigError(f"{file}: `[{table}] {key}`: unknown key; expected one of {_known_keys(table)}")
            found[field] = (value, f"[{table}] {key}")
    return found


def _known_keys(table: str) -> str:
    special = {field: key for (owner, key), field in _TABLE_KEYS.items() if owner == table}
    prefix = _PREFIXES[table]
    keys = [name.removeprefix(prefix) for name in Settings.model_fields if name.startswith(prefix)]
    return ", ".join(sorted([*keys, *special.values()]))


def _describe(exc: ValidationError, variables: Mapping[str, str], arguments: Mapping[str, object]) -> str:
    """Say in one line which setting is wrong, its value, and what is expected."""
    error = exc.errors()[0]
    name = str(error["loc"][0]).lower()
    field = next((f for f in Settings.model_fields if name in (f, *_variables(f))), name)
    value = repr(error["input"])
    shown = value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "…"
    if field in arguments:
        source = f"--{field.replace('_', '-')}"
    else:
        variable = next((v for v in _variables(field) if v in variables), None)
        source = variable.upper() if variable else f"{TOML_NAME}: {field}"
    detail = ".".join(str(part) for part in error["loc"][1:])
    return f"{source}{'.' + detail if detail else ''}={shown}: expected {_expected(field, error['msg'])}"


def _variables(field: str) -> list[str]:
    """Environment variables of a field, in lower case."""
    alias = Settings.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return [choice.lower() for choice in alias.choices if isinstance(choice, str) and choice != field]
    return [f"ragtrace_{field}"]


def _expected(field: str, message: str) -> str:
    if field in ("sample_rate", "capture_rate"):
        return "a number from 0 to 1"
    return message.removeprefix("Input should be ")
