"""Make the file of kept strategies anew: p-identity strategies for all ranges and prefixes of common sizes.

    nice .venv/bin/python tools/kept_strategies.py [iterations [sizes]]

It takes some minutes on one core. Where sizes are named, those of others are kept as they are. Smaller entries are
dropped and rows are rounded before they are kept; what is printed is the error of the rounded strategy.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from privet.strategy.kept import _FILE, kept_integers, pack
from privet.strategy.weighted_sums import BITS, first_sums, from_integers, optimise_sums
from privet.strategy.workloads import Integers, all_ranges, prefixes

SMALL = (20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224)
SIZES = (*((size, max(size // 16, 2)) for size in SMALL), (256, 16), (1024, 64), (4096, 128))
COARSE = 2
"""Binary digits that are dropped from entries of the largest size."""


def rounded(sums: Integers, drop: int) -> tuple[Integers, Integers]:
    """Return the integer rows of a p-identity, in multiples of 2**drop, and the weights of single cells."""
    d = 1 + sums.sum(axis=0)
    rows = (np.rint(np.ldexp(sums / d, BITS - drop)).astype(np.int64)) << drop
    used = rows.sum(axis=0) / 2.0**BITS
    weights = np.rint(np.ldexp(np.maximum(1 - used, 2.0**-20), 20)).astype(np.int64)
    return rows[(rows != 0).any(axis=1)], weights >> (drop * 2) << (drop * 2)


def main() -> None:
    """Write the file."""
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    chosen = {int(one) for one in sys.argv[2:]}
    found = kept_integers() if chosen else {}
    for size, rows in SIZES:
        if chosen and size not in chosen:
            continue
        for workload in (all_ranges(size), prefixes(size)):
            begun = time.monotonic()
            many = iterations if size < 4096 else iterations // 2
            starts = [first_sums(size, rows, seed) for seed in range(3 if size <= 256 else 1)]
            tried = [optimise_sums(workload, start, iterations=many) for start in starts]
            best = min(tried, key=lambda one: one[0])
            kept = rounded(best[1], 0 if size < 4096 else COARSE)
            strategy = from_integers(*kept, "")
            label = f"{workload.name} {size}"
            found[label] = kept
            exact = (2 * best[0] / workload.mass) ** 0.5
            print(label, strategy.rmse(workload), exact, f"{time.monotonic() - begun:.0f} s", flush=True)
    packed = pack(found)
    Path(__file__).parents[1].joinpath("src", "privet", "strategy", _FILE).write_bytes(packed)
    print(f"{len(packed):,} bytes")


if __name__ == "__main__":
    main()
