"""Note what each kind of run was given and returned: at once where the application could change it later."""

import time
from asyncio import CancelledError
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ragtrace.model import Passage, PassageSource
from ragtrace_instrumentation_langchain.calls import Call, Ending, Generation, Retrieval, Run, next_order
from ragtrace_instrumentation_langchain.documents import (
    Found,
    Snapshot,
    find_documents,
    holds_documents,
    is_plain,
)
from ragtrace_instrumentation_langchain.messages import Prompt, message_text, read_prompt
from ragtrace_instrumentation_langchain.shapes import find_question, read_output

_DOCUMENTS_COMPARED = 3


def root_started(root: Run) -> None:
    """Note the question and the documents that a call was given; those of a stream are known when it is over."""
    call, inputs = root.call, root.given
    if type(inputs) is str:
        # Of a stream it is empty.
        call.question = inputs
        return
    call.is_resumed = inputs is None or type(inputs).__name__ == "Command"
    call.question = None if call.is_resumed else find_question(inputs)
    _given(root, source="manual")


def step_started(run: Run) -> None:
    """Note the state of an interrupted call that goes on, of which we may have seen nothing in this process.

    What other steps are given is looked at when they return documents, since few do.
    """
    if run.call.question is None:
        run.call.question = find_question(run.given)
        _given(run, source="history")


def given_late(run: Run, inputs: object) -> None:
    """Note what a run was given of which the input was a stream: it is known when the stream is over."""
    if inputs is None:
        # The stream broke off.
        return
    run.given = inputs
    if run.parent is None:
        root_started(run)


def search_started(run: Run) -> None:
    """Note when a retriever or a tool was called."""
    run.at = run.call.clock()


def _given(run: Run, *, source: PassageSource) -> None:
    if documents := find_documents(run.given):
        _keep(Retrieval(documents, run.order, run, source), run.call)


def chain_ended(run: Run, outputs: object) -> object:
    """Note the documents that a chain returned though it was given none and asked no retriever: its own search."""
    if not (run.has_retrieved or run.parent is None or is_plain(outputs)):
        documents = find_documents(outputs)
        if documents and not (run.is_in_retriever or holds_documents(run.given) or _are_pieces(documents, run)):
            _add(run, Retrieval(documents, next_order(), run))
    return outputs


def retrieved(run: Run, documents: Any) -> object:
    """Note what a retriever returned."""
    _add(run, Retrieval(Snapshot(documents), next_order(), run))
    return documents


def told(passages: Sequence[Passage], run: Run) -> None:
    """Note what the program says was retrieved while a run is current."""
    _add(run, Retrieval(_told(passages), next_order(), run, "manual"))


def told_outside(passages: Sequence[Passage]) -> Retrieval:
    """Make a retrieval of what the program says was retrieved outside of all runs."""
    return Retrieval(_told(passages), next_order(), None, "manual", time.time_ns())


def _told(passages: Sequence[Passage]) -> tuple[Found, ...]:
    return tuple(Found(p.text, p.id, p.metadata, p.score) for p in passages)


def tool_returned(run: Run, output: object) -> object:
    """Note what a tool returned, if no retrieval was seen inside: what it says is what the model can know."""
    message = output if isinstance(output, ToolMessage) else None
    if message is not None:
        run.returned_call_id = message.tool_call_id
    if not (run.parent is None or run.has_retrieved or run.is_in_retriever):
        documents = find_documents(output if message is None else message.artifact)
        if not documents and (text := message_text(message) if message else output) and isinstance(text, str):
            documents = (Found(text, None, {}),)
        if documents:
            _add(run, Retrieval(documents, next_order(), run, "tool"))
    return output


def chat_started(run: Run) -> None:
    """Note what a chat model was sent."""
    _model_started(run, read_prompt(run.given[0]))


def completion_started(run: Run) -> None:
    """Note what a model that completes text was sent."""
    prompt = run.given[0]
    _model_started(run, Prompt((prompt,), prompt))


def _model_started(run: Run, prompt: Prompt) -> None:
    run.at = run.call.clock()
    # Its messages are read; holding them, too, would keep what a tool attached to them.
    run.given = None
    generation = Generation(run, prompt)
    run.call.generations.append(generation)
    run.call.answering[run.number] = generation


def model_ended(run: Run, response: object, error: BaseException | None = None) -> str | None:
    """Note and return what a model said; of a broken stream, what it said until then."""
    generation = run.call.answering.pop(run.number)
    generation.end_ns, generation.end_order, generation.error = time.time_ns(), next_order(), error
    if isinstance(response, LLMResult) and response.generations and (choices := response.generations[0]):
        choice, generation.output = choices[0], response.llm_output
        if isinstance(choice, ChatGeneration):
            _note_message(generation, choice.message)
        else:
            generation.text = choice.text
    return generation.text


def _note_message(generation: Generation, message: BaseMessage) -> None:
    content = message.content
    if isinstance(content, str):
        generation.message, generation.text = message, content
    else:
        generation.message = message.model_copy(update={"content": list(content)})
        generation.text = message_text(generation.message)
    if isinstance(message, AIMessage) and message.tool_calls:
        generation.arguments = tuple(tool_call["args"] for tool_call in message.tool_calls)


def failed(run: Run, error: BaseException) -> None:
    """Note that a graph stopped to ask a person."""
    if any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__):
        run.call.is_interrupted = True


def root_ended(run: Run, outputs: object, error: BaseException | None) -> None:
    """Note how a root ended.

    A stream whose reader left ends before its model does, which then says how much it had said. A cancelled model
    tells nobody, so nothing is waited for.
    """
    call = run.call
    ending = call.ending = Ending((outputs,)) if isinstance(outputs, str) else read_output(outputs, error)
    if outputs is None:
        ending.is_awaited = error is None or isinstance(error, GeneratorExit)
        ending.is_abandoned = isinstance(error, CancelledError) or (ending.is_awaited and bool(call.answering))


def _are_pieces(documents: Sequence[Found], run: Run) -> bool:
    """Tell whether documents were cut out of those that the call retrieved before."""
    known = [found.text for retrieval in run.call.retrievals for found in retrieval.documents]
    return bool(known) and all(
        any(document.text in text for text in known) for document in documents[:_DOCUMENTS_COMPARED]
    )


def _keep(retrieval: Retrieval, call: Call) -> None:
    call.retrievals.append(retrieval)
    call.characters += retrieval.characters


def _add(run: Run, retrieval: Retrieval) -> None:
    _keep(retrieval, run.call)
    above: Run | None = run
    while above is not None and not above.has_retrieved:
        above.has_retrieved = True
        above = above.parent
