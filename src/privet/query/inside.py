"""Relations that stay within one person's rows: GROUP BY the unit, DISTINCT with it, windows partitioned by it.

Their results are private rows again; nothing is released, and nothing is charged. So a question that bounds what each
person contributes to a group,

    SUM(x, contribution_bounds_per_group => (0, 100)) ... GROUP BY g

is read as one over rows that have been grouped by the person and by g: it is the sum, over people, of each one's own
sum of x in g, clamped to [0, 100].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import RequestError, Unsupported
from privet.core.relation import (
    By,
    ColumnRef,
    Derive,
    Expression,
    GroupWithin,
    Literal,
    Rank,
    Relation,
    RowSpan,
    Within,
    parts_of,
)
from privet.core.unit import Person, unit_columns

from .expressions import typed
from .join import check_person_shown, standing_on
from .nodes import (
    MARK,
    WINDOW,
    Order,
    PrivateRows,
    Select,
    Stated,
    aggregate,
    bounded,
    distinct_name,
    has_aggregate,
    has_window,
    is_aggregate,
    is_window,
    label,
    read_window,
    stated_bounds,
)
from .normal import call, conjunction
from .resolve import check_key, checked, condition, fitted, substitute
from .shape import OVER, RANKS, WITHIN, grid_step, is_of_one, is_public

TRUE = Literal(True)

WIDER = 2**10
"""How many times beyond its stated bounds a row may lie where its column has no declared ones."""

_LARGEST = 2**40
"""No whole number without declared bounds counts as more within a person, where as many rows still fit 64 bits."""

_COUNTS = ("count_rows", "count")


def stays_within(source: PrivateRows, asked: Select) -> bool:
    """Return whether a sub-query groups by the unit, or by a column of one person, so that groups are of one person.

    Groups are by the unit in any case (`grouped`); this is about the intention.
    """
    units = unit_columns(source.schema.unit)
    if is_public(source.schema):
        return True
    if not units:
        return False
    owned = (key.column for key in asked.keys if key.column is not None)
    return all(ColumnRef(name) in asked.keys for name in units) or any(
        is_of_one(source.table, name, source.tables) for name in owned
    )


def grouped(source: PrivateRows, asked: Select) -> PrivateRows:
    """Return one row for each unit and further key, with aggregates over that unit's rows alone.

    Guarantee: that of `schema_of` for a group, whose keys hold the unit.
    """
    _check_plain(asked)
    facts = source.schema.columns
    where = None if asked.where is None else _row_condition(asked.where, source)
    units = unit_columns(source.schema.unit)
    taken = {name.casefold() for name in units}
    keys: dict[Expression, str] = {ColumnRef(name): name for name in units}
    for expression in asked.keys:
        if has_aggregate(expression) or has_window(expression):
            raise Unsupported("an aggregate cannot stand in GROUP BY; conditions on aggregates go into HAVING")
        key = checked(expression, facts)
        if key not in keys:
            keys[key] = distinct_name(label(key), taken)
    aggregates: dict[Expression, Within] = {}

    def over_group(expression: Expression) -> Expression | None:
        if expression in keys:
            return ColumnRef(keys[expression])
        if expression.column is not None:
            raise Unsupported(
                f"column {expression.column!r} is neither grouped by nor inside an aggregate; add it to GROUP BY"
            )
        if is_window(expression):
            raise Unsupported("window functions stand in a sub-query of their own, without GROUP BY")
        if not is_aggregate(expression):
            return None
        if expression not in aggregates:
            name = distinct_name(label(expression), taken)
            aggregates[expression] = _within(name, expression, source)
        return ColumnRef(aggregates[expression].name)

    outputs = [(name, substitute(fitted(output, facts), over_group)) for name, output in asked.outputs]
    having = None if asked.having is None else substitute(fitted(asked.having, facts), over_group)
    listed = tuple((name, key) for key, name in keys.items())
    made = GroupWithin(source.table, listed, tuple(aggregates.values()), conjunction(source.where, where))
    standing = standing_on(made, source.tables, {})
    kept = None if having is None else condition(having, standing.schema.columns, "HAVING")
    columns = named_columns(standing, tuple(outputs))
    result = replace(standing, columns=columns, where=kept)
    return deduplicated(result) if asked.distinct else result


def deduplicated(source: PrivateRows, word: str = "DISTINCT") -> PrivateRows:
    """Return each person's rows without repeats: the unit must be among the columns, or people's rows would merge."""
    check_person_shown(source, word)
    units = unit_columns(source.schema.unit)
    taken = {name.casefold() for name in units}
    keys: dict[Expression, str] = {ColumnRef(name): name for name in units}
    for name, value in source.columns.items():
        if value not in keys:
            keys[value] = distinct_name(name, taken)
    made = GroupWithin(source.table, tuple((name, key) for key, name in keys.items()), (), source.where)
    return standing_on(made, source.tables, {name: ColumnRef(keys[value]) for name, value in source.columns.items()})


def with_ranks(source: PrivateRows, asked: Select) -> tuple[PrivateRows, Select]:
    """Return rows with a column for each window function of a SELECT, and the SELECT over these columns.

    Guarantee: that of `schema_of` for a rank, whose partition holds the unit.
    """
    if asked.keys or asked.having is not None or any(has_aggregate(expression) for _, expression in asked.outputs):
        raise Unsupported("window functions stand in a sub-query of their own, without aggregates or GROUP BY")
    where = conjunction(source.where, None if asked.where is None else _row_condition(asked.where, source))
    relation: Relation = source.table
    if where is not None:
        relation = Derive(relation, tuple((name, ColumnRef(name)) for name in source.schema.columns), where)
    taken = {name.casefold() for name in source.schema.columns}
    names: dict[Expression, str] = {}
    for _, expression in asked.outputs:
        for marked in _windows(expression):
            if marked not in names:
                names[marked] = distinct_name(marked.function.removeprefix(WINDOW), taken)
                relation = _rank(relation, names[marked], marked, source)
    made = standing_on(relation, source.tables, source.columns)
    outputs = tuple(
        (name, substitute(expression, lambda part: ColumnRef(names[part]) if part in names else None))
        for name, expression in asked.outputs
    )
    return made, replace(asked, outputs=outputs, where=None)


def named_columns(source: PrivateRows, outputs: tuple[tuple[str | None, Expression], ...]) -> dict[str, Expression]:
    """Return checked columns under their names, none of which may pass for the one that identifies the person."""
    made: dict[str, Expression] = {}
    taken: set[str] = set()
    for name, expression in outputs:
        value = checked(expression, source.schema.columns)
        for owner in unit_columns(source.schema.unit):
            if (name or "").casefold() == owner.casefold() and value != ColumnRef(owner):
                raise Unsupported(f"{owner!r} identifies the person; another column cannot take its name")
        if name is not None and (not name or name.casefold() in taken):
            raise RequestError(f"two columns are called {name!r}; give each its own name with AS")
        if name is not None:
            taken.add(name.casefold())
        made[name or distinct_name(label(value), taken)] = value
    return made


def _within(name: str, marked: Expression, source: PrivateRows) -> Within:
    function = marked.function.removeprefix(MARK)
    argument, where = marked.arguments[0], marked.arguments[1]
    if any(has_aggregate(part) for part in marked.arguments):
        raise Unsupported("an aggregate cannot stand inside another; aggregate in a sub-query per group instead")
    kept = None if where == TRUE else condition(where, source.schema.columns, "FILTER")
    if function == "count_units":
        raise Unsupported("each group is of one person here, so counting people returns 1; leave it out")
    if function not in WITHIN:
        listed = "COUNT, SUM, AVG, MIN and MAX"
        raise Unsupported(f"{function.upper()} is not supported within one person's rows; use {listed}")
    if function == "count_rows":
        return Within(name, function, None, kept)
    value = checked(argument, source.schema.columns)
    step = grid_step(value, source.schema) if function in {"sum", "avg"} else None
    return Within(name, function, value, kept, step)


def _rank(relation: Relation, name: str, marked: Expression, source: PrivateRows) -> Rank:
    function = marked.function.removeprefix(WINDOW)
    facts = source.schema.columns
    if function in OVER:
        return _over(relation, name, marked, source)
    if function not in RANKS or len(marked.arguments) > 3:
        raise Unsupported(
            "of window functions, ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD, without frames, and COUNT, SUM, AVG, MIN "
            "and MAX are supported within one person's rows: OVER (PARTITION BY the person ORDER BY ...); for others, "
            "aggregate in a sub-query grouped by the person"
        )
    given, partition, order = (part.arguments for part in marked.arguments)
    if len(given) > 2:
        raise Unsupported("a default is not supported here; use COALESCE")
    places = given[1].constant if len(given) > 1 else 1
    if type(places) is not int:
        raise Unsupported(f"{function.upper()} takes a column and a constant number of rows")
    terms = tuple(
        By(checked(term.arguments[0], facts), "descending" in term.function, "nulls first" in term.function)
        for term in order
    )
    return Rank(
        relation,
        name,
        function,
        tuple(checked(key, facts) for key in partition),
        terms,
        checked(given[0], facts) if given else None,
        places,
    )


def _over(relation: Relation, name: str, marked: Expression, source: PrivateRows) -> Rank:
    """Return rows with an aggregate beside each: of all of its partition, or of those in its frame."""
    facts, said = source.schema.columns, read_window(name, marked)
    argument = None if said.function == "count_rows" else checked(said.arguments[0], facts)
    step = grid_step(argument, source.schema) if argument is not None and said.function in {"sum", "avg"} else None
    terms = tuple(By(checked(term.expression, facts), term.descending, term.nulls_first) for term in said.order)
    frame = said.frame
    if frame is not None and not frame.rows and (frame.start or frame.end):
        raise Unsupported("a frame counts rows: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    return Rank(
        relation,
        name,
        said.function,
        tuple(checked(key, facts) for key in said.partition),
        terms,
        argument,
        where=None if said.where is None else condition(said.where, facts, "FILTER"),
        step=step,
        span=None if frame is None else RowSpan(frame.rows, frame.start, frame.end),
    )


def _windows(expression: Expression) -> list[Expression]:
    if is_window(expression):
        return [expression]
    return [window for part in expression.arguments for window in _windows(part)]


def _row_condition(where: Expression, source: PrivateRows) -> Expression:
    if has_aggregate(where) or has_window(where):
        raise Unsupported("an aggregate cannot stand in WHERE; conditions on aggregates go into HAVING")
    return condition(where, source.schema.columns, "WHERE")


def _check_plain(asked: Select) -> None:
    if asked.limit is not None or asked.offset:
        raise Unsupported(
            "LIMIT and OFFSET on private rows choose rows by what other people's rows hold; leave them out of the "
            "sub-query"
        )


def by_person(source: PrivateRows, asked: Select) -> tuple[PrivateRows, Select, bool]:
    """Return rows and a SELECT over them that ask for the same, and whether each person has one row in each group.

    Guarantee: that of `grouped`: each row is of one person, and made of that person's rows alone. What is clamped, and
    where, is left to the scan, whose noise is for it.
    """
    unit = source.schema.unit
    asked = _mapped(asked, lambda part: _of_one(part, rowwise=unit.rowwise))
    if not asked.bounds_each:
        return source, asked, False
    if not isinstance(unit, Person):
        raise Unsupported(
            "contribution_bounds_per_group is for what a person contributes to a group, and here a window of time is "
            "protected; use contribution_bounds_per_row"
        )
    if asked.levels:
        raise Unsupported(
            "contribution_bounds_per_group is for one grouping: what a person contributes to a total is bounded "
            "otherwise than what it contributes to the parts; ask for each grouping by itself"
        )
    taken = {name.casefold() for name in source.schema.columns}
    keys = {check_key(key, source): distinct_name(label(key), taken) for key in asked.keys}
    inner: dict[Expression, str] = {}
    for wanted in asked.aggregates:
        plain = stated_bounds(wanted)[0]
        if plain.function != f"{MARK}count_units" and _of_each_person(wanted, source) not in inner:
            inner[_of_each_person(wanted, source)] = distinct_name(label(plain), taken)
    outputs = [(unit.column, ColumnRef(unit.column)), *((name, key) for key, name in keys.items())]
    outputs += [(name, expression) for expression, name in inner.items()]
    rows = Select(outputs=tuple(outputs), where=asked.where, keys=(ColumnRef(unit.column), *keys))
    made = grouped(source, rows)
    named = tuple((name or label(expression), expression) for name, expression in asked.outputs)

    def outside(part: Expression) -> Expression | None:
        if is_aggregate(part):
            return _outer(part, made, inner.get(_of_each_person(part, source), ""), source)
        known = None if part.constant is not None else _key_in(part, keys, source)
        return None if known is None else made.columns[known]

    over = _mapped(replace(asked, outputs=named, where=None, keys=()), outside)
    return made, replace(over, keys=tuple(made.columns[name] for name in keys.values())), True


def _key_in(expression: Expression, keys: dict[Expression, str], source: PrivateRows) -> str | None:
    if any(":" in part.function for part in parts_of(expression)):
        return None
    return keys.get(checked(expression, source.schema.columns))


def _of_one(expression: Expression, *, rowwise: bool) -> Expression | None:
    """Return an aggregate for which bounds per person are those of a row, or are no bounds at all."""
    if not is_aggregate(expression):
        return None
    plain, stated = stated_bounds(expression)
    function = plain.function.removeprefix(MARK)
    if stated is None:
        return expression
    once = function == "count_units" or (rowwise and function in _COUNTS)
    if once and stated.per == "group":
        if not stated.low <= 1 <= stated.high:
            raise Unsupported("each person counts once in a group here, so that its bounds must hold 1: (0, 1)")
        return plain
    if stated.per == "group" and function not in ("sum", "avg", *_COUNTS):
        raise Unsupported(
            f"{function.upper()} takes contribution_bounds_per_row: what is clamped is each value, and not what a "
            f"person contributes to a group"
        )
    if stated.per == "row" and function in (*_COUNTS, "count_units", "count_distinct", "mode", "top_k", "bounds"):
        raise Unsupported("what is counted has no values to clamp; use contribution_bounds_per_group, or none")
    if stated.per == "row" or not rowwise:
        return expression
    return bounded(plain, "row", Literal(stated.low), Literal(stated.high))


def _of_each_person(marked: Expression, source: PrivateRows) -> Expression:
    """Return the aggregate that is computed over each person's rows in a group."""
    plain, stated = stated_bounds(marked)
    function, (argument, where) = plain.function.removeprefix(MARK), plain.arguments[:2]
    if function == "count_units":
        return plain
    if function not in ("sum", "avg", *_COUNTS) or (stated is None and function == "avg"):
        raise Unsupported(
            f"{function.upper()} is of rows, and contribution_bounds_per_group of what each person contributes to a "
            f"group: ask for them in two questions, at once with session.ask_all([...])"
        )
    if stated is not None and stated.per == "row":
        raise Unsupported(
            "contribution_bounds_per_row and contribution_bounds_per_group are bounds of different things: ask for "
            "them in two questions, at once with session.ask_all([...])"
        )
    if function in ("sum", "avg"):
        argument = _held(checked(argument, source.schema.columns), stated, source)
    return aggregate(function, None if function == "count_rows" else argument, where)


def _held(argument: Expression, stated: Stated | None, source: PrivateRows) -> Expression:
    """Return a value that can be summed within a person: one without declared bounds is clamped far beyond the stated.

    Sums within a person are exact, on a grid; they need some bounds. A row that lies so far outside decides the
    clamped sum alone, unless others of the person cancel it.
    """
    facts = typed(argument, source.schema.columns)
    if stated is None or facts.bounded or facts.kind not in ("integer", "number"):
        return argument
    most = max(abs(stated.low), abs(stated.high), Fraction(1)) * WIDER
    if facts.kind == "number":
        return call("clamp", argument, Literal(-most), Literal(most))
    whole = min(int(most), _LARGEST)
    return call("clamp", argument, Literal(-whole), Literal(whole))


def _outer(marked: Expression, made: PrivateRows, name: str, source: PrivateRows) -> Expression:
    """Return the aggregate over people's contributions."""
    plain, stated = stated_bounds(marked)
    function = plain.function.removeprefix(MARK)
    if function == "count_units":
        if plain.arguments[1] != Literal(True):
            raise Unsupported(
                "COUNT(DISTINCT ...) of people with a FILTER does not stand beside contribution_bounds_per_group; ask "
                "for it in a question of its own"
            )
        return plain
    over = "count_each" if function in _COUNTS else function
    value = aggregate(over, made.columns[name])
    return value if stated is None else bounded(value, "row", Literal(stated.low), Literal(stated.high))


def _stated(marked: Expression) -> Stated | None:
    stated = stated_bounds(marked)[1]
    return stated if stated is not None and stated.per == "group" else None


def _mapped(asked: Select, change: Callable[[Expression], Expression | None]) -> Select:
    """Return a SELECT with aggregates, and other changed parts, replaced at any depth."""

    def mapped(expression: Expression) -> Expression:
        return substitute(expression, change)

    return replace(
        asked,
        outputs=tuple((name, mapped(expression)) for name, expression in asked.outputs),
        having=None if asked.having is None else mapped(asked.having),
        order=tuple(Order(mapped(term.expression), term.descending, term.nulls_first) for term in asked.order),
    )
