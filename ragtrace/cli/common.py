"""What several commands share: options, and one line where an extra is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ragtrace.errors import ConfigError

MetricNames = Annotated[
    str | None, typer.Option("--metrics", help="Names, separated by commas; default: what one judge call yields.")
]
JudgeModel = Annotated[str | None, typer.Option(help="Model at OPENAI_BASE_URL; default: RAGTRACE_JUDGE_MODEL.")]
Concurrency = Annotated[int | None, typer.Option(help="Most judge calls in flight.")]
Since = Annotated[str, typer.Option(help="How long ago (24h, 7d), or a date.")]
Until = Annotated[str | None, typer.Option(help="The same; default: now.")]


def metric_names_of(metrics: str | None) -> tuple[str, ...] | None:
    return None if metrics is None else tuple(name.strip() for name in metrics.split(",") if name.strip())


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Name the extra that is not installed, where a command's packages are missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.split(".")[0] == "ragtrace":
            raise
        raise ConfigError(f"this command needs {exc.name}: pip install 'ragtrace-adapter[{name}]'") from None
