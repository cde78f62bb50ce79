"""Pictures of answers: bars, bins, lines with bands and heat maps, in both themes, as PNG and as SVG."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import BadParameter, RequestError
from privet.plots import plot_delta
from privet.plots.answers import plot_answer


@dataclass
class Column:
    name: str
    values: tuple[Any, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    mark: str = ""


def noisy(*values: Any) -> Column:
    known = [0.0 if value is None else value for value in values]
    return Column("n", values, tuple(one - 2.0 for one in known), tuple(one + 3.0 for one in known))


def labels(axes: Any) -> list[str]:
    return [one.get_text() for one in axes.get_xticklabels()]


def test_one_key_makes_bars_with_error_bars_from_low_to_high() -> None:
    figure = plot_answer([Column("ward", ("a", "b")), noisy(10, 20)], confidence=0.95)
    (axes,) = figure.axes
    assert [patch.get_height() for patch in axes.patches] == [10, 20]
    assert labels(axes) == ["a", "b"]
    ends = [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == [[8, 13], [18, 23]]
    assert figure.axes[0].get_title(loc="left") == "n with 95% intervals"


def test_two_keys_make_bars_side_by_side_with_a_legend() -> None:
    keys = [Column("ward", ("a", "a", "b", "b")), Column("sex", ("f", "m", "f", "m"))]
    (axes,) = plot_answer([*keys, noisy(1, 2, 3, 4)], confidence=0.95).axes
    assert labels(axes) == ["a", "b"]
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["f", "m"]
    assert sorted(patch.get_height() for patch in axes.patches) == [1, 2, 3, 4]
    middles = {patch.get_height(): patch.get_x() + patch.get_width() / 2 for patch in axes.patches}
    assert middles[1] < 0 < middles[2] < 0.5 < middles[3] < 1 < middles[4]


def test_many_values_of_a_second_key_make_a_heat_map_with_values_and_errors() -> None:
    first, second = ("a", "b"), tuple(f"k{index}" for index in range(8))
    pairs = [(one, two) for one in first for two in second]
    keys = [Column("x", tuple(one for one, _ in pairs)), Column("y", tuple(two for _, two in pairs))]
    figure = plot_answer([*keys, noisy(*range(16))], confidence=0.95)
    axes = figure.axes[0]
    assert axes.images[0].get_array().tolist() == [list(range(8)), list(range(8, 16))]
    assert "5\n± 3" in [one.get_text() for one in axes.texts]
    assert labels(axes) == list(second)


def crossed(first: Sequence[Any], second: Sequence[Any]) -> list[Column]:
    pairs = [(one, two) for one in first for two in second]
    return [Column("x", tuple(one for one, _ in pairs)), Column("y", tuple(two for _, two in pairs))]


@pytest.mark.parametrize(("many", "step"), [(40, 1), (41, 2), (111, 5), (365, 20), (4096, 200)])
def test_a_map_of_many_values_names_some_of_them_and_says_how_wide_intervals_are(many: int, step: int) -> None:
    keys = crossed(("a", "b", "c", "d"), range(many))
    figure = plot_answer([*keys, noisy(*range(4 * many))], confidence=0.9, heat=True)
    axes = figure.axes[0]
    assert axes.images[0].get_array().shape == (4, many)
    assert not axes.texts
    assert labels(axes) == [str(place) for place in range(0, many, step)]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["a", "b", "c", "d"]
    assert axes.get_title(loc="left") == "n; 90% intervals are ± 2.5"
    turned = plot_answer([*keys[::-1], noisy(*range(4 * many))], confidence=0.9, heat=True)
    assert [one.get_text() for one in turned.axes[0].get_yticklabels()] == labels(axes)
    assert max(*figure.get_size_inches(), *turned.get_size_inches()) < 37


def test_the_narrowest_and_the_widest_interval_of_a_map_are_named() -> None:
    keys = crossed(range(5), range(50))
    values = tuple(range(250))
    series = Column("n", values, tuple(one - 1.0 - one for one in values), tuple(one + 1.0 for one in values))
    (axes, _) = plot_answer([*keys, series], confidence=0.95, heat=True).axes
    assert axes.get_title(loc="left") == "n; 95% intervals are ± 1 to ± 130"


def test_many_days_beside_a_second_key_make_lines() -> None:
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=place) for place in range(60)]
    keys = crossed(days, ("f", "m"))
    (axes,) = plot_answer([*keys, noisy(*range(120))], confidence=0.95).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [list(range(0, 120, 2)), list(range(1, 120, 2))]


def test_time_makes_a_line_with_a_band_in_its_order() -> None:
    days = tuple(datetime.date(2024, month, 1) for month in (3, 1, 2))
    (axes,) = plot_answer([Column("month", days), noisy(30, 10, 20)], confidence=0.9).axes
    assert axes.lines[0].get_ydata().tolist() == [10, 20, 30]
    assert len(axes.collections) == 1
    keys = [Column("month", days * 2), Column("sex", ("f",) * 3 + ("m",) * 3)]
    (axes,) = plot_answer([*keys, noisy(30, 10, 20, 3, 1, 2)], confidence=0.9).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[10, 20, 30], [1, 2, 3]]


@pytest.mark.parametrize("many", [3, 6, 7, 10, 20, 31, 45, 60, 90, 181, 366, 730, 5000])
@pytest.mark.parametrize("first", [datetime.date(2025, 1, 1), datetime.date(2024, 2, 20)], ids=str)
def test_names_of_dates_have_room_beside_each_other(first: datetime.date, many: int) -> None:
    days = tuple(first + datetime.timedelta(days=place) for place in range(many))
    figure = plot_answer([Column("day", days), noisy(*range(many))], confidence=0.95)
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    shown = [box for box in boxes if axes.bbox.x0 <= (box.x0 + box.x1) / 2 <= axes.bbox.x1]
    assert len(shown) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(shown))


def test_bins_are_named_by_their_ends() -> None:
    (axes,) = plot_answer([Column("age", (0, 10, None)), noisy(1, 2, 3)], confidence=0.95, bins={"age": 10.0}).axes
    assert labels(axes) == ["0 to 9", "10 to 19", "NULL"]
    keys = [Column("bin_low", (0.0, 2.5)), Column("bin_high", (2.5, 5.0))]
    (axes,) = plot_answer([*keys, noisy(1, 2)], confidence=0.95).axes
    assert labels(axes) == ["0 to 2.5", "2.5 to 5"]


def test_the_bins_of_a_question_are_known_from_its_plan() -> None:
    rows = pa.table({"age": [1, 12, 23]})
    table = privet.Table(rows, unit=privet.Rows(), columns={"age": privet.integer(0, 29)})
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=10)) as session:
        figure = session.ask("SELECT BIN(age, 10) AS old, COUNT(*) AS n FROM t GROUP BY old", 1).plot()
    assert labels(figure.axes[0]) == ["0 to 9", "10 to 19", "20 to 29"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_both_themes_are_saved_as_png_and_svg(tmp_path: Path, theme: Any, ending: str) -> None:
    path = tmp_path / f"answer.{ending}"
    keys = [Column("ward", ("$a", None, "<b>")), Column("sex", ("f", "m", "f"))]
    figure = plot_answer([*keys, noisy(1, None, 3)], confidence=0.95, path=path, theme=theme)
    assert path.stat().st_size > 3000
    dark = sum(figure.get_facecolor()[:3]) < 1
    assert dark == (theme == "dark")
    event = privet.Laplace(sensitivity=1, epsilon=1).event
    plot_delta(event, path=path, theme=theme)


def test_a_theme_that_does_not_exist_and_an_answer_without_numbers_are_refused() -> None:
    with pytest.raises(BadParameter, match="theme"):
        plot_answer([noisy(1)], confidence=0.95, theme="blue")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="nothing to draw"):
        plot_answer([Column("ward", ("a",))], confidence=0.95)


def test_a_notebook_shows_a_picture_by_itself() -> None:
    figure: Any = plot_answer([noisy(1)], confidence=0.95)
    assert figure._repr_png_().startswith(b"\x89PNG")
