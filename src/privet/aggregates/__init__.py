"""Aggregates, one file each, and one line each in `AGGREGATES`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .aggregate import Aggregate, Argument
from .count import Count, CountRows
from .mean import Mean
from .spread import Spread
from .total import Total

AGGREGATES: dict[str, Callable[[Argument], Aggregate]] = {
    "count": Count,
    "sum": Total,
    "avg": Mean,
    "var_pop": partial(Spread, form="var_pop"),
    "var_samp": partial(Spread, form="var_samp"),
    "stddev_pop": partial(Spread, form="stddev_pop"),
    "stddev_samp": partial(Spread, form="stddev_samp"),
}
"""Every aggregate of one argument, by the name that a query gives it; COUNT(*) has none."""

__all__ = ["AGGREGATES", "Aggregate", "Argument", "Count", "CountRows", "Mean", "Spread", "Total"]
