"""Make prompts from passages in every way that templates do, and remember what was put in."""

import html
import json
import random
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Stretch = tuple[int, int]
Render = Callable[[str, random.Random], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A stretch of one of the texts; passages are sources."""

    text_number: int
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What of one passage was put into the prompt."""

    stretches: tuple[Stretch, ...]
    """In letters and digits of the passage, sorted, disjoint."""
    length: int
    selection: str = ""
    rendering: str = ""

    @property
    def coverage(self) -> float:
        return sum(end - start for start, end in self.stretches) / max(1, self.length)

    @property
    def label(self) -> str:
        """Name the shape as users would: a little missing is whole, a trace is nothing."""
        if self.coverage >= 0.97:
            return "full"
        if self.coverage < 0.05:
            return "absent"
        main = _main(self.stretches)
        start, end = main[0][0], main[-1][1]
        if end - start - sum(b - a for a, b in main) > 0.1 * (end - start):
            return "fragments"
        if start <= 0.03 * self.length:
            return "head"
        return "tail" if end >= 0.97 * self.length else "middle"


def _main(stretches: Sequence[Stretch]) -> Sequence[Stretch]:
    """Leave out what is so small beside the rest that it does not change the shape."""
    longest, total = max(b - a for a, b in stretches), sum(b - a for a, b in stretches)
    main = [(a, b) for a, b in stretches if b - a >= 0.12 * longest]
    return main if sum(b - a for a, b in main) >= 0.88 * total else stretches


@dataclass(slots=True, kw_only=True)
class Case:
    """Retrieved passages, a prompt, and the truth about each of them."""

    passages: list[str]
    parts: list[str]
    truths: list[Truth]


def letters_before(text: str) -> list[int]:
    """Return for each offset how many letters and digits stand before it."""
    counts = [0]
    for char in text:
        counts.append(counts[-1] + char.isalnum())
    return counts


def union(stretches: Sequence[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


# Selections: which stretches (characters) of a passage are sent.


def _full(text: str, rng: random.Random) -> list[Stretch]:
    return [(0, len(text))]


def _head(text: str, rng: random.Random) -> list[Stretch]:
    return [(0, int(len(text) * rng.uniform(0.15, 0.9)))]


def _tail(text: str, rng: random.Random) -> list[Stretch]:
    return [(int(len(text) * rng.uniform(0.1, 0.85)), len(text))]


def _middle(text: str, rng: random.Random) -> list[Stretch]:
    start = int(len(text) * rng.uniform(0.1, 0.5))
    return [(start, start + int(len(text) * rng.uniform(0.2, 0.4)))]


def _ellipsis(text: str, rng: random.Random) -> list[Stretch]:
    return [(0, int(len(text) * rng.uniform(0.15, 0.4))), (int(len(text) * rng.uniform(0.6, 0.85)), len(text))]


def _dropped(text: str, rng: random.Random) -> list[Stretch]:
    return []


def _chunks(text: str, rng: random.Random) -> list[Stretch]:
    chunks, at = [], 0
    while at < len(text):
        end = min(len(text), at + rng.randint(300, 800))
        if rng.random() < 0.6:
            chunks.append((at, end))
        at = end
    return chunks


def _sentences(text: str, rng: random.Random) -> list[Stretch]:
    found = [m.span() for m in re.finditer(r"[^.!?。！？\n]{20,}[.!?。！？\n]", text)]
    return sorted(rng.sample(found, max(1, len(found) // 3))) if found else []


SELECTIONS: dict[str, Callable[[str, random.Random], list[Stretch]]] = {
    "full": _full,
    "head": _head,
    "tail": _tail,
    "middle": _middle,
    "ellipsis": _ellipsis,
    "dropped": _dropped,
    "duplicated": _full,
    "chunks": _chunks,
    "sentences": _sentences,
}

# Renderings: what a template does to the text that it puts in.


def _plain(text: str, rng: random.Random) -> str:
    return text


def _collapsed(text: str, rng: random.Random) -> str:
    return " ".join(text.split())


def _xml(text: str, rng: random.Random) -> str:
    return f'<document index="{rng.randint(1, 20)}">\n<source>file{rng.randint(1, 99)}.md</source>\n{text}\n</document>'


def _json(text: str, rng: random.Random) -> str:
    return json.dumps({"id": str(rng.randint(1, 999)), "page_content": text})


def _json_unicode(text: str, rng: random.Random) -> str:
    return json.dumps({"text": text, "score": round(rng.random(), 3)}, ensure_ascii=False)


def _json_twice(text: str, rng: random.Random) -> str:
    return json.dumps(json.dumps([text]))


def _html(text: str, rng: random.Random) -> str:
    return html.escape(text)


def _html_twice(text: str, rng: random.Random) -> str:
    return html.escape(html.escape(text))


def _quoted(text: str, rng: random.Random) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _wrapped(text: str, rng: random.Random) -> str:
    return "\n".join(textwrap.fill(part, 80) for part in text.split("\n\n"))


def _numbered(text: str, rng: random.Random) -> str:
    return "\n".join(f"{n}: {line}" for n, line in enumerate(text.splitlines(), 1))


def _stripped(text: str, rng: random.Random) -> str:
    text = re.sub(r"^```.*$", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*#+\s*|\*\*|__|`", "", text, flags=re.M)
    return re.sub(r"[ \t]*\|[ \t]*", " ", text)


def _repr(text: str, rng: random.Random) -> str:
    return f"Document(page_content={text!r})"


def _lower(text: str, rng: random.Random) -> str:
    return text.lower()


def _masked(text: str, rng: random.Random) -> str:
    return re.sub(r"\b\w{3,15}\b", lambda m: "[REDACTED]" if rng.random() < 0.03 else m[0], text)


def _bullets(text: str, rng: random.Random) -> str:
    return "\n".join(f"- {part.strip()}" for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip())


RENDERINGS: dict[str, Render] = {
    "plain": _plain,
    "collapsed": _collapsed,
    "xml": _xml,
    "json": _json,
    "json-unicode": _json_unicode,
    "json-twice": _json_twice,
    "html": _html,
    "html-twice": _html_twice,
    "quoted": _quoted,
    "wrapped": _wrapped,
    "numbered": _numbered,
    "stripped": _stripped,
    "repr": _repr,
    "lower": _lower,
    "masked": _masked,
    "bullets": _bullets,
}
AS_IT_IS = ("plain", "collapsed")
CUT = ("full", "head", "tail")
LINES = ("wrapped", "numbered", "stripped")
GAPS = (" … ", "\n...\n", " [...] ", "\n\n")


class Maker:
    """Makes cases from texts; the same seed makes the same cases."""

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts = texts
        self._rng = random.Random(seed)
        self._taken: dict[int, list[Stretch]] = {}

    def sources(self, count: int, low: int, high: int) -> list[Source]:
        """Cut passages that share no place with any other of this case."""
        return [source for _ in range(count) for source in self._windows(1, self._rng.randint(low, high), 0)]

    def windows(self, count: int, low: int, high: int) -> list[Source]:
        """Cut one text into chunks that overlap by 10–25 %."""
        size = self._rng.randint(low, high)
        return self._windows(count, size, int(size * self._rng.uniform(0.1, 0.25)))

    def _windows(self, count: int, size: int, overlap: int) -> list[Source]:
        for _ in range(200):
            number = self._rng.randrange(len(self._texts))
            text = self._texts[number]
            length = min(len(text), count * (size - overlap) + overlap)
            start = self._rng.randint(0, len(text) - length)
            end = start + length
            taken = self._taken.setdefault(number, [])
            if all(end <= a or b <= start for a, b in taken) and text[start:end].strip():
                taken.append((start, end))
                starts = range(start, max(start + 1, end - overlap), max(1, size - overlap))
                return [Source(text_number=number, start=at, text=text[at : min(end, at + size)]) for at in starts]
        return []

    def disjoint(self, *, renderings: Sequence[str] = (), selections: Sequence[str] = ()) -> Case:
        names = renderings or list(RENDERINGS)
        sources = self.sources(16, 600, 4000)
        return self._case(
            sources[:12],
            foreign=sources[12:],
            renderings=[self._rng.choice(names)] * len(sources[:12]),
            selections=[self._rng.choice(selections) for _ in sources[:12]] if selections else (),
        )

    def mixed(self) -> Case:
        """Passages of all lengths, some from one place, each rendered its own way."""
        sources = [*self.sources(7, 300, 5000), *self.windows(3, 400, 1500), *self.sources(2, 80, 300)]
        self._rng.shuffle(sources)
        renderings = [self._rng.choice(list(RENDERINGS)) for _ in sources]
        return self._case(sources, foreign=self.sources(4, 600, 3000), renderings=renderings)

    def overlapping(self) -> Case:
        sources = [*self.windows(6, 500, 2000), *self.windows(6, 500, 2000)]
        name = self._rng.choice(list(RENDERINGS))
        return self._case(sources, foreign=self.sources(3, 600, 3000), renderings=[name] * len(sources))

    def twins(self) -> Case:
        """Pairs of versions of one text, 80 % the same, of which one is sent."""
        sources = self.sources(6, 600, 3000)
        passages, selections = [], []
        for source in sources:
            pair = [source, Source(text_number=-1 - len(passages), start=0, text=self._version(source.text))]
            self._rng.shuffle(pair)
            passages += pair
            selections += self._rng.sample([self._rng.choice(["full", "full", "head", "tail"]), "dropped"], 2)
        name = self._rng.choice(list(RENDERINGS))
        return self._case(
            passages, foreign=self.sources(2, 600, 2000), renderings=[name] * len(passages), selections=selections
        )

    def short(self) -> Case:
        sources = self.sources(16, 60, 300)
        name = self._rng.choice(list(RENDERINGS))
        return self._case(sources[:12], foreign=sources[12:], renderings=[name] * len(sources[:12]))

    def _version(self, text: str) -> str:
        words = re.split(r"(\s+)", text)
        if len(words) < 40:
            return "".join(chr(0x4E00 + self._rng.randrange(3000)) if self._rng.random() < 0.2 else c for c in text)
        pool = [word for word in words if word.strip()]
        return "".join(self._rng.choice(pool) if word.strip() and self._rng.random() < 0.2 else word for word in words)

    def _case(
        self,
        sources: Sequence[Source],
        *,
        foreign: Sequence[Source],
        renderings: Sequence[str],
        selections: Sequence[str] = (),
    ) -> Case:
        rng = self._rng
        self._taken = {}
        names = selections or [rng.choice(list(SELECTIONS)) for _ in sources]
        sent = [SELECTIONS[name](source.text, rng) for name, source in zip(names, sources, strict=True)]
        blocks = [source.text for source in foreign]
        for name, source, stretches, rendering in zip(names, sources, sent, renderings, strict=True):
            if not stretches:
                continue
            text = rng.choice(GAPS).join(source.text[a:b] for a, b in stretches)
            blocks += (RENDERINGS[rendering](text, rng) for _ in range(2 if name == "duplicated" else 1))
        rng.shuffle(blocks)
        numbered = rng.random() < 0.5
        joined = "\n\n".join(f"[{n}] {block}" if numbered else block for n, block in enumerate(blocks, 1))
        truths = [
            self._truth(source, sources, sent, selection=name, rendering=rendering)
            for source, name, rendering in zip(sources, names, renderings, strict=True)
        ]
        system = "You answer questions with the context below. Say so if it does not hold the answer."
        return Case(
            passages=[source.text for source in sources],
            parts=[
                system,
                f"Context:\n{joined}\n\nQuestion: {rng.choice(['What applies here?', 'どうすればいいですか'])}",
            ],
            truths=truths,
        )

    def _truth(
        self,
        source: Source,
        sources: Sequence[Source],
        sent: Sequence[Sequence[Stretch]],
        *,
        selection: str,
        rendering: str,
    ) -> Truth:
        """Text that neighbours share was sent for each of them."""
        places = [
            (other.start + start, other.start + end)
            for other, stretches in zip(sources, sent, strict=True)
            if other.text_number == source.text_number
            for start, end in stretches
        ]
        before = letters_before(source.text)
        inside = [
            (before[max(0, start - source.start)], before[min(len(source.text), end - source.start)])
            for start, end in union(places)
            if start < source.end and end > source.start
        ]
        stretches = tuple((start, end) for start, end in union(inside) if start < end)
        return Truth(stretches=stretches, length=before[-1], selection=selection, rendering=rendering)
