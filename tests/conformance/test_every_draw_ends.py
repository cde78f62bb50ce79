"""Every draw ends: each mechanism and each sampler, at any parameter that a double has, within a second or refused.

Time is that of the process, so that a busy machine raises no alarm; a draw that never ends is stopped.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import noise
from privet.core.errors import RequestError
from privet.mechanisms import (
    MECHANISMS,
    AboveThreshold,
    Average,
    Exponential,
    FiniteMechanism,
    Gaussian,
    GaussianThreshold,
    Laplace,
    LaplaceTail,
    LaplaceThreshold,
    Local,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    PowerTail,
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
    Tulap,
)
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_several import QuantileJoint, QuantileTree
from privet.mechanisms.top_k import Frequent
from privet.noise import heavy

SECONDS = 1.0
LONGEST = 4.0
"""Seconds after which making something and drawing from it twice counts as endless."""

SIZES = [1e-300, 1e-100, 1e-20, 1e-9, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6, 1e9, 1e13, 1e20, 1e100, 1e300]
SCORES = [0, 5, 5, 7, 1000]
NUMBERS = np.linspace(1, 9, 60)
MANY = np.arange(20_000) % 977


class Endless(Exception):
    """A draw has not ended."""


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    """Raise where the block takes longer than any draw may."""

    def ring(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def in_time(make: Callable[[], Callable[[], object]]) -> bool:
    """Make something and draw from it, each within its time, and return whether it was accepted."""
    with alarm():
        start = time.process_time()
        try:
            draw = make()
        except RequestError:
            assert time.process_time() - start < SECONDS
            return False
        for _ in range(2):
            start = time.process_time()
            draw()
            assert time.process_time() - start < SECONDS
    return True


def median(epsilon: float) -> Any:
    return Quantile(q=0.5, low=0, high=10, epsilon=epsilon, neighbors="change-one")


MAKERS: dict[str, tuple[type, Callable[[float], Any], Any]] = {
    "Laplace": (Laplace, lambda e: Laplace(sensitivity=1, epsilon=e), 7),
    "Laplace, fine": (Laplace, lambda e: Laplace(sensitivity=1, epsilon=e, grid="fine"), NUMBERS),
    "Laplace by sensitivity": (Laplace, lambda s: Laplace(sensitivity=s, epsilon=1), [7, 8]),
    "Gaussian": (Gaussian, lambda e: Gaussian(sensitivity=1, epsilon=e, delta=1e-6), 7),
    "Gaussian by rho": (Gaussian, lambda r: Gaussian(sensitivity=1, rho=r), NUMBERS),
    "Gaussian, whole": (Gaussian, lambda r: Gaussian(sensitivity=1, rho=r, delta=1e-6, grid="whole"), 7),
    "Exponential": (Exponential, lambda e: Exponential(sensitivity=1, epsilon=e), SCORES),
    "Exponential of many": (Exponential, lambda e: Exponential(sensitivity=1, epsilon=e), MANY),
    "PermuteAndFlip": (PermuteAndFlip, lambda e: PermuteAndFlip(sensitivity=1, epsilon=e), SCORES),
    "PermuteAndFlip of many": (PermuteAndFlip, lambda e: PermuteAndFlip(sensitivity=1, epsilon=e), MANY),
    "NoisyMax": (NoisyMax, lambda e: NoisyMax(sensitivity=1, epsilon=e), SCORES),
    "NoisyMax of many": (NoisyMax, lambda e: NoisyMax(sensitivity=1, epsilon=e), MANY),
    "NoisyMax, Laplace": (NoisyMax, lambda e: NoisyMax(sensitivity=1, epsilon=e, law="laplace"), MANY),
    "TopK": (TopK, lambda e: TopK(k=3, sensitivity=1, epsilon=e), MANY),
    "TopKWithGaps": (TopKWithGaps, lambda e: TopKWithGaps(k=3, sensitivity=1, epsilon=e), MANY),
    "AboveThreshold": (AboveThreshold, lambda e: AboveThreshold(threshold=10, sensitivity=1, epsilon=e), SCORES),
    "Sparse": (Sparse, lambda e: Sparse(threshold=10, limit=3, sensitivity=1, epsilon=e), SCORES),
    "NumericSparse": (NumericSparse, lambda e: NumericSparse(threshold=10, limit=3, sensitivity=1, epsilon=e), SCORES),
    "RandomizedResponse": (RandomizedResponse, lambda e: RandomizedResponse(epsilon=e, categories=5), [0, 4]),
    "FiniteMechanism": (
        FiniteMechanism,
        lambda e: FiniteMechanism([[Fraction(1, 2)] * 2, [p := min(Fraction(1), Fraction(e)), 1 - p]]),
        0,
    ),
    "Tulap": (Tulap, lambda e: Tulap(epsilon=e), 7),
    "Tulap, truncated": (Tulap, lambda e: Tulap(epsilon=e, delta=1e-6), 7),
    "OptimalKeys": (OptimalKeys, lambda e: OptimalKeys(epsilon=e, delta=1e-6), [1, 20, 300]),
    "LaplaceThreshold": (LaplaceThreshold, lambda e: LaplaceThreshold(epsilon=e, delta=1e-6), [1, 20, 300]),
    "GaussianThreshold": (GaussianThreshold, lambda e: GaussianThreshold(epsilon=e, delta=1e-6), [1, 20, 300]),
    "Quantile": (Quantile, lambda e: Quantile(q=0.5, low=0, high=10, epsilon=e), NUMBERS),
    "Quantile, wide": (Quantile, lambda w: Quantile(q=0.5, low=-w, high=w, epsilon=1), NUMBERS),
    "Quantiles": (Quantiles, lambda e: Quantiles(quantiles=[0.25, 0.5, 0.75, 0.9], low=0, high=10, epsilon=e), NUMBERS),
    "RecursiveQuantiles": (
        RecursiveQuantiles,
        lambda e: RecursiveQuantiles(quantiles=[0.25, 0.5, 0.75], low=0, high=10, epsilon=e),
        NUMBERS,
    ),
    "SmoothQuantile": (SmoothQuantile, lambda e: SmoothQuantile(q=0.5, low=0, high=10, epsilon=e), NUMBERS),
    "SmoothSensitivity": (
        SmoothSensitivity,
        lambda e: SmoothSensitivity(low=0, high=10, epsilon=e, noise=PowerTail(4)),
        Local(5, [1, 2, 3]),
    ),
    "SmoothSensitivity, Laplace": (
        SmoothSensitivity,
        lambda e: SmoothSensitivity(low=0, high=10, epsilon=e, noise=LaplaceTail(Fraction(1, 10**6))),
        Local(5, [1, 2, 3]),
    ),
    "ProposeTestRelease": (
        ProposeTestRelease,
        lambda e: ProposeTestRelease(bound=1, epsilon=e, delta=1e-6),
        Local(5, [0] * 200),
    ),
    "Average": (Average, lambda e: Average(low=0, high=10, epsilon=e), NUMBERS),
    "SampleAggregate": (
        SampleAggregate,
        lambda e: SampleAggregate(estimator=np.mean, blocks=6, aggregate=median(e)),
        NUMBERS,
    ),
}


def test_every_mechanism_is_tried() -> None:
    assert {kind for kind, _, _ in MAKERS.values()} == set(MECHANISMS)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MAKERS)
def test_every_mechanism_ends_or_refuses(name: str, size: float) -> None:
    _, make, value = MAKERS[name]
    accepted = in_time(lambda: (lambda mechanism: lambda: mechanism.release(value))(make(size)))
    if 0.1 <= size <= 30:
        assert accepted


COUNTS = (tuple(range(0, 900, 7)), tuple(1 + place % 5 for place in range(0, 900, 7)))
RANKS: dict[str, Callable[[Fraction], Any]] = {
    "joint": lambda e: QuantileJoint.of(
        tuple(Fraction(k, 10) for k in (1, 3, 5, 9)), last=1000, norm=Fraction(1), epsilon=e
    ),
    "joint, many": lambda e: QuantileJoint.of(
        tuple(Fraction(k, 13) for k in range(1, 13)), last=1000, norm=Fraction(1), epsilon=e
    ),
    "one": lambda e: QuantileChoice.middle(Fraction(1, 2), last=1000, span=Fraction(1), epsilon=e),
    "tree": lambda e: QuantileTree((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), 1000, Fraction(1), e),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("weight", [1, 2**20, 2**36])
def test_quantiles_of_a_question_end_at_any_epsilon(name: str, size: float, weight: int) -> None:
    groups = [(COUNTS[0], tuple(weight * count for count in COUNTS[1])), ((), ())]
    accepted = in_time(lambda: (lambda draw: lambda: draw.release(groups))(RANKS[name](Fraction(size))))
    if 1e-3 <= size <= 1e6:
        assert accepted


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("law", ["exponential", "gumbel"])
def test_frequent_values_end_at_any_epsilon(law: Any, size: float) -> None:
    draw = Frequent(1, Fraction(1), Fraction(size), law, 1)
    assert in_time(lambda: lambda: draw.release([list(range(5000)), [], [0, 0, 10**15]]))


SAMPLERS: dict[str, Callable[[Fraction, int | None], object]] = {
    "geometric": noise.geometric,
    "discrete_laplace": noise.discrete_laplace,
    "discrete_gaussian": noise.discrete_gaussian,
    "bernoulli_exp": noise.bernoulli_exp,
    "bernoulli": lambda p, size: noise.bernoulli(min(p, Fraction(1)), size),
    "uniform_below": lambda n, size: noise.uniform_below(max(1, int(n)), size),
    "rounded_laplace": heavy.rounded_laplace,
    "rounded_power": lambda scale, size: heavy.rounded_power(scale, 4, size),
    "rounded_student": lambda scale, size: heavy.rounded_student(scale, 3, size),
    "race": lambda rate, size: noise.race(np.array(SCORES), rate, size=size),
    "choose": lambda rate, _: noise.choose(np.array([3, 1, 9]), np.array([0, 5, 2**50]), rate),
    "noisy_max": lambda rate, size: noise.noisy_max(np.array(SCORES), rate, law="exponential", size=size),
    "noisy_max, Gumbel": lambda rate, size: noise.noisy_max(np.array(SCORES), rate, law="gumbel", size=size),
    "noisy_max, Laplace": lambda rate, size: noise.noisy_max(np.array(SCORES), rate, law="laplace", size=size),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_ends_or_refuses(name: str, size: float) -> None:
    for count in (None, 100):
        assert in_time(lambda count=count: lambda: SAMPLERS[name](Fraction(size), count))
