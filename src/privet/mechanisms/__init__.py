"""Classical mechanisms as frozen values: draw, cost, error. One file each, and one line in `MECHANISMS`."""

from __future__ import annotations

from privet.accounting.gdp import analytic_gaussian_sigma

from .exponential import Exponential, ExponentialEvent
from .finite import FiniteEvent, FiniteMechanism
from .gaussian import Gaussian
from .gaussian_event import DiscreteGaussianEvent, GaussianEvent
from .gaussian_threshold import GaussianThreshold
from .key_selection import KeySelection
from .laplace import DiscreteLaplaceEvent, Laplace, LaplaceEvent
from .laplace_threshold import LaplaceThreshold
from .mechanism import Mapped, Mechanism
from .numeric_sparse import NumericSparse
from .optimal_keys import OptimalKeys
from .quantile_one import Quantile, quantile
from .quantile_recursive import RecursiveQuantiles
from .randomized_response import RandomizedResponse, ResponseEvent
from .sparse_answers import Above, Crossings
from .sparse_vector import AboveThreshold, Sparse

MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    Gaussian,
    Exponential,
    AboveThreshold,
    Sparse,
    NumericSparse,
    RandomizedResponse,
    FiniteMechanism,
    OptimalKeys,
    LaplaceThreshold,
    GaussianThreshold,
    Quantile,
    RecursiveQuantiles,
)
"""Every mechanism that is tested, audited and documented: the conformance tests run over this list."""

__all__ = [
    "MECHANISMS",
    "Above",
    "AboveThreshold",
    "Crossings",
    "DiscreteGaussianEvent",
    "DiscreteLaplaceEvent",
    "Exponential",
    "ExponentialEvent",
    "FiniteEvent",
    "FiniteMechanism",
    "Gaussian",
    "GaussianEvent",
    "GaussianThreshold",
    "KeySelection",
    "Laplace",
    "LaplaceEvent",
    "LaplaceThreshold",
    "Mapped",
    "Mechanism",
    "NumericSparse",
    "OptimalKeys",
    "Quantile",
    "RandomizedResponse",
    "RecursiveQuantiles",
    "ResponseEvent",
    "Sparse",
    "analytic_gaussian_sigma",
    "quantile",
]
