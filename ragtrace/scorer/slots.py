"""Fix the thresholds that a token budget sets, before any call is drawn with them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from ragtrace.langfuse import CallQuery, LangfuseApi
from ragtrace.sampling.budget import SLOT, forecast, slot_of, threshold
from ragtrace.sampling.strata import choose_stratum
from ragtrace.scorer.preview import COMPLETION_TOKENS, estimated_prompt_tokens
from ragtrace.scorer.selection import Sampling, facts_of, is_own_row
from ragtrace.scorer.state import Slot, StateFile

_SETTLED = timedelta(minutes=2)
"""A slot is counted as over only when its calls can be expected to be readable."""


async def thinned(
    api: LangfuseApi,
    state: StateFile,
    *,
    sampling: Sampling,
    query: CallQuery,
    tokens_per_hour: int | None,
    now: datetime,
) -> Sampling:
    """Return the sampling with the thresholds of the slots that a query touches; new ones are counted and fixed.

    Args:
        tokens_per_hour: None: there is no budget, and the sampling stays as it is.

    Raises:
        BackendError: Langfuse could not be read.
    """
    if tokens_per_hour is None:
        return sampling
    since = slot_of(query.since or query.ended_since or now)
    known = state.slots(since)
    last = slot_of(query.until or now)
    missing = [since + n * SLOT for n in range((last - since) // SLOT + 1) if since + n * SLOT not in known]
    if missing:
        counted = await _count(api, sampling, CallQuery(since=missing[0], until=missing[-1] + SLOT))
        state.fix_slots(_fix(missing, counted, known=known, tokens_per_hour=tokens_per_hour, now=now))
    return with_thresholds(state, sampling, since)


def with_thresholds(state: StateFile, sampling: Sampling, since: datetime) -> Sampling:
    """Return the sampling with the thresholds that are fixed from a moment on."""
    thresholds = {start: slot.threshold for start, slot in state.slots(slot_of(since)).items()}
    return replace(sampling, thresholds=thresholds)


async def _count(api: LangfuseApi, sampling: Sampling, query: CallQuery) -> Counter[datetime]:
    """Return the tokens that judging the sample of each slot would cost."""
    tokens: Counter[datetime] = Counter()
    async for page in api.list_calls(query):
        for row in page:
            if not is_own_row(row):
                share = sampling.share(choose_stratum(sampling.strata, facts_of(row)))
                tokens[slot_of(row.start_time)] += round(share * (estimated_prompt_tokens(row) + COMPLETION_TOKENS))
    return tokens


def _fix(
    missing: list[datetime],
    counted: Mapping[datetime, int],
    *,
    known: Mapping[datetime, Slot],
    tokens_per_hour: int,
    now: datetime,
) -> dict[datetime, Slot]:
    fixed: dict[datetime, Slot] = {}
    for start in missing:
        expected = float(counted.get(start, 0))
        if start + SLOT + _SETTLED > now:
            before = fixed.get(start - SLOT) or known.get(start - SLOT)
            expected = forecast(expected, slot=start, now=now, before=before.expected if before else None)
        fixed[start] = Slot(threshold=threshold(tokens_per_hour, expected), expected=expected)
    return fixed
