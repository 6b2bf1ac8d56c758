"""What the scorer stored, read back."""

from datetime import UTC, datetime

import pytest

from ragtrace.langfuse import StoredScore
from ragtrace.report.outcome import Outcome, StoredClaim, StoredSentence, read_outcome


def _stored(value: str = "scored", **metadata: object) -> StoredScore:
    return StoredScore(
        id="s",
        name="rag_outcome",
        value=value,
        data_type="CATEGORICAL",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        source="API",
        metadata=metadata,  # type: ignore[arg-type]  # broken metadata is what some tests are about
    )


def test_sentences_claims_and_judge_are_read():
    """Everything that the scorer wrote comes back typed."""
    written = {
        "unscored": {"citation_accuracy": "no_citations"},
        "judge": {"model": "m", "fingerprint": "f"},
        "inclusion_probability": 0.25,
        "sentences": [
            {
                "text": "A.",
                "start": 0,
                "end": 2,
                "kind": "row",
                "verdict": "contradicted",
                "claims": [
                    {"text": "A", "verdict": "contradicted", "evidence": [1, 0], "reason": "B."},
                    {"verdict": "supported", "evidence": [], "withheld_evidence": [2]},
                ],
            }
        ],
        "reference_sentences": [{"start": 1, "end": 3, "kind": "greeting", "verdict": None, "claims": []}],
    }

    assert read_outcome(_stored(**written)) == Outcome(
        value="scored",
        unscored={"citation_accuracy": "no_citations"},
        answer=(
            StoredSentence(
                start=0,
                end=2,
                kind="row",
                verdict="contradicted",
                claims=(
                    StoredClaim(text="A", verdict="contradicted", evidence=(1, 0), withheld_evidence=(), reason="B."),
                    StoredClaim(text="", verdict="supported", evidence=(), withheld_evidence=(2,), reason=None),
                ),
                text="A.",
            ),
        ),
        reference=(StoredSentence(start=1, end=3, kind="greeting", verdict=None, claims=()),),
        judge_model="m",
        judge_fingerprint="f",
        inclusion_probability=0.25,
    )


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"unscored": "x", "judge": None, "sentences": "x", "reference_sentences": ["x"], "inclusion_probability": 0},
        {"judge": {"model": ["m"]}, "inclusion_probability": 7, "sentences": None},
        {"inclusion_probability": "much"},
    ],
)
def test_missing_or_broken_parts_are_left_out(metadata):
    """Metadata that somebody else wrote, or that was cut, gives an outcome without details."""
    assert read_outcome(_stored("no_contexts", **metadata)) == Outcome(value="no_contexts")


def test_unknown_words_are_not_guessed():
    """A claim with a verdict that does not exist is left out; a sentence's kind falls back to a statement."""
    sentence = {
        "kind": "poem",
        "verdict": "fine",
        "claims": [{"verdict": "fine"}, {"verdict": "undecided", "evidence": "x"}],
    }

    assert read_outcome(_stored(sentences=[sentence])).answer == (
        StoredSentence(
            start=0,
            end=0,
            kind="statement",
            verdict=None,
            claims=(StoredClaim(text="", verdict="undecided", evidence=(), withheld_evidence=(), reason=None),),
        ),
    )
