"""multi-freq-ldpy's side: a call for each person and one for all reports, as its users call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from serve import serve


def _ran(report: Callable[[int], Any], count: Callable[[list[Any]], Any], people: int, values: int) -> Any:
    answers = (np.arange(people) % values).tolist()
    count([report(answer) for answer in answers[:100]])  # what is compiled at the first call is compiled now

    def call() -> dict[str, Any]:
        count([report(answer) for answer in answers])
        return {}

    return call


def kary(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    return _ran(
        lambda answer: GRR_Client(answer, values, epsilon),
        lambda reports: GRR_Aggregator_MI(reports, values, epsilon),
        people,
        values,
    )


def unary(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    return _ran(
        lambda answer: UE_Client(answer, values, epsilon),
        lambda reports: UE_Aggregator_MI(reports, epsilon),
        people,
        values,
    )


def hashing(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    return _ran(
        lambda answer: LH_Client(answer, values, epsilon),
        lambda reports: LH_Aggregator_MI(reports, values, epsilon),
        people,
        values,
    )


def subset(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    return _ran(
        lambda answer: SS_Client(answer, values, epsilon),
        lambda reports: SS_Aggregator_MI(reports, values, epsilon),
        people,
        values,
    )


if __name__ == "__main__":
    serve("multi-freq-ldpy", {"kary": kary, "unary": unary, "hashing": hashing, "subset": subset})
