"""Each picture draws the curve that it claims to draw."""

from __future__ import annotations

import pytest

from privet import accounting
from privet.core.errors import RequestError
from privet.core.event import Repeated
from privet.mechanisms import GaussianEvent, LaplaceEvent, ResponseEvent
from privet.plots import plot_composition, plot_delta, plot_loss, plot_tradeoff

GAUSSIAN = GaussianEvent(sensitivity_squared=1, sigma_squared=1)
LAPLACE = LaplaceEvent(sensitivity=1, scale=2)


def lines(figure):
    return {line.get_label(): line.get_xydata() for line in figure.axes[0].get_lines()}


def test_the_delta_picture_shows_delta_at_each_epsilon():
    drawn = lines(plot_delta({"gaussian": GAUSSIAN}, most=2))["gaussian"]
    for epsilon, delta in drawn[::20]:
        assert delta == pytest.approx(accounting.delta(GAUSSIAN, float(epsilon)))


def test_the_tradeoff_picture_lies_below_the_random_guess_and_touches_its_corners():
    drawn = lines(plot_tradeoff({"response": ResponseEvent(p=0.75)}))
    curve = drawn["response"]
    assert (curve[:, 0] + curve[:, 1] <= 1 + 1e-12).all()
    assert curve[0, 1] == pytest.approx(1, abs=1e-9)
    assert min(x + y for x, y in curve) == pytest.approx(0.5, abs=0.02)


def test_the_loss_picture_shades_what_lies_beyond_epsilon():
    figure = plot_loss(GAUSSIAN, epsilon=1)
    bars = figure.axes[0].patches
    beyond = sum(bar.get_height() for bar in bars if bar.get_x() + bar.get_width() / 2 > 1)
    assert sum(bar.get_height() for bar in bars) == pytest.approx(1, abs=1e-6)
    assert beyond == pytest.approx(0.308538, abs=0.01)
    assert "0.3085" in figure.axes[0].get_title(loc="left")
    assert len({bar.get_facecolor() for bar in bars}) == 2


def test_the_composition_picture_has_a_line_for_each_theorem_and_ends_at_its_figure():
    drawn = lines(plot_composition(LAPLACE, times=20, delta=1e-6))
    figures = accounting.by_theorem(Repeated(LAPLACE, 20), 1e-6)
    assert set(drawn) == set(figures)
    for name, figure in figures.items():
        assert tuple(drawn[name][-1]) == pytest.approx((20, figure))


def test_a_picture_is_saved_where_a_path_is_given(tmp_path):
    path = tmp_path / "curve.png"
    plot_delta(LAPLACE, path=path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong", [3, {}, {"x": 1}, None])
def test_what_is_no_event_is_refused(wrong):
    with pytest.raises(RequestError, match="events"):
        plot_delta(wrong)
