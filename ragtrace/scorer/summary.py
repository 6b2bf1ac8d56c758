"""Say in words and in JSON what a run of the scorer did."""

from collections import Counter
from dataclasses import dataclass

from ragtrace.model import JsonValue
from ragtrace.scorer.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A finished run."""

    tally: Tally
    seconds: float
    judge: str
    """Model name."""
    window: str
    """Which calls were looked at, for people."""
    error: str | None = None
    """Why the run ended early."""

    @property
    def exit_code(self) -> int:
        """0 unless something that should have been scored was not."""
        tally = self.tally
        return 1 if self.error or tally.pending.total() or tally.refused or tally.failed or tally.outdated else 0

    def as_json(self) -> dict[str, JsonValue]:
        """Return the counts; `listed = own_traffic + not_sampled + sampled`, and `sampled` is the sum of the rest."""
        return {
            **self.tally.as_json(),
            "seconds": round(self.seconds, 3),
            "judge": self.judge,
            "window": self.window,
            "error": self.error,
        }

    def as_text(self) -> str:
        """Return a few lines for people."""
        tally = self.tally
        if not tally.listed:
            return f"No rag-call {self.window}: nothing to score."
        lines = [
            f"{tally.listed} calls {self.window}, {tally.sampled} sampled"
            + (f", {tally.own_traffic} of judges left out" if tally.own_traffic else ""),
            f"  scored          {tally.scored}",
            f"  already scored  {tally.already_scored}",
            *([f"  would judge     {tally.would_judge}"] if tally.would_judge else []),
            *_reasons("unscored", tally.unscored),
            *_reasons("pending", +tally.pending),
        ]
        if tally.refused or tally.failed:
            lines.append(f"  not written     {tally.refused} refused by Langfuse, {tally.failed} failed (see the log)")
        if tally.sent_later:
            lines.append(f"  from before     {tally.sent_later} calls whose scores had waited")
        if tally.withdrawn or tally.outdated:
            lines.append(f"  withdrawn       {tally.withdrawn} old numbers, {tally.outdated} could not be deleted")
        lines.append(self._cost())
        return "\n".join(lines)

    def _cost(self) -> str:
        tally = self.tally
        tokens = f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens"
        price = f", cost {tally.cost:.4f}" if tally.cost is not None else ""
        cached = f", {tally.judge_cached} from the cache" if tally.judge_cached else ""
        if tally.would_judge:
            return f"Judge {self.judge}: about {tokens}{price}."
        return f"Judge {self.judge}: {tally.judge_calls} calls{cached}, {tokens}{price}; {self.seconds:.1f} s."


def _reasons(title: str, counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    listed = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    return [f"  {title:<15} {counts.total()} ({listed})"]
