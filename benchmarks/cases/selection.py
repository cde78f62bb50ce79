"""The exponential mechanism and permute-and-flip over a million candidates."""

from __future__ import annotations

from benchmark import Benchmark, Case

BENCHMARK = Benchmark(
    name="selection",
    title="Choosing among a million candidates",
    unit="candidates/s",
    cases=(
        Case(
            title="exponential mechanism, 10^6 candidates",
            task="exponential_mechanism",
            units={"privet": 10**6, "opendp": 10**6, "numpy": 10**6},
            count="candidates",
            limit=1.0,
        ),
        Case(
            title="permute-and-flip, 10^6 candidates",
            task="permute_and_flip",
            units={"privet": 10**6, "opendp": 10**6, "numpy": 10**6},
            count="candidates",
            limit=1.0,
        ),
    ),
)
