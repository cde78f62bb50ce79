"""Privet's side of the local model: all reports at once, a server that counts them, and its estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from privet import local


def _frequencies(kind: type[local.FrequencyOracle]) -> Callable[..., Callable[[], Any]]:
    def task(people: int, values: int, epsilon: float) -> Callable[[], Any]:
        oracle = kind(values, epsilon=epsilon)
        answers = np.arange(people) % values
        oracle.server().add(oracle.client.reports(answers[:100]))  # imports what is imported when it is used

        def call() -> dict[str, Any]:
            server = oracle.server()
            server.add(oracle.client.reports(answers))
            server.estimate()
            return {}

        return call

    return task


LOCAL = {
    "kary": _frequencies(local.KaryResponse),
    "unary": _frequencies(local.OptimizedUnary),
    "hashing": _frequencies(local.OptimizedHashing),
    "fast_hashing": _frequencies(local.OptimizedHashing),
    "hadamard": _frequencies(local.HadamardResponse),
    "subset": _frequencies(local.SubsetSelection),
}
