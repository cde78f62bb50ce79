"""BOUNDS through a session: ranges that hold the data, how they are declared, refusals, tampered plans."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction

import pytest

import privet
from privet.core.errors import InvariantError, RequestError, Unbounded
from privet.planner.measures import SumMeasure

pa = pytest.importorskip("pyarrow")

ROWS = [
    {"who": at % 300, "city": "Ulm" if at % 3 else "Bonn", "shop": f"s{at % 2}", "pay": 0.3 * (at % 900),
     "age": at % 90, "debt": -5.0 - at % 3, "none": None}
    for at in range(3000)
]  # fmt: skip
COLUMNS = {
    "who": privet.integer(),
    "city": privet.category(["Ulm", "Bonn", "Rom"]),
    "shop": privet.text(),
    "pay": privet.number(),
    "age": privet.integer(),
    "debt": privet.number(nullable=True),
    "none": privet.number(nullable=True),
}
UNITS = [privet.Rows(), privet.Person("who")]
WIDE = privet.Approximate(epsilon=10**5, delta=Fraction(1, 10**6))


def session(unit, budget=None, **facts):
    schema = pa.Table.from_pylist(ROWS).schema
    schema = schema.set(schema.get_field_index("none"), pa.field("none", pa.float64()))
    table = privet.Table(
        pa.Table.from_pylist(ROWS, schema),
        unit=unit,
        columns=COLUMNS,
        **{"contribution": privet.Contribution(groups=1, rows=1), **facts},
    )
    return privet.Session({"t": table}, budget=budget or WIDE)


def soon(holds):
    """Return whether something holds at one of four costs that are nearly the same.

    Noise alone makes a range of nothing once in ten thousand times for each column; four times in a row, never.
    """
    return any(holds(1 + Fraction(attempt, 100)) for attempt in range(4))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_at_a_great_cost_a_range_holds_all_values_and_little_more(unit, neighbors):
    with session(unit, neighbors=neighbors) as s:
        many = privet.Contribution(groups=10, rows=1) if isinstance(unit, privet.Person) else None
        asked = "SELECT BOUNDS(pay) AS pay, BOUNDS(age) AS age, BOUNDS(debt) FROM t"
        ranges = {"pay_low": 0.0, "pay_high": 512.0, "age_low": 0, "age_high": 128, "debt_low": -8.0, "debt_high": -4.0}
        assert soon(lambda times: [*s.ask(asked, epsilon=3000 * times, contribution=many)] == [ranges])


@pytest.mark.parametrize("keys", ["city", "shop"])
def test_every_group_has_its_own_range(keys):
    with session(privet.Rows()) as s:
        answer = s.ask(
            f"SELECT {keys}, BOUNDS(age) AS a, COUNT(*) AS n FROM t GROUP BY {keys} ORDER BY a_high", epsilon=300
        )
        for row in answer:
            ages = [one["age"] for one in ROWS if one[keys] == row[keys]]
            assert (row["a_low"], row["a_high"]) == ((min(ages), 128) if ages else (None, None))
        assert answer["n"].noisy
        assert not answer["a_low"].noisy


def test_what_has_too_few_rows_has_no_range():
    asked = "SELECT BOUNDS(none) AS x, BOUNDS(age) AS y FROM t WHERE age < 1"
    none = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"))
    with session(privet.Rows()) as s:
        assert soon(lambda times: [*s.ask(asked, epsilon=times / 100)] == [none])
        notes = lambda times: s.ask("SELECT BOUNDS(none) FROM t", epsilon=times).notes  # noqa: E731
        assert soon(lambda times: any("No range" in note for note in notes(times)))


def test_the_answer_says_how_the_range_is_declared_and_then_sums_are_answered():
    with session(privet.Rows()) as s:
        with pytest.raises(Unbounded, match=r"BOUNDS\(pay\)"):
            s.plan("SELECT SUM(pay) FROM t", epsilon=1)
        answer = s.ask("SELECT BOUNDS(pay) AS pay FROM t", epsilon=100)
        (note,) = [note for note in answer.notes if "privet.toml" in note]
        declared = tomllib.loads(note.rpartition(": ")[2])["pay"]
        (odd,) = [note for note in s.ask("SELECT BOUNDS(debt) FROM t", epsilon=100).notes if "privet.toml" in note]
        assert tomllib.loads(odd.rpartition(": ")[2])["debt"]["nullable"]
        assert declared == {"kind": "number", "low": 0, "high": 512}
    columns = {**COLUMNS, "pay": privet.number(declared["low"], declared["high"])}
    table = privet.Table(
        pa.Table.from_pylist(ROWS), unit=privet.Rows(), columns={k: columns[k] for k in ("pay", "age")}
    )
    with privet.Session({"t": table}, budget=WIDE) as s:
        assert abs(s.ask("SELECT AVG(pay) FROM t", epsilon=1000).value - 0.3 * 449.5) < 10


def test_the_builder_asks_what_sql_asks_and_the_same_question_is_free():
    with session(privet.Person("who")) as s:
        built = s.table("t").group_by("city").agg(pay=privet.bounds("pay"), n=privet.count())
        sql = "SELECT city, BOUNDS(pay) AS pay, COUNT(*) AS n FROM t GROUP BY city"
        assert s.plan(built, epsilon=1).digest == s.plan(sql, epsilon=1).digest
        first, left = s.ask(built, epsilon=1).to_dict(), s.remaining()
        assert s.ask(sql, epsilon=1).to_dict() == first
        assert s.remaining() == left


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": Fraction(1, 50)}])
@pytest.mark.parametrize("asked", ["BOUNDS(pay)", "BOUNDS(pay), BOUNDS(age), COUNT(*), MODE(city)"])
@pytest.mark.parametrize("keys", ["", " GROUP BY shop"])
def test_an_answer_costs_no_more_than_was_asked(keys, asked, spend):
    with session(privet.Person("who"), privet.Approximate(epsilon=50, delta=Fraction(1, 10**6))) as s:
        plan = s.plan(f"SELECT {asked} FROM t{keys}", **spend)
        cost = plan.to_dict()["cost"]
        (name, amount), *_ = spend.items()
        assert 0.7 * float(amount) <= cost[name] <= float(amount) * (1 + 1e-9)
        assert "ranges" in plan.explain()
        assert "power of two" in str(plan)


def test_several_questions_at_once_count_by_range_once():
    with session(privet.Rows()) as s:
        batch = s.plan_all(["SELECT BOUNDS(pay) FROM t", "SELECT BOUNDS(pay) AS b, COUNT(*) AS n FROM t"], epsilon=40)
        assert len(batch.releases) == 1
        assert batch.cost()["epsilon"] <= 40
        first, second = s.run_all(batch)
        assert first["pay_high"].values == second["b_high"].values == (512.0,)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT BOUNDS(city) FROM t", "numbers"),
        ("SELECT BOUNDS(who) FROM t", "identifies the person"),
        ("SELECT BOUNDS(pay, 3) FROM t", "one argument"),
        ("SELECT BOUNDS(pay) + 1 AS x FROM t", "stands alone"),
        ("SELECT COUNT(*) AS b_low, BOUNDS(pay) AS b FROM t", "two columns are called"),
        ("SELECT BOUNDS(COUNT(*)) FROM t", "inside another"),
    ],
)
def test_what_has_no_range_is_refused_with_a_reason(sql, told):
    with session(privet.Person("who")) as s, pytest.raises(RequestError, match=told):
        s.plan(sql, epsilon=1)


@pytest.mark.parametrize("change", ["noise", "values", "measures", "flag", "nothing"])
def test_a_plan_whose_counts_are_for_another_scan_is_not_run(change):
    with session(privet.Person("who")) as s:
        plan = s.plan("SELECT city, BOUNDS(pay) FROM t GROUP BY city", epsilon=1)
        (one,) = plan.passes
        (measure,) = one.measures
        weaker = replace(measure, mechanism=privet.Laplace(sensitivity=measure.sensitivity.l1 / 2, epsilon=1))
        hidden = replace(one.scan.keys[-1], values=None)
        tampered = {
            "noise": one.with_noise((weaker,)),
            "values": replace(one, scan=replace(one.scan, keys=(*one.scan.keys[:-1], hidden))),
            "measures": replace(one, measure=SumMeasure((measure, measure))),
            "flag": replace(one, measure=SumMeasure((measure,))),
            "nothing": replace(one, scan=replace(one.scan, sums=())),
        }[change]
        before = s.remaining()
        with pytest.raises(InvariantError):
            s.run(replace(plan, passes=(tampered,)))
        assert s.remaining() == before


@pytest.mark.parametrize("asked", ["BOUNDS(age)", "MODE(shop)", "AVG(age), MODE(city)"])
def test_a_width_cannot_be_asked_of_what_is_chosen(asked):
    columns = {**COLUMNS, "age": privet.integer(0, 100)}
    table = privet.Table(
        pa.Table.from_pylist(ROWS), unit=privet.Rows(), columns={k: columns[k] for k in ("shop", "city", "age")}
    )
    with privet.Session({"t": table}, budget=WIDE) as s, pytest.raises(RequestError, match="by itself"):
        s.plan(f"SELECT {asked} FROM t", within=5)


def test_ranges_that_are_not_public_are_refused_as_such():
    with session(privet.Person("who")) as s:
        (one,) = s.plan("SELECT BOUNDS(pay) FROM t", epsilon=1).passes
    for keys in ((replace(one.scan.keys[-1], values=None),), ()):
        with pytest.raises(InvariantError, match="public values that are inside a group"):
            one.measure.verify(replace(one.scan, keys=keys))
