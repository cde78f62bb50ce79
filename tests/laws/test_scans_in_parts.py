"""A scan in parts gives the integers of one that is read whole, and a unit is bounded in one part alone."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import privet
from privet.core import schema
from privet.core.errors import EngineError
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import (
    Discovery,
    GroupKey,
    Largest,
    Norm,
    Once,
    Pairs,
    Products,
    Scan,
    Sizes,
    Sum,
    Truncate,
)
from privet.core.unit import Person, Rows, Window
from privet.engines.duckdb import engine as engines
from privet.engines.duckdb.engine import BYTES_PER_ROW, MOST_PARTS, DuckDB, added, divides, parts_for
from privet.testing import arrow_tables, check_engine

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "who": schema.integer(nullable=True),
    "city": schema.category(["u", "v", "w"], nullable=True),
    "shop": schema.text(nullable=True),
    "age": schema.integer(0, 9),
    "pay": schema.number(Fraction(-3), 10, step=Fraction(1, 10), nullable=True),
}
ARROW = pa.schema([
    ("who", pa.int64()), ("city", pa.string()), ("shop", pa.string()), ("age", pa.int64()), ("pay", pa.float64()),
])  # fmt: skip
CITY = GroupKey(ColumnRef("city"), ("u", "v", None), True)
SHOP = GroupKey(ColumnRef("shop"), None, True)
MANY = GroupKey(ColumnRef("shop"), tuple(f"s{index}" for index in range(30)), False)
COUNT = Sum(None, 1, 1)
AGE = Sum(ColumnRef("age"), 0, 9, null_as=0)
PAY = Sum(ColumnRef("pay"), -30, 100, step=Fraction(1, 10))
SUMS = (COUNT, AGE, PAY)
SHIFT = 10
SECRET = 0x1234_5678_9ABC_DEF0_0FED_CBA9_8765_4321
CONTRIBUTION = schema.Contribution(groups=1, rows=1)


def some_rows(seed: int, people: int = 40) -> list[dict[str, object]]:
    source = random.Random(seed)
    return [
        {
            "who": source.choice([None, *range(people), -(2**63), 2**63 - 1]),
            "city": source.choice(["u", "v", "w", None, "elsewhere"]),
            "shop": source.choice([None, "", *(f"s{index}" for index in range(40))]),
            "age": source.choice([None, -5, 0, 4, 9, 99]),
            "pay": source.choice([None, math.nan, math.inf, -math.inf, -0.0, 0.04999, 9.95, 1e308]),
        }
        for _ in range(300)
    ]


def people_table(held: list[dict[str, object]], **declared: int) -> schema.Table:
    source = pa.Table.from_pylist(held, schema=ARROW)
    return schema.Table(source, unit=Person("who"), columns=COLUMNS, contribution=CONTRIBUTION, **declared)


def scan_of(bounding: object, *keys: GroupKey, sums: tuple[Sum, ...] = SUMS, **more: object) -> Scan:
    return Scan("t", schema.Schema(unit=Person("who"), columns=COLUMNS), None, keys, sums, bounding, **more)


NORMS = (Norm(1, 3, SHIFT), Norm(2, 7, SHIFT))
SCANS = {
    **{f"norm {norm.order}": scan_of(norm) for norm in NORMS},
    **{f"norm {norm.order} by city": scan_of(norm, CITY) for norm in NORMS},
    **{f"norm {norm.order} by listed shop": scan_of(norm, MANY, CITY) for norm in NORMS},
    **{f"norm {norm.order}, four sums": scan_of(norm, CITY, sums=(*SUMS, replace(PAY, power=2))) for norm in NORMS},
    **{f"norm {norm.order}, four totals": scan_of(norm, sums=(*SUMS, replace(PAY, power=2))) for norm in NORMS},
    "counted once": scan_of(Norm(2, 7, SHIFT), CITY, distinct=True),
    "all keys kept": scan_of(Norm(2, 7, SHIFT), SHOP, discovery=Discovery(100, 2, SHIFT)),
    "one key kept": scan_of(Norm(2, 7, SHIFT), SHOP, discovery=Discovery(1, 2, SHIFT)),
    "two keys kept": scan_of(Norm(1, 3, SHIFT), SHOP, discovery=Discovery(2, 1, 0)),
    "groups and rows": scan_of(Truncate(2, 1), SHOP),
    "rows": scan_of(Truncate(1, 3)),
    "groups, rows and keys": scan_of(Truncate(3, 2), SHOP, discovery=Discovery(2, 0, 0)),
    "largest cells": scan_of(Largest(3, SHIFT), CITY, SHOP),
    "sizes": scan_of(Norm(2, 7, SHIFT), CITY, sums=(), sizes=Sizes("norm", (1, 3, 9))),
    "lost": scan_of(Norm(1, 3, SHIFT), sums=(), sizes=Sizes("lost", (0, 1000))),
    "products": scan_of(Norm(1, 3, SHIFT), sums=(AGE, PAY), products=Products(((0, 0), (0, 1), (1, 1)))),
}


@pytest.fixture
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every scan choose by the same key, so that units keep what they kept."""
    monkeypatch.setattr(engines.secrets, "randbits", lambda bits: SECRET)


def answers(table: schema.Table, scan: Scan, parts: int | None, **settings: object) -> dict:
    with DuckDB({"t": table}, threads=1, parts=parts, **settings) as engine:
        return engine.scan(scan)._groups


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.usefixtures("one_key")
def test_parts_give_the_integers_of_the_whole(name: str) -> None:
    table = people_table(some_rows(7))
    tables = [people_table(some_rows(seed)) for seed in (1, 2)]
    for one in (table, *tables):
        whole = answers(one, SCANS[name], 1)
        assert any(any(sums) for sums in whole.values())
        for parts in (2, 7):
            found = answers(one, SCANS[name], parts)
            assert found == whole
            assert all(type(number) is int for sums in found.values() for number in sums)


@pytest.mark.usefixtures("one_key")
def test_what_units_give_to_a_key_that_their_part_does_not_keep_counts_with_it() -> None:
    """A key may be kept by people of one part only; without the others' rows its sums would be too low."""
    rows = [dict.fromkeys(COLUMNS) | {"who": who, "shop": f"s{shop}"} for who in range(30) for shop in range(8)]
    scan = scan_of(Norm(1, 8, SHIFT), SHOP, sums=(COUNT,), discovery=Discovery(1, 2, SHIFT))
    whole = answers(people_table(rows), scan, 1)
    assert len(whole) > 1
    assert {sums[0] for sums in whole.values()} == {30 * 2**SHIFT}
    assert answers(people_table(rows), scan, 30) == whole


@pytest.mark.parametrize("parts", [2, 7])
def test_an_engine_that_reads_in_parts_passes_the_suite_of_engines(parts: int) -> None:
    assert len(check_engine(lambda tables: DuckDB(arrow_tables(tables), threads=1, parts=parts), tables=4).held) == 10


# --- sensitivity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("name", ["norm 1 by city", "norm 2 by city", "groups and rows", "two keys kept", "sizes"])
@pytest.mark.usefixtures("one_key")
def test_a_unit_moves_the_sums_of_parts_no_further_than_its_bound(name: str, parts: int) -> None:
    scan = SCANS[name]
    most = max((total.most for total in scan.sums), default=1)
    source = random.Random(11)
    rows = some_rows(3, people=6)
    rows += [{**source.choice(rows), "who": 2, "city": source.choice("uv")} for _ in range(60)]  # one gives far more
    whole = answers(people_table(rows), scan, parts)
    reached = Fraction(0)
    for who in range(6):
        without = answers(people_table([row for row in rows if row["who"] != who]), scan, parts)
        places = range(len(scan.sums) or 1)
        moved = [
            [whole.get(cell, (0,) * 9)[place] - without.get(cell, (0,) * 9)[place] for cell in whole | without]
            for place in places
        ]
        for place in places:
            total = scan.sums[place].most if scan.sums else 1
            match scan.bounding:
                case Norm() if scan.sizes is not None:
                    assert sum(map(abs, moved[place])) <= 1
                case Norm(order=1, limit=limit):
                    assert sum(map(abs, moved[place])) <= total * limit * 2**SHIFT
                    reached = max(reached, Fraction(sum(map(abs, moved[place])), total * limit * 2**SHIFT))
                case Norm(limit=limit):
                    assert sum(one * one for one in moved[place]) <= total**2 * limit * 4**SHIFT
                    reached = max(reached, Fraction(sum(one**2 for one in moved[place]), total**2 * limit * 4**SHIFT))
                case Truncate(groups=groups, rows=each):
                    assert sum(map(abs, moved[place])) <= total * groups * each
    assert most
    if name.endswith("by city"):
        assert reached >= Fraction(8, 10)


# --- whose row it is --------------------------------------------------------------------------------------------------


def parts_by_unit(table: schema.Table, parts: int) -> dict[object, int]:
    """Return how many units GROUP BY makes of a table, and how many parts each is read in."""
    scan = Scan("t", table.schema, None, (), (COUNT,), Norm(1, 1, 0), distinct=True)
    with DuckDB({"t": table}, threads=1, parts=parts) as engine:
        asked = engine._written(scan)
        rows = [engine._fetch(asked.sql, {"part": part})[0][0] for part in range(parts)]
        return {"units": sum(rows), "parts": sum(1 for one in rows if one)}


def test_zero_and_minus_zero_are_one_person_in_one_part() -> None:
    source = pa.table({"who": [0.0, -0.0, 0.0, math.nan, None], "x": [1] * 5})
    columns = {"who": schema.number(nullable=True), "x": schema.integer(0, 1)}
    table = schema.Table(source, unit=Person("who"), columns=columns, contribution=CONTRIBUTION)
    assert parts_by_unit(table, 64) == {"units": 1, "parts": 1}


def test_a_person_and_a_window_of_time_are_in_one_part() -> None:
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=one) for one in range(7)]
    source = pa.table({"who": [0.0, -0.0] * 7, "day": [day for day in days for _ in range(2)]})
    columns = {"who": schema.number(), "day": schema.date(days[0], days[-1])}
    unit = Window("who", "day", datetime.timedelta(days=7), origin=days[0])
    table = schema.Table(source, unit=unit, columns=columns, contribution=CONTRIBUTION)
    assert parts_by_unit(table, 64) == {"units": 1, "parts": 1}


TEXTS = ["Ada", "ada", "ADA", "Ada ", "Äda", "äda", "A\u0308da", "a\u0308da", "", "x" * 3000, "X" * 3000]
"""Alike by case, by spaces at their end, by accents or by how Unicode writes them; or too long to be carried along."""


@pytest.mark.parametrize("collation", ["", "COLLATE nocase", "COLLATE noaccent", "COLLATE nocase.noaccent"])
def test_texts_of_people_are_told_apart_byte_by_byte_whatever_their_collation(tmp_path: Path, collation: str) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute(f"CREATE TABLE t (who VARCHAR {collation}, shop VARCHAR {collation})")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(text, text) for text in TEXTS for _ in range(3)])
    columns = {"who": schema.text(), "shop": schema.text()}
    source = privet.DatabaseTable(str(file), "t")
    table = schema.Table(source, unit=Person("who"), columns=columns, contribution=CONTRIBUTION)
    keyed = Scan("t", table.schema, None, (GroupKey(ColumnRef("shop"), None, False),), (COUNT,), Norm(1, 1, SHIFT))
    whole = answers(table, keyed, 1)
    # as one person, "Ada" would be scaled down with "ada", and come back in full when that one leaves
    assert whole == {(text[:2000],): (3 * (2**SHIFT // 3),) for text in TEXTS}
    for parts in (2, 7):
        assert answers(table, keyed, parts) == whole
    assert parts_by_unit(table, 7)["units"] == len(TEXTS)


@pytest.mark.usefixtures("one_key")
@pytest.mark.parametrize(
    "question",
    [
        "SELECT region, COUNT(*) AS n, AVG(pay) AS m FROM visits JOIN homes USING (who) GROUP BY region",
        "SELECT region, COUNT(DISTINCT who) AS n FROM visits JOIN homes USING (who) GROUP BY region",
        "SELECT n, COUNT(*) AS people FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who) GROUP BY n",
        "SELECT age, SUM(pay) AS s FROM (SELECT who, age, pay FROM visits UNION ALL SELECT who, age, pay FROM visits) "
        "GROUP BY age",
    ],
)
def test_what_is_made_of_several_tables_is_read_in_parts(question: str) -> None:
    source = random.Random(5)
    visits = {
        "who": [source.randrange(30) for _ in range(200)],
        "age": [source.randrange(5) for _ in range(200)],
        "pay": [source.uniform(0, 10) for _ in range(200)],
    }
    columns = {"who": privet.integer(), "age": privet.integer(0, 4), "pay": privet.number(0, 10)}
    homes = {"who": list(range(30)), "region": [source.choice("ab") for _ in range(30)]}
    described = {"who": privet.integer(), "region": privet.category(["a", "b"])}
    tables = {
        "visits": privet.Table(
            pa.table(visits),
            unit=Person("who"),
            columns=columns,
            contribution=privet.Contribution(groups=2, rows=2),
            most_rows=40,
        ),
        "homes": privet.Table(
            pa.table(homes),
            unit=Person("who"),
            columns=described,
            contribution=privet.Contribution(groups=1, rows=1),
            key="who",
        ),
    }
    found = []
    for parts in (1, 2, 7):
        with DuckDB(tables, threads=1, parts=parts) as engine:
            session = privet.Session(tables, budget=privet.Approximate(epsilon=100, delta=1e-6), engine=engine)
            scans = [one.scan for one in session.plan(question, epsilon=1).passes]
            assert [engine._parts_of(scan) for scan in scans] == [parts] * len(scans)
            found.append([engine.scan(scan)._groups for scan in scans])
    assert found[0] == found[1] == found[2]


# --- what is divided, and into how many parts -------------------------------------------------------------------------

WHOLE = {
    "rows": Scan("t", schema.Schema(unit=Rows(), columns=COLUMNS), None, (CITY,), SUMS, Once()),
    "different values": scan_of(Pairs(ColumnRef("shop"), 3), sums=(COUNT,)),
    "places": scan_of(Norm(1, 3, SHIFT), CITY, sums=(), places=Sum(ColumnRef("age"), 0, 9)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_sums_that_do_not_add_up_over_people_are_read_whole(name: str) -> None:
    assert not divides(WHOLE[name])


@pytest.mark.parametrize("name", ["different values", "places"])
@pytest.mark.usefixtures("one_key")
def test_an_engine_of_parts_reads_whole_what_cannot_be_divided(name: str) -> None:
    table = people_table(some_rows(9))

    def found(parts: int) -> object:
        with DuckDB({"t": table}, threads=1, parts=parts) as engine:
            sealed = engine.scan(WHOLE[name])
            places = {cell: (list(at), list(n)) for cell, (at, n) in sealed._places.items()}
            return sealed._groups, places

    assert found(7) == found(1)


def test_the_number_of_parts_comes_from_declared_rows_and_the_limit() -> None:
    limit = 4 * 10**9
    each = limit // BYTES_PER_ROW
    assert [parts_for([rows], limit) for rows in (1, each, each + 1, 3 * each, 10**12)] == [1, 1, 2, 3, MOST_PARTS]
    assert parts_for([2**40], limit) == parts_for([], limit) == 1  # not declared
    assert parts_for([2**40, 3 * each], limit) == 3
    rows = some_rows(1)
    few, many = people_table(rows, rows=1000), people_table(rows, rows=10**6)
    for table, expected in ((people_table(rows), 1), (few, 1), (many, 8)):
        with DuckDB({"t": table}, threads=1, memory_limit="20MB") as engine:
            assert engine._parts_of(SCANS["norm 1"]) == expected


def test_the_number_of_parts_does_not_depend_on_the_data() -> None:
    tables = [people_table(rows, rows=10**6) for rows in ([], some_rows(1), some_rows(2) * 30)]
    asked = []
    for table in tables:
        with DuckDB({"t": table}, threads=1, memory_limit="30MB") as engine:
            asked.append(engine._written(SCANS["norm 2 by city"]).parts)
    assert asked == [6, 6, 6]


def test_what_is_made_anew_for_each_reading_is_read_once() -> None:
    with duckdb.connect() as other:
        source = pa.Table.from_pylist(some_rows(4), schema=ARROW)
        other.register("source", source)
        table = schema.Table(other.sql("FROM source"), unit=Person("who"), columns=COLUMNS, contribution=CONTRIBUTION)
        with DuckDB({"t": table}, threads=1, parts=7) as engine:
            assert engine._written(SCANS["norm 1"]).parts == 1


# --- several readings -------------------------------------------------------------------------------------------------


def between_parts(engine: DuckDB, act: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen before each part is read."""
    executed = engines._executed

    def run(lane: object, sql: str, parameters: object, fetch: object) -> object:
        if isinstance(parameters, dict) and "part" in parameters:
            act(parameters["part"])
        return executed(lane, sql, parameters, fetch)

    monkeypatch.setattr(engines, "_executed", run)


def test_files_that_are_replaced_between_parts_bring_no_one_in_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone has one row in one state and forty in the next: what each gives is that of one state, bounded there."""
    import pyarrow.parquet as parquet

    people, limit, parts = 50, 2, 5
    file, number = tmp_path / "t.parquet", iter(range(100))

    def write(rows: int) -> None:
        ids = [who for who in range(people) for _ in range(rows)]
        made = tmp_path / f"{next(number)}.new"
        parquet.write_table(pa.table({"who": ids, "x": [1] * len(ids)}), made)
        made.rename(file)

    write(1)
    columns = {"who": schema.integer(), "x": schema.integer(0, 1)}
    table = schema.Table(str(file), unit=Person("who"), columns=columns, contribution=CONTRIBUTION)
    scan = Scan("t", table.schema, None, (), (COUNT,), Norm(1, limit, SHIFT))
    with DuckDB({"t": table}, threads=1, parts=parts) as engine:
        between_parts(engine, lambda part: write(40 if part % 2 else 1), monkeypatch)
        total = engine.scan(scan)._groups[()][0]
    once, most = 2**SHIFT, 40 * (limit * 2**SHIFT // 40)
    assert people * once < total < people * most
    assert (total - people * once) % (most - once) == 0  # each gives what one state has of it, and nothing of another


def test_the_time_limit_is_that_of_all_parts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    table, clock, seen = people_table(some_rows(1)), [0.0], []
    with DuckDB({"t": table}, threads=1, parts=7, timeout=10) as engine:
        whole = engine.scan(SCANS["norm 1"])._groups

        def later(part: int) -> None:
            seen.append(part)
            clock[0] += 4

        with monkeypatch.context() as patched:
            patched.setattr(engines.time, "monotonic", lambda: clock[0])
            between_parts(engine, later, patched)
            with pytest.raises(EngineError):
                engine.scan(SCANS["norm 1"])
        assert seen == [0, 1, 2]  # at 12 of 10 seconds no other part begins
        assert engine.scan(SCANS["norm 1"])._groups == whole


def test_a_scan_that_is_stopped_in_a_part_gives_nothing_and_the_next_one_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDB({"t": people_table(some_rows(1))}, threads=1, parts=7, scans=1) as engine:
        whole = engine.scan(SCANS["norm 1"])._groups
        for stop in (KeyboardInterrupt, EngineError):

            def interrupted(part: int, stop: type[BaseException] = stop) -> None:
                if part == 3:
                    raise stop()

            with monkeypatch.context() as patched:
                between_parts(engine, interrupted, patched)
                with pytest.raises(stop):
                    engine.scan(SCANS["norm 1"])
            assert engine.scan(SCANS["norm 1"])._groups == whole


def test_parts_are_added_in_integers_of_any_size() -> None:
    far = 2**126
    assert added([[("a", far, 1)], [("a", far, 2), ("b", -far, 0)], []], 1, found=False) == {
        ("a",): (2 * far, 3),
        ("b",): (-far, 0),
    }
    kept = [[("a", 5, 1, 0), ("b", 7, 0, 0)], [("a", 2, 1, 3)]]
    assert added(kept, 1, found=True) == {("a",): (7, 2)}


def test_conditions_are_on_the_rows_of_a_part() -> None:
    where = Call("greater", (ColumnRef("age"), Literal(3)))
    scan, table = replace(SCANS["norm 2 by city"], where=where), people_table(some_rows(8))
    assert answers(table, scan, 5) == answers(table, scan, 1)
