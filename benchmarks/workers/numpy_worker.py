"""NumPy's side: floating-point samplers, which are not safe for private data, as the mark to come near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from audited import audited
from serve import importing, serve


def laplace(scale: int, draws: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    return lambda: generator.laplace(0.0, scale, draws)


def audit_laplace(**asked: Any) -> Callable[[], Any]:
    generator = np.random.default_rng()
    return audited(lambda value, count: value + generator.laplace(0.0, 1.0, count), **asked)


def normal(scale: int, draws: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    return lambda: generator.normal(0.0, scale, draws)


def gumbel_max(candidates: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    scores = np.arange(candidates) % 1000
    return lambda: int(np.argmax(scores / 2 + generator.gumbel(size=candidates)))


def exponential_max(candidates: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    scores = np.arange(candidates) % 1000
    return lambda: int(np.argmax(scores / 2 + generator.exponential(size=candidates)))


def sparse_vector(queries: int) -> Callable[[], Any]:
    generator = np.random.default_rng()
    answers = np.arange(queries) % 1000

    def call() -> Any:
        noisy = answers + generator.laplace(0.0, 102.0, queries)
        return int(np.flatnonzero(noisy >= 5000 + generator.laplace(0.0, 22.5))[:50].size)

    return call


def sort(rows: int) -> Callable[[], Any]:
    values = np.random.default_rng(1).normal(50.0, 10.0, rows)
    return lambda: np.sort(values)


if __name__ == "__main__":
    serve(
        "numpy",
        {
            "audit_laplace": audit_laplace,
            "discrete_laplace": laplace,
            "discrete_gaussian": normal,
            "exponential_mechanism": gumbel_max,
            "permute_and_flip": exponential_max,
            "sparse_vector": sparse_vector,
            "smooth_median": sort,
            "exponential_median": sort,
            "recursive_deciles": sort,
            "joint_deciles": sort,
            "import": importing("numpy"),
        },
    )
