"""Pictures of tests: p-values of true hypotheses against even ones, and power against the number of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.core.errors import BadParameter
from privet.plots import plot_p_values, plot_power


def lines(figure: Any) -> dict[str, Any]:
    (axes,) = figure.axes
    return {str(line.get_label()): np.array(line.get_xydata()) for line in axes.get_lines()}


def test_p_values_are_drawn_in_order_against_even_shares() -> None:
    found = lines(plot_p_values({"even": [0.6, 0.2, 0.8, 0.4], "naive": [0.1, 0.01, 0.03]}))
    assert found["as it should be"].tolist() == [[0, 0], [1, 1]]
    assert found["even"] == pytest.approx(np.array([[0.2, 0.2], [0.4, 0.4], [0.6, 0.6], [0.8, 0.8]]))
    # a test that rejects too often lies below the diagonal
    assert found["naive"].tolist() == [[0.25, 0.01], [0.5, 0.03], [0.75, 0.1]]
    assert all(y < x for x, y in found["naive"])


def test_the_band_is_that_of_even_p_values_of_the_shortest_list() -> None:
    def band(values: dict[str, list[float]]) -> float:
        (axes,) = plot_p_values(values).axes
        (drawn,) = axes.collections
        ends = np.array(drawn.get_paths()[0].vertices)
        nearest = np.abs(ends[:, 0] - 0.5).min()
        middle = ends[np.abs(ends[:, 0] - 0.5) <= nearest + 1e-9]
        return float(min(np.ptp(middle[middle[:, 0] == x, 1]) for x in set(middle[:, 0])))

    even = [(k + 1) / 401 for k in range(400)]
    # the median of 400 even numbers is within 0.049 of 1/2 in 95 of 100 cases, that of 25 within 0.19
    assert band({"one": even}) == pytest.approx(2 * 0.049, abs=0.004)
    assert band({"one": even, "few": even[::16]}) == pytest.approx(2 * 0.19, abs=0.01)


def test_power_is_drawn_against_the_number_of_people_with_the_level_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "power.svg"
    figure = plot_power({"one": [0.1, 0.5, 0.9], "other": [0.05, 0.2, 0.6]}, [100, 1000, 10_000], level=0.1, path=path)
    found = lines(figure)
    assert found["one"].tolist() == [[100, 0.1], [1000, 0.5], [10_000, 0.9]]
    assert found["other"][:, 1].tolist() == [0.05, 0.2, 0.6]
    assert set(found["level 0.1"][:, 1]) == {0.1}
    assert figure.axes[0].get_xscale() == "log"
    assert path.stat().st_size > 0


@pytest.mark.parametrize("values", [{}, {"one": []}, {"one": [1.5]}, {"one": [float("nan")]}, [0.5]])
def test_what_is_no_list_of_p_values_is_refused(values: Any) -> None:
    with pytest.raises(BadParameter):
        plot_p_values(values)


def test_powers_are_one_for_each_size() -> None:
    with pytest.raises(BadParameter, match="2 shares"):
        plot_power({"one": [0.1]}, [100, 1000])
