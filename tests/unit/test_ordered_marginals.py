"""Marginals that are planned for ranges and prefixes of some columns: one charge, and every range of them for free."""

from __future__ import annotations

import datetime
import math
import pickle
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet import strategy
from privet.core.errors import RequestError
from privet.planner.many_counts import _best_along, marginal_workload, spans_workload
from privet.results.released_counts import _cuts

WARDS = ("heart", "lung", "eye")
DAYS = [datetime.date(2025, 3, 1) + datetime.timedelta(days=place) for place in range(9)]
ROWS = [
    {
        "person": place % 150,
        "ward": WARDS[place % 3],
        "sex": "FM"[place % 7 % 2],
        "age": (place * 37) % 40 if place % 11 else None,
        "day": DAYS[place % 9],
    }
    for place in range(600)
]
COLUMNS = {
    "person": privet.integer(),
    "ward": privet.category(WARDS),
    "sex": privet.category(["F", "M"]),
    "age": privet.integer(0, 39, nullable=True),
    "day": privet.date(DAYS[0], DAYS[-1]),
}
NAMES = ["ward", "sex", "age"]


def opened(budget: Any, **facts: Any) -> privet.Session:
    told = {"unit": privet.Rows(), "columns": COLUMNS, **facts}
    return privet.Session({"visits": privet.Table(pa.Table.from_pylist(ROWS), **told)}, budget=budget)


def truth(**asked: Any) -> int:
    def fits(value: Any, wanted: Any) -> bool:
        if not isinstance(wanted, tuple):
            return bool(value == wanted)
        low, high = wanted
        return value is not None and (low is None or value >= low) and (high is None or value <= high)

    return sum(all(fits(row[name], wanted) for name, wanted in asked.items()) for row in ROWS)


ASKED: list[dict[str, Any]] = [
    {"ward": "heart", "age": (18, 30)},
    {"sex": "F", "age": (None, 17)},
    {"age": (5, None)},
    {"age": None, "ward": "eye"},
    {"age": 7},
    {"age": (12.5, 90)},
    {"ward": "lung"},
    {},
]
SESSIONS: dict[str, tuple[Any, Any]] = {
    "pure": ({"epsilon": 10**6}, privet.Pure(epsilon=10**7)),
    "zcdp": ({"rho": 10**6}, privet.Zcdp(rho=10**7)),
}


@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
@pytest.mark.parametrize("family", list(SESSIONS))
def test_at_a_huge_price_every_count_of_spans_is_that_of_the_rows(family: str, kind: Any) -> None:
    price, budget = SESSIONS[family]
    session = opened(budget)
    found = session.marginals("visits", NAMES, ways=2, ordered={"age": kind}, **price)
    for asked in ASKED:
        counted = found.count(asked)
        assert counted.value == pytest.approx(truth(**asked), abs=1)
        assert counted.low <= counted.value <= counted.high
    assert list(found.counts("ward", "age")["n"].values) == pytest.approx(
        [truth(ward=ward, age=age) for ward in WARDS for age in [*range(40), None]], abs=1
    )
    more = found.difference({"ward": "heart", "age": (0, 20)}, {"sex": "M", "age": (10, 30)})
    assert more.value == pytest.approx(truth(ward="heart", age=(0, 20)) - truth(sex="M", age=(10, 30)), abs=1)
    assert len(session.history()) == 1
    again = session.marginals("visits", ["age", "ward", "sex"], ways=2, ordered={"age": kind}, **price)
    assert again.released == found.released
    assert len(session.history()) == 1


def test_a_closed_session_and_a_file_answer_the_same() -> None:
    few = privet.Contribution(groups=4, rows=2)
    session = opened(privet.Zcdp(rho=1), unit=privet.Person("person"), contribution=few)
    found = session.marginals("visits", NAMES, ways=2, ordered={"age": "ranges"}, rho=0.1)
    before = [found.count(asked) for asked in ASKED]
    session.close()
    held = pickle.loads(pickle.dumps(found))
    assert [found.count(asked) for asked in ASKED] == before == [held.count(asked) for asked in ASKED]
    assert held.difference({"age": (0, 9)}, {"age": (0, 9)}).standard_error == 0


def test_dates_are_ordered_too_and_bins_by_where_they_start() -> None:
    session = opened(privet.Zcdp(rho=10**7))
    found = session.marginals("visits", ["ward", "day"], ordered={"day": "prefixes"}, rho=10**6)
    some: dict[str, Any] = {"ward": "eye", "day": (DAYS[2], DAYS[5])}
    assert found.count(some).value == pytest.approx(truth(**some), abs=1)
    bins = session.marginals("visits", ["ward", privet.col("age").bin(10)], rho=10**6)
    for ends in ((10, 29), (10, 20)):
        assert bins.count({bins.names[1]: ends}).value == pytest.approx(truth(age=(10, 29)), abs=1)
    assert bins.count({bins.names[1]: (-5, 10**6)}).value == pytest.approx(truth(age=(0, 10**6)), abs=1)
    for cut in ((12, 29), (10, 25), (None, 28), (11, None)):
        with pytest.raises(RequestError, match="and count whole"):
            bins.count({bins.names[1]: cut})


@pytest.mark.parametrize(
    ("values", "exact", "inside"),
    [
        ((0.0, 0.5, 1.0), [(0.0, 0.5), (None, 1.0), (-3, 9), (0.5, 1.5)], [(0.2, None), (0.0, 0.7), (None, 1.2)]),
        ((0.0, 1.0, 2.0), [(1.0, 2.0), (1, 2)], [(0.5, 2.0), (0.0, 1.5), (0.0, 2.5)]),
        ((1, 2, 5), [(1, 4), (2, 5), (5, 9)], [(3, None), (1, 3)]),
        ((7,), [(7, 7), (None, 8), (0, None)], []),
        ((DAYS[0], DAYS[3]), [(DAYS[0], DAYS[2]), (DAYS[3], DAYS[5])], [(DAYS[1], None), (None, DAYS[1])]),
    ],
    ids=str,
)
def test_a_range_has_whole_bins(values: Any, exact: list[Any], inside: list[Any]) -> None:
    assert [ends for ends in exact if _cuts(values, *ends)] == []
    assert [ends for ends in inside if not _cuts(values, *ends)] == []


def test_planned_ranges_err_less_than_those_of_single_values() -> None:
    session = opened(privet.Zcdp(rho=10))
    plain = session.plan_marginals("visits", NAMES, ways=2, rho=0.1)
    ranged = session.plan_marginals("visits", NAMES, ways=2, ordered={"age": "ranges"}, rho=0.1)
    assert plain.counts.measure.strategy.name == ranged.counts.measure.strategy.name == "residuals"
    before = replace(plain, ordered=ranged.ordered).range_errors
    for names in (("ward", "age"), ("sex", "age")):
        assert ranged.range_errors[names] < 0.8 * before[names]
    assert "ward, age (ranges)" in str(ranged)
    assert ranged.to_dict()["ranges"][0]["ordered"] == {"age": "ranges"}
    assert not plain.range_errors
    assert "ranges" not in plain.to_dict()
    assert plain.digest != ranged.digest


def test_one_table_is_measured_by_a_product_where_that_errs_less() -> None:
    session = opened(privet.Zcdp(rho=10))
    one = session.plan_marginals("visits", ["ward", "age"], ordered={"age": "ranges"}, rho=0.1)
    assert " x " in one.counts.measure.strategy.name


def test_a_product_of_two_optima_is_priced_for_a_row_that_changes() -> None:
    """The entries of the product leave 64 bits when they are squared: its columns are compared by their factors."""
    ordered: Any = {"age": "ranges", "day": "ranges"}
    asked: Any = {"subsets": [["age", "day"]], "ordered": ordered, "rho": 0.1}
    facts = {"neighbors": "change-one", "units": len(ROWS)}
    plans = [
        session.plan_marginals("visits", ["age", "day"], **asked)
        for session in (opened(privet.Zcdp(rho=1)), opened(privet.Zcdp(rho=1), **facts))
    ]
    fewer, more = (plan.counts.measure for plan in plans)
    assert fewer.strategy == more.strategy
    assert " x " in more.strategy.name
    columns = np.array([fewer.strategy.apply(unit) for unit in np.eye(fewer.strategy.cells, dtype=int)], dtype=float)
    gaps = [np.square(columns - one).sum(axis=1).max() for one in columns]
    assert float(more.moved) == pytest.approx(max(gaps), rel=1e-9)
    assert float(fewer.moved) == pytest.approx(np.square(columns).sum(axis=1).max(), rel=1e-9)


@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
def test_many_values_of_one_table_are_measured_in_closed_form_as_well_as_by_an_optimum(kind: Any) -> None:
    workload = spans_workload(kind, 300, False)
    found = _best_along(workload)
    assert found.name.startswith("root of")
    assert found.rmse(workload) < 1.003 * strategy.optimize(workload, measure="gaussian").strategy.rmse(workload)
    assert _best_along(spans_workload(kind, 300, True)).name == "optimal for Gaussian noise"


def test_each_table_counts_as_much_as_it_has_cells() -> None:
    ranges = spans_workload("ranges", 8, False)
    workload = marginal_workload((3, 8), ((0,), (0, 1)), (1.0, 2.0), {1: ranges})
    assert [weight * many for weight, many in zip(workload.weights, (3, 3 * 36), strict=True)] == [3.0, 48.0]


def test_null_is_in_no_range_and_a_cell_of_its_own() -> None:
    assert spans_workload("prefixes", 5, True).answers([1, 2, 3, 4, 100]).tolist() == [1, 3, 6, 10, 100]


@pytest.mark.parametrize(
    ("ordered", "says"),
    [
        ({"ward": "ranges"}, "not numbers or dates"),
        ({"weight": "ranges"}, "weight"),
        ({"age": "both"}, "ordered"),
        ({"age": None}, "ordered"),
        ({1: "ranges"}, "names of columns"),
        ("age", "mapping"),
        (["age"], "mapping"),
    ],
)
def test_what_is_in_no_order_or_unknown_is_refused_and_nothing_is_charged(ordered: Any, says: str) -> None:
    session = opened(privet.Zcdp(rho=1))
    with pytest.raises(RequestError, match=says):
        session.marginals("visits", NAMES, ordered=ordered, rho=0.1)
    assert not session.history()


def test_more_values_than_are_planned_and_values_that_fall_are_refused() -> None:
    columns = {**COLUMNS, "age": privet.integer(0, 5000)}
    session = opened(privet.Zcdp(rho=1), columns=columns)
    with pytest.raises(RequestError, match=r"5,001 values.*bin\(width\).*session\.ranges"):
        session.marginals("visits", ["ward", "age"], ordered={"age": "ranges"}, rho=0.1)
    falling = {**COLUMNS, "age": privet.category([3, 1, 2])}
    session = opened(privet.Zcdp(rho=1), columns=falling)
    with pytest.raises(RequestError, match="order"):
        session.plan_marginals("visits", ["age"], ordered={"age": "ranges"}, rho=0.1)
    found = session.marginals("visits", ["age"], rho=0.1)
    with pytest.raises(RequestError, match="no order"):
        found.count({"age": (1, 2)})


@pytest.mark.parametrize(
    "asked",
    [
        {"age": (30, 10)},
        {"age": (50, 60)},
        {"age": (1, 2, 3)},
        {"age": ("a", "b")},
        {"age": (True, 5)},
        {"age": (math.nan, 5)},
        {"age": (DAYS[0], DAYS[1])},
        {"ward": ("heart", "lung")},
        {"ward": "heart", "sex": "F", "age": (1, 2)},
        {"weight": (1, 2)},
        ["age"],
    ],
)
def test_what_is_no_range_of_a_column_is_refused(asked: Any) -> None:
    found = opened(privet.Zcdp(rho=1)).marginals("visits", NAMES, ordered={"age": "ranges"}, rho=0.1)
    with pytest.raises(RequestError):
        found.count(asked)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"age": np.int64(7)}, {"age": 7}),
        ({"age": 7.0}, {"age": 7}),
        ({"age": Decimal(7), "ward": np.str_("eye")}, {"age": 7, "ward": "eye"}),
        ({"age": (np.int32(3), np.float32(9))}, {"age": (3, 9)}),
        ({"day": np.datetime64("2025-03-04")}, {"day": DAYS[3]}),
        ({"day": (np.datetime64("2025-03-04T00:00:00"), None)}, {"day": (DAYS[3], None)}),
    ],
)
def test_values_may_be_the_scalars_of_a_frame(given: Any, plain: Any) -> None:
    found = opened(privet.Zcdp(rho=1)).marginals("visits", ["ward", "age", "day"], rho=0.1)
    assert found.count(given) == found.count(plain)
    assert found.difference(given, plain).standard_error == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "asked",
    [
        {"age": True},
        {"age": np.True_},
        {"age": math.nan},
        {"age": 7.5},
        {"age": "7"},
        {"day": np.datetime64("2025-03-04T01:00:00")},
        {"day": np.datetime64("NaT")},
        {"age": np.datetime64("NaT")},
        {"age": np.timedelta64(7, "ns")},
        {"age": (np.datetime64("2025-03-04"), None)},
    ],
    ids=str,
)
def test_what_only_resembles_a_declared_value_is_refused(asked: Any) -> None:
    found = opened(privet.Zcdp(rho=1)).marginals("visits", ["ward", "age", "day"], rho=0.1)
    with pytest.raises(RequestError, match=r"0, 1, 2, 3, ..., NULL|2025-03-01, |a pair of ends"):
        found.count(asked)


def test_a_confidence_of_1_but_for_rounding_is_refused_by_name() -> None:
    found = opened(privet.Zcdp(rho=1)).marginals("visits", NAMES, ordered={"age": "ranges"}, rho=0.1)
    for ask in (
        lambda: found.count({}, confidence=1 - 2**-53),
        lambda: found.difference({}, {}, confidence=1 - 2**-53),
    ):
        with pytest.raises(RequestError, match="confidence must be below 1"):
            ask()


def test_the_number_of_rows_that_is_public_is_used() -> None:
    columns = {**COLUMNS, "person": privet.integer(0, 149, nullable=True)}  # whatever a row holds, it is in a cell
    session = opened(privet.Zcdp(rho=1), neighbors="change-one", units=len(ROWS), columns=columns)
    found = session.marginals("visits", ["age", "person"], ways=1, ordered={"age": "ranges"}, rho=0.1)
    whole = found.count({})
    assert whole.value == pytest.approx(len(ROWS), abs=1e-6)
    assert whole.standard_error == pytest.approx(0, abs=1e-6)
    part, rest = found.count({"age": (0, 19)}), found.difference({}, {"age": (0, 19)})
    assert rest.standard_error == pytest.approx(part.standard_error, rel=1e-6)


@pytest.mark.parametrize("names", [["one"], ["one", "ward"], ["one", "two", "ward"]])
@pytest.mark.parametrize("family", list(SESSIONS))
def test_columns_of_one_value_are_counted_by_that_value_or_a_range_of_it(family: str, names: list[str]) -> None:
    price, budget = SESSIONS[family]
    rows = [{"one": 5, "two": 7, "ward": WARDS[place % 3]} for place in range(30)]
    columns = {"one": privet.integer(5, 5), "two": privet.integer(7, 7), "ward": privet.category(WARDS)}
    table = privet.Table(pa.Table.from_pylist(rows), unit=privet.Rows(), columns=columns)
    session = privet.Session({"visits": table}, budget=budget)
    ways = min(2, len(names))
    for ordered in (None, {"one": "ranges"}):
        found: Any = session.marginals("visits", names, ways=ways, ordered=ordered, **price)  # type: ignore[arg-type]
        assert list(found.counts("one")["n"].values) == pytest.approx([30], abs=1)
        for place in (5, (5, 5), (None, 9)):
            assert found.count({"one": place}).value == pytest.approx(30, abs=1)
        assert found.difference({"one": 5}, {}).value == pytest.approx(0, abs=1)
        if ways == 2:
            assert found.count({"one": (5, None), "ward": "eye"}).value == pytest.approx(10, abs=1)
        assert found.to_dict()["n"]


@pytest.mark.parametrize("unit", [privet.Rows(), privet.Person("person")], ids=["rows", "people"])
@pytest.mark.parametrize("names", [["ward", "age"], ["ward", "age", "sex"]])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("rho", [10**6, 0.001])
def test_a_difference_is_inside_of_its_interval(unit: Any, names: list[str], whole: bool, rho: float) -> None:
    few = {"contribution": privet.Contribution(groups=4, rows=2)} if unit != privet.Rows() else {}
    session = opened(privet.Zcdp(rho=10**7), unit=unit, **few)
    found = session.marginals("visits", names, ordered={"age": "ranges"}, rho=rho, nonnegative=True, whole=whole)
    for low in range(0, 40, 3):
        for one, other in ((low, 39), (0, low)), ((low, low), (0, low)), ((low, low), (low, low)):
            more = found.difference({"age": one}, {"age": other, "ward": "eye"})
            assert more.low <= more.value <= more.high
            if whole:
                assert all(float(end).is_integer() for end in (more.low, more.value, more.high))
    same = found.difference({"age": 3}, {"age": (3, 3)})
    assert (same.low, same.value, same.high, same.standard_error) == (0, 0, 0, 0)
