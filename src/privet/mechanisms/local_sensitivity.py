"""An answer with how far one change of a row moves it, on the data themselves and on all data some changes away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from privet.core.errors import BadValue
from privet.core.exact import whole

from .quantile_one import read_share
from .reading import read_numbers
from .ruler import read_ruler


@dataclass(frozen=True, repr=False)
class Local:
    """A private answer with its local sensitivities: `at_distance[k]` after any k rows, or fewer, have changed.

    The list never falls, and its length is public: the same for all data of that many rows.
    """

    value: Any
    at_distance: Sequence[Any]

    def __repr__(self) -> str:
        return "Local(private)"


def read_local(local: object) -> tuple[int | float | Fraction, list[Fraction]]:
    """Return the answer and the local sensitivities, exactly; refuse without quoting them."""
    if not isinstance(local, Local):
        raise BadValue("value", f"a {type(local).__name__}", "a Local(value, at_distance)")
    allowed = "a list of finite numbers of at least 0, one for each distance from 0 on, never falling"
    answer, numbers = read_numbers(local.value, "value"), read_numbers(local.at_distance, "at_distance", wide=True)
    if answer.shape is not None:
        raise BadValue("value", "an array", "a single number")
    if numbers.shape is None or len(numbers.shape) != 1:
        raise BadValue("at_distance", "something else", allowed)
    entries = [Fraction(x) for x in numbers.values.tolist()]
    if any(a > b for a, b in pairwise([Fraction(0), *entries])):
        raise BadValue("at_distance", "other numbers", allowed)
    return answer.values, entries


def local_quantile(values: Any, q: object, low: object, high: object, *, distances: int, step: object = None) -> Local:
    """Return the row of rank ceil(q n) with its local sensitivities at the distances 0 to distances - 1.

    Numbers are clamped and placed on the grid as `Quantile` does; neighbours change one row.

    Guarantee: the sensitivity after k changes is max over t from 0 to k + 1 of x[m+t] - x[m+t-k-1], rows beyond the
    ends at the bounds.
    Cites: [NRS07, the median].
    """
    share, ruler = read_share(q, "q"), read_ruler(low, high, step)
    count = whole(distances, "distances", least=1, most=10**4)
    places = np.sort(ruler.place(values))
    n = places.size
    if n == 0:
        raise BadValue("values", "an empty list", "a list with at least one number; its length is public")
    middle = min(max(math.ceil(share * n), 1), n) - 1
    around = np.arange(middle - count, middle + count + 1)
    rows = np.where(around < 0, 0, np.where(around >= n, ruler.last, places[np.clip(around, 0, n - 1)]))
    gaps = [int((rows[count : count + k + 2] - rows[count - k - 1 : count + 1]).max()) for k in range(count)]
    return Local(ruler.low + int(places[middle]) * ruler.step, [gap * ruler.step for gap in gaps])
