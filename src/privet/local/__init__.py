"""The local model: each person randomises an answer before sending it, and no party is trusted with data.

An oracle is a frozen value. Its client makes reports, which travel as bytes or JSON; its server counts them, in any
order and batches, and estimates frequencies or means with intervals. Reports need no ledger: the guarantee is the
client's.
"""

from .attribute_survey import AttributeSurvey, MarginalSurvey
from .choose import ORACLES, ChosenOracle, best
from .count_mean import CountMeanSketch
from .distribution_estimate import EstimatedDistribution
from .estimates import CountEstimate, Frequencies, MeanEstimate
from .frequency_oracle import FrequencyOracle
from .hadamard import HadamardResponse
from .hashing import BinaryHashing, OptimizedHashing
from .heavy_hitters import HeavyHitters
from .hierarchical import HierarchicalHistogram
from .hybrid import DuchiMean, HybridMean, PiecewiseMean
from .laplace_mean import LaplaceMean
from .map_projection import MapProjection
from .mean_oracle import MeanOracle
from .memo import Memo
from .planar_laplace import MetricPromise, PlanarLaplace
from .projective import ProjectiveResponse
from .randomizer import Client, Randomizer
from .rappor import Rappor
from .reports import Reports, read_reports
from .response import KaryResponse
from .server import Server
from .shuffled_count import ShuffledCount
from .shuffler import Shuffler
from .square_wave import SquareWave
from .subset import SubsetSelection
from .trust import Trust
from .unary import OptimizedUnary, SymmetricUnary

MEANS: tuple[type[MeanOracle], ...] = (HybridMean, PiecewiseMean, DuchiMean, LaplaceMean)
"""Every oracle of means, the best in the worst case first."""

__all__ = [
    "MEANS",
    "ORACLES",
    "AttributeSurvey",
    "BinaryHashing",
    "ChosenOracle",
    "Client",
    "CountEstimate",
    "CountMeanSketch",
    "DuchiMean",
    "EstimatedDistribution",
    "Frequencies",
    "FrequencyOracle",
    "HadamardResponse",
    "HeavyHitters",
    "HierarchicalHistogram",
    "HybridMean",
    "KaryResponse",
    "LaplaceMean",
    "MapProjection",
    "MarginalSurvey",
    "MeanEstimate",
    "MeanOracle",
    "Memo",
    "MetricPromise",
    "OptimizedHashing",
    "OptimizedUnary",
    "PiecewiseMean",
    "PlanarLaplace",
    "ProjectiveResponse",
    "Randomizer",
    "Rappor",
    "Reports",
    "Server",
    "ShuffledCount",
    "Shuffler",
    "SquareWave",
    "SubsetSelection",
    "SymmetricUnary",
    "Trust",
    "best",
    "read_reports",
]
