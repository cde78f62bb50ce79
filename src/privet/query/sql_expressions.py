"""Translates expressions of a SQL tree into our own: names are looked up, aggregates are marked.

A node without a translation is refused. Types are checked later, from declared facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from privet.core.errors import ParseError, RequestError, UnknownName, Unsupported, WrongKind
from privet.core.expression import Call, Column, Expression, Literal

from .normal import call, conjunction
from .relation import aggregate, histogram, is_aggregate
from .sql_clauses import Node, part, parts, refusal, unknown_function
from .sql_functions import NAMES, TRANSLATIONS, part_of_date

_NUMERIC_AGGREGATES = {
    "sum": "sum",
    "avg": "avg",
    "variance": "var_samp",
    "variancepop": "var_pop",
    "stddev": "stddev_samp",
    "stddevsamp": "stddev_samp",
    "stddevpop": "stddev_pop",
}


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: columns, under the name of their table, and aliases of the SELECT list."""

    columns: Mapping[str, Expression]
    table: str
    owner: str | None = None
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    aliases_first: bool = False

    def column(self, node: Node) -> Expression:
        """Return what a column name stands for."""
        name, qualifier = part(node, "this"), part(node, "table")
        if name.key != "identifier":
            raise Unsupported("* stands alone in a SELECT list; name the columns")
        if qualifier is not None:
            if find((self.table,), qualifier) is None:
                raise UnknownName("table", qualifier.name, (self.table,))
            return self._own(name)
        first, second = (self.aliases, self.columns) if self.aliases_first else (self.columns, self.aliases)
        for names in (first, second):
            found = find(names, name)
            if found is not None:
                return names[found]
        return self._own(name)

    def _own(self, name: Node) -> Expression:
        found = find(self.columns, name)
        if found is None:
            raise UnknownName("column", name.name, self.columns)
        return self.columns[found]


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
    """Return the expression that a node says."""
    if node is None:
        raise ParseError("a function lacks an argument")
    if node.key in TRANSLATIONS:
        return TRANSLATIONS[node.key](node, lambda child: translate(child, scope))
    if node.key == "column":
        return scope.column(node)
    if node.key in {"and", "or"}:
        return _chain(node, scope)
    if node.key in _AGGREGATES:
        return _AGGREGATES[node.key](node, scope)
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
    name, arguments = str(node.args["this"]).lower(), _several(parts(node, "expressions"), scope)
    if name == "bin" and len(arguments) == 2:
        return call("bin", *arguments)
    if name == "histogram" and len(arguments) == 2:
        return histogram(arguments[0], arguments[1])
    if name in {"bin", "histogram"}:
        example = "BIN(age, 10)" if name == "bin" else "HISTOGRAM(age, 10)"
        raise WrongKind(name.upper(), f"two arguments: {example}", (f"{len(arguments)} arguments",))
    if name in {"date_part", "datepart"} and len(arguments) == 2 and isinstance(arguments[0], Literal):
        return part_of_date(str(arguments[0].value).lower(), arguments[1])
    if name == "bucket" and len(arguments) == 4:
        return call("bucket", *arguments)
    raise unknown_function(name, NAMES)


def _count(node: Node, scope: Scope) -> Expression:
    counted = part(node, "this")
    if counted is None or counted.key == "star":
        return aggregate("count_rows")
    if counted.key != "distinct":
        argument = translate(counted, scope)
        constant = isinstance(argument, Literal) and argument.value is not None
        return aggregate("count_rows") if constant else aggregate("count", argument)
    of = _several(parts(counted, "expressions"), scope)
    if scope.owner is not None and of == [Column(scope.owner)]:
        return aggregate("count_units")
    people = f"COUNT(DISTINCT {scope.owner})" if scope.owner else "COUNT(*), for each row is a unit of its own"
    raise Unsupported(f"COUNT(DISTINCT ...) counts the people only, for now: write {people}, or GROUP BY the column")


def _count_if(node: Node, scope: Scope) -> Expression:
    return aggregate("count_rows", None, translate(part(node, "this"), scope))


def _numeric_aggregate(node: Node, scope: Scope) -> Expression:
    if part(node, "this").key == "distinct":
        raise Unsupported(
            f"{node.sql_name()}(DISTINCT ...) is not supported; leave DISTINCT out, or GROUP BY the column"
        )
    return aggregate(_NUMERIC_AGGREGATES[node.key], translate(part(node, "this"), scope))


def _filter(node: Node, scope: Scope) -> Expression:
    found = translate(part(node, "this"), scope)
    if not isinstance(found, Call) or not is_aggregate(found):
        raise Unsupported("FILTER (WHERE ...) follows an aggregate, such as COUNT(*) FILTER (WHERE x > 0)")
    kept = translate(part(part(node, "expression"), "this"), scope)
    argument, where, *rest = found.arguments
    both = kept if where == Literal(True) else conjunction(where, kept)
    return call(found.function, argument, both or kept, *rest)


_AGGREGATES: Mapping[str, Callable[[Node, Scope], Expression]] = {
    **dict.fromkeys(_NUMERIC_AGGREGATES, _numeric_aggregate),
    "anonymous": _anonymous,
    "count": _count,
    "countif": _count_if,
    "filter": _filter,
}
