"""Judge many calls at once and hand each over as it is finished, whatever became of the others."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Iterator

from ragtrace.errors import JudgeError, JudgeOverBudget, JudgeRefused, JudgeReplyInvalid
from ragtrace.judge.base import Judge
from ragtrace.model import RagCall, Unscored, Verdicts
from ragtrace.semconv import RAG_OUTCOME, UnscoredReason

_LOGGER = logging.getLogger(__name__)
_REASONS: tuple[tuple[type[JudgeError], UnscoredReason], ...] = (
    (JudgeOverBudget, "over_budget"),
    (JudgeReplyInvalid, "judge_reply_invalid"),
    (JudgeRefused, "judge_refused"),
    (JudgeError, "judge_unavailable"),
)
Outcome = tuple[RagCall, Verdicts | Unscored]


async def judge_calls(judge: Judge, calls: Iterable[RagCall], concurrency: int) -> AsyncGenerator[Outcome, None]:
    """Yield every call with its verdicts, or why there are none, in the order in which they are finished.

    Calls are drawn only as places get free, and no further ahead than the caller takes outcomes. Closing the
    generator cancels what is in flight.
    """
    waiting = iter(calls)
    finished: asyncio.Queue[Outcome | None] = asyncio.Queue(concurrency)
    workers = [asyncio.create_task(_work(judge, waiting, finished)) for _ in range(concurrency)]
    at_work = concurrency
    try:
        while at_work:
            outcome = await finished.get()
            if outcome is None:
                at_work -= 1
            else:
                yield outcome
        for worker in workers:
            await worker
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)


async def _work(judge: Judge, waiting: Iterator[RagCall], finished: asyncio.Queue[Outcome | None]) -> None:
    try:
        for call in waiting:
            await finished.put((call, await verdicts_or_reason(judge, call)))
    except Exception:
        await finished.put(None)
        raise
    await finished.put(None)


async def verdicts_or_reason(judge: Judge, call: RagCall) -> Verdicts | Unscored:
    """Return the verdicts on one call, or why there are none."""
    try:
        return await judge.judge(call)
    except JudgeError as exc:
        reason = next(reason for kind, reason in _REASONS if isinstance(exc, kind))
        return Unscored(name=RAG_OUTCOME, reason=reason, detail=str(exc))
    # A bug met on one call must not lose the others.
    except Exception as exc:
        _LOGGER.exception("Call %s could not be judged.", call.id)
        return Unscored(name=RAG_OUTCOME, reason="judge_reply_invalid", detail=f"{type(exc).__name__}: {exc}")
