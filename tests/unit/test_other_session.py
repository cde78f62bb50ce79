"""An other group through a session: all rows are in some group, one charge, refusals, tampered plans."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import privet
from privet.core.errors import BudgetExceeded, EngineError, InvariantError, RequestError
from privet.core.event import Receipt
from privet.core.relation import ColumnRef
from privet.core.scan import SealedSums
from privet.engines.duckdb.engine import DuckDB
from privet.planner.measures import SumMeasure
from privet.query.frame import count
from privet.release import found_first

pa = pytest.importorskip("pyarrow")

NAMES = ["flu"] * 500 + ["cold"] * 300 + [f"rare{at}" for at in range(150)] + [None] * 50
ROWS = [
    {"who": at, "name": name, "city": "Ulm" if at % 2 else "Bonn", "age": at % 80, "year": at % 7}
    for at, name in enumerate(NAMES)
]
COLUMNS = {
    "who": privet.integer(),
    "name": privet.text(nullable=True),
    "city": privet.category(["Ulm", "Bonn"]),
    "age": privet.integer(0, 120),
    "year": privet.integer(),
}
SQL = "SELECT name, COUNT(*) AS n FROM t GROUP BY name"
WIDE = privet.Approximate(epsilon=1000, delta=Fraction(1, 10**6))
UNITS = [privet.Rows(), privet.Person("who")]


def table(unit, **facts):
    return privet.Table(
        pa.Table.from_pylist(ROWS),
        unit=unit,
        columns=COLUMNS,
        **{"contribution": privet.Contribution(groups=1, rows=1), **facts},
    )


def session(unit=UNITS[0], budget=WIDE, **facts):
    return privet.Session({"t": table(unit, **facts)}, budget=budget)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_without_noise_every_row_is_in_a_group(unit, neighbors):
    with session(unit, neighbors=neighbors) as s:
        answer = s.ask(SQL, epsilon=300, other="other")
        counts = dict(zip(answer["name"].values, answer["n"].values, strict=True))
        assert counts["flu"] == 500
        assert counts["cold"] == 300
        assert sum(counts.values()) == len(ROWS)
        assert counts["other"] == 150 - sum(name not in ("flu", "cold", "other", None) for name in counts)
        assert answer["name"].values[-1] == "other"


def test_every_aggregate_has_its_other_group():
    with session() as s:
        answer = s.ask(
            "SELECT name, city, COUNT(*) AS n, AVG(age) AS a, MEDIAN(age) AS m, MODE(year % 2) AS y, "
            "COUNT(DISTINCT age) AS d, BOUNDS(year) AS r FROM t GROUP BY name, city ORDER BY city, n DESC",
            epsilon=900,
            other="all else",
        )
        rows = {(row["name"], row["city"]): row for row in answer}
        assert {name for name, _ in rows} >= {"flu", "cold", "all else"}
        rest = rows["all else", "Bonn"]
        assert abs(rest["n"] - 75) < 5
        assert rest["n_low"] <= 75 <= rest["n_high"]
        assert 0 <= rest["a"] <= 120
        assert rest["y"] in (0, 1)
        assert any("'all else'" in note for note in answer.notes)


def test_it_is_charged_once_before_anything_is_read_and_is_free_again():
    with session() as s:
        plan = s.plan(SQL, epsilon=2, other="other")
        assert plan.to_dict()["cost"]["epsilon"] <= 2
        assert "second reading" in plan.explain()
        before = len(s.history())
        first = s.run(plan).to_dict()
        assert len(s.history()) == before + 1
        assert s.history()[-1].event == plan.event
        assert s.ask(SQL, epsilon=2, other="other").to_dict() == first
        assert len(s.history()) == before + 1
        assert s.plan(SQL, epsilon=2).digest != plan.digest != s.plan(SQL, epsilon=2, other="rest").digest


def test_the_price_is_that_of_a_plan_without_it():
    with session() as s:
        with_it, without = s.plan(SQL, epsilon=2, other="other"), s.plan(SQL, epsilon=2)
        assert with_it.to_dict()["cost"] == without.to_dict()["cost"]


def test_a_question_in_python_and_a_width_take_it_too():
    with session() as s:
        built = s.table("t").group_by("name").agg(n=count())
        assert s.plan(built, epsilon=1, other="other").digest == s.plan(SQL, epsilon=1, other="other").digest
        plan = s.plan(SQL, within=20, other="other")
        assert plan.finds_first
        (width,) = [one for one in plan.to_dict()["columns"] if one["column"] == "n"]
        assert width["half_width"] <= 20


def test_over_budget_it_is_refused_uncharged():
    with session(budget=privet.Approximate(epsilon=1, delta=Fraction(1, 10**6))) as s:
        with pytest.raises(BudgetExceeded) as refused:
            s.ask(SQL, epsilon=3, other="other")
        assert 0 < refused.value.largest_epsilon <= 1
        assert not s.history()


def test_a_value_of_that_name_is_in_it():
    with session() as s:
        answer = s.ask(SQL, epsilon=300, other="flu")
        assert len(set(answer["name"].values)) == len(answer)
        counts = dict(zip(answer["name"].values, answer["n"].values, strict=True))
        assert counts["flu"] >= 500
        assert sum(counts.values()) == len(ROWS)


class Broken(DuckDB):
    """An engine that answers the first scan, and fails at the second."""

    scans = 0

    def scan(self, scan):
        self.scans += 1
        if self.scans > 1:
            raise EngineError
        return super().scan(scan)


def test_a_failure_of_the_second_reading_leaves_the_charge_and_shows_nothing():
    data = {"t": table(UNITS[0])}
    with privet.Session(data, budget=WIDE, engine=Broken(data)) as s:
        with pytest.raises(EngineError):
            s.ask(SQL, epsilon=1, other="other")
        assert len(s.history()) == 1


@pytest.mark.parametrize(
    ("sql", "other", "told"),
    [
        ("SELECT city, COUNT(*) FROM t GROUP BY city", "other", "nothing is left"),
        ("SELECT COUNT(*) FROM t", "other", "nothing is left"),
        ("SELECT year, COUNT(*) FROM t GROUP BY year", "other", "CAST"),
        ("SELECT name, UPPER(name) AS u, COUNT(*) FROM t GROUP BY name, u", "other", "one key"),
        ("SELECT name, city, COUNT(*) FROM t GROUP BY ROLLUP (name, city)", "other", "one grouping"),
        (SQL, "", "a name for the group"),
        (SQL, 3, "a name for the group"),
        (SQL, "x" * 101, "a name for the group"),
    ],
)
def test_what_has_no_other_group_is_refused_with_a_reason(sql, other, told):
    with session() as s, pytest.raises(RequestError, match=told):
        s.plan(sql, epsilon=1, other=other)


def test_a_budget_without_delta_refuses():
    with session(budget=privet.Pure(epsilon=1)) as s, pytest.raises(RequestError, match="declare them"):
        s.plan(SQL, epsilon=1, other="other")


def test_what_is_found_is_drawn_against_a_receipt_for_this_very_plan():
    with session() as s:
        plan, another = (s.plan(SQL, epsilon=1, other=name) for name in ("other", "rest"))
        with pytest.raises(InvariantError, match="another plan"):
            found_first(SealedSums({}), plan, Receipt(1, another.digest, "somebody"), plan)


@pytest.mark.parametrize("change", ["unmarked", "unfound", "rule", "values", "another"])
def test_a_plan_that_reads_by_other_values_than_it_finds_is_not_run(change):
    with session() as s:
        plan = s.plan(SQL, epsilon=1, other="other")
        first, second = plan.passes
        (key,) = second.scan.keys
        passes = {
            "unmarked": (first, replace(second, scan=replace(second.scan, keys=(replace(key, other=None),)))),
            "unfound": (second,),
            "another": (
                replace(first, scan=replace(first.scan, keys=(replace(key, expression=ColumnRef("city")),))),
                second,
            ),
            "rule": (replace(first, measure=SumMeasure(()), scan=replace(first.scan, discovery=None)), second),
            "values": (first, replace(second, scan=replace(second.scan, keys=(replace(key, values=("a", None)),)))),
        }[change]
        with pytest.raises(InvariantError):
            s.run(replace(plan, passes=passes))
