"""The texts that judges are instructed with: one Markdown file a language, one section a purpose."""

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

LANGUAGES: Final = ("en", "zh", "ja", "ru")
"""Languages with instructions of their own; a text in any other is judged with the English ones."""
_HEADING = re.compile(r"^# (.+)\n", re.MULTILINE)


@cache
def section(language: str, name: str) -> str:
    """Return the section's text, without white space around it."""
    parts = _HEADING.split(_file(language))
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name].strip()


@cache
def reference_check(language: str) -> str:
    """Return the instructions for checking references; they are no part of a judge's fingerprint."""
    return (files("ragtrace.prompts") / "references" / f"{language}.md").read_text(encoding="utf-8").strip()


@cache
def digest() -> str:
    """Return a hash of all texts, so that an edit never mixes with old numbers."""
    return sha256("\0".join(map(_file, LANGUAGES)).encode()).hexdigest()


@cache
def _file(language: str) -> str:
    return (files("ragtrace.prompts") / f"{language}.md").read_text(encoding="utf-8")
