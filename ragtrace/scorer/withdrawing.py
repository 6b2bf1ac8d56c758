"""Take back numbers of an earlier judge where judging again gave none, so that they do not stay as if they held."""

import logging
from collections.abc import Iterable

from ragtrace.errors import BackendError
from ragtrace.langfuse import LangfuseApi, ScoreQuery
from ragtrace.model import Score, Unscored
from ragtrace.scorer.records import score_id
from ragtrace.scorer.state import CallKey
from ragtrace.scorer.tally import Tally

_LOOKED_UP_AT_ONCE = 100
_logger = logging.getLogger(__name__)


class Withdrawals:
    """Collects scores that must not stand, and deletes those that do.

    Langfuse Cloud allows 50 to 1,000 deletions a day, so what stands is looked up first.
    """

    def __init__(self, api: LangfuseApi) -> None:
        self._api = api
        self._ids: list[str] = []

    def note(self, key: CallKey, results: Iterable[Score | Unscored]) -> None:
        """Note the metrics of a call that have no number any more."""
        self._ids += [score_id(*key, result.name) for result in results if isinstance(result, Unscored)]

    async def carry_out(self, tally: Tally) -> None:
        """Delete what stands of the noted scores.

        Raises:
            BackendError: the scores could not be read. A deletion that is refused is logged and counted.
        """
        while self._ids:
            some, self._ids = self._ids[:_LOOKED_UP_AT_ONCE], self._ids[_LOOKED_UP_AT_ONCE:]
            standing = [s.id async for page in self._api.read_scores(ScoreQuery(ids=tuple(some))) for s in page]
            await self._delete(standing, tally)

    async def _delete(self, standing: list[str], tally: Tally) -> None:
        for done, id_ in enumerate(standing):
            try:
                await self._api.delete_score(id_)
            except BackendError as exc:
                left = len(standing) - done
                tally.outdated += left
                _logger.error("%d outdated scores stay in Langfuse, --rescore once more removes them: %s", left, exc)
                return
            tally.withdrawn += 1
