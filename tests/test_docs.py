"""What the documentation shows works: its code runs, its commands and settings exist, its messages are real."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langfuse import Langfuse

import ragtrace
from ragtrace.capture import client as capture_client
from ragtrace.cli import app
from ragtrace.settings import load_settings
from tests.judge.endpoint import ScriptedEndpoint, says

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("instrumentation/*/README.md")])
_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^|[|;&] *|\$ )(ragtrace (?:[^\n#|;&>\\]|\\\n)+)", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
_QUOTED = re.compile(r"^\*\*`([^`]+)`", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: str
    number: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def blocks(language: str) -> list[Any]:
    found = []
    for page in PAGES:
        for number, fence in enumerate(_FENCE.finditer(page.read_text(encoding="utf-8")), 1):
            if fence[1] == language:
                name = str(page.relative_to(ROOT))
                found.append(pytest.param(Block(name, number, language, fence[2]), id=f"{name}-{number}"))
    return found


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_langfuse: Any) -> Iterator[dict[str, Any]]:
    """What the pages take for granted: a chain, a question, documents, a server, an endpoint."""
    endpoint = ScriptedEndpoint()
    endpoint.answers(lambda asked: says("It opens at six."))
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "LANGFUSE_BASE_URL": local_langfuse.base_url,
        "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
        "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
        "OPENAI_BASE_URL": endpoint.base_url,
        "OPENAI_API_KEY": "sk-of-a-test",
    }.items():
        monkeypatch.setenv(name, value)
    documents = [Document(page_content="The gate opens at six."), Document(page_content="Dogs are allowed.")]
    yield {
        "Langfuse": Langfuse,
        "chain": RunnableLambda(lambda question: f"You asked: {question}"),
        "documents": documents,
        "local_langfuse": local_langfuse,
        "ragtrace": ragtrace,
        "messages": [{"role": "user", "content": "The gate opens at six. When does it open?"}],
        "prompt": lambda docs, question: "\n".join([*(d.page_content for d in docs), question]),
        "question": "When does the gate open?",
        "search": lambda question: documents,
        "text": "At six.",
    }
    endpoint.close()
    capture_client.reset()


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block: Block, names: dict[str, Any]):
    """Every block of Python runs as it stands, test functions included."""
    exec(compile(block.text, str(block), "exec"), names)
    for name, found in list(names.items()):
        if name.startswith("test_"):
            found(names["local_langfuse"])
    for instrumentor in ("LangchainInstrumentor", "OpenaiInstrumentor"):
        if instrumentor in block.text:
            names[instrumentor]().uninstrument()


@pytest.mark.parametrize("block", blocks("toml"))
def test_settings_are_known(block: Block, tmp_path: Path):
    """Every table and key is one that ragtrace reads."""
    if "[project." in block.text:
        # A fragment of somebody's pyproject.toml.
        tomllib.loads(block.text)
        return
    (tmp_path / "ragtrace.toml").write_text(block.text, encoding="utf-8")

    load_settings({}, toml=tmp_path / "ragtrace.toml")


@pytest.mark.parametrize("block", blocks("json"))
def test_json_is_json(block: Block):
    """The block is one document after another."""
    rest = block.text.strip()
    while rest:
        _, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].strip()


@pytest.mark.parametrize("block", [*blocks("bash"), *blocks("sh"), *blocks("text"), *blocks("console")])
def test_commands_exist(block: Block):
    """Every `ragtrace` command line that is shown is one: the command, its options, and values for them."""
    for line in _COMMAND.findall(block.text):
        words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
        _parse(typer.main.get_command(app), words)


def _parse(command: click.Command, words: list[str]) -> None:
    """Parse as the command line would, running nothing."""
    commands: Mapping[str, click.Command] = getattr(command, "commands", {})
    if commands and words and not words[0].startswith("-"):
        assert words[0] in commands, f"no such command: {words[0]}"
        _parse(commands[words[0]], words[1:])
        return
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    wrong = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
    assert wrong == [], f"{command.name} has no {wrong}"


def test_messages_are_real():
    """What the troubleshooting page quotes is in the source, or is a heading of our own words."""
    sources = [*ROOT.glob("ragtrace/**/*.py"), *ROOT.glob("instrumentation/*/src/**/*.py")]
    # Literals that are broken over lines are joined, as Python joins them.
    source = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in sources))
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")

    missing = [quoted for quoted in _QUOTED.findall(page) if quoted not in source]

    assert missing == []


def test_every_page_is_in_the_navigation():
    """A page that nobody finds is none, and one that is not there is worse."""
    listed = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))

    assert listed == {page.name for page in ROOT.glob("docs/*.md")}


def test_shapes_in_the_readme_are_those_that_ran():
    """The README shows rows of the table that a test writes from runs."""
    rows = [
        re.findall(r"^\|.*\|$", (ROOT / name).read_text(), re.MULTILINE) for name in ("README.md", "docs/shapes.md")
    ]
    shown = [row for row in rows[0] if row.count(" | ") == 4]

    assert len(shown) > 10
    assert [row for row in shown if row not in rows[1]] == []


def test_links_between_pages_hold():
    """Links to files of the repository lead somewhere."""
    links = [(page, target) for page in PAGES for target in _LINK.findall(page.read_text(encoding="utf-8"))]

    assert [link for page, link in links if "://" not in link and not (page.parent / link).exists()] == []
