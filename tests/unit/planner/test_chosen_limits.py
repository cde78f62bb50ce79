"""contribution="auto" and covers="bounding": what is charged, shown and refused, in Python, SQL, a shell and a file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.schema import AUTO, Table, category, integer, number, text
from privet.core.unit import Person, Rows
from privet.engines.duckdb.engine import DuckDB
from privet.execution.clipping import propose_contribution
from privet.planner.contributions import losses
from privet.session import Session

COLUMNS = {"who": integer(), "g": category(["a", "b"]), "x": number(-2, 8, step=1), "name": text()}
SIZES = [1, 1, 2, 3, 5, 40] * 20
COUNT = "SELECT COUNT(*) AS n FROM t"
LIMIT = privet.Contribution(groups=2, rows=2)


def table(unit: Any = None, **facts: Any) -> Table:
    who = [person for person, many in enumerate(SIZES) for _ in range(many)]
    rows = {"who": who, "g": ["a", "b"] * (len(who) // 2), "x": [1.0] * len(who), "name": ["n"] * len(who)}
    unit = Person("who") if unit is None else unit
    facts = facts if unit == Rows() else {"contribution": LIMIT, "most_rows": 50, **facts}
    return Table(pyarrow.table(rows), unit=unit, columns=COLUMNS, **facts)


def session(budget: Any = None, unit: Any = None, **facts: Any) -> Session:
    return Session({"t": table(unit, **facts)}, budget=budget or privet.Pure(epsilon=100))


def test_a_fifth_of_the_price_chooses_a_limit_and_a_half_covers_bounding() -> None:
    budgets = (privet.Pure(epsilon=100), privet.Zcdp(rho=100), privet.Approximate(epsilon=100, delta=1e-6))
    for budget, cost in zip(budgets, ({"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1}), strict=True):
        with session(budget) as asked:
            for options, share in (({"contribution": "auto"}, 0.2), ({"covers": "bounding"}, 0.5)):
                plan = asked.plan("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", **cost, **options)
                sizes, sums = plan.passes
                told = next(iter(cost))
                assert plan.price[told] == pytest.approx(cost[told], rel=1e-4)
                events = [sizes.sizes.mechanism.event, *(one.mechanism.event for one in sums.measures)]
                pures = [float(one.pure()) for one in events]
                parts = [float(one.rho()) for one in events] if math.inf in pures else pures
                assert parts[0] / sum(parts) == pytest.approx(share)
                assert parts[1] == pytest.approx(parts[2])


def test_about_as_many_people_are_left_above_as_noise_and_cells_make_best() -> None:
    with session(privet.Zcdp(rho=100)) as asked:
        for sql, cells in ((COUNT, 1), ("SELECT g, COUNT(*) FROM t GROUP BY g", 2)):
            plan = asked.plan(sql, rho=0.02, contribution="auto")
            sigma = plan.passes[1].measures[0].standard_deviation
            assert float(plan.passes[0].sizes.people) == pytest.approx(sigma * math.sqrt(2 / math.pi) * cells, abs=1e-3)
    with session() as asked:
        plan = asked.plan(COUNT, epsilon=0.1, contribution="auto")
        assert plan.passes[0].sizes.people == Fraction(25, 2)


@pytest.mark.parametrize(
    ("options", "question", "told"),
    [
        ({}, "SELECT MEDIAN(x) FROM t", "not for quantiles"),
        ({}, "SELECT MODE(g) FROM t", "not for MODE"),
        ({}, "SELECT COUNT(DISTINCT x) FROM t", "COUNT\\(DISTINCT"),
        ({"bound": "groups"}, COUNT, "scaled down"),
        ({"within": 5}, COUNT, "state a cost"),
        ({}, "SELECT g, COUNT(*) FROM t GROUP BY ROLLUP (g)", "share one price"),
        ({}, "SELECT name, COUNT(*) FROM t GROUP BY name", "groups that are declared"),
        ({}, "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who)", "within each person"),
    ],
)
def test_what_has_no_limit_to_choose_is_refused_by_name_and_free(options: Any, question: str, told: str) -> None:
    with (
        session(privet.Approximate(epsilon=10, delta=1e-6)) as asked,
        pytest.raises(RequestError, match=told) as refused,
    ):
        asked.ask(question, contribution="auto", **({} if "within" in options else {"epsilon": 1}), **options)
    assert "contribution=Contribution(" in str(refused.value)
    assert not asked.history()


def test_several_questions_and_a_report_on_clipping_need_a_stated_limit() -> None:
    with session(contribution="auto") as asked:
        for ask in (
            lambda: asked.ask_all([COUNT, COUNT], epsilon=1),
            lambda: asked.ask_all([COUNT, COUNT], within=5),
            lambda: asked.clipping(COUNT, epsilon=1),
        ):
            with pytest.raises(Unsupported, match="contribution='auto' chooses a limit for one answer"):
                ask()
        assert len(asked.ask_all([COUNT, COUNT], epsilon=1, contribution=LIMIT)) == 2


@pytest.mark.parametrize(
    ("options", "question", "facts", "told"),
    [
        ({}, COUNT, {"most_rows": None}, "most_rows = 1000 in privet.toml"),
        ({"bound": "groups"}, COUNT, {}, "not for bound='groups'"),
        ({"within": 5}, COUNT, {}, "leave out within="),
        ({}, "SELECT g, COUNT(*) FROM t GROUP BY ROLLUP (g)", {}, "each level"),
        ({}, "SELECT VARIANCE(x) AS v FROM t", {}, "which 'v' is not"),
        ({}, "SELECT MEDIAN(x) AS v FROM t", {}, "which 'v' is not"),
        ({}, "SELECT COUNT(DISTINCT x) AS v FROM t", {}, "which 'v' is not"),
        ({}, "SELECT SUM(x) / COUNT(*) AS r FROM t", {}, "'r' is derived"),
        ({}, "SELECT name, COUNT(*) FROM t GROUP BY name", {}, "groups that are declared"),
        ({}, "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who)", {}, "within each person is clamped"),
        ({}, "SELECT AVG(s) FROM (SELECT who, SUM(x) AS s FROM t GROUP BY who)", {}, "within each person is clamped"),
    ],
)
def test_what_cannot_be_covered_is_refused_by_name_and_free(options: Any, question: str, facts: Any, told: str) -> None:
    budget = privet.Approximate(epsilon=10, delta=1e-6)
    with session(budget, **facts) as asked, pytest.raises(RequestError, match=told):
        asked.ask(question, covers="bounding", **({} if "within" in options else {"epsilon": 1}), **options)
    assert not asked.history()


def test_where_each_row_is_a_unit_neither_is_taken() -> None:
    with session(unit=Rows()) as asked:
        for options in ({"contribution": "auto"}, {"covers": "bounding"}):
            with pytest.raises(RequestError, match="each row"):
                asked.ask(COUNT, epsilon=1, **options)
    for facts in ({"contribution": "auto"}, {"most_rows": 5}):
        with pytest.raises(BadParameter, match="left out"):
            table(Rows(), **facts)


def test_a_plan_that_is_made_to_cover_what_it_cannot_is_refused_and_free() -> None:
    with session() as asked:
        for column in ("SUM(x) / COUNT(*) AS r", "VARIANCE(x) AS v"):
            plan = asked.plan(f"SELECT {column} FROM t", epsilon=1, contribution="auto")
            with pytest.raises(RequestError, match="covers='bounding' is for"):
                asked.run(replace(plan, covers="bounding"))
        assert not asked.history()


def test_an_answer_that_did_not_pay_is_refused_with_the_share_and_the_price() -> None:
    with session() as asked:
        plan = asked.plan(COUNT, epsilon=0.5)
        with pytest.raises(RequestError, match=r"takes 1/2 of the price, so epsilon 0\.25 of 0\.5"):
            asked.run(plan, covers="bounding")
        assert not asked.history()
        assert asked.run(plan, covers="noise").interval == asked.run(plan).interval


def test_the_sizes_that_chose_a_limit_also_pay_for_covering_bounding() -> None:
    with session() as asked:
        answer = asked.ask(COUNT, epsilon=1, contribution="auto")
        wide = asked.run(answer.plan, covers="bounding")
        assert (wide.value, wide.limits) == (answer.value, answer.limits)
        assert wide.interval[0] <= answer.interval[0]
        assert wide.interval[1] > answer.interval[1]
        assert len(asked.history()) == 1
    with session(privet.Zcdp(rho=10)) as asked:  # by groups, sizes under a norm of order 2 do not tell rows
        grouped = asked.plan("SELECT g, COUNT(*) AS n FROM t GROUP BY g", rho=1, contribution="auto")
        with pytest.raises(RequestError, match="did not pay"):
            asked.run(grouped, covers="bounding")
        both = asked.ask("SELECT g, COUNT(*) AS n FROM t GROUP BY g", rho=1, contribution="auto", covers="bounding")
        assert len(both.limits) == 1


def test_the_confidence_is_shared_by_noise_and_loss() -> None:
    # nothing is lost where a person has no more rows than count in full, and the noise alone has half of the tail
    with session(most_rows=1, contribution=privet.Contribution(groups=1, rows=50)) as asked:
        answer = asked.ask("SELECT AVG(x) AS m, COUNT(*) AS n FROM t", epsilon=50, covers="bounding")
        half = answer.plan.passes[1].measures
        count = next(one for one in half if one.sum.expression is None)
        low = answer["n"].values[0] - answer["n"].low[0]
        assert low == pytest.approx(count.error(0.975), abs=1.0)


@pytest.mark.parametrize(("limit", "lost"), [(4, 400), (5, 300), (6, 200), (7, 100)])
def test_what_a_limit_between_two_sizes_takes_away_is_what_it_takes_of_the_larger(limit: int, lost: int) -> None:
    """A hundred people have 5 to 8 rows, and nobody has more."""
    with session() as asked:
        plan = asked.plan(COUNT, epsilon=99, contribution="auto", covers="bounding")
    released = [((0, 0, 0, 100, 0, 0, 0), (limit,)), ((0,),)]
    (found,) = losses(plan, released, 1e-6).values()
    assert lost <= found <= lost + 75  # the noise may hide one person with 50 rows


def test_a_plan_shows_widths_at_several_limits_and_an_answer_its_own() -> None:
    with session() as asked:
        plan = asked.plan(COUNT, epsilon=1, contribution="auto")
        assert "at a limit of 1: ±3.8; at a limit of 10: ±38" in plan.to_dict()["columns"][0]["note"]
        assert "chosen privately first" in plan.explain()
        assert "about 1.25 people" in plan.explain()
        answer = asked.run(plan)
        (limit,) = answer.limits
        assert any(f"above {limit} row" in note and "chose privately" in note for note in answer.notes)
        assert answer.certificate()["contribution_limits"] == [limit]
        assert answer.plan.digest == plan.digest == answer.receipt.digest
        means = asked.ask("SELECT AVG(x) AS m FROM t", epsilon=1, contribution="auto")
        assert any(f"each who counts as at most {means.limits[0]:,} row" in note for note in means.notes)


def test_sql_and_the_builder_say_the_same_as_keywords() -> None:
    with session() as asked:
        plan = asked.plan(COUNT, epsilon=1, contribution="auto", covers="bounding")
        options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, contribution = 'auto', covers = 'bounding')"
        built = asked.table("t").agg(n=privet.count()).contribution("auto").covers("bounding")
        for question, said in ((f"{options} COUNT(*) AS n FROM t", {}), (built, {"epsilon": 1})):
            same = asked.plan(question, **said)
            assert (same.digest, same.covers) == (plan.digest, "bounding")
        for said in ({"contribution": LIMIT}, {"covers": "bounding"}):
            with pytest.raises(RequestError, match="itself; leave out"):
                asked.plan(built, epsilon=1, **said)
        for wrong in ("contribution = 'best'", "contribution = auto", "covers = 'all'", "covers = 3"):
            with pytest.raises(privet.PrivetError):
                asked.plan(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({wrong}) COUNT(*) FROM t")
        for call in (lambda: built.contribution("best"), lambda: built.covers("all")):
            with pytest.raises(BadParameter):
                call()


def test_a_table_may_declare_that_answers_choose_their_limits() -> None:
    assert table(contribution="auto").schema.contribution is AUTO
    with pytest.raises(BadParameter, match="or 'auto'"):
        table(contribution="best")
    with session(contribution="auto") as asked:
        assert (
            len(asked.ask("SELECT g, COUNT(*) AS n, COUNT(DISTINCT who) AS p FROM t GROUP BY g", epsilon=1).limits) == 2
        )
        assert asked.ask("SELECT MEDIAN(x) AS m FROM t", epsilon=1, contribution=LIMIT).limits == ()


def test_a_table_whose_answers_choose_their_limits_is_not_described_by_another() -> None:
    with session(contribution="auto") as asked:
        assert asked.describe("t").contribution == "Each counts in full up to a limit that each answer chooses."
    with session() as asked:
        assert asked.describe("t").contribution == "Each counts in full up to 2 rows in each of 2 groups."


def test_a_scan_that_would_not_fit_at_the_largest_limit_is_refused_before_the_charge() -> None:
    seen: list[int] = []

    class Watched(DuckDB):
        def check(self, scan: Any) -> None:
            seen.append(getattr(scan.bounding, "limit", 0))
            super().check(scan)

    tables = {"t": table()}
    with Session(tables, budget=privet.Pure(epsilon=10), engine=Watched(tables)) as asked:
        asked.ask(COUNT, epsilon=1, contribution="auto")
    assert {1, 50} <= set(seen)


def test_what_is_summed_is_bounded_by_the_limit_that_was_chosen() -> None:
    # hardly any noise: the count is that of rows up to the limit, and at a limit of 1 it would be that of people
    with session(privet.Pure(epsilon=10**7)) as asked:
        answer = asked.ask(COUNT, epsilon=10**6, contribution="auto")
        (limit,) = answer.limits
        assert 30 < limit <= 50  # a limit above what a person has would add noise and nothing else
        assert answer.value == pytest.approx(sum(min(one, limit) for one in SIZES), abs=2)


def test_a_custodian_is_proposed_a_limit_for_a_stated_cost_once() -> None:
    with session() as asked:
        found = propose_contribution(asked._executor, "t", epsilon=1)
        assert 1 <= found.contribution.rows <= 50
        assert found.people == 1.25
        assert found.cost["epsilon"] == pytest.approx(1)
        assert propose_contribution(asked._executor, "t", epsilon=1) == found
        assert len(asked.history()) == 1
        with pytest.raises(RequestError, match="table"):
            propose_contribution(asked._executor, "u", epsilon=1)


TOML = """
[budget]
epsilon = 10
[ledger]
path = "ledger.sqlite"
[tables.t]
source = "t.parquet"
unit = "who"
contribution = "auto"
most_rows = 50
[tables.t.columns]
who = "integer"
"""


def test_a_file_and_a_shell_take_both(tmp_path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"who": [0, 1, 1] * 40}), tmp_path / "t.parquet")
    (tmp_path / "privet.toml").write_text(TOML)
    run = CliRunner().invoke
    config = ["--config", str(tmp_path / "privet.toml"), "--json"]
    made = run(main, ["ask", COUNT, "--epsilon", "1", "--covers", "bounding", *config])
    assert made.exit_code == 0, made.output
    found = json.loads(made.output)
    assert len(found["certificate"]["contribution_limits"]) == 1
    assert "up to 50 rows" in found["notes"][0]
    made = run(main, ["plan", COUNT, "--epsilon", "1", "--contribution", "auto", *config])
    assert made.exit_code == 0, made.output
    made = run(main, ["ask", COUNT, "--epsilon", "1", "--contribution", "best", *config])
    assert made.exit_code == 2
    for wrong, told in (('contribution = "auto"', 'contribution = "best"'), ("most_rows = 50", "most_rows = 0")):
        (tmp_path / "privet.toml").write_text(TOML.replace(wrong, told))
        assert run(main, ["plan", COUNT, *config]).exit_code == 2
