"""Every function of the closed list, on the installed engine, with the most extreme values its types hold."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from itertools import product

import duckdb
import pytest

from privet.core import schema
from privet.core.errors import RequestError
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.engines.scan_sql.row_values import clamped
from privet.query.expressions import evaluate_row, typed
from privet.query.functions import FUNCTIONS
from privet.testing.oracle import read

KINDS = ("integer", "number", "boolean", "text", "date", "timestamp")
WIDTHS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32}
WHOLE = sorted(
    {0, 1, -1, 2, 7, 10, 12, 30, 365, -7, 1000, 2**53 + 1}
    | {2**w - 1 for w in WIDTHS.values()}
    | {-(2**w) for w in (7, 15, 31, 63)}
)
REAL = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1 / 3,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    9.2233720368547758e18,
    -9.2233720368547758e18,
    9007199254740993.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-7,
    709.8,
    -745.2,
    3.0,
    100.0,
]
TEXT = [
    "",
    " ",
    "a",
    "B",
    "é",
    "e\u0301",
    "ẞ",
    "🤦🏼‍♂️",
    "\x00",
    "a\x00b",
    "%",
    "_",
    "a%b",
    "\\",
    "'",
    '"; DROP',
    "\n",
    "\t x",
    "x" * 20_000,
    "9" * 400,
    "12",
    " 12 ",
    "+7",
    "-9223372036854775808",
    "9223372036854775808",
    "1e5",
    "1e999",
    ".5",
    "5.",
    "nan",
    "inf",
    "0x10",
    "1_000",
    "true",
    "T",
    "0",
    "no",
    "2024-02-29",
    "2023-02-29",
    "0000-01-01",
    "9999-12-31",
    "2024-01-01 23:59:59.999999",
    "2024-01-01 24:00:00",
    "2024-1-1",
    "infinity",
    "-infinity",
    "２",
]
DATES = [
    "0001-01-01",
    "9999-12-31",
    "1970-01-01",
    "2024-02-29",
    "2023-12-31",
    "2021-01-03",
    "1900-01-31",
    "infinity",
    "-infinity",
    "5881580-07-10",
    "5877642-06-25 (BC)",
    "0001-12-31 (BC)",
    "10000-01-01",
]
MOMENTS = [
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2024-02-29 12:34:56.789",
    "1969-12-31 23:59:59.5",
    "2021-01-04 00:00:00",
    "infinity",
    "-infinity",
    "294247-01-10 04:00:54.775806",
    "290309-12-22 (BC) 00:00:00",
    "10000-01-01 00:00:00",
]
STORED = {"integer": WHOLE, "number": REAL, "boolean": [True, False], "text": TEXT, "date": DATES, "timestamp": MOMENTS}
INEXACT = {"exp", "ln", "log10", "log2", "power", "sqrt"}

NUMBERS = (Literal(0), Literal(3), Literal(Fraction(1, 4)))
CONSTANTS: dict[str, list[tuple[object, ...]]] = {
    "like": [("text", Literal("a%_")), ("text", Literal("%" * 50 + "x")), ("text", Literal("a|%%"), Literal("|"))],
    "substring": [("text", Literal(at), Literal(size)) for at, size in ((1, 2), (10**6, 10**6), (2, 0))],
    "right": [("text", Literal(size)) for size in (0, 1, 3, 10**6)],
    "replace": [("text", Literal(old), Literal(new))
                for old, new in (("a", "bb"), ("x", "y" * 20), (" ", ""), ("9", "é"))],
    **{name: [("text", Literal(size), Literal(other))
              for size, other in ((0, "x"), (3, "0"), (7, "é%"), (2000, "ab"))] for name in ("left_pad", "right_pad")},
    "split_part": [("text", Literal(other), Literal(place))
                   for other, place in ((" ", 1), ("%", 2), ("9", 3), ("a", 1000), ("é", 1))],
    "make_date": [
        ("integer", "integer", "integer"), ("integer", Literal(2), Literal(29)),
        (Literal(2024), "integer", Literal(31)), (Literal(None), "integer", Literal(1)),
        (Literal(2023), Literal(2), Literal(29)), (Literal(2024), Literal(2), Literal(29)),
    ],
    "format_date": [(kind, Literal(form)) for kind in ("date", "timestamp")
                    for form in ("%Y-%m-%d", "%H:%M:%S %%", "%y %j %b %B", "%a, %A; %u %V/%G", "it's")],
    "round_to": [(kind, Literal(d)) for kind in ("integer", "number") for d in (-15, -2, 0, 2, 15)],
    "in": [
        ("integer", Literal(0), Literal(2**63 - 1)), ("integer", Literal(1), Literal(Fraction(5, 2))),
        ("number", Literal(Fraction(1, 2)), Literal(3)), ("text", Literal("a"), Literal("'")),
        ("boolean", Literal(True)),
        ("date", Literal(datetime.date(2024, 2, 29))), ("timestamp", Literal(datetime.datetime(1970, 1, 1))),
    ],
    "clamp": [(kind, *ends) for kind in ("integer", "number") for ends in (
        (Literal(0), Literal(10)), (Literal(-(2**63)), Literal(2**63 - 1)), (Literal(3), Literal(3)),
        (Literal(Fraction(-1, 3)), Literal(Fraction(10) ** 300)))],
    "bin": [(kind, width) for kind in ("integer", "number")
            for width in map(Literal, (1, 7, 2**63 - 1, Fraction(1, 3), Fraction(1, 10**300)))],
    "bucket": [(kind, *ends) for kind in ("integer", "number") for ends in (
        (Literal(0), Literal(10), Literal(4)), (Literal(-(2**63)), Literal(2**63 - 1), Literal(10_000)),
        (Literal(Fraction(1, 3)), Literal(Fraction(1, 2)), Literal(3)))],
    "date_trunc": [(Literal(part), kind) for part, kind in (
        *product(("day", "week", "month", "quarter", "year"), ("date", "timestamp")),
        *product(("second", "minute", "hour"), ("timestamp",)))],
    "date_diff": [(Literal(part), a, b) for part, a, b in (
        *product(("day", "week", "month", "quarter", "year"), ("date", "timestamp"), ("date", "timestamp")),
        *product(("second", "minute", "hour"), ("timestamp",), ("timestamp",)))],
    "add_days": [(kind, Literal(n)) for kind in ("date", "timestamp") for n in (0, 1, -1, 10**9, -(10**9), 3652058)],
    "add_months": [(kind, Literal(n)) for kind in ("date", "timestamp")
                   for n in (0, 1, -1, 13, -1300, 10**9, -(10**9), 119987)],
    "add_seconds": [("timestamp", Literal(n)) for n in (0, 1, -1, 10**9, -(10**9))],
}  # fmt: skip


def _bounds(kind: str) -> tuple[object, object]:
    return {
        "integer": (-100, 1000),
        "number": (Fraction(-5, 2), Fraction(1001, 3)),
        "date": (datetime.date(2000, 1, 1), datetime.date(2024, 12, 31)),
        "timestamp": (datetime.datetime(2000, 1, 1), datetime.datetime(2024, 12, 31, 12)),
    }[kind]


def _column(kind: str, *, bounded: bool) -> schema.ColumnFacts:
    if bounded and kind in ("integer", "number", "date", "timestamp"):
        low, high = _bounds(kind)
        if kind in ("integer", "number"):
            low, high = Fraction(low), Fraction(high)  # type: ignore[arg-type]
        return schema.ColumnFacts(kind=kind, low=low, high=high, nullable=True)  # type: ignore[arg-type]
    return schema.ColumnFacts(kind=kind, nullable=True)  # type: ignore[arg-type]


COLUMNS = {
    f"{kind} {form} {place}": _column(kind, bounded=form == "bounded")
    for kind in KINDS
    for form in ("open", "bounded")
    for place in range(3)
}
NAMES = {name: f"c{index}" for index, name in enumerate(COLUMNS)}
RENDERER = Renderer({name: RowSource(NAMES[name], column) for name, column in COLUMNS.items()}, DUCKDB)


@pytest.fixture(scope="module")
def engine():
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for kind in KINDS:
        connection.execute(f"CREATE TABLE stored_{kind} (v {TYPES[kind]})").fetchall()
        for value in [*STORED[kind], None]:
            connection.execute(f"INSERT INTO stored_{kind} VALUES (?)", [value]).fetchall()
        # three places take every value in turn, but not every combination of them
        connection.execute(
            f"CREATE TABLE few_{kind} AS FROM stored_{kind} USING SAMPLE 5 ROWS (reservoir, 7)"
        ).fetchall()
    yield connection
    connection.close()


def calls(name: str, form: str) -> list[Expression]:
    """Every accepted combination of kinds, with a constant NULL in each place as well."""
    function = FUNCTIONS[name]
    if name in CONSTANTS:
        patterns = CONSTANTS[name]
    else:
        arity = range(function.least, min(function.most, max(function.least, 2)) + 1)
        patterns = [pattern for n in arity for pattern in product(("null", *KINDS), repeat=n)]
    found = []
    for pattern in patterns:
        arguments = tuple(
            part
            if isinstance(part, Literal)
            else Literal(None)
            if part == "null"
            else ColumnRef(f"{part} {form} {place}")
            for place, part in enumerate(pattern)
        )
        call = Call(name, arguments)
        try:
            typed(call, COLUMNS)
        except RequestError:
            continue
        found.append(call)
    return found


def evaluate(engine, call: Call) -> tuple[list[dict[str, object]], list[object]]:
    used = [argument.name for argument in call.arguments if isinstance(argument, ColumnRef)]
    rendered = RENDERER.render(call)
    size = "few" if len(used) > 2 else "stored"
    tables = ", ".join(f"{size}_{name.split()[0]} AS t{place}" for place, name in enumerate(used))
    raw = ", ".join(f"t{place}.v AS r{place}" for place in range(len(used)))
    read_as = [f"{clamped(f'r{place}', COLUMNS[name], DUCKDB)} AS {NAMES[name]}" for place, name in enumerate(used)]
    if not used:
        # nothing but constants
        return [{}], [engine.execute(f"SELECT {rendered.sql}").fetchone()[0]]
    inner = f"SELECT {', '.join(read_as)} FROM (SELECT {raw} FROM {tables})"
    names = [NAMES[name] for name in used]
    rows = engine.execute(f"SELECT {', '.join(names)}, {rendered.sql} FROM ({inner})").fetchall()
    return [dict(zip(used, row[:-1], strict=True)) for row in rows], [row[-1] for row in rows]


def same(one: object, other: object, exact: bool) -> bool:
    if one is None or other is None or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, float) and isinstance(other, float) and not exact:
        return math.isclose(one, other, rel_tol=1e-14, abs_tol=0.0) or one == other
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("form", ["open", "bounded"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_is_total_on_the_engine_and_equals_the_oracle(engine, name, form):
    found = calls(name, form)
    assert found
    for call in found:
        facts = typed(call, COLUMNS)
        rows, values = evaluate(engine, call)
        assert rows
        for row, value in zip(rows, values, strict=True):
            expected = evaluate_row(call, row, COLUMNS)
            assert same(value, expected, name not in INEXACT), (call, row, value, expected)
            assert value is not None or facts.nullable, (call, row)
            if value is None or facts.kind not in ("integer", "number", "date", "timestamp"):
                continue
            slack = 0 if facts.kind == "integer" else 1e-9
            if isinstance(value, (int, float)) and not isinstance(facts.low, datetime.date):
                if math.isinf(value):
                    assert facts.low is None or facts.high is None
                    continue
                exact, room = Fraction(value), Fraction(slack) * (1 + abs(Fraction(value)))
                assert facts.low is None or facts.low - room <= exact, (call, row, value)
                assert facts.high is None or exact <= facts.high + room, (call, row, value)
            else:
                assert facts.low is None or facts.low <= value, (call, row, value)
                assert facts.high is None or value <= facts.high, (call, row, value)


@pytest.mark.parametrize("constant", [0, Fraction(0), 3, Fraction(-5, 2), Fraction(10) ** 300])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "modulo", "power"])
def test_with_constants_what_is_stored_without_bounds_gives_no_number_that_is_none(engine, name, constant):
    """0 times infinity, and what is left of it by 3, are NULL, although constants bound the result."""
    for column in ("number open 0", "integer open 0"):
        for sides in ((ColumnRef(column), Literal(constant)), (Literal(constant), ColumnRef(column))):
            call = Call(name, sides)
            facts = typed(call, COLUMNS)
            for row, value in zip(*evaluate(engine, call), strict=True):
                expected = evaluate_row(call, row, COLUMNS)
                assert same(value, expected, name not in INEXACT), (call, row, value, expected)
                assert value is not None or facts.nullable, (call, row)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_value_is_read_as_the_oracle_reads_it(engine, kind):
    for form in ("open", "bounded"):
        column = COLUMNS[f"{kind} {form} 0"]
        stored = f"SELECT v, {clamped('v', column, DUCKDB)} FROM stored_{kind}"
        for raw, value in engine.execute(stored).fetchall():
            if isinstance(raw, str) and kind in ("date", "timestamp"):
                continue  # the engine has dates that Python has not
            if kind in ("date", "timestamp") and form == "open" and raw is not None and raw.year in (1, 9999):
                continue  # infinity comes back as the last date there is
            assert same(value, read(raw, column), exact=True) or (value == 0.0 and read(raw, column) == 0.0)


def test_deep_nesting_stays_small():
    expression: Expression = ColumnRef("number open 0")
    for name in ("sqrt", "exp", "ln") * 30:
        expression = Call(name, (expression,))
    assert len(RENDERER.render(expression).sql) < 20_000


def test_the_engine_has_no_integer_type_that_these_tests_do_not_know(engine):
    found = {row[0] for row in engine.execute(
        "SELECT DISTINCT logical_type FROM duckdb_types() WHERE type_category = 'NUMERIC'").fetchall()}  # fmt: skip
    assert found <= {*WIDTHS, "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BIGNUM", "VARINT"}
