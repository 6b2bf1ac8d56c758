"""How many calls to judge, and the command that says so."""

from pathlib import Path

import pytest
from scipy import stats as oracle
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.stats.sample_size import calls_for_change, calls_for_rate


def plan(*arguments: str, **variables: str) -> list[str]:
    """Return the lines that `ragtrace plan` prints for a rate of 0.1 ± 0.03."""
    result = CliRunner().invoke(app, ["plan", "--rate", "0.1", "--halfwidth", "0.03", *arguments], env=variables)
    assert result.exception is None
    return result.stdout.splitlines()


def test_common_rates_need_what_the_textbook_says():
    """z² p (1 − p) / h², rounded up; a confidence of 0.99 asks for more, unequal weights multiply it."""
    assert calls_for_rate(0.1, 0.03) == 385
    assert calls_for_rate(0.1, 0.02) == 865
    assert calls_for_rate(0.5, 0.05) == 385
    assert calls_for_rate(0.1, 0.03, confidence=0.99) == 664
    assert calls_for_rate(0.1, 0.03, design_effect=2) == 770


def test_rare_faults_need_what_the_exact_interval_says():
    """Where few faults are to be expected, the fewest calls whose exact interval is narrow enough are said."""
    calls = calls_for_rate(0.02, 0.01)

    def halfwidth(draws: int) -> float:
        low = oracle.beta.ppf(0.025, 0.02 * draws, 0.98 * draws + 1)
        return float(oracle.beta.ppf(0.975, 0.02 * draws + 1, 0.98 * draws) - low) / 2

    assert halfwidth(calls) <= 0.01 < halfwidth(calls - 1)


def test_a_small_change_needs_more_calls():
    """From 0.1, a rise to 0.15 takes 686 calls in each window, one to 0.2 takes 199, as published tables say."""
    assert (calls_for_change(0.1, 0.15), calls_for_change(0.1, 0.2)) == (686, 199)


@pytest.mark.parametrize(
    ("rate", "halfwidth", "confidence", "message"),
    [
        (0.0, 0.03, 0.95, "rate 0.0: expected a number between 0 and 1"),
        (0.1, 1.5, 0.95, "halfwidth 1.5: expected a number between 0 and 1"),
        (0.1, 0.03, 95.0, "confidence 95.0: expected a number between 0 and 1"),
    ],
)
def test_percent_are_no_shares(rate: float, halfwidth: float, confidence: float, message: str):
    """A number outside 0–1 is refused by name."""
    with pytest.raises(ConfigError) as refused:
        calls_for_rate(rate, halfwidth, confidence=confidence)

    assert str(refused.value) == message


def test_a_change_to_the_same_rate_cannot_be_found():
    """Two equal rates have no difference to look for."""
    with pytest.raises(ConfigError, match="expected two different numbers"):
        calls_for_change(0.1, 0.1)


def test_plan_says_how_many_calls():
    """Without more options, one line."""
    assert plan() == ["calls to judge: 385 for a rate of about 0.1 ± 0.03, confidence 0.95"]


def test_plan_knows_the_traffic():
    """Enough calls a day give a sample rate, fewer give the days."""
    assert plan("--calls-per-day", "10000")[1] == "sample rate: 0.039 of 10,000 calls a day, for one such number a day"
    assert plan("--calls-per-day", "100")[1] == ("sample rate: 1; 100 calls a day make one such number every 4 days")


def test_plan_says_what_a_change_takes():
    """With --change-to, one more line."""
    assert plan("--change-to", "0.15")[1] == (
        "change to 0.15: 686 judged calls in each of two windows find it 4 times in 5"
    )


def test_plan_prices_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Tokens of a call and [prices] give the cost of one number."""
    (tmp_path / "ragtrace.toml").write_text("[prices.clever]\nprompt = 0.4\ncompletion = 1.6\n")
    monkeypatch.chdir(tmp_path)

    lines = plan("--judge-tokens", "1800,220", "--judge-model", "clever")

    assert lines[1] == "cost: 0.4127 a number, in the currency of [prices]"


@pytest.mark.parametrize(
    ("tokens", "model", "message"),
    [
        ("1800,220", "unknown", "no price for the judge 'unknown': set it under"),
        ("many", "clever", "--judge-tokens 'many': expected PROMPT,COMPLETION, e.g. 1800,220"),
    ],
)
def test_plan_says_what_it_cannot_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: str, model: str, message: str
):
    """A model without a price, or tokens that are no numbers, are one line."""
    (tmp_path / "ragtrace.toml").write_text("[prices.clever]\nprompt = 0.4\ncompletion = 1.6\n")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(
        app,
        ["plan", "--rate", "0.1", "--halfwidth", "0.03", "--judge-tokens", tokens, "--judge-model", model],
    )

    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).startswith(message)
