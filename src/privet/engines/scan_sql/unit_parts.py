"""A scan in parts: a hash puts each unit into one of them, each is read and bounded by itself, and sums are added.

Tables of an engine then hold the units of one part at a time, so that they fit into memory where all units would not.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Any

from privet.core.scan import Largest, Norm, Scan, Truncate
from privet.core.schema import Key

Sums = dict[tuple[Key, ...], tuple[int, ...]]


def divides(scan: Scan) -> bool:
    """Return whether the sums of a scan are those of its units added up, so that it can be run in parts.

    Different values are not: one that units of two parts hold counts once. Counts by place are not read in parts, for
    the places to look at closely depend on all of them. Where each row is a unit, nothing is kept of any.
    """
    return isinstance(scan.bounding, (Norm, Truncate, Largest)) and scan.places is None


def added(parts: Iterable[Iterable[tuple[Any, ...]]], keys: int, *, found: bool) -> Sums:
    """Return the sums of all parts, each of which has rows of `keys` keys and integers, added by group.

    Where keys are found in the data, the last integer is the number of units that keep a key, and only keys that some
    unit keeps come back, without it: whether one does is known after the last part.

    Guarantee: every unit's integers are in one part, bounded there; adding moves no group by more than that part moved.
    """
    sums: Sums = {}
    for rows in parts:
        for row in rows:
            group, given = row[:keys], row[keys:]
            sums[group] = tuple(map(add, sums[group], given)) if group in sums else given
    if not found:
        return sums
    return {group: given[:-1] for group, given in sums.items() if given[-1] > 0}
