"""Laws that every metric keeps, whatever the verdicts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragtrace.metrics import METRICS, compute
from ragtrace.metrics.ranks import hit, ndcg, reciprocal_rank
from ragtrace.model import Claim, ClaimVerdict, Delivery, Grades, JudgedSentence, Need, RagCall, Relevancy, Verdicts
from tests.build import call, claim, delivery, head, sentence, verdicts, whole

VERDICTS: tuple[ClaimVerdict, ...] = ("supported", "unsupported", "contradicted", "undecided")
PASSAGES = 3
CLAIMS = st.builds(
    lambda verdict, evidence: claim(verdict, evidence=evidence),
    st.sampled_from(VERDICTS),
    st.lists(st.integers(0, PASSAGES - 1), max_size=2, unique=True).map(tuple),
)
SENTENCES = st.lists(
    st.lists(CLAIMS, max_size=3).map(lambda claims: sentence(*claims, text="In Rome [1].")), min_size=1, max_size=4
)
COUNTED = ("faithfulness", "hallucination_rate", "contradiction_rate", "context_recall", "retrieval_recall")


def judged(answer: list[JudgedSentence], reference: list[JudgedSentence]) -> Verdicts:
    """Verdicts with everything that may be asked beside them."""
    claims: list[Claim] = [c for s in (*answer, *reference) for c in s.claims]
    found = verdicts(answer, reference, useful=tuple(sorted({i for c in claims for i in c.evidence})))
    return replace(
        found,
        needs=(Need(text="n", met=True), Need(text="m", met=False)),
        grades=Grades(correctness=5, completeness=0, relevance=2.5, overall=4, reason="r"),
        relevancy=Relevancy(questions=("a", "b"), cosines=(1.0, -0.5)),
    )


def asked_with(passages: Delivery) -> RagCall:
    return call(
        answer="In Rome [1].", delivery=passages, reference="R.", reference_passages=("a b",), relevant_ids=("d0", "x")
    )


THREE = delivery(whole("a b", id="d0"), head("in Rome, c", 7, rank=1, id="d1"), whole("e", rank=2, id="d2"))


def numbers(asked: RagCall, found: Verdicts, *names: str) -> dict[str, float | str]:
    """Return the value, or the reason, of each metric."""
    results = compute(asked, found, names=names or METRICS)[:-1]
    return {r.name: getattr(r, "value", None) if hasattr(r, "value") else r.reason for r in results}


@given(answer=SENTENCES, reference=SENTENCES)
def test_every_number_is_in_its_range(answer: list[JudgedSentence], reference: list[JudgedSentence]):
    """Rates are 0-1 and grades 0-5; what is no number has a reason."""
    found = numbers(asked_with(THREE), judged(answer, reference))

    assert list(found) == list(METRICS)
    assert all(isinstance(v, str) or 0 <= v <= (5 if name.startswith("grade_") else 1) for name, v in found.items())


@given(answer=SENTENCES, reference=SENTENCES, random=st.randoms(use_true_random=False))
def test_the_order_of_sentences_and_claims_changes_nothing(answer, reference, random):
    """Shares are counts: shuffled sentences and claims give the same number."""

    def shuffled(sentences: list[JudgedSentence]) -> list[JudgedSentence]:
        mixed = [replace(s, claims=tuple(random.sample(s.claims, len(s.claims)))) for s in sentences]
        return random.sample(mixed, len(mixed))

    asked = asked_with(THREE)

    assert numbers(asked, judged(shuffled(answer), shuffled(reference)), *COUNTED) == numbers(
        asked, judged(answer, reference), *COUNTED
    )


@given(answer=SENTENCES, reference=SENTENCES, noise=st.lists(st.text(max_size=20), max_size=4))
def test_noise_passages_change_no_share(answer, reference, noise):
    """Passages that no verdict rests on, behind the others, leave every share and the precision as they are."""
    more = [whole(text, rank=PASSAGES + n, id=f"n{n}") for n, text in enumerate(noise)]
    found = judged(answer, reference)
    names = (*COUNTED, "context_precision", "hit_at_k", "mrr", "ndcg_at_k", "sufficiency")

    assert numbers(asked_with(delivery(*THREE.passages, *more)), found, *names) == numbers(
        asked_with(THREE), found, *names
    )


@given(st.lists(st.sampled_from([0.0, 1.0]), max_size=8), st.integers(1, 8))
def test_ranks_agree_with_each_other(relevances: list[float], k: int):
    """A hit, a reciprocal rank of at least 1/k and a gain are there together or not at all."""
    is_hit = hit(relevances, k) == 1.0

    assert (reciprocal_rank(relevances) >= 1 / k) is is_hit
    assert (ndcg(relevances, k) > 0) is is_hit
    assert 0 <= ndcg(relevances, k) <= 1 + 1e-12
