"""Privet's side of the local model: all reports at once, a server that counts them, and its estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import privet


def _frequencies(name: str) -> Callable[..., Callable[[], Any]]:
    def task(people: int, values: int, epsilon: float) -> Callable[[], Any]:
        oracle = getattr(privet.local, name)(values, epsilon=epsilon)  # privet.local is loaded at its first use
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
    "kary": _frequencies("KaryResponse"),
    "unary": _frequencies("OptimizedUnary"),
    "hashing": _frequencies("OptimizedHashing"),
    "fast_hashing": _frequencies("OptimizedHashing"),
    "hadamard": _frequencies("HadamardResponse"),
    "subset": _frequencies("SubsetSelection"),
}
