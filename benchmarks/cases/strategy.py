"""Errors of strategies at equal epsilon on real shapes, as a share of all rows; OpenDP measures its tree of 16.

The shapes are those of DPBench, from ../shared/data, which is not kept in the repository: 4,096 cells in one attribute,
or 256 x 256, summed to fewer, from which rows are drawn anew for each run. STRATEGY_RUNS sets how many runs there are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from benchmark import Benchmark, Case

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
RUNS = int(os.environ.get("STRATEGY_RUNS", "15"))
EPSILON = 0.1
_SEED = 2012


def drawn(table: Any, rows: int) -> list[list[int]]:
    """Return the counts of each run: this many rows by the shape of a table, the same on every machine."""
    generator = np.random.default_rng(_SEED)
    shares = table.ravel() / table.sum()
    return [[int(one) for one in generator.multinomial(rows, shares)] for _ in range(RUNS)]


def in_line(file: Path) -> list[Case]:
    """Return the cases of a shape over one attribute: all prefixes of 256 cells, and 2,000 ranges of 4,096."""
    shape, name = np.load(file).astype(float), file.name.split(".")[0]
    units = {"privet": RUNS, "opendp": RUNS}
    found = []
    for cells, rows, what in ((256, 1000, "prefixes"), (256, 100_000, "prefixes"), (4096, 1000, "ranges")):
        ends = np.sort(np.random.default_rng(_SEED).integers(0, cells, size=(2000, 2)), axis=1)
        if what == "prefixes":
            ends = np.stack([np.zeros(cells, dtype=int), np.arange(cells)], axis=1)
        parameters = {
            "counts": drawn(shape.reshape(cells, -1).sum(axis=1), rows),
            "lows": ends[:, 0].tolist(),
            "highs": ends[:, 1].tolist(),
            "rows": rows,
            "epsilon": EPSILON,
        }
        title = f"{name}, {what} of {cells:,}, {rows:,} rows"
        found.append(Case(title, "count_errors", units, parameters, count="runs", most={"tree of 16": 1.3}))
    return found


def in_plane(file: Path) -> list[Case]:
    """Return the cases of a shape over two attributes: all pairs of prefixes of 32 x 32 and of 128 x 128 cells.

    OpenDP has no tree over two attributes; its tree is over all cells, row after row.
    """
    shape, name = np.load(file).astype(float), file.name.split("_")[0]
    found = []
    for side in (32, 128):
        counts = drawn(shape.reshape(side, 256 // side, side, 256 // side).sum(axis=(1, 3)), 10_000)
        parameters = {"counts": counts, "shape": [side, side], "rows": 10_000, "epsilon": EPSILON}
        title = f"{name}, prefixes of {side} x {side}, 10,000 rows"
        units = {"privet": RUNS, "opendp": RUNS}
        found.append(Case(title, "box_errors", units, parameters, count="runs", most={"tree of 16": 1.3}))
    return found


def every_case() -> tuple[Case, ...]:
    """Return a case for each shape that is there."""
    lines, planes = sorted(DATA.glob("dpbench-1d/*.npy")), sorted(DATA.glob("dpbench-2d/*.npy"))
    if not lines:
        print(f"strategy: the shapes of DPBench are not in {DATA}, so that nothing is measured", file=sys.stderr)
    along = [case for file in lines for case in in_line(file)]
    return (*along, *(case for file in planes for case in in_plane(file)))


BENCHMARK = Benchmark(
    name="strategy",
    title="Mean absolute error of a count at epsilon 0.1, as a share of all rows",
    unit="runs/s",
    cases=every_case(),
    picture="mean absolute error / rows",
)
