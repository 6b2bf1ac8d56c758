"""Functions that answer."""

import pytest

import ragtrace
from tests.capture.calls import TEXT


@ragtrace.rag_function
def plain(question: str, limit: int = 3) -> str:
    """Answer at once."""
    ragtrace.prompted(ragtrace.retrieved([TEXT])[0])
    return f"answer to {question}"


@ragtrace.rag_function
async def later(question: str) -> str:
    ragtrace.retrieved([TEXT])
    return f"answer to {question}"


@ragtrace.rag_function
def pieces(question: str):
    ragtrace.retrieved([TEXT])
    yield "answer "
    ragtrace.prompted(TEXT)
    yield f"to {question}"


@ragtrace.rag_function
async def pieces_later(question: str):
    ragtrace.retrieved([TEXT])
    yield "answer "
    ragtrace.prompted(TEXT)
    yield f"to {question}"


def _captured(calls) -> list[tuple[object, list[str], str | None]]:
    return [
        (record["question"], [p["text"] for p in record["passages"]], answer)
        for record, answer in zip(calls.inputs, calls.answers, strict=True)
    ]


EXPECTED = [("q", [TEXT], "answer to q")]


def test_a_function_is_a_call(captured_calls):
    """Its text argument is the question, its result the answer."""
    assert (plain("q", limit=1), _captured(captured_calls)) == ("answer to q", EXPECTED)


def test_a_named_argument_can_be_the_question(captured_calls):
    """The first text among the arguments is the question."""
    plain(limit=1, question="q")

    assert _captured(captured_calls) == EXPECTED


async def test_a_coroutine_is_a_call(captured_calls):
    """The same for a coroutine function."""
    assert (await later("q"), _captured(captured_calls)) == ("answer to q", EXPECTED)


def test_a_stream_is_a_call(captured_calls):
    """A generator's pieces make up the answer."""
    assert (list(pieces("q")), _captured(captured_calls)) == (["answer ", "to q"], EXPECTED)


async def test_an_async_stream_is_a_call(captured_calls):
    """The same for an asynchronous generator."""
    assert ([piece async for piece in pieces_later("q")], _captured(captured_calls)) == (["answer ", "to q"], EXPECTED)


def test_an_abandoned_stream_keeps_what_came(captured_calls):
    """Who stops reading leaves a call with the part that was sent, and its mark."""
    stream = pieces("q")
    next(stream)
    stream.close()

    assert captured_calls.answers == ["answer "]
    assert "abandoned" in str(captured_calls.spans[0].attributes)


def test_a_stream_that_breaks_passes_its_error_on(captured_calls):
    """The user's exception comes through, and the record has it."""

    @ragtrace.rag_function
    def broken(question: str):
        yield "part"
        raise LookupError("gone")

    with pytest.raises(LookupError):
        list(broken("q"))
    assert (captured_calls.answers, captured_calls.spans[0].status.is_ok) == (["part"], False)


def test_the_function_may_say_what_the_answer_is(captured_calls):
    """Where a function returns more than the answer, it tells the answer itself."""

    @ragtrace.rag_function
    def verbose(question: str) -> dict[str, str]:
        return {"content": ragtrace.answered("the answer"), "sources": "…"}

    assert (verbose("q")["content"], captured_calls.answers) == ("the answer", ["the answer"])


def test_a_message_is_taken_for_its_text(captured_calls):
    """A result that is a message counts with its content."""

    @ragtrace.rag_function
    def message(question: str) -> dict[str, str]:
        return {"role": "assistant", "content": "the answer"}

    message("q")

    assert captured_calls.answers == ["the answer"]


def test_a_function_without_a_result_has_no_answer(captured_calls):
    """No result, no answer; no text argument, no question."""

    @ragtrace.rag_function
    def silent(number: int) -> None:
        return None

    silent(3)

    assert (captured_calls.inputs[0]["question"], captured_calls.answers) == ("", [None])


def test_a_decorated_function_looks_like_itself():
    """Name and docstring stay."""
    assert (plain.__name__, plain.__doc__) == ("plain", "Answer at once.")
