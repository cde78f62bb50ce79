"""Calibration: the least noise that fits, and never less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from privet.accounting import (
    ApproximateEvent,
    Event,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    by_theorem,
    calibrate,
    calibrate_by_theorem,
    epsilon,
    fits,
    rho_from,
)
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter, InvariantError, RequestError, Unsupported
from privet.core.numbers import least, lowest, most

F = Fraction


@dataclass(frozen=True)
class Noise:
    """A mechanism as calibration sees it."""

    scale: float

    @property
    def event(self) -> Event:
        return PureEvent(1 / F(self.scale))


def gaussian(sigma: float) -> Event:
    return ZcdpEvent(1 / (2 * F(sigma) ** 2))


def test_the_least_laplace_scale_for_a_pure_budget_is_the_inverse_of_epsilon() -> None:
    scale = calibrate(Noise, Pure(epsilon=F(1, 3)), times=4)
    assert 12 <= scale <= 12 * (1 + 1e-9)


def test_the_least_sigma_for_rho_is_the_closed_form() -> None:
    sigma = calibrate(gaussian, Zcdp(rho=F(1, 8)), times=9)
    assert 6 <= sigma <= 6 * (1 + 1e-9)


@pytest.mark.parametrize("start", [1e-50, 1.0, 1e50])
def test_the_answer_does_not_depend_on_where_the_search_starts(start: float) -> None:
    budget = Approximate(epsilon=1, delta=1e-6)
    sigma = calibrate(gaussian, budget, times=50, start=start)
    assert fits(Repeated(gaussian(sigma), 50), budget)
    assert not fits(Repeated(gaussian(sigma * (1 - 1e-8)), 50), budget)


def test_a_number_that_means_cost_is_made_as_large_as_fits() -> None:
    budget = Approximate(epsilon=1, delta=1e-6)
    rho = calibrate(ZcdpEvent, budget, more="cost")
    assert rho <= 1 / (2 * F(calibrate(gaussian, budget)) ** 2) * (1 + F(1, 10**8))
    assert rho >= rho_from(1, 1e-6) * (1 - 1e-8)


def test_an_event_that_holds_another_is_priced_whole() -> None:
    scale = calibrate(lambda s: ThresholdEvent(PureEvent(1 / F(s)), F(1, 10**7)), Approximate(epsilon=1, delta=1e-6))
    event = ThresholdEvent(PureEvent(1 / F(scale)), F(1, 10**7))
    assert epsilon(event, 1e-6) <= 1
    with pytest.raises(Unsupported, match="no noise fits"):
        calibrate(lambda s: ThresholdEvent(PureEvent(1 / F(s)), F(1, 100)), Approximate(epsilon=1, delta=1e-6))


def test_what_costs_nothing_fits_at_the_least_number() -> None:
    assert calibrate(lambda s: PureEvent(F(0)), Pure(epsilon=1)) <= 2.0**-299


def test_fits_says_yes_at_the_edge_and_no_beyond_it() -> None:
    assert fits(PureEvent(F(1)), Pure(epsilon=1))
    assert not fits(PureEvent(F(1) + F(1, 10**30)), Pure(epsilon=1))
    assert not fits(ThresholdEvent(PureEvent(F(1, 2)), F(1, 10)), Pure(epsilon=1))
    assert not fits(ThresholdEvent(PureEvent(F(1, 2)), F(1, 10)), Zcdp(rho=1))
    assert fits(ZcdpEvent(F(1)), Zcdp(rho=1))
    assert fits(ThresholdEvent(PureEvent(F(1)), F(1, 10)), Approximate(epsilon=1, delta=F(1, 10)))
    with pytest.raises(BadParameter, match="budget"):
        fits(PureEvent(F(1)), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("times", 0), ("more", "less"), ("start", 0.0), ("start", math.inf), ("relative", -1.0)]
)
def test_bad_settings_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(BadParameter, match=name):
        calibrate(Noise, Pure(epsilon=1), **{name: value})  # type: ignore[arg-type]


def test_what_is_made_must_have_an_event() -> None:
    with pytest.raises(RequestError, match="mechanism or an event"):
        calibrate(lambda s: s, Pure(epsilon=1))  # type: ignore[arg-type, type-var]


@pytest.mark.parametrize("turn", [0.0, 2.0**-1074, 1e-300, 0.3, 1.0, 7e200])
def test_searches_find_the_turning_double_itself(turn: float) -> None:
    asked: list[float] = []

    def beyond(x: float) -> bool:
        asked.append(x)
        return x >= turn

    assert least(beyond, 0.0, 1e300) == turn
    assert len(asked) <= 66
    assert most(lambda x: x <= turn, 0.0, 1e300) == turn


def test_a_search_without_a_qualifying_end_is_a_bug() -> None:
    with pytest.raises(InvariantError):
        least(lambda x: False, 0.0, 1.0)
    with pytest.raises(InvariantError):
        most(lambda x: False, 0.0, 1.0)


def test_the_golden_section_finds_the_bottom_of_a_valley() -> None:
    assert lowest(lambda x: (x - 1.234) ** 2, -3, 8, steps=60) == pytest.approx(1.234, abs=1e-6)


def test_a_report_lists_only_the_theorems_that_apply_and_each_is_sound() -> None:
    pure = by_theorem(Repeated(PureEvent(F(1, 10)), 100), 1e-6)
    assert set(pure) == {"basic", "advanced", "advanced-kov", "optimal", "zcdp", "renyi", "pld"}
    assert min(pure.values()) >= pure["optimal"] * (1 - 1e-9)
    assert pure["pld"] <= pure["optimal"] * (1 + 1e-6), "randomised response is all that is known of these parts"
    noise = by_theorem(Repeated(ZcdpEvent(F(1, 100)), 10), 1e-6)
    assert set(noise) == {"zcdp", "renyi"}
    assert noise["zcdp"] == pytest.approx(noise["renyi"], rel=1e-9)
    assert by_theorem(PureEvent(F(1)), 0) == {"basic": 1.0, "advanced-kov": 1.0, "optimal": 1.0, "pld": 1.0}


@pytest.mark.parametrize("spent", [ApproximateEvent(F(1), F(1, 10)), ThresholdEvent(ZcdpEvent(F(1)), F(1, 10))])
def test_no_theorem_speaks_below_the_slack(spent: Event) -> None:
    assert by_theorem(spent, 1e-6) == {}
    assert epsilon(spent, 1e-6) == math.inf
    assert not fits(spent, Approximate(epsilon=100, delta=1e-6))


def test_each_theorem_is_calibrated_for_all_repetitions() -> None:
    found = calibrate_by_theorem(Noise, 1, F(1, 10**5), times=20)
    assert {"basic", "advanced", "optimal"} <= found.keys()
    for name, scale in found.items():
        assert by_theorem(Repeated(Noise(scale).event, 20), F(1, 10**5))[name] <= 1
        assert by_theorem(Repeated(Noise(scale * 0.999).event, 20), F(1, 10**5))[name] > 1
