"""Estimate from a weighted sample of judged calls, with intervals: rates, differences, agreement. Pure."""

from ragtrace.stats.differences import difference, paired_difference
from ragtrace.stats.estimate import Estimate, Quality
from ragtrace.stats.rates import mean, ratio

__all__ = ["Estimate", "Quality", "difference", "mean", "paired_difference", "ratio"]
