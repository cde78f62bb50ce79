"""Privet answers questions about private data with differential privacy.

This is the public surface. Each name is imported from its module at its first use, so that `import privet` loads
neither NumPy nor SciPy nor DuckDB. Nothing is computed here. Type checkers read `__init__.pyi`.
"""

from __future__ import annotations

import importlib
import logging

__version__ = "0.2.0"

_HOME = {
    "AboveThreshold": "mechanisms",
    "AccessError": "core.errors",
    "Approximate": "core.budget",
    "Blocks": "core.division",
    "BudgetError": "core.errors",
    "BudgetExceeded": "core.errors",
    "Busy": "core.errors",
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
    "Postgres": "engines.postgres.reader_address",
    "PostgresTable": "engines.postgres.stored_tables",
    "PostgresLedger": "ledger.postgres",
    "PrivetError": "core.errors",
    "PublicTable": "core.schema",
    "Pure": "core.budget",
    "Quantile": "mechanisms",
    "Quantiles": "mechanisms",
    "RandomizedResponse": "mechanisms",
    "RequestError": "core.errors",
    "Rows": "core.unit",
    "Sensitivity": "core.unit",
    "Session": "session",
    "Sparse": "mechanisms",
    "SqliteLedger": "ledger.sqlite",
    "Table": "core.schema",
    "TopK": "mechanisms",
    "TopKWithGaps": "mechanisms",
    "Window": "core.unit",
    "Zcdp": "core.budget",
    "accounting": "accounting",
    "analytic_gaussian_sigma": "mechanisms",
    "boolean": "core.schema",
    "bounds": "query.frame",
    "category": "core.schema",
    "col": "query.frame",
    "connect": "remote.remote_session",
    "core": "core",
    "corr": "query.frame",
    "count": "query.frame",
    "count_distinct": "query.frame",
    "count_units": "query.frame",
    "covar": "query.frame",
    "date": "core.schema",
    "dbapi": "dbapi",
    "grouping": "query.frame",
    "histogram": "query.frame",
    "inference": "inference",
    "integer": "core.schema",
    "largest": "query.frame",
    "mean": "query.frame",
    "local": "local",
    "mechanisms": "mechanisms",
    "median": "query.frame",
    "mode": "query.frame",
    "noise": "noise",
    "number": "core.schema",
    "open": "config.sessions",
    "practice": "config.sessions",
    "quantile": "query.frame",
    "sensitivity_by_enumeration": "core.unit",
    "smallest": "query.frame",
    "std": "query.frame",
    "strategy": "strategy",
    "stream": "stream",
    "study": "study",
    "sum": "query.frame",
    "survey": "survey",
    "text": "core.schema",
    "timestamp": "core.schema",
    "top_k": "query.frame",
    "var": "query.frame",
    "when": "query.frame",
}
"""The module of each public name; a package is its own."""

_BUILTINS = {"open", "sum"}
"""Public names that `from privet import *` leaves out, as it would hide Python's own."""

__all__ = sorted(_HOME.keys() - _BUILTINS)

logging.getLogger("privet").addHandler(logging.NullHandler())


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_HOME[name]}")
    value = home if _HOME[name] == name else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
