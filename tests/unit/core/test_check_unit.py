"""A unit is found by columns that its table lists, of kinds that it can use."""

from __future__ import annotations

import datetime

import pytest

from privet.core.errors import BadParameter
from privet.core.schema import Schema, date, integer, text, timestamp
from privet.core.unit import Link, Nobody, Person, Rows, Unit, Window, check_unit

COLUMNS = {"patient": integer(), "note": text(), "day": date(), "seen": timestamp()}
HOURS = datetime.timedelta(hours=6)


@pytest.mark.parametrize(
    "unit",
    [
        Person("doctor"),
        Link("visit", to="visits", column="id"),
        Window("doctor", "day", 7),
        Window("patient", "month", 7),
        Window("patient", "note", 7),
        Window("day", "day", 7),
        Window("patient", "day", HOURS),
    ],
    ids=str,
)
def test_a_unit_that_the_columns_cannot_show_is_refused(unit: Unit) -> None:
    with pytest.raises(BadParameter, match=r"^unit must be"):
        Schema(unit=unit, columns=COLUMNS)


@pytest.mark.parametrize(
    "unit",
    [
        Rows(),
        Nobody(),
        Person("patient"),
        Link("patient", to="visits", column="id"),
        Window("patient", "day", 7),
        Window("patient", "seen", HOURS),
    ],
    ids=str,
)
def test_a_unit_that_the_columns_show_is_taken(unit: Unit) -> None:
    check_unit(unit, {name: column.kind for name, column in COLUMNS.items()})
    assert Schema(unit=unit, columns=COLUMNS).unit == unit


def test_exactly_one_kind_of_unit_is_rowwise_public_and_timed() -> None:
    units = (Rows(), Person("p"), Window("p", "t", 1), Link("v", "t", "c"), Nobody())
    assert [unit.rowwise for unit in units] == [True, False, False, False, False]
    assert [unit.public for unit in units] == [False, False, False, False, True]
    assert [unit.timed for unit in units] == [False, False, True, False, False]
