"""Sensitivities by enumeration: known ones are found, with the pair that shows them; what moves further is seen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privet.audit import enumerate_sensitivity
from privet.core.errors import RequestError


def histogram(rows: list[int]) -> list[int]:
    return [rows.count(value) for value in (0, 1, 2)]


@pytest.mark.parametrize(
    ("function", "neighbors", "l1", "l2_squared"),
    [
        (sum, "add-remove", 2, 4),
        (sum, "change-one", 2, 4),
        (len, "add-remove", 1, 1),
        (len, "change-one", 0, 0),
        (histogram, "add-remove", 1, 1),
        (histogram, "change-one", 2, 2),
        (lambda rows: [sum(rows), len(rows)], "add-remove", 3, 5),
        (lambda rows: Fraction(sum(rows), max(len(rows), 1)), "add-remove", 2, 4),
        (lambda rows: sorted(rows)[len(rows) // 2] if rows else 0, "change-one", 2, 4),
    ],
)
def test_the_sensitivity_of_small_functions_is_found(function: Any, neighbors: Any, l1: int, l2_squared: int) -> None:
    found = enumerate_sensitivity(function, [0, 1, 2], size=4, neighbors=neighbors)
    assert (found.l1, found.l2_squared) == (l1, l2_squared)
    assert found.sensitivity.l1 == l1
    one, other = (function(list(rows)) for rows in found.worst)
    moves = [abs(a - b) for a, b in zip(one, other, strict=True)] if isinstance(one, list) else [abs(one - other)]
    assert sum(moves) == l1
    assert len(found.worst[0]) - len(found.worst[1]) == (1 if neighbors == "add-remove" else 0)


def test_every_pair_of_neighbours_is_tried_once_or_more_and_none_else() -> None:
    seen: list[tuple[int, ...]] = []
    enumerate_sensitivity(lambda rows: seen.append(tuple(rows)) or 0, "abc", size=2)
    assert sorted(map(sorted, set(seen))) == [
        [],
        ["a"],
        ["a", "a"],
        ["a", "b"],
        ["a", "c"],
        *map(list, ("b", "bb", "bc", "c", "cc")),
    ]


def test_order_matters_where_it_is_kept() -> None:
    def first(rows: list[int]) -> int:
        return rows[0] if rows else 0

    assert enumerate_sensitivity(first, [0, 5], size=2).l1 == 5
    assert enumerate_sensitivity(lambda rows: rows[-1] - rows[0] if rows else 0, [0, 5], size=3).l1 == 5
    kept = enumerate_sensitivity(lambda rows: rows[-1] - rows[0] if rows else 0, [0, 5], size=3, order="kept")
    assert kept.l1 == 5
    assert kept.pairs > enumerate_sensitivity(first, [0, 5], size=3).pairs


def test_rounding_on_the_way_moves_a_sum_of_floats_by_more_than_its_bound() -> None:
    def added(rows: list[float]) -> float:
        total = 0.0
        for row in sorted(rows, reverse=True):
            total += row
        return total

    found = enumerate_sensitivity(added, [1.5, 2.0**53], size=5)
    assert found.l1 > 2**53
    assert enumerate_sensitivity(lambda rows: sum(map(Fraction, rows)), [1.5, 2.0**53], size=5).l1 == 2**53


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": []},
        {"size": 0},
        {"size": 20, "values": range(50)},
        {"neighbors": "other"},
        {"order": "some"},
        {"function": str},
        {"function": lambda rows: float("nan")},
        {"function": list},
    ],
)
def test_what_cannot_be_enumerated_is_refused(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"function": sum, "values": [0, 1], "size": 2, **wrong}
    with pytest.raises(RequestError):
        enumerate_sensitivity(asked.pop("function"), asked.pop("values"), **asked)
