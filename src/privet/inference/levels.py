"""Totals that agree with their parts: tables of sums at several levels, made consistent by weighted least squares.

Uses released numbers and public variances only. A level is a set of axes; its table has a number for each combination
of their values, and a coarser level is a finer one summed up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter
from privet.core.numbers import positive, whole

from .bars import Law

if TYPE_CHECKING:
    from privet.core.event import Floats


# The law of a sum of independent Laplace noises of several scales, as numbers that were reconciled have.


_WIDEST = 12.0
"""The number of standard deviations of the law that are tabulated."""

_PLACES, _NODES, _LAST = 1201, 12_000, 300.0
_RARE = 1e-3
"""Tails below this are those of Laplace noise with the same variance, which are heavier."""


@dataclass(frozen=True)
class Mixed(Law):
    """A sum of Laplace noises: `several` are scales and how many of each; `scale` that of one of the same variance."""

    several: tuple[tuple[float, int], ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether the noise is a sum of several, of no one family."""
        return True

    @property
    def chance(self) -> float:
        """The probability that the noise is not 0: taken to be 1."""
        return 1.0

    def reach(self, tail: float) -> float:
        """Return t with P[|noise| > t] = tail, for noise without a grid."""
        import numpy as np

        if tail < _RARE:
            return self.scale * -math.log(tail)
        places, beyond = _table(self._shape)
        return float(np.interp(-tail, -beyond, places)) * self.deviation

    def times(self, factor: float) -> Law:
        """Return the law of this many times the noise."""
        scales = tuple((scale * factor, times) for scale, times in self.several)
        return Mixed(self.family, self.scale * factor, self.step * factor, self.parts, scales)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np

        places, beyond = _table(self._shape)
        tail = 2 * np.minimum(share, 1 - share)
        near = np.interp(-np.maximum(tail, _RARE), -beyond, places) * self.deviation
        reached = np.where(tail < _RARE, -self.scale * np.log(tail), near)
        return np.asarray(np.sign(share - 0.5) * reached)

    @property
    def _shape(self) -> tuple[tuple[float, int], ...]:
        return tuple((round(scale / self.deviation, 9), times) for scale, times in self.several)


def mixed(parts: tuple[tuple[float, int], ...], step: float) -> Law:
    """Return the law of the sum of this many independent Laplace noises of each scale."""
    variance = math.fsum(2 * scale * scale * times for scale, times in parts)
    if not variance:
        return Law("laplace", 0.0, step)
    largest = max(abs(scale) for scale, _ in parts)
    kept = tuple(sorted((abs(scale), times) for scale, times in parts if abs(scale) > 1e-9 * largest))
    return Mixed("laplace", math.sqrt(variance / 2), step, several=kept)


@lru_cache(maxsize=64)
def _table(shape: tuple[tuple[float, int], ...]) -> tuple[Floats, Floats]:
    """Return places, and P[|noise| > place] at each, for noise of variance 1.

    P[|X| <= x] = 2/pi times the integral of sin(x t) / t f(t) over t > 0, where f is the characteristic function, the
    product of (1 + s^2 t^2)^-times over the scales s.
    """
    import numpy as np

    places = np.linspace(0.0, _WIDEST, _PLACES)
    t = (np.arange(_NODES) + 0.5) * (_LAST / _NODES)
    damped = np.exp(-sum(times * np.log1p((scale * t) ** 2) for scale, times in shape)) / t
    used = damped > 1e-12
    t, damped = t[used], damped[used]
    inside = 2 / math.pi * (_LAST / _NODES) * np.array([np.sin(x * t) @ damped for x in places])
    beyond = np.clip(1 - np.maximum.accumulate(inside), 0.0, 1.0)
    beyond[0] = 1.0
    # interpolation needs what falls strictly
    return places, beyond - np.arange(_PLACES) * 1e-15


Axes = tuple[int, ...]


@dataclass(frozen=True)
class Noise:
    """How the noise of a reconciled number is made of that of the levels: this much of a level's, this many times."""

    parts: tuple[tuple[Axes, float, int], ...]

    def variance(self, of: Mapping[Axes, float]) -> float:
        """Return its variance, from those of the levels."""
        return math.fsum(factor * factor * times * of[axes] for axes, factor, times in self.parts)


def reconcile(tables: Mapping[Axes, Floats], variances: Mapping[Axes, float]) -> dict[Axes, Floats]:
    """Return the tables that agree with each other and are nearest to those given, by weighted least squares.

    A table falls apart into components, one for each subset of its axes: the rest of the sums over the other axes once
    every mean along an axis is taken away. Components are orthogonal, a level contains those of all its subsets, and
    summing n cells up multiplies the variance of a component by n. So each component is averaged over the levels that
    contain it, with weights one over its variance there, and put together again.

    Guarantee: post-processing of released numbers by public variances. The best linear unbiased estimate, where the
    true tables agree.
    Cites: [HRMS10, consistency], for trees; here for any set of marginals.
    """
    import numpy as np

    sizes = _sizes({axes: table.shape for axes, table in tables.items()})
    weights = _weights(tables, variances, sizes)
    components = {}
    for inner, shares in weights.items():
        component = np.zeros([sizes[axis] for axis in inner])
        for outer, share in shares.items():
            table = tables[outer].sum(axis=tuple(place for place, axis in enumerate(outer) if axis not in inner))
            component = component + share * _centred(np.asarray(table, dtype=np.float64))
        components[inner] = component
    made = {}
    for axes, table in tables.items():
        total = np.zeros(table.shape)
        for inner in _subsets(axes):
            shape = tuple(sizes[axis] if axis in inner else 1 for axis in axes)
            total = total + np.reshape(components[inner], shape) / _cells(axes, inner, sizes)
        made[axes] = total
    return made


def noise_of(sizes: Mapping[int, int], variances: Mapping[Axes, float]) -> dict[Axes, Noise]:
    """Return of what the noise of each reconciled table consists, the same for all its cells.

    How much of a released cell's noise is in a reconciled cell depends on the axes along which they agree: with the
    share w of a level S in the component R, the sum over R within S and T of w / n(T - R) times (1 - 1/n) for each
    axis of R on which they agree and -1/n for each other.
    """
    _check_levels(sizes, variances)
    weights = _weights(variances, variances, sizes)
    noises = {}
    for axes in variances:
        parts = []
        for outer in variances:
            both = tuple(axis for axis in axes if axis in outer)
            beyond = _cells(outer, both, sizes)
            for agree in _subsets(both):
                factor = math.fsum(
                    weights[inner][outer]
                    / _cells(axes, inner, sizes)
                    * math.prod((1.0 if axis in agree else 0.0) - 1.0 / sizes[axis] for axis in inner)
                    for inner in _subsets(both)
                )
                times = beyond * math.prod(sizes[axis] - 1 for axis in both if axis not in agree)
                if times and factor:
                    parts.append((outer, factor, times))
        noises[axes] = Noise(tuple(parts))
    return noises


def _check_levels(sizes: Mapping[int, int], variances: object) -> None:
    """Refuse anything but sizes of axes and variances of levels over them."""
    if not isinstance(sizes, Mapping) or not sizes:
        raise BadParameter("sizes", sizes, "a mapping of axes to how many values they have")
    for axis, size in sizes.items():
        whole(axis, "sizes", most=100)
        whole(size, "sizes", least=1, most=10**9)
    if not isinstance(variances, Mapping):
        raise BadParameter("variances", variances, "a mapping of levels, each a tuple of axes, to their variances")
    for level, variance in variances.items():
        if not isinstance(level, tuple) or len(level) > 20 or not all(axis in sizes for axis in level):
            raise BadParameter("variances", level, "a mapping of levels, each a tuple of axes that have a size")
        if not Fraction(1, 10**100) <= positive(variance, "variances") <= 10**100:
            raise BadParameter("variances", variance, "from 1e-100 to 1e100")


def _weights(
    levels: Mapping[Axes, object], variances: Mapping[Axes, float], sizes: Mapping[int, int]
) -> dict[Axes, dict[Axes, float]]:
    """Return for each component the share that each level has in it."""
    weights: dict[Axes, dict[Axes, float]] = {}
    for outer in levels:
        for inner in _subsets(outer):
            weights.setdefault(inner, {})[outer] = 1.0 / (variances[outer] * _cells(outer, inner, sizes))
    return {
        inner: {outer: weight / math.fsum(shares.values()) for outer, weight in shares.items()}
        for inner, shares in weights.items()
    }


def _centred(table: Floats) -> Floats:
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _subsets(axes: Axes) -> list[Axes]:
    return list(chain.from_iterable(combinations(axes, length) for length in range(len(axes) + 1)))


def _cells(axes: Axes, without: Axes, sizes: Mapping[int, int]) -> int:
    return math.prod(sizes[axis] for axis in axes if axis not in without)


def _sizes(shapes: Mapping[Axes, Sequence[int]]) -> dict[int, int]:
    return {axis: size for axes, shape in shapes.items() for axis, size in zip(axes, shape, strict=True)}
