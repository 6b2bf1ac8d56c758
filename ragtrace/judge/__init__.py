"""Judges: what gives verdicts on the claims of an answer."""

from collections.abc import Iterable

from ragtrace.judge.base import Judge
from ragtrace.judge.batch import judge_calls, verdicts_or_reason
from ragtrace.masking import Mask
from ragtrace.settings import Settings


def make_judge(settings: Settings, *, mask: Mask | None = None, metrics: Iterable[str] = ()) -> Judge:
    """Return the language model that the settings name, or the embedded judge where they name none.

    Args:
        settings: Where the judge is and what it may cost.
        mask: Sees every text before it leaves the process.
        metrics: Names of the scores that will be computed: `sufficiency`, grades and `answer_relevancy` are asked for
            only then.

    Raises:
        ConfigError: the model cannot be reached with these settings, or the calibration is not the judge's.
    """
    # Imported when needed: the OpenAI client alone costs a third of a second and 30 MB.
    if settings.judge_model is None:
        from ragtrace.judge.embedded import EmbeddedJudge
        from ragtrace.judge.embedded_calibration import load_calibration

        return EmbeddedJudge(load_calibration(settings.judge_calibration) if settings.judge_calibration else None)
    from ragtrace.judge.llm import LlmJudge

    return LlmJudge(settings, mask=mask, metrics=metrics)


__all__ = ["Judge", "judge_calls", "make_judge", "verdicts_or_reason"]
