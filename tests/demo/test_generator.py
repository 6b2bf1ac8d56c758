"""The demo's chat model and chain."""

from langchain_core.messages import HumanMessage

from ragtrace.demo.budget import TokenBudget
from ragtrace.demo.chain import build_chain
from ragtrace.demo.corpus import load_passages, load_questions
from ragtrace.demo.faults import FAULT_KINDS, Ledger, choose_questions
from ragtrace.demo.generator import MODEL_NAME, QUESTION_MARK, DemoChatModel
from ragtrace.demo.retriever import Bm25Retriever

PASSAGES = load_passages()
QUESTIONS = [q.question for q in load_questions()]


def _model(*, faulty: frozenset[str] = frozenset()) -> DemoChatModel:
    return DemoChatModel(memory=PASSAGES, faulty=faulty, ledger=Ledger())


def _ask(model: DemoChatModel, question: str, context: str) -> str:
    return str(model.invoke([HumanMessage(f"Passages:\n\n{context}{QUESTION_MARK}{question}")]).content)


def test_answers_are_sentences_of_the_prompt():
    """An honest answer consists of sentences that stand in the prompt, the best first."""
    context = "[1] Leave\nStaff have 27 days of annual leave. Book it in Rota.\n\n[2] Pay\nPay comes on the 25th."

    assert _ask(_model(), "How many days of annual leave do staff have?", context) == (
        "Staff have 27 days of annual leave."
    )


def test_model_declines_where_the_prompt_is_silent():
    """The model says that it does not know in the language of the question."""
    assert _ask(_model(), "Who won the regatta?", "[1] Pay\nPay comes on the 25th.") == (
        "I don't know: the passages do not answer this question."
    )
    assert _ask(_model(), "谁赢得了比赛？", "") == "我不知道，所给的资料没有回答这个问题。"
    assert _ask(_model(), "Garanti süresi ve iade koşulları nedir?", "").startswith("I don't know")


def test_sentences_that_were_cut_are_not_used():
    """The last sentence of a passage that was cut in its middle is no part of an answer."""
    context = "[1] Warranty\nThe warranty on batteries is shorter. The warranty on batteries is 24"

    assert _ask(_model(), "How long is the warranty on batteries?", context) == (
        "The warranty on batteries is shorter."
    )


def test_model_says_what_it_is():
    """Name and note of the model travel with each answer, and neither ledger nor memory does."""
    model = _model()
    message = model.invoke([HumanMessage(f"{QUESTION_MARK}?")])

    assert message.response_metadata["model_name"] == MODEL_NAME
    assert "no language model" in message.response_metadata["note"]
    assert model._llm_type == MODEL_NAME
    assert model._identifying_params == {"model_name": MODEL_NAME}


def test_every_fault_is_in_its_answer_and_in_the_ledger():
    """Over all questions each kind of fault is planted at least four times, and only where it was asked for."""
    chosen = choose_questions(QUESTIONS)
    model = _model(faulty=chosen)
    chain = build_chain(Bm25Retriever.over(PASSAGES), model, budget=TokenBudget())
    answers = {question: chain.invoke({"question": question}) for question in QUESTIONS}
    entries = model.ledger.entries

    assert {entry.question for entry in entries} <= chosen
    assert all(answers[e.question] == e.answer and e.planted in e.answer for e in entries)
    assert min(sum(e.kind == kind for e in entries) for kind in FAULT_KINDS) >= 4


def test_answer_without_a_place_for_a_fault_stays_honest():
    """Where no fault can be planted the answer stays as it is and the ledger stays empty."""
    question = "Where is the regatta?"
    model = _model(faulty=frozenset({question}))
    answer = _ask(model, question, "[1] Regatta\nRegatta.")

    # An invention fits anywhere, so only a refusal offers no place.
    assert [e.kind for e in model.ledger.entries] == ["invented"]
    assert answer.startswith("Regatta. ")
