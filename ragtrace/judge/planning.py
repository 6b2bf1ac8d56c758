"""Turn a call into what a judge is shown: texts made safe to send, numbered, and cut to fit its window."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ragtrace.judge.protocol import JUDGED_KINDS, Excerpt, Extra, Item, Plan
from ragtrace.masking import MASK_FAILED, Mask, mask_text
from ragtrace.model import Delivery, RagCall, Sentence
from ragtrace.prompts import LANGUAGES
from ragtrace.text import detect_language, split_sentences

_DATA_URI = re.compile(r"data:(?:[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_%-]{64,}", re.IGNORECASE)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_OVERLAP: Final = 200
"""Characters that two pieces of one passage share, so that no short statement is cut in two."""
_SMALLEST_PIECE: Final = 400
_TOKENS_A_LABEL: Final = 6
_TOKENS_OF_INSTRUCTIONS: Final = 2_200
"""The longest instructions there are, in the language that takes the most tokens, and the reply's schema."""


class MaskFailedError(Exception):
    """The mask could not handle a text that the judge would see."""


class TooLongError(Exception):
    """A text cannot be made to fit the judge's window."""


def make_plan(call: RagCall, *, mask: Mask | None = None, wanted: frozenset[Extra] = frozenset()) -> Plan:
    """Return what the call gives a judge to see.

    Raises:
        MaskFailedError: a text could not be masked, so it must not leave the process.
    """

    def shown(text: str) -> str:
        masked = mask_text(mask, text)
        if masked == MASK_FAILED:
            raise MaskFailedError
        return clean(masked)

    delivery = call.delivery or Delivery()
    retrieved = range(len(delivery.passages))
    # A received passage without a place in the prompt stands behind the others.
    order = (*delivery.prompt_order, *(index for index in retrieved if index not in delivery.prompt_order))
    received = _excerpts(((i, delivery.passages[i].received_text) for i in order), shown)
    reference = split_sentences(call.reference) if call.reference and call.reference.strip() else ()
    withheld = _excerpts(((i, delivery.passages[i].withheld_text) for i in retrieved), shown) if reference else ()
    answer = split_sentences(call.answer) if call.answer.strip() else ()
    return Plan(
        language=_language(call),
        question=shown(call.question),
        received=received,
        withheld=withheld,
        answer=answer,
        reference=reference,
        items=(
            *(_items("A", answer, shown) if received else ()),
            *(_items("R", reference, shown) if received or withheld else ()),
        ),
        answer_text=shown(call.answer),
        wanted=wanted if received else frozenset(),
    )


def clean(text: str) -> str:
    """Return the text as it can be sent: well-formed, without inline files."""
    if ";base64," in text or ";BASE64," in text:
        text = _DATA_URI.sub(lambda found: f"[inline file, {len(found.group())} characters]", text)
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _language(call: RagCall) -> str:
    text = call.answer if call.answer.strip() else call.reference or call.question
    found = detect_language(text)
    return found if found in LANGUAGES else LANGUAGES[0]


def _excerpts(texts: Iterable[tuple[int, str]], shown: Callable[[str], str]) -> tuple[Excerpt, ...]:
    """Return the passages' texts that are not blank."""
    return tuple(Excerpt(passage=index, text=shown(text)) for index, text in texts if text.strip())


def _items(side: str, sentences: Sequence[Sentence], shown: Callable[[str], str]) -> tuple[Item, ...]:
    return tuple(
        Item(label=f"{side}{sentence.number}", text=shown(sentence.text))
        for sentence in sentences
        if sentence.kind in JUDGED_KINDS
    )


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few, in any script."""
    characters = len(text)
    return int(characters / 3.6 + (len(text.encode("utf-8", "replace")) - characters) * 0.5) + 1


def estimate_tokens(plan: Plan) -> int:
    """Return about how many tokens a request about the whole plan has."""
    texts = [excerpt.text for excerpt in (*plan.received, *plan.withheld)] + [item.text for item in plan.items]
    labels = _TOKENS_A_LABEL * (len(texts) + 2)
    return count_tokens("\n".join(texts)) + count_tokens(plan.question) + labels + _TOKENS_OF_INSTRUCTIONS


def fit_passages(plan: Plan, room: int) -> list[Plan]:
    """Return the plan with its passages dealt out so that each part has at most `room` tokens of them.

    A passage that is longer than that is cut into pieces, at blanks where there are any, with some overlap.
    """
    excerpts = [*((excerpt, True) for excerpt in plan.received), *((excerpt, False) for excerpt in plan.withheld)]
    pieces = [(piece, is_received) for excerpt, is_received in excerpts for piece in _pieces(excerpt, room)]
    parts: list[list[tuple[Excerpt, bool]]] = [[]]
    used = 0
    for piece, is_received in pieces:
        tokens = count_tokens(piece.text)
        if parts[-1] and used + tokens > room:
            parts.append([])
            used = 0
        parts[-1].append((piece, is_received))
        used += tokens
    return [
        replace(
            plan,
            received=tuple(piece for piece, is_received in part if is_received),
            withheld=tuple(piece for piece, is_received in part if not is_received),
        )
        for part in parts
    ]


def _pieces(excerpt: Excerpt, room: int) -> Iterator[Excerpt]:
    text = excerpt.text
    tokens = count_tokens(text)
    if tokens <= room:
        yield excerpt
        return
    longest = len(text) * room // (tokens + 1)
    if longest < _SMALLEST_PIECE:
        raise TooLongError
    start = 0
    while start < len(text):
        end = min(len(text), start + longest)
        if end < len(text):
            blank = max(text.rfind(mark, start + longest // 2, end) for mark in ("\n", " ", "。"))
            end = blank + 1 if blank > 0 else end
        yield Excerpt(passage=excerpt.passage, text=text[start:end])
        start = end if end == len(text) else end - _OVERLAP


def fit_items(items: Sequence[Item], *, room: int, most: int) -> list[tuple[Item, ...]]:
    """Return the items in lists of at most `most`, each at most `room` tokens long.

    Raises:
        TooLongError: one item alone is longer.
    """
    lists: list[list[Item]] = [[]]
    used = 0
    for item in items:
        tokens = count_tokens(item.text)
        if tokens > room:
            raise TooLongError
        if lists[-1] and (used + tokens > room or len(lists[-1]) >= most):
            lists.append([])
            used = 0
        lists[-1].append(item)
        used += tokens
    return [tuple(part) for part in lists]
