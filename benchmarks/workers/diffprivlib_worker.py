"""diffprivlib's side: its mechanisms, one release at a time, as its users call them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from audited import audited
from diffprivlib import mechanisms, tools
from serve import importing, serve

warnings.simplefilter("ignore")


def _mechanism(made: Any, **asked: Any) -> Callable[[], Any]:
    return audited(lambda value, count: [made.randomise(value) for _ in range(count)], **asked)


def audit_laplace(**asked: Any) -> Callable[[], Any]:
    return _mechanism(mechanisms.Laplace(epsilon=1, sensitivity=1), **asked)


def audit_geometric(**asked: Any) -> Callable[[], Any]:
    return _mechanism(mechanisms.Geometric(epsilon=1, sensitivity=1), **asked)


def audit_gaussian(**asked: Any) -> Callable[[], Any]:
    epsilon, delta = asked["claimed"]
    return _mechanism(mechanisms.GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=1), **asked)


def audit_mean(**asked: Any) -> Callable[[], Any]:
    def draw(rows: list[float], count: int) -> list[float]:
        return [tools.mean(rows, epsilon=1, bounds=(0, 1)) for _ in range(count)]

    return audited(draw, **asked)


if __name__ == "__main__":
    serve(
        "diffprivlib",
        {
            "audit_laplace": audit_laplace,
            "audit_geometric": audit_geometric,
            "audit_gaussian": audit_gaussian,
            "audit_mean": audit_mean,
            "import": importing("diffprivlib"),
        },
    )
