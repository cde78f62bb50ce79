"""Aggregates that make several columns: TOP_K(x, 3) AS top is top_1, top_2 and top_3; BOUNDS(x) is x_low and x_high."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from privet.core.errors import RequestError, Unsupported
from privet.core.expression import Call, Expression, Literal

from .rows import MARK, label, mode

# Several groupings in one question: GROUPING SETS, ROLLUP and CUBE, as lists of what each level groups by.


Level = tuple[Expression, ...]
"""What one level groups by; nothing for the grand total."""

MOST_LEVELS = 64
"""So many levels may be asked for at once: CUBE of six columns."""

GROUPING = "grouping:"
"""Marks GROUPING(...) inside an expression until `build` gives it a name."""


def rolled_up(steps: Sequence[Level]) -> tuple[Level, ...]:
    """Return the levels of ROLLUP: all of the steps, without the last, ..., none."""
    return tuple(_joined(steps[:length]) for length in range(len(steps), -1, -1))


def cubed(steps: Sequence[Level]) -> tuple[Level, ...]:
    """Return the levels of CUBE: every choice of the steps, the longest first."""
    if 2 ** len(steps) > MOST_LEVELS:
        raise Unsupported(
            f"CUBE of {len(steps)} columns makes {2 ** len(steps):,} groupings, each with noise of its own; the most "
            f"is {MOST_LEVELS}: name those that you need, as GROUPING SETS ((a, b), (a), ())"
        )
    chosen = (one for length in range(len(steps), -1, -1) for one in combinations(steps, length))
    return tuple(_joined(one) for one in chosen)


def crossed(several: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """Return every combination of a level of each, as GROUP BY a, ROLLUP (b) means; each level once.

    Refuses more levels than can sensibly be answered, and a level that comes twice.
    """
    amount = 1
    for one in several:
        amount *= len(one)
    if amount > MOST_LEVELS:
        raise Unsupported(
            f"this makes {amount:,} groupings, each with noise of its own; the most is {MOST_LEVELS}: name those "
            f"that you need, as GROUPING SETS ((a, b), (a), ())"
        )
    made = [_joined(one) for one in product(*several)]
    if len({frozenset(level) for level in made}) < len(made):
        raise RequestError("a grouping comes twice among GROUPING SETS, ROLLUP or CUBE; name each once")
    return tuple(made)


def union_of(levels: Sequence[Level]) -> Level:
    """Return what any of the levels groups by, each once."""
    return _joined(levels)


def grouping(*arguments: Expression) -> Call:
    """Return a marked GROUPING(...): a bit for each argument, 1 where the row is a total over it."""
    if not arguments:
        raise RequestError("GROUPING takes grouping columns: GROUPING(ward)")
    return Call(GROUPING, arguments)


def _joined(levels: Sequence[Level]) -> Level:
    return tuple(dict.fromkeys(one for level in levels for one in level))


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
    # with a side it is one column already
    return expression.function == MARK + "top_k" or (
        expression.function == MARK + "bounds" and len(expression.arguments) == 2
    )


def _columns(name: str | None, marked: Expression) -> list[tuple[str | None, Expression]]:
    if marked.function == MARK + "bounds":
        shown = label(marked.arguments[0])[:50] if name is None else name
        sides = ("low", "high")
        return [(f"{shown}_{side}", Call(marked.function, (*marked.arguments, Literal(side)))) for side in sides]
    argument, where, k = marked.arguments
    number = k.constant
    if type(number) is not int or not 1 <= number <= MOST_VALUES:
        raise Unsupported(f"TOP_K takes a column and a constant from 1 to {MOST_VALUES}, such as TOP_K(x, 3)")
    named = f"top_{label(argument)}"[:50] if name is None else name
    return [(f"{named}_{rank}", mode(argument, where, k=number, rank=rank)) for rank in range(1, number + 1)]
