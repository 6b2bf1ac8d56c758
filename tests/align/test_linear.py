"""Inputs that would make a careless alignment quadratic."""

import pytest

from ragtrace.align import align, full
from ragtrace.model import Passage

HEADER = "Aldermoor handbook, internal, do not pass on. " * 20
INPUTS = {
    "one letter": (["a" * 1_000_000], "a" * 500_000),
    "one letter, with an end": (["a" * 300_000 + "b"], "a" * 500_000),
    "two letters": (["ab" * 200_000 + "c", "ba" * 100_000 + "d"], "ab" * 300_000),
    "white space": ([" " * 1_000_000, "x" + " " * 500_000 + "y"], " " * 1_000_000),
    "backslashes": (["\\" * 400_000 + "n"], "\\" * 400_000),
    "ampersands": (["&amp;" * 100_000], "&" * 300_000 + "amp;" * 50_000),
    "line breaks": (["\n" * 500_000 + "end"], "\n" * 500_000),
    "one sentence": (
        ["The same sentence again and again. " * 8_000],
        "The same sentence again and again. " * 4_000 + "!",
    ),
    "boilerplate": ([f"{HEADER}{n} {HEADER}" for n in range(60)], "\n".join(f"{HEADER}{n}" for n in range(60, 120))),
    "numbers": ([" ".join(map(str, range(40_000)))], "\n".join(f"{n}: {n * 3}" for n in range(40_000))),
    "one Chinese letter": (["的" * 300_000], "的" * 200_000 + "了"),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", INPUTS)
def test_repeated_text_is_no_trap(name: str):
    """Text that repeats itself is aligned in time that grows with its size only."""
    texts, prompt = INPUTS[name]
    passages = [Passage(text=text, rank=n) for n, text in enumerate(texts)]

    assert len(align(passages, [prompt]).passages) == len(full(passages, [prompt]).passages) == len(texts)
