"""Looks up for each row values in other rows of the same person, or of public tables: EXISTS, IN, scalar sub-queries.

The result is one more column of the row. The others are grouped by the equal expressions, so that a row meets one of
them at most: no rows are added, none is lost, and a person contributes no more than before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from privet.core.errors import Unsupported
from privet.core.relation import Call, ColumnRef, Derive, Expression, GroupWithin, Join, Literal, Rank, Relation, Within
from privet.core.unit import unit_columns

from .expressions import mentions, typed
from .join import in_order, renamed, standing_on, without_unit
from .nodes import PrivateRows, distinct_name, label
from .normal import call, conjunction
from .resolve import checked, condition, substitute
from .shape import (
    FINE,
    check_same_unit,
    conjuncts,
    grid_step,
    is_public,
    origin,
    place_of,
    same_owner,
    says_owner,
    schema_of,
)
from .typed import MOMENTS, NUMBERS

_COMPARES = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
"""Each comparison with its sides exchanged; others stay."""

_OWNERLESS = (
    "a sub-query of a private table is about the same person's rows: its WHERE must state so in plain equality, joined "
    "to the rest by AND: {unit} of one = that of the other, or a column and the one it links to; across people, ask it "
    "as a question of its own"
)

OUTER = "outer:"
"""Marks the parts of a sub-query over the row that it is evaluated for; all others are over its own rows."""


def outer(one: Expression) -> Call:
    """Return an expression over the row that a sub-query is evaluated for, as the sub-query names it."""
    return Call(OUTER, (one,))


def has_outer(expression: Expression) -> bool:
    """Return whether a sub-query refers to the row that it is evaluated for."""
    return expression.function == OUTER or any(map(has_outer, expression.arguments))


@dataclass(frozen=True)
class Comparison:
    """A condition between a row and another one: `theirs` of the other, then the sign, then `mine`."""

    function: str
    theirs: Expression
    mine: Expression


@dataclass(frozen=True)
class Others:
    """Rows that a row is looked up among, and the conditions between the two.

    `equal` are pairs of an expression over the row and one over the other. `compared` and `further` are other
    conditions between both, `further` with expressions of the row marked. `own` are conditions on the row alone.
    """

    rows: PrivateRows
    equal: tuple[tuple[Expression, Expression], ...] = ()
    compared: tuple[Comparison, ...] = ()
    further: tuple[Expression, ...] = ()
    own: tuple[Expression, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether all conditions are equalities."""
        return not self.compared and not self.further


def among(rows: PrivateRows, links: Sequence[Expression]) -> Others:
    """Return rows that a row is looked up among, with the conditions between both, in which the row is marked."""
    equal: list[tuple[Expression, Expression]] = []
    compared: list[Comparison] = []
    further: list[Expression] = []
    own: list[Expression] = []
    for link in links:
        sides = [_side(argument) for argument in link.arguments]
        if _side(link) == "outer":
            own.append(_unmarked(link))
        elif sides not in (["outer", "inner"], ["inner", "outer"]) or link.function not in _COMPARES:
            further.append(link)
        else:
            mine, theirs = link.arguments if sides[0] == "outer" else link.arguments[::-1]
            function = link.function if sides[0] == "inner" else MIRRORED.get(link.function, link.function)
            if function == "equal":
                equal.append((_unmarked(mine), theirs))
            else:
                compared.append(Comparison(function, theirs, _unmarked(mine)))
    return Others(rows, tuple(equal), tuple(compared), tuple(further), tuple(own))


def _side(expression: Expression) -> str:
    """Return the side of an expression: the row ("outer"), the others ("inner"), both, or a constant ("")."""
    if expression.function == OUTER:
        return "outer"
    if expression.column is not None:
        return "inner"
    sides = {_side(part) for part in expression.arguments} - {""}
    return sides.pop() if len(sides) == 1 else "both" if sides else ""


def _unmarked(expression: Expression) -> Expression:
    plain = substitute(expression, lambda part: part.arguments[0] if part.function == OUTER else None)
    if has_outer(plain):
        raise Unsupported(
            "a sub-query names columns of its own tables and of the query right around it, not further out"
        )
    return plain


Wanted = tuple[str, Expression | None]
"""An aggregate over the other rows that a row meets, by its name, and its argument."""


def looked_up(source: PrivateRows, others: Others, wanted: Sequence[Wanted]) -> tuple[PrivateRows, list[Expression]]:
    """Return the rows with one more column for each aggregate over the others that they meet; NULL if they meet none.

    Guarantee: that of `schema_of`, for a join that finds one row, and for groups within a unit. A private row meets
    rows of its own person alone, whatever the conditions say.
    """
    others = _with_constants(others)
    return _grouped(source, others, wanted) if others.plain else _paired(source, others, wanted)


def _with_constants(others: Others) -> Others:
    """Return rows without those that differ from a constant: a met row is identified by its columns."""
    constant = [pair for pair in others.equal if not mentions(pair[0])]
    if not constant:
        return others
    where = conjunction(others.rows.where, *(call("equal", theirs, mine) for mine, theirs in constant))
    varied = tuple(pair for pair in others.equal if pair not in constant)
    return replace(others, rows=replace(others.rows, where=where), equal=varied)


def exists(source: PrivateRows, others: Others) -> tuple[PrivateRows, Expression]:
    """Return the rows, and the condition that a row meets another; it is never NULL."""
    if others.own:
        standing, met = exists(source, replace(others, own=()))
        return standing, call("coalesce", call("and", *others.own, met), Literal(False))
    if len(others.compared) == 1 and not others.further:
        (test,) = others.compared
        kind = typed(checked(test.theirs, others.rows.schema.columns), others.rows.schema.columns).kind
        if kind in (*NUMBERS, *MOMENTS) and test.function in {*MIRRORED, "not_equal"}:
            return _compared(source, replace(others, compared=()), test)
    standing, (number,) = looked_up(source, others, [("count_rows", None)])
    return standing, call("greater", call("coalesce", number, Literal(0)), Literal(0))


Pairs = tuple[tuple[Expression, Expression], ...]
"""An expression over a row, and one over the others, several times."""


def is_met(source: PrivateRows, others: Others, pairs: Pairs) -> tuple[PrivateRows, Expression]:
    """Return the rows, and the condition that x IN (SELECT y ...) is true; it is never NULL."""
    constant = [pair for pair in pairs if not mentions(pair[0])]
    same = conjunction(others.rows.where, *(call("equal", theirs, mine) for mine, theirs in constant))
    varied = [pair for pair in pairs if pair not in constant]
    return exists(source, replace(others, rows=replace(others.rows, where=same), equal=(*others.equal, *varied)))


def is_among(source: PrivateRows, others: Others, pairs: Pairs) -> tuple[PrivateRows, Expression]:
    """Return the rows, and the condition x IN (SELECT y ...), which is NULL exactly where it is in SQL.

    It is true where a row meets another with an equal y. Otherwise it is NULL if it meets one whose y may be equal,
    because x or y is NULL there; else it is false. Where only x = y implies that both rows have one
    owner, rows of other people would be among those met: then y must not be NULL, and an x that is NULL yields NULL.
    """
    if others.own:
        met, truth = is_among(source, replace(others, own=()), pairs)
        return met, call("case", call("and", Literal(True), *others.own), truth, Literal(False))
    if is_public(others.rows.schema) or _says_owner(source, others.equal, others.rows):
        met, truth = is_met(source, others, pairs)
        met, doubt = _doubted(met, others, pairs)
        return met, call("case", truth, Literal(True), doubt, Literal(None), Literal(False))
    owned = tuple(pair for pair in pairs if _says_owner(source, (pair,), others.rows))
    if not owned:
        check_same_unit(source.schema, others.rows.schema)
        raise ownerless(source)
    if any(_may_be_null(theirs, others.rows) for _, theirs in owned):
        raise Unsupported(
            "IN (SELECT x ...) is neither true nor false where any x is NULL, which would depend on other people's "
            "rows; add x IS NOT NULL to its WHERE, or write EXISTS"
        )
    rest = tuple(pair for pair in pairs if pair not in owned)
    both = replace(others, equal=(*others.equal, *owned))
    met, truth = is_among(source, both, rest) if rest else exists(source, both)
    known = [ColumnRef(name) for name in unit_columns(source.schema.unit)]  # a row without a unit is dropped
    unknown = [call("is_null", mine) for mine, _ in owned if mine not in known]
    return met, truth if not unknown else call("case", truth, Literal(True), _any(unknown), Literal(None), truth)


def _doubted(source: PrivateRows, others: Others, pairs: Pairs) -> tuple[PrivateRows, Expression]:
    """Return the condition that a row meets another of which it is not known whether all pairs are equal."""
    if len(pairs) > 1:
        maybe = [
            call("or", call("equal", outer(mine), theirs), call("is_null", outer(mine)), call("is_null", theirs))
            for mine, theirs in pairs
        ]
        return exists(source, replace(others, further=(*others.further, *maybe)))
    ((mine, theirs),) = pairs
    standing, (rows, valued) = looked_up(source, others, [("count_rows", None), ("count", theirs)])
    number = call("coalesce", rows, Literal(0))
    doubt = call("or", call("is_null", mine), call("greater", number, call("coalesce", valued, Literal(0))))
    return standing, call("and", call("greater", number, Literal(0)), doubt)


def _any(expressions: Sequence[Expression]) -> Expression:
    return expressions[0] if len(expressions) == 1 else call("or", *expressions)


def _may_be_null(theirs: Expression, rows: PrivateRows) -> bool:
    units = [ColumnRef(name) for name in unit_columns(rows.schema.unit)]
    place = None if theirs.column is None else origin(rows.table, theirs.column)
    link = None if place is None else rows.tables[place[0]].link
    if theirs in units or (place is not None and link is not None and place[1] == link.via):
        return False  # a row without a unit is dropped
    asked = call("not", call("is_null", theirs))
    return typed(theirs, rows.schema.columns).nullable and asked not in conjuncts(rows.where)


def _compared(source: PrivateRows, others: Others, test: Comparison) -> tuple[PrivateRows, Expression]:
    """Return whether a row meets another that compares so: it does where the least or the greatest of them does."""
    standing, (least, greatest) = looked_up(source, others, [("min", test.theirs), ("max", test.theirs)])
    ends = {"less": [least], "less_equal": [least], "greater": [greatest], "greater_equal": [greatest]}
    tested = [call(test.function, end, test.mine) for end in ends.get(test.function, [least, greatest])]
    return standing, call("coalesce", _any(tested), Literal(False))


def _grouped(source: PrivateRows, others: Others, wanted: Sequence[Wanted]) -> tuple[PrivateRows, list[Expression]]:
    rows = others.rows
    units = unit_columns(rows.schema.unit)
    taken = {name.casefold() for name in units}
    keys: dict[Expression, str] = {ColumnRef(name): name for name in units}
    pairs: list[tuple[Expression, str]] = []
    for mine, theirs in others.equal:
        own, other = _of_one_kind(source, mine, rows, theirs)
        if other not in keys:
            keys[other] = distinct_name(label(other), taken)
        pairs.append((own, keys[other]))
    aggregates = _aggregates(rows, wanted, taken)
    grouped = GroupWithin(rows.table, tuple((name, key) for key, name in keys.items()), aggregates, rows.where)
    return _found(source, grouped, pairs, [aggregate.name for aggregate in aggregates])


def _paired(source: PrivateRows, others: Others, wanted: Sequence[Wanted]) -> tuple[PrivateRows, list[Expression]]:
    """Return the lookup of rows among the others under more than equalities: all pairs are made, and counted.

    Rows are distinguished by their number within the unit, and each unit makes as many pairs as a join may.
    """
    if not unit_columns(source.schema.unit):
        raise Unsupported(
            "a sub-query in a query of rows that are protected one by one, or public, is joined to it by equalities "
            "alone; compare with MIN or MAX of a column instead"
        )
    units = unit_columns(source.schema.unit)
    row = distinct_name("row", {name.casefold() for name in source.schema.columns})
    numbered = Rank(source.table, row, "row_number", tuple(ColumnRef(name) for name in units))
    rows = others.rows
    kept: Relation = rows.table
    if rows.where is not None:
        kept = Derive(kept, tuple((name, ColumnRef(name)) for name in rows.schema.columns), rows.where)
    taken = {name.casefold() for name in (*source.schema.columns, row)}
    names = tuple((distinct_name(name, taken), name) for name in rows.schema.columns)
    called = {column: ColumnRef(name) for name, column in names}
    on = [call("equal", mine, renamed(theirs, called)) for mine, theirs in others.equal]
    on += [call(test.function, renamed(test.theirs, called), test.mine) for test in others.compared]
    on += [_of_both(expression, called) for expression in others.further]
    facts = {**source.schema.columns, **{name: rows.schema.columns[column] for name, column in names}}
    asked = conjunction(*(in_order(condition(expression, facts, "WHERE")) for expression in on))
    pairs = Join(numbered, kept, "inner", names, asked)
    if not is_public(rows.schema):
        check_same_unit(source.schema, rows.schema)
        if not same_owner(pairs, source.schema, source.tables):
            raise ownerless(source)
        pairs = replace(pairs, on=without_unit(pairs, source.schema))
    keys = tuple((name, ColumnRef(name)) for name in (*units, row))
    made = standing_on(pairs, source.tables, {})
    used = {name.casefold() for name, _ in keys}
    aggregates = _aggregates(
        made, [(name, None if argument is None else renamed(argument, called)) for name, argument in wanted], used
    )
    grouped = GroupWithin(pairs, keys, aggregates)
    ranked = standing_on(numbered, source.tables, source.columns, source.where)
    equal = [(ColumnRef(name), name) for name in (*units, row)]
    return _found(ranked, grouped, equal, [aggregate.name for aggregate in aggregates])


def _of_both(expression: Expression, called: Mapping[str, ColumnRef]) -> Expression:
    """Return a condition between a row and another over the columns of the pair."""

    def over(part: Expression) -> Expression | None:
        return _unmarked(part) if part.function == OUTER else called.get(part.column or "")

    return substitute(expression, over)


def _found(
    source: PrivateRows, grouped: GroupWithin, pairs: Sequence[tuple[Expression, str]], wanted: Sequence[str]
) -> tuple[PrivateRows, list[Expression]]:
    """Return the rows with each one's match among grouped ones: all of their keys equal expressions of its own."""
    schema = schema_of(grouped, source.tables)
    taken = {name.casefold() for name in source.schema.columns}
    names = tuple((distinct_name(name, taken), name) for name in schema.columns)
    called = {column: ColumnRef(name) for name, column in names}
    on = conjunction(*(in_order(call("equal", mine, called[key])) for mine, key in pairs))
    made = Join(source.table, grouped, "left", names, on, one=True)
    if not is_public(schema):
        check_same_unit(source.schema, schema)
        equal = {key for _, key in pairs}
        moments = unit_columns(schema.unit)[1:]  # rows of one window of time are grouped by their moment, too
        if not same_owner(made, source.schema, source.tables) or not equal.issuperset(moments):
            raise ownerless(source)
        made = replace(made, on=without_unit(made, source.schema))
    return standing_on(made, source.tables, source.columns, source.where), [called[name] for name in wanted]


def ownerless(source: PrivateRows) -> Unsupported:
    """Return the refusal of a sub-query that is not known to stay within a person."""
    unit = " and ".join(repr(name) for name in unit_columns(source.schema.unit)) or "the person"
    return Unsupported(_OWNERLESS.format(unit=unit))


def _says_owner(source: PrivateRows, equal: Pairs, others: PrivateRows) -> bool:
    """Return whether equalities imply that a row and the others have one owner."""
    tables = source.tables
    units = {(ColumnRef(name), ColumnRef(name)) for name in unit_columns(source.schema.unit)}
    return (bool(units) and units <= set(equal)) or any(
        says_owner(place_of(source.table, mine.column, tables), place_of(others.table, theirs.column, tables), tables)
        for mine, theirs in equal
        if mine.column is not None and theirs.column is not None
    )


def _of_one_kind(
    source: PrivateRows, mine: Expression, rows: PrivateRows, theirs: Expression
) -> tuple[Expression, Expression]:
    """Return both sides of an equality as values of one kind, so that groups by one are found by the other."""
    facts = {f"mine {name}": column for name, column in source.schema.columns.items()}
    facts |= {f"their {name}": column for name, column in rows.schema.columns.items()}
    both = call(
        "equal",
        renamed(mine, {name: ColumnRef(f"mine {name}") for name in source.schema.columns}),
        renamed(theirs, {name: ColumnRef(f"their {name}") for name in rows.schema.columns}),
    )
    checked(both, facts)  # refuses kinds that cannot be compared, under the names that were written
    kinds = typed(mine, source.schema.columns).kind, typed(theirs, rows.schema.columns).kind
    if kinds[0] == kinds[1] or None in kinds:
        return mine, theirs
    wider = "to_number" if "number" in kinds else "to_timestamp"
    return (mine, call(wider, theirs)) if kinds[0] in ("number", "timestamp") else (call(wider, mine), theirs)


def _aggregates(rows: PrivateRows, wanted: Sequence[Wanted], taken: set[str]) -> tuple[Within, ...]:
    aggregates = []
    for function, argument in wanted:
        value = None if argument is None else checked(argument, rows.schema.columns)
        step = grid_step(value, rows.schema, FINE) if value is not None and function in {"sum", "avg"} else None
        name = distinct_name("found" if value is None else label(Call(function, (value,))), taken)
        aggregates.append(Within(name, function, value, None, step))
    return tuple(aggregates)
