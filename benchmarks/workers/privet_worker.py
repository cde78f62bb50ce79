"""Privet's side of each benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serve import importing, serve

import privet
from privet import noise


def discrete_laplace(scale: int, draws: int) -> Callable[[], Any]:
    return lambda: noise.discrete_laplace(scale, draws)


def discrete_gaussian(scale: int, draws: int) -> Callable[[], Any]:
    return lambda: noise.discrete_gaussian(scale**2, draws)


def scalar_laplace(scale: int, draws: int) -> Callable[[], Any]:
    mechanism = privet.Laplace(sensitivity=1, scale=scale)
    return lambda: [mechanism.release(0) for _ in range(draws)]


def exponential_mechanism(candidates: int) -> Callable[[], Any]:
    import numpy as np

    mechanism = privet.Exponential(sensitivity=1, epsilon=1)
    scores = np.arange(candidates, dtype=np.int64) % 1000
    return lambda: mechanism.release(scores)


if __name__ == "__main__":
    serve(
        "privet",
        {
            "discrete_laplace": discrete_laplace,
            "discrete_gaussian": discrete_gaussian,
            "scalar_laplace": scalar_laplace,
            "exponential_mechanism": exponential_mechanism,
            "import": importing("privet"),
        },
    )
