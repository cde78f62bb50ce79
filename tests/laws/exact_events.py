"""The laws behind events, enumerated in arithmetic of many digits, and what telling them apart truly costs.

Nothing here asks an event for a cost. An infinite support is cut and a continuous one put into cells: both are
functions of the output, so that what is found is never above the truth, and a stated cost below it is a fault.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from privet.accounting.amplify import Sampled, Shuffled
from privet.accounting.compose import Parallel
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.accounting.groups import Group
from privet.core.event import Composed, Event, Repeated
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    FiniteEvent,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
)

Law = list[tuple[Any, Any]]
"""What every outcome weighs with the unit and without it."""

LARGEST = 300
"""Outcomes beyond which a product of laws is not enumerated."""


def real(value: Fraction | float | int) -> Any:
    """Return a rational in the digits of `mp`."""
    exact = Fraction(value)
    return mpf(exact.numerator) / mpf(exact.denominator)


class Laws:
    """The laws of an event under some pairs of neighbours, for losses that are of interest."""

    def __init__(self, rng: random.Random, losses: Iterable[float]) -> None:
        self.rng = rng
        self.losses = [mpf(loss) for loss in losses]

    def of(self, event: Event) -> list[Law]:
        """Return laws of an event, with the unit first; at least one."""
        return self._of(event, free=_has_order(event), losses=self.losses, size=1)

    def _of(self, event: Any, *, free: bool, losses: list[Any], size: int) -> list[Law]:
        make = MAKERS[type(event)]
        found = make(self, event, free=free, losses=losses, size=size)
        self.rng.shuffle(found)
        return found[:3]

    def product(self, laws: list[Law]) -> Law:
        """Return independent outcomes together; those that would be too many are left out, which only hides."""
        total: Law = [(mpf(1), mpf(1))]
        for law in laws:
            if len(total) * len(law) <= LARGEST:
                total = [(a * c, b * d) for a, b in total for c, d in law]
        return total

    def some_products(self, several: list[list[Law]]) -> list[Law]:
        """Return a few products of one law of each."""
        return [self.product([self.rng.choice(laws) for laws in several]) for _ in range(3)]


def _has_order(event: Any) -> bool:
    """Return whether an event tells who is with the unit and who without, so that other pairs can be turned round."""
    if isinstance(event, (Sampled, Parallel)):
        return True
    inner = getattr(event, "events", None) or ([event.event] if hasattr(event, "event") else [])
    return any(map(_has_order, inner))


def turned(law: Law) -> Law:
    """Return the law with its two sides exchanged."""
    return [(b, a) for a, b in law]


def _pure(laws: Laws, event: PureEvent, *, size: int, **_: Any) -> list[Law]:
    return [_response(size * real(event.epsilon))]


def _response(loss: Any) -> Law:
    rare = 1 / (1 + mp.exp(loss))
    return [(1 - rare, rare), (rare, 1 - rare)]


def _approximate(laws: Laws, event: ApproximateEvent, **_: Any) -> list[Law]:
    return [_failing(_response(real(event.epsilon)), real(event.delta))]


def _failing(law: Law, delta: Any) -> Law:
    kept = [((1 - delta) * a, (1 - delta) * b) for a, b in law]
    return [(delta, mpf(0)), (mpf(0), delta), *kept]


def _zcdp(laws: Laws, event: ZcdpEvent, *, losses: list[Any], size: int, **_: Any) -> list[Law]:
    rho = real(event.rho_value) * size**2
    if rho == 0:
        return [[(mpf(1), mpf(1))]]
    found = [_gaussian_cells(mp.sqrt(2 * rho), losses)]
    if rho < 20:  # the response whose divergence at order 1 is rho
        loss = mp.sqrt(2 * rho)
        for _ in range(300):
            loss = max(loss, rho / mp.tanh(loss / 2)) * (1 - mpf(10) ** -40)
            if loss * mp.tanh(loss / 2) <= rho:
                break
        if loss * mp.tanh(loss / 2) <= rho:
            found.append(_response(loss))
    return found


def _finite_pair(laws: Laws, event: FinitePairEvent, *, free: bool, **_: Any) -> list[Law]:
    law = [(real(a), real(b)) for a, b in zip(event.p, event.q, strict=True)]
    return [law, turned(law)] if free else [law]


def _finite(laws: Laws, event: FiniteEvent, **_: Any) -> list[Law]:
    both = [law for pair in event.pairs for law in _finite_pair(laws, pair, free=True)]
    return both or [[(mpf(1), mpf(1))]]


def _threshold(laws: Laws, event: ThresholdEvent, **known: Any) -> list[Law]:
    return [_failing(law, real(event.delta)) for law in laws._of(event.event, **known)]


def _laplace(laws: Laws, event: LaplaceEvent, *, losses: list[Any], size: int, **_: Any) -> list[Law]:
    ratio = size * real(event.sensitivity) / real(event.scale)
    found = [_laplace_cells(ratio, losses)]
    part = real(laws.rng.random())
    found.append(
        laws.product([_laplace_cells(ratio * part, losses[:2]), _laplace_cells(ratio * (1 - part), losses[:2])])
    )
    return found


def _laplace_cells(shift: Any, losses: list[Any]) -> Law:
    # in scales: the loss at x is |x - shift| - |x|, so that a loss of l lies at x = (shift - l)/2
    inner = [(shift - loss) / 2 for loss in losses] + [shift * k / 12 for k in range(13)]
    places = sorted({mpf(0), shift, *(x for x in inner if 0 < x < shift)})
    ends = [-mp.inf, *places, mp.inf]
    cells = []
    for a, b in itertools.pairwise(ends):
        cells.append((_laplace_mass(a, b), _laplace_mass(a - shift, b - shift)))
    return cells


def _laplace_mass(a: Any, b: Any) -> Any:
    if b <= 0:
        return mp.exp(b) * -mp.expm1(a - b) / 2 if a != -mp.inf else mp.exp(b) / 2
    if a >= 0:
        return _laplace_mass(-b, -a)
    return -(mp.expm1(a if a != -mp.inf else -mp.inf) + mp.expm1(-b)) / 2


def _discrete_laplace(laws: Laws, event: DiscreteLaplaceEvent, *, size: int, **_: Any) -> list[Law]:
    steps, rate = size * event.steps, 1 / real(event.scale)
    found = [_discrete_laplace_cells(steps, rate)]
    if steps:
        part = laws.rng.randrange(steps + 1)
        both = [_discrete_laplace_cells(part, rate), _discrete_laplace_cells(steps - part, rate)]
        found += [both[0], laws.product(both)]
    return found


def _discrete_laplace_cells(shift: int, rate: Any) -> Law:
    """Return the cells (-inf, 0], 1, ..., shift - 1, [shift, inf): each has one loss, so that nothing is lost."""
    near = mp.exp(-rate)
    if shift == 0:
        return [(mpf(1), mpf(1))]
    centre = -mp.expm1(-rate) / (1 + near)  # P[0]
    far = near**shift
    end = 1 / (1 + near)  # P[X <= 0] = P[X >= 0]
    cells = [(end, end * far), (end * far, end)]
    if shift <= 60:
        cells += [(centre * near**x, centre * near ** (shift - x)) for x in range(1, shift)]
        return cells
    edges = sorted({1, shift, *(1 + (shift - 1) * k // 40 for k in range(41))})
    for a, b in itertools.pairwise(edges):  # the integers a, ..., b - 1: sums of geometric series
        several = mp.expm1(-rate * (b - a)) / mp.expm1(-rate)
        cells.append((centre * near**a * several, centre * near ** (shift - b + 1) * several))
    return cells


def _gaussian(laws: Laws, event: GaussianEvent, *, losses: list[Any], size: int, **_: Any) -> list[Law]:
    if event.sensitivity_squared == 0:
        return [[(mpf(1), mpf(1))]]
    mu = size * mp.sqrt(real(event.sensitivity_squared) / real(event.sigma_squared))
    return [_gaussian_cells(mu, losses)]


def _gaussian_cells(mu: Any, losses: list[Any]) -> Law:
    # N(0, 1) with the unit and N(mu, 1) without: the loss at x is mu**2/2 - mu x
    places = {mu / 2 - loss / mu for loss in losses} | {mu / 2 + (mu + 8) * k / 8 for k in range(-8, 9)}
    ends = [-mp.inf, *sorted(places), mp.inf]
    return [(_normal(a, b), _normal(a - mu, b - mu)) for a, b in itertools.pairwise(ends)]


def _normal(a: Any, b: Any) -> Any:
    if a > 0:
        a, b = -b, -a
    tails = [mpf(0) if x == -mp.inf else mpf(1) if x == mp.inf else mp.erfc(-x / mp.sqrt(2)) / 2 for x in (a, b)]
    return max(tails[1] - tails[0], mpf(0))


def _discrete_gaussian(laws: Laws, event: DiscreteGaussianEvent, *, size: int, **_: Any) -> list[Law]:
    steps = size * event.steps
    shifts = {steps, laws.rng.randint(0, steps)}
    return [_discrete_gaussian_law(shift, real(event.sigma_squared)) for shift in shifts]


def _discrete_gaussian_law(shift: int, variance: Any) -> Law:
    wide = int(mp.ceil(12 * mp.sqrt(variance))) + 3
    total = sum(_bell(x, variance) for x in range(-2 * wide, 2 * wide + 1)) * (1 + mpf(10) ** -50)
    places = sorted({*range(-wide, wide + 1), *range(shift - wide, shift + wide + 1)})
    return [(_bell(x, variance) / total, _bell(x - shift, variance) / total) for x in places]


def _bell(x: int, variance: Any) -> Any:
    return mp.exp(-(mpf(x) ** 2) / (2 * variance))


def _exponential(laws: Laws, event: ExponentialEvent, **_: Any) -> list[Law]:
    epsilon = real(event.epsilon)
    if epsilon == 0:
        return [[(mpf(1), mpf(1))]]
    found = []
    for part in (0.5, laws.rng.random(), 0.999, 0.001):
        high = epsilon * real(part)  # the losses are `high` and `high - epsilon`: two outcomes fix their weights
        p = -mp.expm1(high - epsilon) / -mp.expm1(-epsilon)
        rest = mp.exp(high - epsilon) * -mp.expm1(-high) / -mp.expm1(-epsilon)
        found.append([(p, p * mp.exp(-high)), (rest, rest * mp.exp(epsilon - high))])
    return found


def _reported(laws: Laws, event: ResponseEvent, **_: Any) -> list[Law]:
    p, q = real(event.p), real(event.q)
    return [[(p, q), (q, p), ((event.categories - 2) * q, (event.categories - 2) * q)]]


def _sampled(laws: Laws, event: Sampled, *, losses: list[Any], size: int, **_: Any) -> list[Law]:
    rate = real(event.rate)
    inside = losses + [mp.log1p(mp.expm1(loss) / rate) for loss in losses]
    found = []
    for law in laws._of(event.event, free=True, losses=inside, size=1):
        found.append([((1 - rate) * b + rate * a, b) for a, b in law])
    return found


def _shuffled(laws: Laws, event: Shuffled, **known: Any) -> list[Law]:
    """Return the law of the first report's place in a multiset of two: who is alone hides behind nobody."""
    return laws._of(event.event, **known) if event.n == 1 else [[(mpf(1), mpf(1))]]


def _group(laws: Laws, event: Group, *, size: int, **known: Any) -> list[Law]:
    grows = PureEvent | ZcdpEvent | LaplaceEvent | DiscreteLaplaceEvent | GaussianEvent | DiscreteGaussianEvent
    simple = isinstance(event.event, grows)
    return laws._of(event.event, size=size * event.size if simple else size, **known)


def _parallel(laws: Laws, event: Parallel, **known: Any) -> list[Law]:
    each = [laws._of(part, **known) for part in event.events]
    if event.neighbors == "add-remove" or len(each) < 2:
        return [law for several in each for law in several] or [[(mpf(1), mpf(1))]]
    one, other = laws.rng.sample(each, 2)
    return [laws.product([laws.rng.choice(one), turned(laws.rng.choice(other))]) for _ in range(3)]


def _composed(laws: Laws, event: Composed, **known: Any) -> list[Law]:
    return laws.some_products([laws._of(part, **known) for part in event.events])


def _repeated(laws: Laws, event: Repeated, **known: Any) -> list[Law]:
    once = laws._of(event.event, **known)
    return laws.some_products([once] * min(event.times, 12))


MAKERS: dict[type, Callable[..., list[Law]]] = {
    ApproximateEvent: _approximate,
    Composed: _composed,
    DiscreteGaussianEvent: _discrete_gaussian,
    DiscreteLaplaceEvent: _discrete_laplace,
    ExponentialEvent: _exponential,
    FiniteEvent: _finite,
    FinitePairEvent: _finite_pair,
    GaussianEvent: _gaussian,
    Group: _group,
    LaplaceEvent: _laplace,
    Parallel: _parallel,
    PureEvent: _pure,
    Repeated: _repeated,
    ResponseEvent: _reported,
    Sampled: _sampled,
    Shuffled: _shuffled,
    ThresholdEvent: _threshold,
    ZcdpEvent: _zcdp,
}


def hockey_stick(law: Law, epsilon: float) -> Any:
    """Return the larger of both directions' divergence at an epsilon."""
    grown = mp.exp(mpf(epsilon))
    ahead = mp.fsum(max(a - grown * b, 0) for a, b in law)
    back = mp.fsum(max(b - grown * a, 0) for a, b in law)
    return max(ahead, back)


def renyi(law: Law, order: float) -> Any:
    """Return the larger of both directions' Renyi divergence; infinite where one side excludes an outcome."""
    return max(_one_way(law, mpf(order)), _one_way(turned(law), mpf(order)))


def _one_way(law: Law, order: Any) -> Any:
    total = mpf(0)
    for a, b in law:
        if a == 0:
            continue
        if b == 0:
            return mp.inf
        total += a * mp.exp((order - 1) * mp.log(a / b))
    if total <= 0:
        return mpf(0)
    return mp.log(total) / (order - 1)


def largest_loss(law: Law) -> Any:
    """Return the largest finite loss, in either direction."""
    ratios = [abs(mp.log(a / b)) for a, b in law if a > 0 and b > 0]
    return max(ratios, default=mpf(0))
