"""Mechanisms of the literature and of careless programs that claim more than they keep, each caught by an audit.

They are here to be refuted: nothing else in the package uses them. An audit that lets one of them stand is no use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .blackbox import audit, audit_bits
from .report import Report
from .unsafe import careless_sparse, float_gaussian, float_laplace, laplace_many


@dataclass(frozen=True)
class Broken:
    """A mechanism that is sold for more privacy than it gives: what is wrong with it, and how it is caught."""

    name: str
    wrong: str
    run: Callable[[], Report]

    def to_dict(self) -> dict[str, object]:
        """Return what an audit found, as plain data."""
        report = self.run()
        return {
            "name": self.name,
            "wrong": self.wrong,
            "epsilon": report.epsilon,
            "delta": report.delta,
            "found": report.found,
            "caught": report.refuted,
        }


def _sparse(
    queries: tuple[list[int], list[int]],
    *,
    threshold_scale: float,
    query_scale: float,
    limit: int | None = None,
    shows_value: bool = False,
) -> Callable[[], Report]:
    """Return the audit of a variant of the sparse vector that claims epsilon = 1."""

    def draw(value: Any, count: int) -> Any:
        return careless_sparse(
            np.array(value, dtype=np.float64),
            count,
            threshold_scale=threshold_scale,
            query_scale=query_scale,
            limit=limit,
            shows_value=shows_value,
        )

    def look(value: Any, count: int) -> Any:
        rows = draw(value, count)
        if not shows_value:
            return np.nan_to_num(rows, nan=-1.0)
        # whether all but the last came out below, and about which value the last one shows
        quiet = (rows[:, :-1] == 0).all(axis=1) & (rows[:, -1] != 0)
        return np.where(quiet, np.floor(rows[:, -1]), 1000.0)

    return lambda: audit(look, queries, 1, 800_000 if shows_value else 200_000, batched=True)


def _vector(neighbours: tuple[Any, Any], *, scale: float) -> Callable[[], Report]:
    """Return the audit of Laplace noise of a scale on several numbers, for a claim of epsilon = 1."""
    return lambda: audit(
        lambda value, count: laplace_many(np.array(value), count, scale=scale), neighbours, 1, 100_000, batched=True
    )


def _classical(epsilon: float, delta: float) -> Callable[[], Report]:
    """Return the audit of the classical Gaussian formula, sigma = sqrt(2 ln(1.25 / delta)) / epsilon."""
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return lambda: audit(
        lambda value, count: float_gaussian(value, count, sigma=sigma),
        (0.0, 1.0),
        (epsilon, delta),
        4_000_000,
        batched=True,
    )


_MANY, _FEW = 12, 8

BROKEN: tuple[Broken, ...] = (
    Broken(
        "Sparse vector that shows the noisy value",
        "the noise that decided the comparison is the noise of the answer: what is shown bounds the threshold's noise",
        _sparse(([0] * _FEW + [1], [1] * _FEW + [0]), threshold_scale=2, query_scale=2, limit=1, shows_value=True),
    ),
    Broken(
        "Sparse vector whose query noise ignores the limit",
        "a quarter of epsilon for the threshold and the rest for each query, however many may cross",
        _sparse(
            ([0] * _MANY, [1] * (_MANY // 2) + [-1] * (_MANY // 2)), threshold_scale=4, query_scale=4 / 3, limit=_MANY
        ),
    ),
    Broken(
        "Sparse vector without noise on the queries",
        "one noisy threshold and exact queries: two queries that swap places are told apart with certainty",
        _sparse(([0, 1], [1, 0]), threshold_scale=2, query_scale=0),
    ),
    Broken(
        "Sparse vector that never stops",
        "half of epsilon for the threshold and for every query, without a limit on how many may cross",
        _sparse(([0] * 2 * _MANY, [1] * _MANY + [-1] * _MANY), threshold_scale=2, query_scale=2),
    ),
    Broken(
        "Histogram under change-one with noise for one cell",
        "a person who changes leaves one cell and enters another: the sensitivity is 2",
        _vector(([1.0, 0.0], [0.0, 1.0]), scale=1),
    ),
    Broken(
        "Budget counted once for three answers",
        "each answer has noise for all of epsilon, and the ledger was charged for the first",
        _vector(([0.0] * 3, [1.0] * 3), scale=1),
    ),
    Broken(
        "Classical Gaussian beyond its range",
        "sigma = sqrt(2 ln(1.25 / delta)) / epsilon is proven for epsilon below 1, and false for large ones",
        _classical(8, 0.1),
    ),
    Broken(
        "Laplace noise in floating point",
        "the last bits of the sum tell which value the noise was added to",
        lambda: audit_bits(float_laplace, 1),
    ),
    Broken(
        "Gaussian noise in floating point",
        "the last bits of the sum tell which value the noise was added to",
        lambda: audit_bits(lambda value, count: float_gaussian(value, count, sigma=3.73), (1, 1e-5)),
    ),
)
"""Variants of [LSL17, Alg. 3 to 6], and what went wrong elsewhere."""
