"""A sum's bounds are those of what its rows give, whichever side of zero is the farther."""

from __future__ import annotations

from itertools import product

import pytest

from privet.core.errors import BadParameter
from privet.core.scan import Sum
from privet.core.schema import Schema, integer
from privet.core.unit import Person, Rows


@pytest.mark.parametrize(("power", "offset"), [(1, 0), (1, 3), (2, 0), (2, 8)])
def test_the_ends_of_a_sum_are_the_least_and_the_most_that_a_row_gives(power: int, offset: int) -> None:
    for low, high in product(range(-6, 7), repeat=2):
        if low <= high:
            given = [y**power - offset for y in range(low, high + 1)]
            total = Sum(None, low, high, power=power, offset=offset)
            assert total.ends == (min(given), max(given))
            assert total.most == max(map(abs, given))


@pytest.mark.parametrize("unit", [Rows(), Person("who")], ids=str)
def test_a_number_of_units_is_public_under_change_one_only(unit: Rows | Person) -> None:
    columns = {"who": integer()}
    assert Schema(unit=unit, columns=columns, neighbors="change-one", units=5).units == 5
    with pytest.raises(BadParameter, match="units"):
        Schema(unit=unit, columns=columns, units=5)
