"""A unit is found by columns that its table lists, of kinds that it can use."""

from __future__ import annotations

import datetime

import pytest

from privet.core.errors import BadParameter, Unlimited
from privet.core.schema import Contribution, Schema, Table, date, integer, text, timestamp
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


@pytest.mark.parametrize(
    "unit",
    [Person("who"), Person("who", 2), Window("who", "day", 7), Link("who", to="people", column="id")],
    ids=str,
)
def test_a_table_of_people_without_a_limit_is_refused_with_the_line_to_add(unit: Unit) -> None:
    columns = {"who": integer(), "day": date()}
    with pytest.raises(Unlimited, match=r"add contribution=Contribution\(groups=3, rows=2\)") as caught:
        Table(None, unit=unit, columns=columns)
    assert "that nearly everyone stays within" in str(caught.value)
    assert "totals come out too low" in str(caught.value)
    limit = Contribution(groups=3, rows=2)
    assert Table(None, unit=unit, columns=columns, contribution=limit).schema.contribution == limit


def test_where_each_row_is_protected_there_is_nothing_to_limit() -> None:
    assert Table(None, unit=Rows(), columns={"x": integer()}).schema.contribution == Contribution(groups=1, rows=1)


def test_a_limit_has_both_its_numbers() -> None:
    for told in ({}, {"groups": 3}, {"rows": 2}):
        with pytest.raises(TypeError, match="required keyword-only"):
            Contribution(**told)
