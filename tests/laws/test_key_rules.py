"""No neighbour of a small table makes any set of shown keys likelier than e^epsilon times and delta allow.

Every table is tried in which a few people hold a few keys each; the laws of what is shown are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import prod

import pytest

from privet.core.numbers import exp_down
from privet.mechanisms import GaussianThreshold, KeySelection, LaplaceThreshold, OptimalKeys

Counts = tuple[int, ...]


def law(rule: OptimalKeys, counts: Counts) -> list[Fraction]:
    """Return the probability of every set of shown keys."""
    chances = [rule.probability(count) for count in counts]
    sides = [(1 - chance, chance) for chance in chances]
    return [prod(chosen, start=Fraction(1)) for chosen in product(*sides)]


def divergence(p: list[Fraction], q: list[Fraction], grown: Fraction) -> Fraction:
    return sum((max(Fraction(0), a - grown * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def held(several: int, keys: int, group: int) -> set[Counts]:
    """Return how many of a group of people may hold each of some keys."""
    choices = [frozenset(one) for size in range(keys + 1) for one in combinations(range(several), size)]
    found = set()
    for people in combinations_with_replacement(choices, group):
        tally = Counter(key for person in people for key in person)
        found.add(tuple(tally[key] for key in range(several)))
    return found


def neighbours(rule: KeySelection, several: int, others: int) -> Iterator[tuple[Counts, Counts]]:
    """Yield the numbers of people of every two neighbouring tables, with up to `others` people besides."""
    moved = held(several, rule.keys, rule.group)
    before = moved if rule.neighbors == "change-one" else {(0,) * several}
    for base in product(range(others + 1), repeat=several):
        for old, new in product(before, moved):
            yield tuple(map(sum, zip(base, old, strict=True))), tuple(map(sum, zip(base, new, strict=True)))


@pytest.mark.parametrize(
    ("keys", "group", "neighbors", "several", "others", "least"),
    [
        (1, 1, "add-remove", 2, 6, 0.999),
        (2, 1, "add-remove", 3, 6, 0.5),
        (3, 1, "add-remove", 3, 7, 0.3),
        (1, 2, "add-remove", 2, 7, 0.8),
        (2, 2, "add-remove", 2, 8, 0.3),
        (1, 1, "change-one", 2, 7, 0.5),
        (2, 1, "change-one", 3, 4, 0.1),
        (1, 2, "change-one", 2, 6, 0.2),
    ],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(2), Fraction(1, 5)), (Fraction(1, 2), Fraction(1, 3))])
def test_neighbours_are_as_hard_to_tell_apart_as_was_asked(
    epsilon: Fraction, delta: Fraction, keys: int, group: int, neighbors: str, several: int, others: int, least: float
) -> None:
    rule = OptimalKeys(epsilon=epsilon, delta=delta, keys=keys, group=group, neighbors=neighbors)
    grown = exp_down(epsilon)
    laws: dict[Counts, list[Fraction]] = {}
    worst = Fraction(0)
    seen: set[tuple[Counts, Counts]] = set()
    for pair in neighbours(rule, several, others):
        if pair in seen:
            continue
        seen |= {pair, pair[::-1]}
        p, q = (laws.setdefault(counts, law(rule, counts)) for counts in pair)
        worst = max(worst, divergence(p, q, grown), divergence(q, p, grown))
    assert worst <= delta
    assert worst >= least * delta  # and little of delta is left over


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize(("keys", "group"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3)])
def test_thresholds_have_noise_for_the_farthest_that_people_can_move_the_counts(
    keys: int, group: int, neighbors: str
) -> None:
    facts = {"epsilon": 1, "delta": Fraction(1, 100), "keys": keys, "group": group, "neighbors": neighbors}
    laplace, gaussian = LaplaceThreshold(**facts), GaussianThreshold(**facts)
    moves = [
        [abs(before - after) << 20 for before, after in zip(*pair, strict=True)]
        for pair in neighbours(laplace, 2 * keys, 0)
    ]
    assert laplace.noise.sensitivity == max(map(sum, moves))
    assert gaussian.noise.sensitivity_squared == max(sum(move**2 for move in vector) for vector in moves)
    assert laplace.event.slack() == Fraction(1, 100)
    assert gaussian.event.slack() == Fraction(1, 200)  # the noise has the other half
    assert gaussian.noise.epsilon <= 1
    assert gaussian.noise.delta == Fraction(1, 200)
