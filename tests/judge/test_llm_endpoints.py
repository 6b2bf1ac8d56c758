"""The LLM judge at endpoints that refuse, limit, fail, hang or lock it out."""

import asyncio
import logging
from dataclasses import replace

import aiohttp
import pytest
from opentelemetry import context as otel
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled, is_instrumentation_enabled

from ragtrace.errors import ConfigError, JudgeRefused, JudgeReplyInvalid, JudgeUnavailable
from ragtrace.judge import make_judge
from ragtrace.judge.batch import judge_calls
from ragtrace.judge.embedded import EmbeddedJudge
from ragtrace.judge.llm import LlmJudge
from ragtrace.judge.parameters import KnownParameters, Parameters
from ragtrace.model import RagCall, Unscored, Verdicts
from ragtrace.semconv import JUDGE_MARK
from ragtrace.settings import load_settings
from tests.build import call, received
from tests.judge.conftest import Judges
from tests.judge.endpoint import Answer, Asked, Reply, ScriptedEndpoint, claim, fails, says, supports_all, verdicts

RED = call(answer="It is red.", delivery=received("It is red."))


def numbered(count: int) -> list[RagCall]:
    return [
        call(question=f"Which colour {n}?", answer="It is red.", delivery=received("It is red.")) for n in range(count)
    ]


async def outcomes(judge: LlmJudge, calls: list[RagCall], concurrency: int = 8) -> list[Verdicts | Unscored]:
    return [found async for _, found in judge_calls(judge, calls, concurrency)]


def picky(*refused: str) -> Answer:
    """An endpoint that refuses these parameters, one at a time, naming them."""

    def answer(asked: Asked) -> Reply:
        for name in refused:
            if name in asked.body:
                return fails(400, f"Unsupported parameter: '{name}' is not supported.", param=name, code="unsupported")
        return supports_all(asked)

    return answer


async def test_a_refused_temperature_is_left_out_from_then_on(
    endpoint: ScriptedEndpoint, judges: Judges, caplog: pytest.LogCaptureFixture
):
    """Ten calls at once meet one refusal and one warning, and what was really used is recorded."""
    endpoint.answers(picky("temperature", "top_p"))
    judge = judges(concurrency=10)

    with caplog.at_level(logging.WARNING, "ragtrace.judge.parameters"):
        found = await outcomes(judge, numbered(10), 10)

    assert [f.judge.parameters for f in found if isinstance(f, Verdicts)] == [
        {"response_format": "json_schema", "temperature": None}
    ] * 10
    assert (sum("temperature" in asked.body for asked in endpoint.asked), len(endpoint.asked)) == (1, 11)
    assert [record.name for record in caplog.records].count("ragtrace.judge.parameters") == 1


def of_formats(*taken: str) -> Answer:
    def answer(asked: Asked) -> Reply:
        if asked.body.get("response_format", {"type": "text"})["type"] in taken:
            return supports_all(asked)
        return fails(400, "'response_format.type' must be one that this model takes")

    return answer


@pytest.mark.parametrize("taken", ["json_schema", "json_object", "text"])
async def test_the_reply_format_is_the_strictest_that_is_taken(endpoint: ScriptedEndpoint, judges: Judges, taken: str):
    """json_schema, else json_object, else plain text; two refusals at most, for ten calls at once."""
    endpoint.answers(of_formats(taken))

    found = await outcomes(judges(concurrency=10), numbered(10), 10)

    assert {f.judge.parameters["response_format"] for f in found if isinstance(f, Verdicts)} == {taken}
    assert len(endpoint.asked) == 10 + ["json_schema", "json_object", "text"].index(taken)


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (picky("max_completion_tokens"), {"max_tokens": 4096, "temperature": 0}),
        (picky("max_completion_tokens", "max_tokens"), {"max_completion_tokens": None}),
    ],
    ids=["the old name", "neither"],
)
async def test_the_token_limit_goes_by_the_name_that_is_taken(
    endpoint: ScriptedEndpoint, judges: Judges, answer: Answer, sent: dict[str, object]
):
    """`max_completion_tokens` is the newer name, `max_tokens` the one that older servers take."""
    endpoint.answers(answer)

    if "max_tokens" in sent:
        await judges().judge(RED)
        assert {name: endpoint.asked[-1].body.get(name) for name in sent} == sent
    else:
        with pytest.raises(JudgeUnavailable):
            await judges().judge(RED)
        assert len(endpoint.asked) <= 5


async def test_the_token_limit_is_no_larger_than_is_taken(endpoint: ScriptedEndpoint, judges: Judges):
    """An endpoint that names its largest limit is asked for that many."""

    def answer(asked: Asked) -> Reply:
        if asked.body["max_completion_tokens"] > 2048:
            return fails(400, "max_completion_tokens is too large: 4096. This model supports at most 2048.")
        return supports_all(asked)

    endpoint.answers(answer)

    await judges().judge(RED)

    assert [asked.body["max_completion_tokens"] for asked in endpoint.asked] == [4096, 2048]


async def test_a_model_without_a_system_role_gets_one_message(endpoint: ScriptedEndpoint, judges: Judges):
    """Instructions and items are then one user message."""

    def answer(asked: Asked) -> Reply:
        if len(asked.body["messages"]) == 2:
            return fails(400, "System role not supported")
        return supports_all(asked)

    endpoint.answers(answer)

    found = await judges().judge(RED)

    assert [message["role"] for message in endpoint.asked[-1].body["messages"]] == ["user"]
    assert found.answer[0].claims[0].verdict == "supported"


async def test_an_unexplained_refusal_leaves_only_what_everybody_takes(endpoint: ScriptedEndpoint, judges: Judges):
    """A 400 that names nothing makes the judge send model, messages and a token limit only."""

    def answer(asked: Asked) -> Reply:
        return supports_all(asked) if "response_format" not in asked.body else fails(422, "Unprocessable")

    endpoint.answers(answer)

    await judges().judge(RED)

    assert [sorted(asked.body) for asked in endpoint.asked] == [
        ["max_completion_tokens", "messages", "model", "response_format", "temperature"],
        ["max_completion_tokens", "messages", "model"],
    ]


def test_a_lesson_is_learned_once():
    """A request that was under way when another one was refused is simply sent again."""
    known = KnownParameters("json_schema")
    sent = known.current

    assert known.learn(sent, "temperature is not supported", "temperature") is True
    learned = known.current
    assert (known.learn(sent, "temperature is not supported", "temperature"), known.current) == (True, learned)
    assert learned == Parameters(format="json_schema", has_temperature=False)


async def test_a_request_that_is_refused_for_itself_is_refused_alone(endpoint: ScriptedEndpoint, judges: Judges):
    """Once the endpoint has answered, a 400 is about the one call."""
    endpoint.answers(of_formats("text"))
    judge = judges()
    await judge.judge(RED)
    endpoint.answers(fails(400, "Bad request"))

    with pytest.raises(JudgeRefused, match="HTTP 400: Bad request"):
        await judge.judge(numbered(1)[0])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (fails(401, "Incorrect API key provided: sk-secret-of-the-test.", code="invalid_api_key"), "HTTP 401"),
        (fails(401, "Bearer sk-other-secret-123 is wrong"), "HTTP 401"),
        (fails(403, "Country not supported"), "HTTP 403"),
        (fails(404, "The model `scripted` does not exist", code="model_not_found"), "HTTP 404"),
        (fails(402, "Payment required"), "HTTP 402"),
        (fails(429, "You exceeded your current quota", code="insufficient_quota"), "HTTP 429"),
        (fails(400, "Bad request"), "HTTP 400"),
    ],
    ids=["key", "bearer", "forbidden", "model", "payment", "quota", "always 400"],
)
async def test_a_locked_door_is_tried_three_times_at_most(
    endpoint: ScriptedEndpoint, judges: Judges, reply: Reply, said: str
):
    """A wrong key, an exhausted quota or an unknown model stops the run with one line that names no key."""
    endpoint.answers(reply)
    judge = judges(concurrency=16)

    found = await outcomes(judge, numbered(40), 16)

    reasons = {(f.reason, f.detail) for f in found if isinstance(f, Unscored)}
    assert (len(found), len(endpoint.asked) <= 3, len(reasons)) == (40, True, 1)
    ((reason, detail),) = reasons
    assert reason == "judge_unavailable"
    assert detail is not None
    assert said in detail
    assert "check OPENAI_API_KEY" in detail
    assert "secret" not in detail


async def test_a_filter_that_refuses_the_prompt_is_a_refusal(endpoint: ScriptedEndpoint, judges: Judges):
    """A content filter that acts on the request gives no verdicts for that call alone."""
    endpoint.answers(fails(400, "The response was filtered", code="content_filter"), supports_all)
    judge = judges()

    with pytest.raises(JudgeRefused):
        await judge.judge(RED)
    assert isinstance(await judge.judge(numbered(1)[0]), Verdicts)


PASSING: dict[str, Reply] = {
    "500": fails(500),
    "503 with a wait": fails(503, headers={"Retry-After": "0.01"}),
    "529": fails(529),
    "html": Reply(body="<html><body>502 Bad Gateway</body></html>", headers={"content-type": "text/html"}),
    "an error with 200": Reply(body='{"error": {"message": "Provider returned error", "code": 502}}'),
    "no object": Reply(body="[]"),
    "half a body": Reply(body='{"choices": [{"message"'),
    "dropped": Reply(body="", drops=True),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
async def test_what_passes_is_tried_again(endpoint: ScriptedEndpoint, judges: Judges, reply: Reply):
    """A failure that may pass is tried again, with a bound; then the call is tried in a later run."""
    endpoint.answers(reply, reply, supports_all, reply)
    judge = judges()

    assert isinstance(await judge.judge(RED), Verdicts)
    with pytest.raises(JudgeUnavailable, match="gave up after 4 attempts"):
        await judge.judge(numbered(1)[0])

    assert len(endpoint.asked) == 7


async def test_an_endpoint_that_is_not_there_is_unavailable(endpoint: ScriptedEndpoint):
    """A refused connection is tried again and then said."""
    settings = endpoint.settings(openai_base_url="http://127.0.0.1:9/v1")
    judge = LlmJudge(settings, first_pause_seconds=0.001)

    with pytest.raises(JudgeUnavailable, match=r"^judge 'scripted' at http://127\.0\.0\.1:9/v1: .*4 attempts$"):
        await judge.judge(RED)
    await judge.aclose()


@pytest.mark.parametrize("header", [("Retry-After", "0.03"), ("retry-after-ms", "30")])
async def test_a_wait_that_the_endpoint_asks_for_is_kept(
    endpoint: ScriptedEndpoint, judges: Judges, header: tuple[str, str]
):
    """No request is repeated sooner than Retry-After says."""
    endpoint.answers(fails(429, headers=dict([header])), supports_all)

    await judges().judge(RED)

    first, second = endpoint.asked
    assert second.at - first.at >= 0.03


async def test_a_wait_beyond_the_deadline_is_not_waited_for(endpoint: ScriptedEndpoint, judges: Judges):
    """A call that would have to wait past its deadline gives up its place at once."""
    endpoint.answers(fails(429, "Slow down", headers={"Retry-After": "600"}))

    with pytest.raises(JudgeUnavailable, match="HTTP 429: Slow down; gave up after 1 attempts"):
        await judges().judge(RED)


async def test_a_rate_limit_loses_no_call(endpoint: ScriptedEndpoint, judges: Judges):
    """Refusals for the rate are waited out; every call has its verdicts, and never more than allowed are in flight."""
    count = 0

    def answer(asked: Asked) -> Reply:
        nonlocal count
        count += 1
        return fails(429, headers={"Retry-After": "0.01"}) if count % 3 == 0 else supports_all(asked)

    endpoint.answers(answer)

    found = await outcomes(judges(concurrency=8), numbered(30), 16)

    assert [type(f) for f in found] == [Verdicts] * 30
    assert endpoint.most_in_flight <= 8


async def test_refusals_without_end_are_bounded(endpoint: ScriptedEndpoint, judges: Judges):
    """Even an endpoint that always asks to come back at once is asked 30 times at most."""
    endpoint.answers(fails(429, headers={"retry-after-ms": "0"}))

    with pytest.raises(JudgeUnavailable, match="gave up after 30 attempts"):
        await judges().judge(RED)

    assert len(endpoint.asked) == 30


async def test_a_hanging_request_ends_at_its_deadline_while_others_are_done(endpoint: ScriptedEndpoint, judges: Judges):
    """One call that is never answered is unavailable at its deadline; the rest were handed over long before."""

    def answer(asked: Asked) -> Reply:
        return Reply(body="", hangs=True) if "colour 3?" in asked.user else supports_all(asked)

    endpoint.answers(answer)
    judge = judges(judge_deadline_seconds=0.4)

    found = [(call.question, found) async for call, found in judge_calls(judge, numbered(12), 4)]

    last, outcome = found[-1]
    assert (last, len(found)) == ("Which colour 3?", 12)
    assert isinstance(outcome, Unscored)
    assert (outcome.reason, outcome.detail) == (
        "judge_unavailable",
        f"judge 'scripted' at {endpoint.base_url}: no verdicts within 0.4 s",
    )


async def test_one_reply_may_take_only_so_long(endpoint: ScriptedEndpoint, judges: Judges):
    """A request that is not answered within the time-out is tried again while the deadline allows."""
    hangs = Reply(body="", hangs=True)
    endpoint.answers(lambda _asked: hangs, supports_all)

    found = await judges(judge_timeout_seconds=0.2).judge(RED)

    assert (len(endpoint.asked), found.answer[0].claims[0].verdict) == (2, "supported")


async def test_before_the_first_reply_one_request_is_tried_at_a_time(endpoint: ScriptedEndpoint, judges: Judges):
    """A run does not meet an unknown endpoint with all its calls."""
    seen: list[int] = []

    def first(asked: Asked) -> Reply:
        seen.append(endpoint.most_in_flight)
        return supports_all(asked)

    endpoint.latency = 0.03
    endpoint.answers(first, supports_all)

    await outcomes(judges(concurrency=8), numbered(24), 16)

    assert (seen, 2 <= endpoint.most_in_flight <= 8) == ([1], True)


async def test_judge_requests_are_marked_and_not_instrumented(endpoint: ScriptedEndpoint, judges: Judges):
    """Whatever instruments the program is told to leave judge requests alone, and each carries the judge's mark."""
    judge = judges()
    allowed: list[tuple[bool, bool, object]] = []

    async def watch(*_arguments: object) -> None:
        plain = otel.get_value("suppress_instrumentation")
        allowed.append((is_instrumentation_enabled(), is_http_instrumentation_enabled(), plain))

    watching = aiohttp.TraceConfig()
    watching.on_request_start.append(watch)
    watching.freeze()
    judge._endpoint._lane().session.trace_configs.append(watching)

    await judge.judge(RED)

    assert allowed == [(False, False, True)]
    assert (endpoint.asked[0].headers[JUDGE_MARK], is_instrumentation_enabled()) == ("1", True)


async def test_a_judges_own_request_is_never_judged(endpoint: ScriptedEndpoint, judges: Judges):
    """A judge request that somebody else's instrumentation recorded is refused, with or without its label."""
    judge = judges()
    await judge.judge(RED)
    asked = endpoint.asked[0]

    for question in (asked.system, asked.user, f"\n{asked.system}\n\n{asked.user}"):
        with pytest.raises(JudgeRefused, match="judge's own request"):
            await judge.judge(call(question=question, answer=endpoint.base_url, delivery=received("It is red.")))

    assert len(endpoint.asked) == 1


def test_a_judge_serves_several_event_loops(endpoint: ScriptedEndpoint):
    """Connections belong to a loop, what was learned about the endpoint does not."""
    endpoint.answers(picky("temperature"))
    judge = LlmJudge(endpoint.settings())

    async def run(number: int) -> Verdicts:
        found = await judge.judge(numbered(3)[number])
        await judge.aclose()
        return found

    found = [asyncio.run(run(number)) for number in range(3)]

    assert [f.judge.calls for f in found] == [1, 1, 1]
    assert len(endpoint.asked) == 4


async def test_closing_a_judge_that_was_never_used_is_fine(endpoint: ScriptedEndpoint):
    """Nothing is opened before the first request."""
    judge = LlmJudge(endpoint.settings())

    await judge.aclose()

    assert endpoint.asked == []


def test_no_key_shows_in_what_a_judge_prints(endpoint: ScriptedEndpoint):
    """Neither the judge nor its parts show the key."""
    judge = LlmJudge(endpoint.settings())

    shown = f"{judge!r} {judge._endpoint!r} {judge._endpoint.address!r} {judge._endpoint.address}"

    assert "secret" not in shown


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "RAGTRACE_JUDGE_MODEL is not set"),
        ({"judge_model": "m"}, "OPENAI_API_KEY is not set"),
        ({"judge_model": "m", "openai_base_url": "localhost:8000"}, "OPENAI_BASE_URL='localhost:8000': expected a URL"),
        ({"judge_model": "m", "openai_base_url": "http://a:b@host/v1"}, "put the key into OPENAI_API_KEY"),
    ],
)
def test_a_judge_that_cannot_be_reached_says_what_is_missing(settings: dict[str, object], said: str):
    """A missing model or key is said before anything is started."""
    with pytest.raises(ConfigError, match=said):
        LlmJudge(load_settings({}, overrides=settings))


async def test_the_settings_choose_the_judge(endpoint: ScriptedEndpoint):
    """With a model there is an LLM judge, without a key where the endpoint needs none."""
    judge = make_judge(load_settings({}, overrides={"judge_model": "m", "openai_base_url": endpoint.base_url}))

    assert (isinstance(judge, LlmJudge), judge.model, judge.is_calibrated) == (True, "m", False)
    assert isinstance(judge, LlmJudge)
    assert judge._endpoint.address.key == "none"
    assert isinstance(make_judge(load_settings({})), EmbeddedJudge)


def test_without_an_address_the_judge_is_at_openai():
    """A key alone means OpenAI itself."""
    judge = LlmJudge(load_settings({}, overrides={"judge_model": "m", "openai_api_key": "sk-secret"}))

    assert str(judge._endpoint.address) == "'m' at api.openai.com"


async def test_replies_without_usage_are_estimated(endpoint: ScriptedEndpoint, judges: Judges):
    """An endpoint that counts no tokens still costs some."""
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": [claim("supported", "1")]}), usage=None))

    info = (await judges().judge(RED)).judge

    assert (info.calls, 500 < info.prompt_tokens < 3_000, 10 < info.completion_tokens < 100) == (1, True, True)


async def test_invalid_replies_name_the_judge(endpoint: ScriptedEndpoint, judges: Judges):
    """The error says which judge at which place, and how its reply begins."""
    endpoint.answers(says("Hello there."))

    with pytest.raises(JudgeReplyInvalid) as caught:
        await judges().judge(RED)

    assert str(caught.value) == (
        f"judge 'scripted' at {endpoint.base_url}: the reply holds no verdict of the judge's own; "
        "it begins 'Hello there.'"
    )


async def test_a_proxy_of_the_environment_is_used(
    endpoint: ScriptedEndpoint, judges: Judges, monkeypatch: pytest.MonkeyPatch
):
    """Requests go through HTTP_PROXY, but for hosts that NO_PROXY names."""
    monkeypatch.setenv("http_proxy", endpoint.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    await judges(openai_base_url="http://judge.example/v1").judge(RED)
    await judges().judge(call(question="How red?", delivery=received("It is red.")))

    assert [asked.path for asked in endpoint.asked] == [
        "http://judge.example/v1/chat/completions",
        "/v1/chat/completions",
    ]


async def test_packed_replies_are_read(endpoint: ScriptedEndpoint, judges: Judges):
    """A gateway may pack refusals and replies with gzip."""
    packed = {"content-encoding": "gzip"}
    endpoint.answers(
        fails(429, "slow down", headers=packed | {"retry-after-ms": "1"}),
        lambda asked: replace(supports_all(asked), headers=packed),
    )

    assert [s.claims[0].verdict for s in (await judges().judge(RED)).answer] == ["supported"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("socks5://127.0.0.1:1080", "names a socks5 proxy for 'judge.example'"),
        ("127.0.0.1:9", r"Connect call failed \('127.0.0.1', 9\)"),
    ],
)
async def test_a_proxy_that_does_not_serve_is_named(
    judges: Judges, monkeypatch: pytest.MonkeyPatch, named: str, said: str
):
    """A proxy of another kind is no silent way around it, and one without a scheme is an HTTP proxy."""
    monkeypatch.setenv("http_proxy", named)
    monkeypatch.setenv("no_proxy", "")

    with pytest.raises(JudgeUnavailable, match=said):
        await judges(openai_base_url="http://judge.example/v1").judge(RED)
