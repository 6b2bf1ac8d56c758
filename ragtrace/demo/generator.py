"""The demo's own chat model: it answers with sentences of its prompt, and goes wrong where it is told to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict

from ragtrace.demo.corpus import CorpusPassage
from ragtrace.demo.faults import Draft, Ledger, LedgerEntry, spoil_evenly
from ragtrace.demo.words import terms
from ragtrace.text import detect_language, split_sentences

MODEL_NAME = "ragtrace-demo-extractive"
QUESTION_MARK = "\n\nQuestion: "
_BLOCK = re.compile(r"^\[\d+\] ", re.MULTILINE)
_ENDS = (".", "!", "?", "。", "！", "？")
_MOST_SENTENCES = 3
_LEAST_GAIN = 0.12
_LEAST_GAIN_ELSEWHERE = 0.25
_LEAST_COVERAGE = 0.34
"""Shares of the question's weight: that a further sentence must add, and that an answer must cover."""
_COMMON = 0.2
_STRANGE = 2.0
"""Weight of a term that the corpus does not know."""
_UNKNOWN = "I don't know: the passages do not answer this question."
_REFUSALS = {
    "en": _UNKNOWN,
    "zh": "我不知道，所给的资料没有回答这个问题。",
    "ja": "わかりません。与えられた資料にはこの質問への答えがありません。",
    "ru": "Я не знаю: в предоставленных материалах нет ответа на этот вопрос.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    text: str
    heading: str
    place: int


class DemoChatModel(BaseChatModel):
    """A small extractive model, no language model: it says so in its name and in each answer's metadata."""

    memory: tuple[CorpusPassage, ...]
    """The corpus that it knows by heart, as a language model knows its training data."""
    faulty: frozenset[str]
    """Questions to answer wrongly."""
    ledger: Ledger
    """Where each planted fault is written down."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def _llm_type(self) -> str:
        return MODEL_NAME

    @property
    def _identifying_params(self) -> dict[str, Any]:
        # LangChain writes these into the run, where tracers show them; the ledger must not be among them.
        return {"model_name": MODEL_NAME}

    @cached_property
    def _weights(self) -> dict[str, float]:
        """How rare each term of the corpus is; nothing for terms that stand in many passages."""
        texts = [set(terms(passage.text)) for passage in self.memory]
        shares = {t: sum(t in text for text in texts) / len(texts) for t in set().union(*texts)}
        return {term: -log(share) if share < _COMMON else 0.0 for term, share in shares.items()}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        context, _, question = str(messages[-1].content).rpartition(QUESTION_MARK)
        answer = self._answer(question, context)
        message = AIMessage(
            content=answer,
            response_metadata={"model_name": MODEL_NAME, "note": "demo model: extracts sentences, no language model"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _answer(self, question: str, context: str) -> str:
        language = detect_language(question)
        wanted = {term: self._weights.get(term, _STRANGE) for term in terms(question)}
        honest = _choose(wanted, _received_sentences(context))
        if not honest:
            return _REFUSALS.get(language, _UNKNOWN)
        topic = honest[0].heading
        remembered = sorted(self._cut_sentences(context), key=lambda s: (s.heading != topic, -_gain(s, wanted)))
        draft = Draft(
            question=question,
            language=language,
            sentences=tuple(s.text for s in honest),
            received=context,
            remembered=tuple(s.text for s in remembered),
        )
        spoilt = spoil_evenly(draft, self.ledger) if question in self.faulty else None
        answer = ("" if language in ("zh", "ja") else " ").join(spoilt.sentences if spoilt else draft.sentences)
        if spoilt:
            self.ledger.add(LedgerEntry(question=question, kind=spoilt.kind, planted=spoilt.planted, answer=answer))
        return answer

    def _cut_sentences(self, context: str) -> list[_Sentence]:
        """Sentences that the model knows of passages whose head it was sent; all of the sentence, or most, was cut."""
        return [
            sentence
            for passage in self.memory
            if f"] {passage.heading}\n" in context
            for sentence in _sentences(passage.heading, passage.body)
            if sentence.text[: len(sentence.text) // 4] not in context
        ]


def _choose(wanted: Mapping[str, float], sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Choose sentences that together cover most of the question; none where they cover too little."""
    whole, open_terms = sum(wanted.values()) or 1.0, dict(wanted)
    chosen: list[_Sentence] = []
    left = list(sentences)
    while left and len(chosen) < _MOST_SENTENCES:
        best = max(left, key=lambda s: (_gain(s, open_terms), -s.place))
        is_elsewhere = bool(chosen) and best.heading != chosen[0].heading
        if _gain(best, open_terms) / whole < (_LEAST_GAIN_ELSEWHERE if is_elsewhere else _LEAST_GAIN):
            break
        chosen.append(best)
        open_terms = {t: w for t, w in open_terms.items() if t not in _terms_of(best)}
        left.remove(best)
    covered = 1 - sum(open_terms.values()) / whole
    return chosen if covered >= _LEAST_COVERAGE else []


def _received_sentences(context: str) -> list[_Sentence]:
    """Whole sentences of the numbered passages; a last sentence that was cut is left out."""
    blocks = [block.strip().partition("\n") for block in _BLOCK.split(context)[1:]]
    found = [s for heading, _, body in blocks for s in _sentences(heading, body) if s.text.endswith(_ENDS)]
    return [_Sentence(text=s.text, heading=s.heading, place=place) for place, s in enumerate(found)]


def _sentences(heading: str, body: str) -> Iterable[_Sentence]:
    return (_Sentence(text=s.text, heading=heading, place=s.number) for s in split_sentences(body))


def _terms_of(sentence: _Sentence) -> set[str]:
    return set(terms(f"{sentence.heading} {sentence.text}"))


def _gain(sentence: _Sentence, wanted: Mapping[str, float]) -> float:
    """Weigh what a sentence says of the question; its heading counts a third."""
    said = set(terms(sentence.text))
    headed = set(terms(sentence.heading)) - said
    return sum(wanted.get(t, 0.0) for t in said) + sum(wanted.get(t, 0.0) for t in headed) / 3
