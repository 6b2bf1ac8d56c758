"""Find out whether an embedding model tells texts apart, language by language, before answer_relevancy rests on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ragtrace.judge.vectors import cosine

_LEAST_MARGIN: Final = 0.1
_TRIPLES: Final = {
    "en": (
        "How long is the warranty on the pump?",
        "For what period is the pump under guarantee?",
        "Which train goes to the harbour on Sunday?",
    ),
    "zh": ("这台水泵的保修期有多长？", "水泵可以享受多久的质保？", "星期天哪一班火车开往港口？"),
    "ja": (
        "このポンプの保証期間はどのくらいですか。",
        "ポンプは何年間保証されますか。",
        "日曜日に港へ行く列車はどれですか。",
    ),
    "ru": (
        "Каков гарантийный срок на насос?",
        "Как долго действует гарантия на насос?",
        "Какой поезд идёт в порт в воскресенье?",
    ),
    "de": (
        "Wie lange gilt die Garantie für die Pumpe?",
        "Für welchen Zeitraum ist die Pumpe garantiert?",
        "Welcher Zug fährt am Sonntag zum Hafen?",
    ),
}


class Embedder(Protocol):
    """What turns texts into vectors: `LlmJudge`."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How near a question is to its paraphrase, and to an unrelated question."""

    language: str
    paraphrase: float
    """Cosine, -1 to 1."""
    unrelated: float
    """Cosine, -1 to 1."""

    @property
    def is_clear(self) -> bool:
        """Whether the paraphrase is nearer by at least 0.1."""
        return self.paraphrase - self.unrelated >= _LEAST_MARGIN


async def measure_separation(embedder: Embedder) -> tuple[Separation, ...]:
    """Embed a question, a paraphrase and an unrelated question in each of five languages, in one request.

    Raises:
        JudgeUnavailable: the endpoint did not answer.
        JudgeReplyInvalid: it has no such model, or sent something else than vectors.
    """
    vectors = await embedder.embed([text for triple in _TRIPLES.values() for text in triple])
    questions, paraphrases, others = vectors[::3], vectors[1::3], vectors[2::3]
    return tuple(
        Separation(language=language, paraphrase=cosine(question, paraphrase), unrelated=cosine(question, other))
        for language, question, paraphrase, other in zip(_TRIPLES, questions, paraphrases, others, strict=True)
    )
