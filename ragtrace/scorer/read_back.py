"""Read a sample of written scores back: Langfuse can accept a score and then drop it, for example over its config."""

import hashlib
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from ragtrace.langfuse import LangfuseApi, ScoreQuery
from ragtrace.scorer.tally import Tally

_ONE_OF = 20
_SETTLED = timedelta(minutes=1)
"""Langfuse shows a score up to eight seconds after it took it."""
_READ_AT_ONCE = 100
_logger = logging.getLogger(__name__)


class ReadBack:
    """Remembers one of twenty scores, a hundred at most, and looks for them a minute later."""

    def __init__(self) -> None:
        self._written: dict[str, datetime] = {}

    def note(self, score_ids: Iterable[str], now: datetime) -> None:
        """Remember some of the scores that Langfuse accepted."""
        for score_id in score_ids:
            if len(self._written) < _READ_AT_ONCE and _is_chosen(score_id):
                self._written[score_id] = now

    async def check(self, api: LangfuseApi, *, now: datetime, tally: Tally) -> None:
        """Count and log those of the remembered scores that are not there.

        Raises:
            BackendError: Langfuse could not be read; they are looked for next time.
        """
        settled = [score_id for score_id, written_at in self._written.items() if written_at + _SETTLED <= now]
        if not settled:
            return
        there = {s.id async for page in api.read_scores(ScoreQuery(ids=tuple(settled))) for s in page}
        lost = [score_id for score_id in settled if score_id not in there]
        for score_id in settled:
            del self._written[score_id]
        tally.read_back += len(settled)
        tally.lost += len(lost)
        if lost:
            _logger.error(
                "Langfuse accepted %d of %d scores and does not have them, for example %s: were score configs archived "
                "or changed since the scorer was started? Start it again, then --rescore",
                len(lost),
                len(settled),
                lost[0],
            )


def _is_chosen(score_id: str) -> bool:
    return hashlib.blake2b(score_id.encode(), digest_size=1).digest()[0] % _ONE_OF == 0
