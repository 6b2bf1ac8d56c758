"""Index a large prompt by what follows a character that is neither rare nor frequent in it; built at C speed."""

from itertools import accumulate, count
from math import log
from operator import add

_KEY = 24
"""Characters behind the delimiter that are looked up."""
_LOOKED_UP = 8
"""Places at an end of a text that are looked up."""
_SAMPLES, _SAMPLE = 16, 512
_USUAL = 120
"""Characters between two delimiters at best; more in large prompts."""
_MOST = 4000
"""Places indexed at best."""
_TOO_RARE = 5
"""How many times farther apart than at best delimiters may be."""


class PieceIndex:
    """Where in the prompt the keys stand."""

    __slots__ = ("_delimiters", "_places")

    def __init__(self, prompt: str) -> None:
        self._places: dict[str, int] = {}
        self._delimiters = anchors(prompt, every=max(_USUAL, len(prompt) // _MOST))
        for delimiter in self._delimiters:
            pieces = prompt.split(delimiter)
            starts = accumulate([len(piece) + 1 for piece in pieces], initial=0)
            self._places.update(zip([piece[:_KEY] for piece in pieces], starts, strict=False))

    def guesses(self, text: str, *, at_end: bool) -> list[int]:
        """Return where `text` would begin in the prompt, judged by keys near its beginning or end."""
        for delimiter in self._delimiters:
            pieces = text.rsplit(delimiter, _LOOKED_UP) if at_end else text.split(delimiter, _LOOKED_UP)
            known, found = self._places, []
            start = 0
            for piece in pieces:
                key = piece[:_KEY]
                if start and len(key) == _KEY and key in known:
                    found.append(known[key] - start)
                start += len(piece) + 1
            if found:
                return list(dict.fromkeys(found))
        return []


def places(text: str, char: str) -> list[int]:
    """Return where `char` stands in `text`."""
    found = list(map(add, accumulate(map(len, text.split(char))), count()))
    found.pop()
    return found


def anchors(text: str, *, every: int) -> list[str]:
    """Return a letter that stands in `text` about once in so many characters; two where it mixes scripts."""
    step = max(_SAMPLE, len(text) // _SAMPLES)
    sample = "".join([text[at : at + _SAMPLE] for at in range(0, len(text), step)])
    seen = sorted({char for char in sample[:: _SAMPLE // 8] + sample[7 :: _SAMPLE // 8] if char.isalpha()})
    plain = [char for char in seen if char.isascii()]
    foreign = [char for char in seen if not char.isascii()]
    chosen = [_nearest(sample, plain, every), _nearest(sample, foreign, every)]
    return [char for char in chosen if char]


def _nearest(sample: str, chars: list[str], every: int) -> str:
    distances = {char: len(sample) / max(1, sample.count(char)) for char in chars}
    near = [char for char, distance in distances.items() if distance <= _TOO_RARE * every]
    return min(near, key=lambda char: abs(log(distances[char] / every)), default="")
