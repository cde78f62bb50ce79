"""Medians and deciles of many rows. NumPy only sorts them, which is the mark to come near."""

from __future__ import annotations

from benchmark import Benchmark, Case

MILLION = 10**6

BENCHMARK = Benchmark(
    name="quantiles",
    title="Private quantiles of many numbers, beside a sort of them",
    unit="rows/s",
    cases=(
        Case(
            title="median, smooth sensitivity, 10^7",
            task="smooth_median",
            units={"privet": 10 * MILLION, "numpy": 10 * MILLION},
            count="rows",
            targets={"numpy": 1 / 3},
        ),
        Case(
            title="median, exponential, 10^7",
            task="exponential_median",
            units={"privet": 10 * MILLION, "numpy": 10 * MILLION},
            count="rows",
            targets={"numpy": 1 / 3},
        ),
        Case(
            title="nine deciles, recursive, 10^7",
            task="recursive_deciles",
            units={"privet": 10 * MILLION, "numpy": 10 * MILLION},
            count="rows",
        ),
        Case(
            title="nine deciles, joint, 10^5",
            task="joint_deciles",
            units={"privet": MILLION // 10, "numpy": MILLION // 10},
            count="rows",
            limit=2.0,
        ),
    ),
)
