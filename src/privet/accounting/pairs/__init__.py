"""Every dominating pair. Each keeps the promise of `core.event.Pair` and needs nothing more.

A pair may state that it is symmetric (`symmetric`), that its first side is the one with the unit (`ordered`), how it
composes with itself and its kind (`repeated`, `merged`), or that it is another pair that may fail (`without_failure`):
that saves work and makes answers tighter.
"""

from __future__ import annotations

from .continuous import GaussianPair, LaplacePair
from .derived import BoundedRangePair, EitherOrderPair, FailedPair, ProfilePair, SampledPair, has_order
from .discrete import (
    ApproximatePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    KaryResponsePair,
    ResponsePair,
)

__all__ = [
    "ApproximatePair",
    "BoundedRangePair",
    "DiscreteGaussianPair",
    "DiscreteLaplacePair",
    "EitherOrderPair",
    "FailedPair",
    "FinitePair",
    "GaussianPair",
    "KaryResponsePair",
    "LaplacePair",
    "ProfilePair",
    "ResponsePair",
    "SampledPair",
    "has_order",
]
