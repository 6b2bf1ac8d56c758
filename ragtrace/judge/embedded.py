"""Judge by wording, in this process: no key, no network, no model download, the same verdicts every time."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.judge.embedded_calibration import Calibration
from ragtrace.judge.embedded_claims import Source, judge_claim, read_source
from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.scoring import load_model
from ragtrace.judge.lexical.tokens import fold, is_east_asian, tokenise
from ragtrace.judge.protocol import used_passages
from ragtrace.model import Claim, Delivery, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts
from ragtrace.text import declines, detect_language, split_sentences

MODEL: Final = "lexical-v1"
_CODE_VERSION: Final = 2
"""Raised when the same weights would give other verdicts."""
_CLAIMING: Final = ("statement", "row")
_UNKNOWN: Final = "und"
_FEWEST_LETTERS: Final = 12
"""A shorter text may well be a name or a code, in no language."""
_WIDE_WEIGHT: Final = 2.5
"""A Chinese or Japanese character says about as much as this many letters."""
_SHARED: Final = 0.5
"""A text that shares so many of its tokens with the passages is judged, whatever its language seems to be."""


class EmbeddedJudge:
    """Finds support by wording. Blind to inference: where wording does not tell, the verdict is `undecided`."""

    def __init__(self, calibration: Calibration | None = None) -> None:
        """Load the weights, and take over a threshold that labels of people placed.

        Raises:
            ConfigError: the calibration was made for another judge.
        """
        self._model = load_model()
        self._weights = sha256(f"{_CODE_VERSION} {self._model.fingerprint}".encode()).hexdigest()[:16]
        self._calibration = calibration
        if calibration and (calibration.judge, calibration.weights) != (MODEL, self._weights):
            raise ConfigError(
                f"the calibration is for judge {calibration.judge!r} with weights {calibration.weights!r}, not for "
                f"{MODEL!r} with {self._weights!r}: run `ragtrace calibrate` again"
            )
        self._threshold = calibration.log_odds if calibration else 0.0

    @property
    def fingerprint(self) -> str:
        """Hash of the weights, the code's version and the threshold."""
        if not self._calibration:
            return self._weights
        return sha256(f"{self._weights} {self._threshold!r}".encode()).hexdigest()[:16]

    @property
    def model(self) -> str:
        """Name that is stored with each score."""
        return MODEL

    @property
    def is_calibrated(self) -> bool:
        """True where labels of people placed the threshold."""
        return self._calibration is not None

    async def judge(self, call: RagCall) -> Verdicts:
        """Judge one call; costs about a millisecond of CPU a sentence and never waits."""
        info = JudgeInfo(fingerprint=self.fingerprint, model=MODEL)
        if call.delivery is None:
            return Verdicts(judge=info, abstained="contexts_unknown")
        received, withheld = _sources(call.delivery)
        sentences = split_sentences(call.answer)
        refused = declines(sentences)
        if received and not refused and _is_foreign(call.answer, received.evidence):
            return Verdicts(judge=info, answer=_undecided(sentences), abstained="language_mismatch")
        answer = self._judge_all(sentences, received, question=call.question)
        reference = self._judge_reference(call, received, withheld)
        claims = [claim for sentence in (*answer, *reference) for claim in sentence.claims]
        return Verdicts(judge=info, answer=answer, reference=reference, useful=used_passages(claims), refused=refused)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _judge_reference(
        self, call: RagCall, received: Source | None, withheld: Source | None
    ) -> tuple[JudgedSentence, ...]:
        sentences = split_sentences(call.reference or "")
        if received and _is_foreign(call.reference or "", received.evidence):
            return _undecided(sentences)
        judged = self._judge_all(sentences, received, question=call.question, is_empty_lacking=withheld is not None)
        if withheld is None:
            return judged
        beyond = self._judge_all(sentences, withheld, question=call.question)
        return tuple(_with_withheld(one, other) for one, other in zip(judged, beyond, strict=True))

    def _judge_all(
        self, sentences: Sequence[Sentence], source: Source | None, *, question: str, is_empty_lacking: bool = False
    ) -> tuple[JudgedSentence, ...]:
        """Judge each sentence; without passages there are no claims, or unsupported ones if `is_empty_lacking`."""
        claiming = [sentence for sentence in sentences if sentence.kind in _CLAIMING]
        asked = question if len(claiming) == 1 else ""
        claims: dict[int, tuple[Claim, ...]] = {}
        for sentence in claiming:
            if source:
                claim = judge_claim(sentence.text, source, self._model, question=asked, threshold=self._threshold)
                claims[sentence.number] = (claim,)
            elif is_empty_lacking:
                lacking = Claim(
                    text=sentence.text, verdict="unsupported", reason="no passage was received", support=0.0
                )
                claims[sentence.number] = (lacking,)
        return tuple(JudgedSentence(sentence=s, claims=claims.get(s.number, ())) for s in sentences)


def _sources(delivery: Delivery) -> tuple[Source | None, Source | None]:
    """Return what was received, and whole the passages of which something was withheld.

    Whole, since a cut may go through the very sentence that supports a claim.
    """
    passages = list(enumerate(delivery.passages))
    withheld = [(number, p.passage.text) for number, p in passages if p.withheld_text.strip()]
    return read_source([(number, p.received_text) for number, p in passages]), read_source(withheld)


def _is_foreign(text: str, evidence: Evidence) -> bool:
    """Tell whether a text is in another language than every passage, so that wording says nothing."""
    language = detect_language(text)
    if language == _UNKNOWN or not evidence.languages or language in evidence.languages:
        return False
    if sum(map(str.isalpha, text)) * (_WIDE_WEIGHT if is_east_asian(text) else 1) < _FEWEST_LETTERS:
        return False
    keys = {token.key for token in tokenise(fold(text)) if token.kind != "stop"}
    return len(keys & evidence.where.keys()) < _SHARED * len(keys)


def _undecided(sentences: Sequence[Sentence]) -> tuple[JudgedSentence, ...]:
    return tuple(
        JudgedSentence(
            sentence=sentence,
            claims=(Claim(text=sentence.text, verdict="undecided", reason="in another language than the passages"),)
            if sentence.kind in _CLAIMING
            else (),
        )
        for sentence in sentences
    )


def _with_withheld(judged: JudgedSentence, beyond: JudgedSentence) -> JudgedSentence:
    """Add to claims that received text does not support the passages that would, had they arrived whole."""
    claims = tuple(
        replace(claim, withheld_evidence=other.evidence)
        if claim.verdict != "supported" and other.verdict == "supported"
        else claim
        for claim, other in zip(judged.claims, beyond.claims, strict=True)
    )
    return replace(judged, claims=claims)
