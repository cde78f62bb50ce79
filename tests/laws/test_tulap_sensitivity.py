"""No unit moves a count with Tulap noise by more than 1, which its noise is for: by brute force on the engine's SQL."""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privet.audit.neighbours import Seen, claims_of
from privet.core.schema import Contribution, Schema, integer
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.planner.share_plan import with_tulap
from privet.planner.verify import verify
from privet.query.sql.parse import parse

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import SECRET

COLUMNS = {"u": integer(nullable=True), "x": integer(0, 9, nullable=True)}
COUNTS = {
    "met": "SELECT COUNT(*) FILTER (WHERE x > 4) AS n FROM d",
    "chosen rows": "SELECT COUNT(*) FILTER (WHERE x > 4) AS n FROM d WHERE x <> 7",
}
SPEND = Spend(Fraction(1), Fraction(1, 100), None, Fraction(0))
Rowset = list[tuple[int | None, int | None]]


def some_rows(draw: random.Random, owner: int | None, most: int) -> Rowset:
    values: list[int | None] = [None, 0, 4, 5, 7, 9, -(2**40), 2**40]
    return [(owner, draw.choice(values)) for _ in range(draw.randint(1, most))]


def neighbours(draw: random.Random, neighbors: str, most: int) -> tuple[Rowset, Rowset]:
    others = [row for owner in (5, 6, None) for row in some_rows(draw, owner, most)]
    before = some_rows(draw, 1, most)
    after = some_rows(draw, 1, most) if neighbors == "change-one" else []
    return [*others, *before], [*others, *after]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("who", ["rows", "people"])
def test_no_unit_moves_a_count_with_tulap_noise_by_more_than_one(who: str, neighbors: Any, count: str) -> None:
    unit = Rows() if who == "rows" else Person("u")
    schema = Schema(
        unit=unit, columns=COLUMNS, neighbors=neighbors, units=9 if neighbors == "change-one" else None,
        contribution=Contribution(groups=1, rows=1),
    )  # fmt: skip
    tables = {"d": schema}
    plan = with_tulap(make_plan(parse(COUNTS[count], tables), tables, spend=SPEND, bound="groups"), Fraction(1, 100))
    verify(plan, tables)
    (one,) = plan.passes
    (claim,) = claims_of(one)
    assert claim.size == 1
    asked = statement(one.scan, "d", SECRET, DUCKDB)
    draw, moved = random.Random(11), []
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE d(c0 BIGINT, c1 BIGINT)")
        for _ in range(60):
            seen = []
            for world in neighbours(draw, neighbors, 1 if who == "rows" else 6):
                connection.execute("DELETE FROM d")
                connection.executemany("INSERT INTO d VALUES (?, ?)", world)
                seen.append(Seen({(): connection.execute(asked.sql).fetchall()[0]}))
            moved.append(claim.measured(*seen))
    assert max(moved) == 1
    assert min(moved) == 0
