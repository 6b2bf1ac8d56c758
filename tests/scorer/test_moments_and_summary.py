"""Times as people type them, and what they read at the end."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from ragtrace.errors import ConfigError
from ragtrace.model import JudgeInfo, Verdicts
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.summary import RunSummary
from ragtrace.scorer.tally import Tally

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30m", datetime(2026, 3, 1, 11, 30, tzinfo=UTC)),
        ("1.5h", datetime(2026, 3, 1, 10, 30, tzinfo=UTC)),
        ("90s", datetime(2026, 3, 1, 11, 58, 30, tzinfo=UTC)),
        ("7d", datetime(2026, 2, 22, 12, 0, tzinfo=UTC)),
        (" 2w ", datetime(2026, 2, 15, 12, 0, tzinfo=UTC)),
        ("2026-02-28", datetime(2026, 2, 28, 0, 0, tzinfo=UTC)),
        ("2026-02-28T10:00+02:00", datetime(2026, 2, 28, 8, 0, tzinfo=UTC)),
        ("2026-02-28T10:00Z", datetime(2026, 2, 28, 10, 0, tzinfo=UTC)),
    ],
)
def test_moments_are_read(text, moment):
    """How long ago, a date, and a time with or without its zone are understood."""
    assert parse_moment(text, option="--since", now=NOW) == moment


@pytest.mark.parametrize("text", ["yesterday", "", "24", "-3h", "99999999999999w", "2026-13-01"])
def test_what_is_no_moment_is_said(text):
    """The option and its value are named, with examples."""
    with pytest.raises(ConfigError) as caught:
        parse_moment(text, option="--since", now=NOW)

    assert str(caught.value) == (
        f"--since {text!r}: expected how long ago (30m, 24h, 7d) or a date (2026-03-01, 2026-03-01T12:00Z)"
    )


def summary(tally: Tally, error: str | None = None) -> RunSummary:
    return RunSummary(tally=tally, seconds=1.25, judge="m", window="since 24h", error=error)


def test_a_summary_says_what_was_done():
    """Every count that is not zero has its line, reasons with the commonest first, and what the judge cost."""
    tally = Tally(
        listed=20,
        own_traffic=1,
        not_sampled=2,
        sampled=17,
        already_scored=3,
        scored=5,
        unscored=Counter({"refusal": 2, "no_contexts": 3}),
        pending=Counter({"judge_unavailable": 1, "over_budget": 0}),
        refused=1,
        failed=2,
        sent_later=4,
    )
    tally.count_judging(
        Verdicts(
            judge=JudgeInfo(
                fingerprint="f", model="m", calls=2, prompt_tokens=1500, completion_tokens=20, cached=True, cost=0.5
            )
        )
    )
    tally.count_judging(Verdicts(judge=JudgeInfo(fingerprint="f", model="m", calls=1, cost=0.25)))

    assert summary(tally).as_text().splitlines() == [
        "20 calls since 24h, 17 sampled, 1 of judges left out",
        "  scored          5",
        "  already scored  3",
        "  unscored        5 (no_contexts 3, refusal 2)",
        "  pending         1 (judge_unavailable 1)",
        "  not written     1 refused by Langfuse, 2 failed (see the log)",
        "  from before     4 calls whose scores had waited",
        "Judge m: 3 calls, 1 from the cache, 1,500 + 20 tokens, cost 0.7500; 1.2 s.",
    ]
    assert summary(tally).as_json() == {
        "listed": 20,
        "own_traffic": 1,
        "not_sampled": 2,
        "sampled": 17,
        "already_scored": 3,
        "scored": 5,
        "unscored": {"no_contexts": 3, "refusal": 2},
        "pending": {"judge_unavailable": 1},
        "put_off": 0,
        "refused": 1,
        "failed": 2,
        "would_judge": 0,
        "sent_later": 4,
        "scores_written": 0,
        "read_back": 0,
        "lost": 0,
        "withdrawn": 0,
        "outdated": 0,
        "judge_calls": 3,
        "judge_cached": 1,
        "prompt_tokens": 1500,
        "completion_tokens": 20,
        "cost": 0.75,
        "seconds": 1.25,
        "judge": "m",
        "window": "since 24h",
        "error": None,
    }


def test_an_empty_window_is_one_line():
    """Nothing to score is said in a line."""
    assert summary(Tally()).as_text() == "No rag-call since 24h: nothing to score."


def test_a_dry_run_estimates():
    """What would be judged, and about how many tokens that is."""
    tally = Tally(listed=2, sampled=2, would_judge=2, prompt_tokens=5000, completion_tokens=700)

    assert summary(tally).as_text().splitlines()[-2:] == [
        "  would judge     2",
        "Judge m: about 5,000 + 700 tokens.",
    ]


@pytest.mark.parametrize(
    ("tally", "error", "exit_code"),
    [
        (Tally(), None, 0),
        (Tally(scored=1, unscored=Counter({"refusal": 1})), None, 0),
        (Tally(pending=Counter({"over_budget": 0})), None, 0),
        (Tally(pending=Counter({"over_budget": 1})), None, 1),
        (Tally(refused=1), None, 1),
        (Tally(failed=1), None, 1),
        (Tally(), "Langfuse went away", 1),
    ],
)
def test_exit_codes(tally, error, exit_code):
    """1 where something that should have been scored was not; unscored calls are no failure."""
    assert summary(tally, error).exit_code == exit_code
