"""What clamping and bounding take away is told as it is, for one charge, by questions whose noise hides each person."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded, RequestError
from privet.core.estimate import Estimate
from privet.core.schema import Contribution, Table, category, integer, number
from privet.core.unit import Person, Rows, Unit
from privet.engines.duckdb import engine as duckdb
from privet.execution.clipping import bounding_of, bounding_question, clamping_question, clamps_of
from privet.mechanisms import Laplace
from privet.planner.batch import make_batch
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.query.sql.parse import parse
from privet.session import Session

COLUMNS = {
    "person": integer(),
    "age": integer(0, 100),
    "cost": number(-50, 1000, nullable=True),
    "ward": category(["a", "b"]),
}
Row = tuple[int, int, float, str]


def table(rows: list[Row], unit: Unit, contribution: Contribution | None = None) -> Table:
    kinds = {"person": pa.int64(), "age": pa.int64(), "cost": pa.float64(), "ward": pa.string()}
    data = pa.table({name: pa.array([row[i] for row in rows], kinds[name]) for i, name in enumerate(COLUMNS)})
    typical = contribution or (Contribution(groups=2, rows=1) if isinstance(unit, Person) else None)
    return Table(data, unit=unit, columns=COLUMNS, contribution=typical)


def session(rows: list[Row], unit: Unit, epsilon: int = 10**6, **options: Any) -> Session:
    return Session({"t": table(rows, unit, **options)}, budget=Pure(epsilon=epsilon))


# a thousand people of one row each, fifty of six, and twenty of two, which is as much as counts in full
ROWS: list[Row] = [(i, i % 120, float(i - 100), "ab"[i % 2]) for i in range(1000)]
ROWS += [(1000 + i // 6, 50, 10.0, "ab"[i % 2]) for i in range(300)]
ROWS += [(2000 + i // 2, 50, 10.0, "a") for i in range(40)]
ONCE = "SELECT AVG(cost) AS c FROM t"


def near(found: Estimate | None, truth: float) -> None:
    assert found is not None
    assert found.value == pytest.approx(truth, abs=1e-3)
    assert found.low - 1e-9 <= truth <= found.high + 1e-9


def test_parts_of_the_rows_at_declared_bounds_and_beyond_a_clamp_are_as_counted() -> None:
    with session(ROWS, Rows()) as asked:
        declared = asked.clipping("SELECT SUM(age) AS a, AVG(cost) AS c FROM t WHERE age < 119", epsilon=10**5)
        kept = [row for row in ROWS if min(row[1], 100) < 119]
        age, cost = declared.columns
        assert (age.clamp.name, cost.clamp.name) == ("age", "cost")
        near(age.above, np.mean([row[1] >= 100 for row in kept]))
        near(age.below, np.mean([row[1] <= 0 for row in kept]))
        near(cost.below, np.mean([row[2] <= -50 for row in kept]))
        assert declared.beyond is None
        clamped = asked.clipping("SELECT AVG(LEAST(GREATEST(cost, 0), 500)) AS c FROM t", epsilon=10**5)
        (one,) = clamped.columns
        held = np.clip([row[2] for row in ROWS], -50, 1000)
        near(one.above, np.mean(held > 500))
        near(one.below, np.mean(held < 0))
        near(one.clamped, np.clip(held, 0, 500).mean())
        near(one.unclamped, held.mean())
        assert "without." in repr(clamped)
        assert "A wider clamp of cost would lose less" in repr(clamped)


@pytest.mark.parametrize("bound", ["norm", "groups"])
def test_the_part_of_the_people_who_give_too_much_is_as_counted(bound: Any) -> None:
    with session(ROWS, Person("person"), contribution=Contribution(groups=1, rows=2)) as asked:
        for sql in (ONCE, "SELECT ward, AVG(cost) AS c FROM t WHERE age <> 7 GROUP BY ward"):
            found = asked.clipping(sql, epsilon=10**5, bound=bound)
            people = {row[0] for row in ROWS if "WHERE" not in sql or row[1] != 7}
            near(found.beyond, 50 / len(people))
            assert "of the people contribute more than counts in full" in repr(found)


def test_it_is_one_charge_and_free_again() -> None:
    with session(ROWS, Person("person"), epsilon=2) as asked:
        first = asked.clipping(ONCE, epsilon=1)
        assert asked.clipping(ONCE, epsilon=1).to_dict() == first.to_dict()
        (entry,) = asked.history()
        assert float(entry.event.pure()) <= 1
        assert first.cost["epsilon"] == pytest.approx(1)
        json.dumps(first.to_dict(), allow_nan=False)
        with pytest.raises(BudgetExceeded):
            asked.clipping(ONCE, epsilon=3)
        with pytest.raises(RequestError, match="nothing is clamped or bounded"):
            Session({"t": table(ROWS, Rows())}, budget=Pure(epsilon=1)).clipping("SELECT COUNT(*) AS n FROM t")


def test_empty_tables_take_the_ordinary_path() -> None:
    with session([], Person("person"), epsilon=2) as asked:
        found = asked.clipping(ONCE, epsilon=1)
        assert all(
            0 <= end <= 1 for part in (found.beyond, found.columns[0].above) if part for end in (part.low, part.high)
        )
        assert all(math.isfinite(len(line)) for line in found.lines())


QUESTIONS = [
    ONCE,
    "SELECT SUM(LEAST(cost, 300)) AS s FROM t WHERE age > 20",
    "SELECT ward, AVG(cost) AS c FROM t GROUP BY ward",
    "SELECT ward, SUM(GREATEST(cost, 0)) AS c, COUNT(*) AS n FROM t GROUP BY ward",
]
rows_of_one = st.tuples(st.integers(0, 120), st.sampled_from([-80.0, 0.0, 250.0, 2000.0]), st.sampled_from("ab"))
people = st.lists(st.lists(rows_of_one, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("bound", ["norm", "groups"])
@settings(max_examples=6, deadline=None)
@given(given_rows=people)
def test_leaving_a_person_out_moves_each_sum_by_no_more_than_its_noise_is_for(
    sql: str, bound: Any, given_rows: list[list[tuple[int, float, str]]]
) -> None:
    """Brute force over the SQL that is generated: each person in turn is left out, and every sum is compared.

    The secret by which rows are chosen is held fixed, as what is claimed holds under any.
    """
    schemas = {"t": table([], Person("person")).schema}
    query = parse(sql, schemas)
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(0))
    plan = make_plan(query, schemas, spend=spend, bound=bound)
    about = bounding_question(plan, schemas)
    assert about is not None
    assert bounding_of(plan) is not None
    questions = [clamping_question(query, clamps_of(query, schemas)), about]
    batch = make_batch(questions, schemas, spend=spend, weights=[1, 1], bound=bound)
    sums = []
    for left_out in range(-1, len(given_rows)):
        rows = [(p, *row) for p, several in enumerate(given_rows) if p != left_out for row in several]
        with session(rows, Person("person")) as asked, pytest.MonkeyPatch.context() as patch:
            patch.setattr(duckdb, "secrets", SimpleNamespace(randbits=lambda bits: 2**100 + 12345))
            exacts = [
                asked._executor.engine.scan(one.scan)._groups
                for made in batch.releases
                for one in made.passes
                if one.measures
            ]
            sums.append(exacts)
    passes = [one for made in batch.releases for one in made.passes if one.measures]
    for without in sums[1:]:
        for index, one in enumerate(passes):
            for place, measure in enumerate(one.measures):
                assert isinstance(measure.mechanism, Laplace)
                cells = {*sums[0][index], *without[index]}
                moved = sum(
                    abs(sums[0][index].get(cell, (0,) * 99)[place] - without[index].get(cell, (0,) * 99)[place])
                    for cell in cells
                )
                assert moved <= measure.mechanism.sensitivity
