"""Short builders for captured calls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragtrace.capture import CapturedCall
from ragtrace.capture.pipeline import PipelineConfig
from ragtrace.model import Passage
from ragtrace.settings import load_settings

START_NS = 1_772_356_800_000_000_000
TEXT = "The fee is three euros per night. Children under twelve stay for free in every room."


def config(*, mask: Any = None, **settings: object) -> PipelineConfig:
    """Settings that come from nowhere but here."""
    return PipelineConfig(settings=load_settings({}, overrides=settings), mask=mask)


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(text=text, rank=rank, id=f"d{rank}") for rank, text in enumerate(texts))


def call(*texts: str, prompt: Sequence[str] | None = None, **changes: Any) -> CapturedCall:
    """A call whose prompt holds all the given passages, unless another is given."""
    whole = CapturedCall(
        question="What is the fee?",
        answer="Three euros for each night.",
        passages=passages(*texts),
        prompt_parts=tuple(["\n\n".join(("Answer from this:", *texts))] if prompt is None else prompt),
        start_ns=START_NS,
        end_ns=START_NS + 1_500_000_000,
    )
    return replace(whole, **changes)
