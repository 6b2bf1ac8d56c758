"""Find the model calls that read passages for the one that answered: map-reduce, refine."""

from collections.abc import Iterable, Sequence

from ragtrace.capture import shows
from ragtrace.model import Passage
from ragtrace_instrumentation_langchain.calls import Generation

_SHORTEST_PASSED_ON = 12


def find_feeders(
    generations: Iterable[Generation], answering: Generation, passages: Sequence[Passage]
) -> tuple[Generation, ...]:
    """Return the model calls, in order, that read passages which the answering one was not sent, and passed on text.

    A grader reads passages, too; but what it says does not stand in the answering call's prompt.
    """
    earlier = [g for g in generations if _may_feed(g, answering)]
    if not earlier or not passages:
        return ()
    missing = [passage for passage in passages if not shows(passage.text, answering.prompt.parts)]
    shortest = 1 if len(missing) == len(passages) else _SHORTEST_PASSED_ON
    feeders: list[Generation] = []
    for generation in sorted(earlier, key=lambda g: g.end_order, reverse=True) if missing else ():
        said = (generation.text or "").strip()
        is_passed_on = len(said) >= shortest and any(
            said in part for reader in (answering, *feeders) for part in reader.prompt.parts
        )
        if is_passed_on and any(shows(passage.text, generation.prompt.parts) for passage in missing):
            feeders.append(generation)
    return tuple(reversed(feeders))


def _may_feed(generation: Generation, answering: Generation) -> bool:
    return (
        generation is not answering
        and 0 < generation.end_order < answering.run.order
        and generation.role != "helper"
        and not generation.run.is_in_retriever
        and not generation.arguments
        and bool(generation.text)
    )
