"""Aggregates, one file each, and one line each in `AGGREGATES`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .aggregate import Aggregate, Argument
from .count import Count, CountRows, CountValues
from .covariance import Covariance
from .mean import Mean
from .mode import Mode
from .ranked import Ranked
from .span import Span
from .spread import Spread
from .total import Total

AGGREGATES: dict[str, Callable[[Argument], Aggregate]] = {
    "count": Count,
    "count_distinct": CountValues,
    "sum": Total,
    "avg": Mean,
    "var_pop": partial(Spread, form="var_pop"),
    "var_samp": partial(Spread, form="var_samp"),
    "stddev_pop": partial(Spread, form="stddev_pop"),
    "stddev_samp": partial(Spread, form="stddev_samp"),
}
"""Every aggregate of one argument, by the name that a query gives it; COUNT(*) has none."""

OF_TWO: dict[str, Callable[[Argument, Argument], Aggregate]] = {
    "covar_pop": partial(Covariance, form="covar_pop"),
    "covar_samp": partial(Covariance, form="covar_samp"),
    "corr": partial(Covariance, form="corr"),
}
"""Every aggregate of two arguments. Their order does not matter: the planner may swap them."""

__all__ = [
    "AGGREGATES",
    "OF_TWO",
    "Aggregate",
    "Argument",
    "Count",
    "CountRows",
    "CountValues",
    "Covariance",
    "Mean",
    "Mode",
    "Ranked",
    "Span",
    "Spread",
    "Total",
]
