"""Turns a `Selection` into the tree: finds keys and aggregates, names them, and checks the rest.

Names of keys and aggregates come from their meaning, never from an alias, so that the private part of two queries is
the same whenever their questions are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from privet.aggregates import AGGREGATES, entry_of
from privet.core.errors import RequestError, Unbounded, UnknownName, Unsupported, WrongKind
from privet.core.relation import (
    Call,
    ColumnRef,
    Derive,
    Expression,
    GroupWithin,
    Join,
    Literal,
    Rank,
    Relation,
    Union,
    parts_of,
)
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .expressions import mentions, typed
from .inside import by_person, deduplicated, named_columns, with_ranks
from .join import with_cuts
from .nodes import (
    DISCRETE,
    EXTREMES,
    GROUPING,
    MARK,
    SCALAR,
    AggregateCall,
    Beside,
    Grouping,
    Key,
    Order,
    Output,
    OverRows,
    PrivateRows,
    Query,
    ReleasedRows,
    Select,
    Step,
    aggregate,
    aggregate_of_two,
    distinct_name,
    has_aggregate,
    has_scalar,
    has_window,
    is_aggregate,
    label,
    quantile,
    stated_bounds,
    window,
)
from .normal import call, conjunction, text
from .released import (
    RELEASED_INSIDE,
    SOME_TEXT,
    DeterminedColumns,
    facts_over,
    read_aggregate,
    with_columns,
    with_values,
)
from .resolve import (
    OF_MOMENTS,
    as_facts,
    as_moment,
    check_argument,
    check_key,
    check_range,
    check_values,
    checked,
    condition,
    fitted,
    name_of,
    read_quantile,
    released_facts,
    substitute,
)
from .shape import facts_of, is_of_one, is_public, schema_of
from .typed import clamp_ends

# HISTOGRAM(x, bins): equal bins over the public bounds of x, as one more key and a count.
#
# Each row falls into one bin, so a histogram is a grouped count and costs no more.


MOST_BINS = 10_000

Conditions = tuple[Expression | None, ...]
"""Conditions on a row that counts; None is no condition."""


def with_bins(asked: Select, source: PrivateRows) -> Select:
    """Return a selection in which HISTOGRAM has become columns bin_low, bin_high and count, in order of the bins.

    The last bin includes its high end. A column that can be NULL has one more bin, without ends.
    """
    place = next((i for i, (_, expression) in enumerate(asked.outputs) if _is_histogram(expression)), None)
    if place is None:
        return asked
    name, marked = asked.outputs[place]
    others = asked.outputs[:place] + asked.outputs[place + 1 :]
    if name is not None or any(has_aggregate(expression) for _, expression in others):
        raise Unsupported(
            "HISTOGRAM makes three columns, bin_low, bin_high and count; it stands alone beside grouping columns, "
            "without AS"
        )
    if asked.levels:
        raise Unsupported("HISTOGRAM has one grouping; use BIN(x, 10) among GROUPING SETS, ROLLUP or CUBE")
    argument, where, bins = marked.arguments
    bucket, low, width = _bucket(checked(argument, source.schema.columns), bins, source)
    start = call("add", call("multiply", bucket, width), low)
    made = (
        ("bin_low", start),
        ("bin_high", call("add", start, width)),
        ("count", aggregate("count_rows", None, where)),
    )
    outputs = (*asked.outputs[:place], *made, *asked.outputs[place + 1 :])
    keys = (*asked.keys, bucket)
    return replace(asked, outputs=outputs, keys=keys, order=asked.order or tuple(Order(key) for key in keys))


def _is_histogram(expression: Expression) -> bool:
    return expression.function == f"{MARK}histogram"


def _bucket(argument: Expression, bins: Expression, source: PrivateRows) -> tuple[Expression, Literal, Literal]:
    number = bins.constant
    if type(number) is not int or not 1 <= number <= MOST_BINS:
        raise WrongKind("HISTOGRAM", f"a constant number of bins from 1 to {MOST_BINS}", ("something else",))
    facts = typed(argument, source.limited)
    if facts.kind not in {"integer", "number"}:
        raise WrongKind("HISTOGRAM", "numbers", (facts.kind or "NULL",), advice="group by the column instead")
    low, high = clamp_ends(argument, facts)
    if low is None or high is None:
        raise Unbounded(text(argument))
    if low == high:
        raise Unsupported(f"HISTOGRAM of {text(argument)} has one value only, {low}; count it")
    width = (high - low) / number
    exact = facts.kind == "integer" and width.denominator == 1
    ends = (Literal(int(low)), Literal(int(high))) if facts.kind == "integer" else (Literal(low), Literal(high))
    first, step = (Literal(int(low)), Literal(int(width))) if exact else (Literal(low), Literal(Fraction(width)))
    return call("bucket", argument, *ends, Literal(number)), first, step


MOST_OUTPUTS = 500
TRUE = Literal(True)


def aggregated(source: PrivateRows, asked: Select, values: Sequence[ReleasedRows] = ()) -> ReleasedRows:
    """Return the release of a SELECT with aggregates over private rows; `values` are those of released sub-queries.

    Such a value may be used beside aggregates. One that would choose, weigh or bound private rows is refused.
    """
    if is_public(source.schema):
        return listed(source, asked, values)
    _refuse_inside(asked)
    asked = with_bins(asked, source)
    source, asked, each = by_person(source, asked) if asked.bounds_each else (source, asked, False)
    columns = source.schema.columns
    for clause, expressions in (("WHERE", (asked.where,)), ("GROUP BY", asked.keys)):
        if any(has_aggregate(expression) for expression in expressions):
            raise Unsupported(f"an aggregate cannot stand in {clause}; conditions on aggregates go into HAVING")
        if any(has_window(expression) for expression in expressions):
            raise Unsupported(f"window functions cannot stand in {clause}; they see the rows that it leaves")
    where = None if asked.where is None else condition(asked.where, columns, "WHERE")
    taken: set[str] = set()
    keys = {}
    for expression in asked.keys:
        grouped = check_key(expression, source)
        _check_several(grouped, source)
        if grouped not in keys:
            keys[grouped] = Key(distinct_name(label(grouped), taken), grouped)
    calls: dict[Expression, AggregateCall] = {}
    facts: dict[str, Facts] = {}
    places = {expression: place for place, expression in enumerate(keys)}
    levels = tuple(
        tuple(sorted({places[check_key(expression, source)] for expression in level})) for level in asked.levels
    )
    groupings: dict[Expression, Grouping] = {}
    given = [distinct_name("value", taken) for _ in values]
    for name, value in zip(given, values, strict=True):
        facts[name] = replace(next(iter(value.facts.values())), nullable=True)
    beside = tuple(
        Beside(value.query, "left", ((name, next(iter(value.facts))),))
        for name, value in zip(given, values, strict=True)
    )
    for place, key in enumerate(keys.values()):
        known = as_facts(typed(key.expression, columns), text(key.expression))
        total = any(place not in level for level in levels)  # where a row is a total over it, a key is NULL
        facts[key.name] = replace(known, nullable=True) if total else known

    public = DeterminedColumns(source, keys, taken)

    def released(expression: Expression) -> Expression | None:
        if expression in keys:
            return ColumnRef(keys[expression].name)
        if expression.column is not None and public.determines(expression.column):
            name, known = public.named(expression.column)
            facts[name] = replace(known, nullable=True)
            return ColumnRef(name)
        if expression.column is not None:
            raise Unsupported(
                f"column {expression.column!r} is neither grouped by nor inside an aggregate and would show rows; "
                f"add it to GROUP BY, or aggregate it"
            )
        if expression.function == SCALAR:
            return ColumnRef(given[int(expression.arguments[0].constant)])  # type: ignore[arg-type]
        if expression.function == GROUPING:
            if expression not in groupings:
                name = distinct_name(label(Call("grouping", expression.arguments)), taken)
                groupings[expression] = Grouping(name, _places_in(expression, places))
                facts[name] = Facts(kind="integer")
            return ColumnRef(groupings[expression].name)
        if not is_aggregate(expression):
            return None
        if _of_one_value(expression, source, public, keys):
            return substitute(expression.arguments[0], released)
        wanted = _aggregate(expression, source, (source.where, where))
        marked = _marked(wanted)
        if marked not in calls:
            name = distinct_name(label(marked), taken)
            calls[marked] = replace(wanted, name=name)
            chosen = entry_of(wanted.function).aggregate.chosen
            values = typed(wanted.argument, columns) if chosen and wanted.argument is not None else None
            facts[name] = released_facts(wanted.function, values)
        return _shown(expression, calls[marked].name, source)

    windows: dict[Expression, OverRows] = {}

    def over_released(expression: Expression) -> Expression:
        made = substitute(fitted(expression, columns), released)
        made = with_columns(made, facts, windows, taken) if has_window(made) else made
        facts.update((over.name, facts_over(over, facts)) for over in windows.values() if over.name not in facts)
        return checked(made, facts)

    outputs = _outputs(asked, lambda expression: over_released(expression))
    having = None
    if asked.having is not None:
        _refuse_windows(asked.having, "HAVING")
        having = condition(over_released(asked.having), facts, "HAVING")
    qualify = None if asked.qualify is None else condition(over_released(asked.qualify), facts, "QUALIFY")
    order = tuple(Order(over_released(term.expression), term.descending, term.nulls_first) for term in asked.order)
    if not calls and (levels or not keys):
        raise Unsupported(
            "a query must aggregate, and this one does not; add COUNT(*) to see how many rows there are"
            if not keys
            else "GROUPING SETS, ROLLUP and CUBE go with aggregates; add COUNT(*), or list one grouping: GROUP BY a, b"
        )
    if public.found:
        beside += public.beside({expression: key.name for expression, key in keys.items()})
    if values and levels:
        raise Unsupported("GROUPING SETS, ROLLUP and CUBE beside a released value are not supported; ask them apart")
    step = replace(
        _step(asked, outputs, having, order), beside=beside, windows=tuple(windows.values()), qualify=qualify
    )
    used = [source.where, where, *keys]
    used += [part for wanted in calls.values() for part in (wanted.argument, wanted.other, wanted.where)]
    table = with_cuts(source.table, source.tables, used)
    query = Query(
        table, tuple(keys.values()), tuple(calls.values()), conjunction(source.where, where), (step,), source=source
    )
    if groupings and not levels:
        levels = (tuple(range(len(keys))),)
    query = replace(query, levels=levels, groupings=tuple(groupings.values()), each=each)
    return ReleasedRows(query, _output_facts(step, facts))


def listed(source: PrivateRows, asked: Select, values: Sequence[ReleasedRows] = ()) -> ReleasedRows:
    """Return the result of a SELECT over public rows, which are read as they are: exactly, and free of charge.

    Guarantee: all rows that are listed are of public tables. Values beside them are of such rows, too.
    """
    if not is_public(source.schema) or any(
        not query.lists for value in values for query in (value.query, *value.query.others)
    ):
        raise Unsupported(
            "rows of a public table cannot be listed beside a value of private ones; join the private table to it, and "
            "group by a column of it"
        )
    facts = source.schema.columns
    where = None if asked.where is None else condition(asked.where, facts, "WHERE")
    every = [*(expression for _, expression in asked.outputs), *asked.keys, asked.having, asked.qualify]
    every += [term.expression for term in asked.order]
    used = {name for expression in every if expression is not None for name in mentions(expression)}
    names = [name for name in facts if name in used] or list(facts)[:1]
    rows = Derive(source.table, tuple((name, ColumnRef(name)) for name in names), conjunction(source.where, where))
    shown = Step(tuple(Output(name, ColumnRef(name)) for name in names))
    known = schema_of(rows, source.tables).columns
    return refined(
        *with_values(ReleasedRows(Query(rows, (), (), None, (shown,)), known), replace(asked, where=None), values)
    )


def _check_several(key: Expression, source: PrivateRows) -> None:
    """Refuse a key each of whose values belongs to one person's row, as a column does that links lead to."""
    if key.column is not None and is_of_one(source.table, key.column, source.tables):
        raise Unsupported(
            f"GROUP BY {text(key)} would tell people apart, for each value of it belongs to one person; leave it out, "
            f"or count within each person first, in a sub-query"
        )


def _of_one_value(
    marked: Expression, source: PrivateRows, public: DeterminedColumns, keys: Mapping[Expression, Key]
) -> bool:
    """Whether an aggregate returns its argument's only public value in each group: ANY_VALUE, or MIN of a text.

    MIN and MAX of numbers and dates are quantiles, as they always were.
    """
    function, (argument, where, *_) = name_of(marked), marked.arguments
    if function not in ("any_value", "min", "max") or where != TRUE:
        return False
    parts = {part for part in parts_of(argument) if part.column is not None}
    known = all(part in keys or public.determines(part.column or "") for part in parts)
    texts = function == "any_value" or typed(argument, source.schema.columns).kind in ("text", "boolean")
    return bool(parts) and known and texts


def _refuse_inside(asked: Select) -> None:
    """Refuse a released value that would choose, weigh or bound private rows: in WHERE, in a key, in an aggregate.

    Guarantee: what a plan asks of private rows holds no value that was released.
    """
    shown = [*(output for _, output in asked.outputs), asked.having, asked.qualify]
    shown += [term.expression for term in asked.order]
    inside = [part for output in shown if output is not None for part in parts_of(output) if is_aggregate(part)]
    levels = [key for level in asked.levels for key in level]
    if any(map(has_scalar, (asked.where, *asked.keys, *levels, *inside))):
        raise Unsupported(RELEASED_INSIDE)


def _places_in(grouping: Expression, places: Mapping[Expression, int]) -> tuple[int, ...]:
    missing = next((argument for argument in grouping.arguments if argument not in places), None)
    if missing is not None:
        raise RequestError(f"GROUPING({text(missing)}) needs a grouping column; add it to GROUP BY, or leave it out")
    return tuple(places[argument] for argument in grouping.arguments)


def refined(source: ReleasedRows, asked: Select, constants: Container[str] = ()) -> ReleasedRows:
    """Return the result of a SELECT over released rows: other columns, fewer rows, aggregates, windows. All are free.

    `constants` are columns with one value in all rows, which groups have as well.
    """
    facts = dict(source.facts)
    taken = {name.casefold() for name in facts}
    released = [*(output for _, output in asked.outputs), asked.having, *(term.expression for term in asked.order)]
    if asked.levels:
        raise Unsupported(
            "GROUPING SETS, ROLLUP and CUBE of released rows are not supported; put them into the sub-query"
        )
    for clause, expressions in (("WHERE", (asked.where,)), ("GROUP BY", asked.keys)):
        if any(has_aggregate(part) or has_window(part) for part in expressions):
            raise Unsupported(f"an aggregate cannot stand in {clause}; put it into a sub-query")
    where = None if asked.where is None else condition(asked.where, facts, "WHERE")
    keys: dict[Expression, Key] = {}
    aggregates: dict[Expression, OverRows] = {}
    grouped = bool(asked.keys) or asked.having is not None or any(map(has_aggregate, released))
    if grouped and source.query.keys and not source.query.aggregates and not source.query.others:
        counted = _counted_groups(source, asked)
        if counted is None:
            raise Unsupported(
                "this counts groups that were listed, whether or not they have rows; to count those that do, write "
                "COUNT(DISTINCT x), or aggregate in the sub-query"
            )
        return counted
    if grouped:
        for expression in asked.keys:
            key = checked(expression, facts)
            if key not in keys:
                keys[key] = Key(key.column or distinct_name(label(key), taken), key)

    def of_group(expression: Expression) -> Expression | None:
        if expression in keys:
            return ColumnRef(keys[expression].name)
        if expression.column is not None and expression.column in constants:
            return of_group(aggregate("max", expression))
        if expression.column is not None:
            raise Unsupported(
                f"column {expression.column!r} is neither grouped by nor inside an aggregate; add it to GROUP BY, or "
                f"aggregate it"
            )
        if not is_aggregate(expression):
            return None
        if any(has_aggregate(part) or has_window(part) for part in expression.arguments):
            raise Unsupported("an aggregate cannot stand inside another; put the inner one into a sub-query")
        if expression not in aggregates:
            aggregates[expression] = read_aggregate(distinct_name(label(expression), taken), expression, source.facts)
            facts[aggregates[expression].name] = facts_over(aggregates[expression], source.facts)
        return ColumnRef(aggregates[expression].name)

    windows: dict[Expression, OverRows] = {}

    def made(expression: Expression) -> Expression:
        result = fitted(expression, source.facts)
        result = with_columns(substitute(result, of_group) if grouped else result, facts, windows, taken)
        facts.update((each.name, facts_over(each, facts)) for each in windows.values() if each.name not in facts)
        return checked(result, facts)

    facts.update((key.name, as_facts(typed(key.expression, facts), key.name)) for key in keys.values())
    outputs = _outputs(asked, made)
    having = None
    if asked.having is not None:
        _refuse_windows(asked.having, "HAVING")
        having = condition(made(asked.having), facts, "HAVING")
    qualify = None if asked.qualify is None else condition(made(asked.qualify), facts, "QUALIFY")
    order = tuple(Order(made(term.expression), term.descending, term.nulls_first) for term in asked.order)
    step = replace(
        _step(asked, outputs, where, order),
        keys=tuple(keys.values()) if grouped else None,
        aggregates=tuple(aggregates.values()),
        having=having,
        windows=tuple(windows.values()),
        qualify=qualify,
    )
    query = source.query
    return ReleasedRows(replace(query, steps=(*query.steps, step)), _output_facts(step, facts))


def _counted_groups(source: ReleasedRows, asked: Select) -> ReleasedRows | None:
    """Return the count of groups with rows over a sub-query that only lists them; None for any other question.

    It is COUNT(DISTINCT x) of the rows behind the groups, with the sensitivity of that: no group is released.
    """
    query, marked = source.query, asked.outputs[0][1]
    if len(query.steps) != 1 or query.levels or query.each or len(asked.outputs) > 1:
        return None
    step = query.steps[0]
    shown = {output.expression.column for output in step.outputs}
    plain = Step(step.outputs, distinct=step.distinct, order=step.order)
    if step != plain or shown != {key.name for key in query.keys} or replace(asked, outputs=()) != Select(outputs=()):
        return None
    facts = {output.expression.column: source.facts[output.name] for output in step.outputs}
    first, alone = query.keys[0], len(query.keys) == 1
    if marked == aggregate("count_rows", None):
        simple = alone and not facts[first.name].nullable
        argument = first.expression if simple else _told_apart([(key, facts[key.name]) for key in query.keys])
    elif alone and marked in [aggregate(kind, ColumnRef(step.outputs[0].name)) for kind in ("count", "count_distinct")]:
        argument = first.expression
    else:
        return None
    counting = AggregateCall("", "count_distinct", argument)
    name = label(_marked(counting))
    outputs = _outputs(asked, lambda _: ColumnRef(name))
    made = replace(query, keys=(), aggregates=(replace(counting, name=name),), steps=(Step(outputs),))
    return ReleasedRows(made, _output_facts(Step(outputs), {name: released_facts(counting.function, None)}))


def _told_apart(keys: Sequence[tuple[Key, Facts]]) -> Expression:
    """Return a text that is the same for two rows only where all keys are; NULL is one more value of each.

    Guarantee: each key begins with "=" unless it is NULL, has its "~" doubled, and ends with "~;", so that what a text
    was made of can be read from it.
    """
    parts: list[Expression] = []
    for key, facts in keys:
        if facts.kind not in ("text", "integer", "date"):
            raise Unsupported(
                f"groups of {text(key.expression)} cannot be counted together with NULL or with other columns; write "
                f"COUNT(DISTINCT {text(key.expression)})"
            )
        own = key.expression if facts.kind == "text" else call("to_text", key.expression)
        form = call(
            "concat", call("concat", Literal("="), call("replace", own, Literal("~"), Literal("~~"))), Literal("~;")
        )
        parts.append(Call("case", (call("is_null", key.expression), Literal("~;"), form)) if facts.nullable else form)
    joined = parts[0]
    for part in parts[1:]:
        joined = call("concat", joined, part)
    return joined


def _refuse_windows(expression: Expression, clause: str) -> None:
    if has_window(expression):
        raise Unsupported(f"window functions come after {clause}; filter by them with QUALIFY, or outside a sub-query")


def by_distinct(asked: Select) -> Select:
    """Return SELECT DISTINCT without aggregates as its meaning: the groups of its columns, each once.

    Constants make no groups. A condition, an order and a limit apply to the groups as they would to rows.
    """
    keys = tuple(dict.fromkeys(expression for _, expression in asked.outputs if mentions(expression)))
    if not keys:
        raise Unsupported(
            "SELECT DISTINCT of constants asks nothing of a table; name the columns whose values you want"
        )
    return replace(asked, keys=keys)


def narrowed(source: PrivateRows, asked: Select) -> PrivateRows:
    """Return the private rows that a sub-query without aggregates leaves: fewer rows, other columns, the same owner.

    An order alone adds no information about rows. Of public rows, the first ones may be taken.
    """
    cut = asked.limit is not None or bool(asked.offset)
    if cut and is_public(source.schema):
        return _first_rows(source, asked)
    if cut:
        raise Unsupported(
            "ORDER BY, LIMIT and OFFSET on private rows choose rows by what other people's rows hold; "
            "leave them out of the sub-query, or aggregate in it"
        )
    where = None if asked.where is None else condition(asked.where, source.schema.columns, "WHERE")
    made = replace(source, columns=named_columns(source, asked.outputs), where=conjunction(source.where, where))
    return deduplicated(made) if asked.distinct else made


def _first_rows(source: PrivateRows, asked: Select) -> PrivateRows:
    """Return the first of public rows in an order; those that tie in it follow each other by their columns."""
    number = window("row_number", (), (), asked.order)
    whole = replace(asked, outputs=(*asked.outputs, (None, number)), order=(), limit=None, offset=0)
    if asked.distinct:
        raise Unsupported("DISTINCT beside LIMIT is not supported in a sub-query; put DISTINCT into one of its own")
    ranked, over = with_ranks(source, whole)
    *outputs, (_, place) = over.outputs
    kept = [call("greater", place, Literal(asked.offset))]
    kept += [] if asked.limit is None else [call("less_equal", place, Literal(asked.offset + asked.limit))]
    return narrowed(ranked, replace(over, outputs=tuple(outputs), where=conjunction(*kept)))


def _aggregate(marked: Expression, source: PrivateRows, conditions: Conditions) -> AggregateCall:
    marked, stated = stated_bounds(marked)
    if stated is None:
        return _without_bounds(marked, source, conditions)
    known = AGGREGATES.get(name_of(marked))
    if name_of(marked) not in EXTREMES and (known is None or known.aggregate.arity != 1 or not known.aggregate.bounded):
        raise Unsupported(f"{name_of(marked).upper()} takes no bounds: leave them out, or declare those of its columns")
    plain = _without_bounds(marked, source, conditions, stated=True)
    if typed(marked.arguments[0], source.schema.columns).kind not in ("integer", "number"):
        raise Unsupported("stated bounds are numbers; those of dates are declared, or LEAST(GREATEST(x, low), high)")
    return replace(plain, options=(*plain.options, ("low", str(stated.low)), ("high", str(stated.high))))


def _without_bounds(
    marked: Expression, source: PrivateRows, conditions: Conditions, *, stated: bool = False
) -> AggregateCall:
    function = name_of(marked)
    argument, where = marked.arguments[0], marked.arguments[1]
    if function == "any_value":
        raise Unsupported(
            "ANY_VALUE is not supported: it would return values of single people; write MODE(x), the most frequent "
            "value, or MEDIAN(x), or GROUP BY x; of a public table, group by its declared key"
        )
    if any(has_aggregate(part) for part in marked.arguments):
        raise Unsupported("an aggregate cannot stand inside another; aggregate in a sub-query per group instead")
    if any(has_window(part) for part in marked.arguments):
        raise Unsupported(
            "a window function cannot stand inside an aggregate; put it into a sub-query, within one person's rows"
        )
    kept = None if where == TRUE else condition(where, source.schema.columns, "FILTER")
    if function in EXTREMES:  # across people, the least and the greatest are quantiles
        marked = quantile(argument, Literal(EXTREMES[function]), where, discrete=True)
        function = "quantile"
    if function == "histogram":
        raise Unsupported("HISTOGRAM stands alone in its column, beside grouping columns only")
    if function == "count_units" and source.owner is None:
        raise Unsupported("each row is a unit of its own in this table; write COUNT(*)")
    if function in {"count_rows", "count_units"}:
        return AggregateCall("", function, None, kept)
    if function == "top_k":
        raise Unsupported("TOP_K makes several columns, such as top_1 and top_2; it stands alone in the SELECT list")
    if function == "bounds":
        if len(marked.arguments) == 2:
            raise Unsupported("BOUNDS makes two columns, a low and a high end; it stands alone in the SELECT list")
        side = marked.arguments[2].constant
        return AggregateCall("", function, check_range(argument, source), kept, (("side", str(side)),))
    if function == "mode":
        options = zip(("k", "rank"), (part.constant for part in marked.arguments[2:]), strict=True)
        return AggregateCall("", function, check_values(argument, source), kept, tuple(options))  # type: ignore[arg-type]
    conditions = (*conditions, kept)
    checked_one = check_argument(function, argument, source, conditions, stated=stated)
    if entry_of(function).aggregate.arity > 1:
        return AggregateCall(
            "", function, checked_one, kept, other=check_argument(function, marked.arguments[2], source, conditions)
        )
    if function == "quantile":
        share = read_quantile(marked.arguments[2])
        return AggregateCall("", function, checked_one, kept, (("share", str(share)),))
    return AggregateCall("", function, checked_one, kept)


def _shown(marked: Expression, name: str, source: PrivateRows) -> Expression:
    """Return the shown form of a released aggregate: itself, or the moment of its number of days."""
    function, released = name_of(marked), ColumnRef(name)
    if function not in OF_MOMENTS and function not in EXTREMES:
        return released
    kind = typed(checked(marked.arguments[0], source.schema.columns), source.schema.columns).kind
    if kind not in ("date", "timestamp"):
        return released
    discrete = function in EXTREMES or DISCRETE in marked.arguments[3:] or marked.arguments[2:3] in (_LEAST, _MOST)
    return as_moment(released, kind, dates=discrete)


_LEAST, _MOST = (Literal(0),), (Literal(1),)


def _marked(wanted: AggregateCall) -> Call:
    if wanted.argument is not None and wanted.other is not None:
        return aggregate_of_two(wanted.function, wanted.argument, wanted.other, wanted.where)
    plain = aggregate(wanted.function, wanted.argument, wanted.where)
    return Call(plain.function, (*plain.arguments, *(Literal(value) for _, value in wanted.options)))


def _outputs(asked: Select, release: Callable[[Expression], Expression]) -> tuple[Output, ...]:
    if len(asked.outputs) > MOST_OUTPUTS:
        raise Unsupported(f"a query has at most {MOST_OUTPUTS} columns")
    taken: set[str] = set()
    for name, _ in asked.outputs:
        _take_name(name, taken)
    return tuple(
        Output(distinct_name(label(expression), taken) if name is None else name, release(expression))
        for name, expression in asked.outputs
    )


def _take_name(name: str | None, taken: set[str]) -> None:
    if name is None:
        return
    if not name or name.casefold() in taken:
        raise RequestError(f"two columns are called {name!r}; give each its own name with AS")
    taken.add(name.casefold())


def _step(asked: Select, outputs: tuple[Output, ...], where: Expression | None, order: tuple[Order, ...]) -> Step:
    if asked.distinct:
        shown = {output.expression for output in outputs}
        if any(term.expression not in shown for term in order):
            raise Unsupported("with SELECT DISTINCT, ORDER BY takes columns of the SELECT list only")
    return Step(outputs, where, asked.distinct, order, asked.limit, asked.offset)


def _output_facts(step: Step, facts: Mapping[str, Facts]) -> Mapping[str, Facts]:
    return {output.name: as_facts(typed(output.expression, facts), output.name) for output in step.outputs}


# Refuses constants that a declared category does not have: `ward = 'hart'` is a slip, and is found before it is paid.
#
# Decided by declared facts and by the question. Nothing here reads data.


_COMPARED = frozenset({"equal", "not_equal", "in", "nullif"})
"""Functions that test whether two values are the same. An order makes sense for any constant."""

Known = Mapping[str, Facts]


def check_categories(query: Query, tables: Mapping[str, Schema]) -> Schema:
    """Raise `UnknownName` where a question compares a declared category with a value that it does not have.

    Returns the facts of the question's relation.
    """
    schema = query.facts_known(tables) or schema_of(query.table, tables)
    columns = schema.columns
    _check_relation(query.table, tables, columns)
    asked: list[Expression | None] = [query.where, *(key.expression for key in query.keys)]
    for wanted in query.aggregates:
        asked += [wanted.argument, wanted.other, wanted.where]
    _check(asked, columns)
    names: dict[str, Facts] = {}
    for key in query.keys:
        names |= _named(key.name, key.expression, columns)
    for step in query.steps:
        names = _check_step(step, names)
    return schema


def check_view(view: PrivateRows, tables: Mapping[str, Schema]) -> None:
    """Raise as `check_categories` does, for rows that a view names."""
    _check_relation(view.table, tables, view.schema.columns)
    _check([view.where, *view.columns.values()], view.schema.columns)


def _check_relation(relation: Relation, tables: Mapping[str, Schema], columns: Known | None = None) -> None:
    """Check a relation and all below it; `columns` are its own, where they are known."""
    match relation:
        case Derive(source=source, columns=made, where=where):
            asked: list[Expression | None] = [where, *(expression for _, expression in made)]
        case Join(left=left, right=right, on=on):
            _check_relation(left, tables)
            _check_relation(right, tables)
            _check([on], schema_of(relation, tables).columns if columns is None else columns)
            return
        case GroupWithin(source=source, keys=keys, aggregates=aggregates, where=where):
            asked = [where, *(key for _, key in keys)]
            for each in aggregates:
                asked += [each.argument, each.where]
        case Rank(source=source, partition=partition, order=order, argument=argument, where=where):
            asked = [argument, where, *partition, *(by.expression for by in order)]
        case Union(sources=sources):
            for inner in sources:
                _check_relation(inner, tables)
            return
        case _:
            return
    _check_relation(source, tables)
    if any(expression is not None and _compares(expression) for expression in asked):
        _check(asked, schema_of(source, tables).columns)


def _check_step(step: Step, names: dict[str, Facts]) -> dict[str, Facts]:
    """Check a step on released rows, and return the facts of its outputs."""
    made: dict[str, Facts] = {}
    for key in step.keys or ():
        names = {**names, **_named(key.name, key.expression, names)}
    for output in step.outputs:
        made |= _named(output.name, output.expression, names)
    filters = [over.where for over in (*step.aggregates, *step.windows)]
    _check([step.where, step.having, step.qualify, *filters, *(shown.expression for shown in step.outputs)], names)
    _check((order.expression for order in step.order), {**names, **made})
    return made


def _named(name: str, expression: Expression, columns: Known) -> dict[str, Facts]:
    """Return the facts of an expression, under a name; none where they are unknown."""
    if not mentions(expression) <= columns.keys():  # it is over an aggregate
        return {}
    try:
        return {name: facts_of(expression, columns)}
    except RequestError:
        return {}


def _check(expressions: Iterable[Expression | None], columns: Known) -> None:
    for compares in (part for expression in expressions if expression is not None for part in _calls(expression)):
        if compares.function in _COMPARED:
            constants = [argument.constant for argument in compares.arguments if argument.is_constant]
            for compared in (argument for argument in compares.arguments if not argument.is_constant):
                _check_constants(compared, constants, columns)


def _check_constants(compared: Expression, constants: Sequence[object], columns: Known) -> None:
    try:
        facts = typed(compared, columns)
    except RequestError:  # an aggregate, or an expression refused elsewhere, and better
        return
    if facts.values is None or facts.kind not in ("text", "integer"):
        return
    for constant in constants:
        if type(constant) in (str, int) and constant != SOME_TEXT and constant not in facts.values:
            what = f"value of {compared.column or text(compared)}"
            raise UnknownName(what, str(constant), [str(value) for value in facts.values])


def _calls(expression: Expression) -> Iterator[Expression]:
    waiting, seen = [expression], set()
    while waiting:
        part = waiting.pop()
        if part.function and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += part.arguments


def _compares(expression: Expression) -> bool:
    return any(call.function in _COMPARED for call in _calls(expression))
