"""Read what the user configured: arguments over environment over `ragtrace.toml`."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import AliasChoices, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

from ragtrace.errors import ConfigError
from ragtrace.settings.fields import Settings

TOML_NAME = "ragtrace.toml"
_PREFIXES = {
    "judge": "judge_",
    "capture": "capture_",
    "sampling": "sampling_",
    "metrics": "metrics_",
    "scorer": "scorer_",
    "references": "references_",
}
_TABLE_KEYS = {("sampling", "rate"): "sample_rate"}
_WHOLE_TABLES = ("prices", "strata", "feedback", "thresholds", "alarms")
_LONGEST_SHOWN = 60


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
    if message.startswith("Input should be a valid dictionary"):
        return "a table"
    return message.removeprefix("Input should be ").removeprefix("Value error, ")
