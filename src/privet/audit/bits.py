"""What the low bits of a double say: which values can have made it. Goodness of fit does not see this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privet.core.errors import BadParameter, BadValue, raise_alone
from privet.core.given import called, function, listed
from privet.mechanisms.reading import read_floats

from .blackbox import ALARM, audit
from .drawing import Draw
from .report import Report

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_WIDTH = 4096
"""More than there are exponents of doubles, so that two of them fit into one number."""

PAIRS: tuple[tuple[float, float], ...] = (
    (0.0, 1.0),
    (0.1, 0.7),
    (1 / 3, 4 / 3),
    (0.25, -0.75),
    (1000.1, 1001.0),
)
"""Neighbours whose doubles end in different places."""


def low_bits(released: ArrayLike) -> NDArray[np.int64]:
    """Return for each double a label: its power of two, and the power of two of its last bit that is set.

    A double that was made by adding noise to a value can only end where the value or the noise ends, so a leaking
    sampler gives some labels under one value and never under another.

    Cites: [Mir12, the attack].
    """
    numbers = _doubles(released).reshape(-1)
    fraction, power = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = (np.abs(fraction) * 2.0**53).astype(np.int64)
    last = np.where(whole > 0, np.log2(np.maximum(whole & -whole, 1)), 0).astype(np.int64) - 53 + power
    label = (power.astype(np.int64) + _WIDTH // 2) * _WIDTH + last + _WIDTH // 2
    return np.where(whole > 0, label, 0)


def _doubles(released: object) -> NDArray[np.float64]:
    if isinstance(released, np.ndarray) and released.dtype == np.float64:
        return released  # NaN and infinities are outputs like any others
    return read_floats(released, "released")


def audit_bits(
    draw: Draw, claimed: Any, samples: int = 50_000, *, pairs: tuple[tuple[Any, Any], ...] = PAIRS
) -> Report:
    """Return the most telling of the audits of the low bits of what a sampler of doubles releases.

    `draw` takes a value and a count. The false alarms are split over the pairs of values, each of which must be
    neighbours under the claim.
    """

    sampler = function(draw, "draw", "a function of a value and a count")
    tried = listed(pairs, "pairs", "pairs of values", most=1000)
    if not tried or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in tried):
        raise BadParameter("pairs", pairs, "one or more pairs of values")

    def bits(value: Any, count: int) -> NDArray[np.int64]:
        drawn = called(sampler, "draw", value, count)
        try:
            numbers = np.asarray(_doubles(drawn))
        except BadValue:
            raise_alone(BadParameter("draw", draw, "a function of a value and a count that returns that many doubles"))
        return low_bits(numbers).reshape(numbers.shape)

    alarm = ALARM / len(tried)
    reports = [audit(bits, pair, claimed, samples, batched=True, alarm=alarm) for pair in tried]
    return max(reports, key=lambda report: report.found - report.epsilon)
