"""What is simulated has the law of what is released one by one: two samples of each, compared (chi-squared, 1e-9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from privet.mechanisms import (
    AboveThreshold,
    Average,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    LaplaceThreshold,
    Local,
    Mechanism,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    ProposeTestRelease,
    Quantile,
    RandomizedResponse,
    SampleAggregate,
    SmoothQuantile,
    SmoothSensitivity,
    Sparse,
    TopK,
    TopKWithGaps,
    Tulap,
    sparse_run,
)

SINGLE, MANY = 3_000, 30_000


def plain(released: Any) -> Any:
    return released


def rounded(released: Any) -> Any:
    return tuple(np.floor(np.ravel(np.asarray(released, dtype=float)) * 2).tolist())


def crossings(released: Any) -> Any:
    return (*released.indices, *[-1] * (2 - len(released.indices)))[:2]


def ranking(released: Any) -> Any:
    return (*released.indices, released.gaps[0] > 1, released.gaps[1] > 2)


CASES: dict[str, tuple[Mechanism, Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Laplace": (Laplace(sensitivity=1, epsilon=1), 3, plain, plain),
    "Laplace, reals": (Laplace(sensitivity=1, epsilon=1), 0.5, rounded, rounded),
    "Laplace, vectors": (Laplace(sensitivity=1, epsilon=2), [0, 5], tuple, tuple),
    "Laplace, fractions": (Laplace(sensitivity=1, epsilon=1), Fraction(1, 3), rounded, rounded),
    "Gaussian": (Gaussian(sensitivity=1, sigma=1), 0.5, rounded, rounded),
    "Gaussian, whole": (Gaussian(sensitivity=2, sigma=2, grid="whole"), 5, plain, plain),
    "Response": (RandomizedResponse(epsilon=1, categories=["a", "b", "c"]), "b", plain, plain),
    "Finite": (FiniteMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), 1, plain, plain),
    "Exponential": (Exponential(sensitivity=1, epsilon=2), [0, 1, 3], plain, plain),
    "Permute and flip": (PermuteAndFlip(sensitivity=1, epsilon=2), [0, 1, 3], plain, plain),
    "Noisy maximum": (NoisyMax(sensitivity=1, epsilon=2, law="laplace"), [0, 1, 3], plain, plain),
    "Top k": (TopK(k=2, sensitivity=1, epsilon=2), [0, 1, 3, 2], tuple, tuple),
    "Top k with gaps": (
        TopKWithGaps(k=2, sensitivity=1, epsilon=2),
        [0, 1, 3, 2],
        ranking,
        lambda row: (int(row[0]), int(row[1]), row[2] > 1, row[3] > 2),
    ),
    "Above threshold": (
        AboveThreshold(threshold=1, sensitivity=1, epsilon=2),
        [0, 1, 2],
        lambda found: (found.first, min(int(found.gaps[0]), 9)) if found.indices else None,
        lambda row: None if row[0] < 0 else (int(row[0]), min(int(row[1]), 9)),
    ),
    "Sparse": (
        Sparse(threshold=1, limit=2, sensitivity=1, epsilon=4, grid="whole"),
        [0, 1, 2],
        crossings,
        lambda row: tuple(row[:2].astype(int).tolist()),
    ),
    "Sparse, refreshed": (
        Sparse.lecture(threshold=1, limit=2, sensitivity=1, epsilon=8),
        [0, 1, 2],
        crossings,
        lambda row: tuple(row[:2].astype(int).tolist()),
    ),
    "Sparse, measured": (
        NumericSparse(threshold=1, limit=1, sensitivity=1, epsilon=4, grid="whole"),
        [0, 1, 2],
        lambda found: (found.first, *found.values),
        lambda row: (None,) if row[0] < 0 else (int(row[0]), int(row[2])),
    ),
    "Tulap": (Tulap(epsilon=1), 2, rounded, rounded),
    "Tulap, truncated": (Tulap(epsilon=1, delta=0.05), 2, rounded, rounded),
    "Tulap, mostly truncated": (Tulap(epsilon=0.01, delta=0.2), 2, rounded, rounded),
    "Optimal keys": (OptimalKeys(epsilon=1, delta=0.05), 2, plain, plain),
    "Laplace threshold": (LaplaceThreshold(epsilon=1, delta=0.05), 2, plain, plain),
    "Quantile": (Quantile(q=0.5, low=0, high=9, step=1, epsilon=2), [2, 2, 7], plain, plain),
    "Quantile, no data": (Quantile(q=0.5, low=0, high=9, step=1, epsilon=2), [], plain, plain),
    "Quantile, far ends": (
        Quantile(q=0.5, low=0, high=40, step=1, epsilon=400),
        [10, 20, 20, 20, 30],
        plain,
        plain,
    ),
    "Smooth sensitivity": (
        SmoothSensitivity(low=0, high=9, step=1, epsilon=4),
        Local(4, [1] + [7] * 39),
        plain,
        plain,
    ),
    "Smooth quantile": (SmoothQuantile(q=0.5, low=0, high=9, step=1, epsilon=4), [4, 4, 9], plain, plain),
    "Average": (Average(low=0, high=1, step=1, epsilon=2), [0, 1, 1], plain, plain),
    "Average, change-one": (
        Average(low=0, high=1, step=1, epsilon=2, neighbors="change-one"),
        [0, 1, 1],
        plain,
        plain,
    ),
    "Sample and aggregate": (
        SampleAggregate(
            estimator=max,
            blocks=2,
            aggregate=Quantile(q=0.5, low=0, high=5, step=1, epsilon=4, neighbors="change-one"),
        ),
        [1, 3, 5],
        plain,
        plain,
    ),
    "Propose, test, release": (
        ProposeTestRelease(bound=1, epsilon=2, delta=0.05),
        Local(0, [1, 1, 1, 2]),
        plain,
        plain,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_simulated_has_the_law_of_what_is_released(name: str) -> None:
    mechanism, value, of_one, of_row = CASES[name]
    drawn = mechanism.simulate(value, MANY)
    assert len(drawn) == MANY
    alone = Counter(of_one(mechanism.release(value)) for _ in range(SINGLE))
    together = Counter(map(of_row, drawn))
    labels = sorted({*alone, *together}, key=lambda label: -alone[label] - together[label])
    frequent = [label for label in labels if alone[label] + together[label] >= 110]  # ten of them alone
    table = [[count[label] for label in frequent] for count in (alone, together)]
    for row, count in zip(table, (alone, together), strict=True):
        row.append(count.total() - sum(row))
    kept = np.array(table)[:, np.array(table).sum(axis=0) > 0]
    assert kept.shape[1] > 1 or name == "Quantile, far ends"
    if kept.shape[1] > 1:
        assert chi2_contingency(kept).pvalue > 1e-9


def test_no_releases_can_be_simulated_too() -> None:
    for mechanism, value, _, _ in CASES.values():
        assert len(mechanism.simulate(value, 0)) == 0


def test_a_release_is_what_is_simulated_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # the paths that differ meet in one function, which is watched here
    watched: dict[str, tuple[Any, str, list[tuple[Mechanism, Any]]]] = {
        "first_reaches": (
            sparse_run,
            "first_reaches",
            [
                (AboveThreshold(threshold=1, sensitivity=1, epsilon=2), [0, 1, 2]),
                (Sparse(threshold=1, limit=2, sensitivity=1, epsilon=4, grid="whole"), [0, 1, 2]),
                (NumericSparse(threshold=1, limit=1, sensitivity=1, epsilon=4, grid="whole"), [0, 1, 2]),
            ],
        ),
        "simulate_steps": (
            SmoothSensitivity,
            "simulate_steps",
            [
                (SmoothSensitivity(low=0, high=9, step=1, epsilon=4), Local(4, [1] * 40)),
                (SmoothQuantile(q=0.5, low=0, high=9, step=1, epsilon=4), [4, 4, 9]),
            ],
        ),
        "_answers": (SampleAggregate, "_answers", [(CASES["Sample and aggregate"][0], [1, 3, 5])]),
    }
    for owner, name, cases in watched.values():
        seen: list[str] = []
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, real=real, seen=seen: (seen.append("x"), real(*given))[1])
        for mechanism, value in cases:
            for draw in (lambda: mechanism.release(value), lambda: mechanism.simulate(value, 3)):  # noqa: B023
                seen.clear()
                draw()
                assert seen, (name, mechanism)
