"""REGR_SLOPE, REGR_INTERCEPT and REGR_R2 in SQL: what they are, and how wide they are under noise."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest

import privet
from privet.aggregates import RegressionLine
from privet.aggregates.aggregate import Argument
from privet.core.numbers import rational
from privet.core.relation import ColumnRef
from privet.inference.bars import Law

QUESTION = "SELECT REGR_SLOPE(y, x) AS slope, REGR_INTERCEPT(y, x) AS start, REGR_R2(y, x) AS share FROM t"


def session(n: int = 500) -> tuple[privet.Session, pandas.DataFrame]:
    draw = np.random.default_rng(3)
    x = draw.uniform(20, 80, n)
    data = pandas.DataFrame({"x": x, "y": 10 + 0.5 * x + draw.normal(0, 3, n), "g": ["a", "b"] * (n // 2)})
    columns = {"x": privet.number(0, 100), "y": privet.number(0, 100), "g": privet.category(["a", "b"])}
    table = privet.Table(data, unit=privet.Rows(), columns=columns)
    return privet.Session({"t": table}, budget=privet.Pure(epsilon=10**9)), data


def test_with_hardly_any_noise_they_are_those_of_the_rows() -> None:
    one, data = session()
    answer = one.ask(QUESTION, epsilon=10**7)
    slope, start = np.polyfit(data["x"], data["y"], 1)
    found = {name: answer[name].values[0] for name in ("slope", "start", "share")}
    assert found["slope"] == pytest.approx(slope, rel=1e-3)
    assert found["start"] == pytest.approx(start, rel=1e-3)
    assert found["share"] == pytest.approx(np.corrcoef(data["x"], data["y"])[0, 1] ** 2, rel=1e-3)


def test_the_builder_asks_the_same() -> None:
    one, _ = session()
    built = one.table("t").agg(slope=privet.query.terms.aggregate("regr_slope", "y", "x"))
    assert one.plan(built, epsilon=1).digest == one.plan("SELECT REGR_SLOPE(y, x) AS slope FROM t", epsilon=1).digest
    assert one.plan("SELECT REGR_SLOPE(x, y) AS slope FROM t", epsilon=1).digest != one.plan(built, epsilon=1).digest


def test_an_interval_has_no_ends_where_the_noise_hides_the_spread() -> None:
    one, _ = session(20)
    question = "SELECT REGR_SLOPE(y, x) AS slope, REGR_INTERCEPT(y, x) AS start FROM t"
    answer = one.ask(question, epsilon=0.001, confidence=1 - 1e-8)  # else a spread far from 0 is only noise at times
    for name in ("slope", "start"):
        assert math.isinf(answer[name].low[0])
        assert math.isinf(answer[name].high[0])


def line(form: str) -> RegressionLine:
    ends = {"low": rational(0, "low"), "high": rational(100, "high")}
    y, x = (Argument(expression=ColumnRef(name), step=None, nullable=False, where=None, **ends) for name in ("y", "x"))
    return RegressionLine(y, x, form)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["regr_slope", "regr_intercept"])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("size", [0.01, 0.2])
def test_intervals_hold_their_level(form: str, family: str, size: float) -> None:
    # 150 trials at .95: five standard deviations are .089; seeds are fixed besides
    aggregate, draw = line(form), np.random.default_rng(11)
    x = draw.uniform(20, 80, 300)
    y = 10 + 0.5 * x + draw.normal(0, 3, 300)
    exact = []
    for total in aggregate.sums():
        if total.expression is None:
            exact.append(300.0)
            continue
        values = {"x": x, "y": y}.get(total.expression.column or "", (x - 50) * (y - 50))
        steps = np.round((values - float(total.origin)) / float(total.step))
        exact.append(float(np.sum(steps**total.power - total.offset)))
    truth = aggregate.read(*(np.array([one]) for one in exact))[0]
    scales = [size * 300 * total.most for total in aggregate.sums()]
    laws = [Law(family, scale / 30) for scale in scales]  # type: ignore[arg-type]
    held = 0
    for _ in range(150):
        noise = [law.scale * (draw.laplace() if family == "laplace" else draw.normal()) for law in laws]
        released = [np.array([one + other]) for one, other in zip(exact, noise, strict=True)]
        bars = aggregate.bars(released, laws, 0.05)
        held += bool(bars.low[0] <= truth <= bars.high[0])
    assert 0.86 <= held / 150 <= 1
