"""One run of the sparse vector technique, on integers: a noisy bar, a noisy comparison for each query, a halt.

Arrays are compared in blocks of noise that was drawn for them; single queries one at a time. Which block holds the
last crossing is visible in the answer itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet.accounting.compose import optimal
from privet.accounting.events import PureEvent
from privet.accounting.gdp import log_down
from privet.core.errors import BadParameter
from privet.core.event import Repeated
from privet.core.given import choice, instance
from privet.core.numbers import Number, least, most, positive, rational, sqrt_up, whole
from privet.core.unit import Sensitivity, l1_of

from .lattice import Grid, add, exponent_below, objects_of, step_of

# How a sparse vector's epsilon is divided among its noises, and how wrong its answers can be. Public facts only.


MOST_CROSSINGS = 10**9
_SHARE_STEPS = 2**40
_NODES = 20
_ROOM = Fraction(1, 10**8)
"""Kept free, so that accountants which compose the same event on a grid come to no more than was asked for."""

_LOG_TWO = math.log(2)
_FEWEST = 1e-11
"""Failure probabilities below this are bounded in closed form: a quadrature has no digits for them."""


def read_facts(
    threshold: Number, limit: int, sensitivity: Number | Sensitivity, monotone: bool, grid: str
) -> tuple[Fraction, int, Fraction]:
    """Return threshold, limit and sensitivity, or raise for a public fact of a sparse vector that makes no sense."""
    bar, distance = rational(threshold, "threshold"), positive(l1_of(sensitivity), "sensitivity")
    count = whole(limit, "limit", least=1, most=MOST_CROSSINGS)
    instance(monotone, bool, "monotone", "True or False")
    grid = choice(grid, "grid", ("whole", "fine"))
    if grid == "whole" and (distance.denominator != 1 or bar.denominator != 1):
        raise BadParameter("grid", grid, "'fine', because the threshold or the sensitivity is not a whole number")
    return bar, count, distance


def best_share(weight: int) -> Fraction:
    """Return the threshold noise's share of epsilon, 1 / (1 + w^(2/3)), with w = c, or 2 c if not monotone.

    It minimises the variance of the comparison, 2/e1^2 + 2 w^2/e2^2 in units of the sensitivity. It is rounded, which
    is no concern: any share keeps the promise.

    Cites: [LSL17, the best division].
    """
    share = 1 / (1 + math.cbrt(weight) ** 2)
    return Fraction(max(1, round(share * _SHARE_STEPS)), _SHARE_STEPS)


def comparison_variance(epsilon: Fraction, weight: int) -> float:
    """Return the variance of threshold noise minus query noise under the best share, per squared sensitivity."""
    return 2 * (1 + math.cbrt(weight) ** 2) ** 3 / float(epsilon) ** 2


def epsilon_each(epsilon: Fraction, delta: Fraction, times: int) -> Fraction:
    """Return the largest epsilon that may be spent this many times within (epsilon, delta), by optimal composition.

    Guarantee: that many epsilon_each-DP releases, chosen adaptively, are together (epsilon, delta)-DP.
    Cites: [KOV15, optimal composition].
    """
    aim = epsilon * (1 - _ROOM)

    def holds(each: float) -> bool:
        return optimal(Repeated(PureEvent(Fraction(each)), times), delta) <= aim

    return Fraction(most(holds, float(aim / times) * (1 - 2.0**-50), float(epsilon), relative=1e-9))


def printed_scale(epsilon: Fraction, limit: int, delta: Fraction, *, numeric: bool = False) -> Fraction:
    """Return the textbook's sigma: 2c / epsilon, or sqrt(32 c ln(1/delta)) / epsilon where delta > 0, rounded up.

    With numeric answers, delta is halved between them and the crossings.

    Cites: [DR14, Alg. 2 and 3].
    """
    if delta == 0:
        return 2 * limit / epsilon
    tail = Fraction(-log_down(delta / (2 if numeric else 1)) * (1 + 2.0**-40))
    return sqrt_up(32 * limit * tail) / epsilon


def accuracy(threshold_scale: float, query_scale: float, queries: int, beta: Fraction) -> float:
    """Return alpha such that, except with probability beta, no comparison is wrong by more than alpha.

    Each of k queries can be wrong in one direction only: above T + alpha and reported below, or the reverse. If s of
    them are of the first kind, the chance of no mistake is E[F(alpha + r)^(k-s) F(alpha - r)^s] over the threshold
    noise r, F being the query noise's distribution function. That is convex in s and symmetric about k/2, so s = k/2
    is the worst, and alpha solves E[(F(alpha + r) F(alpha - r))^(k/2)] = 1 - beta.

    Cites: [DR14, Thm 3.24], whose alpha is never less.
    """
    most_wrong = threshold_scale * (_LOG_TWO - log_down(beta)) + query_scale * (math.log(2 * queries) - log_down(beta))
    if beta < _FEWEST:
        return most_wrong
    ratio = query_scale / threshold_scale
    scaled = least(lambda alpha: _failure(alpha, ratio, queries) <= beta, 0.0, most_wrong / threshold_scale)
    return threshold_scale * scaled * (1 + 1e-9)


def _failure(alpha: float, ratio: float, queries: int) -> float:
    """Return 1 - E[(F(alpha + r) F(alpha - r))^(k/2)] in units of the threshold noise, to about 1e-13."""
    import numpy as np

    # panels: dyadic around 0 for the density of r, and even ones where F(alpha - r)^k turns from 1 to 0
    turning = alpha + ratio * np.arange(-60.0, 41.0)
    edges = np.concatenate([[0.0, alpha], 2.0 ** np.arange(-12, 6), [64.0], turning, np.linspace(1, 64, 64)])
    edges = np.unique(np.clip(edges, 0.0, 64.0))
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    r = edges[:-1, None] + half * (points + 1)
    far, near = (alpha + r) / ratio, (alpha - r) / ratio
    log_far = np.log1p(-np.exp(-far) / 2)
    log_near = np.where(near >= 0, np.log1p(-np.exp(-np.abs(near)) / 2), near - math.log(2))
    wrong = -np.expm1(queries / 2 * (log_far + log_near))
    return float((half * weights * np.exp(-r) * wrong).sum() + math.exp(-64))


BLOCK = 2**15
_FINE_BITS = 20
_WINDOW = 64


@dataclass(frozen=True)
class Steps:
    """The grid of a sparse vector: its exponent, the threshold and the scales of both noises, in its steps.

    Guarantee: two answers at a distance of at most the sensitivity lie at most `moves` steps apart, and both scales
    are moves / sensitivity times the stated ones, so that rounding to the grid is paid for by the noise.
    """

    exponent: int
    threshold: int
    moves: int
    threshold_scale: Fraction
    query_scale: Fraction


def make_steps(
    grid: Grid, threshold: Fraction, sensitivity: Fraction, threshold_scale: Fraction, query_scale: Fraction
) -> Steps:
    """Return the grid of a sparse vector: the whole numbers, or powers of two far below sensitivity and noise."""
    exponent = 0
    if grid == "fine":
        exponent = exponent_below(min(sensitivity, threshold_scale, query_scale) / 2**_FINE_BITS)
    moves = math.ceil(sensitivity / step_of(exponent))
    raised = moves / sensitivity
    bar = math.floor(threshold / step_of(exponent) + Fraction(1, 2))
    return Steps(exponent, bar, moves, threshold_scale * raised, query_scale * raised)


def crossings_of_many(
    steps: Steps, limit: int, values: Any, times: int, *, refresh: bool
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield the crossings of this many runs over the same queries, in blocks: runs as any other, drawn together.

    Each block is four arrays: the run, the number of the crossing within it, its place, and its gap.
    """
    rows = max(1, BLOCK // max(values.size, 1))
    for start in range(0, times, rows):
        count = min(rows, times - start)
        bars = add(_filled(steps.threshold, count), noise.discrete_laplace(steps.threshold_scale, count))
        drawn = noise.discrete_laplace(steps.query_scale, (count, values.size))
        noisy = add(np.repeat(values[np.newaxis], count, axis=0), drawn)
        if not refresh:
            run, order, places, gaps = first_reaches(noisy, bars, limit)
            yield run + start, order, places, gaps
            continue
        for row, (bar, each) in enumerate(zip(bars.tolist(), noisy, strict=True)):
            crossings = Run(steps, limit, refresh=True, bar=bar).cross(each)
            places, gaps = ([crossing[part] for crossing in crossings] for part in (0, 1))
            yield (
                np.full(len(crossings), start + row),
                np.arange(len(crossings)),
                np.array(places, dtype=int),
                objects_of(gaps, (len(crossings),)),
            )


def first_reaches(noisy: Any, bars: Any, most: int) -> tuple[Any, Any, Any, Any]:
    """Return where rows of noisy queries reach their bars, `most` times each: row, number in it, place and gap."""
    rows, places = (noisy >= bars[:, np.newaxis]).nonzero()
    order = np.arange(rows.size) - np.searchsorted(rows, np.arange(len(noisy)))[rows]
    kept = order < most
    rows, order, places = rows[kept], order[kept], places[kept]
    return rows, order, places, add(noisy[rows, places], -bars[rows])


def _filled(number: int, count: int) -> Any:
    return np.full(count, number, dtype=np.int64 if abs(number) < 2**62 else object)


class Run:
    """The state of one run: the noisy bar, and how many crossings are left.

    A query of v steps comes out above if v + noise >= threshold + threshold noise. After a crossing the bar is drawn
    afresh where `refresh` is set. The run is over when no crossings are left.

    Guarantee: let neighbours move answers by at most D steps, in any direction. Pair threshold noise r with r + D, and
    the noise n of each crossing with the n' that leaves its gap the same, n' = n + D + v - v', which lies in
    [n, n + 2D]. What came out below still does, and every crossing keeps its gap. The pairing is one to one on the
    integers, and costs D/b1 + 2D/b2 for each crossing. Where all answers move one way it is r with r + D and n' in
    [n, n + D] as they rise, and r with r as they fall: D/b2 for each. Comparing with >= or > is the same, by shifting
    the threshold. Queries below cost nothing, however many, and the gaps come free.
    Cites: [LSL17, standard sparse vector, monotone queries], [DWZK19, sparse vector with gaps].
    """

    def __init__(self, steps: Steps, limit: int, *, refresh: bool, bar: int | None = None) -> None:
        self._steps = steps
        self._refresh = refresh
        self._bar = self._draw_bar() if bar is None else bar
        self.left = limit

    def ask(self, value: int) -> int | None:
        """Return the gap of one query in steps, or None where it came out below."""
        gap = value + noise.discrete_laplace(self._steps.query_scale) - self._bar
        if gap < 0:
            return None
        self._count()
        return gap

    def ask_all(self, values: Any) -> tuple[int, list[int], list[int]]:
        """Return how many of an array's queries were answered, and the index and gap of each crossing."""
        places: list[int] = []
        gaps: list[int] = []
        for start in range(0, values.size, BLOCK):
            block = values[start : start + BLOCK]
            noisy = add(block, noise.discrete_laplace(self._steps.query_scale, block.size))
            for place, gap in self.cross(noisy):
                places.append(start + place)
                gaps.append(gap)
            if not self.left:
                return places[-1] + 1, places, gaps
        return values.size, places, gaps

    def cross(self, noisy: Any) -> list[tuple[int, int]]:
        """Return the place and the gap of each crossing, up to the last remaining one."""
        if not self._refresh:
            _, _, places, gaps = first_reaches(noisy[np.newaxis], _filled(self._bar, 1), self.left)
            self.left -= len(places)
            return list(zip(places.tolist(), gaps.tolist(), strict=True))
        # Noise behind a crossing has decided nothing yet, so it may meet the next bar.
        crossings: list[tuple[int, int]] = []
        place = 0
        while self.left and (place := self._next(noisy, place)) < noisy.size:
            crossings.append((place, int(noisy[place]) - self._bar))
            self._count()
            place += 1
        return crossings

    def _next(self, noisy: Any, start: int) -> int:
        """Return the first place at or after `start` that reaches the bar, or the array's end."""
        width = _WINDOW
        while start < noisy.size:
            reached = noisy[start : start + width] >= self._bar
            if reached.any():
                return start + int(reached.argmax())
            start, width = start + width, 2 * width
        return int(noisy.size)

    def _count(self) -> None:
        self.left -= 1
        if self._refresh and self.left:
            self._bar = self._draw_bar()

    def _draw_bar(self) -> int:
        return self._steps.threshold + noise.discrete_laplace(self._steps.threshold_scale)
