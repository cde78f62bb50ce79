"""Aggregates that make several columns: TOP_K(x, 3) AS top is top_1, top_2 and top_3; BOUNDS(x) is x_low and x_high."""

from __future__ import annotations

from privet.core.errors import Unsupported
from privet.core.expression import Call, Expression, Literal

from .relation import MARK, label, mode

MOST_VALUES = 100
"""So many of the most frequent values can be asked for."""

Named = tuple[tuple[str | None, Expression], ...]


def spread_out(outputs: Named) -> Named:
    """Return outputs in which each aggregate of several columns has become these columns, named after its own name."""
    found: list[tuple[str | None, Expression]] = []
    for name, one in outputs:
        found += _columns(name, one) if _makes_several(one) else [(name, one)]
    return tuple(found)


def top_k(argument: Expression, k: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate: the k most frequent values."""
    return Call(MARK + "top_k", (argument, where or Literal(True), k))


def bounds(argument: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate: a range that holds most values."""
    return Call(MARK + "bounds", (argument, where or Literal(True)))


def _makes_several(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    # with a side it is one column already
    return expression.function == MARK + "top_k" or (
        expression.function == MARK + "bounds" and len(expression.arguments) == 2
    )


def _columns(name: str | None, marked: Expression) -> list[tuple[str | None, Expression]]:
    if not isinstance(marked, Call):
        return []
    if marked.function == MARK + "bounds":
        shown = label(marked.arguments[0])[:50] if name is None else name
        sides = ("low", "high")
        return [(f"{shown}_{side}", Call(marked.function, (*marked.arguments, Literal(side)))) for side in sides]
    argument, where, k = marked.arguments
    number = k.value if isinstance(k, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_VALUES:
        raise Unsupported(f"TOP_K takes a column and a constant from 1 to {MOST_VALUES}, such as TOP_K(x, 3)")
    named = f"top_{label(argument)}"[:50] if name is None else name
    return [(f"{named}_{rank}", mode(argument, where, k=number, rank=rank)) for rank in range(1, number + 1)]
