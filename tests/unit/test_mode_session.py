"""MODE and TOP_K through a session: what plain SQL says where there is no noise, refusals, NULLs, tampered plans."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

import privet
from privet.core.errors import InvariantError, RequestError
from privet.core.scan import Largest, Norm
from privet.query.frame import count, mode, top_k

pa = pytest.importorskip("pyarrow")

ROWS = [
    {
        "who": at % 40,
        "age": (at * at) % 11,
        "city": [None, "Ulm", "Bonn", "Ulm"][at % 4],
        "shop": f"s{(at * at) % 5}",
        "day": datetime.date(2024, 1, 1 + (at * at) % 9),
        "ok": at % 3 == 0,
        "pay": float(at % 7),
    }
    for at in range(900)
]
COLUMNS = {
    "who": privet.integer(),
    "age": privet.integer(0, 20),
    "city": privet.category(["Ulm", "Bonn", "Rom"], nullable=True),
    "shop": privet.text(),
    "day": privet.date(datetime.date(2024, 1, 1), datetime.date(2024, 1, 31)),
    "ok": privet.boolean(),
    "pay": privet.number(0, 10),
}
UNITS = [privet.Rows(), privet.Person("who")]
MANY = privet.Contribution(groups=20, rows=30)
WIDE = privet.Approximate(epsilon=10**6, delta=Fraction(1, 10**6))


def session(unit, budget=None, rows=ROWS, **facts):
    table = privet.Table(
        pa.Table.from_pylist(rows, ARROW),
        unit=unit,
        columns=COLUMNS,
        **{"contribution": privet.Contribution(groups=1, rows=1), **facts},
    )
    return privet.Session({"t": table}, budget=budget or WIDE)


ARROW = pa.Table.from_pylist(ROWS).schema


def _plain(value):
    return value.date() if isinstance(value, datetime.datetime) else value


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("bound", "neighbors"), [("norm", "add-remove"), ("groups", "change-one")])
@pytest.mark.parametrize("column", ["city", "age", "shop", "day", "ok", "age % 3", "DATE_TRUNC('week', day)"])
def test_without_noise_the_mode_is_that_of_plain_sql(unit, bound, neighbors, column):
    with session(unit, neighbors=neighbors) as s:
        answer = s.ask(
            f"SELECT ok, MODE({column}) AS m, TOP_K({column}, 4) AS top FROM t GROUP BY ok",
            epsilon=900_000,
            bound=bound,
            contribution=MANY if isinstance(unit, privet.Person) else None,
        )
        t = pa.Table.from_pylist(ROWS)  # noqa: F841  # DuckDB finds it by its name
        plain = duckdb.sql(
            f"SELECT ok, {column} AS v, COUNT(*) AS n FROM t WHERE v IS NOT NULL GROUP BY ALL"
        ).fetchall()
        for row in answer:
            counts = Counter({_plain(value): n for ok, value, n in plain if ok == row["ok"]})
            best = sorted(counts.values(), reverse=True)[:4]
            top = [row[f"top_{rank}"] for rank in range(1, 5)]
            assert row["m"] == top[0]
            assert [counts[value] for value in top if value is not None] == best  # up to ties
            assert top[len(best) :] == [None] * (4 - len(best))


@pytest.mark.parametrize("unit", UNITS)
def test_the_builder_asks_what_sql_asks(unit):
    with session(unit) as s:
        built = s.table("t").group_by("city").agg(m=mode("shop"), top=top_k("age", 2), n=count())
        sql = "SELECT city, MODE(shop) AS m, TOP_K(age, 2) AS top, COUNT(*) AS n FROM t GROUP BY city"
        assert s.plan(built, epsilon=1).digest == s.plan(sql, epsilon=1).digest
        other = "SELECT MODE(age), MODE() WITHIN GROUP (ORDER BY age) AS b, TOP_K(age, 1) AS c FROM t"
        assert s.plan(other, epsilon=1).digest == s.plan("SELECT MODE(age) FROM t", epsilon=1).digest


def test_the_mode_is_the_first_of_several_and_costs_no_more():
    with session(UNITS[0]) as s:
        both = s.plan("SELECT MODE(age) AS m, TOP_K(age, 3) AS t FROM t", epsilon=1)
        assert both.digest == s.plan("SELECT TOP_K(age, 3) AS t FROM t", epsilon=1).digest
        (row,) = s.run(both)
        assert row["m"] == row["t_1"]


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": Fraction(1, 50)}])
@pytest.mark.parametrize(
    "asked", ["MODE(age)", "MODE(shop)", "MODE(age), TOP_K(shop, 3), COUNT(*)", "TOP_K(city, 2), AVG(pay)"]
)
@pytest.mark.parametrize("keys", ["", " GROUP BY shop"])
@pytest.mark.parametrize("unit", UNITS)
def test_an_answer_costs_no_more_than_was_asked(unit, keys, asked, spend):
    with session(unit, privet.Approximate(epsilon=50, delta=Fraction(1, 10**6))) as s:
        plan = s.plan(f"SELECT {asked} FROM t{keys}", **spend)
        cost = plan.to_dict()["cost"]
        (name, amount), *_ = spend.items()
        assert 0.7 * float(amount) <= cost[name] <= float(amount) * (1 + 1e-9)
        assert cost["delta"] <= 1.0000001e-6
        assert plan.event.slack() <= Fraction(1, 10**8)
        assert len(s.run(plan)) >= (0 if keys else 1)


def test_what_finds_values_takes_no_delta_from_gaussian_noise():
    sums = ", ".join(f"SUM(age + {at})" for at in range(40))  # so many that Gaussian noise is best
    with session(UNITS[0], privet.Approximate(epsilon=50, delta=Fraction(1, 10**6))) as s:
        plan = s.plan(f"SELECT MODE(shop), {sums} FROM t", epsilon=1)
        assert "Gaussian" in plan.explain()
        assert plan.to_dict()["cost"]["epsilon"] <= 1
        assert plan.to_dict()["cost"]["delta"] <= 1.0000001e-6


def test_the_same_question_again_is_free_and_has_the_same_values():
    with session(UNITS[1]) as s:
        sql = "SELECT ok, MODE(day) AS d, MODE(shop) AS s, TOP_K(city, 3) AS c FROM t GROUP BY ok ORDER BY s"
        first, left = s.ask(sql, epsilon=2).to_dict(), s.remaining()
        assert s.ask(sql, epsilon=2).to_dict() == first
        assert s.remaining() == left


def test_several_questions_at_once_share_what_is_chosen():
    with session(UNITS[1]) as s:
        batch = s.plan_all(
            ["SELECT MODE(age) FROM t", "SELECT TOP_K(age, 2) FROM t", "SELECT MODE(shop) FROM t"], epsilon=1
        )
        assert len(batch.releases) == 1
        assert batch.cost()["epsilon"] <= 1
        first, second, _ = s.run_all(batch)
        assert first.value == second["top_age_1"].values[0]


def test_what_is_chosen_has_no_interval_and_goes_into_what_follows():
    with session(UNITS[0]) as s:
        answer = s.ask(
            "SELECT ok, MODE(age) + 1 AS next, UPPER(MODE(city)) AS city, COUNT(*) AS n FROM t GROUP BY ok "
            "HAVING MODE(city) = 'Ulm' ORDER BY MODE(age) DESC",
            epsilon=50_000,
        )
        assert answer["city"].values == ("ULM", "ULM")
        assert not answer["next"].noisy
        assert answer["n"].noisy
        assert any("no interval" in note for note in answer.notes)
        assert s.ask("SELECT MODE(city) FROM t", epsilon=50_000).value == "Ulm"


@pytest.mark.parametrize("column", ["city", "age", "shop", "day", "ok"])
def test_nothing_is_chosen_from_nothing(column):
    with session(UNITS[0], rows=[]) as s:
        (row,) = s.ask(f"SELECT MODE({column}) AS m, TOP_K({column}, 2) AS t FROM t", epsilon=50_000)
        assert list(row.values()) == [None, None, None]


def test_a_null_is_never_the_mode():
    rows = [{**ROWS[1], "city": None}] * 90 + [{**ROWS[1], "city": "Rom"}]
    with session(UNITS[0], rows=rows) as s:
        assert s.ask("SELECT MODE(city) FROM t", epsilon=50_000).value == "Rom"


def test_more_values_than_there_are_cost_no_more():
    with session(UNITS[0]) as s:
        few, many = (s.plan(f"SELECT TOP_K(ok, {k}) AS t FROM t", epsilon=1) for k in (2, 50))
        assert few.digest == many.digest
        (row,) = s.run(many)
        assert [row[f"t_{rank}"] for rank in range(3, 51)] == [None] * 48


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT MODE(pay) FROM t", "whole bins"),
        ("SELECT MODE(who) FROM t", "would be a person"),
        ("SELECT MODE(who % 2) FROM t", "would be a person"),
        ("SELECT MODE(3) FROM t", "same for every row"),
        ("SELECT MODE(DISTINCT age) FROM t", "no DISTINCT"),
        ("SELECT MODE() FROM t", "takes a column"),
        ("SELECT MODE(COUNT(*)) FROM t", "inside another"),
        ("SELECT TOP_K(age) FROM t", "two arguments"),
        ("SELECT TOP_K(age, 0) FROM t", "from 1 to 100"),
        ("SELECT TOP_K(age, 101) FROM t", "from 1 to 100"),
        ("SELECT TOP_K(age, ok) FROM t", "from 1 to 100"),
        ("SELECT TOP_K(age, 2) + 1 AS x FROM t", "stands alone"),
        ("SELECT ok FROM t GROUP BY ok HAVING TOP_K(age, 2) = 1", "stands alone"),
        ("SELECT COUNT(*) AS t_1, TOP_K(age, 2) AS t FROM t", "two columns are called"),
        ("SELECT MODE(nothing) FROM t", "nothing"),
    ],
)
def test_what_has_no_mode_is_refused_with_a_reason(sql, told):
    with session(UNITS[1]) as s, pytest.raises(RequestError, match=told):
        s.plan(sql, epsilon=1)


def test_values_that_are_not_declared_need_a_delta():
    with session(UNITS[0], privet.Pure(epsilon=1)) as s, pytest.raises(RequestError, match="declare them") as refused:
        s.plan("SELECT MODE(shop) FROM t", epsilon=1)
    assert '"shop"' in str(refused.value)


def test_a_width_cannot_be_asked_of_what_is_chosen():
    with session(UNITS[0]) as s, pytest.raises(RequestError):
        s.plan("SELECT MODE(age) FROM t", within=5)


@pytest.mark.parametrize("change", ["span", "bounding", "limit", "sums", "found", "distinct"])
def test_a_plan_whose_choices_are_for_another_scan_is_not_run(change):
    with session(privet.Person("who")) as s:
        plan = s.plan("SELECT ok, MODE(shop) FROM t GROUP BY ok", epsilon=1)
        (one,) = plan.passes
        choice = one.measure.choice
        tampered = {
            "span": replace(one, measure=replace(one.measure, choice=replace(choice, span=choice.span / 2))),
            "bounding": replace(one, scan=replace(one.scan, bounding=Norm(1, 1, 20))),
            "limit": replace(one, scan=replace(one.scan, bounding=Largest(one.scan.bounding.limit + 1, 20))),
            "sums": replace(one, scan=replace(one.scan, sums=())),
            "found": replace(one, measure=replace(one.measure, keys=None), scan=replace(one.scan, discovery=None)),
            "distinct": replace(one, scan=replace(one.scan, distinct=True)),
        }[change]
        before = s.remaining()
        with pytest.raises(InvariantError):
            s.run(replace(plan, passes=(tampered,)))
        assert s.remaining() == before
