"""A question reads the blocks that it is charged for and no others: the generated SQL, on the engine, by brute force.

Units come, go and change, also from one block to another. Where the integers of a scan move, the unit is in a block
that is charged, before or after; and they move by no more than the event says.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import privet
from privet.core.relation import Call, ColumnRef, Derive, Literal
from privet.core.schema import Schema, Table
from privet.engines.duckdb.engine import DuckDB
from privet.execution.request import with_calendars
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.planner.touching import block_lines, with_blocks
from privet.planner.verify import verify
from privet.query.block_reads import blocks_read, check_retired
from privet.query.sql.parse import parse
from privet.testing.oracle import Memory

pa = pytest.importorskip("pyarrow")

Row = dict[str, Any]
SPEND = Spend(Fraction(1), Fraction(0), None, Fraction(0))
FIRST = datetime.date(2025, 1, 1)
COLUMNS = {
    "who": privet.integer(),
    "party": privet.category(["dem", "rep", "ind"]),
    "old": privet.boolean(),
    "age": privet.integer(0, 100),
    "day": privet.date("2025-01-01", "2025-12-31"),
    "pay": privet.number(2, 10, step=Fraction(1, 2)),
}
TYPES = {"who": pa.int64(), "party": pa.string(), "old": pa.bool_(), "age": pa.int64(), "day": pa.date32(),
         "pay": pa.float64()}  # fmt: skip
BY = {
    "party": privet.Blocks("party"),
    "old": privet.Blocks("old"),
    "age": privet.Blocks("age", edges=[0, 18, 65, 101]),
    "pay": privet.Blocks("pay", edges=[2, 5, 11]),
    "day": privet.Blocks("day", length="1 month", origin=FIRST, through="2025-04-10"),
    "week": privet.Blocks("day", length="2 weeks", origin=FIRST, through="2025-03-31", since="2025-01-20"),
}
TOTALS = "COUNT(*) AS n, SUM(pay) AS s"
QUESTIONS = {
    "party": [
        f"SELECT {TOTALS} FROM d WHERE party = 'dem' AND age > 20",
        f"SELECT {TOTALS} FROM d WHERE party IN ('rep', 'ind')",
        f"SELECT {TOTALS} FROM (SELECT who, pay, party AS p FROM d WHERE age > 3) WHERE p <> 'dem'",
        f"SELECT old, {TOTALS} FROM d WHERE party = 'ind' GROUP BY old",
        f"SELECT {TOTALS} FROM d WHERE NOT party = 'rep'",
        "SELECT COUNT(*) AS n, SUM(d.pay) AS s FROM d JOIN names ON d.party = names.party WHERE d.party = 'dem'",
    ],
    "old": [f"SELECT {TOTALS} FROM d WHERE old", f"SELECT party, {TOTALS} FROM d WHERE NOT old GROUP BY party"],
    "age": [
        f"SELECT {TOTALS} FROM d WHERE age BETWEEN 20 AND 30",
        f"SELECT {TOTALS} FROM d WHERE age < 18",
        f"SELECT {TOTALS} FROM d WHERE age >= 40",
    ],
    "pay": [f"SELECT {TOTALS} FROM d WHERE pay < 4", f"SELECT {TOTALS} FROM d WHERE pay > 5"],
    "day": [
        f"SELECT {TOTALS} FROM d WHERE day >= DATE '2025-02-03' AND day < DATE '2025-03-01'",
        f"SELECT {TOTALS} FROM d WHERE day = DATE '2025-01-31'",
        f"SELECT {TOTALS} FROM d",
        f"SELECT party, {TOTALS} FROM d WHERE day > DATE '2025-02-28' GROUP BY party",
    ],
    "week": [f"SELECT {TOTALS} FROM d", f"SELECT {TOTALS} FROM d WHERE day < DATE '2025-02-01'"],
}
UNITS = {
    "rows": privet.Rows(),
    "two rows": privet.Rows(2),
    "people": privet.Person("who"),
    "windows": privet.Window("who", "day", 7),
}
LONG = [{"party": party, "long": party * 2} for party in ("dem", "rep", "ind")]


def names(source: Any) -> privet.PublicTable:
    columns = {"party": privet.category(["dem", "rep", "ind"]), "long": privet.text()}
    return privet.PublicTable(source, columns=columns, key="party")


NAMES = names(LONG)


def schema_of(unit: str, neighbors: str, by: str) -> Schema:
    limit = {} if unit.endswith("rows") else {"contribution": privet.Contribution(groups=2, rows=2)}
    return Schema(unit=UNITS[unit], columns=COLUMNS, neighbors=neighbors, blocks=BY[by], **limit)  # type: ignore[arg-type]


def some_row(draw: random.Random, who: int) -> Row:
    day = FIRST + datetime.timedelta(days=draw.choice([0, 14, 30, 31, 33, 58, 59, 80, 99, 120, 300]))
    return {
        "who": who,
        "party": draw.choice(["dem", "rep", "ind", "none"]),
        "old": draw.random() < 0.5,
        "age": draw.choice([-5, 0, 17, 18, 25, 64, 65, 100, 300]),
        "day": draw.choice([day, day, day, None]),
        "pay": draw.choice([2.0, 4.5, 5.0, 10.0, 99.0, -3.0, None]),
    }


def some_unit(draw: random.Random, who: int, unit: str) -> list[Row]:
    if unit == "rows":
        return [some_row(draw, who)]
    return [some_row(draw, who) for _ in range(2 if unit == "two rows" else draw.choice([1, 2, 5]))]


def neighbours(draw: random.Random, unit: str, neighbors: str) -> Iterator[tuple[list[Row], list[Row], list[Row]]]:
    """Yield worlds, each with a neighbour and the rows in which they differ."""
    for _ in range(6):
        everyone = [some_unit(draw, who, unit) for who in range(4)]
        gone = draw.randrange(4)
        kept = [row for who, rows in enumerate(everyone) for row in rows if who != gone]
        if unit == "windows":
            start = FIRST + datetime.timedelta(days=draw.choice([0, 10, 28, 30, 55, 77, 95]))
            inside = [row for row in everyone[gone] if row["day"] and 0 <= (row["day"] - start).days < 7]
            others = [row for row in everyone[gone] if row not in inside]
            changed = [{**some_row(draw, gone), "day": start + datetime.timedelta(days=draw.randrange(7))}]
            after = changed if neighbors == "change-one" else []
            yield kept + everyone[gone], kept + others + after, inside + after
            continue
        after = some_unit(draw, gone, unit) if neighbors == "change-one" else []
        yield kept + everyone[gone], kept + after, everyone[gone] + after


def scanned(engine: type[Any], rows: list[Row], schema: Schema, plan: Plan) -> list[dict[Any, tuple[int, ...]]]:
    plain = engine is Memory
    source: Any = rows
    if not plain:
        source = pa.table({name: pa.array([row[name] for row in rows], type=kind) for name, kind in TYPES.items()})
    data = Table(
        source,
        unit=schema.unit,
        columns=schema.columns,
        neighbors=schema.neighbors,
        contribution=None if schema.unit.rowwise else schema.contribution,
    )
    opened = engine({"d": data, "names": names(LONG if plain else pa.Table.from_pylist(LONG))})
    try:
        return [dict(opened.scan(one.scan)._groups) for one in plan.passes]
    finally:
        opened.close()


def loss(plan: Plan, one: list[Any], other: list[Any]) -> Fraction:
    """Return how far apart the sums of two worlds are, each by the scale of its noise."""
    total = Fraction(0)
    for sums, others, part in zip(one, other, plan.passes, strict=True):
        for index, event in enumerate(part.events):
            scale: Any = event.scale  # type: ignore[attr-defined]
            for key in sums.keys() | others.keys():
                none = (0,) * len(part.events)
                total += Fraction(abs(sums.get(key, none)[index] - others.get(key, none)[index])) / scale
    return total


def block_of(row: Row, schema: Schema) -> int | None:
    """Return the block that a row is in, worked out by hand."""
    blocks = schema.blocks
    assert blocks is not None
    value = row[blocks.column]
    facts = COLUMNS[blocks.column]
    if facts.kind in ("integer", "number"):  # clamped to its bounds before anything sees it, as is NULL
        assert isinstance(facts.low, Fraction)
        assert isinstance(facts.high, Fraction)
        value = facts.low if value is None else min(max(value, facts.low), facts.high)
    if value is None:
        return None
    if blocks.timed or blocks.edges:
        found = [n for n in range(len(blocks.starts) - 1) if blocks.starts[n] <= value < blocks.starts[n + 1]]
        return found[0] if found else None
    values = (False, True) if blocks.column == "old" else COLUMNS[blocks.column].values or ()
    return values.index(value) if value in values else None


CASES = [
    (unit, neighbors, by)
    for unit in UNITS
    for neighbors in ("add-remove", "change-one")
    for by in BY
    if not (unit == "windows" and by not in ("day", "week")) and not (unit == "people" and by in ("day", "week"))
]


@pytest.mark.parametrize(("unit", "neighbors", "by"), CASES)
def test_only_blocks_that_are_charged_are_read(unit: str, neighbors: str, by: str) -> None:
    draw = random.Random(f"{unit} {neighbors} {by}")
    schema = schema_of(unit, neighbors, by)
    tables = with_calendars({"d": schema, "names": NAMES.schema})
    largest = Fraction(0)
    for sql in QUESTIONS[by]:
        query = with_blocks(parse(sql, tables), tables)
        plan = make_plan(query, tables, spend=SPEND)
        verify(plan, tables)
        charged = blocks_read(plan.passes[0].scan.table, tables)
        assert charged is not None, sql
        assert charged == blocks_read(query.table, tables)
        inside = {number for first, end in charged.ranges for number in range(first, end)}
        for world, other, differing in neighbours(draw, unit, neighbors):
            engine = DuckDB if draw.random() < 0.4 else Memory
            sums, others = (scanned(engine, rows, schema, plan) for rows in (world, other))
            moved = loss(plan, sums, others)
            assert moved <= plan.event.pure()
            if moved:
                assert inside & {block_of(row, schema) for row in differing}, (sql, differing)
            largest = max(largest, moved)
    assert largest > Fraction(1, 10)  # or nothing was tried


def test_a_person_is_in_one_block_alone() -> None:
    schema = schema_of("people", "add-remove", "party")
    tables = {"d": schema, "names": NAMES.schema}
    draw = random.Random(5)
    for _ in range(20):
        rows = [some_row(draw, 1) for _ in range(4)]
        seen = []
        for party in ("dem", "rep", "ind"):
            query = with_blocks(parse(f"SELECT COUNT(*) AS n FROM d WHERE party = '{party}'", tables), tables)
            plan = make_plan(query, tables, spend=SPEND)
            seen.append(scanned(DuckDB, rows, schema, plan)[0].get((), (0,))[0] > 0)
        assert sum(seen) <= 1
        named = {row["party"] for row in rows}
        expected = next((place for place, party in enumerate(("dem", "rep", "ind")) if party in named), None)
        assert (seen.index(True) if any(seen) else None) == expected


@pytest.mark.parametrize(
    ("by", "sql"),
    [
        ("party", f"SELECT {TOTALS} FROM d"),
        ("party", f"SELECT {TOTALS} FROM d WHERE party = 'dem' OR age > 3"),
        ("party", f"SELECT {TOTALS} FROM d WHERE LOWER(party) = 'dem'"),
        ("party", f"SELECT {TOTALS} FROM d WHERE party IN ('dem', 'rep', 'ind')"),
        ("age", f"SELECT {TOTALS} FROM d WHERE age + 0 < 18"),
    ],
)
def test_conditions_that_name_no_block_are_charged_for_all_data(by: str, sql: str) -> None:
    tables = {"d": schema_of("rows", "add-remove", by), "names": NAMES.schema}
    query = with_blocks(parse(sql, tables), tables)
    assert blocks_read(query.table, tables) is None
    assert "counts in every block" in block_lines(query.table, tables)[0]


def test_joins_and_windows_stand_on_divided_tables() -> None:
    tables = {"d": schema_of("people", "add-remove", "party"), "names": NAMES.schema}
    inner = "SELECT who, pay, party, ROW_NUMBER() OVER (PARTITION BY who ORDER BY day) AS k FROM d WHERE party = 'dem'"
    sql = f"SELECT COUNT(*) AS n FROM ({inner}) WHERE k = 1"
    query = with_blocks(parse(sql, tables), tables)
    charged = blocks_read(query.table, tables)
    assert charged is not None
    assert charged.ranges == ((0, 1),)
    above = f"SELECT COUNT(*) AS n FROM ({inner.replace(chr(39) + 'dem' + chr(39), 'party')}) WHERE party = 'dem'"
    assert blocks_read(with_blocks(parse(above, tables), tables).table, tables) is None


def test_a_changed_condition_is_charged_for_all_data() -> None:
    """The form is known by itself: any other condition in its place counts for all data, whatever it says."""
    tables = {"d": schema_of("rows", "add-remove", "party"), "names": NAMES.schema}
    query = with_blocks(parse("SELECT COUNT(*) AS n FROM d WHERE party = 'dem'", tables), tables)
    wide = parse("SELECT COUNT(*) AS n FROM d WHERE party = 'dem' OR party = 'rep'", tables).where
    assert blocks_read(query.table, tables) is not None
    assert blocks_read(replace(query.table, where=None), tables) is None  # type: ignore[type-var]
    assert blocks_read(replace(query.table, columns=query.table.columns[1:]), tables) is None  # type: ignore[type-var, union-attr]
    assert wide is not None


def test_retired_blocks_are_never_read() -> None:
    tables = with_calendars({"d": schema_of("rows", "add-remove", "week"), "names": NAMES.schema})
    blocks = tables["d"].blocks
    assert blocks is not None
    assert blocks.first == 1
    query = with_blocks(parse("SELECT COUNT(*) AS n FROM d", tables), tables)
    charged = blocks_read(query.table, tables)
    assert charged is not None
    assert charged.ranges[0][0] == 1
    check_retired(query.table, tables)
    with pytest.raises(privet.RequestError, match="retired"):
        check_retired("d", tables)
    with pytest.raises(privet.RequestError, match="name no block"):
        with_blocks(parse("SELECT COUNT(*) AS n FROM d WHERE day < DATE '2025-01-10'", tables), tables)


def test_every_place_of_a_table_reads_the_blocks_of_all() -> None:
    tables = {"d": schema_of("people", "add-remove", "party"), "names": NAMES.schema}
    sides = [f"(SELECT who FROM d WHERE party = '{party}') AS {party}" for party in ("dem", "rep")]
    sql = f"SELECT COUNT(*) AS n FROM {sides[0]} JOIN {sides[1]} ON dem.who = rep.who"
    charged = blocks_read(with_blocks(parse(sql, tables), tables).table, tables)
    assert charged is not None
    assert charged.ranges == ((0, 2),)


def test_conditions_on_renamed_columns_name_blocks() -> None:
    tables = {"d": schema_of("rows", "add-remove", "party"), "names": NAMES.schema}
    query = parse("SELECT COUNT(*) AS n FROM d WHERE party = 'dem'", tables)
    columns = (("p", ColumnRef("party")), ("age", ColumnRef("age")))
    above = replace(query, table=Derive("d", columns), where=Call("equal", (ColumnRef("p"), Literal("dem"))))
    charged = blocks_read(with_blocks(above, tables).table, tables)
    assert charged is not None
    assert charged.ranges == ((0, 1),)
