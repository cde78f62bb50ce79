"""A stream of a million queries against a threshold. No peer offers one over an array; NumPy's floats are the mark."""

from __future__ import annotations

from benchmark import Benchmark, Case

BENCHMARK = Benchmark(
    name="sparse_vector",
    title="Sparse vector over a million queries, fifty crossings",
    unit="queries/s",
    cases=(
        Case(
            title="10^6 queries in an array",
            task="sparse_vector",
            units={"privet": 10**6, "numpy": 10**6},
            count="queries",
            limit=2.0,
        ),
        Case(title="queries one at a time", task="sparse_vector_stream", units={"privet": 10**5}, count="queries"),
    ),
)
