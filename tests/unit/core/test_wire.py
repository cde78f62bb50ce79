"""What is hashed is written under frozen names: renaming, moving and merging classes leaves every digest as it is."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from privet.core.errors import InvariantError
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Norm, Sum
from privet.core.schema import Contents, Schema, integer
from privet.core.unit import Nobody, Person
from privet.core.wire import Form, canonical, form_of, forms, wired, wired_by


@dataclass(frozen=True)
class Unknown:
    """Has fields, and no form."""

    low: int


class Special(Norm):
    """A subclass, which is no dataclass by its own decorator, and could answer for its parent."""


SUM = form_of("Sum", "what", "low", later={"offset": 0})


@pytest.mark.parametrize(
    "value", [Unknown(1), Special(1, 2, 3), (1, (2, Unknown(1))), {"a": [Special(1, 2, 3)]}, Call("f", ())]
)
def test_what_has_no_form_of_its_own_is_refused_wherever_it_stands(value: Any) -> None:
    if isinstance(value, Call):  # the one that has a form: what it holds may have none
        value = replace(value)
        object.__setattr__(value, "arguments", (ColumnRef("a"), Unknown(1)))
    with pytest.raises(InvariantError, match="has no wire form"):
        canonical(value)


def test_a_class_of_dataclasses_and_what_is_no_value_at_all_are_refused() -> None:
    with pytest.raises(InvariantError):
        canonical(Unknown)
    for value in (1.5, {1, 2}, object(), b"x", Norm):
        with pytest.raises((TypeError, InvariantError)):
            canonical(value)


def test_a_table_with_contents_is_not_written_as_one_without() -> None:
    table = Schema(unit=Nobody(), columns={"a": integer(0, 1)}, contents=Contents(lambda: ()))
    with pytest.raises(InvariantError, match="Contents has no wire form"):
        canonical(table)
    assert canonical(replace(table, contents=None)).startswith('["Schema",["Nobody"],')


def test_a_field_that_the_form_does_not_name_cannot_be_forgotten() -> None:
    for names in ((), ("low",), ("low", "high", "step"), ("high", "step"), ("low", "low")):
        with pytest.raises(InvariantError, match="not those that it is written with"):
            wired("Bounds", *names)(make_dataclass("Bounds", [("low", int), ("high", int)], frozen=True))


def test_a_class_and_its_attributes_can_be_renamed_and_reordered() -> None:
    renamed: Any = make_dataclass("Total", [("floor", int), ("argument", ColumnRef), ("moved_by", int)], frozen=True)
    wired("Sum", "what", "low", later={"offset": 0}, now={"what": "argument", "low": "floor", "offset": "moved_by"})(
        renamed
    )
    assert canonical(renamed(1, ColumnRef("a"), 0)) == '["Sum",["Column","a"],1]'
    assert canonical(renamed(1, ColumnRef("a"), 7)) == '["Sum",["Column","a"],1,7]'


def test_one_class_can_be_written_in_the_forms_of_those_whose_place_it_takes() -> None:
    count = form_of("Count")

    def old(value: Any) -> tuple[Form, Sequence[object]]:
        return (count, ()) if value.of is None else (SUM, (value.of, 0, value.by))

    merged: Any = make_dataclass("Merged", [("of", object), ("by", int)], frozen=True)
    wired_by(old, SUM, count)(merged)
    assert canonical(merged(None, 3)) == '["Count"]'
    assert canonical([merged(ColumnRef("a"), 0), merged(ColumnRef("a"), 3)]) == (
        '[["Sum",["Column","a"],0],["Sum",["Column","a"],0,3]]'
    )
    assert forms()[merged] == (SUM, count)


def test_a_form_that_was_not_declared_or_has_other_fields_is_refused() -> None:
    kind: Any = make_dataclass("Odd", [("how", object)], frozen=True)
    wired_by(lambda value: value.how, SUM)(kind)
    with pytest.raises(InvariantError, match="did not declare"):
        canonical(kind((form_of("Other"), ())))
    for few in ((), (1, 2), (1, 2, 3, 4)):
        with pytest.raises(InvariantError, match="written with 3 fields"):
            canonical(kind((SUM, few)))


def test_texts_are_those_that_stored_answers_are_found_by() -> None:
    total = Sum(Call("abs", (ColumnRef("a"),)), 0, 9, step=Fraction(1, 3), where=Literal(datetime.date(2024, 2, 29)))
    assert canonical(total) == (
        '["Sum",["Call","abs",[["Column","a"]]],0,9,["/","0","1"],["/","1","3"],["Literal",["@","2024-02-29"]],null,1,0]'
    )
    assert canonical({"b": Person("who"), "a": datetime.timedelta(1, 2, 3)}) == (
        '{"a":["@",1,2,3],"b":["Person","who",1]}'
    )
    assert json.loads(canonical([1, True, None, "é", ("x",)])) == [1, True, None, "é", ["x"]]
