"""What two readings use of a claim is measured exactly, on readings made by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from privet.audit.neighbours import Claim, Seen, claims_of
from privet.core.relation import ColumnRef
from privet.core.scan import Discovery, GroupKey, Once, Scan, Sum, Truncate
from privet.core.schema import Schema, integer, text
from privet.core.unit import Person, Rows
from privet.mechanisms import Gaussian, Laplace, OptimalKeys
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_several import QuantileTree
from privet.mechanisms.top_k import Frequent
from privet.planner.measures import KeyRelease, KeyRule, Measure, ModeMeasure, QuantileMeasure, SumMeasure
from privet.planner.plan import Pass
from privet.planner.stability import key_sensitivity, sensitivity_of

SCHEMA = Schema(unit=Rows(), columns={"g": text(), "x": integer(0, 9)})
KEY = GroupKey(ColumnRef("g"), None, False)
ROWS = Sum(None, 1, 1)
SCAN = Scan("t", SCHEMA, None, (KEY,), (ROWS,), Once())
HALF = Fraction(1, 2)


def told(one: Pass, before: Seen, after: Seen) -> dict[str, Fraction | int]:
    found = {claim.what: claim.measured(before, after) for claim in claims_of(one)}
    assert found == {claim.what: claim.measured(after, before) for claim in claims_of(one)}  # neighbours are mutual
    return found


def counted(noise: Laplace | Gaussian, scan: Scan = SCAN, keys: Any = None) -> Pass:
    return Pass(scan, SumMeasure((Measure(ROWS, sensitivity_of(ROWS, SCAN), noise, 0),), keys))


def cells(**given: Any) -> Seen:
    return Seen({(name,): value if isinstance(value, tuple) else (value,) for name, value in given.items()})


@pytest.mark.parametrize(
    ("noise", "far"), [(Laplace(sensitivity=1, epsilon=1), 6), (Gaussian(sensitivity=1, rho=1), 14)]
)
def test_a_sum_is_compared_in_the_norm_of_its_noise_over_the_cells_of_both(noise: Any, far: int) -> None:
    assert told(counted(noise), cells(a=5, b=1), cells(a=2, b=3, c=1)) == {"a count": far}
    (claim,) = claims_of(counted(noise))
    assert claim.size == 1


def test_a_claim_is_what_the_noise_is_made_for_and_not_what_the_plan_says_of_it() -> None:
    lax = Laplace(sensitivity=Fraction(1, 3), epsilon=1)
    (claim,) = claims_of(counted(lax))
    assert claim.size == Fraction(1, 3)
    assert isinstance(claim, Claim)
    assert claim.read(2) == 2


def found(order: Any, most: int, shift: int = 2, unit: Any = None) -> tuple[Scan, KeyRelease]:
    schema = replace(SCHEMA, unit=Person("x") if unit is None else unit)
    bounding = Once() if isinstance(schema.unit, Rows) else Truncate(1, 1)
    scan = replace(SCAN, schema=schema, sums=(), bounding=bounding, discovery=Discovery(most, order, shift))
    size = key_sensitivity(scan)
    noise = Laplace(sensitivity=size, epsilon=1) if order < 2 else Gaussian(sensitivity=size, rho=1)
    return scan, KeyRelease(size, noise, 100, Fraction(1, 100), shift)


HEAVIEST, ALONE, PEOPLE = (
    "the heaviest key that one side alone has",
    "the keys that one side alone has",
    "the people of a key",
)


@pytest.mark.parametrize(
    ("order", "weights", "part"),
    [
        (1, (4,), Fraction(1)),
        (1, (2, 2), Fraction(1)),
        (1, (2,), Fraction(1, 4)),
        (1, (3, 1), Fraction(9, 4)),  # two keys may weigh a half each
        (2, (4,), Fraction(1)),
        (2, (2, 2, 2, 2), Fraction(1)),
        (2, (3, 3), Fraction(9, 8)),  # two keys may weigh the root of a half each
        (0, (4, 4, 4), Fraction(1)),
    ],
)
def test_keys_of_one_side_alone_are_weighed_by_what_a_threshold_allows_for_so_many(
    order: Any, weights: tuple[int, ...], part: Fraction
) -> None:
    scan, rule = found(order, 4)
    alone = {f"k{place}": weight for place, weight in enumerate(weights)}
    seen = told(Pass(scan, SumMeasure((), rule)), cells(a=9, **alone), cells(a=9))
    assert seen[HEAVIEST] == part
    assert seen[ALONE] == len(weights)
    assert seen[PEOPLE] == (sum(w * w for w in weights) if order == 2 else sum(weights))


def test_sums_are_compared_over_keys_that_both_hold() -> None:
    scan, rule = found(1, 4)
    one = counted(Laplace(sensitivity=1, epsilon=1), replace(scan, sums=(ROWS,)), rule)
    seen = told(one, cells(a=(7, 4), b=(9, 4)), cells(a=(6, 4)))
    assert seen["a count"] == 1
    assert seen[PEOPLE] == 4


def test_people_together_may_weigh_as_much_as_all_of_them_in_each_key() -> None:
    scan, rule = found(1, 1, unit=Person("x", 3))
    claims = {claim.what: claim for claim in claims_of(Pass(scan, SumMeasure((), rule)))}
    assert claims[ALONE].size == 3
    assert claims[HEAVIEST].measured(cells(a=12, b=12), cells()) == 1


@pytest.mark.parametrize(("neighbors", "sides"), [("add-remove", 1), ("change-one", 2)])
def test_the_optimal_rule_rests_on_how_many_keys_and_on_how_many_people_of_each(neighbors: Any, sides: int) -> None:
    scan, _ = found(0, 3, shift=0, unit=Person("x", 2))
    rule = KeyRule(OptimalKeys(epsilon=1, delta=1e-5, keys=3, group=2, neighbors=neighbors))
    claims = {claim.what: claim for claim in claims_of(Pass(scan, SumMeasure((), rule)))}
    assert claims[PEOPLE].size == 6 * sides
    assert claims["the people of one key"].size == 2
    seen = told(Pass(scan, SumMeasure((), rule)), cells(a=5, b=1), cells(a=2, c=1))
    assert seen == {PEOPLE: 5, "the people of one key": 3, ALONE: 1}


def test_counts_of_values_move_within_a_range_of_each_group() -> None:
    draw = Frequent(1, Fraction(1), Fraction(1), "exponential", 1)
    scan = replace(SCAN, keys=(KEY, GroupKey(ColumnRef("x"), (1, 2), False)))
    before = Seen({("a", 1): (5,), ("a", 2): (1,), ("b", 1): (2,)})
    after = Seen({("a", 1): (3,), ("a", 2): (4,), ("b", 1): (1,), ("b", 2): (0,)})
    assert told(Pass(scan, ModeMeasure(draw)), before, after) == {"the rows of frequent values": 5 + 1}


def placed(**groups: dict[int, int]) -> Seen:
    return Seen(places={(name,): weights for name, weights in groups.items()})


def test_quantiles_together_rest_on_the_weights_at_all_places() -> None:
    draw = QuantileTree((HALF, Fraction(3, 4)), 9, Fraction(1), Fraction(1))
    one = Pass(replace(SCAN, sums=()), QuantileMeasure((draw,)))
    assert told(one, placed(a={1: 3, 4: 1}), placed(a={1: 1, 5: 1}, b={0: 2})) == {
        "the rows of quantiles": 2 + 1 + 1 + 2
    }


def ranks(draw: QuantileChoice, before: Seen, after: Seen) -> Fraction | int:
    one = Pass(replace(SCAN, sums=()), QuantileMeasure((draw,)))
    return told(one, before, after)["the ranks of a quantile"]


def off(draw: QuantileChoice, weights: dict[int, int], place: int) -> Fraction:
    below = sum(weight for at, weight in weights.items() if at < place)
    aim = draw.share * sum(weights.values()) + draw.offset
    return max(Fraction(0), below - aim, aim - below - weights.get(place, 0))


@pytest.mark.parametrize("offset", [0, 1, -2])
@pytest.mark.parametrize("share", [HALF, Fraction(1, 10), Fraction(1)])
def test_ranks_move_within_the_range_that_every_place_shows(share: Fraction, offset: int) -> None:
    draw = QuantileChoice(share, offset, 9, Fraction(1), Fraction(1))
    before, after = {2: 3, 7: 1}, {2: 1, 4: 2, 7: 1, 9: 5}
    moves = [off(draw, after, place) - off(draw, before, place) for place in range(10)]
    seen = ranks(draw, placed(a=before, b={3: 1}), placed(a=after, b={3: 1}))
    least = max(*moves, Fraction(0)) - min(*moves, Fraction(0))
    assert seen == least if offset == 0 else seen >= least


def test_places_that_are_taken_together_are_compared_together() -> None:
    draw = QuantileChoice(HALF, 0, 4, Fraction(1), Fraction(1), shift=1)
    assert ranks(draw, placed(a={2: 4}), placed(a={3: 4})) == 0
    assert ranks(replace(draw, shift=0, last=9), placed(a={2: 4}), placed(a={3: 4})) == 4
