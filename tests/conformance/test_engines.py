"""Every engine gives the same exact sums as the plain Python oracle, over random tables full of trouble."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core import schema
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import MOST_PLACES, Discovery, GroupKey, Largest, Near, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.core.unit import Person, Rows
from privet.engines.duckdb.engine import DuckDB
from privet.testing import Memory, arrow_tables, check_engine

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "who": schema.integer(nullable=True),
    "city": schema.category(["Ulm", "Bonn", "O'Hara"], nullable=True),
    "shop": schema.text(nullable=True),
    "age": schema.integer(0, 5),
    "big": schema.integer(-(2**63), 2**63 - 1, nullable=True),
    "pay": schema.number(Fraction(-1, 2), 10, step=Fraction(1, 100), nullable=True),
    "free": schema.number(nullable=True),
    "day": schema.date(datetime.date(2024, 1, 30), datetime.date(2024, 3, 2)),
    "ok": schema.boolean(),
}
ARROW = pa.schema([
    ("who", pa.int64()), ("city", pa.string()), ("shop", pa.string()), ("age", pa.int32()), ("big", pa.int64()),
    ("pay", pa.float64()), ("free", pa.float64()), ("day", pa.date32()), ("ok", pa.bool_()),
])  # fmt: skip
INT64 = (-(2**63), 2**63 - 1)
NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.005, 0.015, 9.995, -0.5, 10.0, 5e-324, 1e308]),
    st.floats(-2, 12),
)
ROWS = st.lists(
    st.fixed_dictionaries({
        "who": st.one_of(st.none(), st.integers(1, 4), st.just(INT64[0])),
        "city": st.sampled_from([None, "Ulm", "Bonn", "O'Hara", "elsewhere", ""]),
        "shop": st.sampled_from([None, "", "a", "b", "A", "é"]),
        "age": st.one_of(st.none(), st.integers(-3, 9)),
        "big": st.one_of(st.none(), st.integers(*INT64), st.sampled_from(INT64)),
        "pay": NUMBERS,
        "free": NUMBERS,
        "day": st.one_of(st.none(), st.dates(datetime.date(2023, 12, 1), datetime.date(2024, 4, 1)),
                         st.sampled_from([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)])),
        "ok": st.sampled_from([None, True, False]),
    }),
    max_size=25,
)  # fmt: skip


def col(name: str) -> ColumnRef:
    return ColumnRef(name)


CITY = GroupKey(col("city"), ("Ulm", "Bonn", "O'Hara", None), True)
CITIES = GroupKey(col("city"), ("Ulm", "Bonn"), False)
SHOP = GroupKey(col("shop"), None, True)
SHOPS = GroupKey(col("shop"), None, False)
AGE = GroupKey(col("age"), (0, 1, 2, 3, 4, 5), False)
ODD = GroupKey(col("age"), (1, 3), False)
OK = GroupKey(col("ok"), (False, True), False)
MONTH = GroupKey(
    Call("date_trunc", (Literal("month"), col("day"))),
    tuple(datetime.date(2024, month, 1) for month in (1, 2, 3)),
    False,
)
BIN = GroupKey(Call("bin", (col("pay"), Literal(Fraction(5, 2)))), None, True)
KEYS = [(), (CITY,), (CITIES,), (AGE,), (ODD,), (OK, CITY), (MONTH,), (SHOP,), (SHOPS,), (SHOP, OK), (BIN,)]

COUNT = Sum(None, 1, 1)
YOUNG = Sum(None, 1, 1, where=Call("less", (col("age"), Literal(3))))
AGES = Sum(col("age"), 0, 5, null_as=0)
OLDER = Sum(col("age"), -2, 7, null_as=0)  # ends that the column's bounds do not reach
CENTRED = Sum(col("age"), -5, 5, origin=Fraction(5, 2), step=Fraction(1, 2), null_as=-5)
THIRDS = Sum(col("big"), -1000, 1000, origin=Fraction(1, 7), step=Fraction(10, 3))
WIDE = Sum(col("big"), -(2**63), 2**63 - 1)
PAY = Sum(col("pay"), -50, 1000, step=Fraction(1, 100))
SQUARES = Sum(col("pay"), -525, 525, origin=Fraction(19, 4), step=Fraction(1, 100), power=2, offset=525**2 // 2)
BEYOND = Sum(col("pay"), -200, 5000, step=Fraction(1, 100), null_as=7)  # ends that the column's bounds do not reach
INSIDE = Sum(col("pay"), 30, 80, origin=Fraction(1, 3), step=Fraction(1, 10))
FINE = Sum(col("free"), -(2**60), 2**60, step=Fraction(1, 2**57))  # ends that are no doubles, once 1 is added
FAR = Sum(col("free"), -9, 9, origin=10**15 + Fraction(1, 3), step=Fraction(1, 1000), null_as=0)
FREE = Sum(Call("multiply", (col("free"), col("age"))), -7, 9, step=Fraction(1, 3), where=col("ok"))
OVERFLOW = Sum(Call("multiply", (col("big"), Literal(3))), -100, 100)
SUMS = [COUNT, YOUNG, AGES, OLDER, CENTRED, THIRDS, WIDE, PAY, SQUARES, BEYOND, INSIDE, FINE, FAR, FREE, OVERFLOW]
WHERES = [
    None,
    Call("greater", (col("pay"), Literal(Fraction(1, 2)))),
    Call("or", (col("ok"), Call("is_null", (col("free"),)))),
    Call("equal", (Call("modulo", (col("big"), col("age"))), Literal(0))),
]
SHIFT = 7


@st.composite
def scans(draw) -> Scan:
    bounding = draw(
        st.one_of(
            st.just(Once()),
            st.builds(Norm, st.sampled_from([1, 2]), st.integers(1, 12), st.sampled_from([0, SHIFT])),
            st.just(Truncate(10**6, 10**6)),
        )
    )
    keys = draw(st.sampled_from(KEYS))
    discovery = None
    if any(key.values is None for key in keys) and draw(st.booleans()):
        discovery = Discovery(10**5 if isinstance(bounding, Once) else 100, draw(st.sampled_from([0, 1, 2])), SHIFT)
    sums = tuple(draw(st.lists(st.sampled_from(SUMS), min_size=1, max_size=4)))
    distinct = draw(st.booleans()) and not isinstance(bounding, Once)
    unit = Rows() if isinstance(bounding, Once) else Person("who")
    facts = schema.Schema(unit=unit, columns=COLUMNS, rows=draw(st.sampled_from([2**20, 2**40])))
    return Scan("t", facts, draw(st.sampled_from(WHERES)), keys, sums, bounding, discovery, distinct)


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("make", [DuckDB, Memory])
@pytest.mark.parametrize(
    ("low", "high", "total"), [(-2, 7, 9), (0, 7, 9), (-2, 5, 9), (0, 5, 9), (1, 4, 9), (3, 9, 12)]
)
def test_values_are_held_to_the_bounds_of_their_column_whatever_the_ends_of_a_sum(kind, make, low, high, total):
    columns = {"n": getattr(schema, kind)(0, 5)}
    source = pa.table({"n": pa.array([-3, 9, 4], pa.int64() if kind == "integer" else pa.float64())})
    asked = Scan("t", schema.Schema(unit=Rows(), columns=columns), None, (), (Sum(col("n"), low, high),), Once())
    engine = make({"t": schema.Table(source if make is DuckDB else source.to_pylist(), unit=Rows(), columns=columns)})
    assert answer(engine, asked) == {(): (total,)}
    engine.close()


OF = [
    *map(col, COLUMNS),
    Call("modulo", (col("big"), col("age"))),
    Call("lower", (col("shop"),)),
]


@st.composite
def value_scans(draw, unit) -> Scan:
    """A count of different values, of which every unit keeps all: which are dropped is up to chance."""
    bounding = Pairs(draw(st.sampled_from(OF)), 10**6 if isinstance(unit, Person) else 1)
    facts = schema.Schema(unit=unit, columns=COLUMNS)
    sums = (draw(st.sampled_from([COUNT, YOUNG])),)
    return Scan("t", facts, draw(st.sampled_from(WHERES)), draw(st.sampled_from(KEYS)), sums, bounding)


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, data=st.data(), unit=st.sampled_from([Rows(), Person("who")]))
def test_duckdb_counts_as_many_different_values_as_the_oracle(rows, data, unit):
    source = pa.Table.from_pylist(rows, schema=ARROW)
    with DuckDB(
        {"t": schema.Table(source, unit=unit, columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1))},
        threads=1,
    ) as engine:
        oracle = Memory(
            {"t": schema.Table(rows, unit=unit, columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1))}
        )
        for scan in data.draw(st.lists(value_scans(unit), min_size=3, max_size=6)):
            assert answer(engine, scan) == answer(oracle, scan), scan


@pytest.mark.parametrize("make", [DuckDB, Memory])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_unit_counts_in_no_more_pairs_than_it_may(make, most):
    rows = [{"who": 1, "city": city, "age": age} for city in ("Ulm", "Bonn") for age in range(6)] * 2
    kept = {
        "unit": Person("who"),
        "columns": {name: COLUMNS[name] for name in ("who", "city", "age")},
        "contribution": schema.Contribution(groups=1, rows=1),
    }
    names = pa.schema([field for field in ARROW if field.name in kept["columns"]])
    source = pa.Table.from_pylist(rows, schema=names) if make is DuckDB else rows
    engine = make({"t": schema.Table(source, **kept)})
    for keys in ((), (CITY,)):
        scan = Scan("t", schema.Schema(**kept), None, keys, (COUNT,), Pairs(col("age"), most))
        found = [sum(count for (count,) in answer(engine, scan).values()) for _ in range(5)]
        assert all(1 <= count <= most for count in found)
        assert most in found
    engine.close()


def answer(engine, scan: Scan) -> dict:
    return engine.scan(scan)._groups


def without_nothing(groups: dict) -> dict:
    """Groups of zeros are the same as no groups, unless keys are discovered."""
    return {key: sums for key, sums in groups.items() if any(sums)}


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, asked=st.lists(scans(), min_size=3, max_size=6))
def test_duckdb_gives_what_the_oracle_gives(rows, asked):
    facts = asked[0].schema
    source = pa.Table.from_pylist(rows, schema=ARROW)
    keep = {"unit": facts.unit, "columns": COLUMNS, "contribution": schema.Contribution(groups=1, rows=1)}
    with DuckDB({"t": schema.Table(source, **keep)}, threads=1) as engine:
        oracle = Memory({"t": schema.Table(rows, **keep)})
        for scan in asked:
            got, expected = answer(engine, scan), answer(oracle, scan)
            if scan.discovery is None:
                got, expected = without_nothing(got), without_nothing(expected)
            assert got == expected, scan
            assert all(type(number) is int for sums in got.values() for number in sums)


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, asked=st.lists(scans().filter(lambda one: one.keys), min_size=3, max_size=6), limit=st.integers(1, 6))
def test_duckdb_bounds_the_largest_cells_of_a_unit_as_the_oracle_does(rows, asked, limit):
    keep = {"unit": Person("who"), "columns": COLUMNS, "contribution": schema.Contribution(groups=1, rows=1)}
    with DuckDB({"t": schema.Table(pa.Table.from_pylist(rows, schema=ARROW), **keep)}, threads=1) as engine:
        oracle = Memory({"t": schema.Table(rows, **keep)})
        for one in asked:
            facts = replace(one.schema, unit=Person("who"))
            scan = replace(one, schema=facts, bounding=Largest(limit, SHIFT), discovery=None)
            assert without_nothing(answer(engine, scan)) == without_nothing(answer(oracle, scan)), scan


@pytest.mark.parametrize("make", [DuckDB, Memory])
@pytest.mark.parametrize("limit", [3, 7])
def test_a_unit_weighs_by_its_largest_cell_in_each_group(make, limit):
    cells = {("Ulm", 1): 4, ("Ulm", 2): 2, ("Bonn", 1): 3}
    rows = [dict.fromkeys(COLUMNS) | {"who": 1, "city": c, "age": a} for (c, a), n in cells.items() for _ in range(n)]
    source = pa.Table.from_pylist(rows, schema=ARROW) if make is DuckDB else rows
    table = schema.Table(
        source, unit=Person("who"), columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1)
    )
    engine = make({"t": table})
    found = answer(engine, Scan("t", table.schema, None, (CITY, AGE), (COUNT,), Largest(limit, SHIFT)))
    weight = min(2**SHIFT, limit * 2**SHIFT // (4 + 3))
    assert without_nothing(found) == {cell: (weight * count,) for cell, count in cells.items()}
    engine.close()


PLACED = [
    replace(
        total,
        low=0,
        high=total.high - total.low,
        origin=total.origin + total.low * total.step,
        null_as=None,
        power=1,
        offset=0,
    )
    for total in SUMS
    if total.expression is not None and total.high - total.low <= MOST_PLACES
]
"""The grids of all sums, from place 0."""

INLINE = [16, 0]
"""As many public keys as are written into the text, and none, so that all are bound as a list."""


@pytest.mark.parametrize("inline", INLINE)
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, asked=st.lists(scans(), min_size=3, max_size=6), placed=st.sampled_from(PLACED))
def test_duckdb_counts_by_place_what_the_oracle_counts(inline, rows, asked, placed):
    keep = {"unit": asked[0].schema.unit, "columns": COLUMNS, "contribution": schema.Contribution(groups=1, rows=1)}
    tables = {"t": schema.Table(pa.Table.from_pylist(rows, schema=ARROW), **keep)}
    with pytest.MonkeyPatch.context() as patched, DuckDB(tables, threads=1) as engine:
        patched.setattr("privet.engines.scan_sql.statement._INLINE", inline)
        oracle = Memory({"t": schema.Table(rows, **keep)})
        for one in asked:
            bounding = replace(one.bounding, order=1) if isinstance(one.bounding, Norm) else one.bounding
            scan = replace(one, sums=(), discovery=None, distinct=False, bounding=bounding, places=placed)
            got, expected = (
                {cell: (list(where), list(weights)) for cell, (where, weights) in found.scan(scan)._places.items()}
                for found in (engine, oracle)
            )
            assert got == expected, scan


def taken_together(places: list[int], weights: list[int], near: Near) -> tuple[list[int], list[int]]:
    """Counts as `Near` allows an engine to give them: all of a block at its first place, unless it is looked into."""
    found: dict[int, int] = {}
    total = sum(weights)
    for place, weight in zip(places, weights, strict=True):
        block = place >> near.bits
        before = sum(n for at, n in zip(places, weights, strict=True) if at >> near.bits < block)
        through = sum(n for at, n in zip(places, weights, strict=True) if at >> near.bits <= block)
        far = before >= near.share * total + near.above or through <= near.share * total - near.below
        at = block << near.bits if far else place
        found[at] = found.get(at, 0) + weight
    return list(found), list(found.values())


@pytest.mark.parametrize("inline", INLINE)
@settings(max_examples=40, deadline=None)
@given(
    rows=ROWS,
    asked=st.lists(scans(), min_size=3, max_size=6),
    placed=st.sampled_from(PLACED),
    share=st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)]),
    window=st.tuples(st.integers(-1, 4), st.integers(-1, 4), st.integers(1, 3)),
)
def test_duckdb_tells_rows_apart_where_a_scan_looks_closely(inline, rows, asked, placed, share, window):
    below, above, bits = window
    keep = {"unit": asked[0].schema.unit, "columns": COLUMNS, "contribution": schema.Contribution(groups=1, rows=1)}
    tables = {"t": schema.Table(pa.Table.from_pylist(rows, schema=ARROW), **keep)}
    with pytest.MonkeyPatch.context() as patched, DuckDB(tables, threads=1) as engine:
        patched.setattr("privet.engines.scan_sql.statement._INLINE", inline)
        oracle = Memory({"t": schema.Table(rows, **keep)})
        for one in asked:
            bounding = replace(one.bounding, order=1) if isinstance(one.bounding, Norm) else one.bounding
            weight = 2**SHIFT if isinstance(bounding, Norm) else 1
            near = Near(share, max(1, below * weight), max(1, above * weight), bits)
            scan = replace(one, sums=(), discovery=None, distinct=False, bounding=bounding, places=placed, near=near)
            got = {cell: (list(at), list(n)) for cell, (at, n) in engine.scan(scan)._places.items()}
            exact = {cell: (list(at), list(n)) for cell, (at, n) in oracle.scan(scan)._places.items()}
            assert got == {cell: taken_together(*counts, near) for cell, counts in exact.items()}, scan


@pytest.mark.parametrize("make", [DuckDB, Memory])
def test_a_unit_over_the_bound_keeps_no_more_than_it_may(make):
    rows = [
        dict.fromkeys(COLUMNS) | {"who": who, "shop": f"s{shop}", "age": 1} for who in (1, 2) for shop in range(9)
        for _ in range(4)
    ]  # fmt: skip
    source = pa.Table.from_pylist(rows, schema=ARROW) if make is DuckDB else rows
    table = schema.Table(
        source, unit=Person("who"), columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1)
    )
    engine = make({"t": table})
    for keys, expected in (((SHOP,), 3 * 2), ((), 2)):
        found = answer(engine, Scan("t", table.schema, None, keys, (COUNT,), Truncate(3, 2)))
        assert sum(sums[0] for sums in found.values()) == 2 * expected
    for bounding in (Norm(2, 5, SHIFT), Truncate(6, 3)):
        for order, share in ((0, 128), (1, 128 // 4), (2, 64)):
            found = answer(
                engine, Scan("t", table.schema, None, (SHOP,), (COUNT,), bounding, Discovery(4, order, SHIFT))
            )
            assert sum(sums[1] for sums in found.values()) == 2 * 4 * share
            assert all(sums[1] in (share, 2 * share) for sums in found.values())
    engine.close()


def test_which_rows_and_keys_are_kept_changes_from_query_to_query():
    rows = [dict.fromkeys(COLUMNS) | {"who": 1, "shop": f"s{index}", "age": index % 6} for index in range(40)]
    table = schema.Table(
        pa.Table.from_pylist(rows, schema=ARROW),
        unit=Person("who"),
        columns=COLUMNS,
        contribution=schema.Contribution(groups=1, rows=1),
    )
    with DuckDB({"t": table}) as engine:
        one_group = Scan("t", table.schema, None, (), (AGES,), Truncate(1, 5))
        three_keys = Scan("t", table.schema, None, (SHOP,), (COUNT,), Truncate(3, 1))
        discovered = Scan("t", table.schema, None, (SHOP,), (COUNT,), Norm(2, 5, SHIFT), Discovery(3, 2, SHIFT))
        for scan in (one_group, three_keys, discovered):
            assert len({repr(sorted(answer(engine, scan).items())) for _ in range(12)}) > 1


def test_the_kept_rows_do_not_depend_on_the_order_of_the_data():
    from privet.engines.dialects.duckdb import DUCKDB
    from privet.engines.scan_sql.statement import statement

    rows = [
        dict.fromkeys(COLUMNS) | {"who": 1, "shop": f"s{index % 7}", "big": index, "age": index % 6}
        for index in range(50)
    ]
    found = []
    for ordered in (rows, rows[::-1]):
        table = schema.Table(
            pa.Table.from_pylist(ordered, schema=ARROW),
            unit=Person("who"),
            columns=COLUMNS,
            contribution=schema.Contribution(groups=1, rows=1),
        )
        with DuckDB({"t": table}) as engine:
            for bounding, discovery in ((Truncate(3, 2), None), (Norm(2, 5, SHIFT), Discovery(3, 2, SHIFT))):
                scan = Scan("t", table.schema, None, (SHOP,), (AGES, THIRDS), bounding, discovery)
                found.append(sorted(engine._fetch(statement(scan, "table0", 12345, DUCKDB).sql)))
    assert found[0] == found[2]
    assert found[1] == found[3]


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_duckdb_keeps_all_that_lies_far_off(share, inline, monkeypatch):
    monkeypatch.setattr("privet.engines.scan_sql.statement._INLINE", inline)
    columns = {"age": schema.integer(0, 7), "city": schema.category(["Ulm", "Bonn"])}
    # each city has a middle of its own, so that the places of one are not those of the other
    rows = [{"age": at % 8, "city": "Ulm"} if at % 3 else {"age": at % 8 // 2, "city": "Bonn"} for at in range(60)]
    facts = schema.Schema(unit=Rows(), columns=columns)
    near = Near(share, 2, 2, 1)
    scan = Scan("t", facts, None, (CITIES,), (), Once(), places=Sum(col("age"), 0, 7), near=near)
    oracle = Memory({"t": schema.Table(rows, unit=Rows(), columns=columns)})
    with DuckDB({"t": schema.Table(pa.Table.from_pylist(rows), unit=Rows(), columns=columns)}, threads=1) as engine:
        got = {cell: (list(at), list(n)) for cell, (at, n) in engine.scan(scan)._places.items()}
    exact = {cell: (list(at), list(n)) for cell, (at, n) in oracle.scan(scan)._places.items()}
    assert len(exact) == 2
    assert got == {cell: taken_together(*counts, near) for cell, counts in exact.items()} != exact


@pytest.mark.parametrize("make", [lambda tables: DuckDB(arrow_tables(tables), threads=1), Memory])
def test_every_engine_passes_its_suite(make):
    assert len(check_engine(make, tables=6).held) == 10
