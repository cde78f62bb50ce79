"""How `privet marginals --count` reads what is counted: declared values of any text, ranges, and names of any text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from privet.cli.marginals import _read_count
from privet.core.errors import RequestError

FOUND: Any = SimpleNamespace(
    names=("ward", "a=b", "day", "flag", "age group", "ag"),
    values=(
        ("x, y", "18..64", "ward=", None),
        (1, 2),
        (datetime.date(2025, 1, 1), datetime.date(2025, 1, 2)),
        (True, False),
        (-5, -4, 3),
        (1, 2),
    ),
)


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ("", {}),
        ("ward=x, y,a=b=2", {"ward": "x, y", "a=b": 2}),
        ("ward=18..64", {"ward": "18..64"}),
        ("ward=ward=", {"ward": "ward="}),
        ("ward=NULL", {"ward": None}),
        ("a=b = 1..2 , day=2025-01-01..", {"a=b": (1, 2), "day": (datetime.date(2025, 1, 1), None)}),
        ("day=2025-01-02", {"day": datetime.date(2025, 1, 2)}),
        ("flag=true,ag=1", {"flag": True, "ag": 1}),
        ("age group=-5..-4,ag=1", {"age group": (-5, -4), "ag": 1}),
        ("ag=1,age group=..", {"ag": 1, "age group": (None, None)}),
        ("age group=..0.5", {"age group": (None, Decimal("0.5"))}),
    ],
)
def test_values_and_ranges_are_read_whatever_signs_are_in_names_and_values(asked: str, rows: dict[str, Any]) -> None:
    assert _read_count(asked, FOUND)[0] == rows


@pytest.mark.parametrize(
    "asked", ["=", ",", "ward", "ward=", "ward=x", "ward=x, y,", "day=2025-1-1..", "ag=1..2..3", "ag=nan..", "no=1"]
)
def test_what_names_no_count_is_refused(asked: str) -> None:
    with pytest.raises(RequestError):
        _read_count(asked, FOUND)
