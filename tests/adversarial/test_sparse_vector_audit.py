"""Sparse vectors under audit: the exact law of every pattern of answers, for ours and for broken ones.

The law is written from the definition and shares nothing with the code. [LSL17] lists six variants; the four that are
not private, and two more, exist here and nowhere else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from privet.mechanisms import Sparse

Pattern = tuple[int | None, ...]
"""One entry for each query: None below, a number above (0, or the gap or value that is shown)."""


@dataclass(frozen=True)
class Variant:
    """A sparse vector: scales of the threshold's and the queries' noise, when it stops, what it shows."""

    threshold_scale: float
    query_scale: float
    limit: int | None = 1
    refresh: bool = False
    shows: str = "crossing"  # "crossing", "gap", or "value" (the noisy query itself)

    def chance(self, queries: tuple[int, ...], pattern: Pattern, threshold: int = 0) -> float:
        """Return the probability of this pattern of answers."""
        if not self.refresh:
            return float((self._bars() * self._given(queries, pattern, threshold)).sum())
        total, start = 1.0, 0
        for place, answer in enumerate(pattern):
            if answer is not None or place == len(pattern) - 1:
                part = slice(start, place + 1)
                total *= float((self._bars() * self._given(queries[part], pattern[part], threshold)).sum())
                start = place + 1
        return total

    def _reach(self) -> np.ndarray:
        reach = math.ceil(60 * max(self.threshold_scale, 0.02))
        return np.arange(-reach, reach + 1)

    def _bars(self) -> np.ndarray:
        return mass(self._reach(), self.threshold_scale)

    def _given(self, queries: tuple[int, ...], pattern: Pattern, threshold: int) -> np.ndarray:
        """Return the chance of the pattern given each value of the threshold's noise."""
        bars, chance = self._reach() + threshold, np.ones(self._reach().size)
        for query, answer in zip(queries, pattern, strict=True):
            if answer is None:
                chance *= 1 - tail(bars - query, self.query_scale)
            elif self.shows == "crossing":
                chance *= tail(bars - query, self.query_scale)
            elif self.shows == "gap":
                chance *= mass(bars + answer - query, self.query_scale)
            else:
                chance *= mass(answer - query, self.query_scale) * (answer >= bars)
        return chance

    def patterns(self, length: int, shown: tuple[int, ...] = (0,)) -> Iterator[Pattern]:
        """Yield every pattern of answers to that many queries, crossings showing one of these numbers."""
        for answers in itertools.product((None, *shown), repeat=length):
            if self.limit is None or sum(answer is not None for answer in answers) < self.limit:
                yield answers
        for stop in range(self.limit or length + 1, length + 1):
            for answers in itertools.product((None, *shown), repeat=stop):
                if sum(answer is not None for answer in answers) == self.limit and answers[-1] is not None:
                    yield answers


def mass(k: np.ndarray | int, scale: float) -> np.ndarray:
    """Return P[noise = k]; a scale of 0 is no noise."""
    k = np.asarray(k)
    if scale == 0:
        return (k == 0).astype(float)
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * np.exp(-np.abs(k) / scale)


def tail(k: np.ndarray, scale: float) -> np.ndarray:
    """Return P[noise >= k]."""
    if scale == 0:
        return (k <= 0).astype(float)
    a = math.exp(-1 / scale)
    with np.errstate(over="ignore"):
        return np.where(k > 0, np.exp(-k / scale) / (1 + a), 1 - np.exp((k - 1) / scale) / (1 + a))


def worst_loss(
    variant: Variant, queries: tuple[int, ...], moves: tuple[int, ...], shown: tuple[int, ...] = (0,)
) -> float:
    """Return the largest log-ratio of any pattern's chances, over all neighbours whose queries move by one of `moves`.

    Infinite where a neighbour rules out what the data allow with a chance of at least 1e-12.
    """
    worst = 0.0
    patterns = list(variant.patterns(len(queries), shown))
    own = {pattern: variant.chance(queries[: len(pattern)], pattern) for pattern in patterns}
    for move in itertools.product(moves, repeat=len(queries)):
        other = tuple(q + m for q, m in zip(queries, move, strict=True))
        for pattern in patterns:
            p, q = own[pattern], variant.chance(other[: len(pattern)], pattern)
            if max(p, q) > 1e-12:
                worst = max(worst, math.inf if min(p, q) == 0 else abs(math.log(p / q)))
    return worst


def stretched_loss(variant: Variant, up: int, down: int, *, below: int = 10**6, crossings: int = 1) -> float:
    """Return the log-ratio of a long pattern: many queries below that move up, and crossings that move down.

    The queries below force the threshold's noise up, so that the crossings lie in the tail of theirs.
    """
    bars = variant._reach()

    def chance(low: int, high: int) -> float:
        kept = (1 - tail(bars - low, variant.query_scale)) ** below
        return float((variant._bars() * kept * tail(bars - high, variant.query_scale) ** crossings).sum())

    return math.log(chance(0, -60) / chance(up, -60 + down))


def fits(seen: list[int], chances: list[float]) -> bool:
    """Return whether counts are those of a multinomial with these chances; rare cells are taken together."""
    observed, expected = np.array(seen, float), np.array(chances) * sum(seen)
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-6:
        observed, expected = observed[:-1], expected[:-1]
    return bool(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1) > 1e-8)


# Ours: within the claim, and close to it, for every neighbour of small streams.


def law_of(mechanism: Sparse, shows: str = "crossing") -> Variant:
    """Return the law that a mechanism on the whole numbers claims to draw from."""
    scales = float(mechanism.threshold_scale), float(mechanism.query_scale)
    return Variant(*scales, mechanism.limit, mechanism.refresh, shows)


def whole(limit: int = 1, **given: Any) -> Sparse:
    return Sparse(**{"threshold": 0, "sensitivity": 1, "epsilon": 1, "grid": "whole", "limit": limit, **given})


MECHANISMS = {
    "above threshold": (whole(), (-1, 0, 1)),
    "above threshold, even split": (whole(share=0.5), (-1, 0, 1)),
    "above threshold, sharp": (whole(epsilon=4), (-1, 0, 1)),
    "above threshold, monotone": (whole(monotone=True), (0, 1)),
    "two crossings": (whole(2), (-1, 0, 1)),
    "two crossings, monotone": (whole(2, monotone=True), (0, 1)),
    "two crossings, unequal split": (whole(2, share=0.2), (-1, 0, 1)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_pattern_of_answers_tells_more_than_the_claim(name: str) -> None:
    mechanism, moves = MECHANISMS[name]
    law = law_of(mechanism)
    losses = [worst_loss(law, queries, moves) for queries in ((0, 0, 0), (-3, 2, 0), (-9, -9, 9))]
    assert max(losses) <= mechanism.epsilon * (1 + 1e-9)
    stretched = stretched_loss(law, moves[-1], moves[0], crossings=mechanism.limit)
    assert 0.9 * mechanism.epsilon <= stretched <= mechanism.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_gap_of_a_crossing_comes_free(name: str) -> None:
    mechanism, moves = MECHANISMS[name]
    law = law_of(mechanism, "gap")
    for queries in ((0, 0), (-4, 3)):
        assert worst_loss(law, queries, moves, shown=(0, 1, 2, 5, 17)) <= mechanism.epsilon * (1 + 1e-9)


def test_a_refreshed_threshold_costs_each_crossing_by_itself() -> None:
    mechanism = Sparse(threshold=0, limit=2, sensitivity=1, epsilon=1, grid="whole")
    object.__setattr__(mechanism, "refresh", True)
    law = law_of(mechanism)
    claimed = 2 * (1 / law.threshold_scale + 2 / law.query_scale)
    assert float(mechanism.event.pure()) == pytest.approx(claimed)
    assert worst_loss(law, (0, 0, 0), (-1, 0, 1)) <= claimed * (1 + 1e-9)
    once = replace(law, limit=1)
    assert 2 * stretched_loss(once, 1, -1) > 1.2  # two in a row tell more than two under one threshold may


def test_queries_that_move_both_ways_are_not_monotone() -> None:
    mechanism = whole(2, monotone=True, epsilon=2)
    assert worst_loss(law_of(mechanism), (0, 0, 0), (0, 1)) <= 2 * (1 + 1e-9)
    assert stretched_loss(law_of(mechanism), 1, -1, crossings=2) > 2.5


# What is drawn is that law.


def counted(patterns: list[Pattern], law: Variant, queries: tuple[int, ...]) -> tuple[list[int], list[float]]:
    possible = list(law.patterns(len(queries)))
    chances = [law.chance(queries[: len(pattern)], pattern) for pattern in possible]
    assert sum(chances) == pytest.approx(1, abs=1e-9)
    places = {pattern: place for place, pattern in enumerate(possible)}
    seen = [0] * len(possible)
    for pattern in patterns:
        seen[places[pattern]] += 1
    return seen, chances


def released(mechanism: Sparse, queries: tuple[int, ...]) -> Pattern:
    return tuple(0 if above else None for above in mechanism.release(np.array(queries)).above)


def streamed(mechanism: Sparse, queries: tuple[int, ...]) -> Pattern:
    return tuple(None if answer is None else 0 for answer in mechanism.stream(iter(queries)))


def refreshed(limit: int) -> Sparse:
    mechanism = whole(limit, epsilon=3)
    object.__setattr__(mechanism, "refresh", True)
    return mechanism


@pytest.mark.parametrize("ask", [released, streamed])
@pytest.mark.parametrize(
    "mechanism", [whole(epsilon=3), whole(2, epsilon=6), whole(3, epsilon=6, monotone=True), refreshed(2)], ids=repr
)
def test_patterns_of_answers_have_exactly_the_stated_law(
    mechanism: Sparse, ask: Callable[[Sparse, tuple[int, ...]], Pattern]
) -> None:
    queries = (-1, 1, 0, -2, 2)
    seen, chances = counted([ask(mechanism, queries) for _ in range(4000)], law_of(mechanism), queries)
    assert fits(seen, chances)


def test_gaps_have_exactly_the_stated_law() -> None:
    mechanism = whole(epsilon=3)
    law, queries = law_of(mechanism, "gap"), (-1, 1)
    reach = 40
    chances = [law.chance(queries[:1], (gap,)) + law.chance(queries, (None, gap)) for gap in range(reach)]
    chances.append(1 - sum(chances))
    seen = [0] * (reach + 1)
    for _ in range(4000):
        answer = mechanism.release(queries)
        seen[int(answer.gaps[0]) if answer.gaps and answer.gaps[0] < reach else reach] += 1
    assert fits(seen, chances)


def test_the_fine_grid_draws_the_same_law_as_real_noise() -> None:
    mechanism = Sparse(threshold=0.25, limit=1, sensitivity=0.5, epsilon=1)
    b1, b2 = float(mechanism.threshold_scale), float(mechanism.query_scale)
    r = np.linspace(-40 * b1, 40 * b1, 400_001)
    density = np.exp(-np.abs(r) / b1) / (2 * b1)
    below = density
    chances = []
    for query in (-1.5, 0.5, 1.75):
        over = 0.25 + r - query
        above = np.where(over > 0, np.exp(-np.abs(over) / b2) / 2, 1 - np.exp(-np.abs(over) / b2) / 2)
        chances.append(float(np.trapezoid(below * above, r)))
        below = below * (1 - above)
    chances.append(1 - sum(chances))
    seen = [0] * 4
    for _ in range(4000):
        first = mechanism.release([-1.5, 0.5, 1.75]).first
        seen[3 if first is None else first] += 1
    assert fits(seen, chances)


# Theirs: variants from the literature that were thought to be private. Each must be caught.


def test_showing_the_noisy_value_of_a_crossing_is_caught() -> None:
    # Noise of the comparison reused as the noise of the answer: the value bounds the threshold's noise from above.
    variant = Variant(threshold_scale=2.0, query_scale=4.0, limit=1, shows="value")
    queries, moved = (0,) * 12 + (0,), (1,) * 12 + (0,)
    pattern = (*[None] * 12, -40)
    loss = math.log(variant.chance(queries, pattern) / variant.chance(moved, pattern))
    assert loss > 2.9  # claimed: 1, and it grows with the number of queries below
    assert worst_loss(Variant(2.0, 4.0, limit=1), (0, 0, 0), (-1, 0, 1)) <= 1 + 1e-9


def test_query_noise_that_ignores_the_number_of_crossings_is_caught() -> None:
    # A quarter of epsilon for the threshold, the rest for each query, whatever the limit.
    epsilon, limit = 1.0, 6
    variant = Variant(threshold_scale=4 / epsilon, query_scale=4 / (3 * epsilon), limit=limit)
    found = stretched_loss(variant, 1, -1, crossings=limit)
    assert found > 8 * epsilon
    assert found <= (1 + 6 * limit) / 4 * epsilon * (1 + 1e-9)  # what it really costs


def test_queries_without_noise_are_caught() -> None:
    variant = Variant(threshold_scale=2.0, query_scale=0.0, limit=None)
    assert worst_loss(variant, (0, 1), (-1, 0, 1)) == math.inf


def test_crossings_without_a_limit_are_caught() -> None:
    # Half of epsilon each for the threshold and for every query, and no halt.
    epsilon = 1.0
    variant = Variant(threshold_scale=2 / epsilon, query_scale=2 / epsilon, limit=None)
    losses = []
    for many in (2, 8, 32):
        queries, moved = (0,) * 2 * many, (1,) * many + (-1,) * many
        pattern = (*[None] * many, *[0] * many)
        losses.append(math.log(variant.chance(queries, pattern) / variant.chance(moved, pattern)))
    assert losses == sorted(losses)
    assert losses[-1] > 5 * epsilon


def test_a_threshold_without_noise_is_caught() -> None:
    variant = Variant(threshold_scale=0.0, query_scale=2.0, limit=1)
    assert worst_loss(variant, (0,) * 5, (-1, 0, 1)) > 1
    queries, moved = (0,) * 60, (1,) * 60
    pattern = (None,) * 60
    assert math.log(variant.chance(queries, pattern) / variant.chance(moved, pattern)) > 10


def test_a_gap_to_the_true_threshold_is_caught() -> None:
    # Free is the gap to the noisy threshold; the noisy query alone is the broken variant above in another dress.
    variant = Variant(threshold_scale=2.0, query_scale=4.0, limit=1, shows="value")
    honest = Variant(threshold_scale=2.0, query_scale=4.0, limit=1, shows="gap")
    queries, moved = (0,) * 12 + (0,), (1,) * 12 + (0,)
    ratios = []
    for law in (variant, honest):
        patterns = [(*[None] * 12, shown) for shown in range(-40 if law is variant else 0, 40)]
        ratios.append(max(math.log(law.chance(queries, p) / law.chance(moved, p)) for p in patterns))
    assert ratios[0] > 3
    assert ratios[1] <= 1 + 1e-9
