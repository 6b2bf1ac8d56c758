"""Say on the observation itself what is wrong with an answer, where that was asked for: one Langfuse comment each."""

import logging
import re
from collections.abc import Iterable

from ragtrace.errors import BackendError
from ragtrace.langfuse import LangfuseApi, comments
from ragtrace.metrics.comments import shorten
from ragtrace.model import Score, Unscored
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import FAITHFULNESS, HALLUCINATION_RATE

_MARK = "ragtrace: "
"""Starts each of our comments, so that a call gets one."""
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
_logger = logging.getLogger(__name__)


class Remarks:
    """Collects answers that failed, and comments on those that have no comment of ours yet."""

    def __init__(self, api: LangfuseApi) -> None:
        self._api = api
        self._texts: dict[CallKey, str] = {}

    def note(self, key: CallKey, results: Iterable[Score | Unscored]) -> None:
        """Note a call if a sentence of its answer does not hold."""
        text = next((r.comment for r in results if isinstance(r, Score) and r.comment and _fails(r)), None)
        if text is not None:
            self._texts[key] = shorten(_MARK + _MARKUP.sub(r"\\\1", text))

    async def write(self) -> None:
        """Write what was noted. What Langfuse does not take is logged and not tried again: the scores say the same."""
        texts, self._texts, done = self._texts, {}, 0
        if not texts:
            return
        try:
            project = await self._api.project()
            for (_, observation_id), text in texts.items():
                await self._write(project.id if project else "", observation_id, text)
                done += 1
        except BackendError as exc:
            _logger.warning("%d answers have no comment in Langfuse: %s", len(texts) - done, exc)

    async def _write(self, project_id: str, observation_id: str, text: str) -> None:
        said = await comments.read_comments(self._api.connection, observation_id)
        if not any(content.startswith(_MARK) for content in said):
            await comments.add_comment(self._api.connection, project_id, observation_id, text)


def _fails(score: Score) -> bool:
    """Tell whether a score says that a claim of the answer is contradicted or not supported."""
    return isinstance(score.value, float | int) and (
        (score.name == FAITHFULNESS and score.value < 1) or (score.name == HALLUCINATION_RATE and score.value > 0)
    )
