"""Tell for certain whether a stretch of a passage can still be somewhere in the prompt, in whatever rendering."""

from collections.abc import Sequence

from ragtrace.align.escapes import unescape
from ragtrace.align.marks import Marks
from ragtrace.align.skeleton import letters, letters_of_each

_EVERY = 10
"""Letters between two anchors at best."""
_TOO_RARE = 5
_BREAK = " "
"""Keeps keys from running over the end of a sample."""
_SMALL = 3_000
"""Characters up to which all of a text is looked up; of more, samples are."""
_SAMPLES, _SAMPLE = 24, 120
_PROBES = 10
_SHORT, _SHORT_KEY = 400, 12
"""Characters up to which a text is looked up without anchors, so many in a row."""
_COUNTED = 1500
"""Letters counted to choose the anchors."""
_MOST = 100_000
"""Characters of prompt up to which they are searched at all."""
_SHARE, _FEWEST = 0.025, 2
"""Share and number of keys that must be there: fewer are stock phrases."""
_IGNORED = 0.02
"""Where there are fewer letters than this share of a text has characters, they hold nothing of it."""


class Rest:
    """The stretches of a prompt where something may be, as letters; `key` of them in a row are no accident."""

    __slots__ = ("_is_searchable", "_key", "_keys", "_letters", "_marks")

    def __init__(self, stretches: Sequence[str], *, key: int) -> None:
        self._key = key
        self._is_searchable = sum(map(len, stretches)) <= _MOST
        self._letters = letters(unescape("\n".join(stretches))[0]) if self._is_searchable else ""
        self._marks: Marks | None = None
        self._keys: set[str] = set()

    def has_room_for(self, length: int) -> bool:
        """Tell whether there are enough letters for something of a text of so many characters to be among them."""
        return not self._is_searchable or len(self._letters) > max(_IGNORED * length, self._key)

    def may_hold(self, text: str, *, passage_length: int, strays: float) -> bool:
        """Tell whether more of `text` could stand there than the share `strays`, and than stock phrases."""
        if not self._is_searchable:
            return True
        wanted = self._wanted(text)
        if passage_length <= _SHORT:
            return self._contains(wanted)
        if self._marks is None:
            middle = len(self._letters) // 2
            self._marks = Marks(self._letters[middle : middle + _COUNTED], share=1 / _EVERY)
            self._keys = set(self._anchored(self._letters, self._marks))
        keys = self._anchored(wanted, self._marks)
        if len(keys) * _TOO_RARE * _EVERY < len(wanted):
            # Too few anchors: the text is short or uniform, or of another script than the prompt.
            return self._contains(wanted)
        found = sum(key in self._keys for key in keys)
        return found >= min(_FEWEST, len(keys)) and found >= max(_SHARE, strays) * len(keys)

    def _wanted(self, text: str) -> str:
        if len(text) <= _SMALL:
            return letters(unescape(text)[0])
        step = len(text) // _SAMPLES
        return _BREAK.join(letters_of_each([text[at : at + _SAMPLE] for at in range(0, len(text), step)]))

    def _contains(self, wanted: str) -> bool:
        """Look for keys without anchors: all of a short text, a few of a long one."""
        if len(wanted) <= _SHORT_KEY:
            return wanted in self._letters
        last = len(wanted) - _SHORT_KEY
        step = _SHORT_KEY // 2 if len(wanted) <= _SHORT else last // _PROBES
        return any(wanted[at : at + _SHORT_KEY] in self._letters for at in (*range(0, last, step), last))

    def _anchored(self, some: str, marks: Marks) -> list[str]:
        key = self._key
        keys = [some[at : at + key] for at in marks.places(some)]
        return [one for one in keys if _BREAK not in one and len(one) == key]
