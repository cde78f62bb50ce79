"""Intervals hold the truth where it is sparse: few rows or none, and formulas with corners just where the truth lies.

Each case releases the same exact sums for thousands of groups, through `release` and the reader. A test fails only
if so few intervals hold the truth that coverage of 94% would give as few once in 1e8 runs, by the exact binomial law.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.stats import binom

from privet.core.unit import Person, Rows

sys.path.insert(0, str(Path(__file__).parent))

from test_answer_coverage import CLOSED, SIMULATED, Case, coverage, gaussian, laplace

FALSE_ALARM = 1e-8
PLAIN = CLOSED.replace("COUNT(DISTINCT u) AS people, ", "")
TERMS = (
    "COUNT(*) AS one, COUNT(*) + SUM(i) AS two, COUNT(*) + SUM(i) - SUM(x) AS three, "
    "COUNT(*) + SUM(i) - SUM(x) + 3 * SUM(j) AS four"
)
CORNERS = (
    "GREATEST(COUNT(*), 0) AS clamped, GREATEST(COUNT(*), 0) + GREATEST(SUM(i), 0) AS clamped_two, "
    "GREATEST(COUNT(*), 0) + GREATEST(SUM(i), 0) + GREATEST(SUM(x), 0) + GREATEST(SUM(j), 0) AS clamped_four, "
    "ABS(COUNT(*) - SUM(j)) AS gap, COUNT(*) * COUNT(*) AS square, GREATEST(COUNT(*), SUM(i)) AS larger, "
    "LEAST(SUM(x), SUM(j)) AS smaller, CASE WHEN COUNT(*) > 3 THEN SUM(x) ELSE 0 END AS chosen"
)
NOISE = {"laplace": laplace(1), "gaussian": gaussian(Fraction(1, 10))}
some_noise = pytest.mark.parametrize("noise", NOISE)


def check(found: dict[str, float], trials: int) -> None:
    for name, covered in found.items():
        assert binom.cdf(round(covered * trials), trials, 0.94) > FALSE_ALARM, (name, covered)


@some_noise
@pytest.mark.parametrize("rows", [0, 1, 2, 8])
def test_intervals_of_every_aggregate_hold_a_sparse_truth(noise: str, rows: int) -> None:
    case = Case("sparse", NOISE[noise], Rows(), rows, low=0.0, high=4.0)
    check(coverage(case, f"{PLAIN}, {SIMULATED}", 3_000), 3_000)


@some_noise
def test_intervals_over_people_hold_a_sparse_truth(noise: str) -> None:
    case = Case("sparse people", NOISE[noise], Person("u"), 2, low=0.0, high=4.0)
    check(coverage(case, CLOSED, 3_000), 3_000)


@some_noise
@pytest.mark.parametrize("rows", [1, 300])
def test_intervals_of_one_to_four_terms_hold_as_often_as_they_say(noise: str, rows: int) -> None:
    check(coverage(Case("terms", NOISE[noise], Rows(), rows), TERMS, 6_000), 6_000)


@some_noise
@pytest.mark.parametrize("rows", [1, 2, 8, 300])
def test_intervals_of_formulas_with_corners_hold_a_truth_at_the_corner(noise: str, rows: int) -> None:
    case = Case("corners", NOISE[noise], Rows(), rows, low=0.0, high=4.0)
    check(coverage(case, CORNERS, 2_000), 2_000)
