"""The picture of an audit shows what the claim forbids, and marks what was measured there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet.audit import audit
from privet.mechanisms import Gaussian, Laplace
from privet.plots import plot_audit

LAPLACE = Laplace(sensitivity=1, epsilon=1)


def labels(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_a_claim_that_holds_has_no_marked_points() -> None:
    figure = plot_audit(audit(LAPLACE, (10, 11), 1, 20_000), title="Laplace")
    assert "refutes the claim" not in labels(figure)
    assert figure.axes[0].get_title(loc="left") == "Laplace"


def test_points_beyond_the_claim_are_marked() -> None:
    report = audit(LAPLACE, (10, 11), 0.5, 20_000)
    figure = plot_audit(report)
    assert "refutes the claim" in labels(figure)
    assert any("REFUTED" in text.get_text() for text in figure.axes[0].texts)


def test_the_curve_is_that_of_epsilon_and_delta() -> None:
    (curve, *_) = plot_audit(audit(LAPLACE, (10, 11), (1, 0.1), 2_000)).axes[0].get_lines()
    alarms, misses = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert misses[0] == pytest.approx(0.9)
    at = int(np.argmin(np.abs(alarms - 0.5)))
    assert misses[at] == pytest.approx(max(0, 0.9 - math.e * 0.5, (0.9 - 0.5) / math.e))


def test_a_claim_of_a_whole_curve_forbids_what_any_of_its_points_does() -> None:
    gaussian = Gaussian(sensitivity=1, sigma=1)
    figure = plot_audit(audit(gaussian, (0, 1), gaussian.event, 2_000))
    (curve, *_) = figure.axes[0].get_lines()
    at_half = float(np.interp(0.5, curve.get_xdata(), curve.get_ydata()))
    assert 0.1 < at_half <= 0.1587  # the best test of N(0, 1) against N(1, 1) misses 0.1587 at half false alarms
    assert any("a curve" in label for label in labels(figure))
