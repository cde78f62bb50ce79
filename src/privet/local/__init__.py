"""The local model: each person randomises an answer before sending it, and no party is trusted with data.

An oracle is a frozen value. Its client makes reports, which travel as bytes or JSON; its server counts them, in any
order and batches, and estimates frequencies with intervals. Reports need no ledger: the guarantee is the client's.
"""

from .choose import ORACLES, ChosenOracle, best
from .estimates import Frequencies
from .frequency_oracle import FrequencyOracle
from .hadamard import HadamardResponse
from .hashing import BinaryHashing, OptimizedHashing
from .memo import Memo
from .projective import ProjectiveResponse
from .randomizer import Client, Randomizer
from .rappor import Rappor
from .reports import Reports, read_reports
from .response import KaryResponse
from .server import Server
from .shuffler import Shuffler
from .subset import SubsetSelection
from .trust import Trust
from .unary import OptimizedUnary, SymmetricUnary

__all__ = [
    "ORACLES",
    "BinaryHashing",
    "ChosenOracle",
    "Client",
    "Frequencies",
    "FrequencyOracle",
    "HadamardResponse",
    "KaryResponse",
    "Memo",
    "OptimizedHashing",
    "OptimizedUnary",
    "ProjectiveResponse",
    "Randomizer",
    "Rappor",
    "Reports",
    "Server",
    "Shuffler",
    "SubsetSelection",
    "SymmetricUnary",
    "Trust",
    "best",
    "read_reports",
]
