"""An audit refutes claims that are false, says with what power, and lets those stand that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet.accounting import PureEvent
from privet.audit import audit
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import RequestError
from privet.mechanisms import Gaussian, Laplace, RandomizedResponse

DRAWS = 200_000
LAPLACE = Laplace(sensitivity=1, epsilon=1)
GAUSSIAN = Gaussian(sensitivity=1, epsilon=4, delta=1e-6)
RESPONSE = RandomizedResponse(epsilon=1)


def scalars(mechanism: Any) -> Callable[[Any, int], Any]:
    return lambda value, count: mechanism.release(np.full(count, value))


def rows(mechanism: Any) -> Callable[[Any, int], Any]:
    return lambda value, count: mechanism.release(np.tile(np.asarray(value), (count, 1)))


def texts(value: Any, count: int) -> list[str]:
    return ["yes" if bit else "no" for bit in RESPONSE.release(np.full(count, value))]


def tables(value: Any, count: int) -> list[dict[str, list[int]]]:
    return [{"n": [int(a)], "m": [int(b)]} for a, b in LAPLACE.release(np.tile([value, 0], (count, 1)))]


def mixed(value: Any, count: int) -> list[Any]:
    return [None if bit else "seen" for bit in RESPONSE.release(np.full(count, value))]


CASES: dict[str, tuple[Callable[[Any, int], Any], tuple[Any, Any]]] = {
    "whole numbers": (scalars(LAPLACE), (10, 11)),
    "reals": (scalars(LAPLACE), (10.0, 11.0)),
    "vectors": (rows(LAPLACE), ([0.0, 0.0, 3.0], [0.5, -0.5, 3.0])),
    "truths": (lambda v, n: RESPONSE.release(np.full(n, v)) == 1, (0, 1)),
    "texts": (texts, (0, 1)),
    "tables": (tables, (10, 11)),
    "anything": (mixed, (0, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_that_holds_stands_and_one_that_is_too_low_is_refuted(name: str) -> None:
    draw, neighbours = CASES[name]
    draws = DRAWS // (10 if name == "tables" else 1)
    fair = audit(draw, neighbours, 1, draws, batched=True)
    assert not fair.refuted
    assert 0.82 < fair.found <= 1
    # a true epsilon of 1.25 would be, and is, caught
    false = audit(draw, neighbours, 0.8, draws, batched=True)
    assert false.refuted
    assert false.found > 0.8


def test_a_curve_is_put_to_the_test_where_samples_reach() -> None:
    fair = audit(scalars(GAUSSIAN), (0.0, 1.0), GAUSSIAN.event, DRAWS, batched=True)
    assert not fair.refuted
    assert fair.delta > 0
    lax = Gaussian(sensitivity=1, epsilon=5, delta=1e-6)
    assert audit(scalars(lax), (0.0, 1.0), GAUSSIAN.event, DRAWS, batched=True).refuted


def test_noise_for_half_the_sensitivity_is_caught_in_both_directions() -> None:
    half = Laplace(sensitivity=0.5, epsilon=1)
    for neighbours in ((0.0, 1.0), (1.0, 0.0)):
        assert audit(scalars(half), neighbours, LAPLACE.event, 20_000, batched=True).refuted


def test_an_output_that_only_one_neighbour_gives_refutes_any_pure_claim() -> None:
    def leaks(value: int, count: int) -> Any:
        noisy = LAPLACE.release(np.full(count, value))
        return np.where(np.arange(count) % 50 == 0, 1000 + value, noisy)

    report = audit(leaks, (0, 1), 3, DRAWS, batched=True)
    assert report.refuted
    assert not audit(leaks, (0, 1), (1, 0.02), 20_000, batched=True).refuted


def test_mechanisms_and_plain_functions_are_audited_one_release_at_a_time() -> None:
    assert not audit(RESPONSE, (0, 1), RESPONSE.event, 4_000).refuted
    assert audit(lambda value: value, (0, 1), 2, 4_000).refuted
    assert not audit(lambda _: 7, (0, 1), 0, 4_000).refuted


@pytest.mark.parametrize(
    ("claimed", "epsilon", "delta"),
    [
        (Pure(epsilon=2), 2, 0),
        (Approximate(epsilon=2, delta=0.1), 2, 0.1),
        ((2, 0.1), 2, 0.1),
        (2.0, 2, 0),
        (PureEvent(2), 2, 0),
    ],
)
def test_a_claim_may_be_said_in_many_ways(claimed: object, epsilon: float, delta: float) -> None:
    report = audit(scalars(LAPLACE), (0, 1), claimed, 2_000, batched=True)
    assert report.epsilon <= epsilon * (1 + 1e-12)
    assert (report.delta == delta) or isinstance(claimed, PureEvent)


def test_rho_claims_a_curve() -> None:
    assert not audit(scalars(GAUSSIAN), (0.0, 1.0), Zcdp(rho=GAUSSIAN.event.rho()), 20_000, batched=True).refuted
    assert audit(scalars(LAPLACE), (0.0, 3.0), Zcdp(rho=0.1), 20_000, batched=True).refuted


def test_measured_points_lie_on_the_trade_off_that_is_claimed() -> None:
    report = audit(scalars(LAPLACE), (0.0, 1.0), 1, DRAWS, batched=True)
    assert len(report.points) > 20
    for false_positive, false_negative in report.points:
        least = max(1 - math.e * false_positive, (1 - false_positive) / math.e)
        assert false_negative >= least - 0.02


@pytest.mark.parametrize(
    "wrong",
    [
        {"claimed": "secret"},
        {"claimed": -1},
        {"claimed": math.nan},
        {"claimed": (1, 2)},
        {"samples": 10},
        {"neighbours": (1, 2, 3)},
        {"mechanism": 7},
        {"alarm": 0},
    ],
)
def test_what_cannot_be_audited_is_refused(wrong: dict[str, object]) -> None:
    asked: dict[str, Any] = {"mechanism": RESPONSE, "neighbours": (0, 1), "claimed": 1, "samples": 1_000, **wrong}
    with pytest.raises(RequestError):
        audit(**asked)


def test_a_report_reads_as_a_sentence() -> None:
    told = str(audit(scalars(LAPLACE), (0, 1), 0.5, 20_000, batched=True))
    assert told.startswith("REFUTED: claimed epsilon 0.5, found at least")
    assert "witness" in told
