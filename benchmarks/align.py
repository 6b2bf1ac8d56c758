"""Measure alignment: how often it is right against known truth, and what it costs."""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from align_cases import AS_IT_IS, CUT, LINES, Case, Maker, Truth
from align_texts import made_texts

from ragtrace.align import full, quick
from ragtrace.model import Delivery, Passage, PassageDelivery

_DEMO = Path(__file__).parent.parent / "ragtrace" / "demo" / "corpus"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, action="append", help="directory of texts to cut passages from")
    parser.add_argument("--cases", type=int, default=60, help="prompts of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true", help="print each wrong label")
    parser.add_argument("--skip-times", action="store_true")
    arguments = parser.parse_args()
    texts = [*_read(arguments.texts or [_DEMO]), *([] if arguments.texts else made_texts(arguments.seed))]
    print(f"{len(texts)} texts, {sum(map(len, texts)):,} characters, {arguments.cases} prompts a kind")
    _accuracy(texts, cases=arguments.cases, seed=arguments.seed, prints_errors=arguments.errors)
    if not arguments.skip_times:
        # Enough text for 100 passages of 20 KB that do not overlap.
        _times(texts if arguments.texts else made_texts(arguments.seed, 200_000))


def _read(directories: Sequence[Path]) -> Iterator[str]:
    for directory in directories:
        for path in sorted(directory.iterdir()):
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            if len(text) > 1000:
                yield text


def _accuracy(texts: Sequence[str], *, cases: int, seed: int, prints_errors: bool) -> None:
    kinds: dict[str, Callable[[Maker], Case]] = {
        "disjoint": Maker.disjoint,
        "mixed": Maker.mixed,
        "near-duplicates": Maker.twins,
        "overlapping": Maker.overlapping,
        "short 60–300": Maker.short,
        "as it is, cut": lambda maker: maker.disjoint(renderings=AS_IT_IS, selections=CUT),
        "lines/wrap/markdown": lambda maker: maker.disjoint(renderings=LINES),
    }
    print(f"\n{'':22}{'six':>8}{'three':>8}{'full/absent':>13}{'coverage':>10}{'quick':>8}{'wrong':>7}")
    for name, make in kinds.items():
        maker = Maker(texts, seed)
        results = [result for _ in range(cases) for result in _results(make(maker))]
        _print_row(name, results)
        if prints_errors:
            _print_errors(results)


_Result = tuple[Truth, PassageDelivery, PassageDelivery]


def _results(case: Case) -> list[_Result]:
    passages = [Passage(text=text, rank=n) for n, text in enumerate(case.passages)]
    placed, quickly = full(passages, case.parts), quick(passages, case.parts)
    return list(zip(case.truths, placed.passages, quickly.passages, strict=True))


def _label(placed: PassageDelivery) -> str:
    return placed.kind or placed.status


def _coarse(label: str) -> str:
    return label if label in ("full", "absent") else "partial"


def _print_row(name: str, results: Sequence[_Result]) -> None:
    labels = [(truth.label, _label(placed)) for truth, placed, _ in results]
    six = _share([true == found for true, found in labels])
    three = _share([_coarse(true) == _coarse(found) for true, found in labels])
    sure = [(t, f) for t, f in labels if t in ("full", "absent")]
    confused = _share([{t, f} != {"full", "absent"} for t, f in sure])
    error = sum(abs(truth.coverage - placed.coverage) for truth, placed, _ in results) / len(results)
    decided = [(truth, fast) for truth, _, fast in results if fast.status != "undetermined"]
    wrong = 1 - _share([truth.label == _label(fast) for truth, fast in decided])
    print(f"{name:22}{six:8.3f}{three:8.3f}{confused:13.3f}{error:10.4f}{len(decided) / len(results):8.2f}{wrong:7.3f}")


def _print_errors(results: Sequence[_Result]) -> None:
    errors = Counter(
        (truth.selection, truth.rendering, truth.label, _label(placed))
        for truth, placed, _ in results
        if truth.label != _label(placed)
    )
    for (selection, rendering, true, found), count in errors.most_common(25):
        print(f"    {count:4} {selection:11} {rendering:13} is {true:10} called {found}")


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 1.0


def _times(texts: Sequence[str]) -> None:
    print(f"\n{'CPU ms, best of 9':34}{'prompt':>9}{'quick':>9}{'full':>9}")
    pool = "".join(text for text in texts)
    for count, size, budget in ((5, 1000, 6000), (20, 5000, 68_000), (100, 5000, 500_000), (100, 20_000, 500_000)):
        sources = [pool[(n * size) % max(1, len(pool) - size) :][:size] for n in range(count)]
        passages = [Passage(text=text, rank=n) for n, text in enumerate(sources)]
        for name, render in _shapes(budget // count).items():
            rng = random.Random(3)
            blocks = [render(text) for text in sources]
            rng.shuffle(blocks)
            parts = ["Answer with the context.", "\n\n".join(blocks)[:budget], "Question: why?"]
            print(
                f"{count:4} × {size / 1000:2.0f} KB {name:21}{sum(map(len, parts)) / 1000:6.0f} KB"
                f"{_best(quick, passages, parts):9.2f}{_best(full, passages, parts):9.2f}"
            )


def _shapes(share: int) -> dict[str, Callable[[str], str]]:
    return {
        "whole": lambda text: text,
        "cut": lambda text: text[:share],
        "cut, numbered lines": lambda text: "\n".join(f"{n} {line}" for n, line in enumerate(text[:share].split("\n"))),
    }


def _best(
    function: Callable[[Sequence[Passage], Sequence[str]], Delivery],
    passages: Sequence[Passage],
    parts: Sequence[str],
) -> float:
    times = []
    for _ in range(9):
        start = time.process_time()
        function(passages, parts)
        times.append(time.process_time() - start)
    return 1000 * min(times)


if __name__ == "__main__":
    main()
