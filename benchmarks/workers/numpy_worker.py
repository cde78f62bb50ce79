"""NumPy's side: floating-point samplers, which are not safe for private data, as the mark to come near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from serve import importing, serve


def laplace(scale: int, draws: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    return lambda: generator.laplace(0.0, scale, draws)


def normal(scale: int, draws: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    return lambda: generator.normal(0.0, scale, draws)


def gumbel_max(candidates: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    scores = np.arange(candidates) % 1000
    return lambda: int(np.argmax(scores / 2 + generator.gumbel(size=candidates)))


if __name__ == "__main__":
    serve(
        "numpy",
        {
            "discrete_laplace": laplace,
            "discrete_gaussian": normal,
            "exponential_mechanism": gumbel_max,
            "import": importing("numpy"),
        },
    )
