"""Group privacy: the consequence of a guarantee for one unit for several units that change together.

Where the noise is known, calibrating it to the group's own sensitivity is tighter than anything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from privet.core.errors import Unsupported
from privet.core.event import Event, Exact, NoPair, Pair, add_up, read_event
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_up, failure_probability, float_up, nonnegative, read_order, whole

from .events import response_rdp, response_rho
from .pairs import ApproximatePair, ProfilePair

_LARGEST_EXPONENT = 2000
"""Above e**2000 every allowed delta has long become 1."""

_TINY = Fraction(1, 10**20)


def pure(epsilon: Number, size: int) -> Fraction:
    """Return the epsilon of an epsilon-DP release for a group: size times as much.

    Guarantee: exact in the worst case.
    Cites: [DR14, Thm 2.2].
    """
    return nonnegative(epsilon, "epsilon") * _size(size)


def approximate(epsilon: Number, delta: Number, size: int) -> tuple[Fraction, Fraction]:
    """Return the (epsilon, delta) of an (epsilon, delta)-DP release for a group.

    Guarantee: (k e, d (e^{k e} - 1) / (e^e - 1)) for a group of k, attained by a mechanism with two outcomes;
    delta is rounded up and stops at 1.
    Cites: [Vad17, Lemma 2.2], with the geometric series of its proof summed exactly.
    """
    exact, failure, k = nonnegative(epsilon, "epsilon"), failure_probability(delta), _size(size)
    return k * exact, _scaled(failure, factor(exact, k))


def approximate_loose(epsilon: Number, delta: Number, size: int) -> tuple[Fraction, Fraction]:
    """Return the group guarantee as textbooks print it, (k e, k e^{(k-1) e} d): valid, and never below `approximate`.

    Cites: [DR14, Sec. 2.3].
    """
    exact, failure, k = nonnegative(epsilon, "epsilon"), failure_probability(delta), _size(size)
    exponent = (k - 1) * exact
    return k * exact, _scaled(failure, k * exp_up(exponent) if exponent <= _LARGEST_EXPONENT else math.inf)


def factor(epsilon: Fraction, size: int) -> Exact:
    """Return 1 + e^epsilon + ... + e^{(size-1) epsilon}, rounded up: how much a group multiplies delta."""
    if size == 1 or epsilon == 0:
        return Fraction(size)
    if size * epsilon > _LARGEST_EXPONENT:
        return math.inf
    if epsilon < _TINY:  # the quotient below would cancel, and here no term exceeds the last one by much
        return size * exp_up((size - 1) * epsilon)
    with localcontext(Context(prec=80)):
        step = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        value = ((size * step).exp() - 1) / (step.exp() - 1)
    return Fraction(value) * (1 + Fraction(1, 10**40))


def zcdp(rho: Number, size: int) -> Fraction:
    """Return the rho of a rho-zCDP release for a group: the square of the size times as much.

    Guarantee: exact for Gaussian noise.
    Cites: [BS16, Prop. 1.9].
    """
    return _size(size) ** 2 * nonnegative(rho, "rho")


def renyi(curve: Callable[[float], float], size: int, order: float) -> float:
    """Return the Renyi divergence of a group from the curve of one unit: 3^c curve(2^c order) with 2^c >= size.

    Guarantee: holds for orders of at least 2; below, the bound at 2 is used, since divergences grow with the order.
    Cites: [Mir17, Prop. 2].
    """
    doublings = (_size(size) - 1).bit_length()
    divergence = curve(2.0**doublings * max(read_order(order), 2.0 if doublings else 1.0))
    return divergence if math.isinf(divergence) else float_up(3**doublings * Fraction(divergence))


@dataclass(frozen=True)
class Group:
    """An event for a group of `size` units, all of whom may change together.

    Args:
        event: an `Event`, such as `mechanism.event`.
        size: how many units change together.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.Group(laplace, 2).pure()
        Fraction(1, 1)

    Guarantee: each part's pure epsilon grows by the size, its rho by the square, and its slack by
    (e^{k e} - 1) / (e^e - 1). A part with slack has only its pure epsilon to stand on; without one it is refused.
    Cites: [DR14, Thm 2.2], [BS16, Prop. 1.9], [Vad17, Lemma 2.2].
    """

    event: Event
    size: int

    def __post_init__(self) -> None:
        read_event(self.event)
        set_fields(self, size=_size(self.size))
        for part in self.event.atoms():
            if self.size > 1 and part.slack() > 0 and math.isinf(part.pure()):
                raise Unsupported(
                    f"{type(part).__name__} has slack and no finite pure epsilon, so nothing is known about groups; "
                    f"calibrate its noise and threshold to the sensitivity of {self.size} units instead"
                )

    def pure(self) -> Exact:
        return self.size * self.event.pure()

    def rho(self) -> Exact:
        return sum((times * self._rho(part) for part, times in self.event.atoms().items()), Fraction(0))

    def slack(self) -> Fraction:
        parts = self.event.atoms().items()
        return min(Fraction(1), sum((times * self._slack(part) for part, times in parts), Fraction(0)))

    def rdp(self, order: float) -> float:
        order = read_order(order)
        costs = ((times, self._rdp(part, order)) for part, times in self.event.atoms().items())
        return add_up(cost if math.isinf(cost) else float_up(times * Fraction(cost)) for times, cost in costs)

    def pair(self) -> Pair:
        part = self._only()
        if self.size == 1:
            return part.pair()
        epsilon, rho = self.pure(), self.rho()
        if isinstance(epsilon, Fraction):
            return _response(epsilon, self._slack(part))
        if isinstance(rho, Fraction):
            return ProfilePair(rho)
        raise NoPair("a group's pair is known only from a finite pure epsilon or rho")

    def atoms(self) -> dict[Event, int]:
        """Return the group's view of each part."""
        parts = self.event.atoms()
        if parts == {self.event: 1}:
            return {self: 1}
        return {Group(part, self.size): times for part, times in parts.items()}

    def _only(self) -> Event:
        parts = self.event.atoms()
        if list(parts.values()) != [1]:
            raise NoPair("a composition has no single pair; its privacy loss distribution composes its atoms")
        return next(iter(parts))

    def _slack(self, part: Event) -> Fraction:
        slack, epsilon = part.slack(), part.pure()
        if slack == 0 or self.size == 1 or isinstance(epsilon, float):
            return slack
        return _scaled(slack, factor(epsilon, self.size))

    def _rho(self, part: Event) -> Exact:
        if self.size == 1:
            return part.rho()
        from_pure = response_rho(self.size * part.pure())
        return from_pure if part.slack() > 0 else min(from_pure, self.size**2 * part.rho())

    def _rdp(self, part: Event, order: float) -> float:
        if self.size == 1:
            return part.rdp(order)
        from_pure = response_rdp(self.size * part.pure(), order)
        if part.slack() > 0:
            return from_pure
        rho = self.size**2 * part.rho()
        from_rho = rho if isinstance(rho, float) else float_up(rho * Fraction(order))
        return min(from_pure, from_rho, renyi(part.rdp, self.size, order))


def _size(size: int) -> int:
    return whole(size, "size", least=1, most=10**18)


def _response(epsilon: Fraction, delta: Fraction) -> Pair:
    if delta == 1:
        raise NoPair("a group's delta has reached 1, and every pair is dominated by perfect knowledge")
    return ApproximatePair(epsilon, delta)


def _scaled(delta: Fraction, times: Exact) -> Fraction:
    if delta == 0:
        return Fraction(0)
    return Fraction(1) if isinstance(times, float) else min(Fraction(1), delta * times)
