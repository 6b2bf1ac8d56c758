"""Tell for certain whether a stretch of a passage can still be in the part of the prompt that nothing explains."""

from collections.abc import Iterable

from ragtrace.align.skeleton import Skeleton, letters

_SAMPLES = 24
_SAMPLE = 48
"""Characters of a passage looked at together; its inner letters are looked up."""
_EDGE = 4
"""Letters at a sample's edges that may be half an escape."""
_LOOKED_UP = 14
_MOST = 200_000
"""Characters of unexplained text up to which it is searched at all."""


class Rest:
    """The unexplained stretches of a prompt, as letters."""

    __slots__ = ("_is_searchable", "letters", "longest")

    def __init__(self, stretches: Iterable[str]) -> None:
        texts = list(stretches)
        self._is_searchable = sum(map(len, texts)) <= _MOST
        skeletons = [Skeleton(text).letters for text in texts] if self._is_searchable else []
        self.letters = " ".join(skeletons)
        self.longest = max(map(len, skeletons), default=0)
        """Letters of the longest stretch: it might be a summary."""

    def may_hold(self, text: str) -> bool:
        """Tell whether any larger part of `text` could stand there, in whatever rendering keeps its letters."""
        if not self._is_searchable:
            return True
        if not self.letters:
            return False
        step = max(_SAMPLE, len(text) // _SAMPLES)
        samples = (letters(text[at : at + _SAMPLE]) for at in range(0, len(text), step))
        inner = (sample[_EDGE : _EDGE + _LOOKED_UP] for sample in samples)
        return any(len(probe) >= _LOOKED_UP - _EDGE and probe in self.letters for probe in inner)
