"""What is computed within one unit, as SQL: groups and ranks over rows that carry their unit as u.

Sums are of integers, and ranks are over orders that leave ties between equal rows only; so the result is a function
of the unit's rows, whatever order they are read in.
"""

from __future__ import annotations

from math import floor

from privet.core.errors import InvariantError
from privet.core.expression import Expression
from privet.core.relation import By, Group, Rank, Within
from privet.core.scan import Sum
from privet.core.schema import Schema

from .expressions import Renderer
from .text import TYPES, double
from .values import Given, clamped, given, sources


def _key(renderer: Renderer, expression: Expression) -> str:
    made = renderer.render(expression)
    return f"({made.sql} + 0e0)" if made.kind == "number" else made.sql  # -0.0 and 0.0 are one value


def group_sql(relation: Group, source: Schema, made: Schema, rows: str, *, owner: list[str]) -> str:
    """Return one row for each unit and key, from rows u, c0, ...; `owner` is ["u"], or nothing for public rows."""
    renderer = Renderer(sources(source))
    keys = [f"k{index}" for index in range(len(relation.keys))]
    several = [_Part(one, index, renderer) for index, one in enumerate(relation.aggregates)]
    first = [*owner, *(f"{_key(renderer, one)} AS {k}" for k, (_, one) in zip(keys, relation.keys, strict=True))]
    first += [layer for part in several for layer in part.first]
    where = "" if relation.where is None else f" WHERE {renderer.render(relation.where).sql}"
    sql = f"SELECT {', '.join(first)} FROM ({rows}){where}"
    second = [*owner, *keys, *(layer for part in several for layer in part.second)]
    sql = f"SELECT {', '.join(second)} FROM ({sql})"
    by = ", ".join([*owner, *keys])
    sql = f"SELECT {', '.join([by, *(part.total for part in several)])} FROM ({sql}) GROUP BY {by}"
    sql = f"SELECT {', '.join([by, *(part.value for part in several)])} FROM ({sql})"
    places = [*keys, *(f"a{index}" for index in range(len(several)))]
    columns = [
        f"{clamped(place, column)} AS c{index}"
        for index, (place, column) in enumerate(zip(places, made.columns.values(), strict=True))
    ]
    return f"SELECT {', '.join([*owner, *columns])} FROM ({sql})"


def rank_sql(relation: Rank, source: Schema, made: Schema, rows: str, *, owner: list[str]) -> str:
    """Return the rows with one more column, computed among those of the same unit and partition."""
    renderer = Renderer(sources(source))
    own = [f"c{index}" for index in range(len(source.columns))]
    parts = [f"p{index}" for index in range(len(relation.partition))]
    places = [f"o{index}" for index in range(len(relation.order))]
    inner = [f"{_key(renderer, one)} AS {p}" for p, one in zip(parts, relation.partition, strict=True)]
    inner += [f"{renderer.render(one.expression).sql} AS {o}" for o, one in zip(places, relation.order, strict=True)]
    if relation.argument is not None:
        inner.append(f"{renderer.render(relation.argument).sql} AS a")
    order = [_term(place, one) for place, one in zip(places, relation.order, strict=True)]
    if relation.function in {"row_number", "lag", "lead"}:
        order += own  # rows that tie in all of their columns are the same
    function = {"lag": f"lag(a, {relation.places})", "lead": f"lead(a, {relation.places})"}.get(
        relation.function, f"{relation.function}()"
    )
    partition = ", ".join([*owner, *parts])
    over = f"PARTITION BY {partition} ORDER BY {', '.join(order)}" if order else f"PARTITION BY {partition}"
    sql = f"SELECT {', '.join([*owner, *own, *inner])} FROM ({rows})"
    sql = f"SELECT {', '.join([*owner, *own])}, {function} OVER ({over}) AS n FROM ({sql})"
    last = clamped("n", made.columns[relation.name])
    return f"SELECT {', '.join([*owner, *own])}, {last} AS c{len(own)} FROM ({sql})"


class _Part:
    """One aggregate within a unit, in layers: what each needs of a row, its sum over rows, its value."""

    def __init__(self, one: Within, index: int, renderer: Renderer) -> None:
        self.index = index
        self.given: Given | None = None
        self.first: list[str] = []
        self.second: list[str] = []
        kept = ""
        if one.where is not None:
            self.first.append(f"{renderer.render(one.where).sql} AS b{index}")
            self.second.append(f"b{index}")
            kept = f" FILTER (WHERE b{index})"
        x = f"x{index}"
        if one.function in {"sum", "avg"}:
            self._sum(one, kept, renderer)
            return
        if one.argument is not None:
            self.first.append(f"{_key(renderer, one.argument)} AS {x}")
            self.second.append(x)
        form = {"count_rows": "count(*)", "count": f"count({x})", "count_distinct": f"count(DISTINCT {x})"}
        self.total = f"{form.get(one.function) or f'{one.function}({x})'}{kept} AS t{index}"
        self.value = f"t{index} AS a{index}"

    def _sum(self, one: Within, kept: str, renderer: Renderer) -> None:
        index = self.index
        if one.argument is None or one.step is None:
            raise InvariantError("a sum within a unit has an argument and a step")
        low, high = renderer.render(one.argument).argument.typed.bounds
        if low is None or high is None:
            raise InvariantError("a sum within a unit has bounds")
        ends = (floor(low / one.step), -floor(-high / one.step))
        found = given(Sum(one.argument, *ends, step=one.step), index, renderer)
        if found.x is None or found.y is None:
            raise InvariantError("a sum within a unit is over a column")
        self.first.append(f"{found.x} AS x{index}")
        self.second.append(f"{found.y} AS y{index}")
        self.total = f"sum({found.value}){kept} AS t{index}, count({found.value}){kept} AS n{index}"
        whole = renderer.render(one.argument).kind == "integer"
        if whole and one.function == "sum":
            self.value = f"TRY_CAST(t{index} AS {TYPES['integer']}) AS a{index}"
            return
        inverse = 1 / one.step
        scale = f"/ {double(inverse)}" if inverse.denominator == 1 else f"* {double(one.step)}"
        number = f"CAST(t{index} AS DOUBLE)"
        if one.function == "avg":
            number = f"({number} / CAST(n{index} AS DOUBLE))"
        self.value = f"CASE WHEN n{index} > 0 THEN {number} {scale} END AS a{index}"


def _term(place: str, one: By) -> str:
    nulls = "FIRST" if one.nulls_first else "LAST"
    return f"{place} {'DESC' if one.descending else 'ASC'} NULLS {nulls}"
