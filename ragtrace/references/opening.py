"""Open the references that the settings name."""

from collections.abc import Callable
from importlib import import_module

from ragtrace.errors import ConfigError
from ragtrace.model import RagCall
from ragtrace.references.book import Lookup, ReferenceBook
from ragtrace.references.rows import read_file
from ragtrace.settings import Settings


def open_references(settings: Settings, *, lookup: Lookup | None = None) -> ReferenceBook | None:
    """Return the references of the settings; None where there are none.

    Args:
        settings: The file of references, and how to match them.
        lookup: A function in place of the one that the settings name.

    Raises:
        ConfigError: the file is wrong, or the function cannot be loaded.
    """
    rows = read_file(settings.references_file) if settings.references_file.exists() else ()
    asked = lookup or (_load(settings.references_function) if settings.references_function else None)
    if not rows and asked is None:
        return None
    return ReferenceBook(
        rows, similarity=settings.references_similarity, lookup=asked, is_gated=settings.references_gate
    )


def _load(name: str) -> Callable[[RagCall], str | None]:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as exc:
        raise ConfigError(f"RAGTRACE_REFERENCES_FUNCTION={name!r}: expected module:function ({exc})") from None
    if not callable(found):
        raise ConfigError(f"RAGTRACE_REFERENCES_FUNCTION={name!r}: expected a function, found {type(found).__name__}")
    lookup: Lookup = found
    return lookup
