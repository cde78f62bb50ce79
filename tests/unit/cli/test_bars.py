"""Bars drawn in text say what the numbers say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from privet.cli.bars import ASCII, Bar, draw_bars

FINITE = st.floats(min_value=-1e9, max_value=1e9)


def test_a_bar_is_solid_up_to_its_interval_and_points_at_its_value() -> None:
    lines = list(draw_bars([Bar(label="a", value=50, low=25, high=100)], width=5, ink=ASCII))
    assert lines == ["a #|o-| 50 (25 to 100)"]


def test_labels_are_aligned() -> None:
    bars = [Bar(label="long", value=1, low=1, high=1), Bar(label="b", value=1, low=1, high=1)]
    first, second = draw_bars(bars, ink=ASCII)
    assert first.index(" ") == second.rindex("b") + 1


def test_nothing_is_drawn_of_nothing() -> None:
    assert list(draw_bars([])) == []


@given(st.lists(st.tuples(FINITE, FINITE, FINITE), min_size=1, max_size=6), st.integers(2, 80))
def test_every_bar_stays_within_the_width_and_shows_its_point(ends: list[tuple[float, ...]], width: int) -> None:
    bars = [Bar(label="x", low=low, value=value, high=high) for low, value, high in map(sorted, ends)]
    for line in draw_bars(bars, width=width, ink=ASCII):
        drawn = line.split(" ")[1]
        assert 1 <= len(drawn) <= width
        assert drawn.count("o") == 1
