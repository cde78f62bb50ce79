"""Aggregates, one file each, and one line each in the registry."""

from __future__ import annotations

from .aggregate import Aggregate, Argument, Wanted
from .count import Count, CountRows, CountUnits, CountValues
from .covariance import Covariance
from .line import RegressionLine
from .mean import Mean
from .mode import Mode
from .ranked import Ranked
from .registry import AGGREGATES, NamedAggregate, entry_of, register, unregister
from .span import Span
from .spread import Spread
from .total import CentredTotal, Total

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
