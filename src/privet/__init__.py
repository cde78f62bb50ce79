"""Privet answers questions about private data with differential privacy.

This is the public surface. Each name is imported from its room when it is first asked for, so that `import privet`
loads neither NumPy nor SciPy nor DuckDB. Nothing is computed here.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import accounting, core, mechanisms, noise
    from .core.errors import PrivetError, RequestError
    from .core.sensitivity import Sensitivity, sensitivity_by_enumeration
    from .mechanisms import (
        Exponential,
        FiniteMechanism,
        Gaussian,
        Laplace,
        RandomizedResponse,
        analytic_gaussian_sigma,
    )

__version__ = "0.1.0"

__all__ = [
    "Exponential",
    "FiniteMechanism",
    "Gaussian",
    "Laplace",
    "PrivetError",
    "RandomizedResponse",
    "RequestError",
    "Sensitivity",
    "accounting",
    "analytic_gaussian_sigma",
    "core",
    "mechanisms",
    "noise",
    "sensitivity_by_enumeration",
]

_HOME = {
    "Exponential": "mechanisms",
    "FiniteMechanism": "mechanisms",
    "Gaussian": "mechanisms",
    "Laplace": "mechanisms",
    "PrivetError": "core.errors",
    "RandomizedResponse": "mechanisms",
    "RequestError": "core.errors",
    "Sensitivity": "core.sensitivity",
    "analytic_gaussian_sigma": "mechanisms",
    "sensitivity_by_enumeration": "core.sensitivity",
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
