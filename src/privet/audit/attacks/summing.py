"""One row moves a sum by more than its bound, where the sum is rounded, or wraps around, on the way.

Cites: [CSVW22].
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privet.audit.unsafe import float_sum, narrow_sum
from privet.core.budget import Pure
from privet.core.schema import Column, Table, integer, number
from privet.core.unit import Rows
from privet.session import Session

from .outcome import Outcome

if TYPE_CHECKING:
    from privet.core.pair import Floats

_PLENTY = Fraction(10**20)
"""An epsilon that leaves no noise to speak of, so that only the sum itself is looked at."""


def rounding() -> Outcome:
    """Drop one row of a sum of doubles."""
    bound = 2.0**53
    # beside the large row each of the others is rounded up to 2; without it they are added as they are
    rows = np.array([bound] + [1.5] * 30_000)
    moved = abs(float_sum(rows) - float_sum(rows[1:]))
    why = "a large row makes every later addition round; Privet sums whole numbers of a grid, which do not round"
    return _outcome("order of summation", "a sum of doubles", bound, moved, rows, number(0, 2**53, step=0.5), why)


def overflow() -> Outcome:
    """Drop one row of a sum in 32 bits."""
    bound = 10.0**6
    rows = np.full(2**31 // 10**6 + 1, bound)
    moved = float(abs(narrow_sum(rows) - narrow_sum(rows[1:])))
    why = "the sum wraps around; Privet checks from declared bounds that it cannot, before a row is read"
    return _outcome("overflow", "a sum in 32 bits", bound, moved, rows, integer(0, 10**6), why)


def _outcome(name: str, what: str, bound: float, moved: float, rows: Floats, column: Column, why: str) -> Outcome:
    ours = abs(_summed(rows, column) - _summed(rows[1:], column))
    return Outcome(
        name,
        f"does one row, whose value is at most {bound:,.0f}, move {what} by more than that?",
        f"it moves by {moved:,.0f}, which is {moved - bound:,.0f} more, so noise for the bound is too small",
        f"it moves by {ours:,.0f}, within the bound",
        moved > bound,
        ours <= bound,
        why,
    )


def _summed(rows: Floats, column: Column) -> float:
    import pyarrow

    table = Table(pyarrow.table({"x": rows}), unit=Rows(), columns={"x": column})
    with Session({"t": table}, budget=Pure(epsilon=2 * _PLENTY)) as session:
        return float(session.ask("SELECT SUM(x) AS total FROM t", epsilon=_PLENTY)["total"].values[0])
