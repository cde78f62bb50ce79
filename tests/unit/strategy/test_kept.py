"""Strategies that are kept in a file: for their own sizes, and cut to smaller ones; plans of ranges come from these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.planner.many_counts import range_design
from privet.strategy import optimum
from privet.strategy.kept import kept_part, kept_sizes, kept_strategy

EARLIER = {50: 5.56, 100: 6.341, 200: 7.56}
"""Errors over all ranges that an optimisation of each size finds, in 600 steps."""


def test_every_size_is_kept_for_ranges_and_prefixes() -> None:
    for label in kept_sizes():
        name, _, size = label.rpartition(" ")
        assert name in ("all ranges", "prefixes")
        workload = strategy.all_ranges(int(size)) if name == "all ranges" else strategy.prefixes(int(size))
        found = kept_strategy(workload, "pure")
        assert found is not None
        if int(size) <= 256:
            assert found.rmse(workload) <= strategy.identity_strategy(int(size), measure="pure").rmse(workload) * 1.0001
    assert len(kept_sizes()) == 36


@pytest.mark.parametrize("cells", [21, 33, 50, 100, 200, 255, 300])
def test_a_part_of_a_kept_strategy_is_as_good_as_its_own(cells: int) -> None:
    """The cut strategy measures no more than the whole one did in any column, and errs no more over fewer ranges."""
    ranges = strategy.all_ranges(cells)
    part = kept_part(ranges, "pure")
    assert part is not None
    size = int(part.name.rpartition("for ")[2].split()[0].replace(",", ""))
    whole = kept_strategy(strategy.all_ranges(size), "pure")
    assert whole is not None
    assert part.column_norm() <= whole.column_norm()
    assert np.array_equal(part.matrix.toarray()[:cells], np.eye(cells))
    assert part.rmse(ranges) <= whole.rmse(strategy.all_ranges(size))
    if cells in EARLIER:
        assert part.rmse(ranges) < EARLIER[cells] * 1.01


def test_there_is_no_part_for_other_noise_or_more_cells() -> None:
    assert kept_part(strategy.all_ranges(100), "gaussian") is None
    assert kept_part(strategy.all_ranges(4096), "pure") is None
    assert kept_part(strategy.identity(100), "pure") is None


@pytest.mark.parametrize("cells", [3, 24, 77, 256, 300])
def test_plans_of_ranges_for_laplace_noise_optimise_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an optimisation finds differs by machine, and would be another plan on each."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("an optimisation ran")

    monkeypatch.setattr(optimum, "p_identity", refuse)
    found = range_design((cells,), "pure")
    assert found.digest == range_design((cells,), "pure").digest
    assert found.rmse(strategy.all_ranges(cells)) <= strategy.identity_strategy(cells, measure="pure").rmse(
        strategy.all_ranges(cells)
    )


def test_trees_of_plans_have_weights_of_a_few_digits() -> None:
    tree = strategy.best_tree(strategy.all_ranges(300), measure="pure")
    from privet.planner.many_counts import _with_short_levels, significant

    short = _with_short_levels(tree)
    assert short.spans == tree.spans
    assert all(weight == significant(weight) for weight in short.level_weights)
    assert short.rmse(strategy.all_ranges(300)) == pytest.approx(tree.rmse(strategy.all_ranges(300)), rel=1e-3)
