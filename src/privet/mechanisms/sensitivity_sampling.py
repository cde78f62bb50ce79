"""A sensitivity found by sampling, and the weaker promise that it buys: random differential privacy.

Where a sensitivity cannot be worked out, it may be sampled from made-up neighbours. The promise then holds for data
drawn like those, except with probability gamma; it does not cover actual data that are unlucky or different.
So nothing here is a `Mechanism`, and nothing here has an event: no accountant and no ledger takes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

from privet.core.errors import BadParameter, RequestError
from privet.core.given import called, choice, instance, is_a, listed, read_fields, set_fields
from privet.core.given import function as given_function
from privet.core.numbers import Number, nonnegative, open_probability, positive, read_rational, whole

from .laplace import Laplace
from .mechanism import Mechanism, shown
from .selection import Exponential

Norm = Literal["sum", "max"]
"""How the changes of several numbers count: added up, for noise; or the largest, for scores of options."""


@dataclass(frozen=True, init=False)
class RandomPrivacy:
    """The promise of random differential privacy: epsilon-DP between neighbours drawn at random, but for gamma.

    It is no `Event`: it does not compose with promises for all data.

    Args:
        epsilon: the privacy loss.
        gamma: the probability, over the data, with which the promise fails.

    Example:
        >>> str(mechanisms.RandomPrivacy(epsilon=1, gamma=0.1))
        '(1, gamma 0.1)-random differential privacy'

    Cites: [RA17].
    """

    epsilon: Fraction
    gamma: Fraction

    def __init__(self, *, epsilon: Number, gamma: Number) -> None:
        set_fields(self, epsilon=positive(epsilon, "epsilon"), gamma=open_probability(gamma, "gamma"))

    def __str__(self) -> str:
        return f"({shown(self.epsilon)}, gamma {shown(self.gamma)})-random differential privacy"


@dataclass(frozen=True, kw_only=True)
class SampledSensitivity:
    """The largest change among sampled neighbours, for a promise that fails with probability gamma.

    Example:
        >>> found = mechanisms.sample_sensitivity(sum, lambda size: [0.5] * size, size=9, gamma=0.5)
        >>> found.norm
        'sum'
    """

    value: Fraction
    gamma: Fraction
    samples: int
    norm: Norm

    def __post_init__(self) -> None:
        read_fields(self)
        nonnegative(self.value, "value")
        open_probability(self.gamma, "gamma")
        whole(self.samples, "samples", least=1)


def sampling_plan(gamma: Number) -> tuple[int, float]:
    """Return how many pairs of neighbours to sample, the fewest that do for a gamma, and the chance that they mislead.

    With m samples the largest change bounds all but a share of the others, rho + sqrt(ln(1/rho) / (2 m)) in all, where
    rho is the chance that the samples are too lucky; m is least at ln(rho) = W(-gamma / (2 sqrt e)) + 1/2 on the
    lower branch of Lambert's function.

    Guarantee: m = ceil(ln(1/rho) / (2 (gamma - rho)^2)) samples keep the sum within gamma.
    Cites: [RA17].
    """
    from scipy.special import lambertw

    allowed = float(open_probability(gamma, "gamma"))
    if allowed < 1e-4:
        raise BadParameter("gamma", gamma, "at least 1e-4: a smaller one takes more than a billion samples")
    rho = math.exp(lambertw(-allowed / (2 * math.sqrt(math.e)), -1).real + 0.5)
    return math.ceil(math.log(1 / rho) / (2 * (allowed - rho) ** 2)), rho


def sample_sensitivity(
    function: Callable[[Any], Any],
    draw: Callable[[int], Any],
    *,
    size: int,
    gamma: Number = Fraction(1, 10),
    norm: Norm = "sum",
) -> SampledSensitivity:
    """Return the largest change of a function among sampled neighbours of `size` rows that differ in one.

    `draw(k)` makes up k rows, as a list or an array, from a public distribution, never from the data; `function` takes
    such rows and returns a number or a list of them.

    Args:
        function: returns a number, or several, for a list of rows.
        draw: returns that many rows, drawn at random.
        size: the number of rows.
        gamma: the probability with which the promise may fail.
        norm: "sum" for noise, "max" for scores of options.

    Example:
        >>> found = mechanisms.sample_sensitivity(sum, lambda size: [0.5] * size, size=9, gamma=0.5)
        >>> found.value
        Fraction(0, 1)

    Guarantee: random differential privacy with this gamma, for data that are drawn like `draw`'s, and no more.
    Cites: [RA17].
    """
    n, (samples, _) = whole(size, "size", least=1, most=10**6), sampling_plan(gamma)
    way = choice(norm, "norm", ("sum", "max"))
    answer, make = given_function(function, "function"), given_function(draw, "draw")
    largest = Fraction(0)
    for _ in range(samples):
        rows = listed(called(make, "draw", n + 1), "draw", "a function of k that returns k rows", most=n + 1)
        if len(rows) != n + 1:
            raise RequestError(f"draw(k) must return k rows; asked for {n + 1}, it returned {len(rows)}")
        first, other = (
            _numbers(called(answer, "function", rows[:n])),
            _numbers(called(answer, "function", [*rows[: n - 1], rows[n]])),
        )
        if len(first) != len(other):
            raise RequestError("the function must return the same number of answers for all rows")
        moves = [abs(a - b) for a, b in zip(first, other, strict=True)]
        largest = max(largest, sum(moves, Fraction(0)) if way == "sum" else max(moves, default=Fraction(0)))
    return SampledSensitivity(
        value=largest, gamma=open_probability(gamma, "gamma"), samples=samples, norm=cast(Norm, way)
    )


@dataclass(frozen=True, init=False, repr=False)
class RandomlyPrivate:
    """Laplace noise, or a choice by the exponential mechanism, at a sensitivity that was sampled.

    Example:
        >>> found = mechanisms.SampledSensitivity(value=1, gamma=0.1, samples=50, norm="sum")
        >>> str(mechanisms.RandomlyPrivate.laplace(found, epsilon=1).promise)
        '(1, gamma 0.1)-random differential privacy'

    Guarantee: `promise`, which is random differential privacy and nothing stronger.
    Cites: [RA17].
    """

    sensitivity: SampledSensitivity
    promise: RandomPrivacy
    _mechanism: Mechanism

    def __init__(self, sensitivity: SampledSensitivity, mechanism: Mechanism, epsilon: Fraction) -> None:
        instance(sensitivity, SampledSensitivity, "sensitivity", "what sample_sensitivity returned")
        instance(mechanism, Mechanism, "mechanism", "a Mechanism")
        promise = RandomPrivacy(epsilon=epsilon, gamma=sensitivity.gamma)
        set_fields(self, sensitivity=sensitivity, promise=promise, _mechanism=mechanism)

    @classmethod
    def laplace(cls, sensitivity: SampledSensitivity, *, epsilon: Number) -> RandomlyPrivate:
        """Return Laplace noise for answers whose summed change was sampled."""
        spend = positive(epsilon, "epsilon")
        return cls(sensitivity, Laplace(sensitivity=_read(sensitivity, "sum"), epsilon=spend), spend)

    @classmethod
    def exponential(cls, sensitivity: SampledSensitivity, *, epsilon: Number) -> RandomlyPrivate:
        """Return a choice among options whose scores' largest change was sampled."""
        spend = positive(epsilon, "epsilon")
        return cls(sensitivity, Exponential(sensitivity=_read(sensitivity, "max"), epsilon=spend), spend)

    def release(self, value: Any) -> Any:
        """Return the answer with noise, or the index of the option that was chosen."""
        return self._mechanism.release(value)

    def __repr__(self) -> str:
        return f"RandomlyPrivate({type(self._mechanism).__name__}, {self.promise})"


def _read(sensitivity: SampledSensitivity, norm: Norm) -> Fraction:
    if not is_a(sensitivity, SampledSensitivity) or sensitivity.norm != norm:
        raise BadParameter("sensitivity", sensitivity, f"what sample_sensitivity(..., norm={norm!r}) returned")
    value = sensitivity.value
    if value == 0:
        raise RequestError("no sampled neighbour moved the answer at all; draw rows that vary more, or sample more")
    return value


def _numbers(answer: Any) -> list[Fraction]:
    entries = called(lambda: answer.tolist() if hasattr(answer, "tolist") else answer, "function")
    exact = [read_rational(x) for x in (entries if isinstance(entries, (list, tuple)) else [entries])]
    if any(x is None for x in exact):
        raise RequestError("the function must return a finite number or a list of them, for made-up rows")
    return [x for x in exact if x is not None]
