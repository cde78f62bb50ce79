"""A question that is built in Python, as the equivalent SQL, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from privet.aggregates import AGGREGATES
from privet.core.relation import ColumnRef, Derive, Expression, GroupWithin, Join, Literal, Rank, Relation, Union
from privet.display import printable, without_brackets

from .nodes import DISCRETE, GROUPING, MARK, Level, Order, PrivateRows, Query, ReleasedRows, Select, stated_bounds
from .normal import quote_name, text

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = re.compile(
    "ALL|AND|ANY|AS|ASC|BETWEEN|BY|CASE|CAST|CROSS|DATE|DESC|DISTINCT|ELSE|END|EXCEPT|EXISTS|FALSE|FILTER|"
    "FROM|FULL|GROUP|HAVING|IN|INNER|INTERVAL|INTERSECT|INTO|IS|JOIN|LEFT|LIKE|LIMIT|NATURAL|NOT|NULL|"
    "OFFSET|ON|OR|ORDER|OUTER|OVER|PARTITION|RIGHT|SELECT|SET|TABLE|THEN|TIME|TIMESTAMP|TRUE|UNION|USING|"
    "VALUES|VIEW|WHEN|WHERE|WINDOW|WITH|WITHIN"
)
_NAMED_SHARES = {Fraction(0): "MIN", Fraction(1, 2): "MEDIAN", Fraction(1): "MAX"}


def expression_sql(expression: Expression, owner: str | None = None) -> str:
    """Return an expression as SQL, with the aggregates in it; `owner` is the column by which people are counted."""

    def marked(part: Expression) -> str | None:
        if part.column is not None:
            return shown_name(part.column)
        if part.function == GROUPING:
            return f"GROUPING({', '.join(_plain(argument, owner) for argument in part.arguments)})"
        return _aggregate(part, owner) if part.function.startswith(MARK) else None

    return printable(without_brackets(text(expression, marked)))


def rows_sql(source: PrivateRows, where: Expression | None, keys: Sequence[Expression], levels: Sequence[Level]) -> str:
    """Return rows of a table, with conditions and groups that `agg` will use, as SQL."""
    listed = ", ".join(map(shown_name, source.columns)) if not isinstance(source.table, str) else "*"
    return " ".join(_clauses(listed, source, Select(outputs=(), where=where, keys=tuple(keys), levels=tuple(levels))))


def question_sql(source: PrivateRows | ReleasedRows, asked: Select) -> str:
    """Return a question as SQL."""
    owner = source.owner if isinstance(source, PrivateRows) else None
    outputs = ", ".join(_outputs(asked, owner))
    return " ".join(_clauses(f"{'DISTINCT ' * asked.distinct}{outputs}", source, asked))


def _clauses(selected: str, source: PrivateRows | ReleasedRows, asked: Select) -> Iterator[str]:
    owner = source.owner if isinstance(source, PrivateRows) else None
    yield f"SELECT {selected}"
    if isinstance(source, PrivateRows):
        yield f"FROM {_relation(source.table)}"
        conditions = [condition for condition in (source.where, asked.where) if condition is not None]
    else:
        yield f"FROM ({_released(source.query)})"
        conditions = [] if asked.where is None else [asked.where]
    if conditions:
        yield f"WHERE {' AND '.join(_plain(condition, owner) for condition in conditions)}"
    if len(asked.levels) > 1:
        sets = (f"({', '.join(_plain(key, owner) for key in level)})" for level in asked.levels)
        yield f"GROUP BY GROUPING SETS ({', '.join(sets)})"
    elif asked.keys:
        yield f"GROUP BY {', '.join(_plain(key, owner) for key in asked.keys)}"
    if asked.having is not None:
        yield f"HAVING {_plain(asked.having, owner)}"
    yield from _ends(asked.order, asked.limit, asked.offset, owner)


def _ends(order: Sequence[Order], limit: int | None, offset: int, owner: str | None) -> Iterator[str]:
    if order:
        yield f"ORDER BY {', '.join(_plain(term.expression, owner) + ' DESC' * term.descending for term in order)}"
    if limit is not None:
        yield f"LIMIT {limit}"
    if offset:
        yield f"OFFSET {offset}"


def _outputs(asked: Select, owner: str | None) -> Iterator[str]:
    for name, expression in asked.outputs:
        # the columns of one TOP_K or BOUNDS are written once
        if expression.function == MARK + "mode" and expression.arguments[2].constant != 1:
            if expression.arguments[3].constant == 1:
                yield _named(expression, str(name).removesuffix("_1"), owner)
        elif expression.function == MARK + "bounds" and len(expression.arguments) == 3:
            if expression.arguments[2].constant == "low":
                yield _named(expression, str(name).removesuffix("_low"), owner)
        else:
            yield _named(expression, name, owner)


def _named(expression: Expression, name: str | None, owner: str | None) -> str:
    written = _plain(expression, owner)
    if name is None or expression == ColumnRef(name):
        return written
    return f"{written} AS {shown_name(name)}"


def _aggregate(call: Expression, owner: str | None) -> str:
    call, stated = stated_bounds(call)
    function, (argument, where, *more) = call.function.removeprefix(MARK), call.arguments
    inner = _plain(argument, owner)
    match function:
        case "count_rows":
            written = "COUNT(*)"
        case "count_units":
            written = f"COUNT(DISTINCT {shown_name(owner)})" if owner else "COUNT_UNITS()"
        case "count_distinct" | "sum_distinct":
            written = f"{function.split('_')[0].upper()}(DISTINCT {inner})"
        case "quantile":
            named = _NAMED_SHARES.get(more[0].constant)  # type: ignore[arg-type]
            discrete = DISCRETE in more
            function = "QUANTILE" if discrete else "QUANTILE_CONT"
            plain = named and (named != "MEDIAN" or not discrete)
            written = f"{named}({inner})" if plain else f"{function}({inner}, {_plain(more[0], owner)})"
        case "mode" | "top_k":
            count = more[0].constant if more else 1
            written = f"MODE({inner})" if count == 1 else f"TOP_K({inner}, {count})"
        case "bounds":
            written = f"BOUNDS({inner})"
        case _:
            known = AGGREGATES.get(function)
            listed = ", ".join([inner, *(_plain(option, owner) for option in more)])
            written = f"{known.sql[0] if known else function.upper()}({listed})"
    if stated is not None:
        whole = [int(end) if end.denominator == 1 else end for end in (stated.low, stated.high)]
        ends = ", ".join(_plain(Literal(end), owner) for end in whole)
        written = f"{written[:-1]}, contribution_bounds_per_{stated.per} => ({ends}))"
    return written if where.constant is True else f"{written} FILTER (WHERE {_plain(where, owner)})"


def _relation(relation: Relation) -> str:
    """Return the relation of a question; the column of the unit, which every sub-query carries, is not named."""
    match relation:
        case str():
            return shown_name(relation)
        case Derive(source=source, columns=columns, where=where):
            listed = ", ".join(_named(expression, name, None) for name, expression in columns)
            filtered = "" if where is None else f" WHERE {_plain(where, None)}"
            return f"(SELECT {listed} FROM {_relation(source)}{filtered})"
        case Join(left=left, right=right, kind=kind, on=on):
            joined = "JOIN" if kind == "inner" else "LEFT JOIN"
            return f"{_relation(left)} {joined} {_relation(right)}{'' if on is None else f' ON {_plain(on, None)}'}"
        case GroupWithin(source=source, keys=keys, aggregates=aggregates, where=where):
            named = [_named(key, name, None) for name, key in keys]
            made = [f"{_within(part.function, part.argument)} AS {shown_name(part.name)}" for part in aggregates]
            filtered = "" if where is None else f" WHERE {_plain(where, None)}"
            by = ", ".join(_plain(key, None) for _, key in keys)
            return f"(SELECT {', '.join([*named, *made])} FROM {_relation(source)}{filtered} GROUP BY {by})"
        case Rank(source=source, name=name, function=function):
            return f"(SELECT *, {function.upper()}(...) OVER (...) AS {shown_name(name)} FROM {_relation(source)})"
        case Union(sources=sources):
            return f"({' UNION ALL '.join(f'SELECT * FROM {_relation(inner)}' for inner in sources)})"


def _within(function: str, argument: Expression | None) -> str:
    if argument is None:
        return "COUNT(*)"
    inner = _plain(argument, None)
    return f"COUNT(DISTINCT {inner})" if function == "count_distinct" else f"{function.upper()}({inner})"


def _released(query: Query) -> str:
    names = [*(key.name for key in query.keys), *(aggregate.name for aggregate in query.aggregates)]
    return f"what {' and '.join(names)} release"


def _plain(expression: Expression, owner: str | None) -> str:
    return expression_sql(expression, owner)


def shown_name(name: str) -> str:
    """Return a name as people write it: in quotes only where SQL needs them."""
    plain = _NAME.fullmatch(name) and not _RESERVED.fullmatch(name.upper())
    return name if plain else printable(quote_name(name))
