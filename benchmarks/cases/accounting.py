"""What compositions cost, and how soon that is known: beside Google's dp_accounting, with epsilon beside the time.

A smaller lattice step gives a smaller epsilon, later. So each composition is asked twice: with the peer's own default
step, and with a coarser one at which its epsilon is about Privet's.
"""

from __future__ import annotations

from benchmark import Benchmark, Case

PEER = "dp_accounting"
DEFAULT = 1e-4
ONCE = {"privet": 1, PEER: 1}

BENCHMARK = Benchmark(
    name="accounting",
    title="Epsilon of 1,000 different events, of 10,000 sampled Gaussian steps, and of one more event on a history",
    unit="seconds",
    cases=(
        *(
            Case(
                title=f"1,000 events, peer at {step:g}",
                task="compose_different",
                units=ONCE,
                parameters={"events": 1000, "delta": 1e-6},
                settings={PEER: {"step": step}},
                targets={PEER: 5.0},
                figures=("epsilon",),
            )
            for step in (DEFAULT, 5e-4)
        ),
        *(
            Case(
                title=f"10,000 steps, q {rate:g}, sigma {sigma:g}, peer at {step:g}",
                task="compose_sampled",
                units=ONCE,
                parameters={"rate": rate, "sigma": sigma, "steps": 10_000, "delta": 1e-5},
                settings={PEER: {"step": step}},
                targets={PEER: 1.0},
                figures=("epsilon",),
            )
            for rate, sigma, matched in ((0.01, 1.0, 2e-4), (0.004, 0.8, 1.5e-4))
            for step in (DEFAULT, matched)
        ),
        Case(
            title="one more event after 10,000",
            task="spend_one_more",
            units=ONCE,
            parameters={"history": 10_000, "delta": 1e-6},
            limit=0.005,
        ),
    ),
)
