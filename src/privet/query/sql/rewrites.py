"""Rewrites before a tree is read: stated bounds, other forms, brackets around joins, names with dots, parameters.

Each leaves a tree that means the same and that the reader understands. None reads data or decides about privacy. Bounds
of an aggregate, as GoogleSQL writes them, are not known to the parser:

    SUM(x, contribution_bounds_per_group => (0, 100))        ANON_SUM(x CLAMPED BETWEEN 0 AND 100)

Both become a call around the aggregate, by a name that cannot be typed, before the parser runs. Bounds anywhere
else, or bounds that are not constants, are refused by name.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from privet.core.errors import BadParameter, ParseError, RequestError, UnknownName, Unsupported
from privet.core.given import plain_text
from privet.core.relation import Expression, Literal
from privet.query.terms import Constant, constant

from .clauses import Node, blame, part, parts

PER_GROUP, PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
AROUND = "contribution bounds "
"""The prefix of the name of the call around an aggregate; no name in SQL has a blank before its end."""

ANON = {
    "ANON_COUNT": ("COUNT", PER_GROUP),
    "ANON_SUM": ("SUM", PER_GROUP),
    "ANON_AVG": ("AVG", PER_GROUP),
    "ANON_VAR_POP": ("VAR_POP", PER_ROW),
    "ANON_STDDEV_POP": ("STDDEV_POP", PER_ROW),
    "ANON_PERCENTILE_CONT": ("PERCENTILE_CONT", PER_ROW),
}
"""The older names, and what CLAMPED BETWEEN bounds there: a person's contribution to a group, or each row's value."""

BOUNDING = frozenset({PER_GROUP, PER_ROW, "clamped", "report_format", "anon_quantiles", *map(str.lower, ANON)})
"""Words, in small letters, without which a question states no bounds, and nothing here is to be done."""

_FORM = "a number, both constants: SUM(x, contribution_bounds_per_group => (0, 100))"


class _Open(NamedTuple):
    """An open bracket: where its function starts among the tokens that are kept, and what CLAMPED means."""

    start: int
    clamped: str | None
    called: bool


def with_bounds(tokens: Sequence[Node]) -> list[Node]:
    """Return the tokens with each aggregate that states bounds inside a call with these bounds."""
    kept: list[Node] = []
    calls: list[_Open] = []
    bounds: dict[int, tuple[str, list[Node], list[Node]]] = {}
    place = 0
    while place < len(tokens):
        token = tokens[place]
        kind, word = token.token_type.name, str(token.text)
        if kind == "L_PAREN":
            name = str(kept[-1].text).upper() if kept and _is_name(kept[-1]) else ""
            if name == "ANON_QUANTILES":
                raise Unsupported("ANON_QUANTILES makes a list; ask for each quantile: PERCENTILE_CONT(x, 0.25), ...")
            plain, clamped = ANON.get(name, (name, None))
            if clamped is not None:
                kept[-1] = renamed(kept[-1], plain)
            calls.append(_Open(len(kept) - 1, clamped, bool(name)))
        if calls and _is_word(token, "CLAMPED") and _is_word(_at(tokens, place + 1), "BETWEEN"):
            if calls[-1].clamped is None:
                raise ParseError("CLAMPED BETWEEN stands in ANON_* functions", line=token.line, column=token.col)
            low, place = _number(tokens, place + 2, "AND")
            high, place = _number(tokens, place + 1, "R_PAREN")
            _add(bounds, calls[-1], calls[-1].clamped, low, high, token)
            continue
        if word.casefold() in (PER_GROUP, PER_ROW) and _kind(tokens, place + 1) == "FARROW":
            if not calls or not calls[-1].called or not kept or kept[-1].token_type.name != "COMMA":
                raise ParseError(
                    f"{word} is an argument of an aggregate, after {_FORM}", line=token.line, column=token.col
                )
            if _kind(tokens, place + 2) != "L_PAREN":
                raise ParseError(f"{word} takes a low and a high end, each {_FORM}", line=token.line, column=token.col)
            low, place = _number(tokens, place + 3, "COMMA")
            high, place = _number(tokens, place + 1, "R_PAREN")
            kept.pop()
            _add(bounds, calls[-1], word.casefold(), low, high, token)
            place += 1
            continue
        if _is_word(token, "REPORT_FORMAT") and _kind(tokens, place + 1) == "FARROW":
            raise Unsupported(
                "report_format is not for a question to choose: every answer has its intervals; leave it out"
            )
        kept.append(token)
        if kind == "R_PAREN" and calls:
            start = calls.pop().start
            if start in bounds:
                around, low, high = bounds.pop(start)
                comma = renamed(token, ",", "COMMA")
                head = [renamed(kept[start], f"{AROUND}{around}", "VAR"), renamed(token, "(", "L_PAREN")]
                kept[start:] = [*head, *kept[start:], comma, *low, comma, *high, token]
        place += 1
    return kept


def renamed(token: Node, text: str, kind: str | None = None) -> Node:
    """Return a token with another text, at the same place."""
    kinds = type(token.token_type)
    chosen = token.token_type if kind is None else kinds[kind]
    return type(token)(chosen, text, token.line, token.col, token.start, token.end)


def _add(
    bounds: dict[int, tuple[str, list[Node], list[Node]]],
    call: _Open,
    kind: str,
    low: list[Node],
    high: list[Node],
    near: Node,
) -> None:
    if call.start in bounds:
        raise ParseError("an aggregate states its bounds once", line=near.line, column=near.col)
    bounds[call.start] = (kind, low, high)


def _number(tokens: Sequence[Node], place: int, then: str) -> tuple[list[Node], int]:
    """Return the tokens of a constant number, and the place after it."""
    end = place + (_kind(tokens, place) == "DASH")
    if _kind(tokens, end) == "DOT":  # .5 is read as two signs
        end += 1
    if _kind(tokens, end) != "NUMBER" or _kind(tokens, end + 1) != then:
        near = tokens[min(place, len(tokens) - 1)]
        raise ParseError(
            f"contribution_bounds_per_group, contribution_bounds_per_row and CLAMPED BETWEEN have as each end {_FORM}",
            line=near.line,
            column=near.col,
        )
    return [*tokens[place : end + 1]], end + 1


def _kind(tokens: Sequence[Node], place: int) -> str:
    return str(tokens[place].token_type.name) if place < len(tokens) else ""


def _at(tokens: Sequence[Node], place: int) -> Node | None:
    return tokens[place] if place < len(tokens) else None


def _is_word(token: Node | None, word: str) -> bool:
    return (
        token is not None and token.token_type.name not in {"STRING", "IDENTIFIER"} and str(token.text).upper() == word
    )


def _is_name(token: Node) -> bool:
    return token.token_type.name not in {"STRING", "IDENTIFIER", "NUMBER"} and str(token.text)[:1].isalpha()


# Other spellings of forms that are understood: WITH ROLLUP, x = ANY (...), x IN (VALUES ...), NATURAL JOIN.

FORMS = frozenset(("rollup", "cube", "any", "all", "values"))
"""Kinds of nodes in the forms that are written anew; NATURAL JOIN is a join with a method."""

NATURAL = "natural"
"""Marks a join of all columns that both sides have, until it is known which these are."""


def settle_forms(nodes: Sequence[Node]) -> bool:
    """Write other forms anew, and return whether there were any."""
    changed = False
    for node in nodes:
        rewrite = _REWRITES.get(node.key)
        if rewrite is not None and rewrite(node):
            changed = True
    return changed


def _group(node: Node) -> bool:
    """Make GROUP BY a, b WITH ROLLUP into GROUP BY ROLLUP (a, b), and WITH CUBE likewise."""
    for word in ("rollup", "cube"):
        value = node.args.get(word)
        bare = isinstance(value, list) and len(value) == 1 and not parts(value[0], "expressions")
        if bare and parts(node, "expressions"):
            value[0].set("expressions", parts(node, "expressions"))
            node.set("expressions", value)
            node.set(word, None)
            return True
    return False


def _any(node: Node) -> bool:
    """Make x = ANY (...) into x IN (...), and x <> ALL (...) into NOT x IN (...)."""
    quantified = part(node, "expression")
    if quantified is None or quantified.key != {"eq": "any", "neq": "all"}[node.key]:
        return False
    from sqlglot import expressions as tree

    inner = part(quantified, "this")
    while inner is not None and inner.key == "paren":
        inner = part(inner, "this")
    if inner is None or inner.key not in {"select", "subquery", "tuple"}:
        return False
    listed = parts(inner, "expressions") if inner.key == "tuple" else None
    query = None if listed is not None else inner if inner.key == "subquery" else tree.Subquery(this=inner)
    made = tree.In(this=part(node, "this"), expressions=listed, query=query)
    node.replace(made if node.key == "eq" else tree.Not(this=made))
    return True


def _in(node: Node) -> bool:
    """Make x IN (VALUES (1), (2)) into x IN (1, 2)."""
    listed = parts(node, "expressions")
    if len(listed) != 1 or listed[0].key != "values" or part(listed[0], "alias") is not None:
        return False
    rows = parts(listed[0], "expressions")
    if not all(row.key == "tuple" for row in rows):
        return False
    node.set(
        "expressions", [parts(row, "expressions")[0] if len(parts(row, "expressions")) == 1 else row for row in rows]
    )
    return True


def _join(node: Node) -> bool:
    """Mark NATURAL JOIN, whose columns are known where its tables are."""
    plain = part(node, "on") is None and not parts(node, "using")
    if str(node.args.get("method") or "").upper() != "NATURAL" or not plain:
        return False
    node.set("method", None)
    node.set(NATURAL, True)
    return True


_REWRITES = {"group": _group, "eq": _any, "neq": _any, "in": _in, "join": _join}


# Joins in brackets as a plain list of joins: FROM (a JOIN b ON ...) JOIN c ON ..., and a JOIN (b JOIN c ON ...) ON ...
#
# Brackets on the left change nothing. On the right they do so for outer joins, which are refused there; for others, the
# condition of the brackets is one more condition of WHERE, since an inner join keeps the pairs that meet it.


def without_brackets(nodes: Sequence[Node]) -> None:
    """Take the brackets around joins out of every FROM."""
    if any(node.key == "subquery" and _is_joined(node) for node in nodes):
        for node in nodes:
            if node.key == "select" and part(node, "from") is not None:
                _open(node)


def _is_joined(node: Node) -> bool:
    return part(node, "this") is not None and part(node, "this").key == "table" and part(node, "alias") is None


def _open(select: Node) -> None:
    origin = part(select, "from")
    first, joins = part(origin, "this"), parts(select, "joins")
    while first.key == "subquery" and _is_joined(first):
        joins = [*_taken(part(first, "this")), *parts(first, "joins"), *joins]
        first = part(first, "this")
    origin.set("this", first)
    plain: list[Node] = []
    for join in joins:
        place = part(join, "this")
        if place.key != "subquery" or not _is_joined(place):
            plain.append(join)
            continue
        inner = _taken(part(place, "this"))
        if any(not _is_inner(other) for other in (join, *inner)) or any(_turns(other) for other in joins):
            raise Unsupported(
                "brackets around joins on the right of an outer join are not supported; write a sub-query with names "
                "for its columns, or join one table after the other"
            )
        condition = part(join, "on")
        if condition is None:
            raise Unsupported("a join with brackets on its right needs an ON")
        join.set("this", part(place, "this"))
        join.set("on", None)
        join.set("kind", None)
        plain += [join, *inner]
        _also(select, condition)
    select.set("joins", plain)


def _taken(table: Node) -> list[Node]:
    """Return the joins beside a table within its brackets, and remove them from it."""
    joins = parts(table, "joins")
    table.set("joins", None)
    return joins


def _is_inner(join: Node) -> bool:
    return not join.args.get("side") and str(join.args.get("kind") or "").upper() in {"", "INNER", "CROSS"}


def _turns(join: Node) -> bool:
    return str(join.args.get("side") or "").upper() in {"RIGHT", "FULL"}


def _also(select: Node, condition: Node) -> None:
    from sqlglot.expressions import And, Where

    where = part(select, "where")
    if where is None:
        select.set("where", Where(this=condition))
    else:
        where.set("this", And(this=part(where, "this"), expression=condition))


# Finds the declared table that a name with dots means: schema.table, catalogue.schema.table, "quoted" or not.
#
# A schema is a word before a name and nothing more: there is one set of tables, and no word makes another one.

PUBLIC = "public"
"""The schema of all tables, where none is declared."""

DECLARED = "declared"
"""Marks an identifier that names a declared table or view, even if a CTE has the same name."""

_MAX_SCHEMA_LENGTH = 200


def read_schema(value: object) -> str | None:
    """Return the schema that tables are declared to be in: a name, or a catalogue and a name with a dot between."""
    if value is None:
        return None
    words = plain_text(value, "schema").split(".")
    if not 1 <= len(words) <= 2 or not all(word.strip() for word in words) or sum(map(len, words)) > _MAX_SCHEMA_LENGTH:
        raise BadParameter("schema", value, "a name such as 'clinic', or a catalogue and a name: 'warehouse.clinic'")
    return ".".join(words)


def find_table(path: Sequence[tuple[str, bool]], names: Collection[str], schema: str | None) -> str:
    """Return the declared name that a path of names means; each is exact where it is quoted.

    Raises:
        UnknownName: if there is no such table, or its schema is another one.
    """
    for name in names:  # a table may be declared with its schema in its name
        words = name.split(".")
        if len(words) == len(path) > 1 and all(map(_means, path, words)):
            return name
    table = path[-1]
    matching = [name for name in names if _means(table, name)]
    exact = [name for name in matching if name == table[0]] or matching
    if not exact:
        raise UnknownName("table", ".".join(word for word, _ in path), names)
    # a schema with the name of its only table, as in PUMS.PUMS, adds nothing to the table's name
    allowed = [schema] if schema is not None else [PUBLIC, exact[0]]
    for form in allowed:
        words = form.split(".")
        before = path[:-1]
        if len(before) <= len(words) and all(map(_means, before, words[len(words) - len(before) :])):
            return exact[0]
    asked = ".".join(word for word, _ in path[:-1])
    raise UnknownName(
        "schema",
        asked,
        allowed[:1],
        advice=f"the tables are in {allowed[0]!r}; write {allowed[0]}.{exact[0]}, or {exact[0]} alone",
    )


def settle_names(nodes: Sequence[Node], tables: Collection[str], views: Collection[str], schema: str | None) -> None:
    """Replace each name with dots before it, of a table or of a column's table, by the declared name that it means."""
    qualified = [node for node in nodes if node.key in {"table", "column"} and part(node, "db") is not None]
    if not qualified:
        return
    names = (*tables, *views)
    hidden = {part(part(node, "alias"), "this").name.casefold() for node in nodes if node.key == "cte"}
    known: dict[str, str] = {}  # the tables that FROM names without an alias, and the query's name for each
    for node in nodes:
        if node.key == "table" and part(node, "alias") is None:
            name = str(part(node, "this").name)
            known.setdefault(name.casefold(), name)
    for node in (candidate for candidate in qualified if candidate.key == "table"):
        name = find_table(_path(node), names, schema)
        if name in views and name.casefold() in hidden:
            raise RequestError(f"{name!r} is the name of a view and of a CTE; give the CTE another name")
        own = name.rsplit(".", 1)[-1]
        _settle(node, "this", name)
        part(node, "this").args[DECLARED] = name in tables
        if part(node, "alias") is None:
            known[name.casefold()] = own
            if own != name:
                node.set("alias", _alias(part(node, "this"), own))
    for node in (candidate for candidate in qualified if candidate.key == "column"):
        path = _path(node)
        name = find_table(path[:-1], names, schema)
        if name.casefold() not in known:
            shown = ".".join(word for word, _ in path)
            raise Unsupported(
                f"{shown} is of a table that FROM does not name, or names by an alias; write alias.{path[-1][0]}"
            )
        _settle(node, "table", known[name.casefold()])


def _settle(node: Node, argument: str, name: str) -> None:
    """Set the name of a node to a plain one instead of one with dots."""
    node.set(argument, _identifier(part(node, argument), name))
    node.set("db", None)
    node.set("catalog", None)


def _identifier(old: Node, name: str) -> Node:
    return type(old)(this=name, quoted=True).update_positions(old)


def _alias(old: Node, name: str) -> Node:
    from sqlglot.expressions import TableAlias

    return TableAlias(this=_identifier(old, name))


def _path(node: Node) -> list[tuple[str, bool]]:
    parts = [part(node, name) for name in ("catalog", "db", "table", "this") if name != "table" or node.key == "column"]
    return [(str(word.name), bool(word.args.get("quoted"))) for word in parts if word is not None]


def _means(written: tuple[str, bool], name: str) -> bool:
    word, quoted = written
    return word == name if quoted else word.casefold() == name.casefold()


# The inputs of a question when it is asked: values for its parameters, and the time. Both become constants.
#
# A parameter is a value and never text of the query: it enters the tree in the place of a constant. The time is
# fixed when the question is read, so that a plan, its digest and its answer are about one moment.

MARKS = frozenset(("?", "$", ":"))
"""The name of a parameter in the tree: no function in a text can have it."""

FIXED = "fixed"
"""The argument of a node that represents a value."""

_DAYS = frozenset(("CURRENT_DATE", "CURDATE", "TODAY", "UTC_DATE"))
_MOMENTS = frozenset(
    ("NOW", "GETDATE", "GETUTCDATE", "SYSDATE", "SYSDATETIME", "SYSUTCDATETIME", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")
) | {"CURRENT_DATETIME", "UTC_TIMESTAMP", "TRANSACTION_TIMESTAMP", "STATEMENT_TIMESTAMP", "GET_CURRENT_TIMESTAMP"}
CLOCK = _DAYS | _MOMENTS
"""Functions that return the day or the time at which a question is asked, in UTC."""

GIVEN = MARKS | CLOCK
"""Names that may denote a value supplied with a question, in capitals."""

_MOST_VALUES = 1_000

Parameters = Sequence[Constant] | Mapping[str, Constant]
"""Values for ? and $1 in their order, or for :name and $name by their names."""


@dataclass(frozen=True)
class GivenValues:
    """Values for parameters, as constants, and the moment of asking, if it may be used."""

    values: Mapping[str, Literal] = field(default_factory=dict)
    now: datetime.datetime | None = None


NOTHING = GivenValues()


def read_parameters(parameters: object) -> dict[str, Literal]:
    """Return values by the names of their parameters; those of a list by their places, from 1."""
    if parameters is None:
        return {}
    if isinstance(parameters, Mapping):
        named = dict(parameters)
        if not all(isinstance(name, str) and name.isidentifier() for name in named):
            raise BadParameter("parameters", list(named)[:3], "named as in the question: {'ward': 'A'} for :ward")
    elif isinstance(parameters, Sequence) and not isinstance(parameters, (str, bytes)):
        named = {str(place): value for place, value in enumerate(islice(parameters, _MOST_VALUES + 1), 1)}
    else:
        raise BadParameter(
            "parameters", type(parameters).__name__, "a list for ? and $1, or a mapping for :name and $name"
        )
    if len(named) > _MOST_VALUES:
        raise BadParameter("parameters", "more", f"at most {_MOST_VALUES:,} values")
    return {name: _value(name, value) for name, value in named.items()}


def _value(name: str, value: object) -> Literal:
    literal = constant(value, f"parameter {name}")  # type: ignore[arg-type]
    if not isinstance(literal, Literal):
        raise BadParameter(f"parameter {name}", type(value).__name__, "a value: a number, a text, a date, or None")
    return literal


def settle_given(nodes: Sequence[Node], given: GivenValues) -> None:
    """Replace each parameter of a tree by its value, and each name of the clock by the time of asking."""
    used: set[str] = set()
    for node in nodes:
        if node.key != "anonymous":
            continue
        name = str(node.args["this"])
        if name in MARKS:
            try:
                node.args[FIXED] = _found(node, given.values, used)
            except RequestError as error:
                blame(error, node)
                raise
        elif name.upper() in CLOCK and given.now is not None and not parts(node, "expressions"):
            node.args[FIXED] = Literal(given.now.date() if name.upper() in _DAYS else given.now)
    unused = sorted(given.values.keys() - used)
    if unused:
        raise RequestError(f"the question has no parameter {unused[0]!r}; leave its value out")


def _found(node: Node, values: Mapping[str, Literal], used: set[str]) -> Literal:
    name = str(parts(node, "expressions")[0].args["this"])
    if name not in values:
        shown = "?" if str(node.args["this"]) == "?" else f"{node.args['this']}{name}"
        how = "a list, parameters=[5]" if name.isdigit() else f"by name, parameters={{{name!r}: 5}}"
        raise Unsupported(f"there is no value for the parameter {shown}; pass it beside the question: in {how}")
    used.add(name)
    return values[name]


def fixed_value(node: Node) -> Expression | None:
    """Return the value that a node denotes, if it has one."""
    value = node.args.get(FIXED)
    return value if isinstance(value, Literal) else None
