"""Translates scalar expressions and aggregates of a SQL tree into our own, node by node.

A node without a translation here is refused. Names are looked up; types are checked later, from declared facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from privet.core.errors import RequestError, UnknownName, Unsupported, WrongKind
from privet.core.expression import Column, Expression, Literal

from .normal import call, conjunction
from .relation import aggregate, histogram, is_aggregate
from .resolve import read_date, read_timestamp
from .sql_clauses import Node, part, parts, refusal, unknown_function

_LARGEST_WHOLE = 2**63 - 1
_LARGEST_EXPONENT = 300

_PLAIN = {
    "eq": "equal",
    "neq": "not_equal",
    "lt": "less",
    "lte": "less_equal",
    "gt": "greater",
    "gte": "greater_equal",
    "mul": "multiply",
    "div": "divide",
    "mod": "modulo",
    "pow": "power",
    "nullif": "nullif",
    "startswith": "starts_with",
    "contains": "contains",
    "dpipe": "concat",
}
"""Nodes of two arguments, and the functions they are."""

_UNARY = {
    **{name: name for name in ("not", "abs", "floor", "ceil", "sign", "sqrt", "ln", "exp", "lower", "upper", "length")},
    **{name: name for name in ("trim", "year", "quarter", "month", "week", "day", "hour", "minute", "second")},
    "neg": "negate",
    "weekofyear": "week",
    "dayofmonth": "day",
    "dayofweekiso": "day_of_week",
    "dayofyear": "day_of_year",
}

_NUMERIC_AGGREGATES = {
    "sum": "sum",
    "avg": "avg",
    "variance": "var_samp",
    "variancepop": "var_pop",
    "stddev": "stddev_samp",
    "stddevsamp": "stddev_samp",
    "stddevpop": "stddev_pop",
}

_PARTS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")},
    "isodow": "day_of_week",
    "doy": "day_of_year",
    "dayofyear": "day_of_year",
    "weekofyear": "week",
    "dayofmonth": "day",
}

_UNITS = {
    "day": ("add_days", 1),
    "week": ("add_days", 7),
    "month": ("add_months", 1),
    "quarter": ("add_months", 3),
    "year": ("add_months", 12),
    "hour": ("add_seconds", 3600),
    "minute": ("add_seconds", 60),
    "second": ("add_seconds", 1),
}

_CASTS = {
    "INT": "to_integer",
    "BIGINT": "to_integer",
    "DOUBLE": "to_number",
    "VARCHAR": "to_text",
    "TEXT": "to_text",
    "DATE": "to_date",
    "TIMESTAMP": "to_timestamp",
    "TIMESTAMPNTZ": "to_timestamp",
    "BOOLEAN": "to_boolean",
}

NAMES = (
    *("ABS", "AVG", "BIN", "CASE", "CAST", "CEIL", "COALESCE", "CONCAT", "CONTAINS", "COUNT", "COUNT_IF", "DATE_DIFF"),
    *("DATE_PART", "DATE_TRUNC", "DAY", "DAYOFWEEK", "DAYOFYEAR", "EXP", "EXTRACT", "FLOOR", "GREATEST", "HISTOGRAM"),
    *("HOUR", "IF", "IFNULL", "ISODOW", "LEAST", "LEFT", "LENGTH", "LN", "LOWER", "MINUTE", "MOD", "MONTH", "NULLIF"),
    *("POWER", "QUARTER", "ROUND", "SECOND", "SIGN", "SQRT", "STARTS_WITH", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"),
    *("SUBSTRING", "SUM", "TRIM", "TRY_CAST", "UPPER", "VAR_POP", "VAR_SAMP", "VARIANCE", "WEEK", "YEAR"),
)
"""The functions that SQL may call, as it spells them."""


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
    key = node.key
    if key in _PLAIN:
        return call(_PLAIN[key], translate(part(node, "this"), scope), translate(part(node, "expression"), scope))
    if key in _UNARY:
        return call(_UNARY[key], translate(part(node, "this"), scope))
    if key in _NUMERIC_AGGREGATES:
        return _numeric_aggregate(node, scope)
    handler = _NODES.get(key)
    if handler is None:
        raise refusal(node, NAMES)
    return handler(node, scope)


def _several(nodes: list[Node], scope: Scope) -> list[Expression]:
    return [translate(node, scope) for node in nodes]


def _first_and_rest(function: str) -> Callable[[Node, Scope], Expression]:
    def apply(node: Node, scope: Scope) -> Expression:
        found = _several([part(node, "this"), *parts(node, "expressions")], scope)
        return found[0] if len(found) == 1 else call(function, *found)

    return apply


def _chain(node: Node, scope: Scope) -> Expression:
    terms, key = [], node.key
    while node.key == key:  # the parser leans chains to the left; following them here keeps recursion shallow
        terms.append(part(node, "expression"))
        node = part(node, "this")
    terms.append(node)
    return call(key, *_several(terms, scope))


def _literal(node: Node, scope: Scope) -> Expression:
    written = str(node.args["this"])
    if node.args.get("is_string"):
        return Literal(written)
    if written.isascii() and written.isdigit():
        if len(written) > 19 or int(written) > _LARGEST_WHOLE:
            raise RequestError(f"whole numbers lie within 64 bits; write {written[:20]}... as a decimal, such as 1e20")
        return Literal(int(written))
    try:
        number = Decimal(written)
    except InvalidOperation:
        raise RequestError(f"{written[:40]!r} is not a number") from None
    if not number.is_finite() or len(written) > 400 or (number and abs(number.adjusted()) > _LARGEST_EXPONENT):
        raise RequestError(f"{written[:40]!r} is beyond the range of numbers, 1e-300 to 1e300")
    return Literal(Fraction(number))


def _is(node: Node, scope: Scope) -> Expression:
    tested, against = translate(part(node, "this"), scope), part(node, "expression")
    if against.key == "null":
        return call("is_null", tested)
    if against.key == "boolean":
        matches = call("equal", tested, Literal(bool(against.args["this"])))
        return call("coalesce", matches, Literal(False))
    raise Unsupported("IS is followed by NULL, NOT NULL, TRUE or FALSE")


def _between(node: Node, scope: Scope) -> Expression:
    tested, low, high = _several([part(node, name) for name in ("this", "low", "high")], scope)
    return call("and", call("greater_equal", tested, low), call("less_equal", tested, high))


def _in(node: Node, scope: Scope) -> Expression:
    values = _several(parts(node, "expressions"), scope)
    if not values or any(not isinstance(value, Literal) or value.value is None for value in values):
        raise Unsupported("IN takes a list of constants other than NULL; write x = y OR x IS NULL for anything else")
    return call("in", translate(part(node, "this"), scope), *values)


def _like(node: Node, scope: Scope) -> Expression:
    return call("like", *_several([part(node, "this"), part(node, "expression")], scope))


def _escape(node: Node, scope: Scope) -> Expression:
    like, escape = part(node, "this"), part(node, "expression")
    if like.key != "like":
        raise refusal(like, NAMES)
    return call("like", *_several([part(like, "this"), part(like, "expression"), escape], scope))


def _add(node: Node, scope: Scope) -> Expression:
    left, right = part(node, "this"), part(node, "expression")
    if left.key == "interval" and node.key == "add":
        left, right = right, left
    if right.key == "interval":
        return _shift(translate(left, scope), right, scope, sign=1 if node.key == "add" else -1)
    return call("add" if node.key == "add" else "subtract", translate(left, scope), translate(right, scope))


def _shift(moment: Expression, interval: Node, scope: Scope, *, sign: int) -> Expression:
    unit = part(interval, "unit")
    word = "" if unit is None or unit.key != "var" else str(unit.args["this"]).lower()
    function, size = _UNITS.get(word) or _UNITS.get(word.removesuffix("s")) or ("", 0)
    amount = None if part(interval, "this") is None else translate(part(interval, "this"), scope)
    value = amount.value if isinstance(amount, Literal) else None
    if isinstance(value, str) and len(value) <= 12 and value.lstrip("-").isascii() and value.lstrip("-").isdigit():
        value = int(value) if value.count("-") <= 1 else None
    if not function or isinstance(value, bool) or not isinstance(value, int):
        raise Unsupported(
            "an interval is a constant whole number and a unit, such as INTERVAL 7 DAY or INTERVAL 1 HOUR"
        )
    return call(function, moment, Literal(sign * value * size))


def _case(node: Node, scope: Scope) -> Expression:
    subject = part(node, "this")
    arguments: list[Expression] = []
    for branch in parts(node, "ifs"):
        test = translate(part(branch, "this"), scope)
        if subject is not None:
            test = call("equal", translate(subject, scope), test)
        arguments += [test, translate(part(branch, "true"), scope)]
    default = part(node, "default")
    return call("case", *arguments, Literal(None) if default is None else translate(default, scope))


def _if(node: Node, scope: Scope) -> Expression:
    otherwise = part(node, "false")
    taken = _several([part(node, "this"), part(node, "true")], scope)
    return call("case", *taken, Literal(None) if otherwise is None else translate(otherwise, scope))


def _cast(node: Node, scope: Scope) -> Expression:
    kind = getattr(part(part(node, "to"), "this"), "name", "")
    function, value = _CASTS.get(kind), translate(part(node, "this"), scope)
    if function is None:
        raise Unsupported(
            f"a cast to {kind or 'this type'} is not supported; take BIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN"
        )
    if isinstance(value, Literal) and isinstance(value.value, str) and function in {"to_date", "to_timestamp"}:
        return Literal(read_date(value.value) if function == "to_date" else read_timestamp(value.value))
    return call(function, value)


def _round(node: Node, scope: Scope) -> Expression:
    rounded, digits = translate(part(node, "this"), scope), part(node, "decimals")
    return call("round", rounded) if digits is None else call("round_to", rounded, translate(digits, scope))


def _substring(node: Node, scope: Scope) -> Expression:
    if part(node, "start") is None:
        raise WrongKind("SUBSTRING", "a text, a constant start and a constant length", ("fewer",))
    length = Literal(10**6) if part(node, "length") is None else translate(part(node, "length"), scope)
    return call("substring", *_several([part(node, "this"), part(node, "start")], scope), length)


def _left(node: Node, scope: Scope) -> Expression:
    whole, length = _several([part(node, "this"), part(node, "expression")], scope)
    return call("substring", whole, Literal(1), length)


def _concat(node: Node, scope: Scope) -> Expression:
    texts = [call("coalesce", one, Literal("")) for one in _several(parts(node, "expressions"), scope)]
    return texts[0] if len(texts) == 1 else call("concat", *texts)


def _sunday(moment: Expression) -> Expression:
    return call("modulo", call("day_of_week", moment), Literal(7))


def _part(name: str, moment: Expression) -> Expression:
    if name in {"dow", "dayofweek", "weekday"}:
        return _sunday(moment)
    if name not in _PARTS:
        raise Unsupported(f"{name[:20]!r} is not a part of a date here; take one of dow, {', '.join(sorted(_PARTS))}")
    return call(_PARTS[name], moment)


def _extract(node: Node, scope: Scope) -> Expression:
    return _part(str(part(node, "this").name).lower(), translate(part(node, "expression"), scope))


def _unit(node: Node) -> Literal:
    unit = part(node, "unit")
    return Literal("day" if unit is None else str(unit.name).lower())


def _trunc(node: Node, scope: Scope) -> Expression:
    return call("date_trunc", _unit(node), translate(part(node, "this"), scope))


def _date_diff(node: Node, scope: Scope) -> Expression:
    end, start = _several([part(node, "this"), part(node, "expression")], scope)
    return call("date_diff", _unit(node), start, end)


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
        return _part(str(arguments[0].value).lower(), arguments[1])
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
    if not is_aggregate(found):
        raise Unsupported("FILTER (WHERE ...) follows an aggregate, such as COUNT(*) FILTER (WHERE x > 0)")
    kept = translate(part(part(node, "expression"), "this"), scope)
    argument, where, *rest = found.arguments  # type: ignore[union-attr]
    both = kept if where == Literal(True) else conjunction(where, kept)
    return call(found.function, argument, both or kept, *rest)  # type: ignore[union-attr]


_NODES: Mapping[str, Callable[[Node, Scope], Expression]] = {
    "column": lambda node, scope: scope.column(node),
    "paren": lambda node, scope: translate(part(node, "this"), scope),
    "literal": _literal,
    "null": lambda node, scope: Literal(None),
    "boolean": lambda node, scope: Literal(bool(node.args["this"])),
    "and": _chain,
    "or": _chain,
    "is": _is,
    "between": _between,
    "in": _in,
    "like": _like,
    "escape": _escape,
    "add": _add,
    "sub": _add,
    "case": _case,
    "if": _if,
    "cast": _cast,
    "trycast": _cast,
    "round": _round,
    "least": _first_and_rest("least"),
    "greatest": _first_and_rest("greatest"),
    "coalesce": _first_and_rest("coalesce"),
    "substring": _substring,
    "left": _left,
    "concat": _concat,
    "extract": _extract,
    "dayofweek": lambda node, scope: _sunday(translate(part(node, "this"), scope)),
    "timestamptrunc": _trunc,
    "datetrunc": _trunc,
    "datediff": _date_diff,
    "anonymous": _anonymous,
    "count": _count,
    "countif": _count_if,
    "filter": _filter,
}
