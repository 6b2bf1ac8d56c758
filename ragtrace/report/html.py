"""Write a report as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ragtrace import __version__
from ragtrace.extract import json_text
from ragtrace.report import words
from ragtrace.report.choosing import Choice
from ragtrace.report.content import Choices, Report, ShownCall, Trend

PAGE_BYTES = 4_500_000
"""Largest page; answers beyond are left out, the worst stay."""
_OPEN_CALLS = 3
_MARKUP_A_CALL = 3_500
_MARKUP_A_PART = 600
"""Bytes of markup around a passage, a sentence or a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The form of a live page: what was chosen, and what there is to choose from."""

    chosen: Choice
    choices: Choices


def render_page(report: Report, filters: Filters | None = None) -> str:
    """Return the page; text of passages, answers and questions is escaped, whatever it holds.

    Args:
        report: What the page says.
        filters: The form of a live page; None: the page is a file, which nobody answers.
    """
    bounded = replace(report, shown=within(report.shown, PAGE_BYTES))
    template = _environment().get_template("page.html.j2")
    page = template.render(report=bounded, version=__version__, opened=_OPEN_CALLS, filters=filters)
    return json_text.without_surrogates(page)


def within(calls: Sequence[ShownCall], limit: int) -> tuple[ShownCall, ...]:
    """Return the first calls whose page stays under so many bytes."""
    kept: list[ShownCall] = []
    used = 0
    for call in calls:
        used += _weigh(call)
        if used > limit:
            break
        kept.append(call)
    return tuple(kept)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ragtrace.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    # Our own file, not user text: inside <style> the quotes of font names must stay quotes.
    environment.globals["style"] = Markup(style)
    environment.filters.update(
        window=words.window,
        counted=words.counted,
        pooled=words.pooled,
        pass_mark=words.pass_mark,
        shown_of=words.shown_of,
        moment=words.moment,
        reason=words.reason,
        label=words.label,
        estimate=words.estimate,
        span=words.span,
        stands_on=words.stands_on,
        change=words.change,
        compared=words.compared,
        loss=words.loss,
        cost=words.cost,
        stretch=words.stretch,
        chart=_chart,
        verdict=words.VERDICTS.__getitem__,
        fate=words.fate,
        amount=words.amount,
        passages_title=words.passages_title,
        percent_number=_percent_number,
    )
    return environment


def _chart(trend: Trend) -> Markup:
    # matplotlib takes a second to import; terminals and pages without a trend do not need it.
    from ragtrace.report import chart

    # Drawn by us from numbers and our own words: no user text is in it.
    return Markup(chart.draw(trend))


def _percent_number(share: float) -> str:
    """Write a share as a percentage that is 0 or 100 only where it is so exactly."""
    rounded = f"{share * 100:.0f}"
    return f"{share * 100:.1f}" if rounded in ("0", "100") and share not in (0.0, 1.0) else rounded


def _weigh(call: ShownCall) -> int:
    """Estimate the bytes of a call's part of the page, rather too many than too few."""
    texts = [call.question, call.question, call.reference or "", *call.tags]
    texts += [piece.text for passage in call.passages or () for piece in passage.pieces]
    # A sentence stands in the answer, and again beside its claims.
    texts += [text for sentence in call.answer for text in (sentence.lead, sentence.text, sentence.text)]
    texts += [text for s in call.answer for claim in s.claims for text in (claim.text, claim.reason or "")]
    parts = len(call.passages or ()) + sum(1 + len(sentence.claims) for sentence in call.answer)
    return sum(map(_escaped_bytes, texts)) + parts * _MARKUP_A_PART + _MARKUP_A_CALL


def _escaped_bytes(text: str) -> int:
    return len(str(escape(text)).encode("utf-8", "replace"))
