"""How often keys are shown, against the exact probabilities. Each test alarms falsely about once in 10**8 runs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Schema, integer, text
from privet.core.unit import Person
from privet.mechanisms import GaussianThreshold, LaplaceThreshold, OptimalKeys
from privet.mechanisms import key_selection as optimal_keys
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.query.sql.parse import parse
from privet.release import release

ALARM = 1e-8
DRAWS = 60_000


def plausible(hits: int, draws: int, chance: float, tests: int) -> bool:
    """Return whether this number of hits is likely at this chance, in one of several tests."""
    tail = ALARM / (2 * tests)
    return bool(binom.cdf(hits, draws, chance) > tail and binom.sf(hits - 1, draws, chance) > tail)


@pytest.mark.parametrize("rule", [OptimalKeys, LaplaceThreshold, GaussianThreshold])
@pytest.mark.parametrize("facts", [{}, {"keys": 3}, {"group": 2, "neighbors": "change-one"}])
def test_keys_are_shown_as_often_as_stated(rule: type[Any], facts: dict[str, Any]) -> None:
    made = rule(epsilon=1.5, delta=0.02, **facts)
    numbers = sorted({1, 2, *(made.people(chance) for chance in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99))})
    for people in numbers:
        shown = int(made.release(np.full(DRAWS, people)).sum())
        assert plausible(shown, DRAWS, float(made.probability(people)), len(numbers)), people


def test_single_keys_and_mappings_are_drawn_like_arrays() -> None:
    made = OptimalKeys(epsilon=1, delta=0.1)
    chance = float(made.probability(3))
    assert plausible(sum(made.release(3) for _ in range(4000)), 4000, chance, 2)
    mapping = dict.fromkeys(range(DRAWS), 3)
    assert plausible(len(made.release(mapping)), DRAWS, chance, 2)


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_what_the_first_digits_leave_open_the_others_decide(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimal_keys, "_WORD_BITS", bits)  # so that ties, else rarer than 2**-62, are common
    made = OptimalKeys(epsilon=1, delta=0.01)
    for people in (1, 2, 4, 6):
        shown = int(made.release(np.full(8000, people)).sum())
        assert plausible(shown, 8000, float(made.probability(people)), 4)


def test_a_plan_shows_each_set_of_keys_as_often_as_the_rule_says() -> None:
    schema = Schema(unit=Person("who"), columns={"who": integer(), "key": text()})
    spend = Spend(Fraction(4), Fraction(0), None, Fraction(1, 5))
    plan = make_plan(parse("SELECT key, COUNT(*) FROM t GROUP BY key", {"t": schema}), {"t": schema}, spend=spend)
    rule = plan.passes[0].keys.mechanism
    people = {"a": 1, "b": 2, "c": 1}
    exact = SealedSums({(key,): (count << 20, count) for key, count in people.items()})
    receipt = Receipt(1, plan.digest, "test")
    draws = 3000
    found = Counter(release([exact], plan, receipt).keys for _ in range(draws))
    for shown in product([False, True], repeat=len(people)):
        chances = [rule.probability(count) for count in people.values()]
        chance = prod(float(p if seen else 1 - p) for p, seen in zip(chances, shown, strict=True))
        cells = tuple((key,) for key, seen in zip(people, shown, strict=True) if seen)
        assert plausible(found.pop(cells, 0), draws, chance, 8)
    assert not found
