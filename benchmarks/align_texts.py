"""Texts to cut passages from, made on the spot: prose of many alphabets, tables, code."""

import random

_ALPHABETS = {
    "latin": "etaoinsrhldcumfpgwybvkxjqz",
    "german": "enisratdhulcgmobwfkzüväpößjyqx",
    "cyrillic": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф",
    "arabic": "اليمنتربوعدسفهكقحجشصطخضذثزظغ",
    "hindi": "कतनरसमहपवलयदजगबचशटडथधभणफखघ",
    "thai": "านรอกเงมยลวดทสตะปบคหแจพชขใไโผซธฟ",
}
_HAN = [chr(0x4E00 + n * 7 % 6000) for n in range(1200)]
_KANA = "のにをはがとでたしるてれまさんいなかもこ"


def made_texts(seed: int, size: int = 40_000) -> list[str]:
    """Return texts of `size` characters each; no two share more than words."""
    rng = random.Random(seed)
    texts = [_prose(rng, alphabet, size) for alphabet in _ALPHABETS.values()]
    texts += [
        _dense(rng, "", size),
        _dense(rng, _KANA, size),
        _table(rng, size),
        _code(rng, size),
        _markdown(rng, size),
    ]
    return texts


def _vocabulary(rng: random.Random, alphabet: str, count: int = 1500) -> list[str]:
    weights = [1 / (n + 2) for n in range(len(alphabet))]
    return ["".join(rng.choices(alphabet, weights, k=rng.randint(2, 10))) for _ in range(count)]


def _sentence(rng: random.Random, words: list[str], weights: list[float]) -> str:
    chosen = rng.choices(words, weights, k=rng.randint(4, 22))
    return " ".join(chosen).capitalize() + rng.choice([".", ".", ".", "?", "!", ":"])


def _prose(rng: random.Random, alphabet: str, size: int) -> str:
    words = _vocabulary(rng, alphabet)
    weights = [1 / (n + 3) for n in range(len(words))]
    text = ""
    while len(text) < size:
        text += " ".join(_sentence(rng, words, weights) for _ in range(rng.randint(2, 7))) + "\n\n"
    return text


def _dense(rng: random.Random, particles: str, size: int) -> str:
    """Make text of a script without blanks."""
    text = ""
    while len(text) < size:
        sentence = "".join(
            rng.choice(particles) if particles and rng.random() < 0.5 else rng.choice(_HAN)
            for _ in range(rng.randint(8, 50))
        )
        text += sentence + rng.choice("。。，、！") + ("\n" if rng.random() < 0.1 else "")
    return text


def _table(rng: random.Random, size: int) -> str:
    words = _vocabulary(rng, _ALPHABETS["latin"], 400)
    text = "| id | name | price | stock |\n|---|---|---|---|\n"
    while len(text) < size:
        name = f"{rng.choice(words)} {rng.choice(words)}"
        text += f"| {rng.randint(1000, 99999)} | {name} | {rng.random() * 900:.2f} | {rng.randint(0, 50)} |\n"
    return text


def _code(rng: random.Random, size: int) -> str:
    names = _vocabulary(rng, _ALPHABETS["latin"], 300)
    text = ""
    while len(text) < size:
        name, one, two = rng.sample(names, 3)
        text += f"def {name}({one}, {two}=None):\n    if {two} is None:\n        return {one}\n"
        for _ in range(rng.randint(1, 6)):
            a, b = rng.sample(names, 2)
            text += f'    {a} = {b}["{rng.choice(names)}\\n"] + {rng.randint(0, 999)}\n'
        text += f"    return {rng.choice(names)}({one})\n\n\n"
    return text


def _markdown(rng: random.Random, size: int) -> str:
    words = _vocabulary(rng, _ALPHABETS["latin"])
    weights = [1 / (n + 3) for n in range(len(words))]
    text = ""
    while len(text) < size:
        text += f"## {' '.join(rng.sample(words, 3)).title()}\n\n"
        site, page, bold = rng.sample(words, 3)
        text += f"See [{page}](https://{site}.example/{page}) and **{bold}**. "
        text += " ".join(_sentence(rng, words, weights) for _ in range(4)) + "\n\n"
        text += "".join(f"- `{rng.choice(words)}` {_sentence(rng, words, weights)}\n" for _ in range(4)) + "\n"
    return text
