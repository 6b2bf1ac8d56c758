"""What `import ragtrace` offers."""

import subprocess
import sys

import pytest

import ragtrace


def test_every_public_name_is_there():
    """Each name of `__all__` can be had, and is listed."""
    assert {name for name in ragtrace.__all__ if not hasattr(ragtrace, name)} == set()
    assert dir(ragtrace) == ragtrace.__all__


def test_other_names_are_not():
    """A misspelt name is an ordinary error."""
    with pytest.raises(AttributeError, match="module 'ragtrace' has no attribute 'flusch'"):
        _ = ragtrace.flusch


def test_importing_ragtrace_loads_nothing_heavy():
    """The package alone costs nothing: neither OpenTelemetry nor pydantic is loaded before something is used."""
    script = "import sys, ragtrace; print([m for m in ('opentelemetry', 'pydantic', 'requests') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
