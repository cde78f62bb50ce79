"""Every mechanism with its audit. A mechanism without one fails the build."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet.mechanisms import (
    AboveThreshold,
    Average,
    Exponential,
    FiniteMechanism,
    Gaussian,
    GaussianThreshold,
    Laplace,
    LaplaceThreshold,
    Local,
    Mechanism,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    ProposeTestRelease,
    Quantile,
    Quantiles,
    RandomizedResponse,
    RecursiveQuantiles,
    SampleAggregate,
    SmoothQuantile,
    SmoothSensitivity,
    Sparse,
    TopK,
    TopKWithGaps,
)

from .bits import PAIRS
from .blackbox import Draw
from .entry import Entry

_SLOW = 4_000
"""Releases of a mechanism that draws them one by one."""


def alike(make: Callable[[Fraction], Mechanism]) -> Callable[[Fraction], Draw]:
    """Return draws of a mechanism that releases many equal values at once, each with noise of its own."""

    def made(leak: Fraction) -> Draw:
        mechanism = make(leak)
        return lambda value, count: mechanism.release(np.full(count, value))

    return made


def in_rows(make: Callable[[Fraction], Mechanism]) -> Callable[[Fraction], Draw]:
    """Return draws of a mechanism that releases a vector, many copies of it at once."""

    def made(leak: Fraction) -> Draw:
        mechanism = make(leak)
        return lambda value, count: mechanism.release(np.tile(np.asarray(value), (count, 1)))

    return made


def one_by_one(make: Callable[[Fraction], Mechanism]) -> Callable[[Fraction], Draw]:
    """Return draws of a mechanism that makes one release at a time."""

    def made(leak: Fraction) -> Draw:
        mechanism = make(leak)

        def draw(value: Any, count: int) -> Any:
            return [mechanism.release(value) for _ in range(count)]

        return draw

    return made


def _laplace(**facts: Any) -> Callable[[Fraction], Mechanism]:
    return lambda leak: Laplace(sensitivity=1, epsilon=leak, **facts)


def _gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=1, epsilon=4 * leak, delta=Fraction(1, 10**6))


def _whole_gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=2, epsilon=4 * leak, delta=Fraction(1, 10**6), grid="whole")


def _races(leak: Fraction) -> Draw:
    mechanism = Exponential(sensitivity=1, epsilon=2 * leak)
    return lambda scores, count: noise.race(np.asarray(scores), mechanism.rate, size=count)  # as `release` draws one


def _leaking_matrix(leak: Fraction) -> FiniteMechanism:
    # a truthful answer is 4**leak times likelier under its own input
    truth = Fraction(str(round(4 ** float(leak), 6)))
    row = [truth / (truth + 2), 1 / (truth + 2), 1 / (truth + 2)]
    return FiniteMechanism([row, row[1:] + row[:1]])


def _crossings(make: Callable[[Fraction], Sparse]) -> Callable[[Fraction], Draw]:
    """Return draws of where queries crossed a threshold, and of what was measured there."""

    def made(leak: Fraction) -> Draw:
        mechanism = make(leak)

        def draw(queries: Any, count: int) -> Any:
            found = [mechanism.release(queries) for _ in range(count)]
            return [(*one.indices, *(int(value) for value in one.values)) for one in found]

        return draw

    return made


def _winners(leak: Fraction) -> Draw:
    mechanism = TopKWithGaps(k=2, sensitivity=1, epsilon=2 * leak)
    return lambda scores, count: [mechanism.release(scores).indices for _ in range(count)]


def _joint_quantiles(leak: Fraction) -> Quantiles:
    return Quantiles(quantiles=[0.3, 0.7], low=0, high=3, step=1, epsilon=leak, neighbors="change-one")


def _samples(leak: Fraction) -> Draw:
    median = Quantile(q=0.5, low=0, high=3, step=1, epsilon=leak, neighbors="change-one")
    mechanism = SampleAggregate(estimator=np.max, blocks=1, aggregate=median)
    return lambda rows, count: [mechanism.release(rows) for _ in range(count)]


_APART = ([0] * 10, [-1] + [1] * 9)
"""Scores that move in opposite directions, as far as they may."""

_FEW = Fraction(1, 20)
"""A delta for rules that show keys, large enough for samples to resolve."""

AUDITS: tuple[Entry, ...] = (
    Entry(name="Laplace, whole numbers", mechanism=Laplace, make=alike(_laplace()), neighbours=(10, 11), claimed=1),
    Entry(
        name="Laplace, reals",
        mechanism=Laplace,
        make=alike(_laplace(grid="fine")),
        neighbours=(10.25, 11.25),
        claimed=1,
        pairs=PAIRS,
    ),
    Entry(
        name="Laplace, vectors",
        mechanism=Laplace,
        make=in_rows(_laplace()),
        neighbours=([0.0, 0.0], [0.5, -0.5]),
        claimed=1,
    ),
    Entry(
        name="Gaussian, reals",
        mechanism=Gaussian,
        make=alike(_gaussian),
        neighbours=(0.0, 1.0),
        claimed=_gaussian(Fraction(1)).event,
        pairs=PAIRS,
    ),
    Entry(
        name="Gaussian, vectors",
        mechanism=Gaussian,
        make=in_rows(_gaussian),
        neighbours=([0.0, 0.0], [0.6, -0.8]),
        claimed=_gaussian(Fraction(1)).event,
    ),
    Entry(
        name="Gaussian, whole numbers",
        mechanism=Gaussian,
        make=one_by_one(_whole_gaussian),
        neighbours=(5, 7),
        claimed=_whole_gaussian(Fraction(1)).event,
        samples=_SLOW,
        fault=Fraction(2),
    ),
    Entry(
        name="Exponential",
        mechanism=Exponential,
        make=_races,
        neighbours=([0] * 10, [-1] + [1] * 9),
        claimed=2,
    ),
    Entry(
        name="Randomized response",
        mechanism=RandomizedResponse,
        make=alike(lambda leak: RandomizedResponse(epsilon=leak)),
        neighbours=(0, 1),
        claimed=1,
    ),
    Entry(
        name="Randomized response of 5",
        mechanism=RandomizedResponse,
        make=alike(lambda leak: RandomizedResponse(epsilon=leak, categories=5)),
        neighbours=(0, 3),
        claimed=1,
    ),
    Entry(
        name="Finite mechanism",
        mechanism=FiniteMechanism,
        make=alike(_leaking_matrix),
        neighbours=(0, 1),
        claimed=_leaking_matrix(Fraction(1)).event,
    ),
    Entry(
        name="Above threshold",
        mechanism=AboveThreshold,
        make=_crossings(lambda leak: AboveThreshold(threshold=1, sensitivity=1, epsilon=leak, grid="whole")),
        neighbours=([0, 0, 0, 1], [1, 1, 1, 0]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(4),
    ),
    Entry(
        name="Sparse vector",
        mechanism=Sparse,
        make=_crossings(lambda leak: Sparse(threshold=1, limit=2, sensitivity=1, epsilon=leak, grid="whole")),
        neighbours=([0, 0, 1, 1], [1, 1, 0, 0]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(5),
    ),
    Entry(
        name="Sparse vector, measured",
        mechanism=NumericSparse,
        make=_crossings(lambda leak: NumericSparse(threshold=1, limit=1, sensitivity=1, epsilon=leak, grid="whole")),
        neighbours=([0, 0, 1], [1, 1, 0]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(5),
    ),
    Entry(
        name="Keys, optimal rule",
        mechanism=OptimalKeys,
        make=alike(lambda leak: OptimalKeys(epsilon=leak, delta=_FEW)),
        neighbours=(2, 3),
        claimed=(1, _FEW),
    ),
    Entry(
        name="Keys, Laplace threshold",
        mechanism=LaplaceThreshold,
        make=alike(lambda leak: LaplaceThreshold(epsilon=leak, delta=_FEW)),
        neighbours=(2, 3),
        claimed=1,
    ),
    Entry(
        name="Keys, Gaussian threshold",
        mechanism=GaussianThreshold,
        make=alike(lambda leak: GaussianThreshold(epsilon=4 * leak, delta=_FEW)),
        neighbours=(1, 2),
        claimed=GaussianThreshold(epsilon=4, delta=_FEW).event,
        fault=Fraction(2),
    ),
    Entry(
        name="Quantile",
        mechanism=Quantile,
        make=one_by_one(lambda leak: Quantile(q=0.5, low=0, high=3, step=1, epsilon=leak)),
        neighbours=([0], [0, 1]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(5),
    ),
    Entry(
        name="Quantiles, recursive",
        mechanism=RecursiveQuantiles,
        make=one_by_one(lambda leak: RecursiveQuantiles(quantiles=[0.25, 0.75], low=0, high=3, step=1, epsilon=leak)),
        neighbours=([0], [0, 1]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(12),
    ),
    Entry(
        name="Permute and flip",
        mechanism=PermuteAndFlip,
        make=one_by_one(lambda leak: PermuteAndFlip(sensitivity=1, epsilon=2 * leak)),
        neighbours=_APART,
        claimed=2,
        samples=_SLOW,
        fault=Fraction(3),
    ),
    Entry(
        name="Noisy maximum, Laplace",
        mechanism=NoisyMax,
        make=one_by_one(lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="laplace")),
        neighbours=_APART,
        claimed=2,
        samples=_SLOW,
        fault=Fraction(3),
    ),
    Entry(
        name="Top k",
        mechanism=TopK,
        make=one_by_one(lambda leak: TopK(k=2, sensitivity=1, epsilon=2 * leak)),
        neighbours=([0] * 4, [-1, -1, 1, 1]),
        claimed=2,
        samples=_SLOW,
        fault=Fraction(3),
    ),
    Entry(
        name="Top k with gaps",
        mechanism=TopKWithGaps,
        make=_winners,
        neighbours=([0] * 4, [-1, -1, 1, 1]),
        claimed=2,
        samples=_SLOW,
        fault=Fraction(4),
    ),
    Entry(
        name="Quantiles, jointly",
        mechanism=Quantiles,
        make=one_by_one(_joint_quantiles),
        neighbours=([0, 0, 0, 3, 3], [0, 0, 3, 3, 3]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(12),
    ),
    Entry(
        name="Smooth sensitivity",
        mechanism=SmoothSensitivity,
        make=one_by_one(lambda leak: SmoothSensitivity(low=0, high=20, step=1, epsilon=leak)),
        neighbours=(Local(9, [1] * 40), Local(10, [1] * 40)),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(12),
    ),
    Entry(
        name="Smooth quantile",
        mechanism=SmoothQuantile,
        make=one_by_one(lambda leak: SmoothQuantile(q=0.5, low=0, high=20, step=1, epsilon=leak)),
        neighbours=([9] * 41 + [10] * 40, [9] * 40 + [10] * 41),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(12),
    ),
    Entry(
        name="Average",
        mechanism=Average,
        make=one_by_one(lambda leak: Average(low=0, high=1, step=1, epsilon=leak)),
        neighbours=([], [1]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(3),
    ),
    Entry(
        name="Propose, test, release",
        mechanism=ProposeTestRelease,
        make=one_by_one(lambda leak: ProposeTestRelease(bound=1, epsilon=leak, delta=_FEW)),
        neighbours=(Local(5, [1] * 3), Local(6, [1] * 4)),
        claimed=ProposeTestRelease(bound=1, epsilon=1, delta=_FEW).event,
        samples=_SLOW,
        fault=Fraction(4),
    ),
    Entry(
        name="Sample and aggregate",
        mechanism=SampleAggregate,
        make=_samples,
        neighbours=([0, 0, 0], [0, 0, 3]),
        claimed=1,
        samples=_SLOW,
        fault=Fraction(12),
    ),
)
