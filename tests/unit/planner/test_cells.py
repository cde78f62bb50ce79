"""Counting questions that are sums of the cells of one release: their noise, their intervals, and what they count."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import InvariantError
from privet.core.schema import Contribution, Table, boolean, category, integer, number
from privet.core.unit import Person, Rows, Unit
from privet.planner.arrange import variance_of
from privet.planner.batch import Batch
from privet.planner.from_strategy import FromStrategy
from privet.release import Released
from privet.results.read import read_strategy
from privet.session import Session

COLUMNS = {
    "who": integer(0, 299),
    "age": integer(0, 99, nullable=True),
    "cost": number(0, 1000),
    "ward": category(["a", "b", "c", "d"]),
    "sex": category(["f", "m"], nullable=True),
}
AGES = [(0, 17), (18, 64), (65, 99), (18, 30), (30, 50), (50, 64), (10, 20), (20, 40), (40, 80), (25, 75)]
RANGES = [f"SELECT COUNT(*) AS n FROM t WHERE age BETWEEN {low} AND {high}" for low, high in AGES]
RANGES += [f"SELECT COUNT(*) AS n FROM t WHERE age < {age}" for age in (18, 30, 65)]
COSTS = [f"SELECT COUNT(*) AS n FROM t WHERE cost >= {cost}" for cost in (100, 200, 300, 500, 900)]
COSTS += [
    f"SELECT COUNT(*) AS n FROM t WHERE cost > {low} AND cost <= {high}"
    for low, high in ((0, 100), (100, 300), (50, 500), (250.5, 800), (300, 301), (500, 999.5), (10, 990))
]
GROUPS = [
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward",
    "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
    "SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY ward, sex",
]
MIXED = [
    *RANGES,
    *COSTS,
    *GROUPS,
    "SELECT AVG(cost) AS mean FROM t",
    "SELECT COUNT(*) AS n FROM t JOIN u ON t.who = u.who WHERE u.old",
]
COUNTING = range(len(MIXED) - 2)
PURE, RHO, BOTH = Pure(epsilon=10**6), Zcdp(rho=10**6), Approximate(epsilon=10**6, delta=1e-6)


def rows(many: int = 2000) -> pa.Table:
    draw = random.Random(3)
    data = {
        "who": [draw.randrange(300) for _ in range(many)],
        "age": [draw.choice([None, *range(100)]) for _ in range(many)],
        "cost": [draw.choice([0.0, 100.0, 250.5, draw.random() * 1000]) for _ in range(many)],
        "ward": [draw.choice(["a", "b", "c", "d", "elsewhere"]) for _ in range(many)],
        "sex": [draw.choice(["f", "m", None]) for _ in range(many)],
    }
    return pa.table(data)


def opened(budget: Budget = PURE, unit: Unit | None = None, **options: Any) -> Session:
    table = Table(rows(), unit=unit or Rows(), columns=COLUMNS, **options)
    if unit is None:
        return Session({"t": table}, budget=budget)
    people = pa.table({"who": list(range(300)), "old": [place % 3 == 0 for place in range(300)]})
    held = {"who": integer(0, 299), "old": boolean()}
    other = Table(people, unit=unit, columns=held, contribution=Contribution(groups=1, rows=1), key="who")
    return Session({"t": table, "u": other}, budget=budget)


@pytest.fixture(params=["pure", "rho", "approximate"])
def priced(request: pytest.FixtureRequest) -> Iterator[tuple[Session, dict[str, float]]]:
    budget, price = {"pure": (PURE, {"epsilon": 1}), "rho": (RHO, {"rho": 0.1}), "approximate": (BOTH, {"epsilon": 1})}[
        request.param
    ]
    with opened(budget, Person("who"), contribution=Contribution(groups=2, rows=2)) as session:
        yield session, price


def variances(batch: Batch) -> list[float]:
    """Return the mean variance of the numbers of each question, relative to one row."""
    terms = {
        place: one for gain in batch.gains for place, one in zip(gain.release.places, gain.release.terms, strict=True)
    }
    found = []
    for place, plan in enumerate(batch.plans):
        if isinstance(plan, FromStrategy):
            found.append(float(plan.noise.covariance.of_rows(plan.matrix).mean()))
        else:
            found.append(terms.get(place, 1.0) * variance_of(plan))
    return found


def test_the_counting_part_of_thirty_questions_has_half_of_the_variance(priced: Any) -> None:
    session, price = priced
    assert len(MIXED) == 30
    batch = session.plan_all(MIXED, **price)
    together, alone = variances(batch), variances(batch.before)
    assert sum(together[place] for place in COUNTING) <= sum(alone[place] for place in COUNTING) / 2
    assert sum(together) <= sum(alone)
    for cost in (batch.cost(), batch.before.cost()):
        assert all(cost[name] <= amount for name, amount in price.items())
    assert {place for gain in batch.gains for place in gain.release.places} >= set(range(len(RANGES) + len(COSTS)))
    answers = session.run_all(batch)
    assert len(session.history()) == 1
    assert all(answer.receipt == answers[0].receipt for answer in answers)
    for answer in answers:
        for series in answer.series:
            for value, low, high in zip(series.values, series.low or (), series.high or (), strict=False):
                assert low <= max(value, 0) <= high
        assert answer.notes
        assert answer.certificate()["digest"] == batch.digest
    assert session.run_all(batch)[0].to_dict() == answers[0].to_dict()
    assert len(session.history()) == 1


def test_what_is_counted_is_what_each_question_asks_for() -> None:
    """Undeclared values, NULLs and ends of ranges are counted where SQL counts them; noise is below a tenth."""
    connection = duckdb.connect(":memory:")
    connection.register("t", rows())
    asked = [*RANGES, *COSTS, *GROUPS, "SELECT COUNT(*) AS n FROM t WHERE age IS NULL", "SELECT COUNT(*) AS n FROM t"]
    asked += [
        "SELECT COUNT(*) AS n FROM t WHERE NOT (age < 18 OR age > 64)",
        "SELECT COUNT(*) AS n FROM t WHERE age <> 50",
    ]
    asked += ["SELECT sex, COUNT(*) AS n FROM t WHERE age < 30 GROUP BY sex HAVING COUNT(*) > 5 ORDER BY sex DESC"]
    declared = {"a", "b", "c", "d"}
    with opened(RHO) as session:
        batch = session.plan_all(asked, rho=10**5)
        assert len(batch.gains) >= 3
        for answer, sql in zip(session.run_all(batch), asked, strict=True):
            truth = [row for row in connection.execute(sql).fetchall() if "ward" not in sql or row[0] in declared]
            found = list(zip(*(series.values for series in answer.series), strict=True))
            key = lambda row: tuple((one is None, one or "") for one in row[:-1])  # noqa: E731
            for one, other in zip(sorted(found, key=key), sorted(truth, key=key), strict=True):
                assert one[:-1] == other[:-1], sql
                assert abs(one[-1] - other[-1]) < 0.5, (sql, one, other)


def some_strategy(session: Session) -> Batch:
    batch = session.plan_all([*RANGES, *GROUPS], rho=0.1)
    assert isinstance(batch.plans[0], FromStrategy)
    return batch


def test_the_error_of_each_answer_is_that_of_its_own_covariance() -> None:
    with opened(RHO) as session:
        batch = some_strategy(session)
        for plan, answer in zip(batch.plans, session.run_all(batch), strict=True):
            if isinstance(plan, FromStrategy):
                expected = np.sqrt(plan.noise.covariance.of_rows(plan.matrix))
                assert list(answer.series[-1].error) == pytest.approx(expected.tolist(), rel=1e-6)


def test_differences_of_one_answer_use_the_covariance() -> None:
    """Two groups that were reconstructed from the same measurements are correlated."""
    counted = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
    between = f"SELECT ward, n - LAG(n) OVER (ORDER BY ward) AS more FROM ({counted}) ORDER BY ward"
    with opened(RHO) as session:
        batch = session.plan_all([between, *GROUPS], rho=0.1)
        plan = batch.plans[0]
        assert isinstance(plan, FromStrategy)
        (answer, *_) = session.run_all(batch)
        matrix = plan.matrix
        expected = [
            math.sqrt(plan.noise.covariance.of_rows((matrix[place] - matrix[place - 1])[None, :])[0])
            for place in (1, 2, 3)
        ]
        apart = [math.sqrt(2 * plan.noise.covariance.of_rows(matrix[:1])[0])] * 3
        assert list(answer["more"].error[1:]) == pytest.approx(expected, rel=1e-6)
        assert answer["more"].error[1] != pytest.approx(apart[0], rel=1e-3)


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["laplace", "gaussian"])
def test_intervals_of_reconstructed_counts_cover_the_noise(budget: Budget) -> None:
    """Of 400 independent draws or more, fewer than 89% are covered once in 10^7, were all intervals of a draw one."""
    price = {"epsilon": 0.5} if budget is PURE else {"rho": 0.05}
    neighbors: Any = {"neighbors": "change-one"} if budget is PURE else {}
    with opened(budget, **neighbors) as session:
        asked = RANGES[:2] if budget is PURE else RANGES[:8]
        batch = session.plan_all(asked, **price)
        (first, *_) = session.run_all(batch)
        plans = [plan for plan in batch.plans if isinstance(plan, FromStrategy)]
        assert plans
        held = total = 0
        draw = random.Random(8)
        counts = [draw.randrange(400, 900) for _ in range(plans[0].noise.strategy.cells)]
        chosen = plans[:4] if len(plans) > 3 else plans
        while total < 1600:
            released = Released(((),), ((tuple(plans[0].noise.draw_integers(counts)),),))
            for plan in chosen:
                answer = read_strategy(released, plan, first.receipt, confidence=0.95)
                truth = float(plan.matrix[0] @ np.array(counts))
                held += answer.series[0].low[0] <= truth <= answer.series[0].high[0]
                total += 1
        assert held / total > 0.89
        assert held < total


def test_a_question_outside_of_what_is_measured_is_refused_before_the_charge() -> None:
    with opened(RHO) as session:
        batch = some_strategy(session)
        plan = batch.plans[0]
        assert isinstance(plan, FromStrategy)
        plan.verify()
        other = next(one for one in batch.plans if isinstance(one, FromStrategy) and one.plans != plan.plans)
        for wrong in (replace(plan, matrix=None), replace(plan, plans=other.plans), replace(plan, counted=None)):
            with pytest.raises(InvariantError):
                session.run_all(replace(batch, plans=(wrong, *batch.plans[1:])))
        assert not session.history()


def test_strategies_are_the_same_in_any_order_and_no_other_questions() -> None:
    with opened(RHO) as session:
        batch = some_strategy(session)
        shuffled = [*GROUPS, *RANGES[::-1]]
        assert session.plan_all(shuffled, rho=0.1).digest == batch.digest
        singles = {session.plan(sql, rho=0.1).digest for sql in (*RANGES, *GROUPS)}
        singles |= {session.plan_all([sql], rho=0.1).digest for sql in (*RANGES, *GROUPS)}
        singles |= {plan.digest for plan in batch.before.releases} | {batch.before.digest}
        assert not {batch.digest, *(plan.digest for plan in batch.releases)} & singles


def test_the_plan_names_the_strategy_and_what_it_gains() -> None:
    with opened(RHO) as session:
        batch = some_strategy(session)
        words = batch.explain()
        assert 'count cells of "age"' in words
        assert "times smaller than one by one" in words
        told = batch.facts()["shared"]
        assert [one["strategy"] for one in told] == [gain.strategy for gain in batch.gains]
        assert all(one["variance_ratio"] > 1 for one in told)
        answers: Sequence[Any] = session.run_all(batch)
        assert "need not be whole" in " ".join(answers[0].notes)


CUBE = "SELECT ward, sex, COUNT(*) AS n, GROUPING(ward) AS g FROM t GROUP BY CUBE (ward, sex)"
ROLLUP = "SELECT sex, ward, COUNT(*) AS n FROM t WHERE age < 50 GROUP BY ROLLUP (sex, ward) ORDER BY ward DESC, sex"
SETS = "SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((ward), (sex)) HAVING COUNT(*) > 100"


@pytest.mark.parametrize("asked", [[CUBE], [CUBE, *GROUPS[:2]], [SETS, CUBE], [ROLLUP, CUBE], [SETS, ROLLUP]])
def test_several_groupings_are_counted_as_by_themselves(asked: list[str]) -> None:
    """The same rows in the same order as each question by itself, whose noise is as small."""
    with opened(RHO) as session:
        batch = session.plan_all(asked, rho=10**5)
        assert any(gain.release.grouped_several_times for gain in batch.gains)
        for one, other in zip(session.run_all(batch), session.run_all(batch.before), strict=True):
            assert [series.name for series in one.series] == [series.name for series in other.series]
            for series, alone in zip(one.series, other.series, strict=True):
                if series.error is None:
                    assert series.values == alone.values
                else:
                    assert series.values == pytest.approx(list(alone.values), abs=0.5)
        assert len(session.history()) == 2


def test_one_group_of_several_is_read_from_shared_cells() -> None:
    """What was charged can be read, also where a question leaves one value of a key alone."""
    asked = ["SELECT sex, COUNT(*) AS n FROM t WHERE sex <> 'f' GROUP BY sex", GROUPS[1], "SELECT COUNT(*) AS n FROM t"]
    limit = Contribution(groups=1, rows=10)
    with opened(PURE, Person("who"), contribution=limit) as session:
        batch = session.plan_all(asked, epsilon=400)
        assert batch.gains
        one, several, _ = session.run_all(batch)
        assert one["sex"].values == ("m",)
        counts = dict(zip(several["sex"].values, several["n"].values, strict=True))
        assert one["n"].values[0] == pytest.approx(counts["m"])


@pytest.mark.parametrize("epsilon", [10**3, 10**6])
def test_several_groupings_with_hardly_any_noise_are_planned(epsilon: int) -> None:
    with opened() as session:
        assert len(session.plan_all([CUBE], epsilon=epsilon).plans) == 1


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_groupings_whose_cells_are_best_left_nearly_unmeasured_are_planned(neighbors: Any) -> None:
    """Weights of the cells that fall without end would make a matrix that has no inverse in doubles."""
    columns = {"i": integer(0, 9, nullable=True), "j": integer(0, 5)}
    table = Table(pa.table({"i": [1], "j": [2]}), unit=Rows(), columns=columns, neighbors=neighbors)
    asked = [
        "SELECT COUNT(*) AS n FROM t WHERE j < 2 OR j > 5",
        "SELECT i AS k, i > 3 AS h, COUNT(*) AS n FROM t WHERE j < 2 OR j > 2.5 GROUP BY GROUPING SETS ((k, h), ())",
        "SELECT COUNT(*) AS n FROM t WHERE j = 2",
    ]
    with Session({"t": table}, budget=PURE) as session:
        (gain,) = session.plan_all(asked, epsilon=1).gains
        assert gain.ratio > 1.7


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["laplace", "gaussian"])
def test_several_groupings_have_less_noise_than_one_by_one(budget: Budget) -> None:
    """The ratio is that of the variances as they are once levels agree; the cost is the same."""
    price = {"epsilon": 0.05} if budget is PURE else {"rho": 0.1}
    with opened(budget) as session:
        batch = session.plan_all([CUBE, *GROUPS], **price)
        (gain,) = batch.gains
        assert gain.release.places == (0, 1, 2, 3)
        assert gain.strategy is not None
        assert "Questions 1 to 4 count cells" in batch.explain()
        assert all(batch.cost()[name] <= amount for name, amount in price.items())
        together, alone = session.run_all(batch), session.run_all(batch.before)
    levels = [
        2 * (row[0] is None) + (row[1] is None) for row in zip(*(one.values for one in together[0].series), strict=True)
    ]
    total = []
    for answers in (together, alone):
        squares = [np.array(answer["n"].error) ** 2 for answer in answers]
        cube = [squares[0][level == np.array(levels)].mean() for level in (0, 3)]
        total.append(sum(float(one.mean()) for one in squares[1:]) + sum(cube))
    assert gain.ratio > (2 if budget is PURE else 1.1)
    assert total[0] < total[1]
    plan = batch.plans[0]
    assert isinstance(plan, FromStrategy)
    expected = np.sqrt(plan.noise.covariance.of_rows(plan.matrix)).tolist()
    assert list(together[0]["n"].error) == pytest.approx(expected, rel=1e-2 if budget is PURE else 1e-6)


def test_the_gain_of_a_cube_is_that_of_its_errors() -> None:
    """Each grouping counts by the mean of its variances, once all of them agree."""
    asked = "SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward, sex)"
    with opened(PURE) as session:
        batch = session.plan_all([asked], epsilon=0.01)
        (gain,) = batch.gains
        (found,), (alone,) = session.run_all(batch), session.run_all(batch.before)
    several = [0] * 12 + [1] * 4 + [2]
    totals = []
    for answer in (found, alone):
        squares = np.array(answer["n"].error) ** 2
        totals.append(sum(squares[np.array(several) == level].mean() for level in set(several)))
    assert totals[1] / totals[0] == pytest.approx(gain.ratio, rel=1e-3)


def test_one_cube_is_a_workload_and_asked_by_itself_it_is_as_before() -> None:
    with opened(PURE) as session:
        batch = session.plan_all([CUBE], epsilon=1)
        (gain,) = batch.gains
        assert gain.words().startswith("The groupings of question 1 count cells")
        assert session.plan(CUBE, epsilon=1).digest == batch.before.digest != batch.digest
        session.ask(CUBE, epsilon=1)
        session.ask_all([CUBE], epsilon=1)  # what was released before is still free
        assert len(session.history()) == 1


def test_a_total_that_is_public_stays_exact() -> None:
    """Where the number of rows is declared, a total is that number, and no cells are summed for it."""
    with opened(PURE, neighbors="change-one", rows=2000, units=2000) as session:
        batch = session.plan_all([CUBE, *GROUPS], epsilon=1)
        assert not any(gain.release.grouped_several_times for gain in batch.gains)


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["laplace", "gaussian"])
def test_widths_of_sums_of_cells_are_those_of_the_answers(budget: Budget) -> None:
    """Counts are far above 0, so that no interval is cut off."""
    price = {"epsilon": 1} if budget is PURE else {"rho": 0.1}
    scaled = "SELECT ward, sex, 2 * COUNT(*) + 1 AS n FROM t GROUP BY CUBE (ward, sex)"
    with opened(budget) as session:
        batch = session.plan_all([*RANGES, *GROUPS, scaled], **price)
        assert len({type(plan) for plan in batch.plans}) == (2 if budget is PURE else 1)
        for plan, answer in zip(batch.plans, session.run_all(batch), strict=True):
            told = [one for one in plan.to_dict()["columns"] if one["column"] == "n"]
            series = answer.series[-1]
            ends = zip(series.values, series.low, series.high, strict=True)
            widest = max(max(value - low, high - value) for value, low, high in ends)
            assert max(one["half_width"] for one in told) == pytest.approx(widest, rel=2e-3)


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["laplace", "gaussian"])
def test_widths_of_a_list_are_reached_by_questions_that_share_a_release(budget: Budget) -> None:
    asked, limits = [*RANGES[:5], *GROUPS[:2]], [50, 50, 40, 60, 50, None, 30]
    with opened(budget) as session:
        batch = session.plan_all(asked, within=limits)
        assert batch.gains
        name = "epsilon" if budget is PURE else "rho"
        assert batch.cost()[name] < 0.9 * batch.before.cost()[name]
        assert all(gain.of == "price" and gain.ratio > 1 for gain in batch.gains)
        assert "the price of the whole list is" in batch.explain()
        assert "price_ratio" in batch.facts()["shared"][0]
        cells = {place for gain in batch.gains if gain.release.how == "cells" for place in gain.release.places}
        assert cells or budget is RHO
        for answer, limit in zip(session.run_all(batch), limits, strict=True):
            series = answer.series[-1]
            ends = zip(series.values, series.low, series.high, strict=True)
            widest = max(max(value - low, high - value) for value, low, high in ends if value > 100)
            assert limit is None or 0.2 * limit < widest <= limit * (1 + 1e-9)
        session.run_all(batch)
        assert len(session.history()) == 1
        assert session.plan_all(asked[::-1], within=limits[::-1]).digest == batch.digest


def test_questions_over_too_many_cells_are_asked_one_by_one() -> None:
    asked = [
        "SELECT age, ward, sex, COUNT(*) FROM t GROUP BY age, ward, sex",
        "SELECT age, COUNT(*) FROM t GROUP BY age",
    ]
    with opened(RHO) as session:
        assert not session.plan_all(asked, rho=0.1).gains


OUTSIDE = {
    "d": category(["a", "b", "c"]),
    "n": integer(0, 49),
    "b": boolean(),
}
NOT_NAMED = [
    ["SELECT COUNT(*) AS n FROM t", "SELECT b, COUNT(*) AS n FROM t GROUP BY b"],
    ["SELECT COUNT(*) AS n FROM t", "SELECT d, b, COUNT(*) AS n FROM t GROUP BY CUBE(d, b)"],
    ["SELECT COUNT(*) AS n FROM t WHERE d <> 'a'", "SELECT d, b, COUNT(*) AS n FROM t GROUP BY CUBE(d, b)"],
    ["SELECT d, COUNT(*) AS n FROM t GROUP BY d", "SELECT d, b, COUNT(*) AS n FROM t GROUP BY CUBE(d, b)"],
    [
        "SELECT COUNT(*) AS n FROM t",
        *(f"SELECT COUNT(*) AS n FROM t WHERE n {than} {end}" for end in (10, 20, 30, 40) for than in ("<", ">=")),
    ],
    [
        "SELECT COUNT(*) AS n FROM t WHERE n IS NULL OR n < 5",
        *(f"SELECT COUNT(*) AS n FROM t WHERE n BETWEEN {low} AND 45" for low in (3, 10, 20, 30, 40)),
    ],
]


@pytest.mark.parametrize("asked", NOT_NAMED)
def test_rows_without_a_declared_value_count_where_their_column_is_not_named(asked: list[str]) -> None:
    """A fifth to an eleventh of the rows is NULL against its declaration: at least 900 of 10,000, and the noise of a
    sum of these cells, of scale 5 at most, is as large as 450 less often than once in 10^30.
    """
    many = 10_000
    data = {
        "d": [None if place % 7 == 0 else ("a", "b", "c", "zzz")[place % 4] for place in range(many)],
        "n": [None if place % 5 == 0 else place % 60 for place in range(many)],
        "b": [None if place % 11 == 0 else place % 2 == 0 for place in range(many)],
    }
    session = Session({"t": Table(pa.table(data), unit=Rows(), columns=OUTSIDE)}, budget=PURE)
    assert "read from one release" in session.plan_all(asked, epsilon=4).explain()
    plain = duckdb.connect()
    plain.register("t", pa.table(data))
    for question, answer in zip(asked, session.ask_all(asked, epsilon=4), strict=True):
        if "CUBE" in question:
            continue  # its totals are of the groups that it shows, and its plan says so
        exact = plain.execute(f"SELECT * FROM ({question}) ORDER BY ALL").fetchall()
        known = [row for row in exact if len(row) == 1 or row[0] in (False, True, "a", "b", "c")]
        assert list(answer["n"].values) == pytest.approx([row[-1] for row in known], abs=450)
