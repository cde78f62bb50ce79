"""A partition that follows the data: halve parts with many rows, count the final parts, spread each count evenly.

For sparse data, whose cells are mostly empty: noise is added to a few large parts instead of many small cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.accounting.events import PureEvent
from privet.core.errors import RequestError
from privet.core.event import Composed
from privet.core.given import set_fields, truth
from privet.core.numbers import Number, float_up, open_probability, positive, whole
from privet.core.unit import Neighbors, read_neighbors
from privet.mechanisms.mechanism import Mechanism, read_times, shown

from .estimated import EstimatedCells
from .given_numbers import read_integers
from .reconstruction import nearest_counts
from .workloads import Floats, check_held, read_shape

_FALL = math.log(4)
"""How many scales of its noise a part's count is lowered by for each halving."""

_ROOM = 2**60
_LEAST_LOSS = Fraction(1, 2**100)
_ROUNDED = 1 + 2.0**-30


def partition_loss(scale: Fraction, fall: int, depth: int) -> Fraction:
    """Return the most that one row moves the law of a partition by, as a pure epsilon, rounded up.

    A part is halved if max(-fall, count - depth fall) + noise > 0. One row is in one part of each depth. Its count less
    the fall decreases by `fall` at least with each halving, so that the parts in which the row is seen at all have
    values of at least 1 - fall, 1, 1 + fall, 1 + 2 fall and so on, from the deepest up. With a = exp(-1 / scale), a row
    changes the logarithm of P[v + noise > 0] by 1 / scale where v <= 1, and for v = 1 + m, m > 0, by
    ln((1 + a - a^(m+1)) / (1 + a - a^m)) <= a^m (1 - a) / (1 + a - a^m).
    """
    rate = 1 / float(scale)
    a = math.exp(-rate)
    loss = min(depth, 2) * rate
    for place in range(1, max(depth - 1, 1)):
        power = math.exp(-rate * fall * place)
        loss += power * -math.expm1(-rate) / (1 + a - power)
    return Fraction(loss * _ROUNDED)


@dataclass(frozen=True, init=False, repr=False)
class PartitionTree(Mechanism):
    """Estimate every cell from a partition that is chosen by noisy counts, and noisy counts of its parts.

    The domain is halved, along its longest attribute, and each half again, as long as a part's noisy count is large
    for how often it was halved already. The rows of each final part are counted with other noise and spread evenly.
    The estimate has no error bars: how uneven rows lie within a part is not known.

    Args:
        shape: the number of values of each attribute.
        epsilon: the privacy loss of one release, above 0.
        neighbors: "add-remove" or "change-one".
        contribution: the most rows of one unit, over all cells.
        splitting: the part of epsilon for the partition.
        nonnegative: whether negative counts of parts are raised, and others lowered for it.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> tree = strategy.PartitionTree((64,), epsilon=1, neighbors="add-remove")
        >>> tree.epsilon
        1.0
        >>> tree.release([500] + [0] * 63).answers(strategy.total(64)).size
        1

    Guarantee: epsilon-DP. The partition costs `partition_loss` for each row that differs: with the row, only halvings
    become likelier, by that much for all parts on its way together, and without it only the end of one way does, by
    1 / scale. A part's count moves by one with each row, and parts are disjoint. Noise is drawn for all parts that
    could be, whatever the data.
    Cites: [ZXX16, PrivTree].
    """

    shape: tuple[int, ...]
    neighbors: Neighbors
    contribution: int
    scale: Fraction
    fall: int
    count_scale: Fraction
    nonnegative: bool

    def __init__(
        self,
        shape: Any,
        *,
        epsilon: Number,
        neighbors: Neighbors,
        contribution: int = 1,
        splitting: Number = Fraction(2, 5),
        nonnegative: bool = True,
    ) -> None:
        sizes = read_shape(shape)
        check_held(math.prod(sizes))
        set_fields(
            self,
            shape=sizes,
            neighbors=read_neighbors(neighbors),
            contribution=whole(contribution, "contribution", least=1, most=2**40),
            nonnegative=truth(nonnegative, "nonnegative"),
        )
        total, share = positive(epsilon, "epsilon"), open_probability(splitting, "splitting")
        each = share * total / self._rows
        if not _LEAST_LOSS < each < 1 / _LEAST_LOSS:
            raise RequestError("epsilon times splitting, over the rows of a unit, must lie between 2**-100 and 2**100")
        scale, parts = 1 / each, 64
        while partition_loss(scale, _fall(scale), self.depth) > each:
            parts += 1
            scale = Fraction(parts, 64) / each
        spent = self._rows * partition_loss(scale, _fall(scale), self.depth)
        set_fields(self, scale=scale, fall=_fall(scale), count_scale=self._rows / (total - spent))

    @property
    def _rows(self) -> int:
        """The most rows in which neighbours differ."""
        return self.contribution * (1 if self.neighbors == "add-remove" else 2)

    @cached_property
    def spans(self) -> tuple[tuple[int, ...], ...]:
        """How many values of each attribute a part spans, from the whole domain down to single cells."""
        sides = [1 << (size - 1).bit_length() for size in self.shape]
        spans = [tuple(sides)]
        while max(sides) > 1:
            longest = sides.index(max(sides))
            sides[longest] //= 2
            spans.append(tuple(sides))
        return tuple(spans)

    @property
    def depth(self) -> int:
        """How often the domain can be halved."""
        return len(self.spans) - 1

    @cached_property
    def event(self) -> Composed:
        """The event of one release: the partition, and the counts of its parts."""
        partition = self._rows * partition_loss(self.scale, self.fall, self.depth)
        return Composed((PureEvent(partition), PureEvent(self._rows / self.count_scale)))

    def release(self, value: Any) -> EstimatedCells:
        """Return estimates of all cells from exact counts, which are whole numbers of at least 0.

        Args:
            value: the private count of each cell.
        """
        depths, cells = self.simulate(value, 1)[0]
        if self.nonnegative:
            cells = self._raised(depths, cells)
        return EstimatedCells(cells, self.shape, "by a partition tree")

    def simulate(self, value: Any, times: int) -> Floats:
        """Return this many releases, before negative counts are raised: each costs the event once more.

        Each is two rows, with a number for every cell: how often its part was halved, and its part's noisy count
        over the number of cells of the part.
        """
        table = self._table(value)
        many = read_times(times)
        check_held(2 * many * table.size, "the array of releases")
        whole_domain = (1,) * len(self.shape)
        active = np.ones((many, *whole_domain), dtype=bool)
        depths, cells = np.zeros((many, *self.shape)), np.zeros((many, *self.shape))
        for depth, spans in enumerate(self.spans):
            counts, sizes = _summed(table, spans), _summed(np.ones(self.shape, dtype=np.int64), spans)
            parts = (many, *counts.shape)
            if depth < self.depth:
                seen = np.minimum(np.maximum(counts - depth * self.fall, -self.fall), _ROOM).astype(np.int64)
                halved = active & (noise.discrete_laplace(self.scale, parts) > -seen)
            else:
                halved = np.zeros(parts, dtype=bool)
            counted = (counts + noise.discrete_laplace(self.count_scale, parts)) / sizes
            ends = self._below(active & ~halved, spans)
            depths = np.where(ends, depth, depths)
            cells = np.where(ends, self._below(counted.astype(np.float64), spans), cells)
            if depth < self.depth:
                active = self._halves(halved, spans, self.spans[depth + 1])
        return np.stack([depths, cells], axis=1).reshape(many, 2, table.size)

    def _below(self, parts: Any, spans: tuple[int, ...]) -> Any:
        """Return the number of its part for each cell."""
        for axis, (size, span) in enumerate(zip(self.shape, spans, strict=True)):
            parts = np.take(parts, np.arange(size) // span, axis=axis + 1)
        return parts

    def _halves(self, parts: Any, spans: tuple[int, ...], after: tuple[int, ...]) -> Any:
        """Return for each part of the next depth what its parent has."""
        for axis, (size, span, half) in enumerate(zip(self.shape, spans, after, strict=True)):
            if half < span:
                parts = np.take(parts, np.arange(-(-size // half)) // 2, axis=axis + 1)
        return parts

    def _raised(self, depths: Floats, cells: Floats) -> Floats:
        """Return the cells with the counts of parts moved to the nearest ones that are not negative."""
        labels = np.zeros(self.shape, dtype=np.int64)
        first = 0
        for depth, spans in enumerate(self.spans):
            parts = [-(-size // span) for size, span in zip(self.shape, spans, strict=True)]
            numbers = first + np.arange(math.prod(parts)).reshape(1, *parts)
            labels = np.where(depths.reshape(self.shape) == depth, self._below(numbers, spans)[0], labels)
            first += math.prod(parts)
        _, place, sizes = np.unique(labels.ravel(), return_inverse=True, return_counts=True)
        totals: Floats = np.asarray(np.bincount(place.ravel(), weights=cells), dtype=np.float64)
        moved = nearest_counts(totals, max(float(totals.sum()), 0.0))
        return np.asarray((moved / sizes)[place.ravel()])

    def _table(self, value: Any) -> NDArray[Any]:
        integers = read_integers(value, "value", math.prod(self.shape), least=0)
        kind: Any = np.int64 if sum(integers) < _ROOM else object
        return np.array(integers, dtype=kind).reshape(self.shape)

    def __repr__(self) -> str:
        epsilon = float_up(self.event.pure())
        return f"PartitionTree({self.shape}, epsilon={epsilon:.6g}, {self.neighbors}, scale={shown(self.scale)})"


def _fall(scale: Fraction) -> int:
    return max(1, math.ceil(float(scale) * _FALL))


def _summed(table: NDArray[Any], spans: tuple[int, ...]) -> NDArray[Any]:
    """Return the sums of a table over parts of these spans."""
    for axis, span in enumerate(spans):
        table = np.add.reduceat(table, np.arange(0, table.shape[axis], span), axis=axis)
    return table
