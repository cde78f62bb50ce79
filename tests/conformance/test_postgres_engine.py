"""PostgreSQL gives the same exact sums as the oracle and DuckDB, over random tables full of trouble."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postgres_world import PostgresWorld, with_source
from privet.core import schema
from privet.core.errors import RequestError, Unsupported
from privet.core.relation import Call, ColumnRef
from privet.core.scan import Discovery, GroupKey, Largest, Near, Norm, Once, Scan, Sizes, Sum, Truncate
from privet.core.unit import Person, Rows
from privet.engines.duckdb.engine import DuckDB
from privet.engines.postgres.postgres_engine import PostgresEngine
from privet.engines.postgres.reader_address import Postgres
from privet.engines.scan_sql.dialect import identifier
from privet.testing import Memory, check_engine

pa = pytest.importorskip("pyarrow")
sys.path.insert(0, str(Path(__file__).parent))

from test_engines import (  # noqa: E402
    ARROW,
    COLUMNS,
    COUNT,
    PLACED,
    ROWS,
    SHIFT,
    SHOP,
    answer,
    scans,
    taken_together,
    value_scans,
    without_nothing,
)

EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def world(postgres) -> Iterator[PostgresWorld]:
    made = PostgresWorld(postgres)
    yield made
    made.close()


class Kept:
    """One table for each unit, whose rows change from example to example."""

    def __init__(self, world: PostgresWorld) -> None:
        self.world = world
        self.engines: dict[Any, PostgresEngine] = {}
        self.names: dict[Any, str] = {}

    def filled(self, rows: list[dict[str, Any]], unit: Any) -> tuple[PostgresEngine, Memory]:
        table = schema.Table(rows, unit=unit, columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1))
        if unit not in self.engines:
            stored = self.world.load("t", with_source(table, []))
            self.names[unit] = stored.source.table
            self.engines[unit] = Postgres(self.world.url).over({"t": stored})
        self.world.run(f"TRUNCATE {identifier(self.names[unit])}")
        with self.world.owner.cursor().copy(f"COPY {identifier(self.names[unit])} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[column] for column in COLUMNS])
        return self.engines[unit], Memory({"t": table})


@pytest.fixture(scope="module")
def kept(world: PostgresWorld) -> Iterator[Kept]:
    made = Kept(world)
    yield made
    for engine in made.engines.values():
        engine.close()


def test_every_law_of_engines_holds(world):
    report = check_engine(world.engine, tables=4)
    assert len(report.held) >= 10


@EXAMPLES
@given(rows=ROWS, asked=st.lists(scans(), min_size=3, max_size=6))
def test_postgres_gives_what_the_oracle_and_duckdb_give(kept, rows, asked):
    unit = asked[0].schema.unit
    engine, oracle = kept.filled(rows, unit)
    keep = {"unit": unit, "columns": COLUMNS, "contribution": schema.Contribution(groups=1, rows=1)}
    with DuckDB({"t": schema.Table(pa.Table.from_pylist(rows, schema=ARROW), **keep)}, threads=1) as other:
        for scan in asked:
            engine.check(scan)
            got, expected, third = (answer(one, scan) for one in (engine, oracle, other))
            if scan.discovery is None:
                got, expected, third = (without_nothing(one) for one in (got, expected, third))
            assert got == expected == third, scan
            assert all(type(number) is int for sums in got.values() for number in sums)


@EXAMPLES
@given(rows=ROWS, data=st.data(), unit=st.sampled_from([Rows(), Person("who")]))
def test_postgres_counts_as_many_different_values_as_the_oracle(kept, rows, data, unit):
    engine, oracle = kept.filled(rows, unit)
    for scan in data.draw(st.lists(value_scans(unit), min_size=3, max_size=6)):
        try:
            engine.check(scan)
        except Unsupported:
            assert "lower" in repr(scan)
            continue
        assert answer(engine, scan) == answer(oracle, scan), scan


@EXAMPLES
@given(rows=ROWS, asked=st.lists(scans().filter(lambda one: one.keys), min_size=3, max_size=6), limit=st.integers(1, 6))
def test_postgres_bounds_the_largest_cells_of_a_unit_as_the_oracle_does(kept, rows, asked, limit):
    engine, oracle = kept.filled(rows, Person("who"))
    for one in asked:
        facts = replace(one.schema, unit=Person("who"))
        scan = replace(one, schema=facts, bounding=Largest(limit, SHIFT), discovery=None)
        assert without_nothing(answer(engine, scan)) == without_nothing(answer(oracle, scan)), scan


@EXAMPLES
@given(
    rows=ROWS,
    order=st.sampled_from([1, 2]),
    limit=st.integers(1, 12),
    of=st.sampled_from(["norm", "lost"]),
    keyed=st.booleans(),
)
def test_postgres_counts_units_by_size_as_the_oracle_does(kept, rows, order, limit, of, keyed):
    engine, oracle = kept.filled(rows, Person("who"))
    facts = schema.Schema(unit=Person("who"), columns=COLUMNS)
    edges = (0, 1, 3, 100, 2**SHIFT)
    scan = Scan("t", facts, None, (SHOP,) if keyed else (), (), Norm(order, limit, SHIFT), sizes=Sizes(of, edges))
    assert answer(engine, scan) == answer(oracle, scan)


@pytest.mark.parametrize("inline", [16, 0])
@EXAMPLES
@given(
    rows=ROWS,
    asked=st.lists(scans(), min_size=2, max_size=4),
    placed=st.sampled_from(PLACED),
    share=st.sampled_from([None, Fraction(0), Fraction(1, 3), Fraction(1)]),
    window=st.tuples(st.integers(-1, 4), st.integers(-1, 4), st.integers(1, 3)),
)
def test_postgres_counts_by_place_what_the_oracle_counts(kept, inline, rows, asked, placed, share, window):
    engine, oracle = kept.filled(rows, asked[0].schema.unit)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("privet.engines.scan_sql.statement._INLINE", inline)
        for one in asked:
            bounding = replace(one.bounding, order=1) if isinstance(one.bounding, Norm) else one.bounding
            weight, (below, above, bits) = 2**SHIFT if isinstance(bounding, Norm) else 1, window
            near = None if share is None else Near(share, max(1, below * weight), max(1, above * weight), bits)
            scan = replace(one, sums=(), discovery=None, distinct=False, bounding=bounding, places=placed, near=near)
            got, exact = (
                {cell: (list(where), list(weights)) for cell, (where, weights) in found.scan(scan)._places.items()}
                for found in (engine, oracle)
            )
            if near is not None:
                exact = {cell: taken_together(*counts, near) for cell, counts in exact.items()}
            assert got == exact, scan


def test_a_unit_over_the_bound_keeps_no_more_than_it_may(kept):
    rows = [
        dict.fromkeys(COLUMNS) | {"who": who, "shop": f"s{shop}", "age": 1}
        for who in (1, 2)
        for shop in range(9)
        for _ in range(4)
    ]
    engine, _ = kept.filled(rows, Person("who"))
    facts = schema.Schema(unit=Person("who"), columns=COLUMNS)
    for keys, expected in (((SHOP,), 3 * 2), ((), 2)):
        found = answer(engine, Scan("t", facts, None, keys, (COUNT,), Truncate(3, 2)))
        assert sum(sums[0] for sums in found.values()) == 2 * expected
    for bounding in (Norm(2, 5, SHIFT), Truncate(6, 3)):
        for order, share in ((0, 128), (1, 128 // 4), (2, 64)):
            found = answer(engine, Scan("t", facts, None, (SHOP,), (COUNT,), bounding, Discovery(4, order, SHIFT)))
            assert sum(sums[1] for sums in found.values()) == 2 * 4 * share


def test_a_function_that_postgres_lacks_is_refused_by_name_before_anything_is_read(kept):
    engine, _ = kept.filled([], Rows())
    facts = schema.Schema(unit=Rows(), columns=COLUMNS)
    for function in ("lower", "upper"):
        where = Call("equal", (Call(function, (ColumnRef("shop"),)), ColumnRef("shop")))
        with pytest.raises(RequestError, match=f"PostgreSQL has no {function.upper()}"):
            engine.check(Scan("t", facts, where, (), (COUNT,), Once()))


def test_every_kind_of_scan_runs_and_equals_the_oracle(world):
    sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
    from engine_tables import COLUMNS as FEW
    from engine_tables import SCANS

    rows = [
        {"who": n % 7, "city": ("Ulm", "Bonn", None)[n % 3], "shop": f"s{n % 2}", "pay": float(n % 11)}
        for n in range(14)
    ]
    seen = 0
    for unit in (Rows(), Person("who")):
        table = schema.Table(rows, unit=unit, columns=FEW, contribution=schema.Contribution(groups=1, rows=1))
        engine, oracle = world.engine({"t": table}), Memory({"t": table})
        for name, scan in SCANS.items():
            if type(scan.schema.unit) is not type(unit):
                continue
            engine.check(scan)
            got, expected = (
                (without_nothing(found._groups), {cell: tuple(map(list, at)) for cell, at in found._places.items()})
                for found in (one.scan(scan) for one in (engine, oracle))
            )
            if scan.near is None:  # where a scan looks closely, others are counted by block
                assert got == expected, name
            seen += 1
        engine.close()
    assert seen == len(SCANS)


@EXAMPLES
@given(rows=ROWS, cells=st.lists(st.tuples(st.sampled_from([None, "Ulm", "Bonn"]), st.integers(0, 5)), min_size=1))
def test_cells_are_compared_together_with_nulls_as_values(kept, rows, cells):
    engine, oracle = kept.filled(rows, Person("who"))
    keys = (
        GroupKey(ColumnRef("city"), ("Ulm", "Bonn", None), True),
        GroupKey(ColumnRef("age"), tuple(range(6)), False),
    )
    facts = schema.Schema(unit=Person("who"), columns=COLUMNS)
    scan = Scan("t", facts, None, keys, (COUNT,), Norm(1, 4, SHIFT), cells=tuple(dict.fromkeys(cells)))
    engine.check(scan)
    assert without_nothing(answer(engine, scan)) == without_nothing(answer(oracle, scan))


@pytest.mark.parametrize("step", [Fraction(3), Fraction(64), Fraction(10, 3)])
def test_numbers_next_to_nothing_lie_at_zero_on_a_coarse_grid(kept, step):
    """Divided by a step above 1, the least doubles become 0, on which the server would raise."""
    values = [5e-324, -5e-324, 1e-320, 2.5e-308, -1e-310, 0.0, 2.0, -2.0, 1e9]
    rows = [dict.fromkeys(COLUMNS) | {"who": 1, "age": 1, "free": value} for value in values]
    engine, oracle = kept.filled(rows, Rows())
    facts = schema.Schema(unit=Rows(), columns=COLUMNS)
    scan = Scan("t", facts, None, (), (Sum(ColumnRef("free"), -9, 9, step=step), COUNT), Once())
    assert answer(engine, scan) == answer(oracle, scan)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("limit", [1, 2, 5, 9, 30])
def test_a_unit_weighs_by_all_of_its_cells(kept, order, limit):
    """One unit with one row in each of several cells, one with many rows in one cell, and one with both."""
    of_units = {1: {"s0": 1, "s1": 1, "s2": 1, "s3": 1}, 2: {"s0": 7}, 3: {"s0": 4, "s1": 2, "s2": 1}, 4: {"s1": 1}}
    rows = [
        dict.fromkeys(COLUMNS) | {"who": who, "shop": shop, "age": 1, "pay": 2.5}
        for who, cells in of_units.items()
        for shop, count in cells.items()
        for _ in range(count)
    ]
    engine, oracle = kept.filled(rows, Person("who"))
    facts = schema.Schema(unit=Person("who"), columns=COLUMNS)
    pay = Sum(ColumnRef("pay"), -50, 1000, step=Fraction(1, 100))
    for sums in ((COUNT,), (COUNT, pay), (COUNT, pay, COUNT, pay, pay)):
        scan = Scan("t", facts, None, (SHOP,), sums, Norm(order, limit, SHIFT))
        assert answer(engine, scan) == answer(oracle, scan)
