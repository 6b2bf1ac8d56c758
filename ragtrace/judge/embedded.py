"""Judge by wording, in this process: no key, no network, no model download, the same verdicts every time."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.features import Comparison, compare
from ragtrace.judge.lexical.forest import load_forest, probability
from ragtrace.model import Claim, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts
from ragtrace.text import declines, detect_language, split_sentences

MODEL: Final = "lexical-v1"
_CODE_VERSION: Final = 1
"""Raised when the same data would give other verdicts."""
_CLAIMING: Final = ("statement", "row")
_NEAR_BEST: Final = 0.8
"""A passage is evidence too whose best sentence covers this share of what the best one covers."""
_SAME_SCRIPT: Final = frozenset({"zh", "ja"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Passages that sentences are held against."""

    numbers: tuple[int, ...]
    """Indexes into the call's passages."""
    evidence: Evidence
    language: str


class EmbeddedJudge:
    """Finds support by wording; blind to inference, so it says `undecided` where wording does not tell."""

    def __init__(self) -> None:
        self._forest, content = load_forest("model.json")
        self._fingerprint = sha256(content + bytes([_CODE_VERSION])).hexdigest()[:16]
        self._supported_from, self._unsupported_to = 0.55, 0.45

    @property
    def fingerprint(self) -> str:
        """Hash of the trees and of the code's version."""
        return self._fingerprint

    @property
    def model(self) -> str:
        """Name that is stored with each score."""
        return MODEL

    @property
    def is_calibrated(self) -> bool:
        """False until human labels placed the threshold."""
        return False

    async def judge(self, call: RagCall) -> Verdicts:
        """Judge one call; costs about a millisecond of CPU a sentence and never waits."""
        info = JudgeInfo(fingerprint=self._fingerprint, model=MODEL)
        if call.delivery is None:
            return Verdicts(judge=info, abstained="contexts_unknown")
        received = _source([(i, p.received_text) for i, p in enumerate(call.delivery.passages)])
        withheld = _source([(i, p.withheld_text) for i, p in enumerate(call.delivery.passages)])
        answer, reference = split_sentences(call.answer), split_sentences(call.reference or "")
        refused = declines(answer)
        if received and not refused and _differ(detect_language(call.answer), received.language):
            return Verdicts(judge=info, abstained="language_mismatch")
        judged_answer = self._judge_all(answer, received)
        judged_reference = [self._with_withheld(s, withheld) for s in self._judge_all(reference, received)]
        return Verdicts(
            judge=info,
            answer=tuple(judged_answer),
            reference=tuple(judged_reference),
            useful=_useful([*judged_answer, *judged_reference]),
            refused=refused,
        )

    async def aclose(self) -> None:
        """Nothing is open."""

    def _judge_all(self, sentences: Sequence[Sentence], source: _Source | None) -> list[JudgedSentence]:
        return [
            JudgedSentence(
                sentence=s, claims=(self._judge_claim(s.text, source),) if source and s.kind in _CLAIMING else ()
            )
            for s in sentences
        ]

    def _judge_claim(self, text: str, source: _Source) -> Claim:
        found = compare(text, source.evidence, language=source.language)
        support = probability(self._forest.log_odds([found.values[name] for name in self._forest.features]))
        if support >= self._supported_from:
            return Claim(text=text, verdict="supported", evidence=_evidence(found, source), support=support)
        if support > self._unsupported_to:
            return Claim(text=text, verdict="undecided", support=support)
        return Claim(text=text, verdict="unsupported", support=support)

    def _with_withheld(self, judged: JudgedSentence, withheld: _Source | None) -> JudgedSentence:
        return judged


def _source(texts: Sequence[tuple[int, str]]) -> _Source | None:
    kept = [(number, text) for number, text in texts if text.strip()]
    if not kept:
        return None
    passages = [text for _, text in kept]
    return _Source(
        numbers=tuple(number for number, _ in kept),
        evidence=Evidence(passages),
        language=detect_language(" ".join(passages)),
    )


def _differ(language: str, other: str) -> bool:
    return "und" not in (language, other) and language != other


def _evidence(found: Comparison, source: _Source) -> tuple[int, ...]:
    """Return the passages whose sentences cover the claim nearly as well as the best one."""
    enough = found.coverage[0] * _NEAR_BEST
    near = [n for n, share in zip(found.best, found.coverage, strict=True) if share >= enough]
    return tuple(dict.fromkeys(source.numbers[source.evidence.sentences[n].passage] for n in near))


def _useful(sentences: Sequence[JudgedSentence]) -> tuple[int, ...]:
    used = {n for s in sentences for claim in s.claims for n in (*claim.evidence, *claim.withheld_evidence)}
    return tuple(sorted(used))
