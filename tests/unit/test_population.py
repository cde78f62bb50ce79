"""Answers give intervals that cover a population, or refuse by name; every such interval names its estimand."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.aggregates import AGGREGATES, Aggregate
from privet.answer import Answer
from privet.core.estimate import Estimate
from privet.core.scan import Norm, Once, Truncate
from privet.session import Session

SENTENCE = "each person counting at most 4 rows"

COLUMNS = {
    "person": privet.integer(),
    "x": privet.number(0, 100),
    "y": privet.number(-50, 50),
    "g": privet.category(["a", "b"]),
}

QUESTIONS = {
    "sum": "SUM(x)",
    "avg": "AVG(x)",
    "var_pop": "VAR_POP(x)",
    "var_samp": "VAR(x)",
    "stddev_pop": "STDDEV_POP(x)",
    "stddev_samp": "STDDEV(x)",
    "covar_pop": "COVAR_POP(x, y)",
    "covar_samp": "COVAR_SAMP(x, y)",
    "corr": "CORR(x, y)",
    "regr_slope": "REGR_SLOPE(x, y)",
    "regr_intercept": "REGR_INTERCEPT(x, y)",
    "regr_r2": "REGR_R2(x, y)",
    "count_rows": "COUNT(*)",
    "count_units": "COUNT(DISTINCT person)",
    "count": "COUNT(x)",
    "count_distinct": "COUNT(DISTINCT x)",
    "sum_distinct": "SUM(DISTINCT x)",
    "quantile": "MEDIAN(x)",
}
"""A question for each aggregate that SQL calls by itself and that has an interval."""

WITHOUT = {"mode", "bounds"}
"""Those that are chosen, which have no interval of any kind."""

WITHIN = {"count_each": "SELECT SUM(n) AS v FROM (SELECT person, COUNT(*) AS n FROM t GROUP BY person)"}


def table(unit: object, **options: object) -> privet.Table:
    rng = np.random.default_rng(1)
    rows = pa.table(
        {
            "person": np.repeat(np.arange(500), 4),
            "x": rng.beta(2, 5, 2000) * 100,
            "y": rng.normal(0, 10, 2000),
            "g": rng.choice(["a", "b"], 2000),
        }
    )
    return privet.Table(rows, unit=unit, columns=COLUMNS, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def people() -> Iterator[Session]:
    limit = privet.Contribution(groups=2, rows=2)
    with privet.Session(
        {"t": table(privet.Person("person"), contribution=limit)}, budget=privet.Approximate(epsilon=900, delta=1e-6)
    ) as session:
        yield session


@pytest.fixture(scope="module")
def rows() -> Iterator[Session]:
    with privet.Session({"t": table(privet.Rows())}, budget=privet.Pure(epsilon=900)) as session:
        yield session


def test_every_aggregate_declares_its_sampling_error_or_why_it_has_none() -> None:
    for name, entry in AGGREGATES.items():
        declared = [one for one in entry.aggregate.__mro__ if "unsampled" in vars(one) and one is not Aggregate]
        assert declared, f"{name} must declare `unsampled`: None with an `equation`, or the reason"
        if entry.aggregate.unsampled is None:
            assert entry.aggregate.equation is not Aggregate.equation, name
            assert entry.aggregate.estimand != Aggregate.estimand, name
    assert QUESTIONS.keys() | WITHOUT | WITHIN.keys() == AGGREGATES.keys()


@pytest.mark.parametrize("name", [*QUESTIONS, *WITHIN])
def test_every_aggregate_covers_a_population_or_says_why_not(people: Session, name: str) -> None:
    answer = people.ask(WITHIN.get(name) or f"SELECT {QUESTIONS[name]} AS v FROM t", epsilon=5)
    reason = AGGREGATES[name].aggregate.unsampled
    if reason is not None:
        with pytest.raises(privet.RequestError) as refused:
            answer.interval(covers="population")
        assert "'v'" in str(refused.value)
        assert reason in str(refused.value)
        return
    found = answer.interval(covers="population")
    assert found.low < answer.value < found.high
    assert found.low <= answer.interval[0]
    assert answer.interval[1] <= found.high
    assert "sampling from a population" in found.covers
    assert "each person counting" in found.covers


@pytest.mark.parametrize(
    ("asked", "noun"),
    [
        ("AVG(x)", "weighted mean"),
        ("2 * AVG(x) + 1", "weighted mean"),
        ("COUNT(*) FILTER (WHERE x > 30) / COUNT(*)", "weighted share"),
        ("100.0 * COUNT(*) FILTER (WHERE x > 30) / NULLIF(COUNT(*), 0)", "weighted share"),
        ("SUM(x) / COUNT(*)", "weighted ratio"),
        ("SUM(x) / SUM(100 - x)", "weighted ratio"),
        ("AVG(x) - AVG(y)", "weighted difference"),
        ("STDDEV(x)", "weighted standard deviation"),
    ],
)
def test_the_estimand_is_named(people: Session, asked: str, noun: str) -> None:
    answer = people.ask(f"SELECT {asked} AS v FROM t", epsilon=5)
    found = answer.interval(covers="population")
    assert f"of the {noun}, {SENTENCE}" in found.covers
    assert found.low < answer.value < found.high


def test_rows_that_are_units_count_in_full(rows: Session) -> None:
    found = rows.ask("SELECT AVG(x) FROM t", epsilon=5).interval(covers="population")
    assert found.covers.endswith("of the mean, rows being drawn independently")


@pytest.mark.parametrize(("asked", "told"), [("SUM(y)", "COUNT"), ("MAX(x)", "QUANTILE"), ("SQRT(SUM(x))", "made of")])
def test_refusals_say_what_to_ask(people: Session, asked: str, told: str) -> None:
    answer = people.ask(f"SELECT {asked} AS v FROM t", epsilon=5)
    with pytest.raises(privet.RequestError, match=told):
        answer.interval(covers="population")


def test_a_count_beside_a_sum_of_both_signs_is_enough(people: Session) -> None:
    answer = people.ask("SELECT SUM(y) AS v, COUNT(y) AS n FROM t", epsilon=5)
    (found,) = answer.estimates("v", covers="population")
    assert found.low < answer["v"].values[0] < found.high


def test_released_squares_make_means_narrower(people: Session) -> None:
    plain = people.ask("SELECT AVG(x) AS v FROM t", epsilon=50).interval(covers="population")
    answer = people.ask("SELECT AVG(x) AS v, VAR(x) AS s FROM t", epsilon=50)
    (narrow,) = answer.estimates("v", covers="population")
    # values with a mean of 28.6 and a variance of 255 within [0, 100], which alone bound the variance by 2,041
    assert narrow.high - narrow.low < 0.5 * (plain.high - plain.low)


def test_quantiles_are_drawn_for_a_population_when_asked_so(people: Session) -> None:
    found = people.ask("SELECT MEDIAN(x) AS v FROM t", epsilon=5, covers="population").interval(covers="population")
    assert found.covers.endswith(f"of the weighted quantile, {SENTENCE}")


def test_each_group_has_its_own_interval_in_the_order_that_is_shown(people: Session) -> None:
    answer = people.ask("SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC", epsilon=5)
    found = answer.estimates("n", covers="population")
    assert [one.value for one in found] == list(map(float, answer["n"].values))
    assert all(one.low < one.value < one.high for one in found)


def test_rows_that_were_summed_afterwards_are_refused(people: Session) -> None:
    answer = people.ask("SELECT SUM(n) AS v FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)", epsilon=5)
    with pytest.raises(privet.RequestError, match="by themselves"):
        answer.interval(covers="population")


def test_windows_of_time_are_refused() -> None:
    moments = pa.table({"person": [1, 2, 3], "day": pa.array([1, 2, 3], pa.date32()), "x": [1.0, 2.0, 3.0]})
    columns = {"person": privet.integer(), "day": privet.date(), "x": privet.number(0, 10)}
    once = privet.Contribution(groups=1, rows=1)
    own = privet.Table(moments, unit=privet.Window("person", "day", 7), columns=columns, contribution=once)
    with privet.Session({"t": own}, budget=privet.Pure(epsilon=10)) as session:
        answer = session.ask("SELECT AVG(x) FROM t", epsilon=1)
        with pytest.raises(privet.RequestError, match="independent"):
            answer.interval(covers="population")


def test_an_interval_is_still_a_pair(rows: Session) -> None:
    answer = rows.ask("SELECT AVG(x) AS v FROM t", epsilon=5)
    low, high = answer.interval
    assert isinstance(answer.interval, tuple)
    assert answer.interval == (low, high) == (answer["v"].low[0], answer["v"].high[0])  # type: ignore[index]
    assert repr(answer.interval) == repr((low, high))
    assert json.loads(json.dumps(answer.interval)) == [low, high]
    assert pickle.loads(pickle.dumps(answer.interval)) == copy.deepcopy(answer.interval) == (low, high)
    same = answer.interval(covers="noise")
    assert isinstance(same, Estimate)
    assert (same.low, same.high) == (low, high)
    assert same == answer.estimate == answer.estimates("v")[0]


@pytest.mark.parametrize("covers", ["bounding", "people", None, 1])
def test_what_an_interval_covers_is_one_of_two(rows: Session, covers: object) -> None:
    answer = rows.ask("SELECT AVG(x) AS v FROM t", epsilon=5)
    with pytest.raises(privet.RequestError):
        answer.interval(covers=covers)  # type: ignore[arg-type]


def test_what_one_person_weighs_in_some_groups() -> None:
    from privet.results.comparisons import weight_in

    people = privet.Person("person")
    plan = privet.Session(
        {"t": table(people, contribution=privet.Contribution(groups=3, rows=2))}, budget=privet.Zcdp(rho=1)
    ).plan("SELECT g, COUNT(*) FROM t GROUP BY g", rho=0.1)
    scan = plan.passes[0].scan
    from dataclasses import replace

    def most(bounding: object, cells: int, *, distinct: bool = False) -> float:
        return weight_in(replace(scan, bounding=bounding, distinct=distinct), cells)  # type: ignore[arg-type]

    assert most(Norm(1, 6, 20), 1) == most(Norm(1, 6, 20), 2) == 6
    assert most(Norm(2, 12, 20), 1) == pytest.approx(12**0.5)
    assert most(Norm(2, 12, 20), 2) == pytest.approx(24**0.5)
    assert most(Norm(1, 6, 20), 2, distinct=True) == 2
    assert most(Truncate(3, 2), 1) == 2
    assert most(Truncate(3, 2), 2) == 4
    assert most(Truncate(1, 2), 2) == 2
    rowwise = replace(scan.schema, unit=privet.Rows())
    assert weight_in(replace(scan, schema=rowwise, bounding=Once())) == 1


def grouped(session: Session, what: str = "AVG(x) AS m, VAR(x) AS v, COUNT(*) AS n") -> Answer:
    return session.ask(f"SELECT g, {what} FROM t GROUP BY g", epsilon=20)


@pytest.mark.parametrize("column", ["m", "v", "n"])
def test_groups_are_compared_at_no_cost(people: Session, column: str) -> None:
    answer, before = grouped(people), people.ledger.head()
    for covers in ("noise", "population"):
        found = answer.compare("a", "b", column=column, covers=covers)  # type: ignore[arg-type]
        first, second = answer[column].values
        assert found.estimate.value == pytest.approx(first - second, rel=0.01, abs=1.1)  # counts are shown rounded
        assert found.interval[0] < found.estimate.value < found.interval[1]
        ratio = found.estimates["ratio"]
        assert ratio.low < first / second < ratio.high
        assert found.p_value is not None
        assert (found.p_value < 0.05) == (not found.interval[0] <= 0 <= found.interval[1])
    assert people.ledger.head() == before
    assert f"of the weighted difference, {SENTENCE}" in found.estimate.covers


def test_comparisons_for_a_population_are_wider(people: Session) -> None:
    answer = grouped(people)
    narrow, wide = (answer.compare("a", "b", column="m", covers=covers) for covers in ("noise", "population"))  # type: ignore[arg-type]
    assert wide.interval[0] < narrow.interval[0]
    assert narrow.interval[1] < wide.interval[1]
    assert (wide.p_value or 0) >= (narrow.p_value or 0)


def test_people_in_both_groups_count_in_both(people: Session) -> None:
    """Cut to two groups of 2 rows each, a person weighs 2 in one group and 4 in both, whatever the noise."""
    asked = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    answer = people.ask(asked, epsilon=200, bound="groups")
    alone = [one.standard_error for one in answer.estimates("n", covers="population")]
    both = answer.compare("a", "b", covers="population").estimate.standard_error
    # at epsilon 200 noise is nothing beside sampling: variances are those of each group by itself, doubled
    assert both == pytest.approx(math.sqrt(2 * (alone[0] ** 2 + alone[1] ** 2)), rel=0.01)


def test_both_directions_mirror_each_other(people: Session) -> None:
    answer = grouped(people)
    one, other = answer.compare("a", "b", column="m"), answer.compare("b", "a", column="m")
    assert one.p_value == pytest.approx(other.p_value)
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), rel=1e-4)
    sides = [answer.compare("a", "b", column="m", alternative=side).p_value for side in ("greater", "less")]  # type: ignore[arg-type]
    assert sum(p or 0 for p in sides) == pytest.approx(1)


def test_equivalence_has_a_margin(people: Session) -> None:
    answer = grouped(people)
    wide = answer.compare("a", "b", column="m", margin=60)
    assert wide.p_value is not None
    assert wide.p_value < 1e-6
    assert "60 or more" in wide.hypothesis
    with pytest.raises(privet.RequestError, match="alternative"):
        answer.compare("a", "b", column="m", margin=60, alternative="less")


def test_answers_are_compared_with_doubled_variances(people: Session) -> None:
    every = people.ask("SELECT AVG(x) AS m FROM t", epsilon=20)
    some = people.ask("SELECT AVG(x) AS m FROM t WHERE x < 50", epsilon=20)
    found = every.compare(to=some, covers="population")
    assert found.estimate.value > 0
    assert any("doubled" in one for one in found.assumptions)
    assert "in the other answer" in found.hypothesis


def test_what_cannot_be_compared_is_refused(people: Session) -> None:
    answer = grouped(people)
    again = people.ask(
        "SELECT g, AVG(x) AS m, VAR(x) AS v, COUNT(*) AS n FROM t GROUP BY g ORDER BY g DESC", epsilon=20
    )
    refused = [
        (lambda: answer.compare("a", "a", column="m"), "same released number"),
        (lambda: answer.compare("a", "a", column="m", to=again), "same released number"),
        (lambda: answer.compare("a", "c", column="m"), "one group"),
        (lambda: answer.compare("a", 1, column="m"), "one group"),
        (lambda: answer.compare("a", "b"), "column"),
        (lambda: answer.compare("a", "b", column="g"), "column"),
        (lambda: answer.compare("a", "b", column="m", to=3), "another answer"),  # type: ignore[arg-type]
        (lambda: answer.compare("a", "b", column="m", margin=-1), "margin"),
        (lambda: grouped(people, "MEDIAN(x) AS m").compare("a", "b"), "quantiles"),
        (lambda: grouped(people, "STDDEV(x) AS m").compare("a", "b"), "variances"),
    ]
    for compare, words in refused:
        with pytest.raises(privet.RequestError, match=words):
            compare()


def test_columns_that_share_a_count_are_not_compared(people: Session) -> None:
    """The noise of the count is in both: they are not independent."""
    answer = people.ask("SELECT g, AVG(x) AS m FROM t GROUP BY g", epsilon=20)
    other = people.ask("SELECT g, SUM(x) AS m, AVG(x) AS k FROM t GROUP BY g", epsilon=20)
    if other.receipt.digest == answer.receipt.digest:
        with pytest.raises(privet.RequestError, match="share their noise"):
            answer.compare("a", "b", column="m", to=other)
