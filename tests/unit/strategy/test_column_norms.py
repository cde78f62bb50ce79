"""What a unit can move, by brute force: norms are exact, attained, and the events are those of the draws."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from privet import strategy
from privet.accounting import PureEvent
from privet.core.errors import InvariantError, RequestError
from privet.mechanisms import GaussianEvent
from privet.strategy.integer_products import exact_product

MEASURES = ("pure", "gaussian")


def random_strategies(measure: str) -> list[strategy.MatrixStrategy]:
    generator = np.random.default_rng(3)
    found = []
    for signed in (False, True):
        for _ in range(6):
            rows, cells = generator.integers(1, 6), generator.integers(2, 5)
            matrix = generator.integers(-3 if signed else 0, 4, size=(rows, cells))
            matrix[0, 0] = 2
            found.append(strategy.MatrixStrategy("random", measure, matrix, generator.integers(1, 9, size=rows)))  # type: ignore[arg-type]
    return found


def listed(measure: Any) -> list[strategy.Strategy]:
    two = strategy.matrix([[1, 0, 1], [0, 1, 1]])
    factors = (strategy.haar(4, measure=measure), strategy.tree(2, measure=measure))
    return [
        *random_strategies(measure),
        strategy.identity_strategy(5, measure=measure),
        strategy.tree(6, branching=2, measure=measure, weights=[3, 1, 0, 2]),
        strategy.tree(4, branching=4, measure=measure),
        strategy.haar(8, measure=measure),
        strategy.haar(6, measure=measure, weights=[2, 1, 5, 3]),
        strategy.sums_and_differences(two, measure=measure),
        strategy.ProductStrategy(factors),
        *unions(measure),
        *([strategy.spectral(strategy.all_ranges(4))] if measure == "gaussian" else []),
        strategy.plan_marginals(strategy.all_marginals((2, 3), ways=1), measure=measure),
        strategy.MarginalStrategy(measure, (2, 1, 2), ((), (1,), (0, 2)), (4, 2, 1)),
    ]


def unions(measure: Any) -> list[strategy.Strategy]:
    """Products whose largest columns are not in one place, so that neither part's norm is the norm of both."""
    wide = strategy.MatrixStrategy("wide", measure, [[3, 2, 0], [0, 1, 1]], [1, 2])
    other = strategy.MatrixStrategy("other", measure, [[0, 3, 4]], [1])
    two = strategy.MatrixStrategy("two", measure, [[1, 2]], [3])
    back = strategy.MatrixStrategy("back", measure, [[2, -1], [1, 0]], [1, 1])
    crossed = (strategy.ProductStrategy((wide, two)), strategy.ProductStrategy((other, back)))
    return [
        strategy.UnionStrategy(crossed, (1, 2)),
        strategy.UnionStrategy((*crossed, strategy.ProductStrategy((wide, back))), (1, 7, 3)),
        strategy.UnionStrategy((wide, other), (1, 1)),
    ]


def explicit(one: strategy.Strategy) -> np.ndarray:
    """Return the matrix, from what is applied to one row in each cell."""
    return np.array([one.apply([int(x) for x in unit]) for unit in np.eye(one.cells, dtype=int)], dtype=object).T


def moved(one: strategy.Strategy, vector: np.ndarray) -> Fraction:
    power = 1 if one.measure == "pure" else 2
    weights = one.row_weights()
    return Fraction(sum(weight * abs(int(move)) ** power for weight, move in zip(weights, vector, strict=True)))


CASES = [(measure, place) for measure in MEASURES for place in range(len(listed(measure)))]


@pytest.mark.parametrize(("measure", "place"), CASES)
def test_norms_are_the_largest_that_any_unit_reaches(measure: str, place: int) -> None:
    one = listed(measure)[place]
    matrix = explicit(one)
    for limit in (1, 3):
        factor = limit ** (1 if measure == "pure" else 2)
        units = [
            np.array(unit, dtype=object)
            for unit in itertools.product(range(limit + 1), repeat=one.cells)
            if sum(unit) <= limit
        ]
        if len(units) > 60:
            units = units[:: len(units) // 60] + [limit * row for row in np.eye(one.cells, dtype=int).astype(object)]
            units.append(0 * units[0])
        images = [matrix @ unit for unit in units]
        assert max(moved(one, image) for image in images) == factor * one.column_norm()
        pairs = max(moved(one, first - second) for first in images for second in images)
        assert pairs == factor * one.pair_norm()


def test_scaling_units_in_l2_does_not_bound_a_tree() -> None:
    tree = strategy.tree(16, measure="gaussian")
    spread = explicit(tree) @ np.ones(16, dtype=object)  # one row in each of 16 cells: an L2 norm of 4
    assert moved(tree, spread) > 16 * tree.column_norm() * 6
    assert moved(tree, spread) <= 16**2 * tree.column_norm()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_bound_on_pairs_of_many_cells_is_no_smaller_than_any_pair(measure: Any) -> None:
    for one in (
        strategy.haar(2048, measure=measure),
        strategy.tree(2048, branching=4, measure=measure),
        strategy.ProductStrategy((strategy.haar(32, measure=measure), strategy.haar(32, measure=measure))),
    ):
        places = [0, 1, one.cells // 4, one.cells // 2, one.cells - 1]
        columns = []
        for place in places:
            unit = [0] * one.cells
            unit[place] = 1
            columns.append(np.array(one.apply(unit), dtype=object))
        worst = max(moved(one, first - second) for first in columns for second in columns)
        assert worst <= one.pair_norm()
        assert one.pair_norm() <= (2 if measure == "pure" else 4) * one.column_norm()
        if not isinstance(one, strategy.ProductStrategy) and one.name != "Haar wavelet":
            assert worst == one.pair_norm()


@pytest.mark.parametrize("measure", MEASURES)
def test_the_norm_of_a_union_is_the_largest_sum_and_no_sum_or_maximum_of_norms(measure: Any) -> None:
    for one in unions(measure)[::2]:
        parts = [weight * part.column_norm() for part, weight in zip(one.parts, one.weights, strict=True)]  # type: ignore[attr-defined]
        assert max(parts) < one.column_norm() < sum(parts)
    many = strategy.ProductStrategy((strategy.haar(64, measure=measure), strategy.tree(32, measure=measure)))
    wide = strategy.UnionStrategy((many, many), (1, 3))
    assert wide.column_norm() == 4 * many.column_norm()
    assert wide.pair_norm() == (2 if measure == "pure" else 4) * wide.column_norm()


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3), (4, 4), (2, 5, 3)])
@pytest.mark.parametrize("ways", [1, 2])
def test_residuals_move_by_what_is_claimed(sizes: tuple[int, ...], ways: int) -> None:
    """P (e_x - e_y) for every pair of cells, in rationals, against the norms."""
    planned = strategy.plan_residuals(strategy.all_marginals(sizes, ways=ways))
    cells = list(itertools.product(*map(range, sizes)))

    def product_of(first: tuple[int, ...], second: tuple[int, ...], axes: tuple[int, ...]) -> Fraction:
        return math.prod(((first[a] == second[a]) - Fraction(1, sizes[a]) for a in axes), start=Fraction(1))

    def squared(first: tuple[int, ...], second: tuple[int, ...] | None) -> Fraction:
        found = Fraction(0)
        for axes, weight in zip(planned.subsets, planned.weights, strict=True):
            part = product_of(first, first, axes)
            if second is not None:
                part += product_of(second, second, axes) - 2 * product_of(first, second, axes)
            found += weight * part
        return found

    assert max(squared(cell, None) for cell in cells) == planned.column_norm()
    worst = max(squared(first, second) for first in cells for second in cells)
    assert max(worst, planned.column_norm()) == planned.pair_norm()


def test_residuals_alone_are_not_covered_by_twice_the_norm() -> None:
    alone = strategy.ResidualStrategy((2, 3), ((0, 1),), (1,))
    assert alone.pair_norm() / alone.column_norm() == 4
    many = strategy.ResidualStrategy((2,) * 15, ((0, 1),), (1,))
    assert many.pair_norm() == 4 * many.column_norm()


def test_the_norm_of_pairs_is_the_largest_over_every_pattern_of_agreement() -> None:
    generator = np.random.default_rng(5)
    for _ in range(25):
        sizes = tuple(int(size) for size in generator.integers(1, 6, size=4))
        wide = [axis for axis in range(4) if sizes[axis] > 1]
        every = [axes for ways in range(len(wide) + 1) for axes in itertools.combinations(wide, ways)]
        subsets = tuple(axes for axes in every if generator.random() < 0.5) or (every[-1],)
        weights = tuple(int(weight) for weight in generator.integers(1, 2**40, size=len(subsets)))
        ranged = {axis: strategy.prefixes(sizes[axis]) for axis in wide[::2]}
        bases = strategy.plan_residuals(strategy.marginals(sizes, [wide], factors=ranged)).bases if wide else ()
        one = strategy.ResidualStrategy(sizes, subsets, weights, bases=bases)
        moved = [one.column_norm()]
        for pattern in itertools.product((True, False), repeat=4):
            agreeing = Fraction(0)
            for axes, weight in zip(subsets, weights, strict=True):
                agreeing += weight * math.prod((one._product(axis, pattern[axis]) for axis in axes), start=Fraction(1))
            moved.append(2 * (one.column_norm() - agreeing))
        assert one.pair_norm() == max(moved)


def test_the_norm_of_pairs_of_many_attributes_takes_no_time() -> None:
    sizes = (2, 5, 3, 10, 4, 6, 7, 2, 9, 16, 5, 4, 3, 8)
    factors = {3: strategy.all_ranges(10)}
    planned = strategy.plan_residuals(strategy.all_marginals(sizes, ways=3, below=True, factors=factors))
    began = time.process_time()
    assert planned.column_norm() < planned.pair_norm() < 4 * planned.column_norm()
    assert time.process_time() - began < 2


@pytest.mark.parametrize(("measure", "place"), CASES)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_the_event_is_that_of_the_scales_that_are_drawn(measure: str, place: int, neighbors: Any) -> None:
    one = listed(measure)[place]
    price = {"epsilon": Fraction(3, 7)} if measure == "pure" else {"rho": Fraction(3, 7)}
    measured = strategy.StrategyMeasure(one, neighbors=neighbors, contribution=5, **price)  # type: ignore[arg-type]
    scales = [scale for scale, many in measured.noises for _ in range(many)]
    matrix = explicit(one)
    columns = [matrix[:, i] for i in range(one.cells)]
    shifts = columns + [a - b for a in columns for b in columns] * (neighbors == "change-one")
    if measure == "pure":
        worst = max(sum(5 * abs(int(m)) / b for m, b in zip(shift, scales, strict=True)) for shift in shifts)
        assert measured.event == PureEvent(worst)
        assert worst == Fraction(3, 7)
    else:
        worst = max(sum(25 * int(m) ** 2 / v for m, v in zip(shift, scales, strict=True)) for shift in shifts)
        assert isinstance(measured.event, GaussianEvent)
        assert measured.event.rho() == worst / 2 == Fraction(3, 7)
        assert measured.event.blur > 0


def test_unequal_laplace_scales_are_priced_as_pure_and_nothing_less() -> None:
    """The exact hockey stick of two discrete Laplaces of scales 1 and 3 stays below the event's curve."""
    one = strategy.MatrixStrategy("two rows", "pure", [[1, 0], [1, 1]], [3, 1])
    measured = strategy.StrategyMeasure(one, epsilon=Fraction(4, 3), neighbors="add-remove")
    assert [scale for scale, _ in measured.noises] == [1, 3]
    places = np.arange(-60, 61)
    first, second = np.exp(-abs(places) / 1.0), np.exp(-abs(places) / 3.0)
    law = np.outer(first / first.sum(), second / second.sum())
    shifted = np.roll(np.roll(law, 1, axis=0), 1, axis=1)
    for epsilon in (0.0, 0.3, 0.9, 1.3):
        delta = np.maximum(law - math.exp(epsilon) * shifted, 0)[5:-5, 5:-5].sum()
        claimed = float(measured.event.pair().forward(np.array([epsilon]))[0])
        assert delta <= claimed + 1e-9
        if epsilon == 0.0:  # and the continuous curve of one Laplace of that epsilon would not cover an integer law
            assert claimed > 1 - math.exp(-float(Fraction(4, 3)) / 2)


@pytest.mark.parametrize("bits", [1, 20, 53, 62, 63, 64, 80, 300])
def test_products_are_exact_for_integers_of_any_size(bits: int) -> None:
    generator = np.random.default_rng(bits)
    for matrix in (
        generator.integers(-(2**20), 2**20, size=(5, 9)),
        np.ones((3, 9), dtype=np.int64),
        strategy.haar(8, measure="pure").matrix,
        strategy.gaussian_optimum(strategy.prefixes(9)).matrix,
    ):
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        counts = [
            int.from_bytes(generator.bytes(40)) % 2**bits * int(generator.choice([-1, 1]))
            for _ in range(dense.shape[1])
        ]
        counts[0] = 2**bits + 1
        expected = [sum(int(a) * x for a, x in zip(row, counts, strict=True)) for row in dense]
        assert exact_product(matrix, counts) == expected


def test_products_of_strategies_are_exact_too() -> None:
    both = strategy.ProductStrategy((strategy.haar(4, measure="pure"), strategy.tree(3, measure="pure")))
    for size in (10, 2**61, 2**70):
        counts = [size + place * 7 + 1 for place in range(12)]
        rows = both.expanded().matrix
        assert both.apply(counts) == [sum(int(a) * x for a, x in zip(row, counts, strict=True)) for row in rows]
        together = strategy.UnionStrategy((both, both), (1, 2))
        assert together.apply([-one for one in counts]) == 2 * [-one for one in both.apply(counts)]
    table = strategy.MarginalStrategy("pure", (2, 2), ((0,), ()), (1, 1))
    assert table.apply([2**62, 1, 2**62, 3]) == [2**62 + 1, 2**62 + 3, 2**63 + 4]


def test_matrices_whose_products_could_overflow_are_refused() -> None:
    with pytest.raises(RequestError, match="too large"):
        exact_product(np.full((1, 16), 2**60), [1] * 16)  # a sum of 2**64, which is 0 in 64 bits


@pytest.mark.parametrize(
    ("measure", "matrix"),
    [
        ("gaussian", [[2**31]]),
        ("gaussian", [[2**30 + 1]] * 2),
        ("pure", [[2**60] * 2]),
        ("pure", [[2**60]] * 2),
        ("pure", sparse.csr_array(np.array([[2**61, 1], [0, 1]]))),
    ],
)
def test_a_matrix_whose_sums_could_overflow_is_refused_when_it_is_made(measure: Any, matrix: Any) -> None:
    with pytest.raises(RequestError, match="divide the matrix by a power of two"):
        strategy.MatrixStrategy(
            "wide", measure, matrix, [1] * (matrix.shape[0] if hasattr(matrix, "shape") else len(matrix))
        )


@pytest.mark.parametrize(
    ("measure", "rows"), [("gaussian", [[2**30, 2**30 - 1]]), ("pure", [[2**60, 2**59], [2**59, 1]])]
)
def test_the_largest_entries_that_are_taken_are_measured_exactly(measure: Any, rows: list[list[int]]) -> None:
    made = strategy.MatrixStrategy("wide", measure, rows, [2**100] * len(rows))
    power = 1 if measure == "pure" else 2
    assert made.column_norm() == 2**100 * max(sum(row[cell] ** power for row in rows) for cell in range(2))
    assert made.apply([2**70, -1]) == [row[0] * 2**70 - row[1] for row in rows]
    assert made.rmse(strategy.matrix(rows)) > 0


def test_weights_beyond_doubles_are_refused() -> None:
    with pytest.raises(RequestError, match=r"at most 2\*\*100"):
        strategy.MatrixStrategy("wide", "pure", [[1]], [2**100 + 1])


def test_an_array_of_whole_objects_is_a_matrix_and_of_others_is_none() -> None:
    whole = np.array([[1, 2], [0, 3]], dtype=object)
    assert strategy.MatrixStrategy("objects", "pure", whole, [1, 1]).matrix.tolist() == [[1, 2], [0, 3]]
    for other in (1.0, True, None, "1"):
        with pytest.raises(RequestError, match="whole numbers"):
            strategy.MatrixStrategy("objects", "pure", np.array([[1, other]], dtype=object), [1])


@pytest.mark.parametrize(
    "kind", [list, np.array, lambda rows: sparse.csr_array(np.array(rows))], ids=["list", "dense", "csr"]
)
def test_a_number_without_an_absolute_value_in_64_bits_is_refused(kind: Any) -> None:
    """Two entries of -2**63 in a column add up to nothing in 64 bits, and their measurements tell each last bit."""
    for least in (-(2**63), 2**63 - 1):
        rows = [[least], [least], [5]]
        with pytest.raises((RequestError, InvariantError)):
            strategy.MatrixStrategy("least", "pure", kind(rows), [1, 1, 1]).column_norm()
        with pytest.raises((RequestError, InvariantError)):
            exact_product(kind(rows), [1])


def test_a_sparse_matrix_is_what_it_says() -> None:
    rows, ends = np.array([3, 3]), np.array([0, 2])
    twice = sparse.csr_array((rows, np.array([0, 0]), ends), shape=(1, 1))  # one entry in two parts
    assert strategy.MatrixStrategy("twice", "gaussian", twice, [1]).column_norm() == 36
    outside = sparse.csr_array(np.eye(2, dtype=np.int64))
    outside.indices = np.array([0, 5], dtype=np.int32)
    with pytest.raises(RequestError, match="rows and columns"):
        strategy.MatrixStrategy("outside", "pure", outside, [1, 1])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: strategy.MatrixStrategy("real", "pure", [[0.5, 1]], [1]), "whole numbers"),
        (lambda: strategy.MatrixStrategy("none", "pure", np.zeros((0, 2), dtype=int), []), "at least one"),
        (lambda: strategy.MatrixStrategy("empty", "pure", [[0, 0]], [1]), "measures nothing"),
        (lambda: strategy.MatrixStrategy("zero", "pure", [[1, 1]], [0]), "positive whole weight"),
        (lambda: strategy.MatrixStrategy("short", "pure", [[1, 1]], [1, 1]), "positive whole weight"),
        (lambda: strategy.MatrixStrategy("other", "laplace", [[1, 1]], [1]), "measure"),
        (lambda: strategy.ProductStrategy(()), "for each attribute"),
        (lambda: strategy.UnionStrategy((), ()), "needs parts"),
        (lambda: strategy.UnionStrategy((strategy.haar(4, measure="pure"),), (0,)), "weights"),
        (lambda: strategy.UnionStrategy((strategy.haar(4, measure="pure"),), (1, 1)), "for each of 1 parts"),
        (
            lambda: strategy.UnionStrategy(
                (strategy.haar(4, measure="pure"), strategy.haar(4, measure="gaussian")), (1, 1)
            ),
            "same kind of noise",
        ),
        (
            lambda: strategy.UnionStrategy(
                (strategy.haar(4, measure="pure"), strategy.haar(8, measure="pure")), (1, 1)
            ),
            "over one domain",
        ),
        (lambda: strategy.StrategyMeasure(strategy.haar(4, measure="pure"), rho=1, neighbors="add-remove"), "epsilon="),
        (
            lambda: strategy.StrategyMeasure(strategy.haar(4, measure="gaussian"), epsilon=1, neighbors="add-remove"),
            "rho=",
        ),
        (lambda: strategy.StrategyMeasure(strategy.haar(4, measure="pure"), neighbors="add-remove"), "either"),
        (lambda: strategy.StrategyMeasure(strategy.haar(4, measure="pure"), epsilon=1, neighbors="both"), "neighbors"),
        (
            lambda: strategy.StrategyMeasure(strategy.haar(4, measure="pure"), epsilon=10**400, neighbors="add-remove"),
            "up to 1e\\+300",
        ),
        (
            lambda: strategy.StrategyMeasure(strategy.haar(4, measure="gaussian"), rho=10**400, neighbors="add-remove"),
            "up to 1e\\+300",
        ),
        (
            lambda: strategy.StrategyMeasure(strategy.haar(4, measure="pure"), epsilon=1, neighbors="add-remove").draw(
                [1, 2, 3, 10**400]
            ),
            "no doubles",
        ),
        (lambda: strategy.ResidualStrategy((2, 1), ((0, 1),), (1,)), "one value"),
        (lambda: strategy.ResidualStrategy((2,), ((0,),), (1,), measure="pure"), "Gaussian"),
        (lambda: strategy.haar(4, measure="pure").apply([1, 2, 3]), "4 cells"),
        (lambda: strategy.haar(4, measure="pure").apply([1, 2, 3, 4.5]), "whole numbers"),
        (lambda: strategy.tree(4, measure="pure", weights=[1, 1, 0]), "cells are measured"),
        (lambda: strategy.tree(2**22, measure="pure"), "matrix of this tree has"),
        (lambda: strategy.haar(2**22, measure="pure"), "matrix of these wavelets has"),
        (lambda: strategy.tree(4, measure="pure").apply([1, 2, 3, True]), r"whole numbers.*got a bool"),
        (
            lambda: strategy.tree(2, measure="pure").solve([1, 2, 3], [1, 0, 1]),
            "variances must be finite numbers above 0",
        ),
        (
            lambda: strategy.TreeStrategy(
                "bent", "pure", [[1, 1, 0], [0, 0, 1], *np.eye(3, dtype=int).tolist()], [1] * 5, "dense", 2, (2, 2)
            ),
            "spans go down to 1",
        ),
        (
            lambda: strategy.TreeStrategy("odd", "pure", [[1]] * 3, [1] * 3, "dense", 2, (3, 2, 1)),
            "multiple of the next",
        ),
    ],
)
def test_bad_strategies_are_refused_with_what_to_do(make: Any, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        make()


def test_a_form_that_a_matrix_does_not_have_is_found() -> None:
    for form in ("diagonal", "orthogonal", "upper", "lower"):
        with pytest.raises(RequestError, match="form"):
            strategy.MatrixStrategy("plain", "pure", [[1, 1], [1, 2]], [1, 1], form)  # type: ignore[arg-type]


def test_equal_strategies_are_equal_and_others_are_not() -> None:
    first, second = strategy.tree(8, measure="pure"), strategy.tree(8, measure="pure")
    others = [
        strategy.tree(8, measure="gaussian"),
        strategy.tree(8, measure="pure", weights=[1, 1, 1, 2]),
        strategy.tree(7, measure="pure"),
        strategy.haar(8, measure="pure"),
    ]
    assert first == second
    assert len({first, second, *others}) == 5


def large_products(measure: Any) -> list[strategy.Strategy]:
    """Products and unions whose whole matrix has entries that no 64 bits hold the squares of, or the entries of."""
    one = strategy.MatrixStrategy("one", measure, [[2**16, -5, 0], [3, 2**15, 2**16]], [3, 1])
    other = strategy.MatrixStrategy("other", measure, [[2**16, 1, 0], [0, 2**16, -(2**15)], [1, 1, 2]], [1, 2**70, 5])
    both, back = strategy.ProductStrategy((one, other)), strategy.ProductStrategy((other, one))
    return [
        both,
        strategy.UnionStrategy((both, back), (2, 3)),
        strategy.ProductStrategy((one, strategy.MatrixStrategy("large", measure, [[2**22, 1], [1, -(2**21)]], [1, 1]))),
        strategy.ProductStrategy((one, one, other, one)),
        strategy.UnionStrategy((strategy.ProductStrategy((one, one, one, one)),), (1,)),
    ]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("place", range(5))
def test_pairs_of_columns_with_large_entries_are_never_taken_for_closer(measure: Any, place: int) -> None:
    made = large_products(measure)[place]
    columns = explicit(made).T
    weights = np.array(made.row_weights(), dtype=object)
    single = max((np.abs(columns) ** made.power) @ weights)
    most = max(single, *(max((np.abs(columns - one) ** made.power) @ weights) for one in columns))
    if measure == "gaussian":
        assert made.pair_norm() == most
    else:  # or a bound: a sum of absolute values of differences is no product of such sums
        assert most <= made.pair_norm() <= 2 * single


def test_entries_that_would_wrap_around_are_no_matrix() -> None:
    """2**32 + 1 squared is 2**33 + 1 in 64 bits."""
    one = strategy.MatrixStrategy("one", "pure", [[2**32 + 1, 0], [0, 2**32 + 1]], [1, 1])
    both = strategy.ProductStrategy((one, one))
    assert both.pair_norm() == 2 * (2**32 + 1) ** 2
    with pytest.raises(RequestError, match="too large"):
        both.expanded()
    assert both.rmse(strategy.product(strategy.identity(2), strategy.identity(2))) > 0
