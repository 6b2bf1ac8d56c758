"""Judge with a language model behind any OpenAI-compatible endpoint: one request yields every verdict of a call."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Final
from urllib.parse import urlsplit

from ragtrace.errors import ConfigError, JudgeRefused, JudgeReplyInvalid, JudgeUnavailable
from ragtrace.judge.asking import Asking
from ragtrace.judge.budget import Bounds, Budget, Usage
from ragtrace.judge.caching import cache_key, decode, encode
from ragtrace.judge.client import Address, Endpoint
from ragtrace.judge.planning import MaskFailedError, TooLongError, count_tokens, estimate_tokens, make_plan
from ragtrace.judge.prompt import is_judge_text
from ragtrace.judge.protocol import Extra, Findings, Plan, used_passages
from ragtrace.judge.reviewing import review
from ragtrace.judge.state import JudgeState
from ragtrace.judge.timing import Deadline, Pauses
from ragtrace.masking import Mask
from ragtrace.model import Claim, JsonValue, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts
from ragtrace.prompts import digest
from ragtrace.semconv import (
    ANSWER_RELEVANCY,
    GRADE_COMPLETENESS,
    GRADE_CORRECTNESS,
    GRADE_OVERALL,
    GRADE_RELEVANCE,
    SUFFICIENCY,
    UnscoredReason,
)
from ragtrace.settings import Settings
from ragtrace.text import declines

PROTOCOL: Final = 1
"""Raised when the same reply would be read differently."""
_NO_KEY: Final = "none"
_FIRST_PAUSE_SECONDS: Final = 0.5
_TOKENS_A_REPLY: Final = 300
_GRADES: Final = (GRADE_CORRECTNESS, GRADE_COMPLETENESS, GRADE_RELEVANCE, GRADE_OVERALL)


class LlmJudge:
    """A judge for many calls at once; what it learns about its endpoint holds for all of them."""

    is_calibrated = False

    def __init__(
        self,
        settings: Settings,
        *,
        mask: Mask | None = None,
        metrics: Iterable[str] = (),
        random: Random | None = None,
        first_pause_seconds: float = _FIRST_PAUSE_SECONDS,
    ) -> None:
        """Read the settings; nothing is opened yet.

        Args:
            settings: Where the judge is and what it may cost.
            mask: Sees every text before it is sent.
            metrics: Names of scores that are wanted beside the default ones; some cost a further request.
            random: Draws codes and jitter.
            first_pause_seconds: Wait before a failed request is repeated, where the endpoint names none.

        Raises:
            ConfigError: no model, or no key where one is needed.
        """
        self._settings = settings
        self._mask = mask
        self._random = random or Random()
        self._endpoint = Endpoint(
            _address(settings),
            preferred="json_object" if settings.judge_mode == "lean" else "json_schema",
            pauses=Pauses(first_pause_seconds, self._random),
        )
        self._state = JudgeState(settings.state)
        bounds = Bounds(per_run=settings.judge_tokens_per_run, per_hour=settings.judge_tokens_per_hour)
        self._budget = Budget(bounds, self._state)
        self._wanted = _extras(frozenset(metrics), settings)
        told = "\0".join((str(PROTOCOL), self.model, settings.judge_mode, digest(), *sorted(self._wanted)))
        self._fingerprint = sha256(told.encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Hash of model, mode, prompts and protocol."""
        return self._fingerprint

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._endpoint.address.model

    @property
    def usage(self) -> Mapping[str, Usage]:
        """What this judge spent so far, by model."""
        return self._budget.by_model

    async def judge(self, call: RagCall) -> Verdicts:
        """Judge one call; see `Judge.judge`. Nothing is asked where there is nothing to hold a sentence against.

        Raises:
            JudgeError: no verdicts, and why.
        """
        if is_judge_text(call.question):
            raise JudgeRefused(f"call {call.id!r} is a judge's own request, recorded by an instrumentation: not judged")
        if call.delivery is None:
            return self._abstain("contexts_unknown")
        try:
            plan = make_plan(call, mask=self._mask, wanted=self._wanted)
        except MaskFailedError:
            return self._abstain("masked")
        if not plan.items:
            return self._verdicts(plan, Findings(claims={}), Usage())
        key = cache_key(self._fingerprint, plan)
        if (stored := self._state.get(key)) is not None:
            return self._verdicts(plan, decode(stored, plan), Usage(), is_cached=True)
        usage = Usage()
        try:
            findings = await self._find(plan, usage)
        except TooLongError:
            return self._abstain("too_long", usage)
        if _is_complete(findings, plan):
            self._state.put(key, encode(findings, plan), time.time())
        return self._verdicts(plan, findings, usage)

    async def complete(self, system: str, user: str, *, schema: JsonValue) -> str:
        """Return the reply to a request of another kind than a call's, within the same budget and deadline.

        Raises:
            JudgeUnavailable: no reply in time.
            JudgeRefused: the model declined.
            JudgeReplyInvalid: the request does not fit the model's window.
            JudgeOverBudget: no tokens are left.
        """
        estimate, seconds = count_tokens(system + user) + _TOKENS_A_REPLY, self._settings.judge_deadline_seconds
        self._budget.reserve(estimate)
        usage = Usage()
        try:
            async with asyncio.timeout(None) as timeout:
                completion = await self._asking(timeout, usage).send((system, user), schema)
                return completion.text if completion else ""
        except TooLongError:
            raise JudgeReplyInvalid(f"judge {self._endpoint.address}: the request does not fit its window") from None
        except TimeoutError:
            raise JudgeUnavailable(f"judge {self._endpoint.address}: no reply within {seconds:g} s") from None
        finally:
            self._budget.release(estimate)
            self._budget.spend(self.model, usage)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector a text, of the model that RAGTRACE_EMBEDDING_MODEL names, all of one length.

        Raises:
            JudgeUnavailable: no reply in time.
            JudgeReplyInvalid: the endpoint has no such model, or sent something else than vectors.
        """
        seconds = self._settings.judge_deadline_seconds
        try:
            async with asyncio.timeout(None) as timeout:
                model = self._settings.embedding_model or ""
                return await self._endpoint.embed(texts, Deadline(seconds, timeout), model=model)
        except TimeoutError:
            raise JudgeUnavailable(f"judge {self._endpoint.address}: no vectors within {seconds:g} s") from None

    async def aclose(self) -> None:
        """Close the running loop's connections, and the state file."""
        await self._endpoint.aclose()
        self._state.close()

    async def _find(self, plan: Plan, usage: Usage) -> Findings:
        estimate = estimate_tokens(plan) + _TOKENS_A_REPLY
        self._budget.reserve(estimate)
        seconds = self._settings.judge_deadline_seconds
        try:
            async with asyncio.timeout(None) as timeout:
                asking = self._asking(timeout, usage)
                found = await asking.ask(plan)
                more = await review(asking, plan, embedding_model=self._settings.embedding_model or "")
                return replace(found, grades=more.grades, relevancy=more.relevancy)
        except TimeoutError:
            raise JudgeUnavailable(f"judge {self._endpoint.address}: no verdicts within {seconds:g} s") from None
        finally:
            self._budget.release(estimate)
            self._budget.spend(self.model, usage)

    def _asking(self, timeout: asyncio.Timeout, usage: Usage) -> Asking:
        return Asking(
            endpoint=self._endpoint,
            mode=self._settings.judge_mode,
            most_tokens=self._settings.judge_completion_tokens,
            window=self._window(),
            random=self._random,
            deadline=Deadline(self._settings.judge_deadline_seconds, timeout),
            usage=usage,
        )

    def _window(self) -> int:
        return min(
            self._settings.judge_context_tokens, self._endpoint.known.window or self._settings.judge_context_tokens
        )

    def _abstain(self, reason: UnscoredReason, usage: Usage | None = None) -> Verdicts:
        return Verdicts(judge=self._info(usage or Usage()), abstained=reason)

    def _verdicts(self, plan: Plan, findings: Findings, usage: Usage, *, is_cached: bool = False) -> Verdicts:
        answer = _judged("A", plan.answer, plan, findings)
        reference = _judged("R", plan.reference, plan, findings)
        claims = [claim for sentence in (*answer, *reference) for claim in sentence.claims]
        stands = any(claim.verdict in ("supported", "contradicted") for s in answer for claim in s.claims)
        return Verdicts(
            judge=self._info(usage, is_cached=is_cached),
            answer=answer,
            reference=reference,
            useful=used_passages(claims),
            # A judge may be talked into calling an answer a refusal; one that states what passages speak of is none.
            refused=declines(plan.answer) or (findings.refused and not stands),
            needs=findings.needs,
            grades=findings.grades,
            relevancy=findings.relevancy,
        )

    def _info(self, usage: Usage, *, is_cached: bool = False) -> JudgeInfo:
        return JudgeInfo(
            fingerprint=self._fingerprint,
            model=self.model,
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached=is_cached,
            cost=usage.cost(self._settings.prices.get(self.model)),
            parameters=self._endpoint.known.current.used(),
        )


def _address(settings: Settings) -> Address:
    if not settings.judge_model:
        raise ConfigError("RAGTRACE_JUDGE_MODEL is not set: name the model that judges")
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise ConfigError("OPENAI_API_KEY is not set: set it, or OPENAI_BASE_URL to an endpoint that needs none")
    return Address(
        base_url=_base_url(settings.openai_base_url),
        key=settings.openai_api_key.get_secret_value() if settings.openai_api_key else _NO_KEY,
        model=settings.judge_model,
        timeout_seconds=settings.judge_timeout_seconds,
        concurrency=settings.concurrency,
    )


def _base_url(value: str | None) -> str | None:
    if value is None:
        return None
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigError(f"OPENAI_BASE_URL={value!r}: expected a URL such as http://localhost:8000/v1")
    if "@" in url.netloc:
        raise ConfigError("OPENAI_BASE_URL holds a user or password: put the key into OPENAI_API_KEY")
    return value


def _extras(metrics: frozenset[str], settings: Settings) -> frozenset[Extra]:
    """Return what the judge must be asked beside the verdicts so that these scores can be computed."""
    needed: dict[Extra, bool] = {
        "needs": SUFFICIENCY in metrics,
        "grades": not metrics.isdisjoint(_GRADES),
        "questions": ANSWER_RELEVANCY in metrics and settings.embedding_model is not None,
    }
    return frozenset(extra for extra, is_needed in needed.items() if is_needed)


def _is_complete(findings: Findings, plan: Plan) -> bool:
    """Tell whether everything was answered, so that asking again would bring nothing more."""
    given: dict[Extra, object] = {
        "needs": findings.needs,
        "grades": findings.grades,
        "questions": findings.relevancy,
    }
    return all(item.label in findings.claims for item in plan.items) and all(
        given[extra] is not None for extra in plan.wanted
    )


def _judged(side: str, sentences: tuple[Sentence, ...], plan: Plan, findings: Findings) -> tuple[JudgedSentence, ...]:
    """Return every sentence with its claims; what was asked and not answered is one undecided claim."""
    asked = {item.label for item in plan.items}
    judged = []
    for sentence in sentences:
        label = f"{side}{sentence.number}"
        claims = findings.claims.get(label)
        if claims is None:
            claims = (Claim(text=sentence.text, verdict="undecided"),) if label in asked else ()
        judged.append(JudgedSentence(sentence=sentence, claims=claims))
    return tuple(judged)
