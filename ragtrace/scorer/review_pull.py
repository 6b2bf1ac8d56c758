"""What `ragtrace review pull` does: read people's answers back and hold them beside the judge's."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from ragtrace import files
from ragtrace.extract import json_text
from ragtrace.langfuse import LangfuseApi, StoredScore, open_langfuse
from ragtrace.model import JsonValue, RagCall
from ragtrace.scorer.rereading import read_again
from ragtrace.scorer.review import GOOD_AGREEMENT, Agreement, Opinion, agreements
from ragtrace.scorer.review_scores import Reviews, read_reviews
from ragtrace.settings import Settings
from ragtrace.text import detect_language


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSummary:
    """What people said."""

    chosen: int
    """Calls that were put before people."""
    labelled: int
    agreements: tuple[Agreement, ...]
    """By band; all bands as the last."""

    def as_text(self) -> str:
        """Return a few lines for people, the last one a warning where the judge is not to be relied on."""
        lines = [f"{self.labelled} of {self.chosen} chosen calls were reviewed. Person and judge say the same:"]
        lines += [_line(agreement) for agreement in self.agreements]
        low = [a.band or "all" for a in self.agreements if a.is_low]
        if low:
            lines.append(
                f"Under {GOOD_AGREEMENT:.0%} on {', '.join(low)}: read these answers, and do not rely on the judge's "
                "numbers before it is calibrated or another model judges."
            )
        return "\n".join(lines)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the same, unrounded."""
        shares = [
            {"band": a.band or "all", "labelled": a.labelled, "is_low": a.is_low, **asdict(a.share)}
            for a in self.agreements
        ]
        return json_text.clean_object({"chosen": self.chosen, "labelled": self.labelled, "agreement": [*shares]})


async def pull(settings: Settings, *, since: datetime, labels: Path | None = None) -> PullSummary:
    """Read people's answers to the chosen calls; with `labels`, write a line for each of them to a file.

    Raises:
        ConfigError: a setting is wrong, or the file cannot be written.
        BackendError: Langfuse did not answer, or refused.
    """
    async with open_langfuse(settings) as api:
        reviews = await read_reviews(api, since=since)
        opinions = _opinions(reviews)
        if labels:
            _write(labels, await _labels(api, opinions, reviews.outcomes))
    return PullSummary(chosen=len(reviews.chosen), labelled=len(opinions), agreements=agreements(opinions))


def _opinions(reviews: Reviews) -> list[Opinion]:
    return [
        Opinion(
            key=key,
            band=chosen.band,
            probability=chosen.probability,
            human=reviews.answers[key],
            judge=reviews.judged[key].verdict,
        )
        for key, chosen in reviews.chosen.items()
        if key in reviews.answers and key in reviews.judged
    ]


async def _labels(
    api: LangfuseApi, opinions: Sequence[Opinion], outcomes: Mapping[tuple[str, str], StoredScore]
) -> list[dict[str, JsonValue]]:
    wanted = {opinion.key: opinion for opinion in opinions}
    return [_label(call, wanted[key], outcomes[key]) async for key, call in read_again(api, wanted)]


def _label(call: RagCall, opinion: Opinion, outcome: StoredScore) -> dict[str, JsonValue]:
    """Return a line that serves both `ragtrace calibrate`, by its claims, and the correction of the judge's mean."""
    passages = call.delivery.passages if call.delivery else ()
    judge = outcome.metadata.get("judge")
    return json_text.clean_object(
        {
            "trace_id": opinion.key[0],
            "observation_id": opinion.key[1],
            "band": opinion.band,
            "human_score": float(opinion.human),
            "judge_score": None if opinion.judge is None else float(opinion.judge),
            "probability": opinion.probability,
            "judge_fingerprint": judge.get("fingerprint") if isinstance(judge, dict) else None,
            "lang": detect_language(call.answer),
            "question": call.question,
            "contexts": [passage.received_text for passage in passages if passage.received_text],
            "claims": _claims(outcome, is_supported=opinion.human),
        }
    )


def _claims(outcome: StoredScore, *, is_supported: bool) -> list[JsonValue]:
    """Return the claims that the answer about the whole labels: all where it is yes, the only one where it is no."""
    texts = list(_claim_texts(outcome.metadata.get("sentences")))
    if not is_supported and len(texts) != 1:
        return []
    return [{"text": text, "supported": is_supported} for text in texts if text]


def _claim_texts(sentences: JsonValue) -> Iterable[str]:
    for sentence in sentences if isinstance(sentences, list) else ():
        claims = sentence.get("claims") if isinstance(sentence, dict) else None
        for claim in claims if isinstance(claims, list) else ():
            if isinstance(claim, dict):
                yield str(claim.get("text") or "")


def _write(path: Path, lines: Sequence[Mapping[str, JsonValue]]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    files.write_text(path, text, named=f"--labels {path}")


def _line(agreement: Agreement) -> str:
    share, name = agreement.share, agreement.band or "all"
    count = f"{share.n} calls" + (
        f", {agreement.labelled - share.n} without a verdict" if agreement.labelled > share.n else ""
    )
    if share.value is None or share.low is None or share.high is None:
        return f"  {name:<11} too few ({count})"
    return f"  {name:<11} {share.value:.0%} [{share.low:.0%}, {share.high:.0%}] ({count})"
