"""Sensitivities are exact, name their relation, and agree with brute force."""

from __future__ import annotations

from fractions import Fraction
from statistics import median

import numpy as np
import pytest

from privet.core.errors import RequestError
from privet.core.unit import Sensitivity, sensitivity_by_enumeration

RELATIONS = ("add-remove", "change-one")


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_count_moves_by_one(neighbors: str) -> None:
    found = sensitivity_by_enumeration(lambda rows: sum(rows), (0, 1), 4, neighbors=neighbors)
    assert found == Sensitivity.count(neighbors=neighbors)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("low", "high"), [(20, 200), (-3, 7), (-7, 3), (-9, -2), (4, 4), (Fraction(1, 3), 0.5)])
def test_a_clamped_sum_moves_as_far_as_enumeration_finds(neighbors: str, low: object, high: object) -> None:
    domain = (Fraction(low), Fraction(high))
    found = sensitivity_by_enumeration(sum, domain, 4, neighbors=neighbors)
    assert found == Sensitivity.sum(low, high, neighbors=neighbors)


def test_a_mean_of_public_size_moves_by_the_width_over_n() -> None:
    found = sensitivity_by_enumeration(lambda rows: Fraction(sum(rows), 5), (2, 9), 5, neighbors="change-one")
    assert found == Sensitivity.mean(2, 9, size=5, neighbors="change-one")


def test_a_mean_under_add_remove_is_refused_with_a_way_out() -> None:
    with pytest.raises(RequestError, match="release a sum and a count"):
        Sensitivity.mean(0, 1, size=5, neighbors="add-remove")


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_histogram_moves_one_cell_or_two(neighbors: str) -> None:
    found = sensitivity_by_enumeration(lambda rows: [rows.count(cell) for cell in "abc"], "abc", 4, neighbors=neighbors)
    assert found == Sensitivity.histogram(neighbors=neighbors)
    assert found.l1 == found.l2_squared == (1 if neighbors == "add-remove" else 2)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_counting_queries_may_all_move_at_once(neighbors: str) -> None:
    def answers(rows: tuple[tuple[int, int, int], ...]) -> tuple[int, ...]:
        return tuple(sum(row[i] for row in rows) for i in range(3))

    domain = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    found = sensitivity_by_enumeration(answers, domain, 2, neighbors=neighbors)
    assert found == Sensitivity.counts(3, neighbors=neighbors)


def test_a_group_moves_k_times_as_far() -> None:
    one = Sensitivity.histogram(neighbors="change-one")
    assert one.of_group(3) == Sensitivity(neighbors="change-one", l1=Fraction(6), l2_squared=Fraction(18))


def test_the_norms_are_exact() -> None:
    found = sensitivity_by_enumeration(
        lambda rows: (Fraction(len(rows), 3), 0.5 * len(rows)), "a", 2, neighbors="add-remove"
    )
    assert found.l1 == Fraction(5, 6)
    assert found.l2_squared == Fraction(1, 9) + Fraction(1, 4)


def test_add_remove_respects_the_least_size() -> None:
    found = sensitivity_by_enumeration(median, (0, 115), 5, neighbors="add-remove", least=1)
    assert found.l1 == Fraction(115, 2)


def test_arrays_and_numpy_numbers_may_be_answers() -> None:
    found = sensitivity_by_enumeration(
        lambda rows: np.array([len(rows), 2 * len(rows)]), "a", 2, neighbors="add-remove"
    )
    assert (found.l1, found.l2_squared) == (3, 5)
    found = sensitivity_by_enumeration(lambda rows: np.float32(len(rows)), "a", 2, neighbors="add-remove")
    assert found.l1 == 1


@pytest.mark.parametrize("wrong", ["bounded", "", None, True, 1, ["add-remove"]])
def test_no_relation_is_assumed(wrong: object) -> None:
    with pytest.raises(RequestError, match="neighbors must be 'add-remove' or 'change-one'"):
        Sensitivity.count(neighbors=wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="neighbors must be 'add-remove' or 'change-one'"):
        sensitivity_by_enumeration(len, "a", 2, neighbors=wrong)  # type: ignore[arg-type]


def test_leaving_the_relation_out_is_an_error() -> None:
    with pytest.raises(TypeError):
        Sensitivity.count()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("l1", lambda: Sensitivity(neighbors="add-remove", l1=-1, l2_squared=0)),
        ("l2_squared", lambda: Sensitivity(neighbors="add-remove", l1=1, l2_squared=float("nan"))),
        ("low", lambda: Sensitivity.sum(2, 1, neighbors="add-remove")),
        ("high", lambda: Sensitivity.sum(2, float("inf"), neighbors="add-remove")),
        ("size", lambda: Sensitivity.mean(0, 1, size=0, neighbors="change-one")),
        ("queries", lambda: Sensitivity.counts(0, neighbors="add-remove")),
        ("domain", lambda: sensitivity_by_enumeration(len, (), 2, neighbors="add-remove")),
        ("size", lambda: sensitivity_by_enumeration(len, "ab", 0, neighbors="add-remove")),
        ("least", lambda: sensitivity_by_enumeration(len, "ab", 2, neighbors="add-remove", least=3)),
        ("the function's answer", lambda: sensitivity_by_enumeration(str, "ab", 2, neighbors="add-remove")),
    ],
)
def test_a_bad_parameter_is_named(name: str, call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RequestError, match=f"^{name} must be"):
        call()


def test_answers_must_be_of_one_length_and_work_is_limited() -> None:
    with pytest.raises(RequestError, match="the same number of answers"):
        sensitivity_by_enumeration(lambda rows: rows.count("a") * [1], "ab", 2, neighbors="add-remove")
    with pytest.raises(RequestError, match="smaller domain or size"):
        sensitivity_by_enumeration(len, range(100), 10, neighbors="add-remove")
