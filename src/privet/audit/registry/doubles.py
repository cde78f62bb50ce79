"""Every road on which a number leaves as a double, with values between which its low bits must tell nothing.

Goodness of fit does not see what low bits say, so this is a net of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.bits import PAIRS, audit_bits
from privet.audit.drawing import Draw
from privet.audit.report import Report
from privet.core.schema import number
from privet.mechanisms import (
    AboveThreshold,
    Average,
    Gaussian,
    Laplace,
    Local,
    Mechanism,
    NumericSparse,
    ProposeTestRelease,
    Quantile,
    SmoothQuantile,
    SmoothSensitivity,
    TopKWithGaps,
)

from .sessions import answers

_LOW, _HIGH = -1, 1023
"""Bounds that hold all values of `PAIRS`."""


@dataclass(frozen=True)
class Doubles:
    """A road by name, its draws, what a pair of values may tell, and how a value becomes an input."""

    name: str
    draw: Callable[[], Draw]
    claimed: object
    given: Callable[[float], Any] = float
    samples: int = 20_000

    def judge(self) -> Report:
        """Return the most telling audit of the low bits over all pairs of values."""
        pairs = tuple((self.given(a), self.given(b)) for a, b in PAIRS)
        return audit_bits(self.draw(), self.claimed, self.samples, pairs=pairs)


def _of(mechanism: Mechanism, column: int | None = None) -> Callable[[], Draw]:
    """Return the draws of a mechanism, or a column of them; what is no number counts as 0."""

    def draw(value: Any, count: int) -> Any:
        drawn = np.array([np.nan if one is None else one for one in mechanism.simulate(value, count)], dtype=np.float64)
        return np.nan_to_num(drawn if column is None else drawn[:, column], nan=0.0)

    return lambda: draw


def _road(name: str, mechanism: Mechanism, given: Callable[[float], Any] = float, **facts: Any) -> Doubles:
    return Doubles(name, _of(mechanism, facts.pop("column", None)), mechanism.event, given, **facts)


def _beside(value: float) -> list[float]:
    return [value, 0.3]


def _local(value: float) -> Local:
    return Local(value, [1] * 40)


def _asked(select: str, samples: int = 20_000) -> Doubles:
    # a row that changes is one that goes and one that comes: twice the epsilon
    column = number(_LOW, _HIGH)
    return Doubles(f"Session, {select}", lambda: answers(select, Fraction(1), column), 2, lambda x: [x, 0.3], samples)


_RANGE: dict[str, Any] = {"low": _LOW, "high": _HIGH}
_ROWS: dict[str, Any] = {**_RANGE, "epsilon": 1, "neighbors": "change-one"}

DOUBLES: tuple[Doubles, ...] = (
    _road("Laplace", Laplace(sensitivity=1, epsilon=1)),
    _road("Laplace, wide", Laplace(sensitivity=1, epsilon=Fraction(1, 10))),
    _road("Laplace, vectors", Laplace(sensitivity=1, epsilon=1), _beside),
    _road("Gaussian", Gaussian(sensitivity=1, sigma=1)),
    _road("Gaussian, narrow", Gaussian(sensitivity=1, sigma=Fraction(3, 10))),
    _road("Gaussian, vectors", Gaussian(sensitivity=1, sigma=1), _beside),
    _road("Top k with gaps, the gap", TopKWithGaps(k=1, sensitivity=1, epsilon=1), _beside, column=1),
    _road("Above threshold, the gap", AboveThreshold(threshold=0, sensitivity=1, epsilon=1), lambda x: [x], column=1),
    _road(
        "Sparse vector, the number",
        NumericSparse(threshold=0, limit=1, sensitivity=1, epsilon=1),
        lambda x: [x],
        column=2,
    ),
    _road("Smooth sensitivity", SmoothSensitivity(**_RANGE, epsilon=1), _local, samples=5_000),
    _road("Smooth quantile", SmoothQuantile(q=0.5, **_RANGE, epsilon=1), lambda x: [x, 0.3, 0.5], samples=5_000),
    _road("Average", Average(**_ROWS), _beside),
    _road("Quantile", Quantile(q=0.5, **_ROWS), lambda x: [x, 0.3, 0.5], samples=5_000),
    _road("Propose, test, release", ProposeTestRelease(bound=1, epsilon=1, delta=Fraction(1, 20)), _local),
    _asked("SUM(x)"),
    _asked("AVG(x)"),
    _asked("MEDIAN(x)", 1_000),
)
