"""The commands score, judge and doctor, as people call them."""

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragtrace.cli import app
from ragtrace.errors import RagtraceError
from tests.seed import TOWER, SeedCall, seed, stored_scores, trace_id

ROW = {"id": "a", "question": "How high?", "contexts": [TOWER], "answer": TOWER}


class Shell:
    """Runs commands in an empty folder with only the variables that a test sets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables: dict[str, str] = {"RAGTRACE_STATE": str(folder / "state.sqlite")}

    def use(self, server) -> None:
        self.variables |= {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
        }

    def run(self, *arguments: str, stdin: str | None = None, **variables: str) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin, env={**self.variables, **variables})


@pytest.fixture
def shell(tmp_path, monkeypatch):
    # The working directory and the variables of the process are what a command reads; nothing of ours is patched.
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("LANGFUSE_", "OPENAI_", "RAGTRACE_", "OTEL_")):
            monkeypatch.delenv(name)
    return Shell(tmp_path)


def recent(count: int, *, first: int = 0) -> list[SeedCall]:
    now = datetime.now(UTC)
    return [SeedCall(number=first + n, started_at=now - timedelta(seconds=60 + n)) for n in range(count)]


def test_score_and_score_again(shell, local_langfuse):
    """`ragtrace score` scores the last day's calls; a second time it finds all of them done."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(3))

    first, again = shell.run("score"), shell.run("score", "--json")

    assert first.exit_code == 0, first.output
    assert first.stdout.splitlines()[:3] == [
        "3 calls since 24h, 3 sampled",
        "  scored          3",
        "  already scored  0",
    ]
    assert again.exit_code == 0
    counts = json.loads(again.stdout)
    assert (counts["listed"], counts["already_scored"], counts["scored"], counts["judge_calls"]) == (3, 3, 0, 0)
    assert len(stored_scores(local_langfuse, name="rag_outcome")) == 3


def test_score_options(shell, local_langfuse):
    """One trace, other metrics, another sample and another window are arguments."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(4))

    trace = json.loads(
        shell.run("score", "--trace", trace_id(1), "--sample-rate", "0", "--metrics", "faithfulness", "--json").stdout
    )
    none = json.loads(shell.run("score", "--sample-rate", "0", "--json").stdout)
    early = shell.run("score", "--since", "2020-01-01", "--until", "2020-01-02")
    preview = json.loads(shell.run("score", "--dry-run", "--json", RAGTRACE_JUDGE_MODEL="m", OPENAI_API_KEY="k").stdout)

    assert (trace["scored"], trace["window"]) == (1, f"in trace {trace_id(1)}")
    assert {str(s["name"]) for s in stored_scores(local_langfuse)} == {"faithfulness", "rag_outcome"}
    assert none["not_sampled"] == 4
    assert (early.exit_code, early.stdout) == (
        0,
        "No rag-call since 2020-01-01 until 2020-01-02: nothing to score.\n",
    )
    assert (preview["would_judge"], preview["already_scored"]) == (3, 1)
    assert preview["prompt_tokens"] > 3000
    assert len(stored_scores(local_langfuse)) == 2


def test_prices_make_a_dry_run_say_its_cost(shell, local_langfuse):
    """With a price for the judge's model the estimate has a cost."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(1))
    (shell.folder / "ragtrace.toml").write_text("[prices]\nm = {prompt = 1.0, completion = 2.0}\n")

    preview = json.loads(shell.run("score", "--dry-run", "--json", RAGTRACE_JUDGE_MODEL="m", OPENAI_API_KEY="k").stdout)

    assert preview["cost"] == pytest.approx((preview["prompt_tokens"] + 2 * preview["completion_tokens"]) / 1e6)


def test_once_and_backfill(shell, local_langfuse):
    """`--once` scores what is new since the last look; `--backfill` goes through the hours and goes on where it ended."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(2))

    once = [json.loads(shell.run("score", "--once", "--json").stdout) for _ in range(2)]
    since = (datetime.now(UTC) - timedelta(hours=3)).isoformat()
    seed(local_langfuse, [SeedCall(number=50, started_at=datetime.now(UTC) - timedelta(hours=2))])
    backfill = [json.loads(shell.run("score", "--backfill", "--since", since, "--json").stdout) for _ in range(2)]

    assert [look["scored"] for look in once] == [2, 0]
    assert [(run["scored"], run["already_scored"]) for run in backfill] == [(1, 2), (0, 0)]


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (["--metrics", "faithfulness,nope"], {}, "metric 'nope': unknown; expected one of faithfulness,"),
        (["--sample-rate", "2"], {}, "--sample-rate=2.0: expected a number from 0 to 1"),
        ([], {"RAGTRACE_SAMPLE_RATE": "x"}, "RAGTRACE_SAMPLE_RATE='x': expected a number from 0 to 1"),
        (["--since", "yesterday"], {}, "--since 'yesterday': expected how long ago"),
        (["--follow", "--once"], {}, "--follow, --once, --backfill, --dry-run: give one of them"),
        ([], {"LANGFUSE_SECRET_KEY": "sk-wrong"}, "keys refused (401)"),
        ([], {"LANGFUSE_BASE_URL": "localhost"}, "expected a URL such as https://cloud.langfuse.com"),
        ([], {"LANGFUSE_BASE_URL": ""}, "LANGFUSE_BASE_URL not set"),
        ([], {"RAGTRACE_JUDGE_MODEL": "m"}, "OPENAI_API_KEY"),
        ([], {"RAGTRACE_STATE": "/dev/null/x"}, "RAGTRACE_STATE='/dev/null/x': cannot be used"),
    ],
)
def test_bad_input_starts_nothing(shell, local_langfuse, arguments, variables, said):
    """What is wrong is named with its value and the mend; nothing is judged or written."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(1))

    outcome = shell.run("score", *arguments, **variables)

    assert isinstance(outcome.exception, RagtraceError)
    assert said in str(outcome.exception)
    assert "\n" not in str(outcome.exception)
    assert stored_scores(local_langfuse) == []


def test_an_unknown_key_in_the_settings_file(shell, local_langfuse):
    """A key that nobody knows is an error with the keys that there are; the doctor says the same and ends with 1."""
    shell.use(local_langfuse)
    (shell.folder / "ragtrace.toml").write_text('[judge]\nmodle = "m"\n')

    score, doctor = shell.run("score"), shell.run("doctor")

    assert "ragtrace.toml: `[judge] modle`: unknown key; expected one of" in str(score.exception)
    assert doctor.exit_code == 1
    assert "fail  settings  ragtrace.toml: `[judge] modle`: unknown key" in doctor.stdout


def test_langfuse_away_in_the_middle(shell, local_langfuse):
    """Scores that could not be written are said, and the exit code tells; the next run sends them."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(2))
    local_langfuse.faults.apply({"path": "/api/public/scores", "method": "POST", "status": 400})

    down = shell.run("score", "--json")
    local_langfuse.faults.clear()

    counts = json.loads(down.stdout)
    assert (down.exit_code, counts["refused"]) == (1, 2)


def test_a_judge_that_is_down(shell, local_langfuse):
    """One line names the judge; calls are pending, nothing is written, exit code 1."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(2))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = shell.run(
            "score",
            RAGTRACE_JUDGE_MODEL="m",
            OPENAI_API_KEY="k",
            OPENAI_BASE_URL=f"http://127.0.0.1:{unused.getsockname()[1]}/v1",
            RAGTRACE_JUDGE_DEADLINE_SECONDS="0.2",
        )

    assert outcome.exit_code == 1
    assert "  pending         2 (judge_unavailable 2)" in outcome.stdout
    assert outcome.stderr.startswith("ragtrace: judge 'm'")
    assert stored_scores(local_langfuse) == []


def test_judge_reads_a_file(shell):
    """`ragtrace judge` writes one line a row, and says on standard error what it could not read."""
    (shell.folder / "calls.jsonl").write_text(json.dumps(ROW) + "\nnonsense\n")

    outcome = shell.run("judge", "calls.jsonl")

    assert outcome.exit_code == 0
    assert [json.loads(line)["id"] for line in outcome.stdout.splitlines()] == ["a", "2"]
    assert outcome.stderr.splitlines()[0].startswith("ragtrace: calls.jsonl:2: not JSON")
    assert outcome.stderr.splitlines()[1] == "2 rows: 1 scored, 0 unscored, 1 not readable."


def test_judge_reads_standard_input(shell):
    """`-` is standard input, and `--out` a file."""
    outcome = shell.run("judge", "-", "--out", "out.jsonl", "--metrics", "faithfulness", stdin=json.dumps(ROW))

    assert outcome.exit_code == 0
    written = json.loads((shell.folder / "out.jsonl").read_text())
    assert written["scores"]["faithfulness"] == {"value": 1.0, "reason": None}


@pytest.mark.parametrize(("row", "exit_code"), [({**ROW, "contexts": []}, 1), ({"question": "q"}, 2), (ROW, 0)])
def test_exit_codes_of_judge(shell, row, exit_code):
    """1 where no row could be judged, 2 where no row could be read."""
    assert shell.run("judge", "-", stdin=json.dumps(row)).exit_code == exit_code


def test_judge_never_writes_over_its_input(shell):
    """The file to be judged is left alone where it is named as output, too."""
    rows = shell.folder / "rows.jsonl"
    rows.write_text(json.dumps(ROW))

    outcome = shell.run("judge", "rows.jsonl", "--out", "./rows.jsonl")

    assert (str(outcome.exception), rows.read_text()) == (
        "--out ./rows.jsonl: the file to be judged: name another file",
        json.dumps(ROW),
    )


@pytest.mark.parametrize(
    ("shell_line", "exit_code", "said"),
    [
        ('"$@" judge - --out /dev/full', 2, "ragtrace: No space left on device: make room, then run the same again\n"),
        ('"$@" judge - > /dev/full', 2, "ragtrace: No space left on device: make room, then run the same again\n"),
        ('"$@" judge - | true; exit "${PIPESTATUS[0]}"', 1, ""),
    ],
)
def test_output_that_nobody_takes(tmp_path, shell_line, exit_code, said):
    """A full disk is one line, and a reader that has had enough is none."""
    command = [sys.executable, "-c", "from ragtrace.cli import main; main()"]
    rows = "\n".join([json.dumps(ROW)] * 300)

    ended = subprocess.run(
        ["bash", "-c", shell_line, "bash", *command],
        input=rows,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (exit_code, said)


def test_doctor(shell, local_langfuse):
    """All well is exit code 0; without Langfuse it is 1."""
    without = shell.run("doctor")
    shell.use(local_langfuse)
    well = shell.run("doctor")

    assert (well.exit_code, without.exit_code) == (0, 1)
    assert "ok    langfuse  http://127.0.0.1:" in well.stdout
    assert local_langfuse.secret_key not in well.output


def test_sigterm_ends_following(shell, local_langfuse):
    """`ragtrace score --follow` scores, then ends by itself with exit code 0 when it is told to."""
    shell.use(local_langfuse)
    seed(local_langfuse, recent(2))
    command = [sys.executable, "-c", "from ragtrace.cli import main; main()", "score", "--follow"]
    variables = {**os.environ, **shell.variables, "RAGTRACE_SCORER_POLL_SECONDS": "0.05"}
    with subprocess.Popen(command, cwd=shell.folder, env=variables, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        versions, line = process.stderr.readline(), process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        process.wait()

    assert process.returncode == 0, rest
    assert "Langfuse 4.59.0, langfuse 5." in versions
    assert "look: listed=2 sampled=2 scored=2" in line
    assert len(stored_scores(local_langfuse, name="rag_outcome")) == 2
