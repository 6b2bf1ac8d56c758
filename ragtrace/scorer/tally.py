"""What a run of the scorer did, in counts that add up."""

from collections import Counter
from dataclasses import dataclass, field

from ragtrace.model import JsonValue, Verdicts
from ragtrace.semconv import OUTCOME_SCORED


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts calls. `listed = own_traffic + not_sampled + sampled`, and `sampled` is the sum of the rest."""

    listed: int = 0
    """Distinct calls that Langfuse listed."""
    own_traffic: int = 0
    """Made by a judge, never scored."""
    not_sampled: int = 0
    sampled: int = 0
    already_scored: int = 0
    scored: int = 0
    """At least one judged metric has a number, and it is stored."""
    unscored: Counter[str] = field(default_factory=Counter)
    """Stored as not scorable, by reason."""
    pending: Counter[str] = field(default_factory=Counter)
    """Nothing stored, will be tried again, by reason."""
    put_off: int = 0
    """Pending from before, and not yet due to be tried again."""
    refused: int = 0
    """Langfuse refused a score of the call."""
    would_judge: int = 0
    """In a dry run: what another run would judge."""
    failed: int = 0
    """An error of ours or of a metric; the log has it."""
    sent_later: int = 0
    """Calls judged by an earlier run whose scores were sent by this one."""
    scores_written: int = 0
    read_back: int = 0
    """Written scores that were looked for afterwards."""
    lost: int = 0
    """Those of them that Langfuse accepted and does not have."""
    withdrawn: int = 0
    """Numbers of an earlier judge that were deleted, since judging again gave none."""
    outdated: int = 0
    """Such numbers that could not be deleted."""
    judge_calls: int = 0
    judge_cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """In the currency of the price settings; None without prices."""
    stopped_by: str | None = None
    """Why the run ended before all calls were looked at: a reason of `pending`."""
    problem: str | None = None
    """What the judge said last when it gave no verdicts; one line for people."""

    @property
    def finished(self) -> int:
        """Sampled calls about which nothing remains to be done in this run."""
        rest = self.unscored.total() + self.pending.total()
        return self.already_scored + self.scored + rest + self.put_off + self.refused + self.failed + self.would_judge

    def count_outcome(self, outcome: str) -> None:
        """Count a call whose mark is stored."""
        if outcome == OUTCOME_SCORED:
            self.scored += 1
        else:
            self.unscored[outcome] += 1

    def count_judging(self, verdicts: Verdicts) -> None:
        """Count what the verdicts cost."""
        judge = verdicts.judge
        self.judge_calls += judge.calls
        self.judge_cached += judge.cached
        self.prompt_tokens += judge.prompt_tokens
        self.completion_tokens += judge.completion_tokens
        if judge.cost is not None:
            self.cost = (self.cost or 0.0) + judge.cost

    def as_json(self) -> dict[str, JsonValue]:
        """Return the counts by name."""
        return {
            "listed": self.listed,
            "own_traffic": self.own_traffic,
            "not_sampled": self.not_sampled,
            "sampled": self.sampled,
            "already_scored": self.already_scored,
            "scored": self.scored,
            "unscored": dict(sorted(self.unscored.items())),
            "pending": dict(sorted((+self.pending).items())),
            "put_off": self.put_off,
            "refused": self.refused,
            "failed": self.failed,
            "would_judge": self.would_judge,
            "sent_later": self.sent_later,
            "scores_written": self.scores_written,
            "read_back": self.read_back,
            "lost": self.lost,
            "withdrawn": self.withdrawn,
            "outdated": self.outdated,
            "judge_calls": self.judge_calls,
            "judge_cached": self.judge_cached,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
        }
