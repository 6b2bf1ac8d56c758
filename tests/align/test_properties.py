"""Laws of alignment: what comes back is what went in, whatever went in."""

import html
import json
import random
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragtrace.align import align, full, quick
from ragtrace.align.escapes import unescape
from ragtrace.align.skeleton import Skeleton, letters
from ragtrace.model import Delivery, Passage

_LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_RENDERINGS: list[Callable[[str], str]] = [
    str,
    lambda text: " ".join(text.split()),
    json.dumps,
    html.escape,
    repr,
    lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
]
_ALPHABETS = ["etaoinshrdlu", "оеаинтсрвлкм", "अकखगघचछजतथदन", "一丁七万丈三上下不与"]


def _text(rng: random.Random, alphabet: str, words: int) -> str:
    """Text that shares no longer stretch with any other."""
    made = ("".join(rng.choices(alphabet, k=rng.randint(3, 9))) for _ in range(words))
    return " ".join(word + rng.choice(["", "", ",", ".\n"]) for word in made)


@st.composite
def _deliveries(draw: st.DrawFn) -> tuple[list[Passage], list[str], list[str], list[str]]:
    """Passages, prompt parts, the label of each passage and what was sent of it."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, 7))
    texts = [_text(rng, draw(st.sampled_from(_ALPHABETS)), rng.randint(45, 120)) for _ in range(count)]
    labels = [draw(st.sampled_from(["full", "head", "tail", "absent"])) for _ in texts]
    sent = []
    for text, label in zip(texts, labels, strict=True):
        cut = int(len(text) * draw(st.floats(0.25, 0.75)))
        sent.append({"full": text, "head": text[:cut], "tail": text[cut:], "absent": ""}[label])
    render = draw(st.sampled_from(_RENDERINGS))
    order = draw(st.permutations(range(count)))
    blocks = [f"[{n}] {render(sent[n])}" for n in order if sent[n]]
    template = draw(st.sampled_from(["{}", "Context:\n{}\n\nQuestion: why?", "<context>{}</context>"]))
    joined = draw(st.sampled_from(["\n\n", "\n---\n", " "])).join(blocks)
    passages = [Passage(text=text, rank=n) for n, text in enumerate(texts)]
    return passages, ["Answer.", template.replace("{}", joined)], labels, sent


def _labels(delivery: Delivery) -> list[str]:
    return [placed.kind or placed.status for placed in delivery.passages]


@_LAW
@given(_deliveries())
def test_what_comes_back_is_what_went_in(case: tuple[list[Passage], list[str], list[str], list[str]]):
    """Every passage is named by what was sent of it, whatever subset, order, truncation and template."""
    passages, parts, labels, sent = case

    delivery = full(passages, parts)

    assert _labels(delivery) == labels
    for placed, text in zip(delivery.passages, sent, strict=True):
        received, wanted = letters(placed.received_text), letters(text)
        assert abs(len(received) - len(wanted)) <= 3
        assert received[3:-3] in wanted


@_LAW
@given(_deliveries())
def test_the_cheap_way_never_contradicts_the_truth(case: tuple[list[Passage], list[str], list[str], list[str]]):
    """What is placed in the application is placed right; the rest is undetermined."""
    passages, parts, labels, _ = case

    found = _labels(quick(passages, parts))

    assert all(label in (true, "undetermined") for label, true in zip(found, labels, strict=True))


@_LAW
@given(_deliveries())
def test_spans_are_ordered_and_inside_their_texts(case: tuple[list[Passage], list[str], list[str], list[str]]):
    """Spans lie in passage and prompt, in passage order, and what they name is the same text."""
    passages, parts, _, _ = case
    prompt = "\n".join(parts)

    delivery = align(passages, parts)

    for placed in delivery.passages:
        ends = 0
        for span in placed.spans:
            assert ends <= span.passage_start < span.passage_end <= len(placed.passage.text)
            assert 0 <= span.prompt_start < span.prompt_end <= len(prompt)
            ends = span.passage_end
            there = Skeleton(prompt[span.prompt_start : span.prompt_end]).letters
            assert abs(len(there) - len(letters(placed.passage.text[span.passage_start : span.passage_end]))) <= 4
        assert 0 <= placed.coverage <= 1
    assert sorted(delivery.prompt_order) == [n for n, placed in enumerate(delivery.passages) if placed.spans]
    assert all(0 <= start < end <= len(prompt) for start, end in delivery.unknown_spans)


@_LAW
@given(st.lists(st.text(max_size=300), max_size=5), st.lists(st.text(max_size=400), max_size=3))
def test_any_text_has_a_delivery(texts: list[str], parts: list[str]):
    """No text breaks alignment: lone surrogates, controls, marks, half escapes."""
    passages = [Passage(text=text, rank=n) for n, text in enumerate(texts)]

    assert len(align(passages, parts).passages) == len(full(passages, parts).passages) == len(texts)


@_LAW
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_escaping_leaves_the_letters(text: str):
    """Escapes of any depth leave the same letters, and each letter leads back to where it stood."""
    plain = Skeleton(unescape(text)[0].replace("\\", " ").replace("&", " "))
    text = plain.between(0, 0) if not plain.letters else unescape(text)[0].replace("\\", " ").replace("&", " ")

    for escaped in (json.dumps(text), json.dumps(json.dumps(text)), html.escape(html.escape(text))):
        form = Skeleton(escaped)
        assert form.letters == Skeleton(text).letters
        starts = [form.start(n) for n in range(len(form.letters))]
        ends = [form.end(n + 1) for n in range(len(form.letters))]
        assert starts == sorted(starts)
        assert all(start < end for start, end in zip(starts, ends, strict=True))
