"""Draw a trend as an SVG picture that is the same for the same numbers, in print and for the colour-blind."""

import io
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ragtrace.report.content import Step, Trend
from ragtrace.report.trend import STEPS
from ragtrace.stats import Estimate

_STYLE = Path(__file__).parent / "templates" / "chart.mplstyle"
_BLUE = "#0072B2"
"""Of Okabe and Ito's palette; line, markers and dashes carry the meaning too, so that a grey print loses nothing."""
_FORMATS: dict[Step, str] = {"hour": "%-d %b %H:00", "day": "%-d %b", "week": "%-d %b %Y"}
_MOST_TICKS = 6
_GAP = float("nan")
_FONT = re.compile(r"font: ([^;']*)'DejaVu Sans'[^;\"]*")
_ID = re.compile(r'(\bid="|href="#|url\(#)')


def draw(trend: Trend) -> str:
    """Return the `<svg>` element: the mean as a line with markers, its 95 % interval as a band with dashed edges.

    Not safe in two threads at once: matplotlib's style is the process's.
    """
    with mpl.rc_context(fname=_STYLE):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        axes = figure.add_subplot()
        _draw_course(axes, trend)
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        axes.grid(axis="y")
        starts = _starts(trend)
        marked = starts[:: -(-len(starts) // _MOST_TICKS)]
        axes.set_xticks([at.timestamp() for at in marked], [at.strftime(_FORMATS[trend.step]) for at in marked])
        return _as_element(figure, trend)


def _starts(trend: Trend) -> Sequence[datetime]:
    """Return where each stretch begins from the first to the last, those without calls among them."""
    first, last, step = trend.points[0].start, trend.points[-1].start, STEPS[trend.step]
    return [first + number * step for number in range((last - first) // step + 1)]


def _draw_course(axes: Axes, trend: Trend) -> None:
    known = {point.start: point.estimate for point in trend.points}
    starts = _starts(trend)
    moments = [at.timestamp() for at in starts]
    lows, values, highs = zip(*(_ends(known.get(at)) for at in starts), strict=True)
    axes.fill_between(moments, lows, highs, color=_BLUE, alpha=0.16, linewidth=0)
    for edge in (lows, highs):
        axes.plot(moments, edge, color=_BLUE, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.plot(moments, values, color=_BLUE, linewidth=1.8, marker="o", markersize=4)


def _ends(found: Estimate | None) -> tuple[float, float, float]:
    """Return low end, value and high end; where there is no number, what leaves a gap in a line."""
    if found is None or found.value is None or found.low is None or found.high is None:
        return _GAP, _GAP, _GAP
    return found.low, found.value, found.high


def _as_element(figure: Figure, trend: Trend) -> str:
    out = io.StringIO()
    unsaid = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", transparent=True, metadata=unsaid)
    drawn = out.getvalue()
    # Several charts share a page: each has ids of its own. The page's own fonts replace the one that was measured.
    drawn = _FONT.sub(r"font: \1inherit", _ID.sub(rf"\g<1>{trend.name}-", drawn[drawn.index("<svg") :]))
    label = f"{trend.label} by {trend.step}; the table that follows has the numbers"
    return drawn.replace("<svg", f'<svg class="chart" role="img" aria-label="{label}"', 1)
