"""Rounded continuous noise: the polynomial regions are those of the densities, and draws have the rounded law."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import chi2

from privet.core.errors import RequestError
from privet.noise import rounded_laplace, rounded_power, rounded_student
from privet.noise.heavy import power_from, power_region, settle, settle_many, student_from, student_region
from worlds import Script

DRAWS = 6000
ALARM = 1e-8


def power_within(power: int) -> Callable[[float], float]:
    """Return P[|Z| <= z] for the density 1 / (1 + |z|**power), by the beta law of |z|**p / (1 + |z|**p)."""
    return lambda z: float(betainc(1 / power, 1 - 1 / power, z**power / (1 + z**power)))


def student_within(degrees: int) -> Callable[[float], float]:
    return lambda z: float(betainc(0.5, degrees / 2, z * z / (1 + z * z)))


KINDS: dict[str, tuple[Callable[..., Any], Callable[[float], float]]] = {
    "Cauchy": (lambda scale, *size: rounded_power(scale, 2, *size), lambda z: 2 / math.pi * math.atan(z)),
    "power 3": (lambda scale, *size: rounded_power(scale, 3, *size), power_within(3)),
    "power 4": (lambda scale, *size: rounded_power(scale, 4, *size), power_within(4)),
    "power 7": (lambda scale, *size: rounded_power(scale, 7, *size), power_within(7)),
    "Student 1": (lambda scale, *size: rounded_student(scale, 1, *size), lambda z: 2 / math.pi * math.atan(z)),
    "Student 2": (lambda scale, *size: rounded_student(scale, 2, *size), student_within(2)),
    "Student 3": (lambda scale, *size: rounded_student(scale, 3, *size), student_within(3)),
    "Student 10": (lambda scale, *size: rounded_student(scale, 10, *size), student_within(10)),
    "Laplace": (rounded_laplace, lambda z: -math.expm1(-z)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2)])
@pytest.mark.parametrize("together", [False, True])
def test_draws_are_rounded_continuous_draws(kind: str, scale: Fraction, together: bool) -> None:
    draw, within = KINDS[kind]
    drawn = draw(scale, DRAWS) if together else np.array([draw(scale) for _ in range(DRAWS)], dtype=object)
    assert len(drawn) == DRAWS
    reach = 12
    below = [within((k + 0.5) / float(scale)) for k in range(reach + 1)]
    ahead = [below[0]] + [(b - a) / 2 for a, b in itertools.pairwise(below)]
    chances = np.array([(1 - below[-1]) / 2, *ahead[:0:-1], *ahead, (1 - below[-1]) / 2])
    places = np.array([min(max(x, -reach - 1), reach + 1) + reach + 1 for x in drawn])
    expected, seen = chances * DRAWS, np.bincount(places, minlength=2 * reach + 3)
    often = expected > 8
    pooled = [(seen[~often].sum(), expected[~often].sum())] if expected[~often].sum() > 8 else []
    pairs = [*zip(seen[often], expected[often], strict=True), *pooled]
    statistic = sum((a - b) ** 2 / b for a, b in pairs)
    assert chi2.sf(statistic, len(pairs)) > ALARM


REGIONS = {
    "Cauchy": power_region(2),
    "power 3": power_region(3),
    "power 64": power_region(64),
    "Student 1": student_region(1),
    "Student 3": student_region(3),
    "Student 64": student_region(64),
}


class Turns:
    """A source that says one word and another in turns, so that points refined twice are refined alike."""

    def __init__(self) -> None:
        self.turn = False

    def word(self) -> int:
        self.turn = not self.turn
        return 0x9E3779B97F4A7C15 if self.turn else 0x3C6EF372FE94F82A

    def words(self, count: int) -> Any:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


def edges() -> list[tuple[int, int]]:
    """Return points on the circle, at halves of scales, and at the ends of words."""
    fifths = [(3 * 2**64 // 5 + i, 4 * 2**64 // 5 + j) for i in range(-2, 3) for j in range(-2, 3)]
    halves = [(2**63 + i, (2 * k + 1) * 2**62 // 7 + j) for k in range(4) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    ends = [(a, b) for a in (0, 1, 2**20, 2**44, 2**63, 2**64 - 1) for b in (0, 1, 2**20, 2**44, 2**63, 2**64 - 1)]
    return fifths + halves + ends


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("scale", [Fraction(7, 2), Fraction(1, 3), Fraction(2**40), Fraction(1, 2**50)])
def test_many_points_are_settled_as_each_is_by_itself(name: str, scale: Fraction) -> None:
    words = np.frombuffer(os.urandom(16 * 3000), dtype=np.uint64).reshape(2, -1)
    tails = np.concatenate([words[0] >> np.arange(3000, dtype=np.uint64) % np.uint64(64), words[0]])
    u = np.concatenate([tails, np.array([a for a, _ in edges()], dtype=np.uint64)])
    v = np.concatenate([words[1], words[1], np.array([b for _, b in edges()], dtype=np.uint64)])
    region = REGIONS[name]
    sizes, kept = settle_many(scale, region, u, v, Turns())
    for lane, (a, b) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        alone = settle(scale, region, a, b, Turns())
        assert kept[lane] == (alone is not None)
        assert alone is None or sizes[lane] == alone


def test_a_point_on_the_edge_asks_for_more_bits() -> None:
    # u = 3/5 and v = 4/5 lie on the circle: the first 64 bits of both cannot tell, the next ones do.
    u, v = 3 * 2**64 // 5, 4 * 2**64 // 5
    inside = Script(u, v, 0, 0, 1)
    assert power_from(inside, Fraction(3), 2) == 4
    assert not inside.told
    top = 2**64 - 1
    outside = Script(u, v, top, top, 2**63, 2**62, 0)
    assert power_from(outside, Fraction(10), 2) == -5
    assert not outside.told


def test_a_quotient_near_a_half_asks_for_more_bits() -> None:
    # v / u is 1/2 to 64 bits: more decide whether it rounds to 0 or to 1
    u, v = 2**63, 2**62
    assert power_from(Script(u, v, 0, 5, 1), Fraction(1), 2) == 1
    assert power_from(Script(u, v, 5, 0, 1), Fraction(1), 2) == 0
    assert student_from(Script(u, v, 5, 0, 1), Fraction(1), 3) == 0


def test_scales_of_any_size_are_exact() -> None:
    assert abs(power_from(Script(2**63, 2**62), Fraction(10**30), 2)) // 10**28 in (49, 50)
    assert abs(rounded_laplace(Fraction(1, 10**9))) == 0
    assert all(rounded_student(Fraction(1, 10**40), 3) == 0 for _ in range(20))


def test_what_is_no_noise_is_refused() -> None:
    for scale in (Fraction(0), Fraction(-1)):
        for draw, _ in KINDS.values():
            with pytest.raises(RequestError, match="scale must be"):
                draw(scale)
    with pytest.raises(RequestError, match="power must be"):
        rounded_power(Fraction(1), 1)
    with pytest.raises(RequestError, match="degrees must be"):
        rounded_student(Fraction(1), 0)
