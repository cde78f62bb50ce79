"""Intervals that cover a population hold its numbers, whatever the rows of one person have in common.

People are simulated, and noise is added to their sums. Seeds are fixed, so that nothing here fails by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.aggregates import CentredTotal, CountRows, Mean, Spread, Total
from privet.aggregates.aggregate import Argument, SampleSums, squares
from privet.core.relation import ColumnRef
from privet.inference.bars import Law
from privet.inference.equation import Equation, NoiseTerm

Floats = NDArray[np.float64]
Family = Literal["laplace", "gaussian"]

ARGUMENT = Argument(
    expression=ColumnRef("x"), low=Fraction(0), high=Fraction(1), step=Fraction(1, 1000), nullable=False, where=None
)
SHAPE = (2, 5)
MEAN, VARIANCE = 2 / 7, 10 / (49 * 8)
RUNS = 1500

WORLDS = [(200, 1, 0.0, 1, 1.0), (200, 1, 0.0, 1, 0.1), (40, 1, 0.0, 1, 0.5)]
"""People, rows of each, their correlation, the limit C and epsilon: one row for each person."""
PEOPLE = [(200, 5, 0.0, 5, 1.0), (200, 5, 0.2, 5, 1.0), (200, 5, 1.0, 5, 1.0), (200, 5, 1.0, 2, 1.0)]


@dataclass(frozen=True)
class Released:
    """The noisy sums of many simulated samples, in grid units, and the laws of their noise."""

    sums: dict[str, Floats]
    laws: dict[str, Law]
    most: float
    rows: float
    """The weighted number of rows of one sample."""

    def of(self, *names: str, beside: tuple[str | None, ...] = (), most: float | None = None) -> SampleSums:
        return SampleSums(
            tuple(self.sums[name] for name in names),
            tuple(self.laws[name] for name in names),
            self.most if most is None else most,
            tuple(None if name is None else (self.sums[name], self.laws[name]) for name in beside),
        )


def sampled(people: int, rows: int, icc: float, limit: int, epsilon: float, family: Family, seed: int) -> Released:
    """Return noisy sums over people whose rows share their value with probability sqrt(icc) each."""
    rng = np.random.default_rng(seed)
    own, common = rng.beta(*SHAPE, (RUNS, people, rows)), rng.beta(*SHAPE, (RUNS, people, 1))
    x = np.round(1000 * np.where(rng.random(own.shape) < icc**0.5, common, own)) / 1000
    weight, centred = min(1.0, limit / rows), ARGUMENT.centred()
    steps = (x - 0.5) / float(centred.step)
    square = squares(centred)
    exact = {
        "count": np.full(RUNS, weight * people * rows),
        "centred": weight * steps.sum((1, 2)),
        "square": weight * (steps**2 - square.offset).sum((1, 2)),
        "plain": weight * (1000 * x).sum((1, 2)),
        "part": weight * (x > 0.3).sum((1, 2)),
    }
    widest = {"count": 1.0, "centred": centred.high, "square": square.most, "plain": 1000.0, "part": 1.0}
    laws = {name: Law(family, limit * float(widest[name]) / epsilon) for name in exact}
    draw = rng.laplace if family == "laplace" else rng.normal
    noisy = {name: sums + draw(0.0, laws[name].scale, RUNS) for name, sums in exact.items()}
    return Released(noisy, laws, float(limit), weight * people * rows)


def above(rng: np.random.Generator) -> float:
    """Return the share of the population above 0.3, nearly."""
    return float(np.mean(np.round(1000 * rng.beta(*SHAPE, 4_000_000)) > 300))


SHARE = above(np.random.default_rng(0))


def share_of(one: Released, most: float) -> Equation:
    """Return the share as an answer's ratio of counts makes it."""
    a, b = one.sums["part"], one.sums["count"]
    unit, none, rows = np.ones_like(a), np.zeros_like(a), np.maximum(b, 0.0)
    noise = (NoiseTerm(one.laws["part"], unit, none), NoiseTerm(one.laws["count"], none, -unit))
    return Equation(a, b, noise, (none, most * rows, -most * rows), 0.0, 1.0)


def equations(one: Released, most: float | None = None) -> dict[str, tuple[Equation, float]]:
    """Return every kind of number, with its truth."""
    return {
        "mean": (Mean(ARGUMENT).equation(one.of("centred", "count", beside=("square",), most=most)), MEAN),
        "mean by bounds": (Mean(ARGUMENT).equation(one.of("centred", "count", beside=(None,), most=most)), MEAN),
        "variance": (Spread(ARGUMENT, "var_pop").equation(one.of("centred", "square", "count", most=most)), VARIANCE),
        "count": (CountRows().equation(one.of("part", most=most)), one.rows * SHARE),
        "sum": (Total(ARGUMENT).equation(one.of("plain", beside=(None,) * 3, most=most)), one.rows * MEAN),
        "sum by squares": (
            CentredTotal(ARGUMENT).equation(one.of("centred", "count", beside=(None, None, "square"), most=most)),
            one.rows * MEAN,
        ),
        "share": (share_of(one, one.most if most is None else most), SHARE),
    }


def coverage(equation: Equation, truth: float) -> float:
    bars = equation.bars(0.05)
    return float(np.mean((bars.low <= truth) & (truth <= bars.high)))


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("world", [*WORLDS, *PEOPLE])
def test_intervals_cover_the_population(world: tuple[int, int, float, int, float], family: Family) -> None:
    released = sampled(*world, family, seed=7)
    for name, (equation, truth) in equations(released).items():
        assert coverage(equation, truth) >= 0.94 - 0.006, name  # one standard error of a simulated 94%


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_one_row_of_each_person_is_covered_no_more_than_needed(family: Family) -> None:
    """With C = 1 and the squares released, intervals of means and shares are not conservative."""
    found = equations(sampled(200, 1, 0.0, 1, 1.0, family, seed=3))
    for name in ("mean", "share"):
        assert coverage(*found[name]) <= 0.97


def test_rows_of_one_person_taken_for_independent_are_covered_too_rarely() -> None:
    """What the factor C is for: without it, intervals miss far more often than they claim."""
    naive = equations(sampled(200, 5, 1.0, 5, 1.0, "laplace", seed=5), most=1.0)
    for name in ("mean", "count", "share"):
        assert coverage(*naive[name]) < 0.85


def test_the_noise_alone_is_narrower_and_covers_the_sample() -> None:
    released = sampled(200, 5, 1.0, 5, 1.0, "laplace", seed=5)
    for equation, _ in equations(released).values():
        wide, narrow = equation.bars(0.05), equation.of_sample.bars(0.05)
        assert (narrow.high - narrow.low <= wide.high - wide.low + 1e-9).all()
