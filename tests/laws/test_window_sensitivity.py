"""No window of a person's time moves a scan by more than the plan says: the generated SQL, by brute force.

Rows of one person within some window are dropped, all or in part, or changed into others within it; among them NULLs,
rows without a time, people far over the bound, and a linked table whose rows have the time of what they link to.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from privet import Pure, Session
from privet.audit import replay
from privet.core.errors import RequestError
from privet.core.schema import Contribution, Schema, Table, category, date, followed, integer, number, text, timestamp
from privet.core.unit import Link, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.row_values import linked_view
from privet.engines.scan_sql.statement import statement
from privet.mechanisms import Laplace
from privet.planner.make import make_plan
from privet.planner.measures import Measure
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from privet.testing.oracle import Memory
from worlds import WorldTables

SECRET = 99
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(30)]
LAPLACE = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
GAUSSIAN = Spend(None, Fraction(0), Fraction(1), Fraction(1, 100))
KINDS = {
    "visits": {"id": "BIGINT", "who": "VARCHAR", "day": "DATE", "at": "TIMESTAMP", "ward": "VARCHAR", "pay": "DOUBLE"},
    "drugs": {"visit": "BIGINT", "dose": "DOUBLE"},
}
Row = dict[str, Any]
World = dict[str, list[Row]]


def tables(length: object, time: str, neighbors: str, *, clamped: bool = False) -> dict[str, Schema]:
    visits = Schema(
        unit=Window("who", time, length, origin=datetime.date(2024, 1, 3)),
        columns={
            "id": integer(),
            "who": text(nullable=True),
            "day": date(DAYS[5], DAYS[20]) if clamped else date(nullable=True),
            "at": timestamp(nullable=True),
            "ward": category(["a", "b"], nullable=True),
            "pay": number(-3, 10, step=Fraction(1, 2), nullable=True),
        },
        neighbors=neighbors,
        contribution=Contribution(groups=2, rows=2),
    )
    drugs = Schema(
        unit=Link("visit", to="visits", column="id"),
        columns={"visit": integer(nullable=True), "dose": number(0, 4)},
        neighbors=neighbors,
        contribution=Contribution(groups=1, rows=3),
    )
    return followed({"visits": visits, "drugs": drugs})


QUERIES = {
    "one cell": "SELECT COUNT(*), SUM(pay), AVG(pay) FROM visits",
    "by ward": "SELECT ward, COUNT(*), SUM(pay) FROM visits GROUP BY ward",
    "values": "SELECT ward, COUNT(DISTINCT id) FROM visits GROUP BY ward",
    "people": "SELECT COUNT(DISTINCT who) FROM visits",
    "linked": "SELECT COUNT(*), SUM(dose) FROM drugs",
    "linked, joined": "SELECT ward, COUNT(*), SUM(dose) FROM drugs d JOIN visits v ON d.visit = v.id GROUP BY ward",
    "same time": "SELECT COUNT(*) FROM visits v JOIN visits w ON v.who = w.who AND v.{t} = w.{t} AND v.pay < w.pay",
    "by time": "SELECT COUNT(*), SUM(n) FROM (SELECT who, {t}, COUNT(*) AS n FROM visits GROUP BY who, {t})",
    "found": "SELECT CONCAT(ward, 'x') AS w, COUNT(*), SUM(pay) FROM visits GROUP BY w",
}


class Bench(WorldTables):
    """One connection that holds every world of both tables."""

    def __init__(self) -> None:
        super().__init__(KINDS)

    def scan(self, one: Any, facts: dict[str, Schema], worlds: int) -> list[dict[Any, Any]]:
        names: dict[str, str] = {}
        for name in facts:
            shown = ", ".join(f"c{index}" for index in range(len(KINDS[name])))
            names[name] = f"({linked_view(f'SELECT {shown} FROM {name} WHERE world = $world', name, facts, names)})"
        asked = statement(one, relation_sql(one.table, facts, names, SECRET, DUCKDB), SECRET, DUCKDB)
        found = []
        for world in range(worlds):
            rows = self.connection.execute(asked.sql, {"world": world, **asked.parameters}).fetchall()
            found.append({row[: asked.keys]: row[asked.keys :] for row in rows})
        return found


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.connection.close()


def visit(draw: random.Random, number: int, who: str | None, day: datetime.date | None, **given: Any) -> Row:
    at = None if day is None else datetime.datetime.combine(day, datetime.time(draw.randrange(24)))
    plain = {
        "ward": draw.choice(["a", "b", "c", None]),
        "pay": draw.choice([None, math.nan, math.inf, -3.0, 10.0, 4.2]),
    }
    return {"id": number, "who": who, "day": day, "at": at, **plain, **given}


def some_world(draw: random.Random) -> World:
    visits = []
    for who in ("p", "q", None):
        many = draw.choice([3, 8, 40])
        days = draw.sample(DAYS, 4) if draw.random() < 0.5 else DAYS
        visits += [visit(draw, 0, who, draw.choice([*days, None])) for _ in range(many)]
    return numbered(draw, visits)


def numbered(draw: random.Random, visits: list[Row]) -> World:
    visits = [{**row, "id": number} for number, row in enumerate(visits)]
    drugs = [{"visit": row["id"], "dose": 4.0} for row in visits for _ in range(1 + row["id"] % 2)]
    return {"visits": visits, "drugs": [*drugs, {"visit": None, "dose": 4.0}, {"visit": 10**6, "dose": 4.0}]}


def within(world: World, who: str, time: str, start: Any, length: datetime.timedelta) -> list[Row]:
    rows = (row for row in world["visits"] if row["who"] == who and row[time] is not None)
    return [row for row in rows if start <= row[time] < start + length]


def neighbours(draw: random.Random, world: World, unit: Window, neighbors: str) -> list[World]:
    """Return worlds in which rows of one person within some window are gone, in part or whole, or changed."""
    found = []
    for _ in range(8):
        start: Any = draw.choice(DAYS)
        if unit.time == "at":
            start = datetime.datetime.combine(start, datetime.time(draw.randrange(24), 30))
        rows = within(world, draw.choice("pq"), unit.time, start, unit.length)
        gone = {row["id"] for row in rows if draw.random() < draw.choice([0.3, 1.0])}
        fresh: dict[int, Row] = {}
        if neighbors == "change-one":
            fresh = {row["id"]: {**row, "ward": draw.choice("ab"), "pay": draw.choice([10.0, -3.0])} for row in rows}
        visits = [fresh.get(row["id"], row) for row in world["visits"] if row["id"] not in gone - fresh.keys()]
        kept = {row["id"] for row in visits} | {None, 10**6}
        found.append({"visits": visits, "drugs": [row for row in world["drugs"] if row["visit"] in kept]})
    return found


def moved(one: dict[Any, Any], other: dict[Any, Any], place: int) -> tuple[int, int]:
    none = (0,) * 9
    moves = [abs(one.get(cell, none)[place] - other.get(cell, none)[place]) for cell in one.keys() | other.keys()]
    return sum(moves), sum(move * move for move in moves)


def part_of_claim(measure: Measure, one: dict[Any, Any], other: dict[Any, Any], place: int) -> float:
    l1, l2_squared = moved(one, other, place)
    claim = measure.sensitivity
    assert l2_squared <= claim.l2_squared
    if isinstance(measure.mechanism, Laplace):
        assert l1 <= claim.l1
        return float(l1 / claim.l1)
    return math.sqrt(l2_squared / claim.l2_squared)


def planned(name: str, facts: dict[str, Schema], spend: Spend, time: str, bound: str = "norm") -> Plan:
    asked = parse(QUERIES[name].format(t=time), facts)
    return make_plan(asked, facts, spend=spend, bound=bound)


SHAPES = [
    (7, "day", "add-remove", False),
    (7, "day", "change-one", True),
    (datetime.timedelta(hours=36), "at", "add-remove", False),
    (1, "day", "change-one", False),
]


@pytest.mark.parametrize("bound", ["norm", "groups"])
@pytest.mark.parametrize("spend", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(("length", "time", "neighbors", "clamped"), SHAPES)
@pytest.mark.parametrize("name", QUERIES)
def test_no_window_of_a_person_moves_a_scan_by_more_than_the_plan_says(
    name: str, length: object, time: str, neighbors: str, clamped: bool, spend: Spend, bound: str, bench: Bench
) -> None:
    facts = tables(length, time, neighbors, clamped=clamped)
    unit = facts["visits"].unit
    draw = random.Random(len(name))
    worlds = [world := some_world(draw), *neighbours(draw, world, unit, neighbors)]
    bench.load(worlds)
    for one in planned(name, facts, spend, time, bound).passes:
        first, *others = bench.scan(one.scan, facts, len(worlds))
        for other in others:
            # a key that one of the two does not hold is hidden by the threshold
            common = first.keys() & other.keys() if one.scan.discovery else first.keys() | other.keys()
            before, after = ({cell: of[cell] for cell in common if cell in of} for of in (first, other))
            for place, measure in enumerate(one.measures):
                part_of_claim(measure, before, after, place)
            if one.keys is not None:
                most = one.scan.discovery.most * unit.touches
                assert len(first.keys() - other.keys()) <= most
                assert len(other.keys() - first.keys()) <= most


@pytest.mark.parametrize("spend", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_removing_part_of_two_buckets_attains_twice_the_change_of_one(spend: Spend, bench: Bench) -> None:
    # ward a before and after the window, in either bucket; very many of ward b within it
    facts = tables(7, "day", "add-remove")
    draw = random.Random(1)
    start = datetime.date(2024, 1, 3)  # buckets are from the 3rd to the 9th and from the 10th to the 16th
    outside = [start, start + datetime.timedelta(days=13)]
    inside = [start + datetime.timedelta(days=day) for day in range(4, 11)]
    kept = [visit(draw, 0, "p", day, ward="a", pay=10.0) for day in outside for _ in range(8)]
    gone = [visit(draw, 0, "p", day, ward="b", pay=10.0) for day in inside for _ in range(900)]
    bench.load([numbered(draw, [*kept, *gone]), numbered(draw, kept)])
    (one,) = planned("by ward", facts, spend, "day").passes
    before, after = bench.scan(one.scan, facts, 2)
    for place, measure in enumerate(one.measures):
        assert part_of_claim(measure, before, after, place) >= 0.9


@pytest.mark.parametrize(("length", "time", "neighbors", "clamped"), SHAPES)
def test_the_engine_and_the_oracle_have_the_same_buckets(
    length: object, time: str, neighbors: str, clamped: bool, bench: Bench
) -> None:
    facts = tables(length, time, neighbors, clamped=clamped)
    world = some_world(random.Random(5))
    world["visits"] += [visit(random.Random(3), 10**7, "p", day) for day in (datetime.date.min, datetime.date.max)]
    bench.load([world])
    declared = {}
    for name, schema in facts.items():
        declared[name] = Table(
            world[name], unit=schema.unit, columns=schema.columns, contribution=Contribution(groups=1, rows=1)
        )
        own = replace(schema, link=None, unit=schema.link or schema.unit)
        shown = {column: own.columns[column] for column in KINDS[name]}
        object.__setattr__(declared[name], "schema", replace(own, columns=shown))
    for name in QUERIES:
        if name not in {"found", "values"}:  # where chance decides what is kept
            for one in planned(name, facts, LAPLACE, time).passes:
                (found,) = bench.scan(one.scan, facts, 1)
                expected = Memory(declared).scan(one.scan)._groups
                assert {c: s for c, s in found.items() if any(s)} == {c: s for c, s in expected.items() if any(s)}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT COUNT(*) FROM visits v JOIN visits w ON v.who = w.who", "'who' and 'day'"),
        ("SELECT COUNT(*) FROM (SELECT who, COUNT(*) FROM visits GROUP BY who)", "tell people apart"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT who, ward FROM visits)", "tell people apart"),
        ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY day) FROM visits)", "add 'day'"),
        ("SELECT COUNT(*) FROM visits WHERE who IN (SELECT who FROM visits)", "about the same person"),
    ],
)
def test_a_step_stays_within_a_person_and_a_time(sql: str, told: str) -> None:
    facts = tables(7, "day", "add-remove")
    with pytest.raises(RequestError) as caught:
        parse(sql, facts)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Window("who", "day", 0),
        lambda: Window("who", "day", datetime.timedelta(0)),
        lambda: Window("who", "day", "week"),
        lambda: Window("", "day", 7),
        lambda: Window("who", "day", 7, origin=datetime.datetime(2024, 1, 1)),
        lambda: tables(datetime.timedelta(hours=36), "day", "add-remove"),
        lambda: tables(7, "ward", "add-remove"),
        lambda: tables(7, "nothing", "add-remove"),
    ],
)
def test_a_window_is_over_a_time_and_of_a_length(wrong: Any) -> None:
    with pytest.raises(RequestError):
        wrong()


WEEK = [datetime.date(2024, 1, 5), datetime.date(2024, 1, 9)]
"""Within a window of seven days, and in two buckets."""


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM (SELECT p, d FROM a UNION ALL SELECT p, d FROM b UNION ALL SELECT p, d FROM c)",
        "SELECT COUNT(*) AS n FROM (SELECT p, d FROM a UNION ALL SELECT p, d FROM open)",
        "SELECT COUNT(*) AS n FROM b LEFT JOIN a ON a.p = b.p AND a.d = b.d",
        "SELECT SUM(c) AS n FROM (SELECT p, d, COUNT(*) AS c FROM (SELECT p, d FROM a UNION ALL SELECT p, d FROM b) "
        "GROUP BY p, d)",
    ],
)
def test_a_window_has_the_same_buckets_in_tables_whose_times_have_different_bounds(sql: str, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    made, stored = (date, pa.date32()) if kind == "date" else (timestamp, pa.timestamp("us"))
    first, far = datetime.date(2023, 1, 1), datetime.date(2025, 1, 1)
    bounds = {"a": (first, datetime.date(2023, 6, 1)), "b": (first, far), "c": (datetime.date(2024, 6, 1), far)}
    source = pa.table({"p": [1] * 10 + [2], "d": pa.array([*WEEK * 5, WEEK[0]]).cast(stored)})
    unit = Window("p", "d", 7, origin=datetime.date(2024, 1, 1))
    held = {
        name: Table(
            source,
            unit=unit,
            columns={"p": integer(), "d": made(*_ends(ends, kind))},
            contribution=Contribution(groups=1, rows=1),
            rows=100,
        )
        for name, ends in {**bounds, "open": ()}.items()
    }
    with Session(held, budget=Pure(epsilon=10)) as session:
        plan = session.plan(sql, epsilon=1)
    found = replay(held, plan)
    assert found.worst.moved > 0
    assert found.holds, found


def _ends(days: tuple[datetime.date, ...], kind: str) -> list[datetime.date]:
    return [day if kind == "date" else datetime.datetime.combine(day, datetime.time()) for day in days]


@pytest.mark.parametrize("infinite", ["infinity", "-infinity"])
def test_a_time_beyond_the_calendar_is_in_a_bucket_at_its_end(infinite: str) -> None:
    for kind, made, ends in (("DATE", date, DAYS), ("TIMESTAMP", timestamp, _ends((DAYS[0], DAYS[-1]), "timestamp"))):
        rows = duckdb.sql(f"SELECT 1 AS p, '{infinite}'::{kind} AS d FROM range(5) UNION ALL SELECT 1, '2024-01-05'")
        columns = {"p": integer(), "d": made(ends[0], ends[-1])}
        held = {
            "t": Table(
                rows, unit=Window("p", "d", 7), columns=columns, contribution=Contribution(groups=1, rows=1), rows=100
            )
        }
        with Session(held, budget=Pure(epsilon=10**9)) as session:
            assert session.ask("SELECT COUNT(*) AS n FROM t", epsilon=10**6)["n"].values == (2,)
