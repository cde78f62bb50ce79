"""From what a strategy measured to an answer: cells by least squares, and sums of them with their own covariance.

Uses released numbers and public facts only, and may be repeated at will.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.core.errors import InvariantError
from privet.core.schema import Kind
from privet.inference.bars import Law
from privet.planner.from_strategy import FromStrategy
from privet.planner.keys import has_group
from privet.planner.plan import Reading
from privet.release import Released

from .origins import Cell, Leaf, Origin, SeriesBars, added
from .released_tables import ReleasedTable

LEFT_OUT = (
    "Totals are over rows whose keys have declared values: rows with other values are in no group and in no total."
)

if TYPE_CHECKING:
    from privet.core.event import Floats

_DIGITS = 9


class StrategyLeaf(Leaf):
    """Cells that were reconstructed from noisy measurements: each is a weighted sum of all of them."""

    def __init__(self, plan: FromStrategy, base: dict[str, Any], estimates: Floats, factors: Floats) -> None:
        super().__init__(plan.by_cell, {}, base, _no_bars, [], independent=False)
        self._estimates, self._factors = estimates, factors
        self._laws = plan.laws
        self._digest = plan.plans[0].digest

    def terms(self, reading: Reading, row: int) -> tuple[float, list[tuple[Hashable, Law, float]]] | None:
        """Return the estimate of a cell, and the noises of the measurements that it is made of.

        Guarantee: measurements have independent noises, so that sums and differences of cells have the law of the sum
        of these, each as many times as it counts in all of them together.
        """
        factors = self._factors[row]
        noises: list[tuple[Hashable, Law, float]] = [
            ((self._digest, place), self._laws[place], float(factors[place])) for place in factors.nonzero()[0].tolist()
        ]
        return float(self._estimates[row]), noises


def read_cells(released: Released, plan: FromStrategy) -> tuple[Leaf, ReleasedTable]:
    """Return the cells of a release, reconstructed, in the order of its question's keys: numbers and rows.

    Guarantee: least squares, with the very matrix that was measured; each sum of cells that a question reads is in the
    row space of that matrix, and so has the variance of its coefficients.
    """
    import numpy as np

    pass_, noise = plan.plans[0].passes[0], plan.noise
    (noisy,) = pass_.measure.read(released.sums[0], pass_.scan)
    factors = plan.factors
    estimates = factors @ np.asarray(noisy)
    if plan.levels is not None:
        return _read_levels(plan, estimates, factors)
    scan_keys = [key.expression for key in pass_.scan.keys]
    places = [scan_keys.index(key.expression) for key in plan.query.keys]
    cells = list(product(*(key.values or () for key in pass_.scan.keys)))
    if len(cells) != noise.strategy.cells:
        raise InvariantError("a strategy has other cells than its scan")
    order = sorted(range(len(cells)), key=lambda row: [cells[row][place] for place in places])
    (reading,) = plan.by_cell.readings
    base: dict[str, Any] = {
        key.name: [cells[row][place] for row in order] for key, place in zip(plan.query.keys, places, strict=True)
    }
    base[reading.name] = np.round(estimates[order], _DIGITS).tolist()
    kinds: dict[str, Kind] = {**plan.by_cell.kinds, reading.name: "number"}
    leaf = StrategyLeaf(plan, base, estimates[order], factors[order])
    origins: list[Origin | None] = [Cell(0, row, reading.name) for row in range(len(order))]
    return leaf, ReleasedTable(base, kinds, {reading.name: origins}, found=False)


def _read_levels(plan: FromStrategy, estimates: Floats, factors: Floats) -> tuple[Leaf, ReleasedTable]:
    """Return the groups of all levels, one below the other: a key that a level does not group by is NULL.

    Guarantee: each number is the sum of the cells that its row of the matrix says, with the noise of these.
    """
    import numpy as np

    levels = plan.levels
    if levels is None or plan.matrix is None:
        raise InvariantError("groups of several levels are sums of cells")
    rows, query = plan.groups_of_levels, levels.query
    base: dict[str, Any] = {}
    for place, key in enumerate(query.keys):
        axes = query.levels
        base[key.name] = [cell[axes[level].index(place)] if place in axes[level] else None for level, cell in rows]
    for grouping in query.groupings:
        base[grouping.name] = [
            sum((place not in query.levels[level]) << shift for shift, place in enumerate(reversed(grouping.keys)))
            for level, _ in rows
        ]
    (reading,) = plan.by_cell.readings
    sums = plan.matrix @ estimates
    base[reading.name] = np.round(sums, _DIGITS).tolist()
    kinds: dict[str, Kind] = {name: kind for level_plan in levels.plans for name, kind in level_plan.kinds.items()}
    kinds.update(dict.fromkeys((group.name for group in query.groupings), "integer"))
    kinds[reading.name] = "number"
    leaf = StrategyLeaf(plan, base, sums, plan.matrix @ factors)
    origins: list[Origin | None] = [added([(Cell(0, row, reading.name), 1.0)], 0.0) for row in range(len(rows))]
    return leaf, ReleasedTable(base, kinds, {reading.name: origins}, found=False)


def _no_bars(rows: list[int], tail: float) -> SeriesBars:
    raise InvariantError("cells of a strategy are read as sums of them")


def noted(plan: FromStrategy, confidence: float) -> Sequence[str]:
    """Return what the intervals of an answer cover, and what they do not."""
    columns = plan.by_cell.passes[0].scan.schema.columns
    totals = bool(plan.query.levels) and any(has_group(key.expression, columns) for key in plan.query.keys)
    return (
        *plan.by_cell.notes(confidence),
        "Reconstructed from shared measurements, so counts need not be whole numbers.",
        *((LEFT_OUT,) if totals else ()),
    )
