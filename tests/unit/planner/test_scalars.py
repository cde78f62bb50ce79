"""What is compared is a plain sum of all rows, bounded in L1: another scan is refused, whoever made it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from privet.core.errors import InvariantError
from privet.core.relation import ColumnRef
from privet.core.scan import GroupKey, Norm, Scan, Sum
from privet.core.schema import Contribution, Schema, integer
from privet.core.unit import Person
from privet.planner.comparison_plans import ScalarQuestion, check_scalar_scan, movement_of

SCHEMA = Schema(
    unit=Person("u"),
    columns={"u": integer(), "y": integer(0, 9)},
    neighbors="add-remove",
    contribution=Contribution(groups=1, rows=2),
)
TOTAL = Sum(ColumnRef("y"), 0, 9)
SCAN = Scan("d", SCHEMA, None, (), (TOTAL,), Norm(1, 2, 20))


def test_a_plain_sum_moves_by_its_bound_times_the_limit() -> None:
    assert movement_of(ScalarQuestion(SCAN).sum, SCAN).distance == 18


@pytest.mark.parametrize(
    "changed",
    [
        {"sums": (replace(TOTAL, origin=Fraction(4)),)},
        {"sums": (replace(TOTAL, power=2),)},
        {"sums": (replace(TOTAL, offset=1),)},
        {"sums": ()},
        {"bounding": Norm(2, 4, 20)},
        {"keys": (GroupKey(ColumnRef("y"), tuple(range(10)), False),)},
    ],
    ids=["centred", "squared", "less something", "nothing", "bounded in L2", "groups"],
)
def test_another_scan_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(InvariantError):
        check_scalar_scan(replace(SCAN, **changed))


def test_a_question_is_one_sum() -> None:
    with pytest.raises(InvariantError, match="one sum"):
        ScalarQuestion(replace(SCAN, sums=(TOTAL, Sum(None, 1, 1))))
