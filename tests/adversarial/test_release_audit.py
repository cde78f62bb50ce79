"""Attacks that see only releases: a lower bound on epsilon, and the low bits of floating-point noise.

The audit picks the outputs that tell two neighbours apart best on one half of the draws and bounds their
probabilities on the other half (Clopper-Pearson), so what it reports is below the true epsilon except with
probability 1e-8. It must never exceed the claim, and must catch noise that is too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betainccinv, betaincinv

from privet.mechanisms import Exponential, FiniteMechanism, Gaussian, Laplace, RandomizedResponse
from privet.mechanisms import laplace as laplace_module

ALARM = 1e-8
DRAWS = 200_000
Draw = Callable[[object, int], np.ndarray]


def lower_epsilon(one: np.ndarray, other: np.ndarray, delta: float = 0.0) -> float:
    """Return a lower bound on the epsilon, at delta, of two samples of labels, in the worse direction."""
    _, labels = np.unique(np.concatenate([one, other]), return_inverse=True)
    first, second = labels[: one.size], labels[one.size :]
    best = 0.0
    for p, q in ((first, second), (second, first)):
        half = p.size // 2
        size = int(labels.max()) + 1
        seen = np.bincount(p[:half], minlength=size), np.bincount(q[:half], minlength=size)
        order = np.argsort(-(seen[0] + 20) / (seen[1] + 20))
        # among the sets of the most telling labels, the one that would give the best bound on this half alone
        p_total, q_total = np.cumsum(seen[0][order]), np.cumsum(seen[1][order])
        with np.errstate(divide="ignore", invalid="ignore"):
            p_low = betaincinv(p_total, half - p_total + 1, ALARM / 4) - delta
            q_high = betainccinv(q_total + 1, half - q_total, ALARM / 4)
            score = np.nan_to_num(np.log(p_low / q_high), nan=-np.inf)
        chosen = np.isin(np.arange(size), order[: int(score.argmax()) + 1])
        n, hits = p.size - half, (int(chosen[p[half:]].sum()), int(chosen[q[half:]].sum()))
        low = float(betaincinv(hits[0], n - hits[0] + 1, ALARM / 4)) if hits[0] else 0.0
        high = float(betainccinv(hits[1] + 1, n - hits[1], ALARM / 4)) if hits[1] < n else 1.0
        if low > delta:
            best = max(best, math.log((low - delta) / high))
    return best


def binned(width: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda drawn: np.clip(np.floor(drawn / width), -60, 60).astype(np.int64)


@dataclass(frozen=True)
class Audit:
    """A claim, two neighbouring values, how to draw many releases, and how to label them."""

    epsilon: float
    neighbours: tuple[object, object]
    draw: Draw
    label: Callable[[np.ndarray], np.ndarray]
    delta: float = 0.0


def many(mechanism: Laplace | Gaussian) -> Draw:
    """Return independent scalar releases, drawn together: each row of the array is a release of its own."""
    return lambda value, n: mechanism.release(np.full(n, value))


def one_by_one(mechanism: Exponential) -> Draw:
    return lambda value, n: np.array([mechanism.release(value) for _ in range(n // 20)])


def vectors(mechanism: Laplace | Gaussian) -> Draw:
    return lambda value, n: mechanism.release(np.tile(np.asarray(value), (n, 1)))


def directed(rows: np.ndarray) -> np.ndarray:
    return binned(0.5)(rows @ np.sign(np.arange(1, rows.shape[1] + 1) - 1.5))


AUDITS = {
    "Laplace on whole numbers": Audit(1.0, (10, 11), many(Laplace(sensitivity=1, epsilon=1)), np.asarray),
    "Laplace on reals": Audit(1.0, (10.0, 11.0), many(Laplace(sensitivity=1, epsilon=1)), binned(0.25)),
    "Laplace, rounded back": Audit(2.0, (3, 4), many(Laplace(sensitivity=1, epsilon=2, grid="fine")), np.asarray),
    "Laplace, sharp": Audit(4.0, (0.0, 0.5), many(Laplace(sensitivity=0.5, epsilon=4)), binned(0.1)),
    "Laplace on vectors": Audit(1.0, ([0.0, 0.0], [0.5, -0.5]), vectors(Laplace(sensitivity=1, epsilon=1)), directed),
    "Gaussian on reals": Audit(
        1.0, (0.0, 1.0), many(Gaussian(sensitivity=1, epsilon=1, delta=0.01)), binned(0.25), 0.01
    ),
    "Gaussian on whole numbers": Audit(
        2.0, (5, 7), many(Gaussian(sensitivity=2, epsilon=2, delta=0.001)), np.asarray, 0.001
    ),
    "Exponential": Audit(2.0, ([0, 3, 1], [1, 2, 0]), one_by_one(Exponential(sensitivity=1, epsilon=2)), np.asarray),
    "response": Audit(math.log(3), (0, 1), lambda v, n: RandomizedResponse(p=0.75).release(np.full(n, v)), np.asarray),
    "k-ary response": Audit(
        1.5, (0, 3), lambda v, n: RandomizedResponse(epsilon=1.5, categories=5).release(np.full(n, v)), np.asarray
    ),
    "finite": Audit(
        math.log(4),
        (0, 1),
        lambda v, n: FiniteMechanism([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]]).release(np.full(n // 4, v)),
        np.asarray,
    ),
}


@pytest.mark.parametrize("audit", AUDITS.values(), ids=AUDITS)
def test_no_release_tells_more_than_its_claim(audit: Audit) -> None:
    one, other = (audit.label(audit.draw(value, DRAWS)) for value in audit.neighbours)
    found = lower_epsilon(one, other, audit.delta)
    assert found <= audit.epsilon * (1 + 1e-12)
    # The audit is no use if it finds nothing. Over repeated runs the weakest finds 0.61 of the claim with a spread of
    # 0.02, so a floor of 0.4 lies ten spreads below.
    assert found >= audit.epsilon * 0.4


def test_the_audit_catches_noise_of_half_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = laplace_module.noise.discrete_laplace
    monkeypatch.setattr(laplace_module.noise, "discrete_laplace", lambda scale, size: draw(scale / 2, size))
    for name in ("Laplace on whole numbers", "Laplace on reals", "Laplace on vectors"):
        audit = AUDITS[name]
        one, other = (audit.label(audit.draw(value, DRAWS)) for value in audit.neighbours)
        assert lower_epsilon(one, other) > audit.epsilon


def test_the_audit_catches_a_mechanism_that_claims_too_little() -> None:
    reports = [RandomizedResponse(p=0.9).release(np.full(DRAWS, bit)) for bit in (0, 1)]
    assert lower_epsilon(*reports) > math.log(3)
    lax = [Gaussian(sensitivity=0.25, epsilon=1, delta=0.01).release(np.full(DRAWS, x)) for x in (0.0, 1.0)]
    assert lower_epsilon(*map(binned(0.1), lax), 0.01) > 1


# The attack on low bits: floating-point noise added to different values reaches different sets of doubles.


def steps_of(released: np.ndarray, exponent: int) -> bool:
    """Return whether every released double is a multiple of the grid's step, or has run out of bits to show it."""
    return all((Fraction(x) * Fraction(2) ** exponent).denominator == 1 for x in np.ravel(released).tolist())


PAIRS = [(0.0, 1.0), (0.1, 0.7), (1 / 3, 1 / 3 + 1e-9), (1e6 + 0.1, 1e6 + 0.3), (-5e-324, 5e-324), (1e-9, -math.pi / 4)]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(sensitivity=1, epsilon=1),
        Laplace(sensitivity=0.8, epsilon=0.1),
        Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
        Gaussian(sensitivity=1, sigma=0.3),
    ],
    ids=repr,
)
def test_neighbours_reach_the_same_grid(mechanism: Laplace | Gaussian, pair: tuple[float, float]) -> None:
    for value in pair:
        scalars = np.array([mechanism.release(value) for _ in range(200)])
        assert steps_of(scalars, mechanism._fine(1)[0])
        for size in (2, 500):
            vector = mechanism.release(np.full(size, value))
            assert steps_of(vector, mechanism._fine(size)[0])


@pytest.mark.parametrize("mechanism", [Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, sigma=1)], ids=repr)
def test_the_grid_depends_on_public_facts_alone(mechanism: Laplace | Gaussian) -> None:
    # The lowest bit that ever shows is the same whatever the value, far above what doubles could show.
    def lowest_bit(value: float) -> int:
        released = [Fraction(mechanism.release(value)) for _ in range(300)]
        return max(x.denominator.bit_length() for x in released)

    bits = {lowest_bit(value) for value in (0.0, 0.1, 1 / 3, 5e-324, 1e-300, -0.7)}
    assert len(bits) == 1
    assert bits.pop() < 50


def numpy_laplace(value: float, count: int, seed: int) -> np.ndarray:
    """Return what a naive mechanism releases: a value plus inverse-transform noise, all in doubles."""
    uniform = np.random.default_rng(seed).random(count) - 0.5
    return value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform))


def odd_low_bit(released: np.ndarray) -> np.ndarray:
    """Return whether each double lies in (1/4, 1/2) and uses its last bit, 2**-54."""
    return np.array([0.25 < abs(x) < 0.5 and Fraction(x).denominator == 2**54 for x in released.tolist()])


def test_the_same_attack_succeeds_on_floating_point_noise() -> None:
    # 1 + noise loses the noise's last bit where the sum is smaller than the noise, and 0 + noise does not: a single
    # release with that bit proves that the value was not 1.
    at_zero, at_one = odd_low_bit(numpy_laplace(0.0, 60_000, 3)), odd_low_bit(numpy_laplace(1.0, 60_000, 4))
    assert at_zero.any()
    assert not at_one.any()
    assert lower_epsilon(at_zero, at_one) > 4  # of a mechanism that claims epsilon = 1
    assert not steps_of(numpy_laplace(0.0, 1000, 5), 50)


def test_the_attack_finds_nothing_on_the_grid() -> None:
    mechanism = Laplace(sensitivity=1, epsilon=1)
    at_zero, at_one = (odd_low_bit(mechanism.release(np.full(60_000, value))) for value in (0.0, 1.0))
    assert not at_zero.any()
    assert not at_one.any()
