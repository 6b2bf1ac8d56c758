"""Write conditions as SQL."""

from collections.abc import Callable, Mapping, Sequence

from ragtrace.local.conditions import Condition, Operand
from ragtrace.local.store_database import SqlValue

Values = tuple[str, ...] | tuple[float, ...]
Clause = tuple[str, list[SqlValue]]


def where(conditions: Sequence[Condition], columns: Mapping[str, str]) -> Clause:
    """Return the WHERE clause for conditions on columns given by their SQL expressions."""
    clauses = [_clause(condition, columns) for condition in conditions]
    sql = " AND ".join(f"({text})" for text, _ in clauses) or "1"
    return sql, [value for _, values in clauses for value in values]


def not_implied(conditions: Sequence[Condition], column: str, last: int) -> list[Condition]:
    """Leave out upper bounds that hold for all rows from `last` on downwards.

    SQLite would search the index from such a bound and step over all pages that were read before.
    """
    return [condition for condition in conditions if not _is_above(condition, column, last)]


def _is_above(condition: Condition, column: str, last: int) -> bool:
    value = condition.value
    return condition.column == column and condition.operator in ("<", "<=") and isinstance(value, int) and last < value


def _clause(condition: Condition, columns: Mapping[str, str]) -> Clause:
    if condition.key is not None:
        return _in_metadata(columns[condition.column], condition.key, condition)
    return _compare(columns[condition.column], condition.operator, condition.value)


def _in_metadata(expression: str, key: str, condition: Condition) -> Clause:
    """Compare the text under a key, as a number where a number is asked for."""
    value = "value" if isinstance(condition.value, str) else _AS_NUMBER
    is_absent = condition.operator == "does not contain"
    inner, values = _compare(value, "contains" if is_absent else condition.operator, condition.value)
    exists = f"EXISTS (SELECT 1 FROM json_each({expression}) WHERE key = ? AND {inner})"
    return f"NOT {exists}" if is_absent else exists, [key, *values]


_AS_NUMBER = "CASE WHEN json_valid(value) AND json_type(value) IN ('integer', 'real') THEN CAST(value AS REAL) END"


def _compare(expression: str, operator: str, value: Operand) -> Clause:
    if isinstance(value, tuple):
        return _LIST_OPERATORS[operator](expression, value)
    template = _OPERATORS[operator]
    return template.format(expression), [value] * template.count("?")


_OPERATORS = {
    "=": "{} = ?",
    "<>": "{} IS NOT ?",
    ">": "{} > ?",
    "<": "{} < ?",
    ">=": "{} >= ?",
    "<=": "{} <= ?",
    "contains": "instr({}, ?) > 0",
    "does not contain": "ifnull(instr({}, ?), 0) = 0",
    "starts with": "substr({0}, 1, length(?)) = ?",
    "ends with": "substr({0}, -length(?)) = ?",
    "matches": "instr(lower({}), lower(?)) > 0",
    "is null": "ifnull({}, '') = ''",
    "is not null": "ifnull({}, '') <> ''",
}


def _any_of(expression: str, values: Values) -> Clause:
    return f"{expression} IN ({_marks(values)})", list(values)


def _none_of(expression: str, values: Values) -> Clause:
    return f"ifnull({expression}, '') NOT IN ({_marks(values)})", list(values)


def _has_any(expression: str, values: Values) -> Clause:
    return f"EXISTS (SELECT 1 FROM json_each({expression}) WHERE value IN ({_marks(values)}))", list(values)


def _has_none(expression: str, values: Values) -> Clause:
    return f"NOT EXISTS (SELECT 1 FROM json_each({expression}) WHERE value IN ({_marks(values)}))", list(values)


def _has_all(expression: str, values: Values) -> Clause:
    each = [f"EXISTS (SELECT 1 FROM json_each({expression}) WHERE value = ?)" for _ in values]
    return " AND ".join(each) or "1", list(values)


def _marks(values: Values) -> str:
    return ",".join("?" * len(values))


_LIST_OPERATORS: dict[str, Callable[[str, Values], Clause]] = {
    "any of": _any_of,
    "none of": _none_of,
    "has any of": _has_any,
    "has none of": _has_none,
    "has all of": _has_all,
}
"""The `has` operators are for columns that hold a list."""
