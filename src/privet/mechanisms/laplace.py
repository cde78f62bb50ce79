"""The Laplace mechanism, drawn as discrete Laplace noise on a grid, with its event beside it.

Whole numbers get integer noise. Reals are put on a power-of-two grid far below the noise. Neither draws a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

from privet import noise
from privet.accounting.pairs import DiscreteLaplacePair, LaplacePair
from privet.core.errors import BadParameter, RequestError
from privet.core.event import Atom, Exact
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, inflate, nonnegative, positive, read_order, whole
from privet.core.unit import Sensitivity, l1_of
from privet.core.wire import wired

from .lattice import (
    Grid,
    Numbers,
    add,
    around,
    exponent_below,
    from_grid,
    read_grid,
    read_numbers,
    repeated,
    step_of,
    tail_of,
    to_grid,
)
from .laws import AdditiveNoise, DiscreteLaplace
from .mechanism import read_times, shown

_FINE_STEPS = 2**12
"""The event of the fine grid counts this many steps; its curve is within 1e-8 epsilon**2 of the continuous one."""

_FINE_BITS, _SHARE_BITS = 24, 16
"""A fine grid's step is this many binary digits below the stated event's step and the noise, and each share."""

_SMALLEST_LOSS = Fraction(1, 2**900)
_LARGEST_ORDER = 1e100
_LEAST_STEP = 1e-200
_TINY_STEP = Decimal("1e-12")


@dataclass(frozen=True, init=False)
class LaplaceEvent(Atom):
    """Laplace noise of real scale on answers that move by at most `sensitivity` in L1.

    Args:
        sensitivity: the L1 sensitivity.
        scale: the scale of the noise.

    Example:
        >>> mechanisms.LaplaceEvent(sensitivity=1, scale=2).pure()
        Fraction(1, 2)

    Guarantee: for a vector with independent noise, the pair of one coordinate that takes the whole shift dominates
    (proof at `DiscreteLaplacePair`), so every curve is the scalar one. Its log-moment is a log-sum of exponentials
    that are linear in the shift, hence convex and zero at zero, hence superadditive: the same for Renyi.
    Cites: [DMNS06, the Laplace mechanism], [Mir17, Prop. 6], [HM25, Laplace].
    """

    sensitivity: Fraction
    scale: Fraction

    def __init__(self, *, sensitivity: Number, scale: Number) -> None:
        set_fields(self, sensitivity=nonnegative(sensitivity, "sensitivity"), scale=nonnegative(scale, "scale"))

    def pure(self) -> Exact:
        """Return sensitivity / scale."""
        return _ratio(self.sensitivity, self.scale)

    def rho(self) -> Exact:
        """Return e + exp(-e) - 1 for e = sensitivity / scale, the divergence at order 1, where the supremum lies."""
        return _rho(self.pure(), lambda e: e + ((-e).exp() - 1))

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return ln[ a e^{(a-1)e} + (a-1) e^{-a e} over 2a-1 ] / (a-1) at order a, rounded up."""
        order, loss = read_order(order), float_up(self.pure())
        if not 0 < loss < math.inf:
            return loss
        if order > _LARGEST_ORDER:
            return _bound(loss, order, self.rho())
        # the bracket over e^{(a-1)e}: 1 - (a-1)/(2a-1) (1 - e^{-(2a-1)e})
        drop = (order - 1) / (2 * order - 1) * -math.expm1(-(2 * order - 1) * loss)
        return _curve(loss, math.log1p(-drop), order, self.rho())

    def pair(self) -> LaplacePair:
        return LaplacePair(_finite(self.pure(), "scale"))


@dataclass(frozen=True, init=False)
class DiscreteLaplaceEvent(Atom):
    """Integer noise with P[k] proportional to exp(-|k| / scale) on integers that move by at most `steps` in L1.

    Args:
        steps: how far one unit can move the integers, in L1.
        scale: the scale of the noise.

    Example:
        >>> mechanisms.DiscreteLaplaceEvent(steps=1, scale=2).pure()
        Fraction(1, 2)

    Guarantee: as for `LaplaceEvent`, for scalars and vectors. One step is exactly binary randomised response.
    Cites: [GRS12, the geometric mechanism], [HM25, discrete Laplace].
    """

    steps: int
    scale: Fraction

    def __init__(self, *, steps: int, scale: Number) -> None:
        set_fields(self, steps=whole(steps, "steps", most=2**2300), scale=nonnegative(scale, "scale"))

    def pure(self) -> Exact:
        """Return steps / scale."""
        return _ratio(Fraction(self.steps), self.scale)

    def rho(self) -> Exact:
        """Return e - (1 - exp(-e)) t / sinh(t) for t = 1/scale and e = steps t: the divergence at order 1."""
        steps = self.steps

        def divergence(e: Decimal) -> Decimal:
            t = e / steps
            if t < _TINY_STEP:
                shrink = 1 - t * t / 6  # no more than t / sinh t, whose digits cancel
            else:
                shrink = 2 * t * (-t).exp() / (1 - (-2 * t).exp())
            return e + ((-e).exp() - 1) * shrink

        return _rho(self.pure(), divergence)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return the divergence of the law from its shift by `steps`, summed in closed form, rounded up."""
        order, loss = read_order(order), float_up(self.pure())
        if not 0 < loss < math.inf:
            return loss
        # sum over x of P^o Q^(1-o) = e^{(o-1)e} [1 + (1-a)(r - r^d)/(1-r) + r^d] / (1+a),  r = a^(2o-1)
        step = float_up(Fraction(loss) / self.steps)
        if order > _LARGEST_ORDER or not _LEAST_STEP < step < 1 / _LEAST_STEP:
            return _bound(loss, order, self.rho())
        a, r, last = math.exp(-step), -(2 * order - 1) * step, math.exp(-(2 * order - 1) * loss)
        middle = math.expm1(-step) / math.expm1(r) * (math.exp(r) - last)
        return _curve(loss, math.log((1 + middle + last) / (1 + a)), order, self.rho())

    def pair(self) -> DiscreteLaplacePair:
        _finite(self.pure(), "scale")
        return DiscreteLaplacePair(self.steps, self.scale)


@wired("Laplace", "sensitivity", "scale", "grid")
@dataclass(frozen=True, init=False, repr=False)
class Laplace(AdditiveNoise):
    """Add Laplace noise to one number, or to a vector of known L1 sensitivity.

    Pass `sensitivity` and one of `epsilon` and `scale`. `grid` is `"whole"` or `"fine"`; by default it is whole
    where the sensitivity is. On the whole grid, whole numbers get discrete Laplace noise. Everything else is drawn on
    a power-of-two grid far below the noise, and whole numbers that were drawn there are rounded back.

    Args:
        sensitivity: how far one unit can move the value: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release. Pass either epsilon or scale.
        scale: the scale of the noise, instead of epsilon.
        grid: "whole" for whole-number noise, "fine" for a grid far below the noise.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Laplace(sensitivity=1, epsilon=0.5)
        >>> mechanism.scale, mechanism.epsilon
        (Fraction(2, 1), 0.5)

    Guarantee: epsilon-DP with epsilon = sensitivity / scale. A real x sits at floor(x/g + 1/2) on the grid of step g,
    so n coordinates move by at most ceil(sensitivity/g) + n - 1 steps. That number is rounded up to a multiple
    d of the steps that `event` states, and the noise has scale d / epsilon steps, so that the rounding is paid for by
    the noise. Both loss curves equal 1 - exp(-(epsilon - x)/2) at their breakpoints and are linear in e^x between
    them; the breakpoints of the stated event are among those of the drawn one, so by convexity it dominates.
    Cites: [DMNS06, the Laplace mechanism], [GRS12, the geometric mechanism], [Mir12].
    """

    sensitivity: Fraction
    scale: Fraction
    grid: Grid
    family = "laplace"
    name = "Laplace"
    norm = "L1"

    def __init__(
        self,
        *,
        sensitivity: Number | Sensitivity,
        epsilon: Number | None = None,
        scale: Number | None = None,
        grid: Grid | None = None,
    ) -> None:
        sensitivity = l1_of(sensitivity)
        if (epsilon is None) == (scale is None):
            raise RequestError("Laplace takes exactly one of epsilon and scale, beside the sensitivity")
        if scale is None:
            distance = positive(sensitivity, "sensitivity")
            width = positive(distance / positive(epsilon, "epsilon"), "the scale sensitivity / epsilon")
        else:
            distance = nonnegative(sensitivity, "sensitivity")
            width = positive(scale, "scale")
        if 0 < distance < _SMALLEST_LOSS * width:
            given = ("scale", scale) if epsilon is None else ("epsilon", epsilon)
            raise BadParameter(*given, "such that sensitivity / scale, the epsilon, is at least 2**-900")
        set_fields(self, sensitivity=distance, scale=width, grid=read_grid(grid, distance))

    @cached_property
    def event(self) -> DiscreteLaplaceEvent:
        """The event of one release, scalar or vector, on the coarsest grid that it may be drawn on."""
        if self.sensitivity == 0:
            return DiscreteLaplaceEvent(steps=0, scale=self.scale)
        return DiscreteLaplaceEvent(steps=self._steps, scale=self._steps * self.scale / self.sensitivity)

    def release(self, value: Any) -> Any:
        """Return the value plus fresh noise: whole numbers stay whole, reals become floats."""
        numbers = read_numbers(value)
        return self._noisy(numbers, *self._grid(numbers))

    def simulate(self, value: Any, times: int) -> Any:
        """Return this many releases of the same value, along a first axis. Each costs the event once more."""
        numbers = read_numbers(value)
        return self._noisy(repeated(numbers, read_times(times)), *self._grid(numbers))

    def _grid(self, numbers: Numbers) -> tuple[int, Fraction]:
        on_integers = numbers.whole and self.grid == "whole"
        return self._fine_one if numbers.shape is None and not on_integers else self._drawn(numbers.size, on_integers)

    def _noisy(self, numbers: Numbers, exponent: int, scale: Fraction) -> Any:
        drawn = noise.discrete_laplace(scale, numbers.shape)
        return from_grid(add(to_grid(numbers, exponent), drawn), exponent, like=numbers)

    @property
    def distance(self) -> Fraction:
        """The L1 sensitivity."""
        return self.sensitivity

    @property
    def width(self) -> float:
        """The scale."""
        return float(self.scale)

    def moved(self, sensitivity: Number | Sensitivity) -> Fraction:
        """Return the L1 norm of a sensitivity."""
        return nonnegative(l1_of(sensitivity), "sensitivity")

    def _drawn(self, size: int, on_integers: bool) -> tuple[int, Fraction]:
        return (0, self.scale) if on_integers and self.grid == "whole" else self._fine(size)

    def _law(self, parameter: Fraction, step: Fraction, finer: int) -> DiscreteLaplace:
        return DiscreteLaplace(scale=parameter, step=step, finer=finer)

    def error(self, confidence: Number = 0.95) -> float:
        """Return a half-width that the noise stays within with this probability, whatever the kind of number."""
        tail = tail_of(confidence)
        return float_up(max(self._real_error(tail), Fraction(self._whole_error(tail))))

    def interval(self, released: Any, confidence: Number = 0.95) -> tuple[Any, Any]:
        """Return low and high that contain the true value with this probability, for each coordinate separately."""
        numbers = read_numbers(released, "released")
        tail = tail_of(confidence)
        return around(numbers, self._whole_error(tail) if numbers.whole else float_up(self._real_error(tail)))

    def _whole_error(self, tail: float) -> int:
        if self.grid == "fine":  # rounded: |round(x)| <= w wherever |x| < w + 1/2
            return max(0, math.ceil(self._real_error(tail) - Fraction(1, 2)))
        # the least w with P[|noise| > w] = 2 a^(w+1) / (1+a) <= tail
        in_scales = math.log(2 / tail) - math.log1p(math.exp(-float_up(1 / self.scale)))
        return max(0, math.ceil(self.scale * Fraction(inflate(in_scales))) - 1)

    def _real_error(self, tail: float) -> Fraction:
        # The noise is raised by less than 2**-15 of itself; the grid and the rounding to it add less than 2**-23 of it.
        return self.scale * Fraction((1 + 2.0**-15) * -math.log(tail) + 2.0**-23)

    @property
    def _steps(self) -> int:
        return int(self.sensitivity) if self.grid == "whole" else _FINE_STEPS

    @cached_property
    def _fine_one(self) -> tuple[int, Fraction]:
        return self._fine(1)

    def _fine(self, size: int) -> tuple[int, Fraction]:
        """Return a fine grid's exponent and the noise's scale in its steps, from public facts alone."""
        n = max(size, 1)
        if self.sensitivity == 0:
            exponent = exponent_below(self.scale / 2**_FINE_BITS)
            return exponent, self.scale / step_of(exponent)
        # Rounding up to a multiple costs less than one of the event's steps; rounding n numbers, n - 1 of the grid's.
        unit = min(self.sensitivity / self._steps, self.scale) / 2**_FINE_BITS
        exponent = exponent_below(min(unit, self.sensitivity / (n << _SHARE_BITS)))
        moves = math.ceil(self.sensitivity / step_of(exponent)) + n - 1
        multiple = -(-moves // self._steps) * self._steps
        return exponent, multiple * self.scale / self.sensitivity

    def __repr__(self) -> str:
        return f"Laplace(sensitivity={shown(self.sensitivity)}, scale={shown(self.scale)}, epsilon={self.epsilon:.6g})"


def _ratio(shift: Fraction, scale: Fraction) -> Exact:
    if shift == 0:
        return Fraction(0)
    return shift / scale if scale else math.inf


def _rho(loss: Exact, divergence: Callable[[Decimal], Decimal]) -> Exact:
    """Return the divergence at a loss, rounded up; never above loss**2 / 2, which every pure event keeps to."""
    if not 0 < loss < math.inf:
        return loss
    exact = Fraction(loss)
    most = exact * exact / 2
    if not Fraction(1, 10**15) < exact < 10**15:
        return min(most, exact)  # the divergence of any order is at most the loss, and orders are above 1
    with localcontext(Context(prec=90)):
        nearest = Fraction(divergence(Decimal(exact.numerator) / Decimal(exact.denominator)))
    return min(most, Fraction(float_up(nearest * (1 + Fraction(1, 10**20)))))


def _curve(loss: float, correction: float, order: float, rho: Exact) -> float:
    """Return loss + correction / (order - 1), rounded up, or a bound that loses no digits where it is less.

    The correction nearly cancels the loss when both are small, so its absolute error is allowed for; rho * order
    is tight there.
    """
    computed = loss + correction / (order - 1) + 2.0**-46 * (loss + (1 + abs(correction)) / (order - 1))
    return min(computed, _bound(loss, order, rho))


def _bound(loss: float, order: float, rho: Exact) -> float:
    return min(loss, float_up(Fraction(rho) * Fraction(order)))


def _finite(loss: Exact, parameter: str) -> Fraction:
    if isinstance(loss, float):
        raise BadParameter(parameter, 0, "above 0, for a privacy loss to be finite")
    return loss
