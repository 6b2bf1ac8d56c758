"""The one further request that grades and answer_relevancy cost: about question and answer as wholes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ragtrace.errors import JudgeRefused, JudgeReplyInvalid
from ragtrace.judge.asking import Asking
from ragtrace.judge.json_text import own_object
from ragtrace.judge.planning import TooLongError, count_tokens
from ragtrace.judge.prompt import draw_code, list_schema, object_schema
from ragtrace.judge.protocol import NOTHING, Excerpt, Extra, Findings, Plan
from ragtrace.judge.vectors import cosine
from ragtrace.model import Grades, JsonValue, Relevancy
from ragtrace.prompts import section

_MOST_REPLIES: Final = 2
_HIGHEST_GRADE: Final = 5
_MOST_QUESTIONS: Final = 3
_LONGEST_TEXT: Final = 500
_GRADED: Final = ("correctness", "completeness", "relevance", "overall")


async def review(asking: Asking, plan: Plan, *, embedding_model: str) -> Findings:
    """Return the grades and the relevancy that the plan wants; what the judge did not give as asked is None.

    Args:
        asking: The requests about the call.
        plan: What is asked about.
        embedding_model: Used where questions are wanted.

    Raises:
        JudgeUnavailable: the endpoint did not answer.
    """
    found = NOTHING
    for _ in range(_MOST_REPLIES):
        if missing := plan.wanted - {"needs"} - _given(found):
            more = await _ask(asking, plan, missing)
            found = replace(found, grades=found.grades or more.grades, relevancy=found.relevancy or more.relevancy)
    if found.relevancy is None or found.relevancy.noncommittal:
        return found
    return replace(found, relevancy=await _measure(asking, plan.question, found.relevancy, model=embedding_model))


def _given(found: Findings) -> set[Extra]:
    given: dict[Extra, object] = {"grades": found.grades, "questions": found.relevancy}
    return {name for name, value in given.items() if value is not None}


async def _ask(asking: Asking, plan: Plan, wanted: frozenset[Extra]) -> Findings:
    passages = _fitting(plan, asking.window - asking.most_tokens)
    code = draw_code([plan.question, plan.answer_text, *(excerpt.text for excerpt in passages)], asking.random)
    lines = [
        *(f"{code} {number} {excerpt.text}" for number, excerpt in enumerate(passages, 1)),
        f"{code} Q {plan.question}",
        f"{code} A {plan.answer_text}",
        f"{code} END {' '.join(sorted(wanted))}",
    ]
    try:
        completion = await asking.send((section(plan.language, "review"), "\n".join(lines)), _schema(wanted))
        return _read(own_object(completion.text, code) if completion else {}, wanted)
    except (JudgeReplyInvalid, JudgeRefused, TooLongError):
        return NOTHING


def _fitting(plan: Plan, room: int) -> list[Excerpt]:
    """Return the first passages that fit beside the rest."""
    room -= count_tokens(section(plan.language, "review")) + count_tokens(plan.question + plan.answer_text)
    fitting: list[Excerpt] = []
    for excerpt in plan.received:
        room -= count_tokens(excerpt.text)
        if room < 0:
            break
        fitting.append(excerpt)
    return fitting


def _read(own: Mapping[str, JsonValue], wanted: frozenset[Extra]) -> Findings:
    return Findings(
        claims={},
        grades=_read_grades(own.get("grades")) if "grades" in wanted else None,
        relevancy=_read_questions(own) if "questions" in wanted else None,
    )


def _read_grades(value: JsonValue) -> Grades | None:
    """Return the grades, or None unless all are there and on the scale."""
    if not isinstance(value, dict):
        return None
    grades = [grade for name in _GRADED if (grade := _grade(value.get(name))) is not None]
    if len(grades) != len(_GRADED):
        return None
    correctness, completeness, relevance, overall = grades
    return Grades(
        correctness=correctness,
        completeness=completeness,
        relevance=relevance,
        overall=overall,
        reason=_line(value.get("reason")),
    )


def _grade(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _HIGHEST_GRADE:
        return None
    return float(value)


def _read_questions(own: Mapping[str, JsonValue]) -> Relevancy | None:
    listed, noncommittal = own.get("questions"), own.get("noncommittal")
    questions = [line for entry in listed if (line := _line(entry))] if isinstance(listed, list) else []
    if not isinstance(noncommittal, bool) or not (questions or noncommittal):
        return None
    return Relevancy(questions=tuple(questions[:_MOST_QUESTIONS]), cosines=(), noncommittal=noncommittal)


async def _measure(asking: Asking, question: str, relevancy: Relevancy, *, model: str) -> Relevancy | None:
    """Return the relevancy with its cosines, or None where the endpoint has no vectors to give."""
    try:
        asked, *others = await asking.endpoint.embed([question, *relevancy.questions], asking.deadline, model=model)
    except JudgeReplyInvalid:
        return None
    return replace(relevancy, cosines=tuple(cosine(asked, other) for other in others))


def _line(value: JsonValue) -> str:
    return " ".join(value.split())[:_LONGEST_TEXT] if isinstance(value, str) else ""


def _schema(wanted: frozenset[Extra]) -> JsonValue:
    properties: dict[str, JsonValue] = {"id": {"type": "string"}}
    if "grades" in wanted:
        number: JsonValue = {"type": "integer", "minimum": 0, "maximum": _HIGHEST_GRADE}
        properties["grades"] = object_schema(**dict.fromkeys(_GRADED, number), reason={"type": "string"})
    if "questions" in wanted:
        properties |= {"questions": list_schema({"type": "string"}), "noncommittal": {"type": "boolean"}}
    return object_schema(**properties)
