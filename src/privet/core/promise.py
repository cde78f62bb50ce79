"""Promises about streams that are no budget of a session: what is protected is a window of steps, not a person.

Such a promise is a type of its own, so that it can never be counted as the epsilon of people or of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .given import set_fields
from .numbers import Number, float_near, positive, whole

MOST_STEPS = 10**5
"""How many steps a window may have: what was spent at each of them is kept."""


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
