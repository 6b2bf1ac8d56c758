"""Say what a run would judge and what that would cost, without fetching, judging or writing anything."""

from ragtrace.extract import ObservationRow, json_text
from ragtrace.langfuse import CallQuery
from ragtrace.scorer.reading import CallReader, key_of
from ragtrace.scorer.tally import Tally
from ragtrace.semconv import META_PROMPT_LENGTH
from ragtrace.settings import Price

_INSTRUCTION_TOKENS = 900
_COMPLETION_TOKENS = 350
_CHARACTERS_A_TOKEN = 3.5
_USUAL_PROMPT = 6_000
"""Characters, where capture did not say."""


async def preview_calls(reader: CallReader, query: CallQuery, *, tally: Tally, price: Price | None) -> None:
    """Count what would be judged; tokens and cost are estimates from the prompts' lengths."""
    async for page in reader.open_calls(query):
        for row in page:
            tally.would_judge += 1
            tally.prompt_tokens += _INSTRUCTION_TOKENS + round(_prompt_length(row) / _CHARACTERS_A_TOKEN)
            tally.completion_tokens += _COMPLETION_TOKENS
            reader.release(key_of(row))
    if price:
        tally.cost = (tally.prompt_tokens * price.prompt + tally.completion_tokens * price.completion) / 1e6


def _prompt_length(row: ObservationRow) -> float:
    stated = json_text.as_number(json_text.metadata_value(row.metadata, META_PROMPT_LENGTH))
    return _USUAL_PROMPT if stated is None else stated
