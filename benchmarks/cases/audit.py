"""The audit pointed at what peers release: each draws in its own environment, Privet audits the numbers alone.

Beside the time to draw and to audit stand the claim, the lower bound that was found on epsilon, the chance to have
caught a claim understated by a tenth, and the lower bound that the low bits of the doubles alone give. They are facts
about one pair of inputs, and about nothing else.
"""

from __future__ import annotations

import sys

from benchmark import Benchmark, Case

MILLION = 10**6
THIRD = 1 / 3

BENCHMARK = Benchmark(
    name="audit",
    title="Draw releases of two neighbouring inputs and audit them (slow peers draw fewer)",
    unit="seconds",
    cases=tuple(
        Case(
            title=title,
            task=task,
            units=units,
            count="draws",
            parameters={"inputs": inputs, "claimed": claimed, "auditor": sys.executable},
        )
        for title, task, inputs, claimed, units in (
            (
                "Laplace on doubles, 1/3 and 4/3",
                "audit_laplace",
                (THIRD, 1 + THIRD),
                (1.0, 0.0),
                {
                    "privet": MILLION,
                    "numpy": MILLION,
                    "diffprivlib": MILLION // 10,
                    "opendp": MILLION // 10,
                },
            ),
            (
                "geometric noise on whole numbers, 10 and 11",
                "audit_geometric",
                (10, 11),
                (1.0, 0.0),
                {
                    "privet": MILLION,
                    "diffprivlib": MILLION // 10,
                    "opendp": MILLION // 10,
                    "tmlt": MILLION // 50,
                },
            ),
            (
                "Gaussian on doubles at (1, 0.01), 1/3 and 4/3",
                "audit_gaussian",
                (THIRD, 1 + THIRD),
                (1.0, 0.01),
                {"privet": MILLION, "diffprivlib": MILLION // 10},
            ),
            (
                "mean of three rows in [0, 1], one of them changed",
                "audit_mean",
                ([0.1, 0.4, 0.0], [0.1, 0.4, 1.0]),
                (1.0, 0.0),
                {"privet": MILLION, "diffprivlib": MILLION // 50},
            ),
        )
    ),
)
