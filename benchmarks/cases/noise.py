"""A million draws of discrete Laplace and discrete Gaussian noise, beside exact peers and NumPy's unsafe floats."""

from __future__ import annotations

from benchmark import Benchmark, Case

MILLION = 10**6
DRAWS = {"privet": MILLION, "opendp": MILLION // 10, "tmlt": MILLION // 200, "numpy": MILLION}

BENCHMARK = Benchmark(
    name="noise",
    title="Discrete Laplace and Gaussian noise by scale: a million draws (slow peers draw fewer)",
    unit="draws/s",
    cases=tuple(
        Case(
            title=f"{title} {scale:,}",
            task=task,
            units=DRAWS,
            count="draws",
            parameters={"scale": scale},
            targets=targets,
            same_draws=scale > 1,  # at scale 1 a float draw and an integer draw differ in size
        )
        for title, task, targets in (
            ("Laplace", "discrete_laplace", {"opendp": 100.0, "numpy": 1 / 5}),
            ("Gaussian", "discrete_gaussian", {"opendp": 60.0, "numpy": 1 / 15}),
        )
        for scale in (1, 10, 1000, 10**6)
    ),
)
