"""Files that people name: read and written whole, with one line about what is wrong."""

import os
from pathlib import Path

import pytest

from ragtrace import files
from ragtrace.errors import ConfigError
from ragtrace.scorer import compare_rows, consistency, labels

SEPARATED = "one\u2028two\u0085three\x0cfour"
"""Marks that part lines on paper, and not in JSON lines, which writers leave them in as they are."""


def test_a_separator_within_a_text_is_no_end_of_a_line():
    """Only a line feed ends a line; blank lines do not count as rows, and are counted as lines."""
    assert list(files.lines(f"{SEPARATED}\n\n \nlast")) == [(1, SEPARATED), (4, "last")]


def test_cells_keep_their_line_breaks():
    """A quoted cell may have several lines; a separator within one is none."""
    rows = list(files.table(f'question,answer\n"a\r\nb",{SEPARATED}\n'))

    assert rows == [{"question": "a\r\nb", "answer": SEPARATED}]


@pytest.mark.parametrize(
    ("read", "line"),
    [
        (labels.read_labels, '{"contexts": ["%s"], "claims": [{"text": "%s", "supported": true}]}'),
        (compare_rows.read_file, '{"question": "%s %s", "scores": {"faithfulness": 1}}'),
        (consistency.read_calls, '{"question": "%s", "contexts": ["%s"], "answer": "a"}'),
    ],
)
def test_every_command_reads_texts_with_separators(tmp_path: Path, read, line: str):
    """What `ragtrace judge` and `ragtrace review pull` write, the other commands read."""
    inside = SEPARATED.replace("\x0c", "\\f")
    (tmp_path / "rows.jsonl").write_text(line % (inside, inside) + "\n", encoding="utf-8")

    assert len(read(tmp_path / "rows.jsonl")) == 1


@pytest.mark.parametrize("read", [labels.read_labels, compare_rows.read_file])
def test_json_that_is_nested_too_deep_is_said_to_be_wrong(tmp_path: Path, read):
    """Such a line is named like any other that is no JSON."""
    (tmp_path / "rows.jsonl").write_text("[" * 100_000)

    with pytest.raises(ConfigError, match=r"rows\.jsonl:1: not JSON"):
        read(tmp_path / "rows.jsonl")


def test_a_file_is_written_whole(tmp_path: Path):
    """Its folder is made, and no draft is left."""
    files.write_text(tmp_path / "new" / "file.csv", "a,b\r\n", named="--csv")

    assert (tmp_path / "new" / "file.csv").read_bytes() == b"a,b\r\n"
    assert os.listdir(tmp_path / "new") == ["file.csv"]


def test_a_link_stays_a_link(tmp_path: Path):
    """What it points to is written."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write_text(tmp_path / "link", "a", named="--csv")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "a"


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path):
    """`/dev/null` is not replaced by a file."""
    files.write_text(Path(os.devnull), "a", named="--csv")

    assert Path(os.devnull).is_char_device()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    """With what names it, and why."""
    with pytest.raises(ConfigError) as caught:
        files.write_text(tmp_path, "a", named="--csv here")

    assert str(caught.value) == "--csv here: cannot be written (Is a directory): name another file"
