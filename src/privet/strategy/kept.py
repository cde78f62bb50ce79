"""Optimised strategies for common sizes, kept in a file, so that no caller waits for them.

`tools/kept_strategies.py` makes the file anew. It contains integers: nothing is rounded when it is read.
"""

from __future__ import annotations

import io
import lzma
from functools import cache
from importlib import resources

import numpy as np

from .strategies import MatrixStrategy, Noise
from .weighted_sums import from_integers
from .workloads import Integers, RangeWorkload, Workload

_FILE = "kept.bin"


def kept_strategy(workload: Workload, measure: Noise) -> MatrixStrategy | None:
    """Return the strategy that is kept for a workload, if there is one."""
    if not isinstance(workload, RangeWorkload) or measure != "pure":
        return None
    label = f"{workload.name} {workload.size}".replace(" ", "_")
    arrays = _read()
    if f"{label}_rows" not in arrays:
        return None
    rows, weights = arrays[f"{label}_rows"], arrays[f"{label}_weights"]
    name = f"p-identity, p = {len(rows)}, kept"
    return from_integers(rows.astype(np.int64), weights.astype(np.int64), name)


def kept_part(workload: Workload, measure: Noise) -> MatrixStrategy | None:
    """Return the first cells of the strategy that is kept for the next larger size, if there is one.

    A range over these is one over more cells of which the rest is empty, so that the kept strategy answers it.
    """
    if not isinstance(workload, RangeWorkload) or measure != "pure":
        return None
    sizes = [
        (int(size), label)
        for label in kept_sizes()
        for name, _, size in [label.rpartition(" ")]
        if name == workload.name
    ]
    larger = sorted(pair for pair in sizes if pair[0] > workload.size)
    if not larger:
        return None
    size, label = larger[0]
    rows, weights = kept_integers()[label]
    part, own = rows[:, : workload.size], weights[: workload.size]
    used = part[(part != 0).any(axis=1)]
    return from_integers(used, own, f"p-identity, p = {len(used)}, kept for {size:,} cells")


def kept_integers() -> dict[str, tuple[Integers, Integers]]:
    """Return the kept strategies, by workload: rows of weighted sums, and weights of single cells."""
    arrays = _read()
    return {
        label: (arrays[f"{name}_rows"].astype(np.int64), arrays[f"{name}_weights"].astype(np.int64))
        for label in kept_sizes()
        for name in [label.replace(" ", "_")]
    }


def kept_sizes() -> list[str]:
    """Return the workloads that a strategy is kept for."""
    return sorted(label.removesuffix("_rows").replace("_", " ") for label in _read() if label.endswith("_rows"))


@cache
def _read() -> dict[str, Integers]:
    packed = resources.files(__package__).joinpath(_FILE).read_bytes()
    with np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as arrays:
        return {label: arrays[label] for label in arrays.files}


def pack(strategies: dict[str, tuple[Integers, Integers]]) -> bytes:
    """Return the bytes of a file of strategies: rows of weighted sums, and weights of single cells, by label."""
    arrays: dict[str, Integers] = {}
    for label, (rows, weights) in strategies.items():
        arrays[f"{label.replace(' ', '_')}_rows"] = rows.astype(np.int16)
        arrays[f"{label.replace(' ', '_')}_weights"] = weights.astype(np.int32)
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return lzma.compress(out.getvalue(), preset=9 | lzma.PRESET_EXTREME)
