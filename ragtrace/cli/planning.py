"""`ragtrace plan`: how many calls to judge."""

from typing import Annotated

import typer

from ragtrace.cli.app import TRUST, app
from ragtrace.cli.common import JudgeModel, extra
from ragtrace.errors import ConfigError
from ragtrace.settings import load_settings
from ragtrace.stats.plan import Cost, Plan
from ragtrace.stats.sample_size import calls_for_change, calls_for_rate


@app.command(rich_help_panel=TRUST)
def plan(
    rate: Annotated[
        float, typer.Option(help="The rate that you expect, e.g. 0.1 of the sentences; 0.5 asks for most.")
    ],
    halfwidth: Annotated[float, typer.Option(help="How far the interval may reach to each side, e.g. 0.03.")],
    confidence: Annotated[float, typer.Option(help="Share of such intervals that hold the true rate.")] = 0.95,
    design_effect: Annotated[
        float, typer.Option(min=1, help="How many times as many calls strata or repeated questions ask for.")
    ] = 1.0,
    change_to: Annotated[
        float | None, typer.Option(help="Also say how many calls a window needs to tell RATE from this.")
    ] = None,
    calls_per_day: Annotated[int | None, typer.Option(min=1, help="Your traffic; gives the sample rate.")] = None,
    judge_tokens: Annotated[
        str | None,
        typer.Option(
            help="PROMPT,COMPLETION tokens of one judged call; gives the cost by the prices in ragtrace.toml."
        ),
    ] = None,
    judge_model: JudgeModel = None,
) -> None:
    """Say how many calls to judge for a rate that is sharp enough, at which sample rate, and what it costs."""
    cost = _cost(judge_tokens, judge_model) if judge_tokens else None
    with extra("score"):
        calls = calls_for_rate(rate, halfwidth, confidence=confidence, design_effect=design_effect)
        detecting = None if change_to is None else calls_for_change(rate, change_to, confidence=confidence)
    made = Plan(
        rate=rate, halfwidth=halfwidth, confidence=confidence, calls=calls, calls_per_day=calls_per_day, cost=cost
    )
    typer.echo(made.as_text())
    if detecting is not None:
        typer.echo(f"change to {change_to:g}: {detecting:,} judged calls in each of two windows find it 4 times in 5")


def _cost(judge_tokens: str, judge_model: str | None) -> Cost:
    settings = load_settings(overrides={"judge_model": judge_model})
    price = settings.prices.get(settings.judge_model or "")
    if price is None:
        named = f"the judge {settings.judge_model!r}" if settings.judge_model else "the embedded judge, which is free"
        raise ConfigError(
            f"no price for {named}: set it under [prices] in ragtrace.toml, "
            "and name the model by --judge-model or RAGTRACE_JUDGE_MODEL"
        )
    prompt, completion = _tokens(judge_tokens)
    return Cost(
        prompt_tokens=prompt,
        completion_tokens=completion,
        prompt_price=price.prompt,
        completion_price=price.completion,
    )


def _tokens(text: str) -> tuple[int, int]:
    prompt, _, completion = text.partition(",")
    try:
        return int(prompt), int(completion)
    except ValueError:
        raise ConfigError(f"--judge-tokens {text!r}: expected PROMPT,COMPLETION, e.g. 1800,220") from None
