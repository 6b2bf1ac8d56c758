"""Note what each kind of run was given and returned."""

import time
from asyncio import CancelledError
from collections.abc import Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ragtrace.model import Passage, PassageSource
from ragtrace.semconv import USER_ROLE
from ragtrace_instrumentation_langchain.calls import Generation, Retrieval, Role, Run, next_order
from ragtrace_instrumentation_langchain.citations import read_citations
from ragtrace_instrumentation_langchain.documents import Found, Snapshot, find_documents, holds_documents
from ragtrace_instrumentation_langchain.messages import Prompt, message_text
from ragtrace_instrumentation_langchain.shapes import find_question, read_output

_DOCUMENTS_COMPARED = 3
_ROLES: Mapping[object, Role] = {"generator": "generator", "helper": "helper"}


def chain_inputs(run: Run, inputs: object) -> None:
    """Note the question and the documents that a call was given, and whether a step was given any."""
    call = run.call
    if run.parent is None:
        call.is_resumed = inputs is None or type(inputs).__name__ == "Command"
        call.question = None if call.is_resumed else find_question(inputs)
        run.had_documents = _given(run, inputs, source="manual")
    elif call.is_resumed and call.question is None:
        # The state of the interrupted call, of which we may have seen nothing in this process.
        call.question = find_question(inputs)
        run.had_documents = _given(run, inputs, source="history")
    else:
        run.had_documents = holds_documents(inputs)


def _given(run: Run, inputs: object, *, source: PassageSource) -> bool:
    documents = find_documents(inputs)
    if documents:
        run.call.retrievals.append(
            Retrieval(documents=documents, order=run.order, start_ns=run.start_ns, source=source)
        )
    return bool(documents)


def chain_outputs(run: Run, outputs: object) -> None:
    """Note the documents that a chain returned though it was given none and asked no retriever: its own search."""
    if type(outputs) is str or run.had_documents or run.has_retrieved or run.is_in_retriever:
        return
    documents = find_documents(outputs)
    if documents and not _are_pieces(documents, run):
        _add(run, Retrieval(documents=documents, order=next_order(), start_ns=run.start_ns, tool=run.tool))


def retrieved(run: Run, documents: Sequence[Document]) -> None:
    """Note what a retriever returned."""
    retrieval = Retrieval(
        documents=Snapshot(documents),
        order=next_order(),
        start_ns=run.start_ns,
        query=run.query,
        is_nested=run.is_in_retriever,
        tool=run.tool,
    )
    _add(run, retrieval)


def told(passages: Sequence[Passage], run: Run) -> None:
    """Note what the program says was retrieved while a run is current."""
    retrieval = told_outside(passages)
    retrieval.is_nested = run.kind == "retriever" or run.is_in_retriever
    retrieval.tool = run if run.kind == "tool" else run.tool
    _add(run, retrieval)


def told_outside(passages: Sequence[Passage]) -> Retrieval:
    """Make a retrieval of what the program says was retrieved."""
    documents = tuple(Found(p.text, p.id, p.metadata, p.score) for p in passages)
    return Retrieval(documents=documents, order=next_order(), start_ns=time.time_ns(), source="manual")


def tool_returned(run: Run, output: object) -> None:
    """Note what a tool returned, if no retrieval was seen inside: what it says is what the model can know."""
    message = output if isinstance(output, ToolMessage) else None
    if message is not None and run.tool_call_id is None:
        run.tool_call_id = message.tool_call_id
    if run.has_retrieved or run.is_in_retriever:
        return
    documents = find_documents(output if message is None else message.artifact)
    if not documents and (text := message_text(message) if message else output) and isinstance(text, str):
        documents = (Found(text, None, {}),)
    if documents:
        _add(
            run,
            Retrieval(documents=documents, order=next_order(), start_ns=run.start_ns, source="tool", tool=run),
        )


def model_started(run: Run, prompt: Prompt, *, settings: Mapping[str, object]) -> None:
    """Note what a model was sent."""
    metadata, tags = settings.get("metadata"), settings.get("tags")
    values: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    role = _ROLES.get(values.get(USER_ROLE))
    for tag in tags if isinstance(tags, list) else ():
        if tag.startswith(USER_ROLE):
            role = _ROLES.get(tag.removeprefix(USER_ROLE).lstrip(":="), role)
    generation = Generation(run=run, prompt=prompt, model=_string(values.get("ls_model_name")), role=role)
    run.call.generations.append(generation)
    run.call.answering[run.id.int] = generation


def model_ended(run: Run, response: LLMResult | None, error: BaseException | None = None) -> str | None:
    """Note and return what a model said; of a broken stream, what it said until then."""
    generation = run.call.answering.pop(run.id.int)
    generation.end_ns, generation.end_order, generation.error = time.time_ns(), next_order(), error
    choices = response.generations[0] if response and response.generations else []
    if response is None or not choices:
        return None
    choice = choices[0]
    if isinstance(choice, ChatGeneration):
        _read_message(generation, choice.message, response)
    else:
        generation.text = choice.text
    return generation.text


def _read_message(generation: Generation, message: BaseMessage, response: LLMResult) -> None:
    generation.text = message_text(message)
    if isinstance(message, AIMessage):
        generation.arguments = tuple(tool_call["args"] for tool_call in message.tool_calls)
        generation.cited = read_citations(message)
    generation.model = generation.model or _string(message.response_metadata.get("model_name"))
    generation.response_id = _string(message.response_metadata.get("id")) or _string(
        (response.llm_output or {}).get("id")
    )


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
    ending = read_output(outputs, error)
    ending.is_awaited = isinstance(error, GeneratorExit) or (error is None and outputs is None)
    ending.is_abandoned = isinstance(error, CancelledError) or (ending.is_awaited and bool(call.answering))
    call.ending = ending


def _are_pieces(documents: Sequence[Found], run: Run) -> bool:
    """Tell whether documents were cut out of those that the call retrieved before."""
    known = [found.text for retrieval in run.call.retrievals for found in retrieval.documents]
    return bool(known) and all(
        any(document.text in text for text in known) for document in documents[:_DOCUMENTS_COMPARED]
    )


def _add(run: Run, retrieval: Retrieval) -> None:
    run.call.retrievals.append(retrieval)
    above: Run | None = run
    while above is not None and not above.has_retrieved:
        above.has_retrieved = True
        above = above.parent


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
