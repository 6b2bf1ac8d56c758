"""Say what a run would judge and what that would cost, without fetching, judging or writing anything."""

from collections.abc import Mapping

from ragtrace.extract import ObservationRow, json_text
from ragtrace.langfuse import CallQuery
from ragtrace.scorer.reading import CallReader, key_of
from ragtrace.scorer.tally import Tally
from ragtrace.semconv import META_PROMPT_LENGTH
from ragtrace.settings import Price

_INSTRUCTION_TOKENS = 900
COMPLETION_TOKENS = 350
"""About what a judge writes about a call."""
_CHARACTERS_A_TOKEN = 3.5
_USUAL_PROMPT = 6_000
"""Characters, where capture did not say."""


async def preview_calls(
    reader: CallReader, query: CallQuery, *, tally: Tally, model: str | None, prices: Mapping[str, Price]
) -> None:
    """Count what would be judged; tokens and cost are estimates from the prompts' lengths.

    Args:
        model: The judge's model; None: the embedded judge, which costs nothing.
    """
    async for page in reader.open_calls(query):
        for row in page:
            tally.would_judge += 1
            if model:
                tally.prompt_tokens += estimated_prompt_tokens(row)
                tally.completion_tokens += COMPLETION_TOKENS
            reader.release(key_of(row))
    if price := prices.get(model or ""):
        tally.cost = (tally.prompt_tokens * price.prompt + tally.completion_tokens * price.completion) / 1e6


def estimated_prompt_tokens(row: ObservationRow) -> int:
    """Return about how many tokens a judge reads for a call."""
    return _INSTRUCTION_TOKENS + round(_prompt_length(row) / _CHARACTERS_A_TOKEN)


def _prompt_length(row: ObservationRow) -> float:
    stated = json_text.as_number(json_text.metadata_value(row.metadata, META_PROMPT_LENGTH))
    return _USUAL_PROMPT if stated is None else stated
