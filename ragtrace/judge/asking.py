"""Get every verdict of one call: ask, ask again for what is missing, in halves or parts where it is too long."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from ragtrace.errors import JudgeReplyInvalid
from ragtrace.judge.budget import Usage
from ragtrace.judge.client import Endpoint
from ragtrace.judge.planning import TooLongError, count_tokens, estimate_tokens, fit_items, fit_passages
from ragtrace.judge.prompt import Mode, draw_code, reply_schema, write_messages
from ragtrace.judge.protocol import NOTHING, Findings, Item, Plan, merge_claims, merge_parts
from ragtrace.judge.reply import Request, read_reply
from ragtrace.judge.timing import Deadline
from ragtrace.judge.wire import Completion
from ragtrace.model import Claim, JsonValue

_MOST_REQUESTS: Final = 48
_MOST_WINDOWS_SPENT: Final = 16
"""Bounds of what one call may cost, whatever its replies are like; what is open then stays undecided."""
_MOST_PARTS: Final = 12
_MOST_WINDOWS: Final = 3
"""Guesses at a window that the endpoint does not name."""
_TOKENS_A_SENTENCE: Final[dict[Mode, int]] = {"lean": 12, "default": 55, "all": 90}
"""About what a sentence's verdicts take in a reply."""
_TOKENS_A_LABEL: Final = 6
_LEAST_ROOM: Final = 150


@dataclass(slots=True, kw_only=True)
class Asking:
    """The requests about one call."""

    endpoint: Endpoint
    mode: Mode
    most_tokens: int
    """Bound of one reply."""
    window: int
    """Tokens that prompt and reply may have together."""
    random: Random
    deadline: Deadline
    usage: Usage
    """What the requests cost so far."""
    _requests: int = 0

    async def ask(self, plan: Plan) -> Findings:
        """Return the verdicts on all items; those that the judge did not give are not in it.

        Raises:
            JudgeError: there are none.
            TooLongError: the call cannot be made to fit the judge's window.
        """
        for _ in range(_MOST_WINDOWS):
            try:
                return await self._ask_in_parts(plan)
            except TooLongError:
                known = self.endpoint.known.window
                if known is None or known >= self.window:
                    raise
                self.window = known
        raise TooLongError

    async def _ask_in_parts(self, plan: Plan) -> Findings:
        lists, parts = self._fit(plan)
        if len(parts) == 1:
            # With the passages in parts, nobody could tell which needs of the question another part meets.
            return await self._ask_lists(plan, lists, wants_needs="needs" in plan.wanted)
        first = await self._ask_lists(parts[0], lists, wants_needs=False)
        asked = _claims_as_items(first)
        rest = [await self._ask_part(part, asked) for part in parts[1:]]
        merged = {
            label: tuple(
                replace(merge_parts([claim, *(more[label, i] for more in rest if (label, i) in more)]), text=claim.text)
                for i, claim in enumerate(claims)
            )
            for label, claims in first.claims.items()
        }
        return replace(first, claims=merged)

    async def _ask_part(self, part: Plan, asked: dict[tuple[str, int], Item]) -> dict[tuple[str, int], Claim]:
        """Return one verdict a claim on a further part of the passages."""
        items = [item for item in asked.values() if part.received or item.side == "R"]
        if not items:
            return {}
        found = NOTHING
        for some in fit_items(items, room=self.window // 4, most=self._most_items()):
            found = found.and_also(await self._ask_again(part, some, wants_needs=False))
        return {
            key: merge_claims(found.claims[item.label])
            if found.claims.get(item.label)
            else Claim(text=item.text, verdict="undecided")
            for key, item in asked.items()
            if item in items
        }

    def _fit(self, plan: Plan) -> tuple[list[tuple[Item, ...]], list[Plan]]:
        """Return the items in lists, and the passages in parts, such that one of each fits a request."""
        self.most_tokens = min(self.most_tokens, self.window // 4)
        if estimate_tokens(plan) + self.most_tokens <= self.window and len(plan.items) <= self._most_items():
            return [plan.items], [plan]
        lists = fit_items(plan.items, room=self.window // 4, most=self._most_items())
        longest = max(sum(count_tokens(item.text) + _TOKENS_A_LABEL for item in some) for some in lists)
        system, _ = write_messages(self._request(plan, (), wants_needs="needs" in plan.wanted), self.mode)
        labels = _TOKENS_A_LABEL * (len(plan.received) + len(plan.withheld) + 4)
        room = self.window - self.most_tokens - count_tokens(system) - count_tokens(plan.question) - longest - labels
        if room < _LEAST_ROOM:
            raise TooLongError
        parts = fit_passages(plan, room)
        if len(parts) > _MOST_PARTS:
            raise TooLongError
        return lists, parts

    def _most_items(self) -> int:
        return max(1, self.most_tokens // _TOKENS_A_SENTENCE[self.mode])

    async def _ask_lists(self, plan: Plan, lists: Sequence[tuple[Item, ...]], *, wants_needs: bool) -> Findings:
        jobs = [
            self._ask_again(plan, items, wants_needs=wants_needs and number == 0) for number, items in enumerate(lists)
        ]
        found = NOTHING
        for findings in await _together(jobs):
            found = found.and_also(findings)
        return found

    async def _ask_again(self, plan: Plan, items: tuple[Item, ...], *, wants_needs: bool) -> Findings:
        """Ask, and ask once more for what was not answered as asked.

        Raises:
            JudgeReplyInvalid: both replies held nothing.
        """
        found, trouble = await self._ask_once(plan, items, wants_needs=wants_needs)
        missing = _missing(items, found)
        needs_missing = wants_needs and found.needs is None
        if not missing and not needs_missing:
            return found
        more, again = await self._ask_once(plan, missing, wants_needs=needs_missing)
        found = found.and_also(more)
        if items and not found.claims:
            raise JudgeReplyInvalid(f"judge {self.endpoint.address}: {again or trouble or 'no verdict was asked for'}")
        return found

    async def _ask_once(self, plan: Plan, items: tuple[Item, ...], *, wants_needs: bool) -> tuple[Findings, str | None]:
        """Return what one request brought, and what was wrong with its reply; halve what was cut off."""
        request = self._request(plan, items, wants_needs=wants_needs)
        completion = await self._send(request)
        if completion is None:
            return NOTHING, f"no end after {self._requests} requests"
        trouble = None
        try:
            found = read_reply(completion.text, request)
        except JudgeReplyInvalid as exc:
            found, trouble = NOTHING, str(exc)
        rest = _missing(items, found)
        if not completion.is_cut_off or not rest:
            return found, trouble
        trouble = f"{len(items) - len(rest)} of {len(items)} verdicts within {self.most_tokens} tokens"
        if len(items) == 1:
            return found, trouble
        middle = (len(rest) + 1) // 2
        for half in (rest[:middle], rest[middle:]):
            if half:
                more, _ = await self._ask_once(plan, half, wants_needs=False)
                found = found.and_also(more)
        return found, trouble

    def _request(self, plan: Plan, items: tuple[Item, ...], *, wants_needs: bool) -> Request:
        texts = [e.text for e in (*plan.received, *plan.withheld)] + [plan.question, *(item.text for item in items)]
        return Request(
            code=draw_code(texts, self.random),
            plan=plan,
            items=items,
            is_lean=self.mode == "lean",
            wants_needs=wants_needs,
        )

    async def _send(self, request: Request) -> Completion | None:
        schema = reply_schema(self.mode, wants_needs=request.wants_needs)
        return await self.send(write_messages(request, self.mode), schema)

    async def send(self, messages: tuple[str, str], schema: JsonValue) -> Completion | None:
        """Return the reply, or None if the call has cost enough.

        Raises:
            JudgeError: there is none.
            TooLongError: the request does not fit the judge's window, which is smaller than was thought.
        """
        if self._requests >= _MOST_REQUESTS or self.usage.tokens > _MOST_WINDOWS_SPENT * self.window:
            return None
        self._requests += 1
        try:
            completion = await self.endpoint.complete(
                messages, self.deadline, schema=schema, most_tokens=self.most_tokens
            )
        except TooLongError:
            known = self.endpoint.known.window
            if known is None or known >= self.window:
                self.endpoint.known.narrow((sum(map(count_tokens, messages)) + self.most_tokens) // 2)
            raise
        prompt, reply = completion.prompt_tokens, completion.completion_tokens
        self.usage.add(
            Usage(
                calls=1,
                prompt_tokens=sum(map(count_tokens, messages)) if prompt is None else prompt,
                completion_tokens=count_tokens(completion.text) if reply is None else reply,
            )
        )
        return completion


def _missing(items: Iterable[Item], found: Findings) -> tuple[Item, ...]:
    return tuple(item for item in items if item.label not in found.claims)


def _claims_as_items(found: Findings) -> dict[tuple[str, int], Item]:
    """Return each claim as an item of its own, numbered anew by side."""
    keys = [(label, i) for label, claims in found.claims.items() for i in range(len(claims))]
    numbers = {"A": 0, "R": 0}
    items = {}
    for label, i in keys:
        side = label[0]
        numbers[side] += 1
        items[label, i] = Item(label=f"{side}{numbers[side]}", text=found.claims[label][i].text)
    return items


async def _together(jobs: Sequence[Coroutine[Any, Any, Findings]]) -> list[Findings]:
    """Run the jobs at once; the first failure ends the others and is raised as it is."""
    if len(jobs) == 1:
        return [await jobs[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
