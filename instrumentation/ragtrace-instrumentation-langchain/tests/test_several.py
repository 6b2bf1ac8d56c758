"""Programs that ask several questions under one root."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_kit import DEPOT, DOGS, GATE, Records, Shelf, Talker, says, stuff_chain, write_out

from ragtrace_instrumentation_langchain import RagCallbackHandler

GATE_QUESTION, DOGS_QUESTION = "When does the gate open?", "Are dogs allowed?"
EXPECTED = [
    (GATE_QUESTION, "At 06:00.", (GATE,)),
    (DOGS_QUESTION, "Yes, on a lead.", (DOGS,)),
]


def find(query: str) -> list[Document]:
    return [Document(page_content=GATE if "gate" in query else DOGS)]


def answer(messages: Sequence[BaseMessage]) -> str:
    return "At 06:00." if "gate open?" in str(messages[-1].content) else "Yes, on a lead."


def seen(records: Records) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(call.question, call.answer, tuple(p.text for p in call.passages or ())) for call in records]


def test_a_loop_over_questions_is_a_call_each(handler: RagCallbackHandler, records: Records):
    """A step that runs a chain for each question gives each answer its own question and passages."""
    chain = stuff_chain(Shelf(find=find), Talker(reply=answer))
    loop = RunnableLambda(lambda questions: [chain.invoke(question) for question in questions])
    loop.invoke([GATE_QUESTION, DOGS_QUESTION], {"callbacks": [handler]})

    assert seen(records) == EXPECTED


def test_a_plain_loop_over_questions_is_a_call_each(handler: RagCallbackHandler, records: Records):
    """So does one that calls retriever and model itself."""
    shelf, model = Shelf(find=find), Talker(reply=answer)

    def ask(question: str) -> str:
        return str(model.invoke(f"{write_out(shelf.invoke(question))}\n\n{question}").content)

    RunnableLambda(lambda questions: list(map(ask, questions))).invoke(
        [GATE_QUESTION, DOGS_QUESTION], {"callbacks": [handler]}
    )

    assert seen(records) == EXPECTED


def test_questions_asked_at_once_are_a_call_each(handler: RagCallbackHandler, records: Records):
    """Chains gathered in one step keep their passages apart, however their events interleave."""
    chain = stuff_chain(Shelf(find=find), Talker(reply=answer))

    async def ask(questions: list[str]) -> list[Any]:
        return await asyncio.gather(*(chain.ainvoke(question) for question in questions))

    asyncio.run(RunnableLambda(ask).ainvoke([GATE_QUESTION, DOGS_QUESTION], {"callbacks": [handler]}))

    assert sorted(seen(records)) == sorted(EXPECTED)


def test_branches_with_a_search_each_are_a_call_each(handler: RagCallbackHandler, records: Records):
    """Two chains over two stores answer one question twice."""
    branches = RunnableParallel(
        first=stuff_chain(Shelf(texts=[GATE]), says("At 06:00.")),
        second=stuff_chain(Shelf(texts=[DEPOT]), says("It closed in 1998.")),
    )
    branches.invoke(GATE_QUESTION, {"callbacks": [handler]})

    assert sorted(seen(records)) == [
        (GATE_QUESTION, "At 06:00.", (GATE,)),
        (GATE_QUESTION, "It closed in 1998.", (DEPOT,)),
    ]


def test_two_texts_from_one_search_are_one_call(handler: RagCallbackHandler, records: Records):
    """A summary beside the answer has no search of its own."""
    prompt = Shelf(texts=[GATE]) | RunnableLambda(write_out)
    both = prompt | RunnableParallel(answer=says("At 06:00."), summary=says("Opening hours."))
    both.invoke(GATE_QUESTION, {"callbacks": [handler]})

    assert [(len(records), call.question, [p.text for p in call.passages or ()]) for call in records] == [
        (1, GATE_QUESTION, [GATE])
    ]


def test_a_draft_and_its_better_version_are_one_call(handler: RagCallbackHandler, records: Records):
    """An answer that builds on what was found for a draft has the passages of both searches."""
    first, second, model = (
        Shelf(texts=[GATE]),
        Shelf(texts=[DOGS]),
        Talker(reply=lambda m: f"Said {len(m[0].content)}."),
    )

    def ask(question: str) -> dict[str, str]:
        known = write_out(first.invoke(question))
        draft = str(model.invoke(f"{known}\n\n{question}").content)
        known += "\n\n" + write_out(second.invoke(question))
        return {"draft": draft, "answer": str(model.invoke(f"{known}\n\n{draft}\n\n{question}").content)}

    RunnableLambda(ask).invoke(GATE_QUESTION, {"callbacks": [handler]})
    (call,) = records

    assert [p.text for p in call.passages or ()] == [GATE, DOGS]
