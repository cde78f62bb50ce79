"""Finds where a yes-or-no question changes its answer, on the doubles, in at most 64 questions.

The end that comes back was itself asked and answered yes, so a bound found here is sound even where the question
is not quite monotone. It must not know what is being asked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from privet.core.errors import InvariantError

_INVERSE_GOLDEN = 0.6180339887498949


def least(holds: Callable[[float], bool], low: float, high: float, *, relative: float = 0.0) -> float:
    """Return the least double in [low, high], to a relative tolerance, for which `holds` answers yes.

    The ends are not negative, and `holds` answers yes at `high`; it is asked there if nowhere else.
    """
    return low if holds(low) else _bisected(holds, no=low, yes=high, relative=relative)


def most(holds: Callable[[float], bool], low: float, high: float, *, relative: float = 0.0) -> float:
    """Return the greatest double in [low, high], to a relative tolerance, for which `holds` answers yes.

    The ends are not negative, and `holds` answers yes at `low`; it is asked there if nowhere else.
    """
    return high if holds(high) else _bisected(holds, no=high, yes=low, relative=relative)


def _bisected(holds: Callable[[float], bool], *, no: float, yes: float, relative: float) -> float:
    """Return the last double, from one that must be answered yes towards one that was answered no, with a yes."""
    if not holds(yes):
        raise InvariantError("a search was started on an interval whose end does not qualify")
    refused, found = _place(no), _place(yes)
    while abs(refused - found) > 1 and not _close(min(refused, found), max(refused, found), relative):
        middle = (refused + found) // 2
        if holds(_double(middle)):
            found = middle
        else:
            refused = middle
    return _double(found)


def lowest(value: Callable[[float], float], low: float, high: float, *, steps: int) -> float:
    """Return the point where golden-section search on [low, high] saw the least `value`.

    For a function with one valley this is its bottom; for any other it is still a point of the interval.
    """
    left = high - _INVERSE_GOLDEN * (high - low)
    right = low + _INVERSE_GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    best = min((at_left, left), (at_right, right))
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _INVERSE_GOLDEN * (high - low)
            at_left = value(left)
            best = min(best, (at_left, left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _INVERSE_GOLDEN * (high - low)
            at_right = value(right)
            best = min(best, (at_right, right))
    return best[1]


def _close(lower: int, upper: int, relative: float) -> bool:
    return relative > 0 and _double(upper) - _double(lower) <= relative * _double(upper)


def _place(value: float) -> int:
    # Non-negative doubles are ordered as the integers that their bits spell.
    place: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return place


def _double(place: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", place))[0]
    return value
