"""Every attack of the lab breaks the careless program it is shown against, and leaves Privet standing."""

from __future__ import annotations

import numpy as np
import pytest

from privet.audit.attacks import ATTACKS
from privet.audit.blackbox import audit_bits, low_bits
from privet.audit.unsafe import float_gaussian, float_laplace
from privet.mechanisms import Gaussian, Laplace


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_breaks_the_careless_program_and_not_ours(name: str) -> None:
    outcome = ATTACKS[name]()
    assert outcome.broke, outcome.careless
    assert outcome.held, outcome.ours
    told = str(outcome)
    assert told.count("\n") == 3
    assert "(broken)" in told
    assert "(held)" in told


def test_labels_name_the_power_of_two_of_a_double_and_of_its_last_bit() -> None:
    labels = low_bits([0.0, 1.0, 2.0, 3.0, 0.5, -0.5, 1 + 2**-52, 6.0])
    assert labels[0] == 0
    assert labels[4] == labels[5]
    powers, lasts = np.divmod(labels[1:], 4096)
    assert list(powers - 2048) == [1, 2, 2, 0, 0, 1, 3]
    assert list(lasts - 2048) == [0, 1, 0, -1, -1, -52, 1]


RELEASES = {
    "Laplace on its fine grid": (Laplace(sensitivity=1, epsilon=1), 1),
    "Laplace, wide": (Laplace(sensitivity=1, epsilon=0.1), 0.1),
    "Gaussian": (Gaussian(sensitivity=1, sigma=1), Gaussian(sensitivity=1, sigma=1).event),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("vector", [False, True])
def test_the_low_bits_of_no_numeric_release_say_more_than_the_claim(name: str, vector: bool) -> None:
    mechanism, claimed = RELEASES[name]

    def draw(value: float, count: int) -> np.ndarray:
        if not vector:
            return np.array([mechanism.release(value) for _ in range(count)])
        return mechanism.release(np.full(count, value))

    assert not audit_bits(draw, claimed, 50_000 if vector else 1_000).refuted


def test_the_low_bits_of_floating_point_noise_refute_its_claim_though_its_shape_fits() -> None:
    from scipy.stats import kstest

    drawn = float_laplace(0.0, 50_000)
    assert kstest(drawn, "laplace").pvalue > 1e-6
    assert audit_bits(float_laplace, 1).refuted
    assert audit_bits(float_gaussian, Gaussian(sensitivity=1, sigma=1).event).refuted
