"""Translates the operators, casts and functions of a SQL tree, node by node, into the closed list of functions.

Each translation reads its children through `read`, and does not handle names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from privet.core.errors import RequestError, Unsupported, WrongKind
from privet.core.numbers import written_decimal
from privet.core.relation import Expression, Literal
from privet.query.functions import FUNCTIONS, sql_names
from privet.query.normal import call
from privet.query.resolve import read_date, read_timestamp

from .clauses import Node, arguments_of, part, parts, refusal
from .synonyms import SHORT_PARTS, SYNONYMS, in_days, in_pairs, is_same, shifted

Read = Callable[[Node], Expression]
Translation = Callable[[Node, Read], Expression]

_LARGEST_WHOLE = 2**63 - 1
_LARGEST_EXPONENT = 300

_PARTS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")},
    "isodow": "day_of_week",
    "doy": "day_of_year",
    "dayofyear": "day_of_year",
    "weekofyear": "week",
    "dayofmonth": "day",
}

_CASTS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "to_integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINT", "UBIGINT", "INT128"), "to_integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL", "FLOAT64"), "to_number"),
    **dict.fromkeys(("VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "TEXT"), "to_text"),
    "DATE": "to_date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "DATETIME2", "SMALLDATETIME"), "to_timestamp"),
    **dict.fromkeys(("BOOLEAN", "BIT"), "to_boolean"),
}

NAMES = (
    *(
        "ABS",
        "AVG",
        "BIN",
        "BOUNDS",
        "BUCKET",
        "CASE",
        "CAST",
        "CEIL",
        "COALESCE",
        "CONCAT",
        "CONTAINS",
        "COUNT",
        "CORR",
        "COUNT_IF",
        "COVAR_POP",
        "COVAR_SAMP",
        "DATE_DIFF",
    ),
    *("DATE_PART", "DATE_TRUNC", "DAY", "DAYOFWEEK", "DAYOFYEAR", "EXP", "EXTRACT", "FLOOR", "GREATEST", "HISTOGRAM"),
    *(
        "HOUR",
        "IF",
        "IFNULL",
        "ISODOW",
        "LEAST",
        "LEFT",
        "LENGTH",
        "LN",
        "LOWER",
        "MAX",
        "MEDIAN",
        "MIN",
        "MINUTE",
        "MOD",
        "MODE",
        "MONTH",
        "NULLIF",
    ),
    *(
        "PERCENTILE_CONT",
        "POWER",
        "QUANTILE",
        "QUARTER",
        "ROUND",
        "SECOND",
        "SIGN",
        "SQRT",
        "STARTS_WITH",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
    ),
    *(name for name in SYNONYMS if name not in ("DATE_DIFF", "DATE_TRUNC", "IFNULL")),
    *sql_names(),
    *("SUBSTRING", "SUM", "TOP_K", "TRIM", "TRY_CAST", "UPPER", "VAR_POP", "VAR_SAMP", "VARIANCE", "WEEK", "YEAR"),
)
"""The functions that SQL may call, as it spells them."""


def _first_and_rest(function: str) -> Translation:
    def apply(node: Node, read: Read) -> Expression:
        values = [read(part(node, "this")), *map(read, parts(node, "expressions"))]
        return values[0] if len(values) == 1 else call(function, *values)

    return apply


def _literal(node: Node, read: Read) -> Expression:
    written = str(node.args["this"])
    if node.args.get("is_string"):
        return Literal(written)
    if written.isascii() and written.isdigit():
        if len(written) > 19 or int(written) > _LARGEST_WHOLE:
            raise RequestError(f"whole numbers lie within 64 bits; write {written[:20]}... as a decimal, such as 1e20")
        return Literal(int(written))
    if len(written) > 400:
        raise RequestError(f"{written[:40]!r} is beyond the range of numbers, 1e-300 to 1e300")
    number = written_decimal(written)
    if number is None:
        raise RequestError(f"{written[:40]!r} is not a number")
    if number and abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise RequestError(f"{written[:40]!r} is beyond the range of numbers, 1e-300 to 1e300")
    return Literal(Fraction(number))


def _is(node: Node, read: Read) -> Expression:
    tested, against = read(part(node, "this")), part(node, "expression")
    if against.key == "null":
        return call("is_null", tested)
    if against.key == "boolean":
        matches = call("equal", tested, Literal(bool(against.args["this"])))
        return call("coalesce", matches, Literal(False))
    raise Unsupported("IS is followed by NULL, NOT NULL, TRUE or FALSE")


def _between(node: Node, read: Read) -> Expression:
    tested, low, high = map(read, [part(node, name) for name in ("this", "low", "high")])
    return call("and", call("greater_equal", tested, low), call("less_equal", tested, high))


def _in(node: Node, read: Read) -> Expression:
    if part(node, "query") is not None:
        raise Unsupported(
            "IN (SELECT ...) stands in WHERE by itself, joined to the rest by AND, and is about people: the column "
            "that identifies the person, IN a sub-query of that column"
        )
    if part(node, "this").key == "tuple":
        return in_pairs(node, read)
    tested, values = read(part(node, "this")), [*map(read, parts(node, "expressions"))]
    if not values:
        raise Unsupported("IN takes values in brackets: x IN (1, 2, 3)")
    constants = [value for value in values if value.constant is not None]
    tests = [call("in", tested, *constants)] if constants else []
    tests += [call("equal", tested, value) for value in values if not value.is_constant]
    if any(value == Literal(None) for value in values):  # it might be the value that is not known
        tests.append(call("case", call("is_null", tested), Literal(None), Literal(None)))
    return tests[0] if len(tests) == 1 else call("or", *tests)


def _same(node: Node, read: Read) -> Expression:
    return is_same(read(part(node, "this")), read(part(node, "expression")))


def _like(node: Node, read: Read) -> Expression:
    return _matched(node, [part(node, "this"), part(node, "expression")], read)


def _escape(node: Node, read: Read) -> Expression:
    like, escape = part(node, "this"), part(node, "expression")
    if like.key not in {"like", "ilike"}:
        raise refusal(like, NAMES)
    return _matched(like, [part(like, "this"), part(like, "expression"), escape], read)


def _matched(node: Node, arguments: list[Node], read: Read) -> Expression:
    matched, pattern, *escape = map(read, arguments)
    if node.key == "ilike":
        if not isinstance(pattern.constant, str):
            raise WrongKind("ILIKE", "a constant text here, such as 'abc%'", ("something else",))
        lower = FUNCTIONS["lower"].value
        matched, pattern = call("lower", matched), Literal(lower([pattern.constant], ["text"]))
        escape = [Literal(lower([esc.constant], ["text"])) if isinstance(esc.constant, str) else esc for esc in escape]
    matches = call("like", matched, pattern, *escape)
    return call("not", matches) if part(node, "negate") else matches


_COMPARISONS = {
    "eq": "equal",
    "neq": "not_equal",
    "lt": "less",
    "lte": "less_equal",
    "gt": "greater",
    "gte": "greater_equal",
}


def _compared(function: str) -> Translation:
    def apply(node: Node, read: Read) -> Expression:
        left, right = (_bare(part(node, name)) for name in ("this", "expression"))
        if right.key == "interval" and left.key == "sub":
            return call(function, read(left), in_days(right, read))
        if left.key == "interval" and right.key == "sub":
            return call(function, in_days(left, read), read(right))
        return call(function, read(part(node, "this")), read(part(node, "expression")))

    return apply


def _bare(node: Node) -> Node:
    while node is not None and node.key == "paren":
        node = part(node, "this")
    return node


def _add(node: Node, read: Read) -> Expression:
    left, right = part(node, "this"), part(node, "expression")
    if left.key == "interval" and node.key == "add":
        left, right = right, left
    if right.key == "interval":
        return shifted(read(left), right, read, sign=1 if node.key == "add" else -1)
    return call("add" if node.key == "add" else "subtract", read(left), read(right))


def _case(node: Node, read: Read) -> Expression:
    subject = part(node, "this")
    arguments: list[Expression] = []
    for branch in parts(node, "ifs"):
        test = read(part(branch, "this"))
        if subject is not None:
            test = call("equal", read(subject), test)
        arguments += [test, read(part(branch, "true"))]
    default = part(node, "default")
    return call("case", *arguments, Literal(None) if default is None else read(default))


def _if(node: Node, read: Read) -> Expression:
    otherwise = part(node, "false")
    taken = map(read, [part(node, "this"), part(node, "true")])
    return call("case", *taken, Literal(None) if otherwise is None else read(otherwise))


def _cast(node: Node, read: Read) -> Expression:
    to = part(node, "to")
    kind = getattr(part(to, "this"), "name", "")
    kind = str(to.args.get("kind") or "").upper() if kind == "USERDEFINED" else kind
    function, value = _CASTS.get(kind), read(part(node, "this"))
    if function is None:
        raise Unsupported(
            f"a cast to {kind or 'it'} is not supported; take BIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN"
        )
    said = value.constant
    if isinstance(said, str) and function in {"to_date", "to_timestamp"}:
        return Literal(read_date(said) if function == "to_date" else read_timestamp(said))
    if kind == "DECIMAL":
        digits = [str(parameter.name) for parameter in parts(to, "expressions")]
        return call("round_to", call(function, value), Literal(int(digits[1]) if len(digits) == 2 else 0))
    return call(function, value)


def _round(node: Node, read: Read) -> Expression:
    rounded, digits = read(part(node, "this")), part(node, "decimals")
    return call("round", rounded) if digits is None else call("round_to", rounded, read(digits))


def _substring(node: Node, read: Read) -> Expression:
    if part(node, "start") is None:
        raise WrongKind("SUBSTRING", "a text, a constant start and a constant length", ("fewer",))
    length = Literal(10**6) if part(node, "length") is None else read(part(node, "length"))
    return call("substring", *map(read, [part(node, "this"), part(node, "start")]), length)


def _left(node: Node, read: Read) -> Expression:
    whole, length = map(read, [part(node, "this"), part(node, "expression")])
    return call("substring", whole, Literal(1), length)


def _concat(node: Node, read: Read) -> Expression:
    texts = [call("coalesce", value, Literal("")) for value in map(read, parts(node, "expressions"))]
    return texts[0] if len(texts) == 1 else call("concat", *texts)


def _sunday(moment: Expression) -> Expression:
    return call("modulo", call("day_of_week", moment), Literal(7))


def part_of_date(name: str, moment: Expression) -> Expression:
    """Return a part of a date or time by its name in SQL."""
    name = SHORT_PARTS.get(name.lower(), name.lower())
    if name in {"dow", "dayofweek", "weekday"}:
        return _sunday(moment)
    if name == "epoch":
        return call("divide", call("epoch_us", moment), Literal(1_000_000))
    if name not in _PARTS:
        raise Unsupported(f"{name[:20]!r} is not a part of a date here; take one of dow, {', '.join(sorted(_PARTS))}")
    return call(_PARTS[name], moment)


def _extract(node: Node, read: Read) -> Expression:
    return part_of_date(str(part(node, "this").name), read(part(node, "expression")))


def _trim(node: Node, read: Read) -> Expression:
    side, what = str(node.args.get("position") or "BOTH").upper(), part(node, "expression")
    if what is not None and read(what).constant != " ":
        raise Unsupported("TRIM takes spaces away, and no other signs; use REPLACE")
    function = {"LEADING": "left_trim", "TRAILING": "right_trim"}.get(side, "trim")
    return call(function, read(part(node, "this")))


def _position(node: Node, read: Read) -> Expression:
    return call("position", read(part(node, "this")), read(part(node, "substr")))


def _plain(function: str) -> Translation:
    return lambda node, read: call(function, *map(read, arguments_of(node)))


TRANSLATIONS: Mapping[str, Translation] = {
    **{node: _plain(function.name) for function in FUNCTIONS.values() for node in function.nodes},
    **{key: _compared(function) for key, function in _COMPARISONS.items()},
    "paren": lambda node, read: read(part(node, "this")),
    "literal": _literal,
    "null": lambda node, read: Literal(None),
    "boolean": lambda node, read: Literal(bool(node.args["this"])),
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
    "dayofweek": lambda node, read: _sunday(read(part(node, "this"))),
    "timetounix": lambda node, read: part_of_date("epoch", read(part(node, "this"))),
    "trim": _trim,
    "strposition": _position,
    "nullsafeeq": _same,
    "nullsafeneq": lambda node, read: call("not", _same(node, read)),
    "ilike": _like,
}
"""Node by node, by the parser's name for it."""
