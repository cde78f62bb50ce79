"""Dominating pairs of discrete distributions: finitely many outcomes, and integer noise at any scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import float_down, float_up, nonnegative, positive, probability, sqrt_down, whole

from .continuous import LEAST, Symmetric, density, gaussian_profile, mills, mills_slope, up

if TYPE_CHECKING:
    from privet.core.event import Floats


# Dominating pairs with finitely many outcomes: randomised responses, failures, any two exact distributions.
#
# Values are upper bounds; a loss is rounded up before it is used, so that no atom is ever placed too low.


@dataclass(frozen=True)
class ApproximatePair(Symmetric):
    """The worst (epsilon, delta)-DP pair: an infinite loss with probability delta, else a randomised response.

    H(x) = delta + (1 - delta) (1 - exp(x - epsilon))+ / (1 + exp(-epsilon)).

    Guarantee: dominates every (epsilon, delta)-DP computation.
    Cites: [KOV15, the worst pair].
    """

    epsilon: float
    delta: float

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction = 0.0) -> None:
        set_fields(self, epsilon=float_up(nonnegative(epsilon, "epsilon")), delta=float_up(probability(delta, "delta")))

    def forward(self, epsilon: Floats) -> Floats:
        response = _atom(epsilon, 1 / (1 + math.exp(-self.epsilon)), self.epsilon)
        return np.where(
            epsilon >= self.epsilon, self.delta, np.minimum(1.0, up(self.delta + (1 - self.delta) * response))
        )

    def reach(self) -> tuple[float, float]:
        return self.epsilon, self.epsilon

    def without_failure(self) -> tuple[ApproximatePair, float]:
        """Return the randomised response, and the probability of failure."""
        return ResponsePair(self.epsilon), self.delta


@dataclass(frozen=True)
class ResponsePair(ApproximatePair):
    """Binary randomised response of log-odds `epsilon`: the worst pair that is epsilon-DP.

    Guarantee: dominates every epsilon-DP computation.
    Cites: [KOV15, the worst pair with delta = 0].
    """

    def __init__(self, epsilon: float | Fraction) -> None:
        super().__init__(epsilon)


@dataclass(frozen=True)
class KaryResponsePair(Symmetric):
    """Randomised response over `k` values: the truth with probability p, each other value with probability q.

    The loss is ln(p/q), 0 or -ln(p/q) with probability p, (k - 2) q and q, so H(x) = (p - e**x q)+.

    Guarantee: exact for any two inputs. With k > 2 it costs less than a binary response of the same epsilon.
    Cites: [KBR16, k-ary response].
    """

    p: Fraction
    q: Fraction
    k: int

    def __post_init__(self) -> None:
        set_fields(self, p=probability(self.p, "p"), q=positive(self.q, "q"), k=whole(self.k, "k", least=2))
        if self.p + (self.k - 1) * self.q != 1 or self.p < self.q:
            raise BadParameter("p", self.p, "1 - (k - 1) q, and at least q")

    def forward(self, epsilon: Floats) -> Floats:
        return _atom(epsilon, float_up(self.p), self.reach()[0])

    def reach(self) -> tuple[float, float]:
        largest = _log_up(self.p / self.q)
        return largest, largest


@dataclass(frozen=True)
class FinitePair:
    """Two exact distributions over the same finite set of outcomes.

    H(x) = sum over outcomes of (p - e**x q)+. An outcome with q = 0 has an infinite loss, and counts fully.

    Guarantee: exact for these two distributions; the caller proves that no neighbours are worse.
    Cites: [BO13, f-divergences].
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __init__(self, p: Sequence[Fraction | float], q: Sequence[Fraction | float]) -> None:
        first = tuple(probability(value, "p") for value in p)
        second = tuple(probability(value, "q") for value in q)
        if len(first) != len(second):
            raise BadParameter("q", f"{len(second)} probabilities", f"as long as p, which has {len(first)}")
        for name, weights in (("p", first), ("q", second)):
            if sum(weights) != 1:
                raise BadParameter(name, sum(weights), "probabilities that sum to exactly 1; pass Fractions")
        set_fields(self, p=first, q=second)

    def forward(self, epsilon: Floats) -> Floats:
        return _finite(epsilon, self.p, self.q)

    def backward(self, epsilon: Floats) -> Floats:
        return _finite(epsilon, self.q, self.p)

    def reach(self) -> tuple[float, float]:
        return _largest_loss(self.p, self.q), _largest_loss(self.q, self.p)


def _atom(epsilon: Floats, mass: float, loss: float) -> Floats:
    """Return mass (1 - exp(epsilon - loss))+, rounded up."""
    return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)))


def _finite(epsilon: Floats, p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Floats:
    merged: dict[Fraction, Fraction] = {}
    infinite = Fraction(0)
    for first, other in zip(p, q, strict=True):
        if other == 0:
            infinite += first
        elif first > other:
            merged[first / other] = merged.get(first / other, Fraction(0)) + first
    total = np.zeros_like(epsilon)
    for ratio, mass in merged.items():
        total += _atom(epsilon, float_up(mass), _log_up(ratio))
    lasting = float_up(infinite)
    return np.where(total > 0, np.minimum(1.0, up(total + lasting)), lasting)


def _largest_loss(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> float:
    ratios = [first / other for first, other in zip(p, q, strict=True) if first > other > 0]
    return max((_log_up(ratio) for ratio in ratios), default=0.0)


def _log_up(ratio: Fraction) -> float:
    """Return the logarithm of a rational of at least 1, rounded up; log1p keeps the digits of one close to 1."""
    if ratio < 2:
        return float_up(Fraction(math.log1p(float_up(ratio - 1)))) * (1 + 2.0**-50)
    return (math.log(ratio.numerator) - math.log(ratio.denominator)) * (1 + 2.0**-46)


# Dominating pairs of integer noise: discrete Laplace and discrete Gaussian, at any scale.
#
# Noise of 10**9 steps costs no more to account for than noise of ten. Every value is an upper bound; nothing here may
# replace a discrete distribution by a continuous one without adding the error of doing so.


_FINE = 512
"""From this many steps per standard deviation on, sums are computed as integrals with corrections."""
_TERMS = 12
_BARE = Fraction(1, 2**800)
"""Below this variance nothing is claimed about the noise."""
_FINEST = 10**8
"""From here on the corrections are below a double's resolution, and are bounded instead of computed."""


@dataclass(frozen=True)
class DiscreteLaplacePair(Symmetric):
    """Discrete Laplace noise of `scale` against itself, shifted by `steps` integers.

    With a = exp(-1/scale), H((steps - 2 m)/scale) = 1 - a**m for the integers 0 <= m <= steps; between these
    H is linear in e**epsilon, since losses are (steps - 2 j)/scale.

    Guarantee: dominates independent discrete Laplace noise on every coordinate of an integer vector whose L1
    distance is at most `steps`. Proof, for two coordinates shifted by d1 <= d2: with phi the curve of the second
    and L the loss of the first, H of the product at a breakpoint is E_P[phi(epsilon - L)]. Let e = epsilon scale,
    which may be taken >= 0 as the pair is symmetric, and m = (d1 + d2 - e)/2.
    If e <= d2 - d1, every epsilon - L lies where phi is 1 - a**((d2 - .)/2), and the expectation is
    1 - a**((d2 - e)/2) E_P[e**(-L/2)] <= 1 - a**m, because L <= d1/scale.
    Otherwise, summing over the atoms 1/(1+a) and (1-a)/(1+a) a**j of the first gives
    (1 + a - a**m (2 + (m-1)(1-a)))/(1+a) <= 1 - a**m, because 2 + (m-1)(1-a) - (1+a) = m (1-a) >= 0.
    Both curves are linear in e**epsilon between the same breakpoints, so the inequality holds everywhere; further
    coordinates follow by induction. A smaller total shift d' is dominated because the pair of d' is a projection of the
    product of d' and d - d', which is dominated by d. On a fine grid: 1 - e**-m (1 + m/2) <= 1 - e**-m.
    Cites: [GRS12, the geometric mechanism], [CKS20, discrete Laplace].
    """

    steps: int
    scale: Fraction

    def __post_init__(self) -> None:
        set_fields(self, steps=whole(self.steps, "steps"), scale=positive(self.scale, "scale"))

    def forward(self, epsilon: Floats) -> Floats:
        scale = float(self.scale)
        left = np.maximum(self.reach()[0] - epsilon, 0.0) * (scale / 2)
        whole_steps = np.floor(left)
        inside = np.clip(np.expm1(-(left - whole_steps) * (2 / scale)) / math.expm1(-2 / scale), 0.0, 1.0)
        return up(-np.expm1(-whole_steps / scale) - inside * np.exp(-whole_steps / scale) * math.expm1(-1 / scale))

    def reach(self) -> tuple[float, float]:
        largest = float_up(self.steps / self.scale)
        return largest, largest


@dataclass(frozen=True)
class DiscreteGaussianPair(Symmetric):
    """Discrete Gaussian noise of parameter `sigma_squared` against itself, shifted by `steps` integers.

    With X the noise and x* = epsilon sigma**2/steps - steps/2, H(epsilon) = P[X > x*] - e**epsilon P[X > x* + steps]
    = sum over x > x* of p(x) (1 - exp(-(x - x*) steps / sigma**2)).

    Guarantee: dominates every integer shift up to `steps` of one integer. The noise has a log-concave mass
    function, so likelihood ratios of a shift are monotone and the best tests are randomised thresholds, accepting
    x > t. Their false negatives for a false positive rate alpha are P[X <= t - d] (and the tie likewise), which fall
    as the shift d grows: the trade-off of a larger shift lies below. (For vectors use rho, or a fine lattice's blur.)
    Cites: [CKS20, Thm 7].
    """

    steps: int
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        set_fields(self, steps=whole(self.steps, "steps"), sigma_squared=positive(self.sigma_squared, "sigma_squared"))

    def forward(self, epsilon: Floats) -> Floats:
        if self.steps == 0:
            return np.zeros_like(epsilon)
        if self.sigma_squared < _BARE:
            return np.ones_like(epsilon)
        sigma = float_down(sqrt_down(self.sigma_squared))
        if sigma < _FINE:
            return up(_summed(epsilon, self.steps, self.sigma_squared))
        # a float position is only needed to within a small part of a step, and only where steps are visible
        position = np.minimum(epsilon * float(self.sigma_squared / self.steps) - self.steps / 2, 40 * sigma + 2)
        return up(_integrated(epsilon, position, self.steps, sigma))

    def reach(self) -> tuple[float, float]:
        return (math.inf, math.inf) if self.steps else (0.0, 0.0)


def _summed(epsilon: Floats, steps: int, sigma_squared: Fraction) -> Floats:
    """Return H by direct summation, from its values at integer positions.

    With j the least integer above x*, the sum's first term has the loss steps (2 j + steps)/(2 sigma**2), which exceeds
    epsilon by (j - x*) steps / sigma**2. Losses are kept to twice a double's digits: below a step of noise they are
    large, and what matters is how little they exceed epsilon.
    """
    first, at_integers, slopes = _ladder(steps, sigma_squared)
    nearest, rest = _losses(first, len(at_integers), steps, sigma_squared)
    above = np.minimum(np.searchsorted(nearest, epsilon, side="right"), len(nearest) - 1)
    for _ in range(2):  # an epsilon that rounds to a loss may lie on either side of it
        before = np.maximum(above - 1, 0)
        above = np.where((nearest[before] - epsilon) + rest[before] > 0, before, above)
    excess = np.maximum((nearest[above] - epsilon) + rest[above], 0.0)
    value = at_integers[above] - slopes[above] * np.expm1(-excess)
    return np.where(value > 0, value, LEAST)


def _losses(first: int, count: int, steps: int, sigma_squared: Fraction) -> tuple[Floats, Floats]:
    """Return the losses of the integers first, first + 1, ... as sums of two doubles, the second rounded up."""
    each = Fraction(steps) / (2 * sigma_squared)
    high = float(each)
    low = float_up(each - Fraction(high))
    many = 2.0 * np.arange(first, first + count, dtype=np.float64) + float(steps)
    nearest = high * many
    lost, more = _product_error(high, many, nearest), low * many
    return nearest, lost + more + (np.abs(lost) + np.abs(more)) * 2.0**-50


def _product_error(single: float, many: Floats, product: Floats) -> Floats:
    """Return single * many - product, exactly, for many products at once.

    Cites: [Hig02, exact products of doubles].
    """
    halves = []
    for factor in (np.full_like(many, single), many):
        grown = factor * (2.0**27 + 1)
        high = grown - (grown - factor)
        halves.append((high, factor - high))
    (a, b), (c, d) = halves
    return ((a * c - product) + a * d + b * c) + b * d


@lru_cache(maxsize=256)
def _ladder(steps: int, sigma_squared: Fraction) -> tuple[int, Floats, Floats]:
    """Return the first integer j, H at x* = j, j+1, ..., and p(j) T(j), T(j) = P[X >= j + steps] / p(j + steps).

    H_j - H_(j+1) = (1 - exp(-steps/sigma**2)) p(j+1) T(j+1), and
    T(j) = 1 + exp(-(2 (j + steps) + 1)/(2 sigma**2)) T(j+1): sums of positive terms only, from the far end.
    """
    variance = float(sigma_squared)
    far = math.ceil(39 * math.sqrt(variance)) + 2
    first = max(-(steps // 2) - 1, -far)
    places = np.arange(first, far + 1, dtype=np.float64)
    with np.errstate(under="ignore", over="ignore"):
        decays = np.exp(-(2 * (places + steps) + 1) / (2 * variance)).tolist()
        centred = np.arange(-far, far + 1, dtype=np.float64)
        masses = np.exp(-places * places / (2 * variance)) / np.sum(np.exp(-centred * centred / (2 * variance)))
    ratio = 1.0
    ratios = []
    for decay in reversed(decays):
        ratio = 1.0 + min(decay, 1.0) * ratio
        ratios.append(ratio)
    slopes = masses * np.array(ratios[::-1])
    drops = -math.expm1(-steps / variance) * slopes
    at_integers = np.append(np.cumsum(drops[::-1])[::-1][1:], 0.0)
    for array in (at_integers, slopes):
        array.flags.writeable = False
    return first, at_integers, slopes


def _integrated(epsilon: Floats, position: Floats, steps: int, sigma: float) -> Floats:
    """Return an upper bound on H by the Euler-Maclaurin formula, its remainder included.

    With g(x) = p(x) - e**epsilon p(x + steps), which is 0 at x*, and theta = floor(x*) + 1 - x*:
    the sum of g(x* + theta + i) over i >= 0 is the integral of g from x*, less the sum over 2 <= k <= n of
    B_k(theta)/k! g^(k-1)(x*), plus R, with |R| <= 4/(2 pi)**n times the integral of |g^(n)|. The integral of g is
    the continuous H, as exp(-x**2/(2 sigma**2)) sums over the integers to sigma sqrt(2 pi) (1 + tau) with
    0 < tau < exp(-19 sigma**2).
    """
    mu = float_up(Fraction(steps) / Fraction(sigma))
    value = gaussian_profile(epsilon, mu)
    with np.errstate(under="ignore"):
        start = position / sigma
        if sigma < _FINEST and 4 * steps < sigma * sigma:  # beyond, a double does not know its place within a step
            theta = np.floor(position) + 1 - position
            value = value - _corrections(theta, start, mu, sigma) + _remainder(start, mu, sigma, _TERMS)
        else:
            slope = mu * density(start) / sigma**2
            value = value + slope / 12 + _remainder(start, mu, sigma, 2)
    return np.where(value > 0, value, LEAST)


def _corrections(theta: Floats, start: Floats, mu: float, sigma: float) -> Floats:
    """Return the sum over 2 <= k <= n of B_k(theta)/k! g^(k-1)(x*), with g's derivatives by Hermite polynomials."""
    from scipy.special import bernoulli, comb

    numbers = bernoulli(_TERMS)
    here, there = (np.ones_like(start), start), (np.ones_like(start), start + mu)
    total = np.zeros_like(start)
    for k in range(2, _TERMS + 1):
        order = k - 1
        bernoulli_k = sum(comb(k, i) * numbers[i] * theta ** (k - i) for i in range(k + 1))
        derivative = (-1) ** order * (here[1] - there[1]) / sigma ** (order + 1)
        total += bernoulli_k / math.factorial(k) * derivative
        here = (here[1], start * here[1] - order * here[0])
        there = (there[1], (start + mu) * there[1] - order * there[0])
    return total * density(start)


def _remainder(start: Floats, mu: float, sigma: float, terms: int) -> Floats:
    """Return a bound on 4/(2 pi)**n times the integral of |g^(n)| from x* on, by Cauchy's estimate on circles.

    On a circle of radius r = c sigma about x >= x*, with t = x/sigma and y = x*/sigma,
    |p(z)| <= p(x) exp(c |t| + c**2/2) and |1 - exp(-(z - x*) mu/sigma)| <= mu (t - y + c) exp(c mu), so that the
    integral is at most n!/r**n mu exp(c mu + c**2/2) times E[(T - y + c) exp(c |T|); T > y], T standard normal.
    Exponential tilting moves T by c or -c, and E[(T + c - y)+] = phi(y - c) (1 - (y - c) R(y - c)).
    """
    c = 1 / (4 + mu)
    moment = np.zeros_like(start)
    for moved in (start - c, start + c):
        near = np.maximum(moved, 0.0)  # below 0 the expectation is at most |moved| + 1 + c
        far = density(near) * (mills_slope(near) + c * mills(near))
        moment += np.where(moved < 0, np.abs(moved) + 1 + c, far)
    log_factor = math.lgamma(terms + 1) - terms * math.log(2 * math.pi * c * sigma) + c * mu + c * c
    return 4 * mu * math.exp(log_factor) * moment
