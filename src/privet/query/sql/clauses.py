"""Which parts of a SQL tree are understood. Everything not listed here is refused by name.

Reads the parser's tree by the names of its nodes; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from privet.aggregates.aggregate import NamedAggregate, in_sql, sql_names
from privet.core.errors import ParseError, RequestError, UnknownName, Unsupported
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
            "windows",
            "qualify",
        ),
        "join": ("this", "on", "using", "side", "kind", "natural"),
        "union": ("this", "expression", "distinct", "with", "order", "limit", "offset"),
        "intersect": ("this", "expression", "distinct", "with"),
        "except": ("this", "expression", "distinct", "with"),
        "with": ("expressions",),
        "cte": ("this", "alias", "materialized"),
        "subquery": ("this", "alias", "pivots"),
        "pivot": ("this", "expressions", "fields", "using", "group", "columns", "alias", "pivot_column_naming"),
        "pivotalias": ("this", "alias"),
        "exists": ("this",),
        "from": ("this",),
        "table": ("this", "alias", "db", "catalog", "joins", "pivots"),
        "tablealias": ("this", "columns"),
        "where": ("this",),
        "group": ("expressions", "all"),
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
        "fetch": ("direction", "count", "limit_options"),
        "limitoptions": ("rows",),
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
        "window": ("this", "partition_by", "order", "over", "spec", "alias"),
        "windowspec": ("kind", "start", "start_side", "end", "end_side"),
        "qualify": ("this",),
        "rownumber": (),
        "rank": (),
        "denserank": (),
        "percentrank": (),
        "cumedist": (),
        "ntile": ("this",),
        "lag": ("this", "offset", "default"),
        "lead": ("this", "offset", "default"),
        "firstvalue": ("this",),
        "lastvalue": ("this",),
        "nthvalue": ("this", "offset"),
        "ignorenulls": ("this",),
        "anyvalue": ("this",),
    }.items()
}

_LATERAL = "it looks at the rows of several people; write JOIN ... ON"
_EXACT = "it would return values of single people; use COUNT, SUM, AVG, STDDEV, MEDIAN, MODE, TOP_K or HISTOGRAM"
_VOLATILE = "an answer may depend on nothing but the data and the query; write the value as a constant"
_SUBQUERY = "a sub-query can stand in FROM only; its exact value would decide about everybody's rows"
_OVER = "a window function needs OVER (PARTITION BY the person ORDER BY ...)"
_WHO = "a question may not depend on who asks it; write the value as a constant"
_SET = "set operations lose whose row it is; ask one SELECT at a time"

CLAUSES: dict[str, str] = {
    "laterals": f"LATERAL is not supported: {_LATERAL}",
    "method": "ASOF and POSITIONAL joins are not supported; state in ON what must be equal",
    "by_name": "UNION ALL BY NAME is not supported; list the columns in the same order",
    "sample": "SAMPLE is not supported: it would draw rows in a way that no noise accounts for; leave it out",
    "unpivot": "UNPIVOT is not supported: it makes several rows of one person's; aggregate each column by itself",
    "recursive": "WITH RECURSIVE is not supported; a CTE is one SELECT",
    "cube": "WITH CUBE is not supported; write GROUP BY CUBE (a, b), with the columns in it",
    "rollup": "WITH ROLLUP is not supported; write GROUP BY ROLLUP (a, b), with the columns in it",
    "on": "DISTINCT ON is not supported: it shows single rows; use GROUP BY with aggregates",
    "version": "time travel is not supported; a table is what it is now",
    "when": "time travel is not supported; a table is what it is now",
    "locks": "FOR UPDATE and FOR SHARE are not supported: a query changes nothing",
    "only": "ONLY is not supported; name the table alone",
    "percent": "a share of the rows is not supported; write LIMIT and a number",
    "with_ties": "WITH TIES is not supported; leave it out",
    "limit_options": "LIMIT takes a number of rows and nothing else",
    "into": "SELECT INTO is not supported: a query writes nothing",
    "except": "* EXCLUDE is not supported; name the columns",
    "replace": "* REPLACE is not supported; name the columns",
    "rename": "* RENAME is not supported; name the columns",
    "symmetric": "BETWEEN SYMMETRIC is not supported; write the lower end first",
}
"""Messages about clauses that are not understood."""

NODES: dict[str, str] = {
    "lateral": f"LATERAL is not supported: {_LATERAL}",
    "union": f"UNION is not supported here: {_SET}",
    "intersect": f"INTERSECT is not supported: {_SET}",
    "except": f"EXCEPT is not supported: {_SET}",
    "ignorenulls": f"ANY_VALUE and IGNORE NULLS are not supported: {_EXACT}",
    "window": "this window function is not supported: of window functions, "
    "ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD are supported, within one person's "
    "rows: OVER (PARTITION BY the person ORDER BY ...); for others, aggregate in a sub-query grouped by the person",
    "rownumber": _OVER,
    "rank": _OVER,
    "denserank": _OVER,
    "lag": _OVER,
    "lead": _OVER,
    "tablesample": "SAMPLE is not supported: it would draw rows in a way that no noise accounts for; leave it out",
    "pivot": "PIVOT is not supported: private values would become column names; use GROUP BY",
    "exists": f"EXISTS is not supported: {_SUBQUERY}",
    **dict.fromkeys(
        ("placeholder", "parameter", "sessionparameter"), "a parameter is written as ?, $1, $name or :name"
    ),
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
    **{
        key: f"{shown} is not supported here; {advice}"
        for key, shown, advice in (
            ("any", "ANY", "write x IN (...)"),
            ("all", "ALL", "write x NOT IN (...), or compare with LEAST or GREATEST"),
            ("glob", "GLOB", "use LIKE"),
            ("distinct", "DISTINCT", "it stands after SELECT and in COUNT(DISTINCT x)"),
            ("values", "VALUES", "declare a public table, or write CASE"),
            ("delete", "DELETE", "a query changes nothing"),
            ("insert", "INSERT", "a query changes nothing"),
            ("update", "UPDATE", "a query changes nothing"),
            ("kwarg", "=>", "write arguments in their order"),
            ("propertyeq", ":=", "write arguments in their order"),
        )
    },
    **dict.fromkeys(
        ("bitwiseand", "bitwiseor", "bitwisexor", "bitwisenot", "bitwiseleftshift", "bitwiserightshift"),
        "operators on bits are not supported; write arithmetic",
    ),
    **dict.fromkeys(
        ("jsonextract", "jsonextractscalar", "jsonbextract", "jsonbextractscalar", "arraycontainsall"),
        "-> and ->> are not supported; a table has plain columns",
    ),
    **dict.fromkeys(("currentuser", "sessionuser", "currentrole", "currentcatalog"), _WHO),
    "star": "* stands alone in a SELECT list, or in COUNT(*); name the columns",
    "tuple": "lists in brackets are not supported here; compare one value at a time",
}
"""Messages about nodes that are not understood, or are not allowed where they are."""

_LISTS = "there are no lists; a table has plain columns"
_REGULAR = "regular expressions are not supported; use LIKE, STARTS_WITH or CONTAINS"
_ONE = "MODE(x), the most frequent value, or MEDIAN(x), or GROUP BY x"
_ALL = "TOP_K(x, 3), or GROUP BY x with COUNT(*)"

_SINGLE: dict[str, str] = {
    **dict.fromkeys(("any_value", "arbitrary", "any", "first", "last", "first_value", "last_value", "nth_value"), _ONE),
    **dict.fromkeys(("min_by", "max_by", "arg_min", "arg_max", "argmin", "argmax"), _ONE),
    **dict.fromkeys(("listagg", "string_agg", "stringagg", "group_concat", "array_agg", "arrayagg", "list"), _ALL),
    **dict.fromkeys(("collect_list", "collect_set", "json_agg", "json_arrayagg", "object_agg", "grouparray"), _ALL),
    **dict.fromkeys(("array_concat_agg", "xmlagg", "map_agg", "json_object_agg", "json_group_array"), _ALL),
    **dict.fromkeys(("approx_top_k", "approx_top_count", "approx_top_sum", "approx_most_frequent"), "TOP_K(x, 3)"),
    **dict.fromkeys(
        ("bool_and", "bool_or", "every", "some", "logical_and", "logical_or", "booland_agg", "boolor_agg"),
        "COUNT_IF(condition), and compare it with COUNT(*)",
    ),
    **dict.fromkeys(("kurtosis", "skewness", "entropy", "mad", "product", "geomean"), "STDDEV(x), or QUANTILE(x, 0.9)"),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "checksum", "hash_agg"), "COUNT(DISTINCT x)"),
    **dict.fromkeys(("reservoir_quantile", "approx_quantiles"), "QUANTILE(x, 0.9), or HISTOGRAM(x, 10)"),
    **dict.fromkeys(
        ("regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx", "regr_sxy", "regr_syy"),
        "COVAR_POP(x, y) / VAR_POP(x), or CORR(x, y)",
    ),
}
"""Aggregates that return single people's values, or are made of them, and their replacements."""

_WORDS: dict[str, str] = {
    **{
        name: f"{name.upper()} is not supported: each answer is approximate, and shows how far; write QUANTILE(x, 0.9)"
        for name in ("approx_quantile", "approx_percentile", "percentile_approx")
    },
    **{
        name: f"{name.upper()} is not supported: each answer is approximate, and shows how far; write COUNT(DISTINCT x)"
        for name in ("approx_count_distinct", "approx_distinct")
    },
    "log": "LOG is not supported, for its base differs between databases; write LOG10(x), LOG2(x) or LN(x)",
    "columns": "COLUMNS is not supported; name the columns",
    **dict.fromkeys(
        ("regexp_like", "regexp_matches", "regexp_full_match", "regexp_contains", "regexp_replace"), _REGULAR
    ),
    **dict.fromkeys(("regexp_extract", "regexp_substr", "regexp_instr", "regexp_count", "rlike"), _REGULAR),
    **dict.fromkeys(("unnest", "explode", "flatten", "split", "string_split", "struct_pack", "array", "range"), _LISTS),
    **dict.fromkeys(("generate_series", "list_value", "array_contains", "list_contains", "array_length"), _LISTS),
    **dict.fromkeys(("ntile", "percent_rank", "cume_dist"), _OVER),
}
"""Messages about other functions, by name."""

VOLATILE = frozenset(
    {"now", "today", "random", "rand", "uuid", "gen_random_uuid", "generate_uuid", "newid", "setseed", "nextval"}
    | {"currval", "getvariable", "current_user", "session_user", "current_schema", "current_database", "version"}
    | {"getdate", "sysdate", "sysdatetime", "current_date", "current_time", "current_timestamp", "curdate", "curtime"}
    | {"localtimestamp", "localtime", "utc_date", "utc_timestamp", "getutcdate", "unix_timestamp", "systimestamp"}
    | {"current_datetime", "transaction_timestamp", "statement_timestamp", "clock_timestamp", "get_current_timestamp"}
)


_PLACE = "_place"
"""The attribute of an error that holds the place that it is about, until it is marked."""


def blame(error: RequestError, node: Node) -> None:
    """Note the place of the node that an error is about, unless one inside it has been noted."""
    if _PLACE not in vars(error):
        starts = [inner._meta["start"] for inner in node.walk() if inner._meta and "start" in inner._meta]
        if starts:
            setattr(error, _PLACE, min(starts))


def blamed(error: RequestError) -> int | None:
    """Return the place that was noted, and forget it."""
    place = vars(error).pop(_PLACE, None)
    return None if place is None else int(place)


def check_nodes(nodes: Sequence[Node], names: tuple[str, ...]) -> None:
    """Refuse by name the first node or clause, from the top, that is not understood."""
    for node in nodes:
        try:
            _check_node(node, names)
        except RequestError as error:
            blame(error, node)
            raise


def _check_node(node: Node, names: tuple[str, ...]) -> None:
    if node.key == "table" and part(node, "this").key == "dot":
        raise Unsupported("a table has a schema and a catalogue before its name at most: catalogue.schema.table")
    if node.key == "table" and part(node, "this").key != "identifier":
        raise Unsupported("functions and files cannot stand in FROM; name a declared table")
    understood = UNDERSTOOD.get(node.key, _PLAIN_CALL if named_aggregate(node) or named_function(node) else None)
    if understood is None:
        raise refusal(node, names)
    for name, value in node.args.items():
        if value and name.rstrip("_") not in understood:
            error = _clause_refusal(node, name)
            inner = value[0] if isinstance(value, list) else value
            if hasattr(inner, "walk"):
                blame(error, inner)
            raise error


def refusal(node: Node, names: tuple[str, ...] = ()) -> RequestError:
    """Return the error that names a node and states what to write instead."""
    if node.key in NODES:
        return Unsupported(NODES[node.key])
    if node.key == "anonymous":
        return unknown_function(str(node.args["this"]), names)
    return Unsupported(_UNKNOWN)


_UNKNOWN = "this is not supported here; see what is in docs/sql.md"


def unknown_function(name: str, names: tuple[str, ...]) -> RequestError:
    """Return the error for a function that is not in the list."""
    folded, shown = name.lower(), name.upper()[:60]
    if folded in VOLATILE:
        return Unsupported(f"{shown} is not supported: {_VOLATILE}")
    if folded in _SINGLE:
        return Unsupported(
            f"{shown} is not supported: it would return values of single people; write {_SINGLE[folded]}"
        )
    if folded in _WORDS:
        return Unsupported(_WORDS[folded])
    return UnknownName("function", shown, tuple(dict.fromkeys((*names, *sql_names()))))


def function_name(node: Node) -> str:
    """Return the name of a function as SQL spells it."""
    return str(node.args["this"] if node.key == "anonymous" else node.sql_name()).upper()


def named_aggregate(node: Node) -> NamedAggregate | None:
    """Return the aggregate of the registry that a node calls by name, whether or not the parser knows the name."""
    return in_sql(function_name(node)) if hasattr(node, "sql_name") else None


def named_function(node: Node) -> Function | None:
    """Return the scalar function that a node calls by name, if it needs no separate translation."""
    return scalar_in_sql(function_name(node)) if hasattr(node, "sql_name") else None


def arguments_of(node: Node) -> list[Node]:
    """Return the arguments of a function, in the order in which they are written."""
    if node.key == "anonymous":
        return parts(node, "expressions")
    return [child for child in (part(node, "this"), part(node, "expression"), *parts(node, "expressions")) if child]


def part(node: Node, name: str) -> Node:
    """Return an argument of a node, under the spelling that this version of the parser uses; None if absent."""
    return node.args.get(name) or node.args.get(f"{name}_")


def parts(node: Node, name: str) -> list[Node]:
    """Return a list argument of a node."""
    return list(part(node, name) or ())


def conjuncts_of(node: Node | None) -> list[Node]:
    """Return the conditions that must all be true, in the order in which they are written."""
    waiting, conjuncts = [] if node is None else [node], []
    while waiting:
        inner = waiting.pop()
        while inner.key == "paren":
            inner = part(inner, "this")
        if inner.key == "and":
            waiting += [part(inner, "expression"), part(inner, "this")]
        else:
            conjuncts.append(inner)
    return conjuncts


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


def _clause_refusal(node: Node, name: str) -> RequestError:
    plain = name.rstrip("_")
    if plain in CLAUSES:
        return Unsupported(CLAUSES[plain])
    if node.key == "count":
        return Unsupported("COUNT takes one column; write COUNT(*) FILTER (WHERE ...) for conditions on several")
    if (node.key, plain) == ("order", "this"):
        return Unsupported("ORDER BY inside an aggregate is not supported: no order changes what it is; leave it out")
    return Unsupported("a part of this is not supported; leave out what stands after it, or see docs/sql.md")
