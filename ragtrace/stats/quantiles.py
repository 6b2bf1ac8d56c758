"""Quantiles of Student's t and of the beta distribution; the only module that imports scipy, when first asked."""

from statistics import NormalDist
from typing import Final

_NORMAL: Final = NormalDist()


def normal_quantile(confidence: float) -> float:
    """Return how many standard errors a two-sided interval reaches to each side."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def t_quantile(confidence: float, degrees: float) -> float:
    """Return the same for Student's t; `degrees` of freedom need not be whole."""
    from scipy import special

    return float(special.stdtrit(degrees, (1 + confidence) / 2))


def clopper_pearson(events: float, draws: float, *, confidence: float) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934); neither number need be whole."""
    from scipy import special

    tail = (1 - confidence) / 2
    others = draws - events
    low = float(special.betaincinv(events, others + 1, tail)) if events > 0 else 0.0
    high = float(special.betaincinv(events + 1, others, 1 - tail)) if others > 0 else 1.0
    return low, high
