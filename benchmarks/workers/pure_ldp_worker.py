"""pure-ldp's side: one client and one server, a person at a time, as its users call them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer, LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from serve import serve

warnings.simplefilter("ignore")

FUNCTIONS = 100


def _ran(client: Any, server: Any, people: int, values: int) -> Callable[[], Any]:
    answers = (np.arange(people) % values).tolist()

    def call() -> dict[str, Any]:
        for answer in answers:
            server.aggregate(client.privatise(answer))
        server.estimate_all(range(values), suppress_warnings=True)
        return {}

    return call


def _place(value: int) -> int:
    return value


def kary(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    terms = {"index_mapper": _place}
    return _ran(DEClient(epsilon, values, **terms), DEServer(epsilon, values, **terms), people, values)


def unary(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    terms = {"use_oue": True, "index_mapper": _place}
    return _ran(UEClient(epsilon, values, **terms), UEServer(epsilon, values, **terms), people, values)


def hashing(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    terms = {"use_olh": True, "index_mapper": _place}
    return _ran(LHClient(epsilon, values, **terms), LHServer(epsilon, values, **terms), people, values)


def fast_hashing(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    terms = {"use_olh": True, "index_mapper": _place}
    server = FastLHServer(epsilon, values, FUNCTIONS, **terms)  # its table of hashes is made outside the clock
    return _ran(FastLHClient(epsilon, values, FUNCTIONS, **terms), server, people, values)


def hadamard(people: int, values: int, epsilon: float) -> Callable[[], Any]:
    server = HadamardResponseServer(epsilon, values, index_mapper=_place)
    client = HadamardResponseClient(epsilon, values, server.get_hash_funcs(), index_mapper=_place)
    return _ran(client, server, people, values)


if __name__ == "__main__":
    tasks = {"kary": kary, "unary": unary, "hashing": hashing, "fast_hashing": fast_hashing, "hadamard": hadamard}
    serve("pure-ldp", tasks)
