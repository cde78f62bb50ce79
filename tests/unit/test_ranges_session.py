"""Ranges through a session: one charge, counts and quantiles that agree with the rows, free again, refused when bad."""

from __future__ import annotations

import datetime
import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import PrivetError
from privet.testing.oracle import Memory

HUGE = 10**8
FIRST = datetime.date(2025, 1, 1)
COLUMNS = {
    "person": privet.integer(),
    "age": privet.integer(0, 49, nullable=True),
    "cost": privet.number(0, 100),
    "day": privet.date(FIRST, FIRST + datetime.timedelta(days=29)),
    "size": privet.integer(0, 99_999),
    "wide": privet.integer(0, 10**9),
    "ward": privet.category(["a", "b"]),
    "free": privet.integer(),
}
ROWS = [
    {
        "person": place % 50,
        "age": None if place % 11 == 0 else place * 7 % 50,
        "cost": place * 13 % 101 * 0.99,
        "day": FIRST + datetime.timedelta(days=place % 30),
        "size": place * 331,
        "wide": place,
        "ward": "ab"[place % 2],
        "free": place,
    }
    for place in range(300)
]
AGES = sorted(row["age"] for row in ROWS if row["age"] is not None)


def opened(budget: Any = None, engine: str = "duckdb", rows: Any = ROWS, **facts: Any) -> Any:
    source = pa.Table.from_pylist(rows) if engine == "duckdb" else rows
    table = privet.Table(source, **{"unit": privet.Rows(), "columns": COLUMNS, **facts})
    own = None if engine == "duckdb" else Memory({"visits": table})
    return privet.Session({"visits": table}, budget=budget or privet.Pure(epsilon=100 * HUGE), engine=own)


@pytest.mark.parametrize("engine", ["duckdb", "memory"])
@pytest.mark.parametrize("budget", [privet.Pure(epsilon=10 * HUGE), privet.Zcdp(rho=10 * HUGE)], ids=["pure", "zcdp"])
def test_at_a_huge_price_every_range_and_quantile_is_that_of_the_rows(budget: Any, engine: str) -> None:
    price = {"epsilon": HUGE} if isinstance(budget, privet.Pure) else {"rho": HUGE}
    ages = opened(budget, engine).ranges("visits", "age", **price)
    for low, high in ((0, 49), (10, 20), (7, 7), (None, 17), (18, None), (None, None), (-5, 3), (40, 900)):
        bottom, top = -math.inf if low is None else low, math.inf if high is None else high
        truth = sum(bottom <= age <= top for age in AGES)
        found = ages.count(low, high)
        assert found.value == pytest.approx(truth, abs=0.4)  # the noise is below 0.01, and never 40 times that
        assert found.low <= found.value <= found.high
    assert ages.prefix(9).value == pytest.approx(sum(age <= 9 for age in AGES), abs=0.4)
    for q in (0.1, 0.25, 0.5, 0.9, 0.999):
        exact = next(age for age in range(50) if sum(one <= age for one in AGES) >= q * len(AGES))
        found = ages.quantile(q, confidence=0.999999999)  # half of the people may be exactly at an edge
        assert found.low <= exact <= found.high
        assert abs(found.value - exact) <= 1
    table = ages.histogram(10)
    assert table["age_low"].values[:2] == (0, 5)
    assert table["age_high"].values[-1] == 49
    sums = [sum(low <= age <= low + 4 for age in AGES) for low in range(0, 50, 5)]
    assert list(table["n"].values) == pytest.approx(sums, abs=0.4)
    assert list(ages.counts()["age"].values) == list(range(50))
    assert ages.cumulative()["n"].values[-1] == pytest.approx(len(AGES), abs=0.4)


def test_numbers_are_counted_in_bins_and_an_end_inside_a_bin_widens_the_interval() -> None:
    session = opened()
    costs = session.ranges("visits", "cost", epsilon=HUGE, bins=50)
    below = [row["cost"] for row in ROWS]
    assert costs.count(0, 20).value == pytest.approx(sum(0 <= cost < 20 for cost in below), abs=0.4)
    between = costs.count(3, 7)
    assert between.low - 0.1 <= sum(3 <= cost < 7 for cost in below) <= between.high + 0.1
    assert between.low == pytest.approx(sum(4 <= cost < 6 for cost in below), abs=0.4)
    assert between.high == pytest.approx(sum(2 <= cost < 8 for cost in below), abs=0.4)
    tiny = costs.count(0.25, 0.5)
    assert tiny.low == 0
    assert len(session.ranges("visits", "cost", epsilon=1).starts) == 256
    median = costs.quantile(0.5, confidence=0.999999999)
    assert median.low <= sorted(below)[149] <= median.high
    assert median.high - median.low <= 4
    assert list(costs.histogram().to_dict())[:3] == ["cost_low", "cost_high", "n"]


@pytest.mark.parametrize("engine", ["duckdb", "memory"])
def test_a_number_at_the_edge_of_a_bin_is_in_the_count_of_a_range_that_starts_there(engine: str) -> None:
    """Engines compute bins in doubles: 0.29 * 100 is below 29 there."""
    parts = [place / 100 for place in range(101)]
    columns = {"part": privet.number(0, 1)}
    found = opened(engine=engine, rows=[{"part": part} for part in parts], columns=columns).ranges(
        "visits", "part", epsilon=HUGE, bins=100
    )
    inside = 0
    for part in parts[:-1]:
        counted = found.count(part, None)
        assert counted.low - 0.4 <= sum(one >= part for one in parts) <= counted.high + 0.4
        inside += counted.high - counted.low > 0.5
    assert inside <= 5
    starts = [*found.starts, 2.0]
    held = [sum(low <= one < high for one in parts) for low, high in pairwise(starts)]
    assert list(found.counts()["n"].values) == pytest.approx(held, abs=0.4)


def test_whole_numbers_in_bins_and_dates_one_by_one() -> None:
    session = opened()
    sizes = session.ranges("visits", "size", epsilon=HUGE, bins=100)
    assert sizes.cells == 100
    assert sizes.count(0, 49_999).value == pytest.approx(sum(row["size"] < 50_000 for row in ROWS), abs=0.4)
    days = session.ranges("visits", "day", epsilon=HUGE)
    assert days.count(FIRST, FIRST + datetime.timedelta(days=9)).value == pytest.approx(100, abs=0.4)
    median = days.quantile(0.5, confidence=0.999999999)
    assert type(median.value) is datetime.date
    assert median.low <= FIRST + datetime.timedelta(days=14) <= median.high
    decades = session.ranges("visits", privet.col("age") + 1, epsilon=HUGE)
    assert decades.count(1, 10).value == pytest.approx(sum(age <= 9 for age in AGES), abs=0.4)


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=9), privet.Zcdp(rho=9)], ids=["pure", "zcdp"])
def test_the_same_again_is_free_and_answers_the_same_bytes_when_all_else_is_gone(budget: Any) -> None:
    price = {"epsilon": 1} if isinstance(budget, privet.Pure) else {"rho": 0.5}
    session = opened(budget, version="may")
    plan = session.plan_ranges("visits", "age", **price)
    assert len(session.history()) == 0
    ages = session.ranges("visits", "age", **price)
    again = session.ranges(session.table("visits"), "age", **price, nonnegative=True, whole=True)
    assert len(session.history()) == 1
    assert again.released == ages.released
    assert ages.digest == plan.digest
    assert min(again.counts()["n"].low) >= 0
    assert list(ages.counts()["n"].error) == pytest.approx(list(again.counts()["n"].error))

    def answers(one: Any) -> bytes:
        every = [one.count(3, 30), one.prefix(9), one.quantile(0.5), one.histogram(7).to_dict(), one.to_dict()]
        return repr(every).encode()

    before = answers(ages)
    kept = pickle.dumps(ages)
    session.close()
    assert answers(ages) == before
    assert answers(pickle.loads(kept)) == before
    assert len(kept) < 200_000
    assert "version may" in repr(ages)


def test_people_are_scaled_and_the_object_says_so() -> None:
    rows = [{**ROWS[1], "person": 1, "age": 5}] * 40 + [{**ROWS[1], "person": 2, "age": 7}]
    facts = {"unit": privet.Person("person"), "contribution": privet.Contribution(groups=2, rows=2)}
    ages = opened(rows=rows, **facts).ranges("visits", "age", epsilon=HUGE, whole=True)
    assert ages.count(5, 5).value == 4
    assert ages.count(6, 9).value == 1
    assert ages.count(5, 5).covers == "the noise, not what bounding removes"
    assert any("scaled down" in note for note in ages.counts().notes)


def test_errors_to_expect_are_those_of_the_answers() -> None:
    session = opened(privet.Zcdp(rho=9))
    plan = session.plan_ranges("visits", "age", rho=0.5)
    ages = session.ranges("visits", "age", rho=0.5)
    assert ages.count().standard_error == pytest.approx(plan.errors["all rows"])
    errors = ages.counts()["n"].error
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) == pytest.approx(plan.errors["cell"])
    assert "standard error" in repr(plan)
    assert plan.to_dict()["errors"][0]["of"] == "range"
    assert "<div>" in plan._repr_html_()


def test_a_curve_with_a_band_and_a_table(tmp_path: Path) -> None:
    session = opened(privet.Zcdp(rho=9))
    ages, costs = session.ranges("visits", "age", rho=1), session.ranges("visits", "cost", rho=1)
    for place, figure in enumerate((ages.plot(tmp_path / "0.png"), costs.plot(tmp_path / "1.png", show="histogram"))):
        assert (tmp_path / f"{place}.png").stat().st_size > 1000
        assert figure.axes[0].collections  # the band
    assert ages.plot().axes[0].get_ylabel() == "n up to each age"
    assert costs.plot(show="histogram").axes[0].get_ylabel() == "n"
    assert list(ages.to_pandas().columns[:2]) == ["age", "n"]


BAD: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("nothing", "age"), {}, "nothing"),
    (("visits", "agr"), {}, "agr"),
    (("visits", ["age"]), {}, "column"),
    (("visits", ""), {}, "^column must be"),
    (("visits", "ward"), {}, "numbers and dates"),
    (("visits", "free"), {}, "low and high"),
    (("visits", "size"), {}, "bins=1024"),
    (("visits", "wide"), {}, "bins=1024"),
    (("visits", "day"), {"bins": 3}, "leave bins= out"),
    (("visits", "age"), {"bins": 0}, "bins"),
    (("visits", "age"), {"bins": 10**6}, "bins"),
    (("visits", "age"), {"bins": 2.5}, "bins"),
    (("visits", "age"), {"whole": "yes"}, "True or False"),
    (("visits", "age"), {"rho": 1}, "epsilon"),
    (("visits", "age"), {"epsilon": -1}, "epsilon"),
]


@pytest.mark.parametrize(("given", "options", "told"), BAD, ids=lambda one: str(one)[:60])
def test_bad_requests_are_refused_by_what_was_typed_and_charge_nothing(
    given: tuple[Any, ...], options: dict[str, Any], told: str
) -> None:
    session = opened(privet.Pure(epsilon=9))
    with pytest.raises(PrivetError, match=told):
        session.ranges(*given, **options)
    assert len(session.history()) == 0


def test_bad_ranges_are_refused() -> None:
    ages = opened(privet.Pure(epsilon=9)).ranges("visits", "age", epsilon=1)
    for low, high, told in (
        (5, 4, "below high"),
        (60, 70, "declared from 0 to 49"),
        ("x", 3, "low"),
        (1, FIRST, "high"),
    ):
        with pytest.raises(PrivetError, match=told):
            ages.count(low, high)  # type: ignore[arg-type]
    for q in (0, 1, -1, math.nan, "half"):
        with pytest.raises(PrivetError, match="q"):
            ages.quantile(q)  # type: ignore[arg-type]
    with pytest.raises(PrivetError, match="bins"):
        ages.histogram(0)
    with pytest.raises(PrivetError, match="show"):
        ages.plot(show="pie")  # type: ignore[arg-type]
    days = opened(privet.Pure(epsilon=9)).ranges("visits", "day", epsilon=1)
    with pytest.raises(PrivetError, match="a date"):
        days.count(1, 2)
