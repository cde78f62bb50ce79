"""A place chosen by its rank: its law, its ends, what it costs and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet.core.errors import RequestError
from privet.core.scan import Near
from privet.mechanisms import rank_choice as rank_groups
from privet.mechanisms.rank_choice import Aims, Grouped, QuantileChoice, choose_ranks

HALF = Fraction(1, 2)
DRAWS = 4_000


def drawn(cases, *, rate: Fraction, denominator: int, last: int, reach: int, times: int = DRAWS) -> list[list[int]]:
    """Return how often each place is chosen for some weights and aims, drawn side by side, a number of times."""
    held = Grouped.of(
        [(sorted(weights), [weights[place] for place in sorted(weights)]) for weights, _ in cases] * times
    )
    whole = np.array([math.floor(aim) for _, aim in cases] * times, dtype=np.int64)
    rest = np.array([int((aim - math.floor(aim)) * denominator) for _, aim in cases] * times, dtype=np.int64)
    chosen = choose_ranks(held, Aims(whole, rest, denominator), rate, last=last, reach=reach).reshape(times, -1)
    return [np.bincount(column, minlength=last + 1).tolist() for column in chosen.T]


def as_likely(seen: list[int], expected: list[float]) -> bool:
    times = sum(seen)
    return len(seen) == len(expected) and all(
        abs(count - times * p) <= 6 * math.sqrt(times * p * (1 - p)) + 1
        for count, p in zip(seen, expected, strict=True)
    )


def law(weights: dict[int, int], aim: Fraction, rate: Fraction, last: int, reach: float = math.inf) -> list[float]:
    off = []
    for place in range(last + 1):
        below = sum(n for at, n in weights.items() if at < place)
        through = sum(n for at, n in weights.items() if at <= place)
        off.append(min(reach, max(0, float(below - aim), float(aim - through))))
    raw = [math.exp(-float(rate) * one) for one in off]
    return [one / sum(raw) for one in raw]


@pytest.mark.parametrize(
    ("weights", "aim", "denominator", "rate"),
    [
        ({}, Fraction(0), 2, HALF),
        ({2: 1}, HALF, 2, HALF),
        ({0: 3, 1: 1, 4: 2}, Fraction(3), 1, HALF),
        ({1: 5, 3: 7}, Fraction(108, 10), 10, Fraction(1, 3)),
        ({1: 2**59, 3: 2**59}, Fraction(2**59 + 3), 2**20, Fraction(1, 2)),  # ranks that do not fit 64 bits times 2**20
        ({1: 4, 3: 4}, Fraction(6), 1, Fraction(1, 1000)),
    ],
)
def test_places_are_chosen_with_exactly_their_probabilities(weights, aim, denominator, rate):
    (seen,) = drawn([(weights, aim)], rate=rate, denominator=denominator, last=5, reach=math.ceil(48 / rate))
    assert as_likely(seen, law(weights, aim, rate, 5))


def test_groups_that_are_drawn_for_at_once_each_have_their_own_law():
    rate, reach = Fraction(1, 2), 96
    cases = [
        ({}, Fraction(0)),
        ({2: 1}, HALF),
        ({0: 3, 1: 1, 4: 2}, Fraction(3)),
        ({5: 2**59, 6: 2**59}, Fraction(2**59 + 3)),
        ({}, Fraction(0)),
        ({7: 9}, Fraction(17, 2)),
        ({0: 200, 3: 1, 4: 200, 7: 500}, Fraction(202)),
    ]
    seen = drawn(cases, rate=rate, denominator=2, last=7, reach=reach, times=DRAWS // 4)
    for one, (weights, aim) in zip(seen, cases, strict=True):
        assert as_likely(one, law(weights, aim, rate, 7, reach=reach))


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(999_999, 2**20), Fraction(1)])
def test_aims_are_the_exact_share_of_all_ranks(share):
    totals = [0, 1, 2, 10**6 + 1, 2**40 + 3, 2**62 - 1]
    aims = Aims.at(share, np.array(totals), -7)
    exact = [share * total - 7 for total in totals]
    assert [
        w + Fraction(r, aims.denominator) for w, r in zip(aims.whole.tolist(), aims.rest.tolist(), strict=True)
    ] == exact


def test_many_groups_are_drawn_for_in_blocks_and_in_order(monkeypatch):
    sure = QuantileChoice.middle(HALF, last=99, span=Fraction(1), epsilon=Fraction(10**6))
    groups = [([at, at + 1], [1, 2]) for at in range(90)]
    monkeypatch.setattr(rank_groups, "_MOST_GROUPS", 7)
    assert sure.release(groups) == list(range(1, 91))
    monkeypatch.setattr(rank_groups, "_MOST_PLACES", 5)
    assert sure.release([*groups, (list(range(20)), [1] * 9 + [30] + [1] * 10)]) == [*range(1, 91), 9]


def test_an_aim_beyond_all_numbers_finds_the_bounds():
    low = QuantileChoice.end(HALF, -1, last=9, span=Fraction(1), epsilon=Fraction(1), tail=1e-9)
    high = QuantileChoice.end(HALF, 1, last=9, span=Fraction(1), epsilon=Fraction(1), tail=1e-9)
    few = [([5], [2]), ([], [])] * 50
    assert set(low.release(few)) == {0}
    assert set(high.release(few)) == {9}


def test_the_cost_is_the_rate_times_the_span():
    one = QuantileChoice.middle(HALF, last=9, span=Fraction(3), epsilon=Fraction(1, 4))
    assert one.event.pure() == Fraction(1, 4) == one.rate * one.span


def test_errors_hold_what_they_claim():
    one = QuantileChoice.middle(HALF, last=99, span=Fraction(1), epsilon=Fraction(1))
    far = [0 if place == 50 else 100 for place in one.release([([50], [200])] * 2000)]
    assert sum(off > one.error(0.95) for off in far) <= 2000 * 0.05 + 6 * math.sqrt(2000 * 0.05)


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2), Fraction(1, 2**21 + 1)])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(RequestError):
        QuantileChoice.middle(share, last=9, span=Fraction(1), epsilon=Fraction(1))


def test_a_rate_that_is_next_to_nothing_is_refused():
    with pytest.raises(RequestError, match="too small"):
        QuantileChoice.middle(HALF, last=9, span=Fraction(2**80), epsilon=Fraction(1))


def test_no_repr_tells_of_data():
    assert "places=10" in repr(QuantileChoice.middle(HALF, last=9, span=Fraction(1), epsilon=Fraction(1)))


def test_beyond_reach_all_places_are_alike():
    weights, aim, rate = {0: 3, 1: 9}, Fraction(3), Fraction(1)
    (seen,) = drawn([(weights, aim)], rate=rate, denominator=2, last=5, reach=1)
    assert as_likely(seen, law(weights, aim, rate, 5, reach=1))


def test_places_that_are_taken_together_are_chosen_together():
    fine = QuantileChoice(HALF, -3, 3, Fraction(1), Fraction(1, 2), shift=2)
    coarse = QuantileChoice(HALF, -3, 3, Fraction(1), Fraction(1, 2))
    seen = [
        np.bincount(draw.release([counts] * DRAWS), minlength=4)
        for draw, counts in ((fine, ([1, 2, 8, 11, 15], [2, 1, 1, 14, 2])), (coarse, ([0, 2, 3], [3, 15, 2])))
    ]
    for one, other in zip(*seen, strict=True):
        assert abs(one - other) <= 6 * math.sqrt(one + other) + 1


def test_what_is_not_told_apart_leaves_every_rank_off_as_it_is():
    # exhaustively: whatever lies where, a block that may be taken together can be, and no place's score changes
    draw = replace(QuantileChoice.middle(HALF, last=5, span=Fraction(1), epsilon=Fraction(1)), rate=Fraction(48, 2))
    assert draw.reach == 2
    for weights in product(range(4), repeat=6):
        gathered = taken_together(weights, draw.near(1))
        assert sum(gathered) == sum(weights)
        assert capped(gathered, draw.reach) == capped(weights, draw.reach)


def capped(weights, reach: int) -> list[Fraction]:
    aim = HALF * sum(weights)
    off = [max(0, sum(weights[:at]) - aim, aim - sum(weights[: at + 1])) for at in range(len(weights))]
    return [min(reach, one) for one in off]


def taken_together(weights: tuple[int, ...], near: Near) -> list[int]:
    """What an engine may make of counts: all of a block at its first place, unless it is looked into."""
    size, total, found = 2**near.bits, sum(weights), []
    for start in range(0, len(weights), size):
        block, before = weights[start : start + size], sum(weights[:start])
        far = before >= near.share * total + near.above or before + sum(block) <= near.share * total - near.below
        found += [sum(block), *[0] * (len(block) - 1)] if far else list(block)
    return found


GROUPS = [([3, 4, 7], [1, 2, 4]), ([], []), ([7, 8], [8, 16]), ([], []), ([8], [32])]


def test_places_are_taken_together_within_a_group_only():
    coarse = Grouped.of(GROUPS).coarser(2)
    assert coarse.places.tolist() == [0, 1, 1, 2, 2]
    assert coarse.weights.tolist() == [1, 6, 8, 16, 32]
    assert coarse.sizes.tolist() == [2, 0, 2, 0, 1]
    assert coarse.totals.tolist() == [7, 0, 24, 0, 32]


def test_each_group_gets_a_place_before_all_and_one_behind():
    padded = Grouped.of(GROUPS).padded(5, 9)
    assert padded.places.tolist() == [0, 4, 5, 8, 11, 0, 11, 0, 8, 9, 11, 0, 11, 0, 9, 11]
    assert padded.weights.tolist() == [5, 1, 2, 4, 5, 5, 5, 5, 8, 16, 5, 5, 5, 5, 32, 5]
    assert padded.sizes.tolist() == [5, 2, 4, 2, 3]
