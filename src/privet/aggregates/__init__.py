"""Every aggregate that a query can call, by its names: one line each here, or one call of `register` from outside."""

from __future__ import annotations

from .aggregate import (
    AGGREGATES,
    Aggregate,
    Argument,
    NamedAggregate,
    Wanted,
    add_own,
    entry_of,
    register,
    unregister,
)
from .chosen_values import Mode, Ranked, Span
from .column_sums import (
    CentredTotal,
    Count,
    CountEach,
    CountRows,
    CountUnits,
    CountValues,
    Mean,
    Spread,
    SumValues,
    Total,
)
from .covariance import Covariance, RegressionLine

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Argument",
    "CentredTotal",
    "Count",
    "CountRows",
    "CountUnits",
    "CountValues",
    "Covariance",
    "Mean",
    "Mode",
    "NamedAggregate",
    "Ranked",
    "RegressionLine",
    "Span",
    "Spread",
    "Total",
    "Wanted",
    "entry_of",
    "register",
    "unregister",
]

_PLAIN: tuple[type[Aggregate], ...] = (Total, Mean, Spread, Covariance, RegressionLine)
_OF_VALUES: tuple[type[Aggregate], ...] = (CountValues, SumValues)
_SPECIAL: tuple[type[Aggregate], ...] = (CountRows, CountUnits, Count, *_OF_VALUES, CountEach, Ranked, Mode, Span)
"""Those that SQL writes in a way of their own: COUNT(DISTINCT x), QUANTILE(x, 0.9), TOP_K(x, 3)."""

for _own in _PLAIN:
    add_own(_own)
for _own in _SPECIAL:
    add_own(_own, plain=False)
