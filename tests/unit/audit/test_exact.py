"""Exact epsilon and delta of two laws: against every event, against finite mechanisms, and on what is no law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from privet.audit import exact_curve, exact_delta, exact_epsilon
from privet.core.errors import RequestError
from privet.mechanisms import FiniteMechanism

PAIRS = {
    "a coin": ([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]),
    "lopsided": ([F(1, 2), F(1, 3), F(1, 6)], [F(1, 10), F(3, 5), F(3, 10)]),
    "lopsided the other way": ([F(1, 10), F(3, 5), F(3, 10)], [F(1, 2), F(1, 3), F(1, 6)]),
    "one output apart": ([F(9, 10), F(1, 10), 0], [F(9, 10), 0, F(1, 10)]),
    "equal": ([F(1, 2), F(1, 2)], [F(1, 2), F(1, 2)]),
    "many": ([F(k, 36) for k in range(9)], [F(8 - k, 36) for k in range(9)]),
}


def worst(p: list[Any], q: list[Any], epsilon: float) -> float:
    """Return the largest P - e^epsilon Q over all events, in both directions."""
    events = itertools.chain.from_iterable(itertools.combinations(range(len(p)), r) for r in range(len(p) + 1))
    found = 0.0
    for event in events:
        a, b = (float(sum(law[i] for i in event)) for law in (p, q))
        found = max(found, a - math.exp(epsilon) * b, b - math.exp(epsilon) * a)
    return found


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("epsilon", [0, 0.3, 1, 2.5])
def test_delta_is_the_worst_over_all_events(name: str, epsilon: float) -> None:
    p, q = PAIRS[name]
    assert exact_delta(p, q, epsilon) == pytest.approx(worst(p, q, epsilon), abs=1e-12)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("delta", [0, 0.001, 0.05, 0.3])
def test_epsilon_is_the_least_at_which_no_event_exceeds_delta(name: str, delta: float) -> None:
    p, q = PAIRS[name]
    epsilon = exact_epsilon(p, q, delta)
    if epsilon == math.inf:
        assert worst(p, q, 50) > delta
        return
    assert worst(p, q, epsilon) <= delta + 1e-12
    if epsilon > 0:
        assert worst(p, q, epsilon * 0.999) > delta


def test_both_agree_with_a_finite_mechanism_of_two_inputs() -> None:
    p, q = PAIRS["lopsided"]
    mechanism = FiniteMechanism([p, q])
    assert exact_epsilon(p, q) == mechanism.epsilon
    assert exact_delta(p, q, 0.5) == mechanism.delta(0.5)


def test_laws_may_come_by_name_and_lack_what_the_other_has() -> None:
    assert exact_epsilon({"yes": 0.75, "no": 0.25}, {"no": 0.75, "yes": 0.25}) == pytest.approx(math.log(3))
    assert exact_epsilon({"yes": 1}, {"yes": 0.5, "no": 0.5}) == math.inf
    assert exact_epsilon({"yes": 1}, {"yes": 0.5, "no": 0.5}, 0.5) == 0
    assert exact_epsilon(np.array([0.5, 0.5]), (0.5, 0.5)) == 0


def test_a_curve_leaves_out_where_epsilon_is_infinite() -> None:
    p, q = PAIRS["one output apart"]
    assert [delta for _, delta in exact_curve(p, q, (0, 0.05, 0.1, 0.2)).points] == [0.1, 0.2]


@pytest.mark.parametrize("wrong", [[0.5, 0.4], [1.5, -0.5], ["a", "b"], "ab", 7, [0.5, math.nan], {"a": 0.5, "b": 0.5}])
def test_what_is_no_law_of_the_same_outputs_is_refused(wrong: Any) -> None:
    with pytest.raises(RequestError):
        exact_epsilon(wrong, [0.5, 0.5])
    with pytest.raises(RequestError):
        exact_delta([0.5, 0.5], wrong, 1)
    with pytest.raises(RequestError):
        exact_epsilon([0.5, 0.5], [0.5, 0.25, 0.25])
