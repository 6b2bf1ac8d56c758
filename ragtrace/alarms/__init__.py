"""Watch the rates of the judged calls, and say once when one is no longer what it should be."""

from ragtrace.alarms.check import Finding
from ragtrace.alarms.run import run_alarms

__all__ = ["Finding", "run_alarms"]
