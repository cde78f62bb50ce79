"""Privet's side of the strategies' benchmark: the mean absolute error of each, over the same counts and ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import privet

# privet.strategy is loaded at its first use: every task's process imports this module, and imports are measured too


def count_errors(
    counts: list[list[int]], lows: list[int], highs: list[int], rows: int, epsilon: float, runs: int
) -> Callable[[], Any]:
    """Return the mean error of ranges over one attribute, as a share of all rows, by every strategy and estimate."""
    cells = len(counts[0])
    asked = privet.strategy.RangeWorkload("ranges", cells, np.array(lows), np.array(highs))
    kind = privet.strategy.prefixes(cells) if not any(lows) else privet.strategy.all_ranges(cells)
    best = privet.strategy.optimize(kind, measure="pure").strategy
    fixed = {
        "identity": privet.strategy.identity_strategy(cells, measure="pure"),
        "tree of 16": privet.strategy.tree(cells, branching=16, measure="pure"),
        "best tree": privet.strategy.best_tree(kind, measure="pure"),
        "Haar": privet.strategy.haar(cells, measure="pure"),
        "optimized": best,
    }
    price: Any = {"epsilon": epsilon, "neighbors": "add-remove"}
    adaptive = {"partition": privet.strategy.PartitionTree((cells,), **price)}
    if cells <= 256:
        public: Any = {"epsilon": epsilon, "neighbors": "change-one", "total": rows}
        adaptive["MWEM"] = privet.strategy.MultiplicativeWeights(kind, rounds=10, **public)  # type: ignore[assignment]

    def estimates(given: list[int]) -> Iterator[tuple[str, Any]]:
        yield "uniform", np.full(cells, rows / cells)
        for name, one in fixed.items():
            measure = privet.strategy.StrategyMeasure(one, **price)
            yield name, privet.strategy.reconstruct(measure, measure.draw(given)).cells
        for name, other in adaptive.items():
            yield name, other.release(given).cells

    return lambda: {"figures": mean_errors(asked, counts[:runs], rows, estimates)}


def box_errors(counts: list[list[int]], shape: list[int], rows: int, epsilon: float, runs: int) -> Callable[[], Any]:
    """Return the same for every pair of a prefix of each of two attributes."""
    sizes = tuple(shape)
    asked = privet.strategy.product(*(privet.strategy.prefixes(size) for size in sizes))
    price: Any = {"epsilon": epsilon, "neighbors": "add-remove"}
    trees = [privet.strategy.best_tree(privet.strategy.prefixes(size), measure="pure") for size in sizes]
    fixed: dict[str, privet.strategy.Strategy] = {
        "identity": privet.strategy.ProductStrategy(
            tuple(privet.strategy.identity_strategy(size, measure="pure") for size in sizes)
        ),
        "tree of 16": privet.strategy.tree(
            int(np.prod(sizes)), branching=16, measure="pure"
        ),  # over all cells, row after row
        "best tree": privet.strategy.ProductStrategy(tuple(trees)),
        "optimized": privet.strategy.optimize(asked, measure="pure").strategy,
    }
    partition = privet.strategy.PartitionTree(sizes, **price)

    def estimates(given: list[int]) -> Iterator[tuple[str, Any]]:
        yield "uniform", np.full(sizes, rows / np.prod(sizes))
        for name, one in fixed.items():
            measure = privet.strategy.StrategyMeasure(one, **price)
            yield name, privet.strategy.reconstruct(measure, measure.draw(given)).cells.reshape(sizes)
        yield "partition", partition.release(given).cells

    return lambda: {"figures": mean_errors(asked, counts[:runs], rows, estimates)}


def mean_errors(
    asked: privet.strategy.Workload, counts: list[list[int]], rows: int, estimates: Any
) -> dict[str, float]:
    """Return the mean absolute error of each estimate, as a share of all rows."""
    found: dict[str, list[float]] = {}
    for given in counts:
        truth = asked.answers(given)
        for name, cells in estimates(given):
            found.setdefault(name, []).append(float(np.abs(asked.answers(cells) - truth).mean()) / rows)
    return {name: sum(errors) / len(errors) for name, errors in found.items()}


STRATEGIES = {"count_errors": count_errors, "box_errors": box_errors}
