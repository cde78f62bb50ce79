"""A place chosen by its rank: its law, its ends, what it costs and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.core.errors import RequestError
from privet.mechanisms import rank_choice
from privet.mechanisms.rank_choice import RankChoice, choose_rank, ranks_off
from privet.mechanisms.tally import Counted

HALF = Fraction(1, 2)
DRAWS = 4_000


def tally(weights: dict[int, int]) -> Counted:
    places = sorted(weights)
    return Counted(np.array(places, dtype=np.int64), np.cumsum([weights[place] for place in places], dtype=np.int64))


def law(weights: dict[int, int], aim: Fraction, rate: Fraction, last: int) -> list[float]:
    off = []
    for place in range(last + 1):
        below = sum(n for at, n in weights.items() if at < place)
        through = sum(n for at, n in weights.items() if at <= place)
        off.append(max(0, float(below - aim), float(aim - through)))
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
    found, last = tally(weights), 5
    expected = law(weights, aim, rate, last)
    seen = np.bincount(
        [choose_rank(found, aim, denominator, rate, last=last) for _ in range(DRAWS)], minlength=last + 1
    )
    for count, p in zip(seen.tolist(), expected, strict=True):
        assert abs(count - DRAWS * p) <= 6 * math.sqrt(DRAWS * p * (1 - p)) + 1


def test_an_aim_beyond_all_numbers_finds_the_bounds():
    low = RankChoice.end(HALF, -1, last=9, span=Fraction(1), epsilon=Fraction(1), tail=1e-9)
    high = RankChoice.end(HALF, 1, last=9, span=Fraction(1), epsilon=Fraction(1), tail=1e-9)
    few = [([5], [2]), ([], [])] * 50
    assert set(low.release(few)) == {0}
    assert set(high.release(few)) == {9}


def test_the_cost_is_the_rate_times_the_span():
    one = RankChoice.middle(HALF, last=9, span=Fraction(3), epsilon=Fraction(1, 4))
    assert one.event.pure() == Fraction(1, 4) == one.rate * one.span


def test_ranks_off_are_those_between_the_place_and_the_aim():
    found = tally({1: 2, 4: 3})
    assert [ranks_off(found, place, Fraction(5, 2)) for place in range(6)] == [
        *(Fraction(5, 2), HALF, HALF, HALF, 0, Fraction(5, 2))
    ]


def test_errors_hold_what_they_claim():
    one = RankChoice.middle(HALF, last=99, span=Fraction(1), epsilon=Fraction(1))
    weights = {50: 200}
    far = [ranks_off(tally(weights), place, Fraction(100)) for place in one.release([([50], [200])] * 2000)]
    assert sum(off > one.error(0.95) for off in far) <= 2000 * 0.05 + 6 * math.sqrt(2000 * 0.05)


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2), Fraction(1, 2**21 + 1)])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(RequestError):
        RankChoice.middle(share, last=9, span=Fraction(1), epsilon=Fraction(1))


def test_a_rate_that_is_next_to_nothing_is_refused():
    with pytest.raises(RequestError, match="too small"):
        RankChoice.middle(HALF, last=9, span=Fraction(2**80), epsilon=Fraction(1))


def test_no_repr_tells_of_data():
    assert "places=10" in repr(RankChoice.middle(HALF, last=9, span=Fraction(1), epsilon=Fraction(1)))


def test_what_is_gathered_far_off_keeps_its_probabilities(monkeypatch):
    monkeypatch.setattr(rank_choice, "_REACH", 0)  # so that nearly everything is far off
    weights, aim = {0: 3, 1: 1, 4: 2}, Fraction(7, 2)
    expected = law(weights, aim, HALF, 5)
    seen = np.bincount([choose_rank(tally(weights), aim, 2, HALF, last=5) for _ in range(DRAWS)], minlength=6)
    for count, p in zip(seen.tolist(), expected, strict=True):
        assert abs(count - DRAWS * p) <= 6 * math.sqrt(DRAWS * p * (1 - p)) + 1
