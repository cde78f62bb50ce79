"""Translates expressions of a SQL tree into our own: names are looked up, aggregates are marked.

A node without a translation is refused. Types are checked later, from declared facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from privet.aggregates.aggregate import NamedAggregate, reserve
from privet.core.errors import ParseError, RequestError, UnknownName, Unsupported, WrongKind, arguments_in_words
from privet.core.relation import ColumnRef, Expression, Literal
from privet.query.lookups import outer
from privet.query.nodes import (
    MARK,
    Order,
    RowFrame,
    aggregate,
    aggregate_of_two,
    bounded,
    bounds,
    grouping,
    histogram,
    is_aggregate,
    mode,
    quantile,
    top_k,
    window,
)
from privet.query.normal import call, conjunction

from .calls import NAMES, TRANSLATIONS, part_of_date
from .clauses import (
    Node,
    arguments_of,
    blame,
    function_name,
    named_aggregate,
    named_function,
    part,
    parts,
    refusal,
    unknown_function,
)
from .rewrites import AROUND, PER_ROW, fixed_value
from .synonyms import called

reserve(NAMES)


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: columns, under the name of their table, and aliases of the SELECT list.

    `columns` are those that need no table's name: in one table only, or the same in all, or named by USING.
    """

    columns: Mapping[str, Expression]
    tables: tuple[tuple[str, Mapping[str, Expression]], ...] = ()
    owner: str | None = None
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    aliases_first: bool = False
    windows: Mapping[str, Node] = field(default_factory=dict)
    outer: Scope | None = None
    """The names of the query directly around a sub-query in an expression: its own take precedence."""
    nested: Callable[[Node, Scope], Expression] | None = None
    """Reads a sub-query in an expression, where one is allowed."""

    @classmethod
    def over(
        cls,
        tables: tuple[tuple[str, Mapping[str, Expression]], ...],
        owner: str | None,
        merged: Mapping[str, Expression] | None = None,
        hidden: Mapping[str, frozenset[str]] | None = None,
    ) -> Scope:
        """Return the names of several tables side by side.

        Of each table, `hidden` are columns that a link added: another table's own of that name goes before them.
        """
        if len(tables) == 1 and not merged:
            return cls(tables[0][1], tables, owner)
        columns: dict[str, Expression] = dict(merged or {})
        known = {name.casefold() for name in columns}
        meanings: dict[str, set[Expression]] = {}
        every = [(table, name, expression) for table, own in tables for name, expression in own.items()]
        added = {(table, name) for table, names in (hidden or {}).items() for name in names}
        own_names = {name.casefold() for table, name, _ in every if (table, name.casefold()) not in added}
        seen = [
            (name, expression)
            for table, name, expression in every
            if (table, name.casefold()) not in added or name.casefold() not in own_names
        ]
        for name, expression in seen:
            meanings.setdefault(name.casefold(), set()).add(expression)
        for name, expression in seen:
            if name.casefold() not in known and len(meanings[name.casefold()]) == 1:
                known.add(name.casefold())
                columns[name] = expression
        return cls(columns, tables, owner)

    def column(self, node: Node) -> Expression:
        """Return the expression of a column name; one of the query around a sub-query is marked."""
        if self.outer is None:
            return self._own(node)
        try:
            return self._own(node)
        except UnknownName as unknown:
            try:
                return outer(self.outer.column(node))
            except UnknownName:
                raise unknown from None

    def _own(self, node: Node) -> Expression:
        name, qualifier = part(node, "this"), part(node, "table")
        if name.key != "identifier":
            raise Unsupported("* stands alone in a SELECT list; name the columns")
        if qualifier is not None:
            own = self.table(qualifier)
            key = find(own, name)
            if key is None:
                raise UnknownName("column", name.name, own)
            return own[key]
        first, second = (self.aliases, self.columns) if self.aliases_first else (self.columns, self.aliases)
        for names in (first, second):
            key = find(names, name)
            if key is not None:
                return names[key]
        return self.named(name)

    def table(self, qualifier: Node) -> Mapping[str, Expression]:
        """Return the columns of the table that a name before a dot means."""
        names = tuple(name for name, _ in self.tables)
        key = find(names, qualifier)
        if key is None:
            raise UnknownName("table", qualifier.name, names)
        return self.tables[names.index(key)][1]

    def named(self, name: Node) -> Expression:
        """Return the expression of a column name without a table."""
        key = find(self.columns, name)
        if key is not None:
            return self.columns[key]
        holders = [table for table, own in self.tables if table and find(own, name) is not None]
        if len(holders) > 1:
            shown = " or ".join(f"{table}.{name.name}" for table in holders)
            raise RequestError(f"column {name.name!r} is in several tables; write {shown}")
        if name.args.get("quoted"):  # where other databases take "A" for a text
            advice = f"a text is written as '{name.name}'; known columns: {', '.join(sorted(self.columns))}"
            raise UnknownName("column", name.name, self.columns, advice=advice)
        raise UnknownName("column", name.name, self.columns)


def find(names: Mapping[str, object] | tuple[str, ...], identifier: Node) -> str | None:
    """Return the known name that an identifier means: as it is written, or in any case if it is not quoted."""
    wanted = identifier.name
    if wanted in names:
        return str(wanted)
    if identifier.args.get("quoted"):
        return None
    near = [name for name in names if name.casefold() == wanted.casefold()]
    if len(near) > 1:
        raise RequestError(f"{wanted!r} can mean {' or '.join(map(repr, near))}; quote the one that you mean")
    return near[0] if near else None


def translate(node: Node, scope: Scope) -> Expression:
    """Return the expression of a node."""
    if node is None:
        raise ParseError("a function lacks an argument")
    try:
        return _translated(node, scope)
    except RequestError as error:
        blame(error, node)
        raise


def _translated(node: Node, scope: Scope) -> Expression:
    if node.key in {"exists", "subquery", "select"} or (node.key == "in" and part(node, "query") is not None):
        if scope.nested is None:
            raise refusal(node, NAMES)
        return scope.nested(node, scope)
    if node.key in TRANSLATIONS:
        return TRANSLATIONS[node.key](node, lambda child: translate(child, scope))
    if node.key == "column":
        return scope.column(node)
    if node.key in {"and", "or"}:
        return _chain(node, scope)
    if node.key in _AGGREGATES:
        return _AGGREGATES[node.key](node, scope)
    entry = named_aggregate(node)
    if entry is not None:
        return _registered(node, entry, scope)
    function = named_function(node)
    if function is not None:
        return call(function.name, *_several(arguments_of(node), scope))
    raise refusal(node, NAMES)


def _several(nodes: list[Node], scope: Scope) -> list[Expression]:
    return [translate(node, scope) for node in nodes]


def _chain(node: Node, scope: Scope) -> Expression:
    terms, key = [], node.key
    while node.key == key:  # the parser leans chains to the left; following them here keeps recursion shallow
        terms.append(part(node, "expression"))
        node = part(node, "this")
    terms.append(node)
    return call(key, *_several(terms, scope))


def _anonymous(node: Node, scope: Scope) -> Expression:
    entry = named_aggregate(node)
    if entry is not None:
        return _registered(node, entry, scope)
    fixed = fixed_value(node)
    if fixed is not None:
        return fixed
    made = called(function_name(node), parts(node, "expressions"), lambda child: translate(child, scope))
    if made is not None:
        return made
    name = function_name(node).lower()
    if name in {"date_part", "datepart"} and len(parts(node, "expressions")) == 2:
        named, moment = parts(node, "expressions")
        return _date_part(named, moment, scope)
    if name in _COUNTS:
        return _COUNTS[name](node, scope)
    arguments = _several(parts(node, "expressions"), scope)
    if name.startswith(AROUND):
        return bounded(arguments[0], "row" if name.endswith(PER_ROW) else "group", *arguments[1:])
    if name == "bin" and len(arguments) == 2:
        return call("bin", *arguments)
    if name == "histogram" and len(arguments) == 2:
        return histogram(arguments[0], arguments[1])
    if name == "top_k" and len(arguments) == 2:
        return top_k(arguments[0], arguments[1])
    if name == "bounds" and len(arguments) == 1:
        return bounds(arguments[0])
    if name == "bounds":
        raise WrongKind("BOUNDS", "one argument: BOUNDS(x)", (arguments_in_words(len(arguments)),))
    if name == "top_k":
        raise WrongKind("TOP_K", "two arguments: TOP_K(x, 3)", (arguments_in_words(len(arguments)),))
    if name in {"bin", "histogram"}:
        example = "BIN(age, 10)" if name == "bin" else "HISTOGRAM(age, 10)"
        raise WrongKind(name.upper(), f"two arguments: {example}", (arguments_in_words(len(arguments)),))
    if name == "age" and len(arguments) == 2:
        return call("subtract", *arguments)
    if name == "bucket" and len(arguments) == 4:
        return call("bucket", *arguments)
    function = named_function(node)
    if function is not None:
        return call(function.name, *arguments)
    raise unknown_function(name, NAMES)


def _date_part(named: Node, moment: Node, scope: Scope) -> Expression:
    """Return DATE_PART('year', x), or DATEPART(year, x) as SQL Server has it."""
    if named.key == "column" or (named.key == "literal" and named.args.get("is_string")):
        return part_of_date(str(named.name), translate(moment, scope))
    raise Unsupported("DATE_PART takes a part of a date and a date: DATE_PART('year', x)")


def _count_big(node: Node, scope: Scope) -> Expression:
    return _counted(arguments_of(node)[0] if arguments_of(node) else None, scope)


def _count_different(node: Node, scope: Scope) -> Expression:
    """Return how many different values there are."""
    given = arguments_of(node)
    if len(given) != 1 or given[0].key in {"distinct", "star"}:
        raise WrongKind(function_name(node), "one column", (arguments_in_words(len(given)),))
    return _different(_several(given, scope), scope)


def _count(node: Node, scope: Scope) -> Expression:
    return _counted(part(node, "this"), scope)


def _counted(counted: Node | None, scope: Scope) -> Expression:
    if counted is None or counted.key == "star":
        return aggregate("count_rows")
    if counted.key != "distinct":
        argument = translate(counted, scope)
        constant = argument.constant is not None
        return aggregate("count_rows") if constant else aggregate("count", argument)
    return _different(_several(parts(counted, "expressions"), scope), scope)


def _different(of: list[Expression], scope: Scope) -> Expression:
    if scope.owner is not None and of == [ColumnRef(scope.owner)]:
        return aggregate("count_units")
    if len(of) != 1:
        raise Unsupported("COUNT(DISTINCT ...) takes one column")
    return aggregate("count_distinct", of[0])


def _count_if(node: Node, scope: Scope) -> Expression:
    return aggregate("count_rows", None, translate(part(node, "this"), scope))


def _registered(node: Node, entry: NamedAggregate, scope: Scope) -> Expression:
    """Return an aggregate that is called by a name of the registry, with as many columns as it takes."""
    given, wanted = arguments_of(node), entry.aggregate.arity
    name = function_name(node)
    if given and given[0].key == "distinct":
        return _of_values(name, _several(parts(given[0], "expressions"), scope))
    if len(given) != wanted:
        form = f"{name}({', '.join('xy'[:wanted])})"
        raise WrongKind(name, f"{arguments_in_words(wanted)}: {form}", (arguments_in_words(len(given)),))
    arguments = _several(given, scope)
    return aggregate(entry.name, *arguments) if wanted == 1 else aggregate_of_two(entry.name, *arguments)


def _of_values(name: str, of: list[Expression]) -> Expression:
    """Return a sum or a mean of different values, each of which counts once in a group."""
    if name not in {"SUM", "AVG", "MEAN"}:
        raise _of_different(name)
    if len(of) != 1:
        raise Unsupported(f"{name}(DISTINCT ...) takes one column")
    total = aggregate("sum_distinct", of[0])
    if name == "SUM":
        return total
    return call("divide", total, call("nullif", aggregate("count_distinct", of[0]), Literal(0)))


def _of_different(name: str) -> Unsupported:
    return Unsupported(f"{name}(DISTINCT ...) is not supported; leave DISTINCT out, or GROUP BY the column")


def _quantile(node: Node, scope: Scope) -> Expression:
    argument = part(node, "this")
    if argument is None:
        raise Unsupported("a quantile needs a column: MEDIAN(x), or QUANTILE(x, 0.9)")
    if argument.key == "distinct":
        raise Unsupported("DISTINCT is not supported in a quantile; leave it out")
    if node.key == "median":
        return quantile(translate(argument, scope), Literal(Fraction(1, 2)))
    share = part(node, "quantile") or part(node, "expression")
    if share is None:
        raise Unsupported(
            "a quantile needs a column and a share: QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"
        )
    return quantile(translate(argument, scope), translate(share, scope), discrete=node.key != "percentilecont")


def _mode(node: Node, scope: Scope) -> Expression:
    argument = part(node, "this")
    if argument is None or argument.key == "distinct":
        raise Unsupported(
            "MODE takes a column, such as MODE(x), and no DISTINCT: among different values all are as frequent"
        )
    return mode(translate(argument, scope))


def _within_group(node: Node, scope: Scope) -> Expression:
    inner, order = part(node, "this"), parts(part(node, "expression"), "expressions")
    if inner.key == "mode" and part(inner, "this") is None and len(order) == 1 and not part(order[0], "desc"):
        return mode(translate(part(order[0], "this"), scope))
    if inner.key not in {"percentilecont", "percentiledisc"} or part(inner, "expression") or len(order) != 1:
        raise Unsupported(
            "WITHIN GROUP follows PERCENTILE_CONT(share) or MODE(), with one ascending column: (ORDER BY x)"
        )
    share = translate(part(inner, "this"), scope)
    if part(order[0], "desc"):
        raise Unsupported("WITHIN GROUP (ORDER BY x) is ascending here; write 1 minus the share instead of DESC")
    return quantile(translate(part(order[0], "this"), scope), share, discrete=inner.key == "percentiledisc")


def _filter(node: Node, scope: Scope) -> Expression:
    inner = translate(part(node, "this"), scope)
    if not is_aggregate(inner):
        raise Unsupported("FILTER (WHERE ...) follows an aggregate, such as COUNT(*) FILTER (WHERE x > 0)")
    kept = translate(part(part(node, "expression"), "this"), scope)
    argument, where, *rest = inner.arguments
    both = kept if where == Literal(True) else conjunction(where, kept)
    return call(inner.function, argument, both or kept, *rest)


def _extreme(node: Node, scope: Scope) -> Expression:
    of = part(node, "this")
    if of is None:
        raise WrongKind(node.key.upper(), "one column", ("nothing",))
    if of.key == "distinct" and len(parts(of, "expressions")) == 1:  # the least of different values is the least of all
        return aggregate(node.key, translate(parts(of, "expressions")[0], scope))
    return aggregate(node.key, translate(part(node, "this"), scope))


_OVER = {
    "rownumber": "row_number",
    "rank": "rank",
    "denserank": "dense_rank",
    "percentrank": "percent_rank",
    "cumedist": "cume_dist",
    "ntile": "ntile",
    "lag": "lag",
    "lead": "lead",
    "firstvalue": "first_value",
    "lastvalue": "last_value",
    "nthvalue": "nth_value",
}
"""Window functions that are no aggregates, as the parser names them."""


def _window(node: Node, scope: Scope) -> Expression:
    named = part(node, "alias")
    if named is not None:
        said = find(scope.windows, named)
        if said is None:
            raise UnknownName("window", named.name, scope.windows)
        over = scope.windows[said]
    else:
        over = node
    of, where = part(node, "this"), None
    order = part(node, "order") or part(over, "order")
    terms = [
        Order(translate(part(item, "this"), scope), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        for item in (parts(order, "expressions") if order is not None else ())
    ]
    partition = tuple(_several(parts(node, "partition_by") or parts(over, "partition_by"), scope))
    if of.key in _OVER:
        names = ("this", "offset", "default") if of.key in {"lag", "lead", "nthvalue"} else ("this",)
        written = [part(of, name) for name in names]
        given = _several([term for term in written if term is not None], scope)
        function = _OVER[of.key]
    else:
        marked = translate(of, scope)
        if not is_aggregate(marked):
            raise refusal(node, NAMES)
        function = marked.function.removeprefix(MARK)
        argument, kept, *more = marked.arguments
        given = [] if function in {"count_rows", "count_units"} else [argument, *more]
        where = None if kept == Literal(True) else kept
    return window(
        function, tuple(given), partition, tuple(terms), _frame(part(node, "spec") or part(over, "spec")), where
    )


def _frame(spec: Node | None) -> RowFrame | None:
    """Return the frame of a window: ROWS by whole numbers of rows, RANGE up to the row's own ties."""
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    start = _frame_end(spec.args.get("start"), str(spec.args.get("start_side") or ""), kind)
    last = spec.args.get("end")
    end = 0 if last is None else _frame_end(last, str(spec.args.get("end_side") or ""), kind)
    return RowFrame(kind == "ROWS", start, end)


def _frame_end(said: Node | str | None, side: str, kind: str) -> int | None:
    if said == "UNBOUNDED":
        return None
    if said == "CURRENT ROW":
        return 0
    number = None if said is None or isinstance(said, str) else translate(said, Scope({})).constant
    if kind != "ROWS" or type(number) is not int or number < 0:
        raise Unsupported(
            "a frame counts rows by a constant, ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or goes from the first: "
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        )
    return -number if side.upper() == "PRECEDING" else number


_COUNTS: Mapping[str, Callable[[Node, Scope], Expression]] = {
    "count_big": _count_big,
    **dict.fromkeys(("count_distinct", "uniq"), _count_different),
}


def _any_value(node: Node, scope: Scope) -> Expression:
    """Return ANY_VALUE, which the parser reads as one that skips NULLs; nothing else may state that."""
    inner = part(node, "this") if node.key == "ignorenulls" else node
    if inner.key != "anyvalue":
        raise refusal(node, NAMES)
    return aggregate("any_value", translate(part(inner, "this"), scope))


_AGGREGATES: Mapping[str, Callable[[Node, Scope], Expression]] = {
    **dict.fromkeys(("anyvalue", "ignorenulls"), _any_value),
    "anonymous": _anonymous,
    "count": _count,
    "countif": _count_if,
    "filter": _filter,
    "min": _extreme,
    "mode": _mode,
    "max": _extreme,
    "window": _window,
    **dict.fromkeys(("median", "quantile", "percentilecont", "percentiledisc"), _quantile),
    "withingroup": _within_group,
    **dict.fromkeys(
        ("grouping", "groupingid"), lambda node, scope: grouping(*_several(parts(node, "expressions"), scope))
    ),
}
