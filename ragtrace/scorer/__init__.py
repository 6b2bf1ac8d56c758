"""The loop beside the application: read calls, sample, judge, write scores; and the same for rows of a file."""

from ragtrace.scorer.offline import ajudge_calls, judge_calls
from ragtrace.scorer.selection import Sampling
from ragtrace.scorer.state import StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, score_calls

__all__ = [
    "Sampling",
    "ScoringOptions",
    "StateFile",
    "Tally",
    "ajudge_calls",
    "judge_calls",
    "score_calls",
]
