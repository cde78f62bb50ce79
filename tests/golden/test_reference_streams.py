"""Continual counting: the published errors of the tree, of Honaker's estimate and of the square root are reached."""

from __future__ import annotations

import math

import pytest

from privet.core.budget import Pure, Zcdp
from privet.stream import BufferedSums, RootSums, TreeSums
from privet.stream.sums import RunningSums

UNIT = Zcdp(rho=0.5)
"""At this cost the noise of one number that moves by 1 has standard deviation 1."""


def errors(sums: RunningSums[object]) -> tuple[float, float]:
    """Return the largest standard error over all steps, and their root mean square."""
    found = [sums.deviation(step) for step in range(1, sums.horizon + 1)]
    return max(found), math.sqrt(math.fsum(one * one for one in found) / len(found))


@pytest.mark.parametrize(
    ("horizon", "most", "mean"),
    [(16, 4.4721, 3.2113), (64, 6.4807, 4.5945), (1024, 10.4881, 7.4169), (4096, 12.4900, 8.8319)],
)
def test_the_tree_errs_as_published(horizon: int, most: float, mean: float) -> None:
    found = errors(TreeSums(horizon=horizon, spend=UNIT, refine=False))
    assert found == pytest.approx((most, mean), abs=6e-5)


@pytest.mark.parametrize(
    ("horizon", "most", "mean"), [(16, 3.7225, 2.6627), (64, 5.1545, 3.6523), (256, 6.5736, 4.6501)]
)
def test_the_refined_tree_errs_as_published(horizon: int, most: float, mean: float) -> None:
    assert errors(TreeSums(horizon=horizon, spend=UNIT)) == pytest.approx((most, mean), abs=6e-5)


ROOTS = [(16, 1.9439, 1.7968), (64, 2.3888, 2.2297), (1024, 3.2726, 3.1098), (4096, 3.7139, 3.5513)]


@pytest.mark.parametrize(("horizon", "most", "mean"), ROOTS)
def test_the_square_root_errs_as_published(horizon: int, most: float, mean: float) -> None:
    assert errors(RootSums(horizon=horizon, spend=UNIT)) == pytest.approx((most, mean), rel=1e-4)


@pytest.mark.parametrize(("horizon", "most", "mean"), ROOTS)
def test_a_few_buffers_err_as_the_square_root_does(horizon: int, most: float, mean: float) -> None:
    found = errors(BufferedSums(horizon=horizon, spend=UNIT))
    assert found[0] <= 1.001 * most
    assert found[1] <= 1.001 * mean


@pytest.mark.parametrize("horizon", [10_000, 100_000, 1_000_000, 2**24])
def test_a_few_buffers_are_near_the_square_root_at_long_horizons(horizon: int) -> None:
    # the square root's largest error is the sum of f_j^2, which is (ln T + gamma + 4 ln 2) / pi and below 1/T more
    root = (math.log(horizon) + 0.5772156649 + 4 * math.log(2)) / math.pi
    sums = BufferedSums(horizon=horizon, spend=UNIT)
    assert max(sums.deviation(step) for step in (horizon, horizon // 2, horizon // 10, 1)) <= 1.005 * root
    assert len(sums.factors) <= 8


def test_the_pure_tree_errs_as_published() -> None:
    sums = TreeSums(horizon=1024, spend=Pure(epsilon=1), refine=False)
    found = errors(sums)[1]
    assert found == pytest.approx(34.788, rel=1e-3)  # of Laplace noise; of whole numbers it is a little less
    assert found <= 34.788
