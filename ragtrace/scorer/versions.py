"""Hold the server's version and the installed packages' against what is known to work."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from ragtrace.errors import BackendRejected
from ragtrace.langfuse.write import ARRAYS_SINCE

PACKAGES: Final = ("langfuse", "openai", "opentelemetry-sdk", "langchain-core", "ragtrace-instrumentation-langchain")
_FIRST_SERVER: Final = (4, 0)
"""Calls are read through v2/observations, which Langfuse 3 does not have."""
_FIRST_UNKNOWN_SERVER: Final = (5, 0)
_LANGFUSE_OTEL: Final = 3
"""First SDK that writes through OpenTelemetry."""
_LANGFUSE_FILTER: Final = 4
"""First SDK whose exporter leaves out spans that are no model's."""
_LANGFUSE_TESTED: Final = 5
_LOWEST: Final = {"opentelemetry-sdk": (1, 30), "langchain-core": (1, 0)}
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")
_logger = logging.getLogger(__name__)
Version = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """What these versions can do together."""

    versions: str
    """All of them, for people."""
    fatal: str | None = None
    """Why no call can be read."""
    limits: tuple[str, ...] = ()
    """What will not work, or differently."""

    def as_text(self) -> str:
        """Return one line."""
        found = [self.fatal] if self.fatal else list(self.limits)
        return f"{self.versions}: {'; '.join(found) or 'all of it works together'}"


def installed_packages(version_of: Callable[[str], str] = metadata.version) -> dict[str, str]:
    """Return the version of each package that matters here and is installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version_of(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def compare_versions(server: str, installed: Mapping[str, str]) -> Compatibility:
    """Say what a server and some packages can do together.

    Args:
        server: What Langfuse calls its version.
        installed: Versions by package; packages that are not listed are not installed.
    """
    named = [f"Langfuse {server}", *(f"{name} {version}" for name, version in installed.items())]
    number = _numbers(server)
    fatal = None
    if number and number < _FIRST_SERVER:
        fatal = (
            f"Langfuse {server} is too old to read calls from; upgrade to {_dotted(ARRAYS_SINCE)} or later "
            f"(from {_dotted(_FIRST_SERVER)} on it works with limits)"
        )
    limits = (*_server_limits(server, installed), *_package_limits(installed))
    return Compatibility(versions=", ".join(named), fatal=fatal, limits=limits)


def check_versions(server: str) -> None:
    """Log in one line which versions work together, before anything is read.

    Raises:
        BackendRejected: calls cannot be read from this server.
    """
    found = compare_versions(server, installed_packages())
    if found.fatal:
        raise BackendRejected(found.as_text())
    _logger.log(logging.WARNING if found.limits else logging.INFO, "%s", found.as_text())


def _server_limits(server: str, installed: Mapping[str, str]) -> Iterator[str]:
    number = _numbers(server)
    if number is None:
        yield f"{server!r} is no version that ragtrace knows, so it is taken for {_dotted(ARRAYS_SINCE)} or later"
    elif number >= _FIRST_UNKNOWN_SERVER:
        yield f"ragtrace was tested with Langfuse {_FIRST_SERVER[0]} only"
    elif _FIRST_SERVER <= number < ARRAYS_SINCE:
        yield (
            f"before Langfuse {_dotted(ARRAYS_SINCE)} scores go one a request and carry the time of writing instead of "
            "the call's"
        )
        if _major(installed, "langfuse") >= _LANGFUSE_TESTED:
            yield (
                "`create_score` of langfuse 5 in your own code is refused by this server and its scores are lost, and "
                "metadata shows with quotes; ragtrace's own scores are not touched"
            )


def _package_limits(installed: Mapping[str, str]) -> Iterator[str]:
    sdk = _major(installed, "langfuse")
    if 0 < sdk < _LANGFUSE_OTEL:
        yield f"langfuse {sdk} does not write through OpenTelemetry: rag-calls stand in traces of their own"
    elif _LANGFUSE_OTEL <= sdk < _LANGFUSE_FILTER:
        yield f"langfuse {sdk} exports every span of the application; ragtrace was tested with {_LANGFUSE_TESTED}"
    elif sdk > _LANGFUSE_TESTED:
        yield f"ragtrace was tested with langfuse {_LANGFUSE_TESTED}, not with {sdk}"
    for name, lowest in _LOWEST.items():
        number = _numbers(installed.get(name, ""))
        if number and number < lowest:
            yield f"{name} {installed[name]} is older than {_dotted(lowest)}, the lowest that is tested"


def _major(installed: Mapping[str, str], name: str) -> int:
    """Return the first number of a version, 0 where the package is not installed."""
    number = _numbers(installed.get(name, ""))
    return number[0] if number else 0


def _numbers(version: str) -> Version | None:
    match = _NUMBERS.match(version)
    return (int(match[1]), int(match[2])) if match else None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
