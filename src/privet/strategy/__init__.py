"""Many answers for one charge: choose what to measure, and reconstruct every answer with the least error.

Mathematics only: nothing here reads a table, opens a session or charges a ledger.
"""

from .centred_bases import CentredBasis
from .covariances import CellCovariance
from .estimated import EstimatedCells
from .gaussian_program import gaussian_optimum, square_root
from .hierarchies import (
    TreeStrategy,
    best_tree,
    haar,
    identity_strategy,
    sums_and_differences,
    tree,
    workload_strategy,
)
from .integer_products import exact_product
from .measured import StrategyMeasure
from .multiplicative_weights import MultiplicativeWeights
from .optimum import Candidate, Optimized, optimize
from .partition_tree import PartitionTree
from .reconstruction import Answers, Reconstruction, reconstruct
from .residuals import MarginalStrategy, ResidualStrategy, plan_marginals, plan_residuals
from .spectral_roots import SpectralStrategy, spectral
from .strategies import MatrixStrategy, ProductStrategy, Strategy
from .unions import UnionStrategy
from .weighted_sums import p_identity
from .workloads import (
    MarginalWorkload,
    MatrixWorkload,
    ProductWorkload,
    RangeWorkload,
    UnionWorkload,
    Workload,
    all_marginals,
    all_ranges,
    identity,
    marginals,
    matrix,
    prefixes,
    product,
    ranges,
    total,
    union,
    windows,
)

__all__ = [
    "Answers",
    "Candidate",
    "CellCovariance",
    "CentredBasis",
    "EstimatedCells",
    "MarginalStrategy",
    "MarginalWorkload",
    "MatrixStrategy",
    "MatrixWorkload",
    "MultiplicativeWeights",
    "Optimized",
    "PartitionTree",
    "ProductStrategy",
    "ProductWorkload",
    "RangeWorkload",
    "Reconstruction",
    "ResidualStrategy",
    "SpectralStrategy",
    "Strategy",
    "StrategyMeasure",
    "TreeStrategy",
    "UnionStrategy",
    "UnionWorkload",
    "Workload",
    "all_marginals",
    "all_ranges",
    "best_tree",
    "exact_product",
    "gaussian_optimum",
    "haar",
    "identity",
    "identity_strategy",
    "marginals",
    "matrix",
    "optimize",
    "p_identity",
    "plan_marginals",
    "plan_residuals",
    "prefixes",
    "product",
    "ranges",
    "reconstruct",
    "spectral",
    "square_root",
    "sums_and_differences",
    "total",
    "tree",
    "union",
    "windows",
    "workload_strategy",
]
