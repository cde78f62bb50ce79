"""The promise: how much may be learnt about one unit, as pure epsilon, as (epsilon, delta) or as rho.

A budget is a value. Its remainder is computed elsewhere, from a history, and never stored here. A stream's promise
about a window of steps is no budget of a session: it is a separate type, `WEvent`, so that it can never be
counted as the epsilon of people or of rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from .given import set_fields
from .numbers import Number, float_near, open_probability, positive, whole


@dataclass(frozen=True, init=False, repr=False)
class Pure:
    """Epsilon-differential privacy: no answer's probability moves by more than a factor e**epsilon.

    Args:
        epsilon: the largest privacy loss, above 0.

    Raises:
        BadParameter: if epsilon is not a finite number above 0.

    Example:
        >>> privet.Pure(epsilon=0.5).epsilon
        Fraction(1, 2)
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        set_fields(self, epsilon=positive(epsilon, "epsilon"))

    def __repr__(self) -> str:
        return f"Pure(epsilon={_exact(self.epsilon)})"

    @property
    def measure(self) -> str:
        """The name of its amount."""
        return "epsilon"

    @property
    def amount(self) -> Fraction:
        """How much may be learnt, in its measure."""
        return self.epsilon

    def describe(self) -> str:
        """Return the promise in words."""
        return f"epsilon {_short(self.epsilon)}, with no exception"


@dataclass(frozen=True, init=False, repr=False)
class Approximate:
    """(Epsilon, delta)-differential privacy: as pure epsilon, up to a probability of at most delta.

    Args:
        epsilon: the largest privacy loss, above 0.
        delta: the probability with which the loss may be larger, strictly between 0 and 1.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> privet.Approximate(epsilon=1, delta=1e-6).describe()
        'epsilon 1, except with probability 1e-06'
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Number, delta: Number) -> None:
        set_fields(self, epsilon=positive(epsilon, "epsilon"), delta=open_probability(delta, "delta"))

    def __repr__(self) -> str:
        return f"Approximate(epsilon={_exact(self.epsilon)}, delta={_exact(self.delta)})"

    @property
    def measure(self) -> str:
        """The name of its amount."""
        return "epsilon"

    @property
    def amount(self) -> Fraction:
        """How much may be learnt, in its measure."""
        return self.epsilon

    def describe(self) -> str:
        """Return the promise in words."""
        return f"epsilon {_short(self.epsilon)}, except with probability {_short(self.delta)}"


@dataclass(frozen=True, init=False, repr=False)
class Zcdp:
    """Rho-zero-concentrated differential privacy: every Renyi divergence is at most rho times its order.

    Args:
        rho: the zCDP parameter, above 0.

    Raises:
        BadParameter: if rho is not a finite number above 0.

    Example:
        >>> privet.Zcdp(rho=0.125).rho
        Fraction(1, 8)
    """

    rho: Fraction

    def __init__(self, *, rho: Number) -> None:
        set_fields(self, rho=positive(rho, "rho"))

    def __repr__(self) -> str:
        return f"Zcdp(rho={_exact(self.rho)})"

    @property
    def measure(self) -> str:
        """The name of its amount."""
        return "rho"

    @property
    def amount(self) -> Fraction:
        """How much may be learnt, in its measure."""
        return self.rho

    def describe(self) -> str:
        """Return the promise in words."""
        return f"rho {_short(self.rho)} (zero-concentrated)"


Budget = Pure | Approximate | Zcdp


MOST_STEPS = 10**5
"""How many steps a window may have: the spending at each of them is stored."""


@dataclass(frozen=True, init=False)
class WEvent:
    """Epsilon-differential privacy of all that one person does within any window of consecutive steps of a stream.

    It protects a person's rows of `window` steps, wherever the window lies. Over a longer time a person pays again in
    each window: after n windows, n times epsilon.

    Args:
        epsilon: the largest privacy loss of any window, above 0.
        window: how many consecutive steps are protected together.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> privet.stream.WEvent(epsilon=1, window=7).describe()
        'epsilon 1 in any 7 consecutive steps'
    """

    epsilon: Fraction
    window: int

    def __init__(self, *, epsilon: Number, window: int) -> None:
        set_fields(self, epsilon=positive(epsilon, "epsilon"), window=whole(window, "window", least=1, most=MOST_STEPS))

    def over(self, steps: int) -> Fraction:
        """Return the epsilon of all that one person does within this many consecutive steps.

        Guarantee: that many steps are covered by ceil(steps / window) windows, and the losses of windows add up.
        """
        return self.epsilon * -(-whole(steps, "steps", least=1) // self.window)

    def describe(self) -> str:
        """Return the promise in words."""
        steps = "step" if self.window == 1 else f"{self.window:,} consecutive steps"
        return f"epsilon {float_near(self.epsilon):.6g} in any {steps}"


def _short(value: Fraction) -> str:
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    # numbers beyond all floats are still shown
    return f"{near:.6g}" if near else f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"


def _exact(value: Fraction) -> str:
    """Return an amount as it is typed, exactly."""
    if value.denominator == 1 and abs(value.numerator) < 10**15:
        return str(value.numerator)
    with contextlib.suppress(OverflowError):
        near = float(value)
        if value in (Fraction(near), Fraction(repr(near))):
            return repr(near)
    return repr(value)
