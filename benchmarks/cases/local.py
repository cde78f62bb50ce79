"""The local model: many reports, a server that counts them, and its estimate, beside libraries of that kind."""

from __future__ import annotations

from benchmark import Benchmark, Case

VALUES = 1024
PEOPLE = 1_000_000
FEW = {"pure_ldp": 20_000, "multi_freq_ldpy": 20_000}
"""A peer's time is in proportion to the people, so that fewer are enough; `--full` lets it do as much as Privet."""


def _case(title: str, task: str, targets: dict[str, float], people: dict[str, int] | None = None) -> Case:
    peers = {name: (people or FEW)[name] for name in targets}
    return Case(
        title=title,
        task=task,
        units={"privet": PEOPLE, **peers},
        count="people",
        parameters={"values": VALUES, "epsilon": 1},
        targets=targets,
        limit=10,
    )


BENCHMARK = Benchmark(
    name="local",
    title=f"Frequencies of {VALUES:,} values at epsilon 1: reports, counting and estimate",
    unit="people/s",
    cases=(
        _case("k-ary response", "kary", {"pure_ldp": 1, "multi_freq_ldpy": 1}),
        _case("optimized unary", "unary", {"pure_ldp": 5, "multi_freq_ldpy": 5}),
        _case("optimized local hashing", "hashing", {"pure_ldp": 5, "multi_freq_ldpy": 5}),
        _case("fast local hashing, 100 functions", "fast_hashing", {"pure_ldp": 5}, {"pure_ldp": 100_000}),
        _case("Hadamard response", "hadamard", {"pure_ldp": 1}),
        _case("subset selection", "subset", {"multi_freq_ldpy": 1}),
    ),
)
