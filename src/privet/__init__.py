"""Privet answers questions about private data with differential privacy.

This is the public surface. Each name is imported from its module when it is first used, so that `import privet`
loads neither NumPy nor SciPy nor DuckDB. Nothing is computed here.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import accounting, core, mechanisms, noise
    from .config.practice import practice
    from .config.sessions import open
    from .core.budget import Approximate, Pure, Zcdp
    from .core.errors import BudgetError, BudgetExceeded, PrivetError, RequestError
    from .core.schema import Contribution, PublicTable, Table, boolean, category, date, integer, number, text, timestamp
    from .core.sensitivity import Sensitivity, sensitivity_by_enumeration
    from .core.unit import Link, Person, Rows, Window
    from .engines.duckdb.sources import DatabaseTable
    from .ledger.sqlite.durable import SqliteLedger
    from .mechanisms import (
        AboveThreshold,
        Exponential,
        FiniteMechanism,
        Gaussian,
        GaussianThreshold,
        Laplace,
        LaplaceThreshold,
        NoisyMax,
        NumericSparse,
        OptimalKeys,
        PermuteAndFlip,
        Quantile,
        Quantiles,
        RandomizedResponse,
        Sparse,
        TopK,
        TopKWithGaps,
        analytic_gaussian_sigma,
    )
    from .query.frame import (
        bounds,
        col,
        corr,
        count,
        count_distinct,
        count_units,
        covar,
        grouping,
        histogram,
        largest,
        mean,
        median,
        mode,
        quantile,
        smallest,
        std,
        sum,
        top_k,
        var,
        when,
    )
    from .session import Session

__version__ = "0.2.0"

__all__ = [
    "AboveThreshold",
    "Approximate",
    "BudgetError",
    "BudgetExceeded",
    "Contribution",
    "DatabaseTable",
    "Exponential",
    "FiniteMechanism",
    "Gaussian",
    "GaussianThreshold",
    "Laplace",
    "LaplaceThreshold",
    "Link",
    "NoisyMax",
    "NumericSparse",
    "OptimalKeys",
    "PermuteAndFlip",
    "Person",
    "PrivetError",
    "PublicTable",
    "Pure",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "RequestError",
    "Rows",
    "Sensitivity",
    "Session",
    "Sparse",
    "SqliteLedger",
    "Table",
    "TopK",
    "TopKWithGaps",
    "Window",
    "Zcdp",
    "accounting",
    "analytic_gaussian_sigma",
    "boolean",
    "bounds",
    "category",
    "col",
    "core",
    "corr",
    "count",
    "count_distinct",
    "count_units",
    "covar",
    "date",
    "grouping",
    "histogram",
    "integer",
    "largest",
    "mean",
    "mechanisms",
    "median",
    "mode",
    "noise",
    "number",
    "open",
    "practice",
    "quantile",
    "sensitivity_by_enumeration",
    "smallest",
    "std",
    "sum",
    "text",
    "timestamp",
    "top_k",
    "var",
    "when",
]

_HOME = {
    "AboveThreshold": "mechanisms",
    "Approximate": "core.budget",
    "BudgetError": "core.errors",
    "BudgetExceeded": "core.errors",
    "Contribution": "core.schema",
    "DatabaseTable": "engines.duckdb.sources",
    "Exponential": "mechanisms",
    "FiniteMechanism": "mechanisms",
    "Gaussian": "mechanisms",
    "GaussianThreshold": "mechanisms",
    "Laplace": "mechanisms",
    "LaplaceThreshold": "mechanisms",
    "Link": "core.unit",
    "NoisyMax": "mechanisms",
    "NumericSparse": "mechanisms",
    "OptimalKeys": "mechanisms",
    "PermuteAndFlip": "mechanisms",
    "Person": "core.unit",
    "PrivetError": "core.errors",
    "PublicTable": "core.schema",
    "Pure": "core.budget",
    "Quantile": "mechanisms",
    "Quantiles": "mechanisms",
    "RandomizedResponse": "mechanisms",
    "RequestError": "core.errors",
    "Rows": "core.unit",
    "Sensitivity": "core.sensitivity",
    "Session": "session",
    "Sparse": "mechanisms",
    "SqliteLedger": "ledger.sqlite",
    "Table": "core.schema",
    "Window": "core.unit",
    "TopK": "mechanisms",
    "TopKWithGaps": "mechanisms",
    "Zcdp": "core.budget",
    "analytic_gaussian_sigma": "mechanisms",
    "boolean": "core.schema",
    "bounds": "query.frame",
    "category": "core.schema",
    "col": "query.frame",
    "corr": "query.frame",
    "count": "query.frame",
    "count_distinct": "query.frame",
    "count_units": "query.frame",
    "covar": "query.frame",
    "date": "core.schema",
    "grouping": "query.frame",
    "histogram": "query.frame",
    "integer": "core.schema",
    "largest": "query.frame",
    "mean": "query.frame",
    "median": "query.frame",
    "mode": "query.frame",
    "number": "core.schema",
    "open": "config.sessions",
    "practice": "config.practice",
    "quantile": "query.frame",
    "sensitivity_by_enumeration": "core.sensitivity",
    "smallest": "query.frame",
    "std": "query.frame",
    "sum": "query.frame",
    "text": "core.schema",
    "timestamp": "core.schema",
    "top_k": "query.frame",
    "var": "query.frame",
    "when": "query.frame",
}
"""The module in which each public name lives; a public name that is not here is a module itself."""

logging.getLogger("privet").addHandler(logging.NullHandler())


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still sees a misspelt name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'privet' has no attribute {name!r}")
        if name not in _HOME:
            return importlib.import_module(f"{__name__}.{name}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
