"""Which parts of a SQL tree are understood. What is not listed here is refused by name.

Reads the parser's tree by the names of its nodes; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from privet.aggregates.registry import NamedAggregate, in_sql, sql_names
from privet.core.errors import ParseError, UnknownName, Unsupported
from privet.query.functions import Function
from privet.query.functions import in_sql as scalar_in_sql

Node = Any
"""A node of the parser's tree: only its `key` and `args` are used."""

_PLAIN_CALL = frozenset(("this", "expression", "expressions"))
_PAIR = ("this", "expression")

UNDERSTOOD: dict[str, frozenset[str]] = {
    key: frozenset(arguments)
    for key, arguments in {
        # clauses
        "select": (
            "expressions",
            "from",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "offset",
            "distinct",
            "with",
            "joins",
        ),
        "join": ("this", "on", "using", "side", "kind"),
        "union": ("this", "expression", "distinct", "with"),
        "with": ("expressions",),
        "cte": ("this", "alias"),
        "subquery": ("this", "alias"),
        "from": ("this",),
        "table": ("this", "alias", "db", "catalog"),
        "tablealias": ("this",),
        "where": ("this",),
        "group": ("expressions",),
        "groupingsets": ("expressions",),
        "rollup": ("expressions",),
        "cube": ("expressions",),
        "tuple": ("expressions",),
        "grouping": ("expressions",),
        "groupingid": ("expressions",),
        "having": ("this",),
        "order": ("expressions",),
        "ordered": ("this", "desc", "nulls_first"),
        "limit": ("expression",),
        "offset": ("expression",),
        "distinct": ("expressions",),
        "alias": ("this", "alias"),
        "filter": _PAIR,
        "withingroup": _PAIR,
        # names and constants
        "identifier": ("this", "quoted"),
        "column": ("this", "table", "db", "catalog"),
        "star": (),
        "literal": ("this", "is_string"),
        "null": (),
        "boolean": ("this",),
        "var": ("this",),
        "interval": ("this", "unit"),
        "datatype": ("this", "expressions", "kind"),
        "datatypeparam": ("this",),
        # operators
        "paren": ("this",),
        "neg": ("this",),
        "not": ("this",),
        "and": _PAIR,
        "or": _PAIR,
        "eq": _PAIR,
        "neq": _PAIR,
        "lt": _PAIR,
        "lte": _PAIR,
        "gt": _PAIR,
        "gte": _PAIR,
        "is": _PAIR,
        "between": ("this", "low", "high"),
        "in": ("this", "expressions", "query"),
        "like": (*_PAIR, "negate"),
        "ilike": (*_PAIR, "negate"),
        "nullsafeeq": _PAIR,
        "nullsafeneq": _PAIR,
        "intdiv": _PAIR,
        "escape": _PAIR,
        "add": _PAIR,
        "sub": _PAIR,
        "mul": _PAIR,
        "div": _PAIR,
        "mod": _PAIR,
        "dpipe": (*_PAIR, "safe"),
        "case": ("this", "ifs", "default"),
        "if": ("this", "true", "false"),
        "cast": ("this", "to"),
        "trycast": ("this", "to", "safe"),
        # functions
        "median": ("this",),
        "mode": ("this",),
        "quantile": ("this", "quantile"),
        "percentilecont": _PAIR,
        "percentiledisc": _PAIR,
        "abs": ("this",),
        "floor": ("this",),
        "ceil": ("this",),
        "round": ("this", "decimals"),
        "sign": ("this",),
        "sqrt": ("this",),
        "ln": ("this",),
        "exp": ("this",),
        "pow": _PAIR,
        "least": ("this", "expressions", "ignore_nulls"),
        "greatest": ("this", "expressions", "ignore_nulls"),
        "coalesce": ("this", "expressions"),
        "nullif": _PAIR,
        "lower": ("this",),
        "upper": ("this",),
        "length": ("this",),
        "trim": ("this", "expression", "position"),
        "strposition": ("this", "substr"),
        "substring": ("this", "start", "length"),
        "left": _PAIR,
        "startswith": _PAIR,
        "contains": _PAIR,
        "concat": ("expressions", "safe", "coalesce"),
        "extract": _PAIR,
        "year": ("this",),
        "quarter": ("this",),
        "month": ("this",),
        "week": ("this",),
        "weekofyear": ("this",),
        "day": ("this",),
        "dayofmonth": ("this",),
        "dayofweek": ("this",),
        "dayofweekiso": ("this",),
        "dayofyear": ("this",),
        "hour": ("this",),
        "minute": ("this",),
        "second": ("this",),
        "timetounix": ("this",),
        "anonymous": ("this", "expressions"),
        # aggregates
        "count": ("this", "big_int"),
        "countif": ("this",),
        "min": ("this",),
        "max": ("this",),
        # within one person's rows
        "window": ("this", "partition_by", "order", "over"),
        "rownumber": (),
        "rank": (),
        "denserank": (),
        "lag": ("this", "offset"),
        "lead": ("this", "offset"),
    }.items()
}

_LATERAL = "it looks at the rows of several people; write JOIN ... ON"
_EXACT = "it would return values of single people; use COUNT, SUM, AVG, STDDEV, MEDIAN, MODE, TOP_K or HISTOGRAM"
_VOLATILE = "an answer may depend on nothing but the data and the query; write the value as a constant"
_SUBQUERY = "a sub-query can stand in FROM only; its exact value would decide about everybody's rows"
_OVER = "a window function needs OVER (PARTITION BY the person ORDER BY ...)"
_SET = "set operations lose whose row it is; ask one SELECT at a time"

CLAUSES: dict[str, str] = {
    "laterals": f"LATERAL is not supported: {_LATERAL}",
    "windows": "WINDOW is not supported; write OVER (PARTITION BY ... ORDER BY ...) where it is used",
    "method": "NATURAL, ASOF and POSITIONAL joins are not supported; say in ON what must be equal",
    "by_name": "UNION ALL BY NAME is not supported; list the columns in the same order",
    "spec": "frames such as ROWS BETWEEN are not supported; aggregate in a sub-query that is grouped by the person",
    "default": "a default is not supported here; use COALESCE",
    "qualify": "QUALIFY is not supported: it needs window functions; use HAVING on aggregates",
    "sample": "SAMPLE is not supported: it would draw rows in a way that no noise accounts for; leave it out",
    "pivots": "PIVOT is not supported: private values would become column names; use GROUP BY",
    "recursive": "WITH RECURSIVE is not supported; a CTE is one SELECT",
    "cube": "WITH CUBE is not supported; write GROUP BY CUBE (a, b), with the columns in it",
    "rollup": "WITH ROLLUP is not supported; write GROUP BY ROLLUP (a, b), with the columns in it",
    "all": "GROUP BY ALL is not supported; list the grouping columns",
    "on": "DISTINCT ON is not supported: it shows single rows; use GROUP BY with aggregates",
    "columns": "a list of column names after an alias is not supported; name columns with AS in the SELECT list",
    "version": "time travel is not supported; a table is what it is now",
    "when": "time travel is not supported; a table is what it is now",
    "into": "SELECT INTO is not supported: a query writes nothing",
    "except": "* EXCLUDE is not supported; name the columns",
    "replace": "* REPLACE is not supported; name the columns",
    "rename": "* RENAME is not supported; name the columns",
    "symmetric": "BETWEEN SYMMETRIC is not supported; write the lower end first",
}
"""What to say of a clause that is not understood."""

NODES: dict[str, str] = {
    "lateral": f"LATERAL is not supported: {_LATERAL}",
    "union": f"UNION is not supported here: {_SET}",
    "intersect": f"INTERSECT is not supported: {_SET}",
    "except": f"EXCEPT is not supported: {_SET}",
    "ignorenulls": f"ANY_VALUE and IGNORE NULLS are not supported: {_EXACT}",
    "window": "of window functions, ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD are supported, within one person's "
    "rows: OVER (PARTITION BY the person ORDER BY ...); for others, aggregate in a sub-query grouped by the person",
    "rownumber": _OVER,
    "rank": _OVER,
    "denserank": _OVER,
    "lag": _OVER,
    "lead": _OVER,
    "tablesample": "SAMPLE is not supported: it would draw rows in a way that no noise accounts for; leave it out",
    "pivot": "PIVOT is not supported: private values would become column names; use GROUP BY",
    "exists": f"EXISTS is not supported: {_SUBQUERY}",
    "placeholder": "parameters are not supported; write the value as a constant",
    "parameter": "parameters are not supported; write the value as a constant",
    "sessionparameter": "parameters are not supported; write the value as a constant",
    "bytestring": "strings with backslash escapes (E'...') are not supported; write a plain string, doubling quotes",
    "similarto": "SIMILAR TO is not supported; use LIKE, STARTS_WITH or CONTAINS",
    "regexplike": "regular expressions are not supported; use LIKE, STARTS_WITH or CONTAINS",
    "regexpfulllike": "regular expressions are not supported; use LIKE, STARTS_WITH or CONTAINS",
    "regexpilike": "regular expressions are not supported; use LIKE, STARTS_WITH or CONTAINS",
    "log": "LOG is not supported, for its base differs between databases; write LN(x) / LN(10)",
    "collate": "COLLATE is not supported; texts compare by code point",
    "attimezone": "AT TIME ZONE is not supported; timestamps are in UTC",
    "dot": "fields of structures are not supported; a table has plain columns",
    "bracket": "indexing is not supported; a table has plain columns",
    "struct": "structures are not supported; a query returns plain columns",
    "array": "lists are not supported; a query returns plain columns",
    "lambda": "lambdas are not supported",
    "subquery": _SUBQUERY,
    "select": _SUBQUERY,
    "rand": f"RANDOM is not supported: {_VOLATILE}",
    "uuid": f"UUID is not supported: {_VOLATILE}",
    "currentdate": f"CURRENT_DATE is not supported: {_VOLATILE}",
    "currenttime": f"CURRENT_TIME is not supported: {_VOLATILE}",
    "currenttimestamp": f"CURRENT_TIMESTAMP is not supported: {_VOLATILE}",
    "localtimestamp": f"LOCALTIMESTAMP is not supported: {_VOLATILE}",
    "groupingsets": "GROUPING SETS stand in GROUP BY",
    "cube": "CUBE stands in GROUP BY",
    "rollup": "ROLLUP stands in GROUP BY",
    "columns": "COLUMNS is not supported; name the columns",
    "interval": "an interval stands after + or - beside a date: x + INTERVAL 7 DAY",
    "star": "* stands alone in a SELECT list, or in COUNT(*); name the columns",
    "tuple": "lists in brackets are not supported here; compare one value at a time",
    "bitwiseand": "operators on bits are not supported; write arithmetic",
}
"""What to say of a node that is not understood, or that stands where it cannot."""

VOLATILE = frozenset(
    {"now", "today", "random", "uuid", "gen_random_uuid", "setseed", "nextval", "currval", "getvariable"}
)
EXACT = frozenset(
    {"list", "first", "last", "any_value", "mad", "entropy", "approx_top_k", "reservoir_quantile", "kurtosis"}
    | {"skewness", "product", "bit_and", "bit_or", "bit_xor", "min_by", "max_by", "histogram_exact", "quantile_cont"}
)


def check_nodes(nodes: Sequence[Node], names: tuple[str, ...]) -> None:
    """Refuse by name the first node or clause, from the top, that is not understood."""
    for node in nodes:
        if node.key == "table" and part(node, "this").key == "dot":
            raise Unsupported("a table has a schema and a catalogue before its name at most: catalogue.schema.table")
        if node.key == "table" and part(node, "this").key != "identifier":
            raise Unsupported("functions and files cannot stand in FROM; name a declared table")
        understood = UNDERSTOOD.get(node.key, _PLAIN_CALL if named_aggregate(node) or named_function(node) else None)
        if understood is None:
            raise refusal(node, names)
        for name, value in node.args.items():
            if value and name.rstrip("_") not in understood:
                raise _clause_refusal(node, name)


def refusal(node: Node, names: tuple[str, ...] = ()) -> Exception:
    """Return the error that names a node and says what to write instead."""
    if node.key in NODES:
        return Unsupported(NODES[node.key])
    if node.key == "anonymous":
        return unknown_function(str(node.args["this"]), names)
    if hasattr(node, "sql_name"):
        if any(kind.__name__ == "AggFunc" for kind in type(node).__mro__):
            return Unsupported(f"{node.sql_name()} is not supported: {_EXACT}")
        return unknown_function(str(node.sql_name()), names)
    return Unsupported(f"{node.key.upper()} is not supported here")


def unknown_function(name: str, names: tuple[str, ...]) -> Exception:
    """Return the error for a function that is not in the list."""
    folded, shown = name.lower(), name.upper()[:60]
    if folded in VOLATILE:
        return Unsupported(f"{shown} is not supported: {_VOLATILE}")
    if folded in EXACT:
        return Unsupported(f"{shown} is not supported: {_EXACT}")
    return UnknownName("function", shown, tuple(dict.fromkeys((*names, *sql_names()))))


def function_name(node: Node) -> str:
    """Return the name of a function as SQL spells it."""
    return str(node.args["this"] if node.key == "anonymous" else node.sql_name()).upper()


def named_aggregate(node: Node) -> NamedAggregate | None:
    """Return the aggregate of the registry that a node calls by its name, whether the parser knows the name or not."""
    return in_sql(function_name(node)) if hasattr(node, "sql_name") else None


def named_function(node: Node) -> Function | None:
    """Return the scalar function that a node calls by its name, of those that need no translation of their own."""
    return scalar_in_sql(function_name(node)) if hasattr(node, "sql_name") else None


def arguments_of(node: Node) -> list[Node]:
    """Return the arguments of a function, in the order in which they are written."""
    if node.key == "anonymous":
        return parts(node, "expressions")
    return [one for one in (part(node, "this"), part(node, "expression"), *parts(node, "expressions")) if one]


def part(node: Node, name: str) -> Node:
    """Return an argument of a node, under the spelling that this version of the parser uses; None if absent."""
    return node.args.get(name) or node.args.get(f"{name}_")


def parts(node: Node, name: str) -> list[Node]:
    """Return a list argument of a node."""
    return list(part(node, name) or ())


def check_depth(tree: Node, most: int) -> None:
    """Refuse a tree that is deeper than our own recursion allows; a chain of AND or of OR counts once."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > most:
            raise ParseError(f"the query is nested more than {most} levels deep; split it, or use AND, OR and IN")
        for child in _children(node):
            chained = child.key == node.key and node.key in {"and", "or"}
            waiting.append((child, depth + (not chained)))


def _children(node: Node) -> Iterator[Node]:
    for value in node.args.values():
        for child in value if isinstance(value, list) else (value,):
            if hasattr(child, "args"):
                yield child


def _clause_refusal(node: Node, name: str) -> Exception:
    plain = name.rstrip("_")
    if node.key == "datatype":
        return Unsupported(
            "types with parameters, such as DECIMAL(4, 2), and types of lists are not supported; "
            "take BIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN"
        )
    if plain in CLAUSES:
        return Unsupported(CLAUSES[plain])
    if (node.key, plain) == ("order", "this"):
        return Unsupported("ORDER BY inside an aggregate is not supported: no order changes what it is; leave it out")
    what = node.sql_name() if hasattr(node, "sql_name") else node.key.upper()
    return Unsupported(f"{plain.replace('_', ' ').upper()} is not supported in {what}; leave it out")
