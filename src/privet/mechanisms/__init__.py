"""Classical mechanisms as frozen values: draw, cost, error. One file each, and one line in `MECHANISMS`."""

from __future__ import annotations

from privet.accounting.gdp import analytic_gaussian_sigma

from .average import Average
from .finite import FiniteEvent, FiniteMechanism
from .gaussian import DiscreteGaussianEvent, Gaussian, GaussianEvent
from .key_selection import GaussianThreshold, KeySelection, LaplaceThreshold, OptimalKeys
from .laplace import DiscreteLaplaceEvent, Laplace, LaplaceEvent
from .laws import AdditiveNoise, DiscreteGaussian, DiscreteLaplace, NoiseLaw
from .mechanism import Mapped, Mechanism
from .numeric_sparse import NumericSparse
from .propose_test import Local, ProposeTestRelease, local_quantile
from .quantile_one import Quantile, quantile
from .quantile_several import Quantiles, RecursiveQuantiles, quantiles
from .randomized_response import RandomizedResponse, ResponseEvent
from .sample_aggregate import SampleAggregate
from .selection import Exponential, ExponentialEvent, NoisyMax, PermuteAndFlip, evenly
from .sensitivity_sampling import RandomlyPrivate, RandomPrivacy, SampledSensitivity, sample_sensitivity
from .smooth import LaplaceTail, PowerTail, SmoothQuantile, SmoothSensitivity, StudentTail, smooth_bound
from .sparse_vector import Above, AboveThreshold, Crossings, Sparse
from .top_k import Ranking, TopK, TopKWithGaps
from .tulap import Tulap
from .worked import best_price, best_threshold, correct_counts, revenues

MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    Gaussian,
    Exponential,
    PermuteAndFlip,
    NoisyMax,
    TopK,
    TopKWithGaps,
    AboveThreshold,
    Sparse,
    NumericSparse,
    RandomizedResponse,
    FiniteMechanism,
    OptimalKeys,
    LaplaceThreshold,
    GaussianThreshold,
    Quantile,
    Quantiles,
    RecursiveQuantiles,
    SmoothSensitivity,
    SmoothQuantile,
    Average,
    ProposeTestRelease,
    SampleAggregate,
    Tulap,
)
"""Every mechanism that is tested, audited and documented: the conformance tests run over this list."""

__all__ = [
    "MECHANISMS",
    "Above",
    "AboveThreshold",
    "AdditiveNoise",
    "Average",
    "Crossings",
    "DiscreteGaussian",
    "DiscreteGaussianEvent",
    "DiscreteLaplace",
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
    "LaplaceTail",
    "LaplaceThreshold",
    "Local",
    "Mapped",
    "Mechanism",
    "NoiseLaw",
    "NoisyMax",
    "NumericSparse",
    "OptimalKeys",
    "PermuteAndFlip",
    "PowerTail",
    "ProposeTestRelease",
    "Quantile",
    "Quantiles",
    "RandomPrivacy",
    "RandomizedResponse",
    "RandomlyPrivate",
    "Ranking",
    "RecursiveQuantiles",
    "ResponseEvent",
    "SampleAggregate",
    "SampledSensitivity",
    "SmoothQuantile",
    "SmoothSensitivity",
    "Sparse",
    "StudentTail",
    "TopK",
    "TopKWithGaps",
    "Tulap",
    "analytic_gaussian_sigma",
    "best_price",
    "best_threshold",
    "correct_counts",
    "evenly",
    "local_quantile",
    "quantile",
    "quantiles",
    "revenues",
    "sample_sensitivity",
    "smooth_bound",
]
