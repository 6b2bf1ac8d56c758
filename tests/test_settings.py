"""Settings: arguments over environment over one TOML file, and errors that name key and value."""

from pathlib import Path

import pytest

from ragtrace.errors import ConfigError
from ragtrace.settings import load_settings


def test_arguments_win_over_environment_over_file(tmp_path: Path):
    """Each source overrides the one below it, and what none sets keeps its default."""
    file = tmp_path / "ragtrace.toml"
    file.write_text(
        '[judge]\nmodel = "file"\nmode = "lean"\n[sampling]\nrate = 0.5\nsalt = "s"\n[capture]\nrate = 0.9\n'
    )

    settings = load_settings(
        {"RAGTRACE_JUDGE_MODEL": "environment", "RAGTRACE_SAMPLE_RATE": "0.25"},
        toml=file,
        overrides={"sample_rate": 0.1, "judge_mode": None},
    )

    assert (settings.judge_model, settings.judge_mode) == ("environment", "lean")
    assert (settings.sample_rate, settings.sampling_salt, settings.capture_rate) == (0.1, "s", 0.9)
    assert settings.concurrency == 16


def test_langfuse_and_openai_variables_keep_their_names():
    """Variables that other tools share are read as they are, and keys stay out of the representation."""
    settings = load_settings(
        {
            "LANGFUSE_BASE_URL": "http://127.0.0.1:1/",
            "LANGFUSE_PUBLIC_KEY": "pk",
            "LANGFUSE_SECRET_KEY": "sk-secret",
            "OPENAI_API_KEY": "sk-openai",
            "LANGFUSE_TRACING_ENVIRONMENT": "prod",
        }
    )

    assert settings.require_langfuse() == ("http://127.0.0.1:1", "pk", "sk-secret")
    assert settings.environment == "prod"
    assert "sk-" not in repr(settings)


def test_a_missing_langfuse_variable_is_named():
    """Nothing is sent anywhere because a variable was unset: the error names it."""
    settings = load_settings({"LANGFUSE_BASE_URL": "http://x", "LANGFUSE_PUBLIC_KEY": ""})

    with pytest.raises(ConfigError, match=r"^LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY not set: "):
        settings.require_langfuse()


@pytest.mark.parametrize(
    ("environ", "overrides", "message"),
    [
        ({"RAGTRACE_SAMPLE_RATE": "2"}, {}, "RAGTRACE_SAMPLE_RATE='2': expected a number from 0 to 1"),
        ({"RAGTRACE_JUDGE_MODE": "fast"}, {}, "RAGTRACE_JUDGE_MODE='fast': expected 'lean', 'default' or 'all'"),
        ({}, {"concurrency": 0}, "--concurrency=0: expected greater than or equal to 1"),
        ({"RAGTRACE_PRICES": "{"}, {}, 'environment: error parsing value for field "prices"'),
        ({}, {"judge_model": "x" * 80, "judge_mode": "y" * 80}, "--judge-mode='" + "y" * 59 + "…: expected 'lean', "),
    ],
)
def test_a_wrong_value_is_one_line_with_its_key(environ: dict[str, str], overrides: dict[str, object], message: str):
    """The error says which setting, which value and what was expected."""
    with pytest.raises(ConfigError) as caught:
        load_settings(environ, overrides=overrides)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[judge]\nmodl = 1", "`[judge] modl`: unknown key; expected one of "),
        (b"colour = 1", "`colour`: unknown key; expected one of [judge], "),
        (b"judge = 1", "`judge`: unknown key; expected one of [judge], "),
        (b"[judge", "not TOML: "),
        (b"\xff", "not TOML: "),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, message: str):
    """An unknown key or a broken file is an error that names the file."""
    file = tmp_path / "ragtrace.toml"
    file.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        load_settings({}, toml=file)

    assert str(caught.value).startswith(f"{file}: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[prices]\nm = 3", "prices.m=3: expected a table"),
        (
            '[alarms.a]\nmetric = "faithfulness"',
            "alarms.a={'metric': 'faithfulness'}: expected one of above, below and change",
        ),
    ],
)
def test_what_is_expected_is_said_in_terms_of_the_file(tmp_path: Path, content: str, message: str):
    """A table of the wrong shape is described as a table, not as an object of ours."""
    file = tmp_path / "ragtrace.toml"
    file.write_text(content)

    with pytest.raises(ConfigError) as caught:
        load_settings({}, toml=file)

    assert str(caught.value) == f"ragtrace.toml: {message}"


def test_a_value_in_the_file_is_named_by_its_key(tmp_path: Path):
    """A wrong value that came from the file says so."""
    file = tmp_path / "ragtrace.toml"
    file.write_text("[prices.gpt]\nprompt = -1\ncompletion = 1\n")

    with pytest.raises(
        ConfigError, match=r"^ragtrace.toml: prices.gpt.prompt=-1: expected greater than or equal to 0$"
    ):
        load_settings({}, toml=file)


def test_a_missing_file_is_an_error_only_if_named(tmp_path: Path):
    """The default file may be missing; a file that was asked for may not, nor may a folder stand there."""
    with pytest.raises(ConfigError, match="there is no such settings file"):
        load_settings({}, toml=tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings({}, toml=tmp_path)
