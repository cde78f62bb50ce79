"""Drop each unit, change each unit: the integers that the generated SQL gives move no further than the scan claims.

Many small tables are answered by one statement: each has its own number, which is part of every unit's id and one more
public key, so that no unit and no group spans two of them.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

import pytest

from privet.core import schema
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Discovery, GroupKey, Norm, Once, Scan, Sum, Truncate
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.scan_sql.statement import statement

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "table": schema.integer(0, 10**6),
    "who": schema.text(nullable=True),
    "city": schema.category(["u", "v", "w"], nullable=True),
    "shop": schema.text(nullable=True),
    "age": schema.integer(0, 9),
    "pay": schema.number(Fraction(-3), 10, step=Fraction(1, 10), nullable=True),
}
ARROW = pa.schema([
    ("table", pa.int64()), ("who", pa.string()), ("city", pa.string()), ("shop", pa.string()), ("age", pa.int64()),
    ("pay", pa.float64()),
])  # fmt: skip
PAYS = [None, math.nan, math.inf, -math.inf, -1e308, 1e308, -3.0, 10.0, 9.95, 0.04999999, -0.0, 11.0, 3.3]
AGES = [None, 0, 9, -(2**63), 2**63 - 1, 4, 10]
UNITS = ["p1", "p2", "p3", "p4"]
SHIFT = 20
TABLES = 40

NUMBER = GroupKey(ColumnRef("table"), tuple(range(10**4)), False)
CITY = GroupKey(ColumnRef("city"), ("u", "v", None), True)
SHOP = GroupKey(ColumnRef("shop"), None, True)
COUNT = Sum(None, 1, 1)
SOME = Sum(None, 1, 1, where=Call("greater", (ColumnRef("pay"), Literal(0))))
AGE = Sum(ColumnRef("age"), 0, 9, null_as=0)
CENTRED = Sum(ColumnRef("age"), -9, 9, origin=Fraction(9, 2), step=Fraction(1, 2), null_as=-9)
PAY = Sum(ColumnRef("pay"), -30, 100, step=Fraction(1, 10))
SQUARES = Sum(ColumnRef("pay"), -65, 65, origin=Fraction(7, 2), step=Fraction(1, 10), power=2, offset=65**2 // 2)
PRODUCT = Sum(Call("multiply", (ColumnRef("age"), ColumnRef("pay"))), -27, 90)
SUMS = (COUNT, SOME, AGE, CENTRED, PAY, SQUARES, PRODUCT)
WHERE = Call("or", (Call("is_null", (ColumnRef("pay"),)), Call("less", (ColumnRef("pay"), Literal(10)))))

Record = dict[str, object]


def some_rows(source: random.Random, unit: str | None) -> list[Record]:
    """A unit's rows: few, or many in one cell, or many all over, or all of them extreme."""
    style = source.randrange(5)
    size = (source.randrange(4), 40, 30, 25, 1)[style]
    city, pay, extreme = source.choice([None, "u", "v", "w"]), source.choice(PAYS), source.choice([10.0, 9.99])
    return [
        {
            "who": unit,
            "city": city if style == 1 else source.choice([None, "u", "v", "w", "elsewhere"]),
            "shop": "s" if style == 1 else source.choice([None, "s", "t", "x", "y", "z"]),
            "age": 9 if style == 3 else source.choice(AGES),
            "pay": extreme if style == 3 else pay if style == 1 else source.choice(PAYS),
        }
        for _ in range(size)
    ]


def some_tables(seed: int) -> list[list[list[Record]]]:
    """For each base table: itself, then it without each unit, then it with each unit changed."""
    source = random.Random(seed)
    found = []
    for _ in range(TABLES):
        owned = {unit: some_rows(source, unit) for unit in UNITS}
        nobody = some_rows(source, None)

        def joined(owned: dict[str, list[Record]], nobody: list[Record] = nobody) -> list[Record]:
            return nobody + [row for rows in owned.values() for row in rows]

        without = [joined({u: rows for u, rows in owned.items() if u != unit}) for unit in UNITS]
        changed = [joined({**owned, unit: some_rows(source, unit)}) for unit in UNITS]
        found.append([joined(owned), *without, *changed])
    return found


def numbered(tables: Iterable[list[list[Record]]]) -> list[Record]:
    rows, number = [], 0
    for variants in tables:
        for variant in variants:
            rows += [
                {**row, "table": number, "who": None if row["who"] is None else f"{row['who']} {number}"}
                for row in variant
            ]
            number += 1
    return rows


Answer = dict[tuple[object, ...], tuple[int, ...]]


def answers(engine: DuckDB, scan: Scan, tables: int) -> list[Answer]:
    found: list[Answer] = [{} for _ in range(tables)]
    for key, sums in engine.scan(scan)._groups.items():
        found[key[0]][key[1:]] = sums
    return found


def move(one: Answer, other: Answer, place: int) -> list[int]:
    cells = one.keys() | other.keys()
    none = (0,) * 99
    return [abs(one.get(cell, none)[place] - other.get(cell, none)[place]) for cell in cells]


def size(moves: list[int], order: int) -> int:
    """The L1 norm, or the L2 norm squared."""
    return sum(moves) if order == 1 else sum(m * m for m in moves)


@pytest.fixture(scope="module")
def people():
    tables = some_tables(1)
    table = schema.Table(
        pa.Table.from_pylist(numbered(tables), schema=ARROW),
        unit=Person("who"),
        columns=COLUMNS,
        contribution=schema.Contribution(groups=1, rows=1),
    )
    with DuckDB({"t": table}, threads=2) as engine:
        yield engine, table.schema


def claims(total: Sum, order: int, one: int) -> tuple[int, int]:
    """How far a unit that comes or goes, and one that changes, may move a sum: L1, or L2 squared."""
    if order == 1:
        return total.most * one, 2 * total.most * one
    return total.most**2 * one, (2 if total.ends[0] >= 0 else 4) * total.most**2 * one


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("where", [None, WHERE])
@pytest.mark.parametrize("keys", [(), (CITY,), (SHOP,), (CITY, SHOP)])
@pytest.mark.parametrize(("order", "limit"), [(1, 1), (1, 6), (2, 1), (2, 12)])
def test_a_unit_moves_no_sum_beyond_its_norm(people, order, limit, keys, where, distinct):
    engine, facts = people
    scan = Scan("t", facts, where, (NUMBER, *keys), SUMS, Norm(order, limit, SHIFT), None, distinct)
    variants = 1 + 2 * len(UNITS)
    found = answers(engine, scan, TABLES * variants)
    bound = limit * (2**SHIFT if order == 1 else 4**SHIFT)
    reached = [Fraction(0)] * len(SUMS)
    for start in range(0, TABLES * variants, variants):
        base = found[start]
        for index in range(1, variants):
            for place, total in enumerate(SUMS):
                dropped, changed = claims(total, order, bound)
                moved = size(move(base, found[start + index], place), order)
                claim = dropped if index <= len(UNITS) else changed
                assert moved <= claim, (scan, total)
                if index <= len(UNITS):
                    reached[place] = max(reached[place], Fraction(moved, claim))
    # L2 squared: nine tenths of the claim is 0.81 of its square
    enough = Fraction(9, 10) if order == 1 else Fraction(81, 100)
    for total, most in zip(SUMS, reached, strict=True):
        if not distinct or limit == 1:  # a unit that counts once per cell may have too few cells for more
            assert most >= enough, (total, float(most))


@pytest.mark.parametrize("keys", [(), (CITY,), (SHOP,)])
def test_a_row_moves_no_sum_beyond_its_bound(keys):
    source = random.Random(3)
    variants, rows = 9, []
    for base in range(TABLES):
        owned = [row for unit in UNITS for row in some_rows(source, unit)][:4] or some_rows(source, "p")[:1]
        several = [owned, *([row for j, row in enumerate(owned) if j != i] for i in range(4))]
        several += [[*owned[:i], *some_rows(source, "p")[:1], *owned[i + 1 :]] for i in range(4)]
        for index, variant in enumerate(several):
            rows += [{**row, "table": base * variants + index} for row in variant]
    table = schema.Table(pa.Table.from_pylist(rows, schema=ARROW), unit=Rows(), columns=COLUMNS)
    reached = dict.fromkeys(range(len(SUMS)), 0)
    with DuckDB({"t": table}) as engine:
        found = answers(engine, Scan("t", table.schema, None, (NUMBER, *keys), SUMS, Once()), TABLES * variants)
    for start in range(0, TABLES * variants, variants):
        for index in range(1, 5):
            for place, total in enumerate(SUMS):
                moved = size(move(found[start], found[start + index], place), 1)
                assert moved <= total.most
                reached[place] = max(reached[place], moved)
        for index in range(5, 9):
            for place, total in enumerate(SUMS):
                moved = move(found[start], found[start + index], place)
                assert size(moved, 1) <= 2 * total.most
                assert size(moved, 2) <= (2 if total.ends[0] >= 0 else 4) * total.most**2
    for place, total in enumerate(SUMS):
        assert reached[place] >= 0.9 * total.most


def ask(engine: DuckDB, scan: Scan, index: int) -> Answer:
    """The answer over one of several tables, with the key of the hash held fixed, so that units keep what they kept."""
    asked = statement(scan, f"table{index}", 77, DUCKDB)
    return {row[: asked.keys]: row[asked.keys :] for row in engine._fetch(asked.sql, asked.parameters)}


@pytest.fixture(scope="module")
def several():
    tables = {}
    for variants in some_tables(5)[:8]:
        for variant in variants:
            rows = pa.Table.from_pylist([{**row, "table": 0} for row in variant], schema=ARROW)
            tables[f"t{len(tables)}"] = schema.Table(
                rows, unit=Person("who"), columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=1)
            )
    with DuckDB(tables, threads=1) as engine:
        yield engine, len(tables)


@pytest.mark.parametrize(("key", "order"), [(CITY, 1), (SHOP, 1), (SHOP, 2)])
@pytest.mark.parametrize("bounding", [Truncate(2, 3), Truncate(1, 1), Norm(1, 3, SHIFT), Norm(2, 5, SHIFT)])
def test_a_unit_moves_no_more_than_its_kept_rows_and_keys(several, bounding, key, order):
    engine, tables = several
    discovery = Discovery(2, order, SHIFT) if key is SHOP else None
    facts = schema.Schema(unit=Person("who"), columns=COLUMNS)
    scan = Scan("t", facts, None, (key,), SUMS, bounding, discovery)
    variants = 1 + 2 * len(UNITS)
    reached: dict[int, Fraction] = defaultdict(Fraction)
    for start in range(0, tables, variants):
        base, *others = (ask(engine, scan, start + index) for index in range(variants))
        for index, other in enumerate(others):
            drops = index < len(UNITS)
            # keys that only this unit keeps come and go with it, and the threshold answers for them
            both = base.keys() & other.keys() if discovery else base.keys() | other.keys()
            first, second = ({cell: answer[cell] for cell in both if cell in answer} for answer in (base, other))
            for place, total in enumerate(SUMS):
                moved = move(first, second, place)
                if isinstance(bounding, Truncate):
                    claim, times = total.most * bounding.rows, 1 if drops else 2
                    assert size(moved, 1) <= times * claim * bounding.groups
                    assert size(moved, 2) <= times**2 * claim**2 * bounding.groups
                    if drops:
                        reached[place] = max(reached[place], Fraction(size(moved, 1), claim * bounding.groups))
                else:
                    one = bounding.limit * (2**SHIFT if bounding.order == 1 else 4**SHIFT)
                    dropped, changed = claims(total, bounding.order, one)
                    assert size(moved, bounding.order) <= (dropped if drops else changed)
            if discovery:
                weights = move(base, other, len(SUMS))
                assert size(weights, order) <= (1 if drops else 2) * (2**SHIFT if order == 1 else 4**SHIFT)
                assert len(base.keys() - other.keys()) <= discovery.most
                assert len(other.keys() - base.keys()) <= (0 if drops else discovery.most)
    if isinstance(bounding, Truncate) and not discovery:
        assert all(most >= Fraction(9, 10) for most in reached.values())
