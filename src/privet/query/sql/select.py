"""Reads SELECT statements: the rows under each, GROUP BY with its levels, and the question.

A sub-query or CTE without aggregates narrows private rows; one with aggregates releases rows, and a query over it
reshapes the released rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from privet.core.errors import InvariantError, RequestError, UnknownName, Unsupported
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import Schema
from privet.core.unit import unit_columns
from privet.query.build import aggregated, by_distinct, listed, narrowed, refined
from privet.query.expressions import mentions
from privet.query.inside import deduplicated, grouped, stays_within, with_ranks
from privet.query.join import shared_rows, united
from privet.query.lookups import has_outer, outer
from privet.query.nodes import (
    Level,
    Order,
    PrivateRows,
    Query,
    ReleasedRows,
    Select,
    Standing,
    crossed,
    cubed,
    has_aggregate,
    has_window,
    rolled_up,
    spread_out,
    union_of,
)
from privet.query.normal import call, conjunction
from privet.query.released import (
    RELEASED_INSIDE,
    FirstValues,
    stacked,
    unused,
    value_of_released,
    with_first,
    with_values,
)
from privet.query.shape import conjuncts, is_public

from .calls import NAMES
from .clauses import Node, conjuncts_of, part, parts, refusal
from .from_clause import FromTables, item_of, pivoted, read_from, renamed, standing_at
from .nested import KeptMembers, Lookups, Nested, ReadNested, Values
from .rewrites import fixed_value
from .translate import Scope, find, translate

Read = Callable[[Node], Expression]

_SEVERAL = frozenset(("rollup", "cube", "groupingsets"))
_LARGEST_LIMIT = 2**31
_ROWS = (
    "this lists single rows of a private table; aggregate them: SELECT COUNT(*) FROM ..., or "
    "SELECT x, AVG(y) FROM ... GROUP BY x"
)


def read_groups(group: Node, read: Read) -> tuple[Level, ...]:
    """Return the levels of a GROUP BY: one, unless it states more."""
    items = parts(group, "expressions")
    if not items:
        raise Unsupported("GROUP BY needs grouping columns; list them")
    return crossed([_levels(item, read) for item in items])


def _levels(item: Node, read: Read) -> tuple[Level, ...]:
    inner = parts(item, "expressions") if item.key in _SEVERAL else []
    if item.key in ("rollup", "cube") and not inner:
        raise Unsupported(f"{item.key.upper()} needs columns: GROUP BY {item.key.upper()} (a, b)")
    if item.key == "rollup":
        return rolled_up([_level(node, read) for node in inner])
    if item.key == "cube":
        return cubed([_level(node, read) for node in inner])
    if item.key == "groupingsets":
        return tuple(level for node in inner for level in _levels(node, read))
    return (_level(item, read),)


def _level(item: Node, read: Read) -> Level:
    """Return the keys of one set in brackets; () is the grand total."""
    if item.key == "tuple":
        return tuple(dict.fromkeys(read(node) for node in parts(item, "expressions")))
    while item.key == "paren":
        item = part(item, "this")
    return (read(item),)


def read_query(
    tree: Node, tables: Mapping[str, Schema], views: Mapping[str, Standing], first: FirstValues | None = None
) -> Query:
    """Return the query that a whole statement asks, and fill in the values that must be released before it, if any."""
    while tree.key == "subquery" and part(tree, "alias") is None:
        tree = part(tree, "this")
    exact = _reads_public(tree, tables, views)
    relation = _relation(tree, FromTables(tables, views, set(views), exact, first), outermost=True)
    if not isinstance(relation, ReleasedRows):
        raise InvariantError("rows that were not released reached the end of a query")
    return relation.query


def _reads_public(tree: Node, tables: Mapping[str, Schema], views: Mapping[str, Standing]) -> bool:
    """Whether a question reads public tables alone, whatever it asks of them."""
    if not any(map(is_public, tables.values())) and not views:
        return False
    ctes = {part(part(node, "alias"), "this").name.casefold() for node in tree.walk() if node.key == "cte"}
    read: list[Schema] = []
    for node in tree.walk():
        if node.key != "table" or part(node, "this").key != "identifier" or part(node, "this").name.casefold() in ctes:
            continue
        view, table = find(views, part(node, "this")), find(tables, part(node, "this"))
        standing = None if view is None else views[view]
        if isinstance(standing, PrivateRows):
            read.append(standing.schema)
        elif table is None:
            return False
        else:
            read.append(tables[table])
    return bool(read) and all(map(is_public, read))


def read_rows(tree: Node, tables: Mapping[str, Schema], views: Mapping[str, Standing]) -> PrivateRows:
    """Return the rows that a statement without noise makes: within people, or of public tables."""
    relation = _relation(tree, FromTables(tables, views, set(views)))
    if not isinstance(relation, PrivateRows):
        raise Unsupported(
            "a view is of rows that still belong to people; this one aggregates across them, and would need noise: "
            "group it by who owns the rows, or ask it as a question"
        )
    return relation


def _relation(node: Node, places: FromTables, *, outermost: bool = False) -> Standing:
    while node.key == "subquery" and part(node, "alias") is None:
        node = part(node, "this")
    if node.key == "pivot":
        return pivoted(standing_at(part(node, "this"), places, _relation)[0], node)
    if node.key not in {"select", "union", "intersect", "except"}:
        raise refusal(node, NAMES)
    if part(node, "with") is not None:
        places = _with(part(node, "with"), places)
    met = 0 if places.first is None else len(places.first.found)
    try:
        made = _rows(node, places, outermost)
    except RequestError:
        if places.first is not None:
            places.first.forget(met)
        raise
    if part(node, "with") is not None:
        unused = sorted(set(places.ctes) - places.used)
        if unused:
            raise Unsupported(f"WITH {unused[0]!r} is never used; leave it out")
    return made


def _rows(node: Node, places: FromTables, outermost: bool) -> Standing:
    """Return the result of a SELECT or a UNION over rows; of public rows, what no relation can express is listed."""
    read = _select if node.key == "select" else _union
    if outermost or not places.exact:
        return read(node, places, outermost)
    try:
        return read(node, places, False)
    except Unsupported:
        return read(node, places, True)


def _with(node: Node, places: FromTables) -> FromTables:
    ctes, own = dict(places.ctes), set()
    used = set(places.ctes)  # an outer CTE is answered for where it was made
    for cte in parts(node, "expressions"):
        name = part(part(cte, "alias"), "this").name
        if name.casefold() in own:
            raise RequestError(f"two CTEs are called {name!r}; give each its own name")
        own.add(name.casefold())
        made = _relation(part(cte, "this"), replace(places, ctes=dict(ctes), used=used))
        made = renamed(made, part(cte, "alias"))
        for hidden in [known for known in ctes if known.casefold() == name.casefold()]:
            del ctes[hidden]
        ctes[name] = made
        used.discard(name)
    return replace(places, ctes=ctes, used=used)


def _union(node: Node, places: FromTables, outermost: bool) -> Standing:
    """Return the result of UNION, INTERSECT or EXCEPT; for private rows without ALL, the person is a column."""
    members: list[Node] = []
    whole, merges = node, []
    while node.key == whole.key and (node.key == "union" or not members):
        merges.append(bool(node.args.get("distinct")))
        members.append(part(node, "expression"))
        node = part(node, "this")
    members.append(node)
    standings = [_relation(member, places) for member in reversed(members)]
    released = [standing for standing in standings if isinstance(standing, ReleasedRows)]
    if released and whole.key == "union":
        return _united(whole, released, len(standings), set(merges))
    word = whole.key.upper()
    if released:
        raise Unsupported(f"{word} of released rows is not supported; ask one SELECT at a time")
    cut = any(part(whole, clause) is not None for clause in ("order", "limit", "offset"))
    if cut and not (places.exact and outermost):
        raise Unsupported(
            "ORDER BY, LIMIT and OFFSET on private rows choose rows by what other people's rows hold; leave them out"
        )
    if outermost and not places.exact:
        raise Unsupported(_ROWS)
    private = [standing for standing in standings if isinstance(standing, PrivateRows)]
    if whole.key != "union" and merges != [True]:
        raise Unsupported(f"{word} ALL is not supported; write {word}, which returns different rows")
    made = (
        _together(private, merges[::-1])
        if whole.key == "union"
        else shared_rows(private[0], private[1], kept=whole.key == "intersect")
    )
    return _listed(whole, made) if outermost else made


def _listed(node: Node, rows: PrivateRows) -> ReleasedRows:
    """Return combined public rows in the requested order."""
    outputs = tuple(rows.columns.items())
    order = _order(node, Scope(rows.columns), outputs)
    return listed(
        rows, Select(outputs=outputs, order=order, limit=_count(node, "limit"), offset=_count(node, "offset") or 0)
    )


def _together(relations: list[PrivateRows], merges: list[bool]) -> PrivateRows:
    """Return the rows of UNION and UNION ALL, from the left; of the former, without repeats."""
    if len(set(merges)) == 1:
        made = united(relations)
        return deduplicated(made, "UNION") if merges[0] else made
    made = relations[0]
    for relation, merged in zip(relations[1:], merges, strict=True):
        made = united([made, relation])
        made = deduplicated(made, "UNION") if merged else made
    return made


def _united(node: Node, released: list[ReleasedRows], parts_there: int, distinct: set[bool]) -> ReleasedRows:
    """Return released rows one below the other, in the order that the whole requests."""
    if len(released) != parts_there:
        raise Unsupported("UNION of released rows and of private ones would show the latter; aggregate in each part")
    if len(distinct) > 1:
        raise Unsupported("UNION and UNION ALL are not mixed here; put one of them into a sub-query")
    rows = stacked(released, distinct=True in distinct)
    outputs: tuple[tuple[str | None, Expression], ...] = tuple((name, ColumnRef(name)) for name in rows.facts)
    order = _order(node, Scope(rows.columns), outputs)
    limit, offset = _count(node, "limit"), _count(node, "offset") or 0
    if not (order or limit is not None or offset):
        return rows
    return refined(rows, Select(outputs=outputs, order=order, limit=limit, offset=offset))


def _select(node: Node, places: FromTables, outermost: bool) -> Standing:
    if part(node, "from") is None:
        return _alone(node, places)
    relation, scope, asked_by_joins = read_from(node, places, _relation)
    lookups: Lookups | KeptMembers = (
        KeptMembers(relation, lambda item: _relation(item, places))
        if isinstance(relation, ReleasedRows)
        else Lookups(relation, _reader(places))
    )
    # a released value may be used in computations on released rows; WHERE of private rows is not one of them
    values = Values(
        lambda item: _relation(item, places, outermost=places.exact), lookups if isinstance(lookups, Lookups) else None
    )
    scope = replace(scope, windows={part(window, "this").name: window for window in parts(node, "windows")})
    chosen = replace(scope, nested=_or_first(lookups, places) if isinstance(lookups, Lookups) else values)
    scope = replace(scope, nested=values)
    outputs = _outputs(node, scope)
    aliases = {name: expression for name, expression in outputs if name is not None}
    where = _where(node, replace(chosen, aliases=aliases), asked_by_joins, lookups)
    levels = _select_levels(node, scope, outputs, aliases)
    asked = Select(
        outputs=outputs,
        where=where,
        keys=union_of(levels),
        levels=levels if len(levels) > 1 else (),
        having=_condition(node, "having", replace(scope, aliases=aliases)),
        order=_order(node, replace(scope, aliases=aliases, aliases_first=True), outputs),
        distinct=_distinct(node),
        limit=_count(node, "limit"),
        offset=_count(node, "offset") or 0,
        qualify=_condition(node, "qualify", replace(scope, aliases=aliases)),
    )
    relation = lookups.rows
    if values.found and unused(asked, values.found):
        raise Unsupported(RELEASED_INSIDE)  # it stood in GROUP BY, where it makes no groups
    if asked.levels and (not outermost and isinstance(relation, PrivateRows) and stays_within(relation, asked)):
        raise Unsupported("GROUPING SETS, ROLLUP and CUBE stand in the outermost SELECT, which releases")
    if isinstance(relation, ReleasedRows):
        return refined(*with_values(relation, asked, values.found))
    if outermost and is_public(relation.schema):
        return listed(relation, asked, values.found)
    beside = tuple(values.found)
    if beside and places.first is not None:
        asked, beside = with_first(asked, beside, places.first)
    released = [*(output for _, output in asked.outputs), asked.having, *(term.expression for term in asked.order)]
    aggregates = asked.having is not None or any(has_aggregate(expression) for expression in released)
    across = asked.qualify is not None or any(has_window(expression) for expression in released)
    if across and not (asked.keys or aggregates):
        if outermost:
            raise Unsupported(
                "window functions (OVER) stand over released rows, beside GROUP BY or outside a sub-query that "
                "aggregates; over private rows they stand in a sub-query, within one person's rows"
            )
        relation, asked = _ranked(relation, asked)
    if asked.distinct and not (asked.keys or aggregates or across) and (outermost or _merges(relation, asked)):
        return aggregated(relation, by_distinct(asked), beside)
    if (asked.keys or asked.levels or aggregates) and (outermost or not stays_within(relation, asked)):
        return aggregated(relation, asked, beside)
    if beside:
        raise Unsupported(RELEASED_INSIDE)
    if asked.keys or asked.levels or aggregates:
        return grouped(relation, asked)
    if outermost:
        raise Unsupported(_ROWS)
    return narrowed(relation, asked)


def _ranked(relation: PrivateRows, asked: Select) -> tuple[PrivateRows, Select]:
    """Return rows with a column for each window function, and the SELECT over them; QUALIFY chooses among such rows."""
    if asked.qualify is None:
        return with_ranks(relation, asked)
    aliases = {name: expression for name, expression in asked.outputs if name is not None}
    if any(has_aggregate(expression) for expression in (asked.qualify, *aliases.values())):
        raise Unsupported("QUALIFY over private rows is by window functions; conditions on aggregates go into HAVING")
    made, wider = with_ranks(relation, replace(asked, outputs=(*asked.outputs, (None, asked.qualify)), qualify=None))
    *outputs, (_, kept) = wider.outputs
    return made, replace(wider, outputs=tuple(outputs), where=kept)


def _or_first(lookups: Lookups, places: FromTables) -> Callable[[Node, Scope], Expression]:
    """Return the reader of sub-queries in conditions on rows: of one person, public, or a value released first.

    Guarantee: a value over everybody's rows is a constant here: one that was released, or one that stands for it.
    """
    first = places.first
    if first is None:
        return lookups

    def read(node: Node, scope: Scope) -> Expression:
        inner = node
        while inner.key in {"subquery", "paren"}:
            inner = part(inner, "this")
        if inner.key != "select":
            return lookups(node, scope)
        try:
            made = _relation(inner, places)
        except (UnknownName, Unsupported):  # it names columns of the rows that it is asked for
            return lookups(node, scope)
        return first(value_of_released(made)) if isinstance(made, ReleasedRows) else lookups(node, scope)

    return read


def _merges(relation: PrivateRows, asked: Select) -> bool:
    """Whether DISTINCT of a sub-query merges rows of several people: then it means groups, and releases them."""
    units = unit_columns(relation.schema.unit)
    shown = [expression for _, expression in asked.outputs]
    return not is_public(relation.schema) and not (units and all(ColumnRef(name) in shown for name in units))


def _alone(node: Node, places: FromTables) -> Standing:
    """Return the result of a SELECT without FROM over released values: SELECT (SELECT ...) / (SELECT ...)."""
    values = Values(lambda item: _relation(item, places))
    outputs = _outputs(node, Scope({}, nested=values))
    if not values.found:
        raise Unsupported("a query reads a table: SELECT ... FROM " + (next(iter(sorted(places.tables)), "...")))
    asked = Select(outputs=outputs)
    first = refined(values.found[0], Select(outputs=(("first", ColumnRef(next(iter(values.found[0].facts)))),)))
    return refined(*with_values(first, asked, values.found))


def _outputs(node: Node, scope: Scope) -> tuple[tuple[str | None, Expression], ...]:
    outputs: list[tuple[str | None, Expression]] = []
    for item in parts(node, "expressions"):
        if item.key == "star" or (item.key == "column" and part(item, "this").key == "star"):
            qualifier = part(item, "table") if item.key == "column" else None
            outputs += _starred(scope) if qualifier is None else scope.table(qualifier).items()
        elif item.key == "alias":
            # the name of an earlier column may be used, where no column of a table has it
            before = replace(scope, aliases={name: output for name, output in outputs if name is not None})
            outputs.append((part(item, "alias").name, translate(part(item, "this"), before)))
        else:
            expression = translate(item, scope)
            outputs.append((_own_name(item, scope), expression))
    return spread_out(tuple(outputs))


def _own_name(item: Node, scope: Scope) -> str | None:
    """Return the name of a column that is shown under its own, as it is declared."""
    if item.key != "column":
        return None
    if scope.outer is not None:
        return str(part(item, "this").name)
    qualifier = part(item, "table")
    return find(scope.columns if qualifier is None else scope.table(qualifier), part(item, "this"))


def _starred(scope: Scope) -> list[tuple[str | None, Expression]]:
    """Return all columns of all tables, in order; one that several have, if it is the same in all, once."""
    shown: dict[tuple[str, Expression], str] = {}
    for _, columns in scope.tables:
        for name, expression in columns.items():
            merged = scope.columns.get(name, expression)
            shown.setdefault((name.casefold(), expression if len(scope.tables) == 1 else merged), name)
    return [(name, expression) for (_, expression), name in shown.items()]


def _select_levels(
    node: Node,
    scope: Scope,
    outputs: tuple[tuple[str | None, Expression], ...],
    aliases: Mapping[str, Expression],
) -> tuple[Level, ...]:
    group = part(node, "group")
    if group is None:
        return ()
    if group.args.get("all"):
        levels: tuple[Level, ...] = (tuple(dict.fromkeys(value for _, value in outputs if not has_aggregate(value))),)
    else:
        inner = replace(scope, aliases=aliases)
        levels = read_groups(group, lambda item: _ordinal(item, outputs, "GROUP BY") or translate(item, inner))
    if len(levels) > 1:
        return levels
    # an expression that is the same in every row makes no groups
    return tuple(tuple(key for key in level if has_aggregate(key) or mentions(key)) for level in levels)


def _ordinal(item: Node, outputs: tuple[tuple[str | None, Expression], ...], clause: str) -> Expression | None:
    if item.key != "literal":
        return None
    written = str(item.args["this"])
    place = int(written) if written.isascii() and written.isdigit() and len(written) <= 6 else 0
    if item.args.get("is_string") or not 1 <= place <= len(outputs):
        raise RequestError(f"{clause} takes a column, an expression or a place from 1 to {len(outputs)}")
    return outputs[place - 1][1]


def _order(node: Node, scope: Scope, outputs: tuple[tuple[str | None, Expression], ...]) -> tuple[Order, ...]:
    if part(node, "order") is None:
        return ()
    terms = []
    for item in parts(part(node, "order"), "expressions"):
        if item.key != "ordered":
            raise refusal(item, NAMES)
        what = part(item, "this")
        flags = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
        if what.key == "var" and str(what.name).upper() == "ALL":
            terms += [Order(output, *flags) for _, output in outputs]
            continue
        inner = scope if what.key == "column" else replace(scope, aliases_first=False)
        expression = _ordinal(what, outputs, "ORDER BY") or translate(what, inner)
        terms.append(Order(expression, *flags))
    return tuple(terms)


def _where(node: Node, scope: Scope, used: frozenset[int], lookups: Lookups | KeptMembers) -> Expression | None:
    """Return the condition on rows, without the parts that joins have checked."""
    written = part(node, "where")
    conditions: list[Expression | None] = []
    for conjunct in conjuncts_of(None if written is None else part(written, "this")):
        if id(conjunct) in used:
            continue
        if conjunct.key == "in" and part(conjunct, "query") is not None:
            conditions.append(lookups.members(conjunct, scope))
        else:
            conditions.append(translate(conjunct, scope))
    return conjunction(*conditions)


def _reader(places: FromTables) -> ReadNested:
    """Return the reader of sub-queries in expressions."""

    def read(node: Node, outer: Scope) -> Nested:
        if node.key == "select" and not any(part(node, clause) is not None for clause in _WHOLE):
            relation, scope, used = read_from(node, places, _relation)
            if not isinstance(relation, PrivateRows):
                raise Unsupported(RELEASED_INSIDE)
            lookups = Lookups(relation, read)
            scope = replace(scope, outer=outer, nested=lookups)
            asked = [_linked(conjunct, relation, outer) for conjunct in conjuncts(_where(node, scope, used, lookups))]
            outputs = _outputs(node, scope)
            links = tuple(conjunct for conjunct in asked if has_outer(conjunct))
            if links or part(node, "distinct") is None:
                own = conjunction(lookups.rows.where, *(conjunct for conjunct in asked if not has_outer(conjunct)))
                return Nested(replace(lookups.rows, where=own), links, tuple(expression for _, expression in outputs))
        made = _relation(node, places)
        if not isinstance(made, PrivateRows):
            raise Unsupported(RELEASED_INSIDE)
        return Nested(made, (), tuple(made.columns.values()))

    return read


def _linked(condition: Expression, rows: PrivateRows, around: Scope) -> Expression:
    """Return a condition of a sub-query in which the owner that a link added to its table is the one around it.

    A table whose `o_custkey` identifies the person has no own `c_custkey`: in `o_custkey = c_custkey`, which
    would be true of each of its rows, the other one is meant.
    """
    link = rows.schema.link if isinstance(rows.table, str) else None
    if link is None or condition.function != "equal":
        return condition
    for name in item_of(rows, "", None).hidden:
        added = next((own for own in rows.columns if own.casefold() == name), "")
        theirs = next((expression for own, expression in around.columns.items() if own.casefold() == name), None)
        if theirs is not None and {ColumnRef(link.via), ColumnRef(added)}.issuperset(condition.arguments):
            return call("equal", ColumnRef(added), outer(theirs))
    return condition


_WHOLE = ("group", "having", "limit", "offset", "with")
"""Clauses with which a sub-query is read separately, and names nothing of the query around it."""


def _condition(node: Node, clause: str, scope: Scope) -> Expression | None:
    written = part(node, clause)
    return None if written is None else translate(part(written, "this"), scope)


def _distinct(node: Node) -> bool:
    written = part(node, "distinct")
    if written is not None and parts(written, "expressions"):
        raise refusal(written, NAMES)
    return written is not None


def _count(node: Node, clause: str) -> int | None:
    written = part(node, clause)
    if written is None:
        return None
    said = part(written, "count" if written.key == "fetch" else "expression")
    if said is None and written.key == "fetch":  # FETCH FIRST ROW ONLY
        return 1
    while said.key == "paren":
        said = part(said, "this")
    number = translate(said, Scope({})).constant if said.key == "literal" or fixed_value(said) else None
    if type(number) is not int or number > _LARGEST_LIMIT:
        raise Unsupported(f"{clause.upper()} takes a constant whole number of at most {_LARGEST_LIMIT}")
    return number
