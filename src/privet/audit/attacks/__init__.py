"""Attacks that show why: each against a careless program and against Privet. A lab for classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .differencing import averaging, differencing
from .low_bits import gaussian, laplace
from .outcome import Outcome
from .reconstruction import membership, reconstruction
from .summing import overflow, rounding

ATTACKS: Mapping[str, Callable[[], Outcome]] = {
    "low-bits-laplace": laplace,
    "low-bits-gaussian": gaussian,
    "summation": rounding,
    "overflow": overflow,
    "differencing": differencing,
    "averaging": averaging,
    "reconstruction": reconstruction,
    "membership": membership,
}

__all__ = ["ATTACKS", "Outcome"]
