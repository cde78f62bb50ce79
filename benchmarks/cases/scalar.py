"""One number at a time: `Laplace(...).release(x)` beside the peers' scalar mechanisms."""

from __future__ import annotations

from benchmark import Benchmark, Case

BENCHMARK = Benchmark(
    name="scalar",
    title="Scalar releases, one call each",
    unit="releases/s",
    cases=(
        Case(
            title="Laplace, scale 10",
            task="scalar_laplace",
            units={"privet": 5000, "opendp": 5000, "tmlt": 5000},
            count="draws",
            parameters={"scale": 10},
            targets={"opendp": 1.0},
            same_draws=True,
        ),
    ),
)
