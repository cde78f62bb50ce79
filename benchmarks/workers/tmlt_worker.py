"""Tumult Core's side of each benchmark: its exact samplers, one draw at a time, as its own mechanisms call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audited import audited
from serve import importing, serve
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
from tmlt.core.random.discrete_gaussian import sample_dgauss


def discrete_laplace(scale: int, draws: int) -> Callable[[], Any]:
    mechanism = AddGeometricNoise(scale)
    return lambda: [mechanism(0) for _ in range(draws)]


def audit_geometric(**asked: Any) -> Callable[[], Any]:
    mechanism = AddGeometricNoise(1)
    return audited(lambda value, count: [mechanism(value) for _ in range(count)], **asked)


def discrete_gaussian(scale: int, draws: int) -> Callable[[], Any]:
    return lambda: [sample_dgauss(scale**2) for _ in range(draws)]


if __name__ == "__main__":
    serve(
        "tmlt.core",
        {
            "audit_geometric": audit_geometric,
            "discrete_laplace": discrete_laplace,
            "discrete_gaussian": discrete_gaussian,
            "scalar_laplace": discrete_laplace,
            "import": importing("tmlt.core.measurements.noise_mechanisms"),
        },
    )
