"""How narrow released intervals are beside what was asked. Sees released numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privet.core.receipt import Receipt

from .plan import Limit


@dataclass(frozen=True)
class Achieved:
    """The widest interval of a column beside its limit, and in how many of its rows the limit is met."""

    column: str
    limit: Limit
    widest: float
    met: int
    rows: int

    @property
    def reached(self) -> bool:
        """Whether every row is as narrow as asked."""
        return self.met == self.rows

    def words(self) -> str:
        """Return the column with the width that it has."""
        width = "not known to be other than 0" if math.isinf(self.widest) else f"±{self._shown}"
        some = "" if self.rows == 1 else f", and {self.met} of {self.rows} rows are as asked"
        return f"{self.column} is {width} (asked: {self.limit}{some})"

    @property
    def _shown(self) -> str:
        return f"{self.widest * 100:,.4g}%" if self.limit.relative else f"{self.widest:,.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "column": self.column,
            "within": float(self.limit.amount),
            "relative": self.limit.relative,
            "widest": self.widest if math.isfinite(self.widest) else None,
            "met": self.met,
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Accuracy:
    """What became of a width that was asked for: the rounds that were paid for, and how narrow the answer is."""

    columns: tuple[Achieved, ...]
    receipts: tuple[Receipt, ...]
    rounds: int
    ended: str = ""
    """Why no further round was carried out, where that is not because of the width or of the maximum."""

    @property
    def reached(self) -> bool:
        """Whether every interval is as narrow as asked; an answer without rows has none that is."""
        return all(one.reached and one.rows for one in self.columns)

    def note(self) -> str:
        """Return in words whether the width was reached, and otherwise how wide the answer is."""
        count = f"{len(self.receipts)} of {self.rounds} rounds"
        if self.reached:
            return f"as narrow as asked after {count}"
        told = "; ".join(one.words() for one in self.columns if not one.reached or not one.rows)
        why = self.ended or f"the maximum was spent ({count})"
        return f"NOT as narrow as asked: {why}; {told or 'no row is shown'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "reached": self.reached,
            "rounds": [{"entry": one.entry, "digest": one.digest} for one in self.receipts],
            "most_rounds": self.rounds,
            "columns": [one.to_dict() for one in self.columns],
        }


def achieved(column: str, limit: Limit, values: Sequence[Any], low: Sequence[float], high: Sequence[float]) -> Achieved:
    """Return how narrow the intervals of a column are: how far the further end is from the value.

    As a part, that is divided by whichever number of the interval is nearest to 0. So where the interval holds the
    truth, the value is off by no more than that part of the truth, whatever that is.
    """
    widest, met, rows = 0.0, 0, 0
    for value, bottom, top in zip(values, low, high, strict=True):
        if value is None and math.isnan(bottom) and math.isnan(top):
            continue  # NULL whatever the noise
        rows += 1
        width = _width(value, bottom, top, limit)
        widest = max(widest, width)
        met += width <= float(limit.amount) * (1 + 1e-12)
    return Achieved(column, limit, widest, met, rows)


def _width(value: Any, bottom: float, top: float, limit: Limit) -> float:
    if value is None or not all(map(math.isfinite, (value, bottom, top))):
        return math.inf
    half = max(top - value, value - bottom)
    if not limit.relative or not half:
        return float(half)
    nearest = 0.0 if bottom <= 0 <= top else min(abs(bottom), abs(top))
    return math.inf if not nearest else float(half / nearest)
