"""Find out whether scoring would work, and say how to mend what would not."""

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from ragtrace import __version__
from ragtrace.errors import BackendError, ConfigError, JudgeError
from ragtrace.judge import make_judge
from ragtrace.judge.base import Judge
from ragtrace.judge.separation import measure_separation
from ragtrace.langfuse import RetryPolicy, open_langfuse
from ragtrace.model import RagCall
from ragtrace.scorer.command import project_key
from ragtrace.scorer.judging import untraced
from ragtrace.scorer.rows import read_row
from ragtrace.scorer.state import StateFile
from ragtrace.scorer.versions import compare_versions, installed_packages
from ragtrace.settings import Settings

DISTRIBUTION = "ragtrace-adapter"
FOREIGN_DISTRIBUTION = "ragtrace"
_PROBE_SECONDS = 20.0
_IMPATIENT = RetryPolicy(timeout_seconds=10.0, attempts=2, rate_limit_attempts=2)
Level = Literal["ok", "note", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    """`fail`: scoring cannot run. `note`: something will not work, or is worth knowing."""
    subject: str
    text: str
    """What was found and, where it is not well, how to mend it."""


async def examine(load: Callable[[], Settings]) -> list[Finding]:
    """Look at everything that scoring needs, one after the other; no key is ever shown."""
    findings = examine_packages()
    try:
        settings = load()
    except ConfigError as exc:
        return [*findings, Finding(level="fail", subject="settings", text=str(exc))]
    findings += [finding async for finding in _examine_langfuse(settings)]
    findings.append(await _examine_judge(settings))
    if settings.embedding_model is not None:
        findings.append(await _examine_embeddings(settings, settings.embedding_model))
    return [*findings, _sampling(settings)]


def examine_packages(version_of: Callable[[str], str] = metadata.version) -> list[Finding]:
    """Say which versions are installed, and whether somebody else's `ragtrace` is in the way."""
    found = [
        Finding(
            level="ok",
            subject="ragtrace",
            text=f"{DISTRIBUTION} {__version__}, Python {sys.version.split()[0]}",
        )
    ]
    if foreign := _foreign_package(version_of):
        found.append(
            Finding(
                level="fail",
                subject="packages",
                text=f"another project's package {FOREIGN_DISTRIBUTION!r} {foreign} is installed and overwrites ours: "
                f"`pip uninstall {FOREIGN_DISTRIBUTION}`, then install {DISTRIBUTION!r} again",
            )
        )
    versions = ", ".join(f"{name} {version}" for name, version in installed_packages(version_of).items())
    found.append(Finding(level="ok", subject="packages", text=versions))
    return found


def _foreign_package(version_of: Callable[[str], str]) -> str | None:
    try:
        return version_of(FOREIGN_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


async def _examine_langfuse(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with open_langfuse(settings, _IMPATIENT) as api:
            server = await api.health()
            text = f"{api.connection.base_url} answers, version {server.version}"
            yield Finding(level="ok", subject="langfuse", text=text)
            yield _versions(server.version)
            project = await api.project()
            name = f"{project.name} ({project.id})" if project else "one that the server does not name"
            yield Finding(level="ok", subject="project", text=f"the keys are of project {name}")
            with StateFile(settings.state, project=project_key(api)) as state:
                waiting = state.outbox_bytes()
            text = f"{settings.state}: writable" + (f", {waiting:,} bytes of scores wait to be sent" if waiting else "")
            yield Finding(level="ok", subject="state", text=text)
    except (ConfigError, BackendError) as exc:
        yield Finding(level="fail", subject="langfuse", text=str(exc))


def _versions(server: str) -> Finding:
    found = compare_versions(server, installed_packages())
    level: Level = "fail" if found.fatal else "note" if found.limits else "ok"
    return Finding(level=level, subject="versions", text=found.as_text())


async def _examine_judge(settings: Settings) -> Finding:
    deadline = min(settings.judge_deadline_seconds, _PROBE_SECONDS)
    try:
        judge = make_judge(settings.model_copy(update={"judge_deadline_seconds": deadline}))
    except ConfigError as exc:
        return Finding(level="fail", subject="judge", text=str(exc))
    try:
        return await _probe(judge, settings)
    except JudgeError as exc:
        return Finding(level="fail", subject="judge", text=str(exc))
    finally:
        await judge.aclose()


async def _probe(judge: Judge, settings: Settings) -> Finding:
    """Judge one tiny call, as scoring would."""
    with untraced():
        verdicts = await judge.judge(_tiny_call())
    answers = f"{judge.model} answers, {verdicts.judge.prompt_tokens + verdicts.judge.completion_tokens} tokens"
    where = f" at {settings.openai_base_url}" if settings.openai_base_url else ""
    if not settings.judge_model:
        return Finding(
            level="note",
            subject="judge",
            text="the embedded judge works; it finds support by wording only: set RAGTRACE_JUDGE_MODEL and "
            "OPENAI_API_KEY (and OPENAI_BASE_URL) for a model's verdicts",
        )
    return Finding(level="ok", subject="judge", text=answers + where)


async def _examine_embeddings(settings: Settings, model: str) -> Finding:
    """See whether answer_relevancy would mean something: a paraphrase must be nearer than an unrelated question."""
    if settings.judge_model is None:
        text = f"{model} is not used: answer_relevancy needs RAGTRACE_JUDGE_MODEL, too"
        return Finding(level="note", subject="embedding", text=text)
    # The OpenAI client takes a third of a second to import.
    from ragtrace.judge.llm import LlmJudge

    deadline = min(settings.judge_deadline_seconds, _PROBE_SECONDS)
    try:
        judge = LlmJudge(settings.model_copy(update={"judge_deadline_seconds": deadline}))
    except ConfigError as exc:
        return Finding(level="fail", subject="embedding", text=str(exc))
    try:
        with untraced():
            found = await measure_separation(judge)
    except JudgeError as exc:
        return Finding(level="fail", subject="embedding", text=str(exc))
    finally:
        await judge.aclose()
    unclear = [f"{s.language} {s.paraphrase:.2f} against {s.unrelated:.2f}" for s in found if not s.is_clear]
    if unclear:
        text = f"{model} hardly tells a paraphrase from an unrelated question ({', '.join(unclear)}): do not rely on "
        return Finding(level="note", subject="embedding", text=text + "answer_relevancy in these languages")
    languages = ", ".join(s.language for s in found)
    return Finding(level="ok", subject="embedding", text=f"{model} tells paraphrases from other questions: {languages}")


def _tiny_call() -> RagCall:
    call = read_row(
        {
            "id": "doctor",
            "question": "How high is the tower?",
            "contexts": ["The tower is 57 metres high."],
            "answer": "The tower is 57 metres high.",
        },
        1,
    )
    assert isinstance(call, RagCall)  # noqa: S101 - told to the type checker
    return call


def _sampling(settings: Settings) -> Finding:
    text = f"{settings.sample_rate:.0%} of captured calls are judged, {settings.concurrency} at a time"
    return Finding(level="ok" if settings.sample_rate else "note", subject="sampling", text=text)
