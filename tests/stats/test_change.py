"""Noticing that a rate has changed: how late, and how often for nothing."""

import numpy as np
import pytest

from ragtrace.stats.change import Change, detect_fall, detect_rise

BASELINE = 0.1


def drawn(rng: np.random.Generator, *stretches: tuple[int, float]) -> list[float]:
    """Return faults at each of some rates, so many calls long."""
    return [float(fault) for calls, rate in stretches for fault in rng.random(calls) < rate]


def test_a_rise_is_noticed_and_dated():
    """Every tenth call failed, then every second: noticed within 15 calls, dated to where it began."""
    values = [float(index % 10 == 9) for index in range(300)] + [1.0, 0.0] * 50

    assert detect_rise(values, baseline=BASELINE) == Change(began_at=299, noticed_at=314)


def test_a_fall_is_a_rise_of_the_rest():
    """Faithfulness that falls from 0.9 is noticed like faults that rise from 0.1."""
    values = [float(index % 10 != 9) for index in range(300)] + [0.0, 1.0] * 50

    assert detect_fall(values, baseline=0.9) == Change(began_at=299, noticed_at=314)


def test_a_rate_at_its_baseline_is_no_change():
    """A quiet window raises no alarm, an empty one neither."""
    assert (detect_rise([0.0] * 500, baseline=BASELINE), detect_rise([], [], baseline=BASELINE)) == (None, None)


def test_calls_that_are_judged_more_often_count_less():
    """Faults among calls judged four times as often are no rise of the rate over all calls."""
    rng = np.random.default_rng(3)
    is_suspect = rng.random(400) < 0.5
    values = (rng.random(400) < np.where(is_suspect, 0.25, 0.0625)).astype(float).tolist()
    probabilities = np.where(is_suspect, 1.0, 0.25).tolist()

    assert detect_rise(values, probabilities, baseline=BASELINE) is None
    assert detect_rise(values, baseline=BASELINE) is not None


@pytest.mark.parametrize(("values", "baseline"), [([0.5], 0.0), ([2.0], 0.1)])
def test_only_shares_have_a_baseline_between(values: list[float], baseline: float):
    """Bets on anything else could lose more than all."""
    with pytest.raises(ValueError, match="expected a number"):
        detect_rise(values, baseline=baseline)


def mean_run(rng: np.random.Generator, runs: int, calls: int, *, calls_per_false_alarm: float) -> float:
    """Return the mean number of quiet calls to an alarm, at most `calls`."""
    found = [
        detect_rise(drawn(rng, (calls, BASELINE)), baseline=BASELINE, calls_per_false_alarm=calls_per_false_alarm)
        for _ in range(runs)
    ]
    return float(np.mean([change.noticed_at + 1 if change else calls for change in found]))


def delays(rng: np.random.Generator, runs: int, rate: float) -> tuple[float, float, float]:
    """Return the median delay, the median error of the date, and the share of alarms before the change."""
    found = [detect_rise(drawn(rng, (300, BASELINE), (3000, rate)), baseline=BASELINE) for _ in range(runs)]
    late = [change for change in found if change and change.noticed_at >= 300]
    return (
        float(np.median([change.noticed_at - 299 for change in late])),
        float(np.median([abs(change.began_at - 300) for change in late])),
        1 - len(late) / runs,
    )


def test_false_alarms_are_as_rare_as_stated():
    """Asked for one in 200 calls, quiet traffic runs at least so long on average."""
    assert mean_run(np.random.default_rng(1), 200, 2000, calls_per_false_alarm=200) >= 200


def test_a_doubled_rate_is_noticed_soon():
    """At one false alarm in 10,000 calls, 0.1 to 0.3 is noticed in about 45 calls."""
    delay, error, early = delays(np.random.default_rng(1), 60, 0.3)

    assert (delay < 60, error < 10, early < 0.06) == (True, True, True)


@pytest.mark.soak
def test_false_alarms_and_delays_in_many_runs(capsys: pytest.CaptureFixture[str]):
    """Over 2,000 quiet runs the mean run is at least what was stated; delays are printed."""
    rng = np.random.default_rng(2)

    run = mean_run(rng, 2000, 10_000, calls_per_false_alarm=1000)

    with capsys.disabled():
        print(f"\nchange: stated 1,000 quiet calls per false alarm, measured {run:,.0f}")  # noqa: T201 - `make soak` shows it
        for rate in (0.15, 0.2, 0.3):
            delay, error, early = delays(rng, 500, rate)
            print(  # noqa: T201 - `make soak` shows it
                f"change {BASELINE} to {rate} at 10,000: noticed after {delay:.0f} calls, "
                f"dated within {error:.0f}, before the change {early:.1%}"
            )
    assert run >= 1000
