"""Find the model calls that read passages for the one that answered: map-reduce, refine."""

from collections.abc import Sequence

from ragtrace.extract.gather import shows
from ragtrace.extract.step import Step
from ragtrace.model import Passage

_SHORTEST_PASSED_ON = 12


def find_feeders(models: Sequence[Step], answering: Step, passages: Sequence[Passage]) -> tuple[Step, ...]:
    """Return the model calls, in order, that read passages which the answering one was not sent, and passed on text.

    A grader reads passages, too; but what it says does not stand in the answering call's prompt.
    """
    missing = [passage for passage in passages if not _is_read(passage, answering)]
    shortest = 1 if len(missing) == len(passages) else _SHORTEST_PASSED_ON
    feeders: list[Step] = []
    for step in sorted(models, key=lambda step: -(step.span.end_ns or 0)) if missing else ():
        said = step.said.text.strip() if step.said and not step.said.calls_tools else ""
        is_earlier = step is not answering and (step.span.end_ns or 0) <= answering.span.start_ns
        if not is_earlier or len(said) < shortest:
            continue
        is_passed_on = any(said in message.text for reader in (answering, *feeders) for message in reader.messages)
        if is_passed_on and any(_is_read(passage, step) for passage in missing):
            feeders.append(step)
    return tuple(reversed(feeders))


def _is_read(passage: Passage, step: Step) -> bool:
    return any(shows(passage.text, message.text) for message in step.messages)
