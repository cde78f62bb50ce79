"""The root of all ranges and of prefixes: near the optimum, inverted as it is measured, the same on every machine."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.planner.many_counts import range_design
from privet.strategy import optimum

WORKLOADS: dict[str, Any] = {"all ranges": strategy.all_ranges, "prefixes": strategy.prefixes}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("cells", [1, 2, 3, 16, 33, 130])
def test_the_root_is_within_a_five_hundredth_of_the_optimum(name: str, cells: int) -> None:
    workload = WORKLOADS[name](cells)
    found = strategy.spectral(workload)
    best = 1.0 if cells == 1 else strategy.gaussian_optimum(workload).rmse(workload)
    assert found.rmse(workload) <= best * 1.002
    assert found.matrix.min() >= 0  # so that pairs of columns are at most sqrt(2) apart


def test_errors_over_many_cells_are_near_those_of_the_optimum() -> None:
    """The optimum over 1,024 cells has 3.5151 for ranges, 2.9555 for prefixes; it takes seconds to find."""
    assert strategy.spectral(strategy.all_ranges(1024)).rmse(strategy.all_ranges(1024)) < 3.5151 * 1.001
    assert strategy.spectral(strategy.prefixes(1024)).rmse(strategy.prefixes(1024)) < 2.9555 * 1.002


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("cells", [1, 2, 7, 64])
@pytest.mark.parametrize("equal", [True, False])
def test_cells_and_covariance_are_those_of_least_squares_with_the_integers(name: str, cells: int, equal: bool) -> None:
    found = strategy.spectral(WORKLOADS[name](cells))
    plain = strategy.MatrixStrategy("plain", "gaussian", found.matrix, [1] * cells)
    generator = np.random.default_rng(5)
    variances = np.full(cells, 3.0) if equal else generator.uniform(1, 2, size=cells)
    counts = generator.integers(0, 100, size=cells)
    exact = np.array(found.apply(counts.tolist()), dtype=np.float64)
    assert found.solve(exact, variances) == pytest.approx(counts, abs=1e-6)
    assert found.covariance(variances).of_rows(np.eye(cells)) == pytest.approx(
        plain.covariance(variances).of_rows(np.eye(cells)), rel=1e-9, abs=0
    )
    rows = np.tril(np.ones((cells, cells)))
    assert found.covariance(variances).of_rows(rows) == pytest.approx(
        plain.covariance(variances).of_rows(rows), rel=1e-9, abs=0
    )


def test_entries_are_differences_of_one_even_function() -> None:
    found = strategy.spectral(strategy.all_ranges(5))
    g = [*found.kernel, *found.kernel[-2:0:-1]]
    expected = [[(g[abs(i - j)] - g[i + j]) * found.scales[j - 1] for j in range(1, 6)] for i in range(1, 6)]
    assert found.matrix.tolist() == expected
    halves = strategy.spectral(strategy.prefixes(3))
    g = [*halves.kernel, *halves.kernel[-2:0:-1]]
    whole = [[g[abs(i - j)] - g[(i + j) % len(g)] for j in range(1, 7)] for i in range(1, 7)]
    folded = [[(whole[3 + i][3 + j] + whole[3 + i][2 - j]) * halves.scales[j] for j in range(3)] for i in range(3)]
    assert halves.matrix.tolist() == folded


def test_the_integers_are_the_same_on_every_machine() -> None:
    """A plan that differed would be charged again. The last digits of a transform are far below the rounding."""
    found = strategy.spectral(strategy.all_ranges(1500))
    text = f"{found.kernel} {found.scales}"
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED
    assert range_design((1500,), "gaussian").digest == found.digest


PINNED = "12ad216a20cf685779038895479f36c6e48b17e0d6ccfed9b55912cda40411ce"


def test_many_cells_take_the_root_and_a_high_effort_says_what_it_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = strategy.all_ranges(300)
    lines: list[str] = []
    low = strategy.optimize(ranges, measure="gaussian", effort="low", progress=lines.append)
    assert (low.strategy.name, low.gained) == ("root of all ranges", 0.0)
    assert low.table[1].rmse > 1.15 * low.rmse
    best = strategy.optimize(ranges, measure="gaussian", progress=lines.append)
    assert best.gained == pytest.approx(1 - best.rmse / low.rmse)
    assert 0 < best.gained < 0.001
    assert lines[-1].startswith("optimal for Gaussian noise: 0.0")
    assert lines[-1].endswith("less error than root of all ranges, which takes no optimisation")
    assert any(line.startswith("step 1: within") for line in lines)
    monkeypatch.setattr(optimum, "gaussian_optimum", None)  # not called above 1,024 cells, but with high effort
    assert strategy.optimize(strategy.all_ranges(1025), measure="gaussian").strategy.name == "root of all ranges"


def test_progress_of_a_long_optimisation_is_shown() -> None:
    lines: list[str] = []
    strategy.p_identity(strategy.all_ranges(64), iterations=150, restarts=2, progress=lines.append)
    assert lines[0].startswith("start 1 of 2, step 100: RMSE")
    assert lines[-1].startswith("start 2 of 2: RMSE")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: strategy.spectral(strategy.identity(4)), "use optimize"),
        (lambda: strategy.spectral(strategy.windows(8, 2)), "use optimize"),
        (lambda: strategy.spectral(strategy.prefixes(9000)), "8,192"),
        (lambda: strategy.SpectralStrategy("x", "pure", [[1]], [1], "dense", (1, 0, 0), (1,)), "gaussian"),
        (lambda: strategy.SpectralStrategy("x", "gaussian", [[1]], [1], "dense", (1, 0), (1,)), "3 integers"),
        (lambda: strategy.SpectralStrategy("x", "gaussian", [[2]], [1], "dense", (1, 0, 0), (1,)), "what the kernel"),
        (lambda: strategy.SpectralStrategy("x", "gaussian", [[1]], [2], "dense", (1, 0, 0), (1,)), "weight of 1"),
        (lambda: strategy.SpectralStrategy("x", "gaussian", [[1]], [1], "dense", (1, 0, 0), (0,)), "from 1"),
        (
            lambda: strategy.SpectralStrategy(
                "x", "gaussian", [[-1, 1], [1, -1]], [1] * 2, "dense", (0, 1, 1, 0), (1, 1)
            ),
            "unmeasured",
        ),
    ],
)
def test_others_are_refused(make: Any, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        make()


def test_progress_says_where_nothing_was_gained() -> None:
    lines: list[str] = []
    best = strategy.optimize(strategy.identity(12), measure="pure", effort="high", progress=lines.append)
    assert best.gained == 0
    assert lines[-1] == f"{best.strategy.name}: no optimisation gained anything over it"
