"""The demo's RAG application: retrieve, fit into a budget, prompt, generate; it knows nothing of ragtrace."""

from operator import itemgetter

from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from ragtrace.demo.budget import TokenBudget
from ragtrace.demo.generator import QUESTION_MARK

_INSTRUCTIONS = (
    "You answer questions about Aldermoor Instruments from the passages that you are given and from nothing else. "
    "Answer in the language of the question, in one to three sentences. If the passages do not answer it, say that "
    "you do not know."
)


def build_chain(
    retriever: BaseRetriever, model: BaseChatModel, *, budget: TokenBudget
) -> Runnable[dict[str, str], str]:
    """Return a chain from `{"question": …}` to the answer."""
    prompt = ChatPromptTemplate(
        [("system", _INSTRUCTIONS), ("human", f"Passages:\n\n{{context}}{QUESTION_MARK}{{question}}")]
    )
    fit = RunnableLambda(itemgetter("documents")) | RunnableLambda(budget.fit)
    return (
        RunnablePassthrough.assign(documents=itemgetter("question") | retriever)
        | RunnablePassthrough.assign(context=fit)
        | prompt
        | model
        | StrOutputParser()
    ).with_config(run_name="ask-aldermoor")
