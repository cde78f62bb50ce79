"""What was released, number by number: estimates and intervals come out of it as the answer has them, for nothing."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.answer import Answer
from privet.core.errors import RequestError
from privet.mechanisms import NoiseLaw
from privet.planner.measurements import Measurement, Measurements

ROWS = 4000
COLUMNS = {
    "age": privet.integer(18, 98),
    "cost": privet.number(0, 1000),
    "ward": privet.category(["a", "b"]),
    "town": privet.text(),
}


def rows() -> pa.Table:
    chance = random.Random(5)
    return pa.table(
        {
            "pid": [i % 1300 for i in range(ROWS)],
            "age": [chance.randint(18, 98) for _ in range(ROWS)],
            "cost": [chance.uniform(0, 1000) for _ in range(ROWS)],
            "ward": [chance.choice("ab") for _ in range(ROWS)],
            "town": [chance.choice(["x", "y", "z"]) for _ in range(ROWS)],
        }
    )


def session(budget: Any = None, *, person: bool = False, **facts: Any) -> privet.Session:
    unit = privet.Person("pid") if person else privet.Rows()
    columns = {"pid": privet.integer(), **COLUMNS} if person else COLUMNS
    source = rows() if person else rows().drop_columns(["pid"])
    if person:
        facts["contribution"] = privet.Contribution(groups=2, rows=3)
    table = privet.Table(source, unit=unit, columns=columns, **facts)
    return privet.Session({"t": table}, budget=budget or privet.Approximate(epsilon=1000, delta=1e-6))


@pytest.fixture(scope="module")
def asked() -> Iterator[privet.Session]:
    with session() as made:
        yield made


def only(answer: Answer, column: str, words: str, **group: Any) -> Measurement:
    """Return the measurement that a column is read from, by what it is of."""
    found = [
        one
        for one in answer.measurements().of(column)
        if one.what.startswith(words) and group.items() <= one.group.items()
    ]
    (one,) = found
    return one


def half_width(one: Measurement) -> float:
    assert one.law is not None
    assert one.step is not None
    return float(one.law.quantile(0.975) * one.step)


BUDGETS = {"laplace": privet.Pure(epsilon=1000), "gaussian": privet.Zcdp(rho=1000)}


def cost_of(family: str) -> dict[str, Any]:
    return {"epsilon": F(1, 2)} if family == "laplace" else {"rho": F(1, 10)}


@pytest.mark.parametrize("family", BUDGETS)
@pytest.mark.parametrize("person", [False, True])
def test_counts_and_sums_and_their_intervals_follow_from_the_measurements_alone(family: str, person: bool) -> None:
    with session(BUDGETS[family], person=person) as made:
        # each by itself: together with Gaussian noise, the sum would be read beside the count
        counts, sums = (
            made.ask(f"SELECT ward, {asked} FROM t GROUP BY ward ORDER BY ward", **cost_of(family))
            for asked in ("COUNT(*) AS n", "SUM(cost) AS total")
        )
    for row, ward in enumerate("ab"):
        for answer, column, words in ((counts, "n", "the count of rows"), (sums, "total", "the sum of cost,")):
            one = only(answer, column, words, ward=ward)
            series = answer[column]
            assert type(one.released) is int
            assert (one.centre, one.power, one.less, one.kind) == (0, 1, 0, "sum")
            assert one.value == pytest.approx(float(one.released * (one.step or 0)))
            shown = series.values[row]
            assert shown == pytest.approx(one.value, rel=1e-12, abs=0.5 if column == "n" else 0)
            assert series.low is not None
            assert series.high is not None
            half = half_width(one)
            assert series.low[row] == pytest.approx(max(0.0, one.value - half), rel=1e-4, abs=2e-4 * half)
            assert series.high[row] == pytest.approx(one.value + half, rel=1e-4, abs=2e-4 * half)
            assert one.deviation == pytest.approx((series.error or ())[row], rel=0.01)  # but for rounding


def beyond(t: float, one: float, other: float) -> float:
    """Return P[|X + Y| > t] for two continuous Laplace noises of these scales, by numerical integration."""
    grid = np.linspace(-40 * one, 40 * one, 200_001)
    density = np.exp(-np.abs(grid) / one) / (2 * one)
    left = t - grid
    above = np.where(left > 0, np.exp(-np.abs(left) / other) / 2, 1 - np.exp(-np.abs(left) / other) / 2)
    return float(2 * np.sum(density * above) * (grid[1] - grid[0]))


def test_averages_and_their_intervals_follow_from_the_noisy_sum_and_count(asked: privet.Session) -> None:
    answer = asked.ask("SELECT AVG(cost) AS mean FROM t", epsilon=F(1, 10))
    charged = len(asked.history())
    total, count = only(answer, "mean", "the sum of cost - 500"), only(answer, "mean", "the count of rows")
    assert len(answer.measurements()) == 2
    assert len(asked.history()) == charged
    assert total.centre == 500
    assert answer.value == pytest.approx(500 + total.value / count.value, rel=1e-12)
    scales = []
    for one in (total, count):
        assert one.law is not None
        assert one.step is not None
        name, scale = one.law.parameter
        assert name == "scale"
        scales.append(float(scale * one.step))
    for end in answer.interval:  # Fieller's: the noise of total - theta * count reaches that far once in twenty times
        theta = end - 500
        reach = abs(total.value - theta * count.value)
        assert beyond(reach, scales[0], abs(theta) * scales[1]) == pytest.approx(0.05, rel=0.02)


def test_variances_and_their_intervals_follow_from_the_measurements_alone(asked: privet.Session) -> None:
    answer = asked.ask("SELECT VAR_POP(age) AS v FROM t", epsilon=1)
    count = only(answer, "v", "the count of rows")
    total = only(answer, "v", "the sum of age - 58,")
    square = only(answer, "v", "the sum of (age - 58)^2 - 800,")
    assert (total.centre, total.power, square.power, square.less) == (58, 1, 2, 800)

    def variance(n: Any, s: Any, q: Any) -> Any:
        return q / n + float(square.less) - (s / n) ** 2

    assert answer.value == pytest.approx(variance(count.value, total.value, square.value), rel=1e-9)
    noisy = []
    for one in (count, total, square):
        assert one.law is not None
        noisy.append(one.value - np.asarray(one.law.sample(200_000), dtype=np.float64) * float(one.step or 0))
    ends = np.quantile(variance(*noisy), [0.025, 0.975])
    assert answer.interval == pytest.approx(tuple(ends), abs=0.04 * float(ends[1] - ends[0]))


def test_a_number_that_is_public_is_listed_and_has_no_noise() -> None:
    with session(privet.Pure(epsilon=10), neighbors="change-one", units=ROWS) as made:
        answer = made.ask("SELECT AVG(cost) AS mean FROM t", epsilon=1)
    total, count = only(answer, "mean", "the sum of cost"), only(answer, "mean", "the number of rows")
    assert (count.kind, count.law, count.released) == ("public", None, ROWS)
    assert answer.value == pytest.approx(500 + total.value / count.value, rel=1e-12)


def test_an_answer_that_is_found_again_has_the_same_measurements(asked: privet.Session) -> None:
    said = "SELECT ward, AVG(age) AS m FROM t GROUP BY ward"
    first, again = asked.ask(said, epsilon=F(1, 3)), asked.ask(said, epsilon=F(1, 3))
    assert first.receipt == again.receipt
    assert first.measurements() == again.measurements()
    assert len(first.measurements()) == 4


def test_a_batch_lists_what_each_of_its_questions_is_read_from(asked: privet.Session) -> None:
    counts, means = asked.ask_all(
        ["SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", "SELECT AVG(age) AS m FROM t"], epsilon=1
    )
    assert [one.value for one in counts.measurements()] == list(counts["n"].values)
    total, count = only(means, "m", "the sum of age"), only(means, "m", "the count of rows")
    assert means.value == pytest.approx(58 + total.value / count.value)


def test_each_level_lists_its_own_numbers_before_they_are_made_to_agree(asked: privet.Session) -> None:
    answer = asked.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward)", epsilon=1)
    found = answer.measurements()
    assert [(one.level, dict(one.group)) for one in found] == [
        ("(ward)", {"ward": "a"}),
        ("(ward)", {"ward": "b"}),
        ("()", {}),
    ]
    a, b, total = (one.value for one in found)
    # three equal variances: the best estimate of the total
    assert answer["n"].values[2] == pytest.approx((2 * total + a + b) / 3)
    assert all(one.columns == ("n",) for one in found)


def test_rounds_list_what_each_released_and_what_they_say_together(asked: privet.Session) -> None:
    answer = asked.ask("SELECT AVG(cost) AS mean FROM t", within="0.9%", at_most=4)
    found = answer.measurements()
    rounds = max(one.round for one in found)
    assert rounds > 1
    assert answer.accuracy is not None
    assert rounds == len(answer.accuracy.receipts)
    combined = {one.what: one for one in found if one.kind == "combined"}
    total, count = (next(one for what, one in combined.items() if word in what) for word in ("sum", "count"))
    assert answer.value == pytest.approx(500 + total.value / count.value, rel=1e-9)
    each = [one for one in found if one.what == count.what and one.round]
    assert [one.round for one in each] == list(range(1, rounds + 1))
    laws = [one.law for one in each]
    assert all(isinstance(law, NoiseLaw) for law in laws)
    weights = [1 / law.variance for law in laws if law is not None]
    average = sum(w * one.value for w, one in zip(weights, each, strict=True)) / sum(weights)
    assert count.value == pytest.approx(average, abs=0.02 * (count.deviation or 0))
    assert count.deviation == pytest.approx(sum(weights) ** -0.5, rel=0.01)


def test_choices_are_named_and_have_no_law(asked: privet.Session) -> None:
    answer = asked.ask("SELECT MEDIAN(age) AS m, MODE(ward) AS w FROM t", epsilon=1)
    chosen = [one for one in answer.measurements() if one.kind == "selection"]
    assert {one.mechanism for one in chosen} == {"Exponential", "Permute-and-flip"}
    assert all(one.law is None and one.deviation is None for one in chosen)
    middle = next(one for one in chosen if one.what == "the median of age")
    assert middle.value == answer["m"].values[0] == middle.centre + middle.step * middle.released
    assert [one.law for one in chosen if "half-width" in one.what] == [None]
    assert answer["m"].low[0] <= middle.value <= answer["m"].high[0]
    assert next(one for one in chosen if one.columns == ("w",)).value == answer["w"].values[0]


def test_ranges_list_the_noisy_count_of_each(asked: privet.Session) -> None:
    found = asked.ask("SELECT BOUNDS(cost) FROM t", epsilon=1).measurements()
    assert len(found) == 2 * 97 + 1
    inside = next(one for one in found if one.what == "the count of rows with cost from 256 to 512")
    assert inside.law is not None
    assert abs(inside.value - ROWS * 0.256) < 200


def test_groups_that_are_found_are_selections(asked: privet.Session) -> None:
    answer = asked.ask("SELECT town, COUNT(*) AS n FROM t GROUP BY town", epsilon=1)
    shown = [one for one in answer.measurements() if one.kind == "selection"]
    assert [one.value for one in shown] == ["x", "y", "z"]
    assert {one.mechanism for one in shown} <= {"Optimal rule for keys", "Laplace threshold", "Gaussian threshold"}
    assert all(one.law is None for one in shown)


@pytest.mark.parametrize(
    ("said", "terms"),
    [
        ("SELECT ward, AVG(cost) AS c, VAR_POP(age) AS v FROM t GROUP BY ward", {"epsilon": 1}),
        ("SELECT town, SUM(age) AS s FROM t GROUP BY town", {"epsilon": F(3, 2)}),
        ("SELECT MEDIAN(age) AS m, MIN(age) AS low FROM t", {"epsilon": 1}),
        ("SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward)", {"epsilon": 2}),
        ("SELECT BOUNDS(cost) FROM t", {"epsilon": 1}),
        ("SELECT ward, MODE(town) AS m FROM t GROUP BY ward", {"epsilon": 1}),
    ],
)
@pytest.mark.parametrize("budget", ["approximate", "zcdp"])
def test_the_ledger_tells_the_same_from_what_it_keeps(said: str, terms: dict[str, Any], budget: str) -> None:
    made = privet.Approximate(epsilon=1000, delta=1e-6) if budget == "approximate" else privet.Zcdp(rho=1000)
    how = terms if budget == "approximate" else {"rho": terms["epsilon"]}
    with session(made) as opened:
        if budget == "zcdp":  # which has no delta to find groups with
            said = said.replace("SELECT ward, MODE(town)", "SELECT ward, MODE(ward)").replace("town", "ward")
        answer = opened.ask(said, **how)
        told = opened.ledger.certificate(answer.receipt.entry)  # type: ignore[attr-defined]
    assert "measured" not in told
    own = answer.certificate()["measurements"]
    assert json.loads(json.dumps(own)) == own

    def plain(listed: list[dict[str, Any]]) -> list[str]:
        kept = [{name: one[name] for name in one if name not in ("columns", "level")} for one in listed]
        return sorted(json.dumps(one, sort_keys=True) for one in kept)

    assert plain(told["measurements"]) == plain(own)


def test_groups_are_named_as_the_question_names_them() -> None:
    with session(privet.Zcdp(rho=1000)) as made:
        asked = "SELECT ward, BIN(age, 40) AS old, COUNT(*) AS n FROM t GROUP BY ward, BIN(age, 40)"
        answer = made.ask(asked, rho=1)
        turned = made.ask("SELECT BIN(age, 40) AS old, ward, COUNT(*) AS n FROM t GROUP BY 1, 2", rho=1)
    for told in (answer, turned):
        released = {(one.group["ward"], one.group["old"]): one.value for one in told.measurements()}
        rows = zip(told["ward"].values, told["old"].values, told["n"].values, strict=True)
        assert released == {(ward, old): n for ward, old, n in rows}
        assert {one.law for one in told.measurements()} == {
            privet.Gaussian(sensitivity=1, rho=1).law(len(released), whole=True)
        }
    assert len(answer) > 2


@pytest.mark.parametrize("family", BUDGETS)
def test_a_limit_that_is_chosen_is_listed_with_the_numbers_that_chose_it(family: str) -> None:
    with session(BUDGETS[family], person=True) as made:
        answer = made.ask("SELECT COUNT(*) AS n, SUM(cost) AS s FROM t", contribution="auto", **cost_of(family))
        told = made.ledger.certificate(answer.receipt.entry)  # type: ignore[attr-defined]
    (limit,) = answer.limits
    assert [one.released for one in answer.measurements() if one.what == "the contribution limit"] == [limit]
    bins = [one for one in answer.measurements() if one.what.startswith("the number of people by")]
    assert len(bins) > 2
    # 21 Laplace noises of scale 10 add up to 450, seven standard deviations, less than once in 1e10 runs
    assert sum(one.value for one in bins) == pytest.approx(1300, abs=450)
    count = only(answer, "n", "the count of rows")
    assert count.deviation == pytest.approx((answer["n"].error or ())[0], rel=0.01)
    assert told["measurements"] == answer.certificate()["measurements"]


def test_measurements_are_a_table(asked: privet.Session) -> None:
    found = asked.ask("SELECT ward, AVG(age) AS m FROM t GROUP BY ward", epsilon=F(1, 3)).measurements()
    flat = found.to_dict()
    assert list(flat)[:3] == ["ward", "sum", "kind"]
    assert {len(values) for values in flat.values()} == {4}
    assert flat["step"] == ["1/2", "1/2", "1", "1"]
    assert flat["centre"] == ["58", "58", "0", "0"]
    assert found.to_arrow().num_rows == len(found.to_pandas()) == found.to_polars().height == 4
    assert "the sum of age - 58" in repr(found)
    assert "DiscreteLaplace(scale=480)" in repr(found)
    assert ">the count of rows</td>" in found._repr_html_()
    assert isinstance(found, Measurements)
    assert found.of("ward") == Measurements(())
    with pytest.raises(RequestError):
        found.of(3)  # type: ignore[arg-type]
    assert math.isfinite(sum(one.deviation or 0.0 for one in found))
