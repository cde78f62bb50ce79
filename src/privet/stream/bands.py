"""How wide an interval around a sum of several Laplace noises is: by the saddlepoint, within a small margin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privet.core.event import Floats

_HALVINGS = 36
_MARGIN = 0.97
"""The tail is taken this much smaller: the approximation is off by less than 3% of a tail, which a test checks."""

Parts = tuple[tuple[float, int], ...]


def laplace_width(parts: Parts, tail: float) -> float:
    """Return t with P[|X| > t] at most `tail`, X a sum of this many Laplace noises of each scale.

    With K(s) = -sum of n ln(1 - a^2 s^2), the tail beyond K'(s) is Phi(-w) + phi(w) (1/u - 1/w) for
    w = sqrt(2 (s K'(s) - K(s))) and u = s sqrt(K''(s)). For one noise it is exp(-t / a) itself.
    Cites: [LR80, the tail formula].
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return -parts[0][0] * math.log(tail)
    largest = max(a for a, _ in parts)
    squares = np.array([(a / largest) ** 2 for a, _ in parts])
    many = np.array([float(count) for _, count in parts])
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(squares, many, middle) > _MARGIN * tail / 2 else (low, middle)
    return largest * float(2 * high * (many * squares / (1 - squares * high * high)).sum())


def _beyond(squares: Floats, many: Floats, s: float) -> float:
    """Return the approximate probability of more than K'(s)."""
    bent = squares * s * s
    left = 1 - bent
    cumulant = -float((many * np.log1p(-bent)).sum())
    slope = 2 * s * float((many * squares / left).sum())
    curvature = 2 * float((many * squares * (1 + bent) / (left * left)).sum())
    w = math.sqrt(max(2 * (s * slope - cumulant), 0.0))
    u = s * math.sqrt(curvature)
    if w < 1e-4:
        return 0.5
    return 0.5 * math.erfc(w / math.sqrt(2)) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
