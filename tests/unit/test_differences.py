"""Differences of numbers that share their noise: by the joint law, in lists and from the ranges of a column."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.inference.bars import Law
from privet.planner.from_strategy import FromStrategy
from privet.results.comparisons import _LawOfSum

ENDS = [(0, 17), (18, 64), (65, 99), (18, 30), (30, 50), (50, 64), (10, 20), (20, 40), (40, 80), (25, 75)]
ASKED = [f"SELECT COUNT(*) AS n FROM t WHERE age BETWEEN {low} AND {high}" for low, high in ENDS]
ROWS = pa.table({"age": [place * 7 % 100 for place in range(400)], "ward": ["abc"[place % 3] for place in range(400)]})
COLUMNS = {"age": privet.integer(0, 99), "ward": privet.category(["a", "b", "c"])}
GROUPED = [
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward",
    "SELECT COUNT(*) AS n FROM t",
    "SELECT ward, COUNT(*) AS n FROM t WHERE age < 50 GROUP BY ward",
]


def opened(budget: Any = None) -> privet.Session:
    table = privet.Table(ROWS, unit=privet.Rows(), columns=COLUMNS)
    return privet.Session({"t": table}, budget=budget or privet.Pure(epsilon=1000))


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=1000), privet.Zcdp(rho=1000)], ids=["pure", "zcdp"])
def test_two_answers_of_a_list_differ_by_the_cells_that_one_has_and_the_other_has_not(budget: Any) -> None:
    session = opened(budget)
    price: Any = {"epsilon": 1} if isinstance(budget, privet.Pure) else {"rho": 0.1}
    answers = session.ask_all(ASKED, **price)
    wide, narrow = answers[1], answers[5]  # 18 to 64 and 50 to 64
    found = wide.compare(to=narrow).estimate
    assert found.value == pytest.approx(wide["n"].values[0] - narrow["n"].values[0], abs=1e-6)
    assert found.standard_error < math.hypot(wide.estimate.standard_error, narrow.estimate.standard_error)
    # a list in which the difference itself is asked for has that very error for it
    plain = answers[3].compare(to=answers[4]).estimate  # 18 to 30 and 30 to 50 have one value in common
    apart = math.hypot(answers[3].estimate.standard_error, answers[4].estimate.standard_error)
    assert plain.standard_error != pytest.approx(apart, rel=1e-3)
    assert found.covers == "the noise"


def test_the_error_of_a_difference_is_that_of_its_coefficients_in_the_strategy() -> None:
    session = opened(privet.Zcdp(rho=1000))
    answers = session.ask_all(ASKED, rho=0.1)
    first, last = answers[2].plan, answers[4].plan
    assert isinstance(first, FromStrategy)
    assert isinstance(last, FromStrategy)
    assert first.matrix is not None
    assert last.matrix is not None
    variance = first.noise.covariance.of_rows(first.matrix - last.matrix)[0]
    assert answers[2].compare(to=answers[4]).estimate.standard_error == pytest.approx(math.sqrt(variance), rel=0.01)


def test_groups_of_a_list_are_compared_with_each_other_and_with_all_rows() -> None:
    answers = opened().ask_all(GROUPED, epsilon=1)
    groups, everyone, young = answers
    assert groups.compare("a", "b").estimate.value == groups["n"].values[0] - groups["n"].values[1]
    rest = everyone.compare(None, "a", to=groups).estimate
    assert rest.value == pytest.approx(groups["n"].values[1] + groups["n"].values[2], abs=300)
    assert rest.standard_error < math.hypot(everyone.estimate.standard_error, groups["n"].error[0])  # type: ignore[index]
    older = groups.compare("a", "a", to=young).estimate
    assert older.low <= older.value <= older.high


def test_p_values_of_a_difference_agree_with_its_intervals() -> None:
    answers = opened().ask_all(ASKED, epsilon=1)
    one, other = answers[4], answers[7]
    found = one.compare(to=other)
    assert found.p_value is not None
    low, high = found.interval
    if found.estimate.value < low or found.estimate.value > high:
        raise AssertionError("an interval does not hold its own number")
    assert not (found.p_value > 0.06 and not low - 1e-6 <= 0 <= high + 1e-6)
    assert not (found.p_value < 0.04 and low + 1e-6 < 0 < high - 1e-6)
    greater = one.compare(to=other, alternative="greater").p_value
    less = one.compare(to=other, alternative="less").p_value
    assert greater is not None
    assert less is not None
    assert greater + less == pytest.approx(1)
    assert 2 * min(greater, less) == pytest.approx(found.p_value)
    near = one.compare(to=other, margin=1e6).p_value
    far = one.compare(to=other, margin=1e-6).p_value
    assert near is not None
    assert far is not None
    assert near < 1e-6 < 0.49 < far


def test_numbers_of_different_releases_are_independent() -> None:
    """Two ledgers have entries of the same number and digest; that all noises are equal has a probability of 1e-40."""
    one, other = (opened(privet.Zcdp(rho=1000)).ask_all(ASKED, rho=0.1) for _ in range(2))
    found = one[1].compare(to=other[5]).estimate
    apart = math.hypot(one[1].estimate.standard_error, other[5].estimate.standard_error)
    assert found.standard_error == pytest.approx(apart, rel=1e-6)


def test_what_has_no_joint_law_is_refused() -> None:
    session = opened()
    answers = session.ask_all(ASKED, epsilon=1)
    alone = session.ask("SELECT COUNT(*) AS n FROM t", epsilon=1)
    summed = session.ask(
        "SELECT SUM(n * n) AS s FROM (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) AS g", epsilon=1
    )
    for compare, words in [
        (lambda: answers[0].compare(to=answers[0]), "same released number"),
        (lambda: answers[0].compare(to=alone), "summed afterwards"),
        (lambda: alone.compare(to=answers[0]), "summed afterwards"),
        (lambda: answers[0].compare(to=answers[1], covers="population"), "population"),
        (lambda: answers[0].estimates("n", covers="population"), "population"),
        (lambda: answers[0].compare(to=summed, column=None), "column|weighted sum"),
    ]:
        with pytest.raises(privet.RequestError, match=words):
            compare()


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=1000), privet.Zcdp(rho=1000)], ids=["pure", "zcdp"])
def test_a_difference_of_ranges_is_the_count_of_what_only_one_of_them_has(budget: Any) -> None:
    price: Any = {"epsilon": 1} if isinstance(budget, privet.Pure) else {"rho": 0.1}
    ages = opened(budget).ranges("t", "age", **price)
    found, plain = ages.difference((10, 60), (10, 59)), ages.count(60, 60)
    assert found.value == pytest.approx(plain.value, abs=1e-6)
    assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), rel=1e-6)
    moved = ages.difference((0, 9), (90, 99))
    assert moved.value == pytest.approx(ages.count(0, 9).value - ages.count(90, 99).value, abs=1e-6)
    assert moved.low < moved.value < moved.high
    assert ages.difference((None, 40), (None, 40)).standard_error == 0
    assert ages.difference((None, None), (None, 40)).value == pytest.approx(ages.count(41).value, abs=1e-6)


def test_ends_inside_bins_widen_a_difference() -> None:
    rough = opened().ranges("t", "age", bins=10, epsilon=1)
    exact, inside = rough.difference((0, 49), (50, 99)), rough.difference((0, 44), (50, 99))
    assert inside.low < exact.low
    assert inside.high <= exact.high + 1e-6
    for pair, words in [((5,), "pair of ends"), (7, "pair of ends"), ((9, 3), "below high"), ((200, 300), "within")]:
        with pytest.raises(privet.RequestError, match=words):
            rough.difference(pair, (0, 9))  # type: ignore[arg-type]
        with pytest.raises(privet.RequestError, match=words):
            rough.difference((0, 9), pair)  # type: ignore[arg-type]


def test_a_difference_covers_rows_of_a_bin_in_which_both_ranges_end() -> None:
    rows = pa.table({"age": [12] * 500, "ward": ["a"] * 500})
    table = privet.Table(rows, unit=privet.Rows(), columns=COLUMNS)
    rough = privet.Session({"t": table}, budget=privet.Pure(epsilon=10**6)).ranges("t", "age", bins=10, epsilon=10**5)
    below, above = rough.difference((0, 14), (15, 30)), rough.difference((15, 30), (0, 14))
    assert below.low <= 500 <= below.high  # all 500 are in the first range, which ends inside their bin
    assert above.low <= -500 <= above.high


@pytest.mark.parametrize("whole", [False, True], ids=["as released", "whole"])
def test_a_difference_of_ranges_is_inside_of_its_interval_whatever_the_noise(whole: bool) -> None:
    """Also where the counts of the bins in which ends lie are far below 0, and turn the ends of the interval around."""
    rough = replace(opened().ranges("t", "age", bins=10, epsilon=1), whole=whole, nonnegative=whole)
    matrix = np.asarray(rough.measure.strategy.matrix.toarray(), dtype=np.int64)  # type: ignore[attr-defined]
    for cells in ([0] * 10, [-100] * 10, [7, 0, 3, -2, 5, 0, 0, 1, 9, 2], [40] * 10):
        for place in range(12):
            noise = np.array([place * row % 9 - 4 for row in range(len(matrix))])
            held = (matrix @ np.array(cells) << rough.measure.exponent) + (noise << rough.measure.exponent)
            made = replace(rough, released=tuple(map(int, held)))
            for pair in [((0, 44), (50, 99)), ((3, 4), (21, 22)), ((0, 9), (90, 99)), ((3, 4), (3, 4))]:
                found = made.difference(*pair)
                assert found.low <= found.value <= found.high
                if whole:
                    assert all(one == round(one) for one in (found.low, found.value, found.high))


MANY = ["ward", "sex", "band"]
KINDS = {"pure": privet.Pure(epsilon=1000), "zcdp": privet.Zcdp(rho=1000)}
PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"ward": "a"}, {"ward": "b"}),
    ({"ward": "a", "sex": "f"}, {"ward": "a"}),
    ({"ward": "a", "sex": "f"}, {"sex": "m", "band": 3}),
    ({"band": 1}, {}),
    ({"ward": "c", "band": 0}, {"band": 0, "ward": "c"}),
]


def crossed(kind: str, **facts: Any) -> privet.Marginals:
    """Return counts by pairs of three columns, of 600 rows."""
    rows = {
        "ward": [("a", "b", "c")[(row * row) % 3] for row in range(600)],
        "sex": ["fm"[row % 2] for row in range(600)],
        "band": [row % 5 for row in range(600)],
    }
    columns = {
        "ward": privet.category(["a", "b", "c"]),
        "sex": privet.category(["f", "m"]),
        "band": privet.integer(0, 4),
    }
    table = privet.Table(pa.table(rows), unit=privet.Rows(), columns=columns, **facts)
    session = privet.Session({"t": table}, budget=KINDS[kind])
    price: Any = {"epsilon": 1} if kind == "pure" else {"rho": F(1, 10)}
    return session.marginals("t", MANY, ways=2, **price)


def coefficients(found: privet.Marginals, given: dict[str, Any]) -> np.ndarray:
    """Return 1 for each cell of the whole table that has these values."""
    shape = found.measure.strategy.shape
    marked = np.zeros(shape)
    places: list[Any] = [slice(None)] * len(shape)
    for name, value in given.items():
        at = found.names.index(name)
        places[found.axes[at]] = found.values[at].index(value)
    marked[tuple(places)] = 1
    return marked.ravel()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_difference_of_marginals_has_the_variance_of_its_coefficients(
    kind: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    found = crossed(kind)
    row = coefficients(found, one) - coefficients(found, other)
    exact = float(found._reconstruction.covariance.of_rows(row[None])[0])
    made = found.difference(one, other)
    assert made.standard_error == pytest.approx(math.sqrt(max(exact, 0.0)), rel=1e-6, abs=1e-6)
    values = [found.counts(*each).to_dict() for each in (one, other)]
    counts = [
        next(
            n
            for n, *keys in zip(table["n"], *(table[name] for name in each), strict=True)
            if keys == list(each.values())
        )
        for table, each in zip(values, (one, other), strict=True)
    ]
    assert made.value == pytest.approx(counts[0] - counts[1], abs=1e-6)
    assert made.low <= made.value <= made.high
    wide = found.difference(one, other, confidence=0.99)
    assert wide.high - wide.low >= made.high - made.low


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_differences_of_marginals_cover(kind: str) -> None:
    found = crossed(kind)
    one, other = PAIRS[2]
    truth = sum(1 for row in range(600) if (row * row) % 3 == 0 and row % 2 == 0) - sum(
        1 for row in range(600) if row % 2 == 1 and row % 5 == 3
    )
    counts = np.zeros(found.measure.strategy.shape, dtype=np.int64)
    for row in range(600):
        cell = {"ward": (row * row) % 3, "sex": row % 2, "band": row % 5}
        at = [0, 0, 0]
        for place, name in enumerate(found.names):
            at[found.axes[place]] = found.values[place].index(
                {"ward": "abc"[cell["ward"]], "sex": "fm"[cell["sex"]], "band": cell["band"]}[name]
            )
        counts[tuple(at)] += 1
    draws, missed = (2_000 if kind == "zcdp" else 200), 0
    for _ in range(draws):
        released = replace(found, released=tuple(found.measure.draw_integers(counts.ravel().tolist())))
        made = released.difference(one, other)
        missed += not made.low <= truth <= made.high
    # false alarms below 1e-6: 5 standard errors of 5%; Laplace intervals may cover a little more
    assert missed <= draws * 0.05 + 5 * math.sqrt(draws * 0.05 * 0.95)
    assert missed >= draws * (0.05 if kind == "zcdp" else 0.03) - 5 * math.sqrt(draws * 0.05 * 0.95)


def test_a_known_total_takes_its_noise_out_of_differences() -> None:
    found = replace(crossed("zcdp", neighbors="change-one", units=600), total=600)
    assert found.difference({}, {}).standard_error == 0
    apart = found.difference({"ward": "a"}, {})
    assert apart.standard_error == pytest.approx(found.counts("ward").to_dict()["n_error"][0])
    assert apart.value == pytest.approx(found.counts("ward").to_dict()["n"][0] - 600, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ({"ward": "z"}, "declared value of ward"),
        ({"ward": None}, "declared value of ward"),
        ({"band": True}, "declared value of band"),
        ({"band": 1.5}, "declared value of band"),
        ({"floor": "a"}, "floor"),
        ({7: "a"}, "names of columns"),
        ("ward", "a value for each"),
        (None, "a value for each"),
        ({"ward": "a", "sex": "f", "band": 1}, "measured together"),
    ],
)
def test_a_difference_of_what_is_not_declared_or_not_measured_is_refused(one: Any, says: str) -> None:
    found = crossed("zcdp")
    with pytest.raises(privet.RequestError, match=says):
        found.difference(one, {"ward": "a"})
    with pytest.raises(privet.RequestError, match=says):
        found.difference({"ward": "a"}, one)
    with pytest.raises(privet.RequestError, match="confidence"):
        found.difference({}, {}, confidence=1)


@pytest.mark.parametrize("factor", [1.0, -3.0])
@pytest.mark.parametrize("value", [0.5, 4.0, 11.0, 40.0])
def test_the_tail_of_one_noise_is_its_own(value: float, factor: float) -> None:
    for law, beyond in (
        (Law("laplace", 5.0), math.exp(-value / abs(5 * factor)) / 2),
        (Law("gaussian", 5.0), math.erfc(value / abs(5 * factor) / math.sqrt(2)) / 2),
    ):
        above = _LawOfSum([(law, factor)]).above
        assert beyond * (1 - 1e-6) <= above(value) <= beyond * 1.001 + 1e-12
        assert above(-value) == pytest.approx(1 - above(value))
