"""Several groupings in one question: GROUPING SETS, ROLLUP and CUBE, as lists of what each level groups by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from privet.core.errors import RequestError, Unsupported
from privet.core.expression import Call, Expression

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
