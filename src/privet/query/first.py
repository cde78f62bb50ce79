"""Values that are released first, and then stand in a question about private rows as constants.

The value of a sub-query over everybody's rows decides nothing here before it is released: until it is known, another of
its kind stands for it, so that the rest can be read and priced.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.core.errors import Unsupported
from privet.core.relation import Expression, Literal, parts_of
from privet.core.schema import ColumnFacts as Facts

from .nodes import SCALAR, Query, ReleasedRows, Select, is_aggregate, scalar
from .resolve import substitute

MOST_FIRST = 5
"""The most values that are released before a question is asked."""


@dataclass(eq=False)
class FirstValues:
    """The values that a question needs before it can be asked, in the order in which they are met.

    `known` are those that were released by now.
    """

    known: tuple[Any, ...] = ()
    found: list[Query] = field(default_factory=list)

    def __call__(self, rows: ReleasedRows) -> Literal:
        """Return the constant that stands for the one value of a released sub-query."""
        if rows.query not in self.found:
            self.found.append(rows.query)
        if len(self.found) > MOST_FIRST:
            raise Unsupported(f"a question needs at most {MOST_FIRST} values first; ask for some of them by themselves")
        place = self.found.index(rows.query)
        if place < len(self.known):
            return Literal(_exact(self.known[place]))
        return Literal(_stand_in(next(iter(rows.facts.values()))))

    def forget(self, count: int) -> None:
        """Keep the first values that were met, and no more: what met the others was read in another way."""
        del self.found[count:]


def _exact(value: Any) -> Any:
    """Return a released value as the constants of expressions are written: numbers that are not whole as fractions."""
    return Fraction(value) if isinstance(value, float) else value


SOME_TEXT = "a value that is released first"
"""Stands for a text that is not known yet, and is compared with any category."""

_STAND_INS: Mapping[str, Any] = {
    "integer": 1,
    "number": Fraction(1),
    "text": SOME_TEXT,
    "boolean": True,
    "date": datetime.date(2000, 1, 1),
    "timestamp": datetime.datetime(2000, 1, 1),
}


def _stand_in(facts: Facts) -> Any:
    return facts.values[0] if facts.values else _STAND_INS[facts.kind]


def with_first(
    asked: Select, values: Sequence[ReleasedRows], first: FirstValues
) -> tuple[Select, tuple[ReleasedRows, ...]]:
    """Return a SELECT in which constants stand for values that would weigh, bound or group private rows.

    Those that stand beside aggregates, and are computed with what these release, stay what they are.
    """
    shown = [*(one for _, one in asked.outputs), asked.having, asked.qualify, *(one.expression for one in asked.order)]
    inside = [part for one in shown if one is not None for part in parts_of(one) if is_aggregate(part)]
    inside += [*asked.keys, *(one for level in asked.levels for one in level)]
    places = {_place(part) for one in inside for part in parts_of(one) if part.function == SCALAR}
    if not places:
        return asked, tuple(values)
    constants = {place: first(values[place]) for place in sorted(places)}
    rest = [place for place in range(len(values)) if place not in places]

    def put(expression: Expression) -> Expression:
        def made(part: Expression) -> Expression | None:
            if part.function != SCALAR:
                return None
            place = _place(part)
            return constants[place] if place in constants else scalar(rest.index(place))

        return substitute(expression, made)

    found = replace(
        asked,
        outputs=tuple((name, put(one)) for name, one in asked.outputs),
        keys=tuple(map(put, asked.keys)),
        levels=tuple(tuple(map(put, level)) for level in asked.levels),
        having=None if asked.having is None else put(asked.having),
        qualify=None if asked.qualify is None else put(asked.qualify),
        order=tuple(replace(one, expression=put(one.expression)) for one in asked.order),
    )
    return found, tuple(values[place] for place in rest)


def _place(marked: Expression) -> int:
    return int(marked.arguments[0].constant)  # type: ignore[arg-type]
