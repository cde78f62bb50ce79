"""No mechanism that returns a double reveals more in its low bits than is claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privet.audit.registry.end_to_end import DOUBLES, DoublesCheck
from privet.audit.unsafe import float_laplace


@pytest.mark.parametrize("road", DOUBLES, ids=lambda road: road.name)
def test_low_bits_tell_no_more_than_is_claimed(road: DoublesCheck) -> None:
    report = replace(road, samples=min(road.samples, 4_000)).judge()
    assert not report.refuted, str(report)


def test_the_same_net_catches_noise_in_floating_point_beside_a_whole_vector() -> None:
    def draw(value: list[float], count: int) -> np.ndarray:
        return np.stack([float_laplace(part, count) for part in value], axis=1)

    leaking = DoublesCheck("floats", lambda: draw, 1, lambda x: [x, 0.3])
    assert leaking.judge().refuted


def test_roads_have_names_of_their_own() -> None:
    assert len({road.name for road in DOUBLES}) == len(DOUBLES)
