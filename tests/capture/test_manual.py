"""Capture by hand."""

import asyncio
import threading

import pytest
from langchain_core.documents import Document
from opentelemetry.sdk.trace import TracerProvider

import ragtrace
from ragtrace.capture import hear_retrieved
from ragtrace.capture.in_memory import CapturedCalls
from ragtrace.errors import ConfigError
from tests.capture.calls import TEXT, config

OTHER = "The lamp draws nine watts and weighs two kilograms, said the sheet."


def _passages(calls, index: int = 0) -> list[tuple[str, str]]:
    return [(p["text"], p["received"]) for p in calls.inputs[index]["passages"]]


def _metadata(calls, key: str) -> object:
    return calls.spans[0].attributes.get(f"langfuse.observation.metadata.ragtrace_{key}")


def test_a_block_captures_what_it_is_told(captured_calls):
    """Passages, prompt and answer of one block are one rag-call."""
    with ragtrace.rag_call("What is the fee?", session="s", tags=["t"], metadata={"k": 1}, reference="3") as call:
        call.retrieved([Document(page_content=TEXT), OTHER])
        call.prompt([{"role": "user", "content": f"Use: {TEXT}"}])
        call.answer("Three euros.")
    (record,) = captured_calls.inputs

    assert (record["question"], record["reference"], captured_calls.answers) == (
        "What is the fee?",
        "3",
        ["Three euros."],
    )
    assert _passages(captured_calls) == [(TEXT, "full"), ("", "absent")]
    assert captured_calls.spans[0].attributes["session.id"] == "s"


def test_retrieving_twice_adds_up(captured_calls):
    """Two searches are one list, ranked one after the other."""
    with ragtrace.rag_call("q") as call:
        call.retrieved([TEXT])
        call.retrieved([OTHER])
        call.prompt(TEXT + OTHER)
    (record,) = captured_calls.inputs

    assert [(p["rank"], p["text"]) for p in record["passages"]] == [(0, TEXT), (1, OTHER)]


def test_nothing_found_is_not_unknown(captured_calls):
    """An empty list says that retrieval found nothing; silence says that nobody knows."""
    with ragtrace.rag_call("empty") as call:
        call.retrieved([])
    with ragtrace.rag_call("unknown"):
        pass

    assert [record["passages"] for record in captured_calls.inputs] == [[], None]


def test_without_a_prompt_passages_count_as_received(captured_calls):
    """No prompt told: passages count as received, at low confidence and with a mark."""
    with ragtrace.rag_call("q") as call:
        call.retrieved([TEXT])
        call.answer("Three euros for each night.")

    assert (_passages(captured_calls), _metadata(captured_calls, "confidence"), _metadata(captured_calls, "marks")) == (
        [(TEXT, "full")],
        "low",
        "prompt_unknown",
    )


def test_the_span_lies_under_the_callers(captured_calls):
    """A block inside a span of the application joins its trace."""
    tracer = TracerProvider().get_tracer("app")
    with tracer.start_as_current_span("request") as span, ragtrace.rag_call("q"):
        pass

    assert captured_calls.spans[0].parent.span_id == span.get_span_context().span_id


async def test_async_blocks_do_not_mix(captured_calls):
    """Two answers made at the same time in one loop keep their passages apart."""

    async def answer(text: str) -> None:
        async with ragtrace.rag_call(text) as call:
            await asyncio.sleep(0)
            ragtrace.retrieved([text])
            await asyncio.sleep(0)
            call.prompt(text)

    await asyncio.gather(answer(TEXT), answer(OTHER))

    assert sorted(_passages(captured_calls, i) for i in range(2)) == [[(TEXT, "full")], [(OTHER, "full")]]


def test_an_error_is_recorded_and_passed_on(captured_calls):
    """The user's exception comes out of the block as it was, and the record shows it."""
    with pytest.raises(LookupError, match="gone"), ragtrace.rag_call("q"):
        raise LookupError("gone")

    assert (_metadata(captured_calls, "marks"), captured_calls.answers) == ("contexts_unknown,error", [None])


async def test_a_cancelled_block_is_abandoned(captured_calls):
    """A cancelled request is no error of the generator."""

    async def never() -> None:
        async with ragtrace.rag_call("q"):
            await asyncio.Event().wait()

    task = asyncio.create_task(never())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert _metadata(captured_calls, "marks") == "abandoned,contexts_unknown"


def test_a_mistake_in_the_hints_does_not_reach_the_program(caplog):
    """What cannot be read is logged, and the block goes on."""
    calls = CapturedCalls(config())
    with ragtrace.rag_call("q", client=calls) as call:
        call.retrieved([object()])
        call.prompt(object())
        call.answer(3)

    assert [r.getMessage().split(":")[1] for r in caplog.records] == [
        " reading retrieved passages",
        " reading a prompt",
        " reading an answer",
    ]


def test_in_a_test_a_mistake_is_raised(captured_calls):
    """Under `captured_calls` nothing is hidden."""
    with pytest.raises(ConfigError), ragtrace.rag_call("q") as call:
        call.retrieved([object()])


def test_a_block_can_name_its_project():
    """With `client=`, the call goes to that project."""
    calls = CapturedCalls(config())
    with ragtrace.rag_call("q", client=calls) as call:
        call.answer("a")

    assert calls.answers == ["a"]


def test_the_inner_of_two_blocks_is_told(captured_calls):
    """Nested blocks are two calls, and hints go to the inner one while it lasts."""
    with ragtrace.rag_call("outer"):
        with ragtrace.rag_call("inner"):
            ragtrace.retrieved([TEXT])
            ragtrace.prompted(TEXT)
        ragtrace.retrieved([OTHER])
        ragtrace.prompted([{"role": "user", "content": OTHER}])

    assert [(r["question"], [p["text"] for p in r["passages"]]) for r in captured_calls.inputs] == [
        ("inner", [TEXT]),
        ("outer", [OTHER]),
    ]


def test_hints_return_what_they_are_given(captured_calls):
    """`retrieved`, `prompted` and `answered` can stand around an expression, inside a block or outside."""
    documents, messages = [TEXT], [{"role": "user", "content": "q"}]
    with ragtrace.rag_call("q"):
        inside = ragtrace.retrieved(documents), ragtrace.prompted(messages)

    assert all(value is documents for value in (inside[0], ragtrace.retrieved(documents)))
    assert all(value is messages for value in (inside[1], ragtrace.prompted(messages), ragtrace.answered(messages)))


def test_outside_a_block_handlers_are_told():
    """A handler that follows a chain hears of passages, once however often it asked."""
    heard: list[str] = []

    def listen(passages) -> None:
        heard.extend(p.text for p in passages)

    hear_retrieved(listen)
    hear_retrieved(listen)
    ragtrace.retrieved([TEXT])

    assert heard == [TEXT]


def test_a_thread_can_add_passages(captured_calls):
    """The block's object may be used from a thread that does not share its context."""
    with ragtrace.rag_call("q") as call:
        thread = threading.Thread(target=call.retrieved, args=([TEXT],))
        thread.start()
        thread.join()

    assert [p["text"] or p["cut"] for p in captured_calls.inputs[0]["passages"]] == [TEXT]
