"""The grid of a sum is floor((x - origin) / step + 1/2), to the last integer, wherever its bounds lie."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor

from privet.core.scan import Sum
from privet.engines.scan_sql.row_values import doubles, line

HALF = Fraction(1, 2)


def some_sum(draw: random.Random) -> Sum:
    low, high = sorted(draw.randint(-40, 40) for _ in range(2))
    step = Fraction(draw.choice([1, 1, 2, 3, 5, 7]), draw.choice([1, 2, 3, 10]))
    return Sum(None, low, high, origin=Fraction(draw.randint(-30, 30), draw.choice([1, 2, 7])), step=step)


def on_grid(total: Sum, x: Fraction) -> int:
    y = floor((x - total.origin) / total.step + HALF)
    return min(max(y, total.low), total.high)


def test_whole_numbers_are_put_on_the_grid_by_integers_alone() -> None:
    draw = random.Random(3)
    for _ in range(400):
        total = some_sum(draw)
        form = line(total)
        for x in range(-120, 121, 3):
            held = min(max(x, form.low), form.high)
            y = min(max(form.apply(held), total.low), total.high)
            assert y == on_grid(total, Fraction(x))
            assert abs(form.factor * held) + abs(form.shift) <= form.most


def test_numbers_are_put_on_the_grid_but_for_what_doubles_cannot_tell() -> None:
    draw = random.Random(4)
    for _ in range(400):
        total = some_sum(draw)
        form = doubles(total)
        for _ in range(20):
            x = draw.uniform(-150, 150)
            y = min(max(form.place(min(max(x, form.low), form.high)), total.low), total.high)
            exact = (Fraction(x) - total.origin) / total.step + HALF
            if abs(exact - round(exact)) > Fraction(1, 10**9):
                assert y == on_grid(total, Fraction(x))
