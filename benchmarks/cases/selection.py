"""The exponential mechanism over a million candidates."""

from __future__ import annotations

from benchmark import Benchmark, Case

BENCHMARK = Benchmark(
    name="selection",
    title="Exponential mechanism over a million candidates",
    unit="candidates/s",
    cases=(
        Case(
            title="10^6 candidates",
            task="exponential_mechanism",
            units={"privet": 10**6, "opendp": 10**6, "numpy": 10**6},
            count="candidates",
            limit=1.0,
        ),
    ),
)
