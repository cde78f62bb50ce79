"""Which derived columns are a straight line in one aggregate: only those have its error bars, moved and stretched."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.query.resolve import linear_in
from privet.query.terms import Term, col

A, B = col("a"), col("b")


@pytest.mark.parametrize(
    ("term", "factor", "offset"),
    [
        (A, 1, 0),
        (2 * A + 3, 2, 3),
        ((A - 4) / 8, Fraction(1, 8), Fraction(-1, 2)),
        (5 - A, -1, 5),
        ((A + 1) * 3, 3, 3),
    ],
)
def test_a_straight_line_is_known_by_its_slope_and_height(term: Term, factor: object, offset: object) -> None:
    line = linear_in(term.expression)
    assert line is not None
    assert (line.factor, line.offset) == (factor, offset)


@pytest.mark.parametrize("term", [A * A, (A + 1) * (A - 1), A + B, A - B, 2 * A * B, 3 / A, A / A, A / 0])
def test_what_bends_or_has_two_noises_is_no_line(term: Term) -> None:
    assert linear_in(term.expression) is None
