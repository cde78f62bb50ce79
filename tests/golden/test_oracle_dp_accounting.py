"""Google's dp_accounting as an oracle: another author's code for the same loss distributions.

Its pessimistic estimate bounds the same epsilon from above and its optimistic one from below, so an error in either
bound of ours shows. Its distributions are made directly, not through its accountant, which forgets how often
randomized response was repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import pytest

from privet.accounting import Composed, Repeated, Sampled
from privet.accounting.events import ApproximateEvent
from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds, pld_epsilon
from privet.mechanisms import DiscreteGaussianEvent, DiscreteLaplaceEvent, GaussianEvent, LaplaceEvent, ResponseEvent

pytest.importorskip("dp_accounting", reason="dp_accounting, the oracle, is not installed (it is in the dev extra)")

from dp_accounting.pld import common, privacy_loss_distribution

CLOSE = 1e-3
STEP = 1e-4
ROUNDING = 1e-9
"""The oracle computes in floats without error terms of its own."""


@dataclass(frozen=True)
class Part:
    """The same release for both: our event, and the oracle's distribution, from above or from below."""

    event: Any
    loss: Callable[[bool], Any]
    times: int = 1


def laplace(scale: float, times: int = 1, rate: float = 1.0) -> Part:
    event = LaplaceEvent(sensitivity=1, scale=Fraction(str(scale)))
    return Part(
        event if rate == 1 else Sampled(event, Fraction(str(rate))),
        lambda above: privacy_loss_distribution.from_laplace_mechanism(
            scale, sampling_prob=rate, **from_side(above, STEP)
        ),
        times,
    )


def gaussian(sigma: float, times: int = 1, rate: float = 1.0) -> Part:
    event = GaussianEvent(sensitivity_squared=1, sigma_squared=Fraction(str(sigma)) ** 2)
    return Part(
        event if rate == 1 else Sampled(event, Fraction(str(rate))),
        lambda above: privacy_loss_distribution.from_gaussian_mechanism(
            sigma, sampling_prob=rate, **from_side(above, STEP)
        ),
        times,
    )


def discrete_laplace(scale: int, steps: int, times: int = 1) -> Part:
    return Part(
        DiscreteLaplaceEvent(steps=steps, scale=scale),
        lambda above: privacy_loss_distribution.from_discrete_laplace_mechanism(
            1 / scale, steps, **from_side(above, STEP)
        ),
        times,
    )


def discrete_gaussian(sigma: int, steps: int, times: int = 1) -> Part:
    return Part(
        DiscreteGaussianEvent(steps=steps, sigma_squared=sigma**2),
        lambda above: privacy_loss_distribution.from_discrete_gaussian_mechanism(
            float(sigma), steps, **from_side(above, STEP)
        ),
        times,
    )


def response(truthful: float, categories: int, times: int = 1) -> Part:
    """Return randomized response that gives the true answer with a probability; the oracle counts its coin."""
    coin = (1 - truthful) * categories / (categories - 1)
    return Part(
        ResponseEvent(p=Fraction(str(truthful)), categories=categories),
        lambda above: privacy_loss_distribution.from_randomized_response(
            coin, categories, pessimistic_estimate=above, value_discretization_interval=STEP
        ),
        times,
    )


def from_side(above: bool, step: float) -> dict[str, Any]:
    return {"pessimistic_estimate": above, "value_discretization_interval": step, "use_connect_dots": above}


COMPOSITIONS = {
    "Laplace once": ([laplace(2.0)], 1e-6),
    "Laplace 100 times": ([laplace(20.0, 100)], 1e-6),
    "Laplace of three scales": ([laplace(5.0, 3), laplace(8.0, 4), laplace(30.0, 20)], 1e-5),
    "Gaussian once": ([gaussian(3.0)], 1e-8),
    "Gaussian 200 times": ([gaussian(30.0, 200)], 1e-6),
    "Laplace with Gaussian": ([laplace(20.0, 50), gaussian(20.0, 50)], 1e-6),
    "discrete Laplace": ([discrete_laplace(12, 3, 30)], 1e-6),
    "discrete Gaussian": ([discrete_gaussian(12, 2, 30)], 1e-6),
    "binary response": ([response(0.6, 2, 50)], 1e-6),
    "response in ten categories": ([response(0.15, 10, 40)], 1e-6),
    "sampled Gaussian": ([gaussian(1.0, 500, rate=0.01)], 1e-6),
    "sampled Laplace": ([laplace(1.0, 300, rate=0.02)], 1e-6),
    "sampled with whole": ([gaussian(0.8, 200, rate=0.01), gaussian(10.0, 5), laplace(10.0, 10)], 1e-7),
    "everything": (
        [
            laplace(15.0, 5),
            gaussian(15.0, 5),
            discrete_laplace(20, 1, 9),
            discrete_gaussian(9, 1, 7),
            response(0.53, 2, 9),
        ],
        1e-6,
    ),
}


@dataclass(frozen=True)
class Case:
    parts: list[Part]
    delta: float

    @property
    def event(self) -> Composed:
        return Composed(tuple(Repeated(part.event, part.times) for part in self.parts))

    @cached_property
    def above(self) -> Any:
        return self._oracle(above=True)

    @cached_property
    def below(self) -> Any:
        return self._oracle(above=False)

    def _oracle(self, *, above: bool) -> Any:
        return reduce(lambda one, other: one.compose(other), (_composed(part, above) for part in self.parts))


def _composed(part: Part, above: bool) -> Any:
    made = part.loss(above)
    return made.self_compose(part.times) if part.times > 1 else made


@pytest.fixture(scope="module", params=COMPOSITIONS, ids=lambda name: name.replace(" ", "-"))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*COMPOSITIONS[request.param])


def test_epsilon_lies_between_the_oracles_estimates(case):
    found = epsilon_bounds(case.event, case.delta)
    above = case.above.get_epsilon_for_delta(case.delta)
    below = case.below.get_epsilon_for_delta(case.delta)
    assert found.lower <= above * (1 + ROUNDING)
    assert below * (1 - ROUNDING) <= found.upper <= above * (1 + CLOSE)
    assert below * (1 - ROUNDING) <= pld_epsilon(case.event, case.delta) <= above * (1 + CLOSE)


def test_delta_lies_between_the_oracles_estimates(case):
    epsilon = epsilon_bounds(case.event, case.delta).upper
    found = delta_bounds(case.event, epsilon)
    above = case.above.get_delta_for_epsilon(epsilon)
    below = case.below.get_delta_for_epsilon(epsilon)
    assert found.lower <= above * (1 + ROUNDING)
    assert below * (1 - ROUNDING) <= found.upper <= above * (1 + 20 * CLOSE)


def test_an_approximate_promise_composes_as_the_oracle_says():
    event = Repeated(ApproximateEvent(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8)), 30)
    promise = common.DifferentialPrivacyParameters(0.1, 1e-8)
    oracle = privacy_loss_distribution.from_privacy_parameters(promise).self_compose(30)
    found, above = epsilon_bounds(event, 1e-6), oracle.get_epsilon_for_delta(1e-6)
    assert found.lower <= above * (1 + ROUNDING)
    assert found.upper <= above * (1 + CLOSE)
