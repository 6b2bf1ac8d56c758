"""The demo as a whole, and what the command prints."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from rich.console import Console
from rich.progress import Progress

from ragtrace.capture.client import reset
from ragtrace.demo.console import print_findings
from ragtrace.demo.corpus import load_questions
from ragtrace.demo.faults import FAULT_KINDS, Ledger, LedgerEntry
from ragtrace.demo.findings import Findings, PlantedFault
from ragtrace.demo.generator import DemoChatModel
from ragtrace.demo.run import DemoResult, answer_all, demo_settings, make_model, run_demo
from ragtrace.demo.server import DemoServer, source_mark
from ragtrace.errors import BackendUnavailable, ConfigError
from ragtrace.settings import load_settings
from tests.demo.servers import stop_servers
from tests.report.samples import clear, report

SERVER = DemoServer(base_url="http://127.0.0.1:9", public_key="pk", secret_key="sk", pid=0, source="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished demo."""

    result: DemoResult
    folder: Path
    printed: str
    server: DemoServer


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Run]:
    """One demo for all tests; its server is stopped afterwards."""
    folder = tmp_path_factory.mktemp("demo")
    out = StringIO()
    work = run_demo(folder, model_name=None, out=Console(file=out, width=140), progress=Console(file=StringIO()))
    result = asyncio.run(work)
    server = DemoServer(**json.loads((folder / "server.json").read_text()))
    yield Run(result=result, folder=folder, printed=out.getvalue(), server=server)
    stop_servers()


@pytest.fixture(scope="module", autouse=True)
def _nothing_configured() -> Iterator[None]:
    """The demo configures a project; other tests of this process must not find it."""
    yield
    reset()


def test_demo_answers_and_scores_enough(run):
    """At least 50 questions are answered and at least 40 of the answers scored; the line says where to look."""
    line = json.loads(run.result.as_line())

    assert line["calls"] >= 50
    assert line["scored"] >= 40
    assert line["unscored"] == line["calls"] - line["scored"]
    assert list(line) == ["calls", "scored", "unscored", "seconds", "report", "server"]
    assert Path(line["report"]).read_text(encoding="utf-8").count('<details class="call"') == line["calls"]
    assert httpx.get(line["server"]).status_code == 200


def test_demo_counts_each_kind_of_fault(run):
    """The table has a row a kind, and every miss is listed with its sentence."""
    for words in ("invented", "swapped entity", "contradicted", "taken from cut text"):
        assert any(line.startswith(words) for line in run.printed.splitlines())
    row = next(line.split() for line in run.printed.splitlines() if line.startswith("all "))
    planted, caught, missed, not_judged = map(int, row[1:])

    assert planted >= 16
    assert planted == caught + missed + not_judged
    assert run.printed.count("\nmissed, ") == missed
    assert "False alarms: " in run.printed


def test_delivery_loses_text(run):
    """The token budget cuts and drops passages, and what reached the generator is known."""
    page = Path(run.result.report).read_text(encoding="utf-8")

    assert "not known whether it arrived" not in page
    assert "dropped: the generator never saw it" in page
    assert " words not sent]" in page
    assert "Which passages there were is unknown" not in page


def test_planted_faults_are_told_to_nobody(run):
    """Neither kinds of faults nor the ledger reach the server that the judge reads from."""
    auth = (run.server.public_key, run.server.secret_key)
    stored = httpx.get(
        f"{run.server.base_url}/api/public/v2/observations",
        params={"limit": 1000, "fields": "core,io,metadata"},
        auth=auth,
    ).text

    assert "ragtrace-demo-extractive" in stored
    assert [word for word in (*FAULT_KINDS, "ledger", "planted", "faulty") if f'"{word}' in stored] == []


def test_demo_ignores_another_langfuse():
    """Whatever LANGFUSE_BASE_URL says, the demo reads and writes its own server only."""
    settings = demo_settings(SERVER, Path("x"))

    assert settings.require_langfuse() == ("http://127.0.0.1:9", "pk", "sk")
    assert (settings.capture_rate, settings.sample_rate, settings.state) == (1.0, 1.0, Path("x/state.sqlite"))


@pytest.mark.parametrize(
    ("environ", "name", "expected"),
    [
        ({}, None, DemoChatModel),
        ({}, "m", DemoChatModel),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9"}, None, DemoChatModel),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY": "k"}, "m", ChatOpenAI),
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY": "k", "RAGTRACE_JUDGE_MODEL": "j"},
            None,
            ChatOpenAI,
        ),
    ],
)
def test_generator_is_the_configured_model(environ, name, expected):
    """A real model answers where an endpoint and a model are named; else the demo's own."""
    assert type(make_model(load_settings(environ), name, ledger=Ledger())) is expected


class _Faltering(BaseChatModel):
    """Fails on every second question, or on all."""

    every: int
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "faltering"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked += 1
        if self.asked % self.every == 0:
            raise ConnectionError("the line is dead")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes."))])


def test_unanswered_questions_are_counted(run):
    """A model that fails now and then does not end the demo; the first failure is shown."""
    said = StringIO()
    with Progress(console=Console(file=said, width=140)) as bars:
        answer_all(_Faltering(every=2), load_questions()[:4], server=run.server, bars=bars)

    assert "2 of 4 questions were not answered: the line is dead" in said.getvalue()


def test_model_that_never_answers_is_one_line(run):
    """A model that answers nothing is an error that names the setting."""
    with (
        Progress(console=Console(file=StringIO())) as bars,
        pytest.raises(ConfigError, match=r"^OPENAI_BASE_URL: .* dead$"),
    ):
        answer_all(_Faltering(every=1), load_questions()[:2], server=run.server, bars=bars)


def test_answers_that_get_lost_are_an_error(run):
    """If the answers cannot reach the demo's server, it says so."""
    with Progress(console=Console(file=StringIO())) as bars, pytest.raises(BackendUnavailable, match="did not reach"):
        answer_all(_Faltering(every=9), load_questions()[:1], server=SERVER, bars=bars, flush_seconds=0.2)


def test_scores_that_cannot_be_written_end_the_demo(local_langfuse, tmp_path):
    """If the server takes no scores the demo ends with the line that says why."""
    server = {"base_url": local_langfuse.base_url, "pid": 0, "source": source_mark()}
    keys = {"public_key": local_langfuse.public_key, "secret_key": local_langfuse.secret_key}
    (tmp_path / "server.json").write_text(json.dumps(server | keys))
    local_langfuse.faults.apply({"path": "/api/public/scores", "method": "POST", "status": 401})
    quiet = Console(file=StringIO())

    with pytest.raises(BackendUnavailable, match=r"keys refused \(401\)"):
        asyncio.run(run_demo(tmp_path, model_name=None, out=quiet, progress=quiet))


def test_false_alarms_are_listed():
    """Sentences that are right and were flagged all the same are shown."""
    out = StringIO()
    entry = LedgerEntry(question="?", kind="invented", planted="Lies.", answer="")
    findings = Findings(
        faults=(PlantedFault(entry=entry, is_judged=False, is_caught=False),), honest=3, false_alarms=("True.",)
    )
    print_findings(Console(file=out, width=140), report(clear()), findings)

    assert "not judged, invented: “Lies.”" in out.getvalue()
    assert "False alarms: 1 of 3 sentences in which nothing was planted.\nfalse alarm: “True.”" in out.getvalue()


def test_real_model_has_no_planted_faults():
    """With a real model nothing was planted, and the demo says that nothing can be counted."""
    out = StringIO()
    print_findings(Console(file=out, width=140), report(clear()), Findings(faults=(), honest=1, false_alarms=()))

    assert "no fault was planted" in out.getvalue()
