"""A scorer that follows a server through whatever goes wrong, by a seed; the small and the long tests share it."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from ragtrace.errors import BackendUnavailable, JudgeUnavailable
from ragtrace.langfuse import Connection, LangfuseApi, RetryPolicy
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.model import RagCall
from ragtrace.sampling import is_sampled
from ragtrace.scorer import Sampling, ScoringOptions, StateFile, Tally
from ragtrace.scorer.follow import Follower, Lookback
from tests.scorer.chaos import Chaos
from tests.scorer.judges import ExactJudge
from tests.seed import STARTED_AT, SeedCall, seed, stored_scores

RATE = 0.5
SCORES_A_CALL = 6
"""faithfulness, two rates, precision, delivery, and the mark."""
SKEW = timedelta(minutes=4)


@dataclass(slots=True, kw_only=True)
class Simulation:
    """Calls arrive late, twice, out of order and with clocks that are off; the way, the judge and the file fail."""

    server: LocalLangfuse
    state_path: Path
    seed: int
    failing: float = 0.15
    now: datetime = STARTED_AT + timedelta(minutes=10)
    judged: Counter[str] = field(default_factory=Counter)
    random: Random = field(init=False)
    late: list[SeedCall] = field(default_factory=list)
    calls: list[SeedCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def arrive(self, count: int) -> None:
        """Let calls of the last minute arrive, some of them only with a later batch, some again."""
        new = [self._call(len(self.calls) + n) for n in range(count)]
        self.calls += new
        held = [call for call in new if self.random.random() < 0.1]
        again = self.random.sample(self.calls, min(3, len(self.calls)))
        batch = [*(call for call in new if call not in held), *self.late, *again]
        self.random.shuffle(batch)
        seed(self.server, batch)
        self.late = held

    def settle(self) -> None:
        """Let everything arrive, and nothing fail any more."""
        seed(self.server, self.late)
        self.late, self.failing = [], 0.0

    async def look(self) -> Tally:
        """Take one look in a process of its own; one in twenty loses the state file first."""
        if self.failing and self.random.random() < 0.05:
            self.state_path.unlink(missing_ok=True)
        self.server.faults.duplicates = self.random.random() < 0.3
        self.server.faults.reordered = self.random.random() < 0.3
        policy = RetryPolicy(timeout_seconds=20, attempts=3, first_pause_seconds=0.001, longest_pause_seconds=0.005)
        connection = Connection(
            self.server.base_url,
            public_key=self.server.public_key,
            secret_key=self.server.secret_key,
            policy=policy,
            transport=Chaos(self.random, failing=self.failing),
        )
        tally = Tally()
        with StateFile(self.state_path, project="p") as state:
            async with LangfuseApi(connection) as api:
                follower = Follower(
                    api,
                    ExactJudge(before=self._judge),
                    state,
                    options=ScoringOptions(concurrency=8, sampling=Sampling(rate=RATE)),
                    lookback=Lookback(overlap=2 * SKEW, sweep=timedelta(minutes=30)),
                    first_since=STARTED_AT - timedelta(hours=1),
                    now=lambda: self.now,
                )
                with suppress(BackendUnavailable):
                    await follower.look(tally)
        self.now += timedelta(minutes=1)
        return tally

    def wrong_scores(self) -> dict[str, int]:
        """Return what is missing, doubled, or on calls that are not in the sample; empty where all is right."""
        self.server.faults.clear()
        sampling = {call.key[0] for call in self.calls if _is_wanted(call)}
        found = Counter((str(s["subject"]["traceId"]), str(s["name"])) for s in stored_scores(self.server))
        by_call = Counter(trace for trace, _ in found)
        return {
            kind: count
            for kind, count in {
                "doubled": sum(count > 1 for count in found.values()),
                "incomplete": sum(by_call[trace] != SCORES_A_CALL for trace in sampling),
                "unwanted": sum(trace not in sampling for trace in by_call),
            }.items()
            if count
        }

    def _judge(self, call: RagCall) -> None:
        if self.random.random() < self.failing / 3:
            raise JudgeUnavailable("chaos")
        self.judged[call.id] += 1

    def _call(self, number: int) -> SeedCall:
        skew = timedelta(seconds=self.random.uniform(-1, 0.2) * SKEW.total_seconds())
        # Many calls share a start time, so that pages end between equals.
        started = (self.now + skew).replace(second=0, microsecond=0)
        return SeedCall(number=number, started_at=started)


def _is_wanted(call: SeedCall) -> bool:
    return is_sampled(call.key[0], RATE)
