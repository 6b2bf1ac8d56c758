"""The file of references, and how they are matched to questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragtrace.errors import ConfigError
from ragtrace.model import RagCall, ReferenceMatch
from ragtrace.references import ReferenceBook, ReferenceRow
from ragtrace.references.opening import open_references
from ragtrace.references.rows import read_file, replace_source, write_file
from ragtrace.settings import load_settings
from tests.build import call

LITRES = "It holds one litre."


def row(question: str = "How large is it?", answer: str = LITRES, **more: Any) -> ReferenceRow:
    return ReferenceRow(**{"question": question, "answer": answer, "source": "file:a", **more})


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        (
            "a.jsonl",
            '{"question": "q", "answer": "a", "kind": "simple"}\n\n',
            [row("q", "a", other={"kind": "simple"})],
        ),
        ("a.jsonl", '{"user_input": "q", "reference": "a", "trace_id": "t"}', [row("q", "a", trace_id="t")]),
        ("a.jsonl", '{"input": {"query": "q"}, "expected_output": {"answer": "a"}}', [row("q", "a")]),
        ("a.csv", 'question,ground_truth,kind\nq,"a\nb",simple\n', [row("q", "a\nb", other={"kind": "simple"})]),
        ("a.jsonl", '\ufeff{"question": "q\u2028", "answer": "a"}', [row("q\u2028", "a")]),
        ("a.jsonl", "", []),
    ],
)
def test_files_are_read(tmp_path: Path, name: str, text: str, rows: list[ReferenceRow]):
    """JSON lines and CSV, whatever the columns are called."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    assert read_file(tmp_path / name, source="file:a") == tuple(rows)


def test_wrong_lines_are_named(tmp_path: Path):
    """One line of message says where and what; nothing is taken over."""
    (tmp_path / "a.jsonl").write_text('{"question": "q"}\n{"a\n[1]\n' + '{"answer": "a"}\n' * 5)

    with pytest.raises(ConfigError) as caught:
        read_file(tmp_path / "a.jsonl")

    said = str(caught.value)
    assert "a.jsonl:1: expected an object with `question` and `answer`" in said
    assert "a.jsonl:2: not JSON" in said
    assert said.endswith("; and 3 more")


def test_a_file_that_is_none(tmp_path: Path):
    """A folder, or bytes that are no text, are said to be so."""
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "b", tmp_path / "none"):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_file(path)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_file(tmp_path / "b" / "c.jsonl", [row()])


def test_a_source_replaces_its_own_rows(tmp_path: Path):
    """Rows of other sources stay, and so does what a judge found out about rows that did not change."""
    path = tmp_path / "r.jsonl"
    write_file(path, [row("a", "1", fits=False, why="no"), row("b", "2", fits=True), row("c", "3", source="dataset:d")])

    total = replace_source(path, "file:a", [row("a", "1"), row("b", "changed"), row("e", "5")])

    assert total == 4
    assert read_file(path) == (
        row("c", "3", source="dataset:d"),
        row("a", "1", fits=False, why="no"),
        row("b", "changed"),
        row("e", "5"),
    )


@pytest.mark.parametrize(
    ("question", "trace_id", "how", "similarity"),
    [
        ("How large is it?", None, "exact", 1.0),
        ("  how LARGE is it ", None, "normalised", 1.0),
        ("Ｈｏｗ large is it？", None, "normalised", 1.0),
        ("Something else entirely", "t1", "trace", 1.0),
        ("How large really is it?", None, "similar", pytest.approx(0.81, abs=0.01)),
    ],
)
def test_questions_are_matched(question: str, trace_id: str | None, how: str, similarity: Any):
    """By trace, by the very words, by the words without case, width and punctuation, by nearness."""
    book = ReferenceBook([row(trace_id="t1"), row("Who makes it?", "Nobody knows.")], similarity=0.8)

    match, found = book.match(question, trace_id=trace_id)

    assert match == ReferenceMatch(how=how, question="How large is it?", similarity=similarity, source="file:a")
    assert found is not None
    assert (found.answer, book.counts) == (LITRES, {how: 1})


def test_nearness_is_off_unless_asked_for():
    """Without a limit only equal questions match; blank ones match nothing."""
    book = ReferenceBook([row(), row("?!", "nothing")])

    assert [book.match(question) for question in ("How large really is it?", "", "…", "!!")] == [(None, None)] * 4
    assert ReferenceBook([row()], similarity=0.8).match("Something else entirely") == (None, None)


def test_two_answers_are_none(caplog):
    """Questions with different known answers get none of them; spellings of one answer are one."""
    same = ReferenceBook([row(), row("how large is it", "it holds one litre")])
    different = ReferenceBook([row(), row("how large is it", "Two litres.")])
    near = ReferenceBook([row("Is gate A open?"), row("Is gate B open?", "No.")], similarity=0.8)

    assert same.match("HOW LARGE IS IT?")[0] is not None
    assert different.match("HOW LARGE IS IT?") == near.match("Is gate C open?") == (None, None)
    assert different.counts == near.counts == {"ambiguous": 1}
    assert "none of them is used" in caplog.text


def test_the_first_of_many_ambiguous_questions_is_logged(caplog):
    """All are counted, and the log is not flooded."""
    book = ReferenceBook([row(), row("how large is it", "Two litres.")])

    assert [book.match("HOW LARGE IS IT?") for _ in range(3)] == [(None, None)] * 3
    assert (book.counts, len(caplog.records)) == ({"ambiguous": 3}, 1)


def test_another_number_is_another_question():
    """However near in words, gate 2 is not gate 1; the same number in a near wording is."""
    book = ReferenceBook([row("Is gate 1 open today?")], similarity=0.8)

    assert book.match("Is gate 2 open today?") == (None, None)
    assert book.match("Is the gate 1 open today?")[0] is not None


def test_a_trace_with_several_questions():
    """The reference of a trace is the one of the question that was asked."""
    book = ReferenceBook([row("a?", "1", trace_id="t"), row("b?", "2", trace_id="t")])

    found = [book.match(question, trace_id="t")[1] for question in ("A", "b?", "c?")]

    assert [None if f is None else f.answer for f in found] == ["1", "2", None]


def test_calls_are_completed():
    """A recorded reference stays, the program's own function comes next, then the file."""

    def lookup(asked: RagCall) -> str | None:
        return "From the program." if asked.question == "Who?" else None

    book = ReferenceBook([row()], lookup=lookup)
    recorded = call(question="How large is it?", reference="Recorded.")
    asked = [book.complete(call(question=question)) for question in ("How large is it?", "Who?", "Why?")]

    assert book.complete(recorded) is recorded
    assert [c.reference for c in asked] == [LITRES, "From the program.", None]
    assert [c.reference_match.how if c.reference_match else None for c in asked] == ["exact", "function", None]


def test_the_gate():
    """A reference that does not answer its question is not used, unless the gate is open."""
    gated, open_ = (ReferenceBook([row(fits=False)], is_gated=gated) for gated in (True, False))
    first, second = (book.complete(call(question="How large is it?")) for book in (gated, open_))

    assert (first.reference, first.reference_match is not None and first.reference_match.is_mismatch) == (None, True)
    assert second.reference == LITRES


def settings(tmp_path: Path, **given: Any) -> Any:
    return load_settings({}, overrides={"references_file": tmp_path / "r.jsonl", **given})


def test_what_the_settings_name(tmp_path: Path):
    """Without a file and a function there are no references, and no cost."""
    assert open_references(settings(tmp_path)) is None
    write_file(tmp_path / "r.jsonl", [row()])
    book = open_references(settings(tmp_path))
    named = open_references(settings(tmp_path, references_function="tests.references.test_rows_and_book:from_module"))

    assert book is not None
    assert named is not None
    assert (len(book), named.complete(call(question="x")).reference) == (1, "From a module.")


def from_module(asked: RagCall) -> str | None:
    return "From a module."


@pytest.mark.parametrize("name", ["nothing", "no.such:thing", "json:nothing", "json:__name__", ":x"])
def test_a_function_that_is_none(tmp_path: Path, name: str):
    """The setting is named, and what it should be."""
    with pytest.raises(ConfigError, match=r"RAGTRACE_REFERENCES_FUNCTION=.*: expected "):
        open_references(settings(tmp_path, references_function=name))


def test_the_file_is_json_lines(tmp_path: Path):
    """What is not set is not written."""
    write_file(tmp_path / "r.jsonl", [row(other={"kind": "simple"})])

    assert json.loads((tmp_path / "r.jsonl").read_text()) == {
        "kind": "simple",
        "question": "How large is it?",
        "answer": LITRES,
        "source": "file:a",
    }


@pytest.mark.parametrize(("is_gated", "answer"), [(True, LITRES), (False, None)])
def test_a_reference_that_does_not_answer_gives_way_to_one_that_does(is_gated: bool, answer: str | None):
    """Where one of two answers is known to be wrong, the other is meant; without the gate the two are ambiguous."""
    book = ReferenceBook([row(answer="In Berlin.", fits=False, why="a place"), row()], is_gated=is_gated)

    assert book.complete(call(question="How large is it?", reference=None)).reference == answer
