"""What the doctor finds."""

import socket
from importlib import metadata
from pathlib import Path

import pytest

from ragtrace import __version__
from ragtrace.errors import ConfigError
from ragtrace.local.in_thread import local_langfuse as serve_locally
from ragtrace.scorer.doctor import Finding, examine, examine_packages
from ragtrace.scorer.state import StateFile
from ragtrace.settings import Settings, load_settings
from tests.scorer.old_server import answering_health
from tests.scorer.test_state import A, scores


def settings_for(server, tmp_path: Path, **more: str) -> Settings:
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
            "RAGTRACE_STATE": str(tmp_path / "state.sqlite"),
            **more,
        }
    )


def settings_at(base_url: str, tmp_path: Path) -> Settings:
    variables = {"LANGFUSE_BASE_URL": base_url, "LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk"}
    return load_settings({**variables, "RAGTRACE_STATE": str(tmp_path / "state.sqlite")})


async def found(settings: Settings) -> dict[str, Finding]:
    return {f"{f.subject}": f for f in await examine(lambda: settings)}


async def test_all_is_well(local_langfuse, tmp_path):
    """Langfuse, its project, the state file, the judge and the sample are looked at; no key is shown."""
    settings = settings_for(local_langfuse, tmp_path, RAGTRACE_SAMPLE_RATE="0.05")

    findings = await found(settings)

    assert {
        subject: (f.level, f.text)
        for subject, f in findings.items()
        if subject not in ("ragtrace", "packages", "versions")
    } == {
        "langfuse": ("ok", f"{local_langfuse.base_url} answers, version 4.59.0"),
        "project": ("ok", "the keys are of project local (local-project)"),
        "state": ("ok", f"{tmp_path / 'state.sqlite'}: writable"),
        "judge": (
            "note",
            "the embedded judge works; it finds support by wording only: set RAGTRACE_JUDGE_MODEL and OPENAI_API_KEY "
            "(and OPENAI_BASE_URL) for a model's verdicts",
        ),
        "sampling": ("ok", "5% of captured calls are judged, 16 at a time"),
    }
    assert findings["versions"].level == "ok"
    assert findings["versions"].text.startswith("Langfuse 4.59.0, langfuse 5.")
    assert findings["versions"].text.endswith(": all of it works together")
    assert local_langfuse.secret_key not in str(findings)


async def test_an_older_langfuse_is_told(tmp_path):
    """Before 4.59 scores go one by one; that is worth knowing."""
    with serve_locally(tmp_path / "l.sqlite", emulate="4.16") as server:
        findings = await found(settings_for(server, tmp_path))

    assert findings["versions"].level == "note"
    assert "before Langfuse 4.59 scores go one a request" in findings["versions"].text


async def test_a_langfuse_that_is_too_old_fails(tmp_path):
    """Langfuse 3 has nothing to read calls from; the versions that have are named."""
    with answering_health("3.180.0") as base_url:
        findings = await found(settings_at(base_url, tmp_path))

    assert findings["versions"].level == "fail"
    assert "upgrade to 4.59 or later" in findings["versions"].text


async def test_scores_that_wait_are_told(local_langfuse, tmp_path):
    """Scores of an earlier run that were not sent are mentioned."""
    settings = settings_for(local_langfuse, tmp_path)
    with StateFile(settings.state, project=f"{local_langfuse.base_url} {local_langfuse.public_key}") as state:
        state.enqueue(A, scores(A, "x", body=b"1234"))

    assert "10 bytes of scores wait to be sent" in (await found(settings))["state"].text


async def test_nothing_configured(tmp_path):
    """Without Langfuse scoring cannot run; the variables are named."""
    findings = await found(load_settings({"RAGTRACE_SAMPLE_RATE": "0"}))

    assert findings["langfuse"].level == "fail"
    assert "LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY not set" in findings["langfuse"].text
    assert findings["sampling"] == Finding(
        level="note", subject="sampling", text="0% of captured calls are judged, 16 at a time"
    )


async def test_a_judge_that_does_not_answer(local_langfuse, tmp_path):
    """A judge that cannot be reached fails, with its URL."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        judge = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-secret", "RAGTRACE_JUDGE_MODEL": "m"}
        judge["RAGTRACE_JUDGE_DEADLINE_SECONDS"] = "0.2"
        findings = await found(settings_for(local_langfuse, tmp_path, **judge))

    assert findings["judge"].level == "fail"
    assert url in findings["judge"].text
    assert "sk-secret" not in str(findings)


async def test_a_judge_without_a_key(local_langfuse, tmp_path):
    """A judge model that needs a key and has none fails before anything is asked."""
    findings = await found(settings_for(local_langfuse, tmp_path, RAGTRACE_JUDGE_MODEL="m"))

    assert findings["judge"].level == "fail"
    assert "OPENAI_API_KEY" in findings["judge"].text


async def test_settings_that_cannot_be_read():
    """A wrong setting is a finding, and nothing further is tried."""

    def load() -> Settings:
        raise ConfigError("RAGTRACE_SAMPLE_RATE='2': expected a number from 0 to 1")

    findings = await examine(load)

    assert findings[-1] == Finding(
        level="fail", subject="settings", text="RAGTRACE_SAMPLE_RATE='2': expected a number from 0 to 1"
    )
    assert [f.subject for f in findings] == ["ragtrace", "packages", "settings"]


def version_with_foreign(distribution: str) -> str:
    if distribution == "ragtrace":
        return "9.9"
    raise metadata.PackageNotFoundError


def test_somebody_elses_package_is_detected():
    """The other project's `ragtrace` writes over ours; how to get rid of it is said."""
    findings = examine_packages(version_with_foreign)

    assert findings[0].text.startswith(f"ragtrace-adapter {__version__}, Python ")
    assert findings[1:] == [
        Finding(
            level="fail",
            subject="packages",
            text="another project's package 'ragtrace' 9.9 is installed and overwrites ours: `pip uninstall ragtrace`, "
            "then install 'ragtrace-adapter' again",
        ),
        Finding(level="ok", subject="packages", text=""),
    ]


@pytest.mark.parametrize("name", ["ragtrace-adapter", "openai"])
def test_our_own_packages_are_found(name):
    """Versions come from what is installed."""
    texts = " ".join(f.text for f in examine_packages())

    assert metadata.version(name) in texts
    assert all(f.level == "ok" for f in examine_packages())
