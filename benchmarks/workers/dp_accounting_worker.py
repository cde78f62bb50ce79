"""dp_accounting's side: its PLD accountant for compositions, its Renyi accountant for spending step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dp_accounting
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from serve import serve

Event = dp_accounting.DpEvent


def different(events: int) -> list[Event]:
    made: list[Event] = []
    for place in range(events // 2):
        made += [dp_accounting.LaplaceDpEvent(40 + place / 10), dp_accounting.GaussianDpEvent(60 + place / 5)]
    return made


def _ask(event: Event, delta: float, step: float) -> Callable[[], Any]:
    def call() -> dict[str, Any]:
        accountant = PLDAccountant(value_discretization_interval=step)
        return {"figures": {"epsilon": accountant.compose(event).get_epsilon(delta)}}

    return call


def compose_different(events: int, delta: float, step: float) -> Callable[[], Any]:
    return _ask(dp_accounting.ComposedDpEvent(different(events)), delta, step)


def compose_sampled(rate: float, sigma: float, steps: int, delta: float, step: float) -> Callable[[], Any]:
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    return _ask(dp_accounting.SelfComposedDpEvent(sampled, steps), delta, step)


def spend_one_more(history: int, delta: float) -> Callable[[], Any]:
    accountant = RdpAccountant()
    for event in different(1000):
        accountant.compose(event, history // 1000)

    def call() -> dict[str, Any]:
        accountant.compose(dp_accounting.GaussianDpEvent(77.7))
        return {"note": f"Renyi accountant; epsilon {accountant.get_epsilon(delta):.6g}, for costs fixed in advance"}

    return call


if __name__ == "__main__":
    serve(
        "dp-accounting",
        {
            "compose_different": compose_different,
            "compose_sampled": compose_sampled,
            "spend_one_more": spend_one_more,
        },
    )
