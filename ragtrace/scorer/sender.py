"""Send the outbox: scores first, a call's mark when they have arrived."""

import logging
from collections.abc import Callable, Sequence

from ragtrace.langfuse import LangfuseApi, WriteReceipt
from ragtrace.scorer.records import CallScores
from ragtrace.scorer.state import CallKey, StateFile
from ragtrace.scorer.tally import Tally

_logger = logging.getLogger(__name__)


class Sender:
    """Moves scores from the state file to Langfuse; what is not acknowledged stays in the file."""

    def __init__(
        self, api: LangfuseApi, state: StateFile, *, on_written: Callable[[Sequence[str]], None] = lambda ids: None
    ) -> None:
        """Send what waits in a state file.

        Args:
            on_written: Called with the ids of scores that Langfuse accepted.
        """
        self._api = api
        self._on_written = on_written
        self._state = state
        self._of_this_run: set[CallKey] = set()

    def take(self, key: CallKey, scores: CallScores) -> None:
        """Put a judged call's scores on disk; from here on they cannot be lost."""
        self._state.enqueue(key, scores)
        self._of_this_run.add(key)

    async def flush(self, tally: Tally) -> None:
        """Send all that waits.

        Raises:
            BackendError: something is left; what was sent before is acknowledged.
        """
        while await self.send_some(tally):
            pass

    async def send_some(self, tally: Tally) -> bool:
        """Send what may go now; false if nothing waits.

        The marks of calls whose scores went before ride along, so that a steady stream costs one request a time.
        """
        outgoing = self._state.outgoing()
        async for receipt in self._api.write_scores(outgoing):
            self._note(receipt, tally)
        return bool(outgoing)

    def _note(self, receipt: WriteReceipt, tally: Tally) -> None:
        tally.scores_written += len(receipt.accepted)
        self._on_written(receipt.accepted)
        for finished in self._state.acknowledge(receipt.accepted):
            if finished.key in self._of_this_run:
                self._of_this_run.discard(finished.key)
                tally.count_outcome(finished.outcome)
            else:
                tally.sent_later += 1
        for score_id, reason in receipt.rejected:
            _logger.error("Langfuse refused score %s: %s", score_id, reason)
        for key in self._state.refuse([score_id for score_id, _ in receipt.rejected]):
            self._of_this_run.discard(key)
            tally.refused += 1
