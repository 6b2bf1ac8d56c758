"""The environments of the examples, made side by side while the first tests run."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.examples.environments import ROOT, make_environment

SAME_APP = Path(__file__).parent / "same_app"
REQUIREMENTS = {
    "llama_index": ROOT / "examples" / "llama_index" / "requirements.txt",
    "haystack": ROOT / "examples" / "haystack" / "requirements.txt",
    **{path.stem: path for path in SAME_APP.glob("*.txt")},
}


@pytest.fixture(scope="session")
def pythons() -> Iterator[Callable[[str], Path]]:
    """Returns the Python of an environment by its name, when it is there."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        made = {name: pool.submit(make_environment, name, path) for name, path in REQUIREMENTS.items()}
        yield lambda name: made[name].result()
