"""GROUPING SETS, ROLLUP and CUBE: no unit moves a level further than claimed; without noise they are DuckDB's own.

What is reconciled is the weighted least squares solution, and totals are the sums of their parts.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.scan import Pairs
from privet.core.schema import Contribution, Table, category, integer, text
from privet.core.unit import Person, Rows, Unit
from privet.engines.duckdb.engine import DuckDB
from privet.inference.levels import Axes, noise_of, reconcile
from privet.mechanisms import Laplace
from privet.planner.groupings import Levels, parts_of
from privet.session import Session

COLUMNS = {
    "u": integer(),
    "g": category(["a", "b", "c"], nullable=True),
    "h": integer(0, 2),
    "x": integer(-5, 20, nullable=True),
    "t": text(),
}
FEW = Contribution(groups=2, rows=2)
MANY = Contribution(groups=50, rows=100)
ALL = "COUNT(*) AS n, COUNT(x) AS k, SUM(x) AS s, AVG(x) AS m"
SETS = [
    "ROLLUP (g, h)",
    "CUBE (g, h)",
    "GROUPING SETS ((g), (h), (g, h))",
    "h, ROLLUP (g)",
    "GROUPING SETS ((g, h), ())",
]


def rows_of(draw: random.Random, people: int) -> list[tuple[Any, ...]]:
    return [
        (
            person,
            draw.choice(["a", "b", None]),
            draw.randint(0, 2),
            draw.choice([None, *range(-5, 21)]),
            draw.choice("pq"),
        )
        for person in range(people)
        for _ in range(draw.randint(0, 6))
    ]


def table_of(
    rows: list[tuple[Any, ...]], unit: Unit, contribution: Contribution, neighbors: str = "add-remove"
) -> Table:
    types = [pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.string()]
    arrays = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(types)]
    data = pa.table(dict(zip(COLUMNS, arrays, strict=True)))
    bound = {} if isinstance(unit, Rows) else {"contribution": contribution}
    return Table(data, unit=unit, columns=COLUMNS, neighbors=neighbors, **bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("budget", [Pure(epsilon=9), Zcdp(rho=1)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [f"{ALL} FROM d GROUP BY {one}" for one in SETS[:2]])
def test_no_person_moves_a_level_further_than_it_claims(asked: str, budget: Budget, neighbors: str) -> None:
    draw = random.Random(7)
    attained: dict[str, Fraction] = {}
    for _ in range(6):
        rows = rows_of(draw, 3)
        other = [row for row in rows_of(draw, 3) if row[0] == 0] if neighbors == "change-one" else []
        fresh = [row for row in rows if row[0] != 0] + other
        with Session({"d": table_of(rows, Person("u"), FEW, neighbors)}, budget=budget) as session:
            plan = session.plan(f"SELECT g, h, {asked}")
        assert isinstance(plan, Levels)
        assert len({part.passes[0].scan.keys for part in parts_of(plan)}) == len(plan.plans)
        engines = [DuckDB({"d": table_of(one, Person("u"), FEW, neighbors)}) for one in (rows, fresh)]
        for part in plan.plans:
            for one in part.passes:
                found = [engine.scan(one.scan)._groups for engine in engines]
                for place, measure in enumerate(one.measures):
                    moves = [
                        found[0].get(cell, (0,) * 9)[place] - found[1].get(cell, (0,) * 9)[place]
                        for cell in found[0].keys() | found[1].keys()
                    ]
                    laplace = isinstance(measure.mechanism, Laplace)
                    moved = Fraction(sum(map(abs, moves)) if laplace else sum(move * move for move in moves))
                    claim = measure.sensitivity.l1 if laplace else measure.sensitivity.l2_squared
                    assert moved <= claim
                    name = str(len(one.scan.keys))
                    attained[name] = max(attained.get(name, Fraction(0)), moved / claim)
        for engine in engines:
            engine.close()
    assert min(attained.values()) > Fraction(1, 10)  # each level's own norm is nearly used by some person


@pytest.mark.parametrize("unit", [Rows(), Person("u")], ids=["rows", "people"])
@pytest.mark.parametrize("sets", SETS)
def test_without_noise_every_level_is_what_duckdb_says(sets: str, unit: Unit) -> None:
    rows = rows_of(random.Random(3), 12)
    question = f"SELECT g, h, GROUPING(g, h) AS id, GROUPING(h) AS total, {ALL} FROM d GROUP BY {sets}"
    with duckdb.connect() as plain:
        plain.execute("CREATE TABLE d(u BIGINT, g VARCHAR, h BIGINT, x BIGINT, t VARCHAR)")
        plain.executemany("INSERT INTO d VALUES (?, ?, ?, ?, ?)", rows)
        true = {row[:4]: row[4:] for row in plain.execute(question).fetchall()}
    with Session({"d": table_of(rows, unit, MANY)}, budget=Pure(epsilon=10**16)) as session:
        answer = session.ask(question, epsilon=10**13)
    found = {tuple(row[name] for name in ("g", "h", "id", "total")): row for row in answer}
    assert found.keys() >= true.keys()
    assert len(found) == len(answer)
    for key, row in found.items():
        n, k, s, m = true.get(key, (0, 0, None, None))  # declared groups without rows are answered too
        assert [row["n"], row["k"], row["s"]] == pytest.approx([n, k, s or 0], abs=1e-3), key
        assert m is None or row["m"] == pytest.approx(m, abs=1e-3), key


def test_found_keys_are_told_apart_from_totals_and_share_delta() -> None:
    rows = [(person, "ab"[person % 2], 0, person % 20, "pqr"[person % 3]) for person in range(3000)]
    with Session({"d": table_of(rows, Person("u"), FEW)}, budget=Approximate(epsilon=40, delta=1e-6)) as session:
        question = "SELECT g, t, GROUPING(g, t) AS id, COUNT(*) AS n FROM d GROUP BY ROLLUP (g, t)"
        plan = session.plan(question, epsilon=20)
        assert 0 < plan.event.slack() <= Fraction(1, 10**8)
        answer = session.run(plan)
    by = {(row["g"], row["t"], row["id"]): row["n"] for row in answer}
    assert {key[:2] for key in by if key[2] == 0} == {(g, t) for g in "ab" for t in "pqr"}
    # public levels agree, whatever was found at the others
    assert sum(by[g, None, 1] for g in ("a", "b", "c", None)) == pytest.approx(by[None, None, 3])


APART = [
    ("g", "ROLLUP (g)"),
    ("h", "ROLLUP (h)"),
    ("g, h", "CUBE (g, h)"),
    ("g, h", "GROUPING SETS ((g), (h))"),
]


@pytest.mark.parametrize("unit", [Rows(), Person("u")], ids=["rows", "people"])
@pytest.mark.parametrize(("names", "sets"), APART)
def test_rows_without_a_declared_group_are_in_no_total_and_move_no_part(names: str, sets: str, unit: Unit) -> None:
    rows = rows_of(random.Random(4), 12)
    rows += [(person, "undeclared", 1, 3, "p") for person in range(5)] + [(9, "a", None, 4, "q")] * 3
    kept = [row for row in rows if "g" not in names or row[1] != "undeclared"]
    kept = [row for row in kept if "h" not in names or row[2] is not None]
    question = f"SELECT {names}, GROUPING({names}) AS id, COUNT(*) AS n, SUM(x) AS s FROM d GROUP BY {sets}"
    answers = []
    for held in (rows, kept):
        with Session({"d": table_of(held, unit, MANY)}, budget=Pure(epsilon=10**16)) as session:
            answers.append(list(session.ask(question, epsilon=10**10)))
    assert len(answers[0]) == len(answers[1])
    for one, other in zip(*answers, strict=True):
        assert [one["n"], one["s"]] == pytest.approx([other["n"], other["s"]], abs=0.5)  # a row moves more


@pytest.mark.parametrize("budget", [Pure(epsilon=9), Zcdp(rho=1)], ids=["laplace", "gaussian"])
def test_totals_are_the_sums_of_their_parts(budget: Budget) -> None:
    rows = rows_of(random.Random(5), 40)
    with Session({"d": table_of(rows, Person("u"), FEW)}, budget=budget) as session:
        question = f"SELECT g, h, GROUPING(g, h) AS id, {ALL} FROM d GROUP BY CUBE (g, h)"
        answer = list(session.ask(question))
    for name in ("n", "k", "s"):
        at = [[row for row in answer if row["id"] == one] for one in range(4)]
        total = at[3][0][name]
        assert [sum(row[name] for row in level) for level in at] == pytest.approx([total] * 4)
        for coarse, by in ((1, "g"), (2, "h")):
            for row in at[coarse]:
                parts = [cell[name] for cell in at[0] if cell[by] == row[by]]
                assert sum(parts) == pytest.approx(row[name], abs=1e-6)


LEVELS: list[dict[Axes, float]] = [
    {(0, 1): 1.0, (0,): 2.0, (): 0.5},
    {(0, 1): 1.0, (0,): 2.0, (): 0.5, (1, 2): 3.0},
    {(0, 1, 2): 1.0, (0, 1): 1.0, (0, 2): 4.0, (1, 2): 1.0, (0,): 1.0, (1,): 1.0, (2,): 2.0, (): 1.0},
    {(0,): 1.0, (1,): 9.0},
    {(0, 1): 1.0, (): 1e-12},
]


@pytest.mark.parametrize("variances", LEVELS, ids=lambda one: " ".join(map(str, one)))
def test_reconciling_is_weighted_least_squares_and_its_noise_has_the_variance_of_the_projection(
    variances: dict[Axes, float],
) -> None:
    sizes = {0: 3, 1: 4, 2: 2}
    generator = np.random.default_rng(1)
    tables = {axes: generator.normal(100, 30, tuple(sizes[axis] for axis in axes)) for axes in variances}
    design, given, weights = [], [], []
    for axes, table in tables.items():
        for cell in np.ndindex(table.shape):
            mask = np.zeros((3, 4, 2))
            place: list[Any] = [slice(None)] * 3
            for axis, at in zip(axes, cell, strict=True):
                place[axis] = at
            mask[tuple(place)] = 1
            design.append(mask.ravel())
            given.append(table[cell])
            weights.append(variances[axes] ** -0.5)
    a, w = np.array(design), np.array(weights)
    projection = a @ np.linalg.pinv(a * w[:, None], rcond=1e-13) * w
    fitted, spread = projection @ np.array(given), np.diag(projection @ np.diag(w**-2.0) @ projection.T)
    found, noise = reconcile(tables, variances), noise_of(sizes, variances)
    start = 0
    for axes, table in tables.items():
        rows = slice(start, start + table.size)
        start += table.size
        assert found[axes].ravel() == pytest.approx(fitted[rows], rel=1e-6)
        assert noise[axes].variance(variances) == pytest.approx(spread[rows][0], rel=1e-5, abs=1e-13)


def test_people_and_different_values_are_not_made_to_add_up() -> None:
    rows = rows_of(random.Random(5), 40)
    question = "SELECT g, COUNT(DISTINCT u) AS people, COUNT(DISTINCT x) AS k, COUNT(*) AS n FROM d GROUP BY ROLLUP (g)"
    with Session({"d": table_of(rows, Person("u"), MANY)}, budget=Pure(epsilon=10**16)) as session:
        answer = list(session.ask(question, epsilon=10**13))
        assert any(isinstance(one.scan.bounding, Pairs) for one in session.plan(question, epsilon=10**13).passes)
    people = len({row[0] for row in rows})
    assert answer[-1]["people"] == people
    assert sum(row["people"] for row in answer[:-1]) > people
    assert all(isinstance(row["people"], int) for row in answer)
