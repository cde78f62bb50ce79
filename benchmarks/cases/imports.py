"""Processor time of an import, over that of a bare interpreter."""

from __future__ import annotations

from benchmark import Benchmark, Case

BENCHMARK = Benchmark(
    name="imports",
    title="Import, in processor time over a bare interpreter",
    unit="imports/s",
    cases=(
        Case(
            title="import",
            task="import",
            units={"privet": 1, "opendp": 1, "tmlt": 1, "numpy": 1},
            limit=0.1,
        ),
    ),
)
