"""JSON for whatever stands beside a text."""

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel

from ragtrace.capture.serialise import clean_text, dump, to_json

HIGH, LOW = "\ud83d", "\ude00"


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    size: Decimal


@dataclass
class Point:
    x: float
    tags: tuple[str, ...]


class Text(str):
    """A text of a library's own kind."""

    def __str__(self) -> str:
        raise AssertionError


class Opaque:
    pass


class Failing:
    def tolist(self) -> list[int]:
        raise OSError("gone")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.5, 0.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**53 + 1, str(2**53 + 1)),
        ("plain", "plain"),
        (Text("own kind"), "own kind"),
        (Colour.RED, "red"),
        (np.int64(1), 1),
        (np.float64("nan"), "nan"),
        (np.arange(3, dtype=np.float32), [0.0, 1.0, 2.0]),
        (np.zeros(1536), "[1536 items]"),
        (uuid.UUID("6b1f6a52-0d6e-4b7e-9b1a-2f6d1c0f7a11"), "6b1f6a52-0d6e-4b7e-9b1a-2f6d1c0f7a11"),
        (dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC), "2026-03-01T09:30:00+00:00"),
        (dt.date(2026, 3, 1), "2026-03-01"),
        (dt.timedelta(minutes=2), 120.0),
        (Decimal("1.10"), "1.10"),
        (Path("a/b.pdf"), "a/b.pdf"),
        (b"abc", "[3 bytes, sha256 ba7816bf8f01]"),
        ({1}, [1]),
        ((1, [2, {"a": 3}]), [1, [2, {"a": 3}]]),
        ({1: "one", None: 0, Colour.RED: 2}, {"1": "one", "None": 0, "red": 2}),
        (list(range(101)), "[101 items]"),
        ({str(n): n for n in range(101)}, {**{str(n): n for n in range(100)}, "…": "[1 more]"}),
        ("x" * 2001, "x" * 2000 + "… [2001 characters]"),
        (Model(name="a", size=Decimal(2)), {"name": "a", "size": "2"}),
        (Point(x=1.0, tags=("a",)), {"x": 1.0, "tags": ["a"]}),
        (Opaque(), "[Opaque]"),
        (Opaque, "[Opaque]"),
        (Failing(), "[Failing: unreadable]"),
    ],
)
def test_values_of_every_kind_become_json(value, expected):
    """Numbers of any library stay numbers, dates and ids become their usual text, the rest says what it was."""
    assert to_json(value) == expected


def test_a_single_precision_score_stays_a_number():
    """A reranker's score keeps its value, not the name of its type."""
    assert to_json(np.float32(0.73)) == pytest.approx(0.73, abs=1e-6)


def test_cycles_end():
    """A value that holds itself is cut where it repeats."""
    cycle: dict[str, object] = {"a": 1}
    cycle["self"] = [cycle]

    assert to_json(cycle) == {"a": 1, "self": ["[cycle]"]}


def test_the_same_value_twice_is_no_cycle():
    """Only a value inside itself is a cycle, not one that stands in two places."""
    shared = {"a": 1}

    assert to_json([shared, shared]) == [{"a": 1}, {"a": 1}]


def test_depth_is_bounded():
    """Nesting beyond any use ends in a marker."""
    value: object = 1
    for _ in range(9):
        value = [value]

    assert dump(to_json(value)) == '[[[[[[[["[list: nested too deeply]"]]]]]]]]'


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        (f"Rated 5/5 {HIGH} by testers", "Rated 5/5 \ufffd by testers"),
        (f"{LOW}{HIGH}", "\ufffd\ufffd"),
        (f"joined {HIGH}{LOW}", "joined 😀"),
        ("real 😀 untouched", "real 😀 untouched"),
        ("a\0b", "a\ufffdb"),
        (f"ä\0{LOW}", "ä\ufffd\ufffd"),
    ],
)
def test_text_can_be_written_as_utf8(text, cleaned):
    """Halves of emoji and NUL are replaced one for one; whole emoji stay."""
    assert clean_text(text) == cleaned


def test_an_inline_image_becomes_a_marker():
    """The text on both sides of an image stays; the image is named by kind, length and digest."""
    text = "Figure 3. data:image/png;base64," + "QUJD" * 1_000_000 + " The valve opens at 3.2 bar."

    assert clean_text(text) == (
        "Figure 3. [image/png, 4000000 base64 characters, sha256 5559931786d4] The valve opens at 3.2 bar."
    )


def test_an_image_wrapped_into_lines_goes_as_a_whole():
    """Base64 in lines is one image; a word on the next line is text."""
    lines = "\n".join(["QUJD" * 19] * 3)

    assert clean_text(f"data:image/gif;name=a;base64,{lines}\nThe end") == (
        "[image/gif, 230 base64 characters, sha256 b8959e1f2290]\nThe end"
    )


@pytest.mark.parametrize(
    ("opening", "content", "marker"),
    [
        ("DATA:IMAGE/PNG;BASE64,", "QUJD" * 20, "image/png, 80"),
        ("data:;base64,", "QUJD" * 20, "media, 80"),
        ("data:image/png;base64,", "QUJD%2B%2F" * 20 + "%3D", "image/png, 203"),
    ],
)
def test_an_image_is_known_however_its_address_is_written(opening, content, marker):
    """In capitals, without a media type and percent-encoded it is the same address."""
    assert clean_text(f"a {opening}{content} z").startswith(f"a [{marker} base64 characters, sha256 ")
    assert clean_text(f"a {opening}{content} z").endswith("] z")


def test_talk_of_base64_is_text():
    """A sentence about data URIs loses nothing."""
    assert clean_text("write data:image/png;base64,… here") == "write data:image/png;base64,… here"


def test_json_is_compact_and_keeps_every_script():
    """No spaces, no escapes but the necessary ones."""
    assert dump({"a": ["ä", "猫", "\n", 1.0, None]}) == '{"a":["ä","猫","\\n",1.0,null]}'
