"""Hold one condition on observations or scores, whoever asked for it."""

from dataclasses import dataclass

Operand = bool | int | float | str | tuple[str, ...] | tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`column operator value`; all conditions of a request must hold."""

    column: str
    """Langfuse's name of the column."""
    operator: str
    value: Operand
    key: str | None = None
    """Key of the metadata, where the column is `metadata`."""
