"""Any estimator, made private: it runs on random blocks of the rows, and its answers are aggregated in private.

A row lies in one block, so it moves one answer, however wild the estimator. What the estimator raises or prints is its
own; what it returns is clamped by the aggregate, and whatever is no number counts as the low bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Event
from privet.core.given import set_fields
from privet.core.numbers import read_rational, whole

from .average import Average
from .mechanism import Mechanism, read_times
from .quantile_one import Quantile
from .smooth import SmoothQuantile

_DRAWN = 2**20
"""Rows that are put into blocks at a time, where many releases are simulated."""

Aggregate = Average | Quantile | SmoothQuantile


@dataclass(frozen=True, init=False, repr=False)
class SampleAggregate(Mechanism):
    """Release an estimator's result, by running it on `blocks` random parts of the rows and aggregating in private.

    `estimator` takes some of the rows (of a list or an array, along its first axis) and returns one number; it must
    not depend on anything else that is private. `aggregate` is a mechanism for this many numbers under change-one
    neighbours: an `Average`, a `Quantile` or a `SmoothQuantile`.

    Args:
        estimator: returns a number for a part of the rows.
        blocks: the number of parts.
        aggregate: a mechanism over the estimates, such as an `Average`.

    Example:
        >>> average = mechanisms.Average(low=0, high=10, epsilon=1, neighbors="change-one")
        >>> mechanisms.SampleAggregate(estimator=max, blocks=5, aggregate=average).epsilon
        1.0

    Guarantee: the event of the aggregate, under add-remove and under change-one neighbours of the rows. Each row goes
    to a block by a fair draw of its own, which does not depend on its value. For the same draws, a row that comes, goes
    or changes alters the rows of one block, hence one of the answers, and their number is public; so the aggregate's
    promise for change-one neighbours holds for every outcome of the draws.
    Cites: [NRS07, sample and aggregate].
    """

    estimator: Callable[[Any], Any]
    blocks: int
    aggregate: Aggregate

    def __init__(self, *, estimator: Callable[[Any], Any], blocks: int, aggregate: Aggregate) -> None:
        if not callable(estimator):
            raise BadParameter("estimator", estimator, "a function of some rows that returns one number")
        if not isinstance(aggregate, Average | Quantile | SmoothQuantile):
            raise BadParameter("aggregate", aggregate, "an Average, a Quantile or a SmoothQuantile")
        if not isinstance(aggregate, SmoothQuantile) and aggregate.neighbors != "change-one":
            raise BadParameter(
                "aggregate", aggregate, "one with neighbors='change-one': a row changes one block's answer"
            )
        set_fields(self, estimator=estimator, blocks=whole(blocks, "blocks", least=1, most=10**6), aggregate=aggregate)

    @property
    def event(self) -> Event:
        """The event of one release: that of the aggregate."""
        return self.aggregate.event

    def release(self, rows: Any) -> Any:
        """Return a private aggregate of the estimator's answers on random blocks of the rows."""
        return self.aggregate.release(self._answers(rows, 1)[0])

    def simulate(self, rows: Any, times: int) -> NDArray[Any]:
        """Return this many releases of the same rows, for each of which the estimator runs. Each costs the event."""
        drawn: dict[tuple[Fraction, ...], list[int]] = {}
        count = read_times(times)
        for place, answers in enumerate(self._answers(rows, count)):
            drawn.setdefault(tuple(answers), []).append(place)
        released = np.empty(count, dtype=np.float64)
        for values, places in drawn.items():
            released[places] = self.aggregate.simulate(list(values), len(places))
        return released

    def _answers(self, rows: Any, times: int) -> list[list[Fraction]]:
        """Return the estimator's answers on the blocks of this many partitions of the rows, each drawn afresh."""
        listed = isinstance(rows, (list, tuple))
        size = len(rows) if listed or (isinstance(rows, np.ndarray) and rows.ndim) else None
        if size is None:
            raise BadValue("rows", f"a {type(rows).__name__}", "a list or an array of rows")
        answers = []
        most = max(1, _DRAWN // (size + self.blocks))
        for start in range(0, times, most):
            count = min(most, times - start)
            places = noise.uniform_below(self.blocks, (count, size))
            # Grouping by one sort keeps the order of the rows inside a block.
            order = np.argsort(places, axis=1, kind="stable")
            label = places + self.blocks * np.arange(count)[:, np.newaxis]
            sizes = np.bincount(label.ravel(), minlength=count * self.blocks).reshape(count, -1)
            cuts = np.cumsum(np.hstack([np.zeros((count, 1), dtype=np.int64), sizes]), axis=1)
            for indices, cut in zip(order, cuts.tolist(), strict=True):
                parts = [indices[a:b] for a, b in pairwise(cut)]
                taken = [[rows[i] for i in part.tolist()] if listed else rows[part] for part in parts]
                answers.append([self._ask(part) for part in taken])
        return answers

    def _ask(self, part: Any) -> Fraction:
        try:
            with warnings.catch_warnings():  # a warning would reveal something, too
                warnings.simplefilter("ignore")
                answer = read_rational(self.estimator(part))
        except Exception:  # an estimator may raise any error, and that it did is private
            answer = None
        if answer is None:
            ruler = self.aggregate.smooth.ruler if isinstance(self.aggregate, SmoothQuantile) else self.aggregate.ruler
            return ruler.low
        return answer

    def __repr__(self) -> str:
        name = getattr(self.estimator, "__name__", type(self.estimator).__name__)
        return f"SampleAggregate(estimator={name}, blocks={self.blocks}, aggregate={self.aggregate!r})"
