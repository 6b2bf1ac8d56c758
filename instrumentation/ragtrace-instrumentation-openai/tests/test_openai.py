"""What is captured of requests through the openai client, and that the program notices nothing of it."""

import asyncio
import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

import openai
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from openai_endpoint import ANSWER, Endpoint
from opentelemetry.instrumentation.utils import suppress_instrumentation
from pydantic import BaseModel

import ragtrace
from ragtrace.capture import CapturedCall, UnwrittenCall
from ragtrace.capture.guard import raising
from ragtrace.capture.record import write_call
from ragtrace_instrumentation_langchain import RagCallbackHandler
from ragtrace_instrumentation_openai import OpenaiInstrumentor

GATE = "The north gate opens at six in the morning and closes at ten in the evening."
DOGS = "Dogs are allowed on the terrace, but not in the dining room or in the rooms."
QUESTION = "When does the gate open?"
STUFFED = f"Answer from this:\n\n{GATE}\n\n{DOGS}\n\n{QUESTION}"
MESSAGES: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": STUFFED}]


class Records(list[CapturedCall]):
    """What was captured."""

    def submit(self, call: UnwrittenCall) -> None:
        for written in write_call(call):
            self.append(written)

    @property
    def seen(self) -> list[tuple[str, list[str] | None, str | None]]:
        """Question, passages and answer of each."""
        return [(c.question, None if c.passages is None else [p.text for p in c.passages], c.answer) for c in self]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    started = Endpoint()
    yield started
    started.close()


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0) as made:
        yield made


@pytest.fixture
def records() -> Iterator[Records]:
    kept = Records()
    OpenaiInstrumentor().instrument(client=kept)
    with raising():
        yield kept
    OpenaiInstrumentor().uninstrument()


def ask_chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="model-1", messages=MESSAGES, **more)


SEEN = [(QUESTION, [GATE, DOGS], ANSWER)]


def test_a_chat_answers_from_what_was_told(client: openai.OpenAI, records: Records):
    """The question is found in the message, the passages are those told, and the prompt is what was sent."""
    ragtrace.retrieved([Document(page_content=GATE, id="d1"), Document(page_content=DOGS)])
    reply = ask_chat(client)

    assert reply.choices[0].message.content == ANSWER
    assert records.seen == SEEN
    assert (records[0].prompt_parts, records[0].model, records[0].response_id, records[0].confidence) == (
        ("Be brief.", STUFFED),
        "model-1",
        "c1",
        "low",
    )


def test_a_stream_is_read_as_without_us(client: openai.OpenAI, records: Records):
    """The program gets the client's own stream, piece by piece, and the answer is put together."""
    ragtrace.retrieved([GATE, DOGS])
    with ask_chat(client, stream=True) as stream:
        assert isinstance(stream, openai.Stream)
        pieces = [chunk.choices[0].delta.content for chunk in stream]

    assert "".join(piece or "" for piece in pieces) == ANSWER
    assert records.seen == SEEN


def test_a_stream_that_is_left_keeps_what_was_said(client: openai.OpenAI, records: Records):
    """Whoever stops reading has seen part of an answer, which is marked."""
    ragtrace.retrieved([GATE, DOGS])
    stream = ask_chat(client, stream=True)
    next(stream)
    next(stream)
    stream.close()
    del stream
    gc.collect()

    assert [(call.answer, call.marks) for call in records] == [("The gate ", ("abandoned",))]


def test_the_streaming_helper(client: openai.OpenAI, records: Records):
    """`chat.completions.stream` reads the same stream."""
    ragtrace.retrieved([GATE, DOGS])
    with client.chat.completions.stream(model="model-1", messages=MESSAGES) as stream:
        final = stream.get_final_completion()

    assert final.choices[0].message.content == ANSWER
    assert records.seen == SEEN


class Hours(BaseModel):
    opens: str


def test_parsed_replies(client: openai.OpenAI, endpoint: Endpoint, records: Records):
    """Structured output is recorded as it was written."""
    endpoint.replies = [{"content": '{"opens": "06:00"}'}]
    ragtrace.retrieved([GATE])
    reply = client.chat.completions.parse(model="model-1", messages=MESSAGES, response_format=Hours)

    assert reply.choices[0].message.parsed == Hours(opens="06:00")
    assert [call.answer for call in records] == ['{"opens": "06:00"}']


def test_raw_replies(client: openai.OpenAI, records: Records):
    """`with_raw_response` still hands out the raw reply, whole and streamed."""
    ragtrace.retrieved([GATE, DOGS])
    raw = client.chat.completions.with_raw_response.create(model="model-1", messages=MESSAGES)
    ragtrace.retrieved([GATE, DOGS])
    streamed = client.chat.completions.with_raw_response.create(model="model-1", messages=MESSAGES, stream=True)
    read = "".join(chunk.choices[0].delta.content or "" for chunk in streamed.parse())

    assert (raw.headers["content-type"], raw.parse().choices[0].message.content) == ("application/json", ANSWER)
    assert (read, records.seen) == (ANSWER, SEEN * 2)


def test_responses(client: openai.OpenAI, records: Records):
    """The responses API: text or messages, with instructions, whole and streamed."""
    ragtrace.retrieved([GATE, DOGS])
    client.responses.create(model="model-1", input=STUFFED, instructions="Be brief.")
    ragtrace.retrieved([GATE, DOGS])
    events = client.responses.create(model="model-1", input=MESSAGES, stream=True)
    kinds = [event.type for event in events]
    ragtrace.retrieved([GATE, DOGS])
    with client.responses.stream(model="model-1", input=STUFFED) as stream:
        final = stream.get_final_response()

    assert records.seen == SEEN * 3
    assert (kinds[0], kinds[-1], final.output_text) == ("response.created", "response.completed", ANSWER)
    assert [call.prompt_parts for call in records] == [("Be brief.", STUFFED)] * 2 + [(STUFFED,)]


async def test_asynchronous_clients(endpoint: Endpoint, records: Records):
    """Tasks side by side keep their own passages."""

    async def answer(client: openai.AsyncOpenAI, passages: Sequence[str], question: str, *, streamed: bool) -> None:
        ragtrace.retrieved(passages)
        prompt = "\n\n".join([*passages, question])
        messages: Any = [{"role": "user", "content": prompt}]
        if streamed:
            async for _ in await client.chat.completions.create(model="m", messages=messages, stream=True):
                await asyncio.sleep(0)
        else:
            await client.responses.create(model="m", input=messages)

    async with openai.AsyncOpenAI(base_url=endpoint.base_url, api_key="k") as client:
        await asyncio.gather(
            answer(client, [GATE], "When?", streamed=True), answer(client, [DOGS], "May dogs?", streamed=False)
        )

    assert sorted(records.seen) == [("May dogs?", [DOGS], ANSWER), ("When?", [GATE], ANSWER)]


def test_a_block_around_takes_the_request(client: openai.OpenAI, captured_calls):
    """In a `rag_call` block the client tells prompt and answer; of several requests the last one counts."""
    OpenaiInstrumentor().instrument()
    try:
        with ragtrace.rag_call(QUESTION) as call:
            call.retrieved([GATE, DOGS])
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Rewrite: gate?"}])
            ask_chat(client)
    finally:
        OpenaiInstrumentor().uninstrument()

    assert [(i["question"], [p["received"] for p in i["passages"]]) for i in captured_calls.inputs] == [
        (QUESTION, ["full", "full"])
    ]
    assert captured_calls.answers == [ANSWER]


def test_helpers_before_the_answer_use_nothing_up(client: openai.OpenAI, records: Records):
    """A request whose prompt holds no passage is no answer from them."""
    ragtrace.retrieved([GATE, DOGS])
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Is this polite? Hello."}])
    ask_chat(client)
    ask_chat(client)

    assert records.seen == SEEN


def test_retrieval_that_found_nothing_is_known(client: openai.OpenAI, records: Records):
    """An empty list is a fact about the next answer."""
    ragtrace.retrieved([])
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])

    assert records.seen == [(QUESTION, [], ANSWER)]


def test_tools_bring_passages(client: openai.OpenAI, endpoint: Endpoint, records: Records):
    """A request that calls a tool is no answer; the one after it answers from what the tool returned."""
    call = {"id": "t1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    endpoint.replies = [{"tool_calls": [call]}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    called = client.chat.completions.create(model="m", messages=messages).choices[0].message
    messages += [called, {"role": "tool", "tool_call_id": "t1", "content": GATE}]
    client.chat.completions.create(model="m", messages=messages)
    output = {"type": "function_call_output", "call_id": "t1", "output": DOGS}
    client.responses.create(model="m", input=[{"role": "user", "content": "May dogs?"}, output])

    assert records.seen == [(QUESTION, [GATE], ANSWER), ("May dogs?", [DOGS], ANSWER)]
    assert {p.source for c in records for p in c.passages or ()} == {"tool"}


def test_plain_chats_are_nobodys_business(client: openai.OpenAI, records: Records):
    """Without passages, block or tools nothing says that this is a RAG answer."""
    ask_chat(client)

    assert records == []


def test_errors_pass_and_the_next_attempt_has_its_passages(client: openai.OpenAI, endpoint: Endpoint, records: Records):
    """A failure reaches the program as it was, and is recorded as one."""
    endpoint.replies = [500]
    ragtrace.retrieved([GATE, DOGS])
    with pytest.raises(openai.InternalServerError):
        ask_chat(client)
    ask_chat(client)

    assert records.seen == [(QUESTION, [GATE, DOGS], None), *SEEN]
    assert [type(call.error) for call in records] == [openai.InternalServerError, type(None)]


def test_what_was_retrieved_twice_counts_once(client: openai.OpenAI, records: Records):
    """A search that was repeated, or that an earlier request in this thread left unused, brings no second copy."""
    ragtrace.retrieved([GATE])
    ragtrace.retrieved([DOGS, GATE])
    ask_chat(client)

    assert records.seen == [(QUESTION, [GATE, DOGS], ANSWER)]
    assert [p.rank for p in records[0].passages or ()] == [0, 1]


def test_suppression_is_honoured(client: openai.OpenAI, records: Records):
    """Where instrumentation is switched off, as around judge requests, nothing is captured."""
    ragtrace.retrieved([GATE, DOGS])
    with suppress_instrumentation():
        ask_chat(client)

    assert records == []


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=GATE), Document(page_content=DOGS)]


def test_a_langchain_retriever_beside_the_plain_client(client: openai.OpenAI, records: Records):
    """What LangChain's handler saw retrieved, the client's answer is given."""
    Shelf().invoke("gate", {"callbacks": [RagCallbackHandler(client=records)]})
    ask_chat(client)

    assert records.seen == SEEN


def test_langchain_models_are_left_to_the_handler(endpoint: Endpoint, records: Records):
    """A handler of ours on a LangChain model sees the same request: one record."""
    model = ChatOpenAI(base_url=endpoint.base_url, api_key="k", model="model-1")
    chain = Shelf() | (lambda docs: "\n\n".join([*(d.page_content for d in docs), QUESTION])) | model
    chain.invoke("When?", {"callbacks": [RagCallbackHandler(client=records)]})

    assert records.seen == [("When?", [GATE, DOGS], ANSWER)]


def test_without_instrumentation_the_client_is_as_it_was(client: openai.OpenAI):
    """`uninstrument` puts every method back."""
    owners = (openai.resources.chat.completions.Completions, openai.resources.responses.AsyncResponses)
    OpenaiInstrumentor().instrument(client=Records())
    during = [type(method) for owner in owners for method in (owner.create, owner.parse)]
    OpenaiInstrumentor().uninstrument()

    assert FunctionType not in during
    assert [type(method) for owner in owners for method in (owner.create, owner.parse)] == [FunctionType] * 4


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("Context:\n" + GATE + "\n\nQuestion: When?\n", "When?"),
        ("上下文：…\n问题：大门几点开？", "大门几点开？"),
        (GATE, GATE),
        ("When?\n\n" + GATE, "When?"),
    ],
)
def test_the_question_in_a_message(client: openai.OpenAI, records: Records, asked: str, question: str):
    """It stands behind its label, else it is what is left beside the passages."""
    ragtrace.retrieved([GATE, "…"])
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": asked}])

    assert [call.question for call in records] == [question]


@pytest.mark.parametrize("messages", [iter([{"role": "user", "content": "x"}]), 5, [None, {"role": "user"}], None])
def test_odd_arguments_are_the_clients_business(client: openai.OpenAI, records: Records, messages: Any):
    """What we cannot read is sent, or refused, as without us."""
    with suppress(TypeError, ValueError, AttributeError, openai.OpenAIError):
        client.chat.completions.create(model="m", messages=messages)

    assert records == []
