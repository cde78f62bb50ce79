"""Rules that show keys: their probabilities, exactly; the published tables; what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from privet import accounting
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Repeated
from privet.core.numbers import exp_down, exp_up
from privet.mechanisms import FiniteMechanism, GaussianThreshold, KeySelection, LaplaceThreshold, OptimalKeys

TINY = Fraction(1, 2**100)
SETTINGS = [(1.0, 1e-5), (math.log(3), 1e-6), (0.1, 1e-6), (0.03, 0.2), (5.0, 1e-12), (40.0, 1e-3), (0.5, 0.9)]
RULES = (OptimalKeys, LaplaceThreshold, GaussianThreshold)


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_one_more_person_costs_what_a_key_may_and_each_probability_is_as_large_as_that_allows(
    epsilon: float, delta: float
) -> None:
    rule = OptimalKeys(epsilon=epsilon, delta=delta)
    most, least = exp_up(rule.key_epsilon), exp_down(rule.key_epsilon)
    chances = [rule.probability(n) for n in range(rule.certain + 3)]
    assert chances[0] == 0
    assert chances[rule.certain - 1] < 1 == chances[rule.certain]
    for now, more in pairwise(chances):
        assert now <= more <= least * now + Fraction(delta)
        assert 1 - now <= least * (1 - more) + Fraction(delta)
        allowed = min(most * now + Fraction(delta), 1 - (1 - now - Fraction(delta)) / most, Fraction(1))
        assert allowed - TINY <= more  # no rule with the same guarantee shows the key more often


REFERENCE = {
    (1, 1e-5): {1: 1e-05, 2: 3.718281828e-05, 5: 0.0008579102488, 8: 0.01734266136, 11: 0.3484477385, 12: 0.7603109969}
    | {14: 0.967566653, 15: 0.9880721172, 25: 1},
    (math.log(3), 1e-6): {1: 1e-06, 2: 4e-06, 5: 0.000121, 8: 0.00328, 11: 0.088573, 12: 0.26572, 14: 0.9184137778}
    | {15: 0.9728049259, 25: 1},
    (0.1, 1e-6): {1: 1e-06, 10: 1.6337994e-05, 100: 0.20942544, 120: 0.8386029275, 135: 0.9639948321}
    | {140: 0.978165503, 200: 0.9999553625, 250: 1},
}
LAPLACE = {
    (1, 1e-5): {1: 1e-05, 2: 2.718281828e-05, 8: 0.01096633158, 12: 0.5824574802, 15: 0.979211782, 25: 0.9999990562},
    (0.1, 1e-6): {1: 1e-06, 10: 2.459603111e-06, 120: 0.1472666252, 140: 0.7702546605, 250: 0.9999961629},
}


@pytest.mark.parametrize(("setting", "table"), REFERENCE.items())
def test_the_optimal_probabilities_are_the_published_ones(
    setting: tuple[float, float], table: dict[int, float]
) -> None:
    rule = OptimalKeys(epsilon=setting[0], delta=setting[1])
    assert {n: float(rule.probability(n)) for n in table} == pytest.approx(table, rel=1e-8)


@pytest.mark.parametrize(("setting", "table"), LAPLACE.items())
def test_the_laplace_threshold_has_the_known_probabilities(
    setting: tuple[float, float], table: dict[int, float]
) -> None:
    rule = LaplaceThreshold(epsilon=setting[0], delta=setting[1])
    assert {n: rule.probability(n) for n in table} == pytest.approx(table, rel=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "certain", "halves", "thresholds"),
    [
        (1, 1e-5, 23, (12, 12, 19), (11.819778, 18.1569)),
        (math.log(3), 1e-6, 25, (13, 13, 21), (12.944490, 20.5625)),
        (0.1, 1e-6, 218, (109, 133, 187), (132.223634, 186.2325)),
    ],
)
def test_as_many_people_are_needed_as_is_known(
    epsilon: float, delta: float, certain: int, halves: tuple[int, ...], thresholds: tuple[float, float]
) -> None:
    made = [rule(epsilon=epsilon, delta=delta) for rule in RULES]
    assert tuple(rule.people() for rule in made) == halves
    assert made[0].certain == certain
    assert [rule.threshold / 2**20 for rule in made[1:]] == pytest.approx(list(thresholds), rel=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_the_number_of_people_is_the_least_that_reaches_a_probability(rule: type[Any]) -> None:
    made: KeySelection = rule(epsilon=0.7, delta=1e-4, keys=2)
    for wanted in (1e-9, 0.01, 0.5, 0.999):
        people = made.people(wanted)
        assert made.probability(people) >= wanted > made.probability(people - 1)


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS[:4])
def test_no_threshold_shows_a_key_more_often_than_the_optimal_rule(epsilon: float, delta: float, keys: int) -> None:
    rules = [rule(epsilon=epsilon, delta=delta, keys=keys) for rule in RULES[:2]]
    for people in {*range(30), *range(0, rules[0].certain, 7)}:
        best, other = (rule.probability(people) for rule in rules)
        # of several keys, one alone has delta / keys, where a threshold has 1 - (1 - delta) ** (1 / keys)
        assert float(best) >= other * (1 - (1e-9 if keys == 1 else delta))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.2, 1e-4), (0.5, 0.05)])
def test_the_cost_is_that_of_the_matrix_of_all_probabilities(epsilon: float, delta: float) -> None:
    rule = OptimalKeys(epsilon=epsilon, delta=delta)
    chances = [rule.probability(n) for n in range(rule.certain + 1)]
    exact = FiniteMechanism([[p, 1 - p] for p in chances], neighbors=[(n, n + 1) for n in range(rule.certain)])
    stated = rule.event.pair()
    assert exact.delta(epsilon) == pytest.approx(delta, rel=1e-12)
    for x in np.linspace(0, epsilon * 1.2, 13):
        assert exact.delta(x) <= float(stated.forward(np.array([x]))[0]) <= 1.3 * exact.delta(x)


def test_several_keys_cost_the_key_that_often_and_together_what_was_asked() -> None:
    rule = OptimalKeys(epsilon=1, delta=Fraction(1, 10**6), keys=5)
    assert isinstance(rule.event, Repeated)
    assert (rule.event.times, rule.epsilon, rule.event.slack()) == (5, 1.0, Fraction(1, 10**6))
    assert OptimalKeys(epsilon=1, delta=1e-6, keys=5, neighbors="change-one").event.times == 10
    # by curves, several keys cost far less than their sum
    assert accounting.epsilon(OptimalKeys(epsilon=1, delta=1e-6, keys=100).event, 1e-5) < 0.7


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize(("keys", "group"), [(1, 1), (4, 1), (1, 3), (3, 2)])
def test_the_cost_is_never_more_than_was_asked(rule: type[Any], neighbors: str, keys: int, group: int) -> None:
    made = rule(epsilon=1, delta=1e-4, keys=keys, group=group, neighbors=neighbors)
    assert accounting.epsilon(made.event, 1e-4 * (1 + 1e-9)) <= 1 + 1e-6
    assert made.event.slack() <= Fraction(1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_more_keys_larger_groups_and_changed_people_need_more_people(rule: type[Any]) -> None:
    def needed(**facts: Any) -> int:
        return int(rule(epsilon=1, delta=1e-6, **facts).people())

    assert needed() < needed(keys=2) < needed(keys=2, group=2) < needed(keys=2, group=2, neighbors="change-one")


@pytest.mark.parametrize("rule", RULES)
def test_a_key_that_nobody_holds_is_never_shown_and_one_that_everybody_holds_always_is(rule: type[Any]) -> None:
    made = rule(epsilon=3, delta=0.1)
    assert made.probability(0) == 0
    assert not made.release(np.zeros(2000, dtype=int)).any()
    assert made.release(np.full(2000, 10**12)).all()
    assert made.release({"rare": 0, "common": 10**30}) == {"common"}
    assert made.release({}) == frozenset()
    assert made.release([]).shape == (0,)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 255, 256, 257, 1000])
def test_decisions_are_drawn_in_lengths_that_do_not_tell_how_many_keys_there_are(
    rule: type[Any], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, lengths = rule(epsilon=1, delta=1e-6), []
    draw = type(made)._draw
    monkeypatch.setattr(type(made), "_draw", lambda self, counts: lengths.append(len(counts)) or draw(self, counts))
    assert len(made.release(np.ones(size, dtype=int))) == size
    assert lengths == [256] * -(-size // 256)
    lengths.clear()
    rule(epsilon=1, delta=1e-6, keys=100, group=2).release(np.ones(size, dtype=int))
    assert set(lengths) == {400}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", math.nan),
        ("epsilon", "much"),
        ("delta", 0),
        ("delta", 1),
        ("delta", True),
        ("keys", 0),
        ("keys", 1.5),
        ("keys", 10**7),
        ("group", 0),
        ("neighbors", "next-door"),
    ],
)
def test_bad_parameters_are_refused_by_name(rule: type[Any], name: str, wrong: object) -> None:
    with pytest.raises(BadParameter, match=name):
        rule(**{"epsilon": 1, "delta": 1e-6, name: wrong})


@pytest.mark.parametrize("rule", RULES)
def test_a_group_that_would_hold_too_many_keys_is_refused(rule: type[Any]) -> None:
    with pytest.raises(BadParameter, match="at most 1,000,000 keys"):
        rule(epsilon=1, delta=1e-6, keys=10**5, group=11)


def test_a_rule_that_could_not_be_listed_is_refused_and_a_threshold_recommended() -> None:
    with pytest.raises(BadParameter, match="LaplaceThreshold"):
        OptimalKeys(epsilon=1e-6, delta=1e-12)
    for wrong in ({"epsilon": 1e-40, "delta": 0.5}, {"epsilon": 800, "delta": 0.5}, {"epsilon": 1, "delta": 1e-307}):
        with pytest.raises(BadParameter):
            OptimalKeys(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("wrong", [-1, [3, -123456789], [0.5], {"flu": -5}, {"flu": "secret"}, {"flu": 1.5}])
def test_what_is_no_number_of_people_is_refused_without_being_quoted(rule: type[Any], wrong: Any) -> None:
    with pytest.raises(BadValue, match="counts") as caught:
        rule(epsilon=1, delta=1e-6).release(wrong)
    assert not {"123456789", "secret", "flu"} & set(str(caught.value).split())
