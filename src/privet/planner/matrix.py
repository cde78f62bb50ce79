"""Noisy measurements of a strategy over the cells of a scan: the one kind of measure whose sums share their noise.

The cost of a release is computed from the matrix that is applied and the scales that are drawn. Everything here but
`draw` uses public facts and released numbers only. The mathematics is in `privet.strategy`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from privet.core.errors import InvariantError
from privet.core.event import Event
from privet.core.given import set_fields
from privet.core.scan import Scan
from privet.core.wire import Form, form_of, wired_by
from privet.display import shown_amount, shown_error

from .measures import Cell, Columns, Measure, MeasuredColumn, OpenedSums, plain_text_of, without_places
from .stability import reach_of

if TYPE_CHECKING:
    from privet.core.event import Floats
    from privet.strategy import Strategy, StrategyMeasure

_MATRIX = form_of("Matrix", "strategy", "noise", "scale", "neighbors", "contribution", "shift", "places", "reconstruct")

RECONSTRUCTION = "least squares"
"""How answers are computed from measurements, which digests cover: a name that never changes its meaning."""


_INSIDE = ("factors", "parts", "bases")
"""Where strategies have others inside."""


def _written(measure: MatrixMeasure) -> tuple[Form, Sequence[object]]:
    """Return a measure as its digest has it: the digest of its matrix and weights, and the facts behind every scale."""
    noise = measure.noise
    facts = (noise.strategy.digest, noise.strategy.measure, noise.scale, noise.neighbors, noise.contribution)
    return _MATRIX, (*facts, noise.shift, noise.exponent, RECONSTRUCTION)


@wired_by(_written, _MATRIX)
@dataclass(frozen=True)
class MatrixMeasure:
    """Noisy sums of counts over all cells of a scan, by an integer matrix, with a noise scale for each row.

    Cells are those of the scan's public keys, the last key running fastest. Nothing is known of a row whose keys are
    not declared: it is dropped before its unit is weighted. `noise` is a `privet.strategy.StrategyMeasure`.
    """

    noise: Any
    measures: ClassVar[tuple[Measure, ...]] = ()
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = True
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_kinds(self.noise)

    @property
    def strategy(self) -> Strategy:
        """The strategy that is measured."""
        strategy: Strategy = self.noise.strategy
        return strategy

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the noise: one event for all rows of the matrix, derived from it and from their scales."""
        return (self.noise.event,)

    def columns(self, scan: Scan) -> int:
        """Return how many columns are released: one, of a number for each row of the matrix."""
        return 1

    def with_noise(self, measures: tuple[Measure, ...]) -> MatrixMeasure:
        """Return the same: it has no separate noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy measurements as integers, each worth 2**-exponent rows.

        Guarantee: sums of exact integers, and noise on these; of residuals, differences are taken here, and the noisy
        marginal before that goes nowhere.
        """
        import numpy as np

        from privet.strategy.residuals import MarginalStrategy, ResidualStrategy, SparseCounts

        places = [{value: place for place, value in enumerate(key.values or ())} for key in scan.keys]
        counted = {
            tuple(each[value] for each, value in zip(places, cell, strict=True)): sums[0]
            for cell, sums in opened.groups.items()
            if all(value in each for each, value in zip(places, cell, strict=True))
        }
        counts: Any
        if isinstance(self.strategy, (MarginalStrategy, ResidualStrategy)):
            where = np.array(list(counted), dtype=np.int64).reshape(len(counted), len(places))
            counts = SparseCounts(where, list(counted.values()))
        else:
            counts = [0] * self.strategy.cells
            for cell, count in counted.items():
                at = 0
                for each, place in zip(places, cell, strict=True):
                    at = at * len(each) + place
                counts[at] = count
        return (tuple(self.noise.draw_integers(counts)),)

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the release, in rows, or in the unit of the sum."""
        return [self.noise.worth(numbers) * float(scan.sums[0].step) for numbers in released]

    def verify(self, scan: Scan) -> None:
        """Raise unless the noise is for the movement of one unit in this scan, computed anew from matrix and scales.

        Guarantee: a unit adds at most `contribution` rows to all cells, in L1, whatever the noise; neighbours are
        compared as the scan's units move; the cells are those of public keys, and there are as many as columns.
        """
        without_places(scan)
        if not _plain(scan) or scan.discovery is not None or scan.sizes is not None or scan.cells is not None:
            raise InvariantError("a strategy measures one count or sum in all cells of public keys, and nothing else")
        sizes = tuple(len(key.values or ()) for key in scan.keys)
        if not sizes or self.strategy.shape not in (sizes, (math.prod(sizes),)):
            raise InvariantError("a strategy is over other cells than its scan counts")
        again = _made_again(self.noise)
        claimed = (scan.schema.moves, scan.bounding.shift, reach_of(scan))
        if (again.neighbors, again.shift, again.contribution * 2**again.shift) != claimed:
            raise InvariantError("a strategy has noise for other units than its scan has")
        held = (self.noise.event, self.noise.noises, self.noise.exponent)
        if (again.event, again.noises, again.exponent) != held:
            raise InvariantError("a strategy costs something else than by its matrix and its scales")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how the released numbers are read; the terms of each sum are in the strategy, by its digest."""
        summed = _summed_in_words(scan) or "counts"
        what = f"{self.strategy.name}: sums of {summed} over cells of {_cells_in_words(scan)}"
        step = Fraction(1, 2**self.noise.exponent) * scan.sums[0].step
        return [MeasuredColumn(what, "sum", self._name, step=step, bins=self.strategy.rows)]

    @property
    def family(self) -> Literal["laplace", "gaussian"]:
        """The kind of noise: laplace or gaussian."""
        return "laplace" if self.strategy.measure == "pure" else "gaussian"

    @property
    def _name(self) -> str:
        return "Laplace" if self.strategy.measure == "pure" else "Gaussian"

    @property
    def deviations(self) -> tuple[float, float]:
        """The least and the largest standard deviation of the noise, on sums in which a row counts at most once.

        Real coefficients are measured as whole numbers, in units of their own: these are taken out.
        """
        import numpy as np

        spread = np.sqrt(np.asarray(self.noise.variances, dtype=np.float64))
        least, most = _ends_of_entries(self.strategy)
        return float((spread / most).min()), float((spread / least).max())

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data."""
        from privet.strategy.reconstruction import half_widths

        unit = float(scan.sums[0].step)
        least, most = (deviation * unit for deviation in self.deviations)
        of = f" of {summed}" if (summed := _summed_in_words(scan)) else ""
        return [
            {
                "sum": f"{self.strategy.rows:,} sums{of} over {self.strategy.cells:,} cells of {_cells_in_words(scan)}",
                "noise": self._name,
                "strategy": self.strategy.name,
                "matrix": self.strategy.digest,
                "measurements": self.strategy.rows,
                "cells": self.strategy.cells,
                "least_standard_deviation": least,
                "standard_deviation": most,
                "half_width_95": most * half_widths(0.95, self.strategy.measure),
                "sensitivity": float(self.noise.contribution) * unit,
                "norm": "L1",
                "clamped_to": None,
            }
        ]

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        import numpy as np

        (fact,) = self.facts(scan)
        spread = shown_amount(fact["standard_deviation"])
        least = shown_amount(fact["least_standard_deviation"])
        between = spread if least == spread else f"{least} to {spread}"
        if np.max(_ends_of_entries(self.strategy)[1]) > 1:
            between += " on sums in which a row counts up to once"
        moves = {"add-remove": "comes or goes", "change-one": "changes"}[self.noise.neighbors]
        return [
            f"Measures {fact['sum']}, by the strategy {fact['strategy']!r}, with {fact['noise']} noise of "
            f"standard deviation {between}: one release, whose price follows from the matrix and from what a unit "
            f"that {moves} adds to all cells together, at most {shown_amount(fact['sensitivity'])}.",
            "Rows whose values are not declared are in no cell: they are dropped first, before anyone is scaled down.",
        ]

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return ["Every answer is reconstructed from these measurements by least squares, with an error of its own."]

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as a row of a table."""
        (fact,) = self.facts(scan)
        noise = f"{fact['noise']}, standard deviation up to {shown_amount(fact['standard_deviation'])}"
        moved = f"{shown_amount(fact['sensitivity'])} (L1)"
        return [(str(fact["sum"]), noise, moved, "", f"±{shown_error(fact['half_width_95'])}")]

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        return "reconstructed; its interval comes with the answer"


def _ends_of_entries(strategy: Any) -> tuple[Any, Any]:
    """Return the largest entry of each row, twice; of residuals the least and the most of these, for each subset."""
    import numpy as np

    if not getattr(strategy, "bases", ()):
        return (_largest_entries(strategy),) * 2
    entries = {axis: _largest_entries(basis) for axis, basis in enumerate(strategy.bases) if basis is not None}
    ends = [
        [math.prod(float(pick(entries[axis])) for axis in axes if axis in entries) for axes in strategy.subsets]
        for pick in (np.min, np.max)
    ]
    return np.array(ends[0]), np.array(ends[1])


def _largest_entries(strategy: Any) -> Any:
    """Return the largest entry of each row of a strategy; 1 where all rows are sums of ones."""
    import numpy as np

    if hasattr(strategy, "factors"):
        entries = np.ones(1)
        for factor in strategy.factors:
            entries = np.outer(entries, np.broadcast_to(_largest_entries(factor), factor.rows)).ravel()
        return entries
    if hasattr(strategy, "parts"):
        largest_in = [np.broadcast_to(_largest_entries(part), part.rows) for part in strategy.parts]
        return np.concatenate(largest_in)
    if not hasattr(strategy, "matrix"):
        return 1.0
    largest = abs(strategy.matrix).max(axis=1)
    return np.asarray(largest.toarray() if hasattr(largest, "toarray") else largest, dtype=np.float64).ravel()


def _plain(scan: Scan) -> bool:
    """Return whether a scan has one sum, of ones or of numbers as they are: neither squared nor off zero."""
    if len(scan.sums) != 1 or not scan.sums[0].most:
        return False
    (total,) = scan.sums
    counts = total.expression is None and total.ends == (1, 1)
    return (counts or total.expression is not None) and (total.power, total.offset) == (1, 0) and not total.origin


def _summed_in_words(scan: Scan) -> str:
    """Return the summed expression; nothing for counts."""
    expression = scan.sums[0].expression
    return "" if expression is None else plain_text_of(expression)


def _cells_in_words(scan: Scan) -> str:
    return " x ".join(plain_text_of(key.expression) for key in scan.keys)


def _check_kinds(noise: object) -> None:
    """Refuse classes other than our own: an overridden norm would be trusted."""
    from privet.strategy import StrategyMeasure

    if type(noise) is not StrategyMeasure or not _known(noise.strategy):
        raise InvariantError("a strategy is measured as it is: its norms are computed, and not its own to state")


def _known(strategy: object) -> bool:
    inside = (part for name in _INSIDE for part in getattr(strategy, name, ()) if part is not None)
    return type(strategy) in _kinds() and all(map(_known, inside))


def _kinds() -> tuple[type, ...]:
    from privet import strategy

    return (
        strategy.MatrixStrategy,
        strategy.TreeStrategy,
        strategy.SpectralStrategy,
        strategy.ProductStrategy,
        strategy.UnionStrategy,
        strategy.MarginalStrategy,
        strategy.ResidualStrategy,
        strategy.CentredBasis,
    )


def _made_again(noise: StrategyMeasure) -> StrategyMeasure:
    """Return a measure from its matrix, its weights and its scale alone: nothing that was computed is kept."""
    from privet.strategy import StrategyMeasure

    made: Any = object.__new__(StrategyMeasure)
    held = {name: getattr(noise, name) for name in ("neighbors", "contribution", "scale", "shift")}
    set_fields(made, strategy=_copied(noise.strategy), **held)
    again: StrategyMeasure = made
    return again


def _copied(strategy: Any) -> Any:
    inside = {name: tuple(map(_copied, getattr(strategy, name))) for name in _INSIDE if hasattr(strategy, name)}
    return None if strategy is None else replace(strategy, **inside)
