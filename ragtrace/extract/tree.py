"""Which steps belong together: the calls of a trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragtrace.extract.step import RETRIEVING, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The steps of one call."""

    steps: tuple[Step, ...]
    root: Step | None
    """The step that the whole call happened in, whose input asks and whose output answers; None: there is none."""
    is_linked: bool
    """Its retrieval and its model have no step of a GenAI convention in common; they follow one another."""


class Tree:
    """The steps of a trace by parent; a parent that is not there counts as none."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._by_id = {step.span.id: step for step in steps}
        self.steps = sorted(steps, key=lambda step: step.span.start_ns)

    def ancestors(self, step: Step) -> Iterator[Step]:
        """Yield what a step happened in, the nearest first."""
        seen = {step.span.id}
        parent = self._by_id.get(step.span.parent_id or "")
        while parent is not None and parent.span.id not in seen:
            seen.add(parent.span.id)
            yield parent
            parent = self._by_id.get(parent.span.parent_id or "")

    def is_inside(self, step: Step, kinds: Sequence[str]) -> bool:
        """Tell whether a step happened in one of some kind."""
        return any(ancestor.kind in kinds for ancestor in self.ancestors(step))

    def groups(self) -> list[Group]:
        """Return the calls: a step with retrieval and model in it is one, the rest is put together in order of time.

        Where no retrieval stands alone, any step around a model is a call: it may have retrieved by plain code.
        """
        by_top: dict[str, list[Step]] = {}
        for step in self.steps:
            if step.kind != "foreign":
                by_top.setdefault(self._top(step).span.id, []).append(step)
        has_loose = any(_has_retrieval(steps) and not _has_model(steps) for steps in by_top.values())
        whole = {top: s for top, s in by_top.items() if self._is_whole(self._by_id[top], s, has_loose=has_loose)}
        loose = [steps for top, steps in by_top.items() if top not in whole]
        found = [
            Group(steps=tuple(s), root=self._root(self._by_id[top], s), is_linked=False) for top, s in whole.items()
        ]
        runs = _runs(loose)
        # The application's own span is about one call, or about none.
        root = self._shared(runs[0]) if len(runs) == 1 and not whole else None
        return [*found, *(Group(steps=tuple(run), root=root or _only_top(run), is_linked=len(run) > 1) for run in runs)]

    def _top(self, step: Step) -> Step:
        """Return the outermost step of a GenAI convention around a step."""
        return next((s for s in reversed(list(self.ancestors(step))) if s.kind != "foreign"), step)

    def _is_whole(self, top: Step, steps: Sequence[Step], *, has_loose: bool) -> bool:
        return _has_model(steps) and (_has_retrieval(steps) or not (has_loose or top.kind == "model"))

    def _root(self, top: Step, steps: Sequence[Step]) -> Step:
        """Return the outermost step that says what went in and out; some wrap it in one that says nothing."""
        needed = [step for step in steps if step.kind in ("model", *RETRIEVING)]
        around = set.intersection(*({a.span.id for a in self.ancestors(step)} for step in needed))
        telling = (s for s in steps if s.span.id in around and (s.given is not None or s.returned is not None))
        return next(telling, top)

    def _shared(self, run: Sequence[Step]) -> Step | None:
        """Return the nearest foreign span around all steps of a run."""
        around = [[a.span.id for a in self.ancestors(step)] for step in run]
        shared = (name for name in around[0] if all(name in others for others in around[1:]))
        return next((self._by_id[name] for name in shared if self._by_id[name].returned is not None), None)


def _only_top(run: Sequence[Step]) -> Step | None:
    return run[0] if len(run) == 1 else None


def _runs(loose: Sequence[Sequence[Step]]) -> list[list[Step]]:
    """Put retrievals and the models that follow them together; a retrieval after an answer begins a new run."""
    runs: list[list[Step]] = []
    for steps in loose:
        is_new = _has_retrieval(steps) and runs and _has_retrieval(runs[-1]) and _is_answered(runs[-1])
        if is_new or not runs:
            runs.append([])
        runs[-1] += steps
    return runs


def _has_model(steps: Sequence[Step]) -> bool:
    return any(step.kind == "model" for step in steps)


def _has_retrieval(steps: Sequence[Step]) -> bool:
    return any(step.kind in RETRIEVING for step in steps)


def _is_answered(run: Sequence[Step]) -> bool:
    """Tell whether a model spoke after the first retrieval of a run; who only asked for tools did not."""
    since = min(step.span.start_ns for step in run if step.kind in RETRIEVING)
    return any(s.kind == "model" and s.span.start_ns >= since and not (s.said and s.said.calls_tools) for s in run)
