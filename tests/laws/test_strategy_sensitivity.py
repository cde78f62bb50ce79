"""What one unit moves in a strategy, by brute force on the engine's own SQL: never more than is claimed, and often all.

Strategies are random integer matrices, signed and not, beside those that sessions use; units are rows, people and
windows of time, under both relations.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.aggregates.aggregate import rows
from privet.audit.neighbours import Seen, claims_of
from privet.core.errors import InvariantError
from privet.core.relation import ColumnRef
from privet.core.scan import Norm, Scan, Truncate
from privet.core.schema import Table
from privet.planner.keys import Choice, group_key
from privet.planner.many_counts import strategy_measure
from privet.planner.matrix import MatrixMeasure
from privet.planner.measures import OpenedSums
from privet.planner.plan import Pass, Plan
from privet.planner.stability import bounding_for
from privet.planner.verify import verify
from privet.query.nodes import Query
from privet.query.normal import call
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import FIRST, NAMES, PURE, Bench, Shape, World, pairs

SIZES = (3, 5)
"""g is a, b or NULL; y is 0 to 3 or NULL."""

SHAPES = [
    Shape("", who, neighbors, bound, group)
    for who in ("rows", "people", "windows")
    for neighbors in ("add-remove", "change-one")
    for bound in ("norm", "groups")
    for group in (1, 2)
    if (who, bound) != ("rows", "groups")
]


def scan_of(shape: Shape) -> Scan:
    schema = shape.schema
    keys = tuple(group_key(ColumnRef(name), schema.columns) for name in ("g", "y"))
    rule: Any = shape.bound
    bounding = bounding_for(schema, schema.contribution, rule=rule, grouped=True, order=1, distinct=False)
    return Scan("d", schema, None, keys, (rows(None),), bounding)


def random_matrix(draw: np.random.Generator, measure: Any, *, signed: bool) -> strategy.Strategy:
    cells, many = math.prod(SIZES), int(draw.integers(1, 6))
    matrix = draw.integers(-3 if signed else 0, 4, size=(many, cells))
    matrix[0, 0] = 2
    return strategy.MatrixStrategy("random", measure, matrix, draw.integers(1, 9, size=many).tolist())


def strategies(seed: int) -> list[strategy.Strategy]:
    draw = np.random.default_rng(seed)
    found: list[strategy.Strategy] = []
    for measure in ("pure", "gaussian"):
        found += [random_matrix(draw, measure, signed=signed) for signed in (False, True)]
        found.append(strategy.tree(math.prod(SIZES), branching=2, measure=measure))
        found.append(strategy.haar(math.prod(SIZES), measure=measure))
        tree, identity = strategy.tree(3, measure=measure), strategy.identity_strategy(5, measure=measure)
        product_of_both = strategy.ProductStrategy((tree, identity))
        total = strategy.MatrixStrategy("total", measure, [[1] * 5], [1])
        found += [
            product_of_both,
            strategy.UnionStrategy((product_of_both, strategy.ProductStrategy((tree, total))), (1, 3)),
        ]
        found.append(strategy.MarginalStrategy(measure, SIZES, ((), (0,), (1,), (0, 1)), (4, 2, 1, 1)))
    found.append(strategy.plan_residuals(strategy.all_marginals(SIZES, ways=1)))
    found.append(strategy.ResidualStrategy(SIZES, ((0, 1),), (1,)))
    for factors in ({1: strategy.all_ranges(5)}, {0: strategy.prefixes(3), 1: strategy.prefixes(5)}):
        found.append(strategy.plan_residuals(strategy.all_marginals(SIZES, ways=2, factors=factors)))
    found.append(strategy.ResidualStrategy(SIZES, ((0, 1),), (1,), bases=found[-1].bases))  # type: ignore[attr-defined]
    return found


def pass_of(shape: Shape, one: strategy.Strategy) -> Pass:
    scan = scan_of(shape)
    choice = Choice("laplace" if one.measure == "pure" else "gaussian", Fraction(1, 2))
    made = Pass(scan, MatrixMeasure(strategy_measure(scan, one, choice)))
    made.measure.verify(scan)
    return made


def hard_pairs(shape: Shape) -> list[tuple[World, World]]:
    """Return neighbours in which a unit has many rows in one cell, then in any other, or one row in each of many."""
    cells = list(product(["a", "b", None], [0, 1, 2, 3, None]))
    many = 1 if shape.who == "rows" else 9

    def unit(owner: int, cell: tuple[Any, Any], day: int = 3) -> World:
        when = FIRST.replace(day=FIRST.day + day)
        return [(owner, cell[1], cell[0], "p", when)] * many

    found: list[tuple[World, World]] = []
    for place, cell in enumerate(cells):
        other = cells[(place * 7 + 4) % len(cells)]
        owners = range(shape.group)
        if shape.who == "windows":
            # a window of a week that lies in two buckets: each holds one cell, and then another
            before = [row for owner in owners for day in (5, 8) for row in unit(owner, cell, day)]
            after = [row for owner in owners for day in (5, 8) for row in unit(owner, other, day)]
            found += [(before, after), (before, [])]
        elif shape.neighbors == "add-remove":
            found.append(([row for owner in owners for row in unit(owner, cell)], []))
        else:
            found.append(
                ([row for owner in owners for row in unit(owner, cell)],
                 [row for owner in owners for row in unit(owner, other)])
            )  # fmt: skip
    if shape.who != "rows" and shape.neighbors == "add-remove":
        found.append(([row for owner in range(shape.group) for cell in cells for row in unit(owner, cell)[:1]], []))
    return found


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def named(shape: Shape) -> str:
    return f"{shape.who}, {shape.neighbors}, {shape.bound}, {shape.group}"


@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_no_unit_moves_a_strategy_by_more_than_its_price_says(shape: Shape, bench: Bench) -> None:
    seed = SHAPES.index(shape)
    worlds = [*hard_pairs(shape), *pairs(shape, random.Random(seed))]
    results = bench.scan_all(pass_of(shape, strategies(0)[0]), [world for pair in worlds for world in pair])
    seen = [Seen(one) for one in results]
    for one in strategies(seed)[:: 1 if shape.group == 1 else 3]:
        (claim,) = claims_of(pass_of(shape, one))
        moved = max(claim.measured(*two) for two in zip(seen[::2], seen[1::2], strict=True))
        assert moved <= claim.size, one.name


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.bound == "norm"], ids=named)
def test_some_unit_moves_each_strategy_by_nearly_all_that_its_price_says(shape: Shape, bench: Bench) -> None:
    # every pair of cells, so that the worst of each matrix is among them
    cells = list(product(["a", "b", None], [0, 1, 2, 3, None]))
    many = 1 if shape.who == "rows" else 9
    days = (5, 8) if shape.who == "windows" else (3,)

    def world(cell: tuple[Any, Any] | None) -> World:
        if cell is None:
            return []
        whens = [FIRST.replace(day=FIRST.day + day) for day in days]
        return [(owner, cell[1], cell[0], "p", when) for owner in range(shape.group) for when in whens] * many

    results = bench.scan_all(pass_of(shape, strategies(0)[0]), [world(cell) for cell in (None, *cells)])
    seen = [Seen(one) for one in results]
    one_by_one = [(seen[0], other) for other in seen[1:]]
    moves = shape.schema.moves == "change-one"
    tried = [*one_by_one, *combinations(seen[1:], 2)] if moves else one_by_one
    for one in strategies(7)[:: 1 if shape.group == 1 else 4]:
        (claim,) = claims_of(pass_of(shape, one))
        attained = max(claim.measured(*two) for two in tried)
        part = float(attained / claim.size) ** (1 if one.measure == "pure" else 0.5)
        assert 0.9 <= part <= 1, (one.name, part)


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_one_row_in_each_of_many_cells_is_scaled_in_l1_whatever_the_noise(measure: Any, bench: Bench) -> None:
    shape = Shape("", "people", "add-remove", "norm")
    one = pass_of(shape, strategy.tree(math.prod(SIZES), branching=2, measure=measure))
    cells = list(product(["a", "b", None], [0, 1, 2, 3, None]))
    spread = [(1, cell[1], cell[0], "p", None) for cell in cells]
    before, after = bench.scan_all(one, [spread, []])
    assert sum(row[0] for row in before.values()) <= 4 * 2**20
    (claim,) = claims_of(one)
    assert claim.measured(Seen(before), Seen(after)) <= claim.size
    # scaled in L2, as suffices for a histogram, the same person would move the tree by more than is charged
    squares = replace(one.scan, bounding=Norm(2, 8, 20))
    wide, none = bench.scan_all(Pass(squares, one.measure), [spread, []])
    if measure == "gaussian":
        assert claim.measured(Seen(wide), Seen(none)) > claim.size
    with pytest.raises(InvariantError, match="bounded in L1"):
        one.measure.verify(squares)


def test_rows_outside_the_declared_cells_weigh_nothing(bench: Bench) -> None:
    one = pass_of(Shape("", "people", "add-remove", "norm"), strategy.identity_strategy(15, measure="pure"))
    inside = [(1, 2, "a", "p", None)] * 4
    outside = [(1, 2, "c", "p", None)] * 50
    plain, mixed = bench.scan_all(one, [inside, inside + outside])
    assert plain == mixed == {("a", 2): (4 * 2**20,)}


@pytest.mark.parametrize("shape", SHAPES[::3], ids=named)
def test_the_oracle_counts_the_same_cells_as_the_engine(shape: Shape, bench: Bench) -> None:
    one = pass_of(shape, strategies(1)[0])
    if isinstance(one.scan.bounding, Truncate):
        return  # which rows are kept is drawn anew each time
    schema = one.scan.schema
    facts = {name: getattr(schema, name) for name in ("unit", "columns", "neighbors", "contribution")}
    for world, _ in [*hard_pairs(shape)[:4], *list(pairs(shape, random.Random(7)))[:4]]:
        memory = Memory({"d": Table([dict(zip(NAMES, row, strict=True)) for row in world], **facts)})
        (found,) = bench.scan_all(one, [world])
        assert memory.scan(one.scan)._groups == found


# --- a plan that claims too little is refused ------------------------------------------------------------------------


def broken(one: Pass, **fields: Any) -> Pass:
    """Return a pass whose noise says something else of itself than its matrix and its units do."""
    noise: Any = object.__new__(strategy.StrategyMeasure)
    measure: Any = one.measure
    noise.__dict__.update({name: getattr(measure.noise, name) for name in measure.noise.__dataclass_fields__} | fields)
    return Pass(one.scan, MatrixMeasure(noise))


def test_a_strategy_that_claims_less_than_it_moves_is_refused() -> None:
    shape = Shape("", "people", "change-one", "norm")
    for one in (pass_of(shape, each) for each in strategies(3)):
        noise: Any = one.measure.noise  # type: ignore[union-attr]
        for fields in (
            {"neighbors": "add-remove"},
            {"contribution": noise.contribution / 2},
            {"shift": 0},
            {"event": replace_event(noise)},
            {"noises": tuple((scale / 2, many) for scale, many in noise.noises)},
            {"exponent": noise.exponent + 1},
        ):
            with pytest.raises(InvariantError):
                broken(one, **fields).measure.verify(one.scan)


def replace_event(noise: Any) -> Any:
    other = replace(noise.event) if noise.strategy.measure == "pure" else noise.event
    kind = type(other)
    if noise.strategy.measure == "pure":
        return kind(other.epsilon / 2)
    return kind(sensitivity_squared=other.sensitivity_squared / 2, sigma_squared=other.sigma_squared, blur=other.blur)


def test_a_strategy_is_for_plain_counts_of_public_cells() -> None:
    one = pass_of(Shape("", "people", "add-remove", "norm"), strategies(3)[0])
    scan = one.scan
    hidden = replace(scan, keys=(replace(scan.keys[0], values=None), scan.keys[1]))
    fewer = replace(scan, keys=scan.keys[:1])
    doubled = replace(scan, sums=(rows(None), rows(call("equal", ColumnRef("y"), ColumnRef("y")))))
    large = replace(scan, sums=(replace(rows(None), low=2, high=2),))
    listed = replace(scan, cells=(("a", 1), ("b", 2)))
    for wrong in (hidden, fewer, doubled, large, listed, replace(scan, sums=())):
        with pytest.raises(InvariantError):
            one.measure.verify(wrong)


def test_a_class_that_says_its_own_norm_is_refused() -> None:
    class Modest(strategy.MatrixStrategy):
        def column_norm(self) -> Fraction:
            return Fraction(1)

    modest = Modest("modest", "pure", [[5] * 15], [1])
    scan = scan_of(Shape("", "people", "add-remove", "norm"))
    third, fifth = ([[1] * many] for many in SIZES)
    inside = strategy.ProductStrategy((Modest("modest", "pure", third, [1]), Modest("modest", "pure", fifth, [1])))
    for one in (modest, inside, strategy.UnionStrategy((inside,), (1,))):
        with pytest.raises(InvariantError, match="not its own to state"):
            Pass(scan, MatrixMeasure(strategy_measure(scan, one, Choice("laplace", Fraction(1)))))


def test_a_plan_of_a_strategy_verifies_and_its_digest_covers_matrix_scale_and_units() -> None:
    digests = set()
    for neighbors in ("add-remove", "change-one"):
        shape = Shape("", "people", neighbors, "norm")
        tables = {"d": shape.schema}
        for each in strategies(3):
            for share in (Fraction(1), Fraction(1, 2)):
                scan = scan_of(shape)
                choice = Choice("laplace" if each.measure == "pure" else "gaussian", share)
                one = Pass(scan, MatrixMeasure(strategy_measure(scan, each, choice)))
                plan = Plan(Query("d", (), (), None, ()), (one,), (), PURE)
                verify(plan, tables)
                digests.add(plan.digest)
    assert len(digests) == 2 * 2 * len(strategies(3))


def test_what_is_released_of_residuals_is_one_number_for_each_difference() -> None:
    shape = Shape("", "rows", "add-remove", "norm")
    planned = strategy.plan_residuals(strategy.all_marginals(SIZES, ways=2))
    one = pass_of(shape, planned)
    (column,) = one.measure.draw(OpenedSums({("a", 1): (3,), ("b", None): (2,)}, {}), one.scan, ())
    assert len(column) == 1 + (3 - 1) + (5 - 1) + (3 - 1) * (5 - 1) == planned.rows
    assert all(type(number) is int for number in column)
    # differences of what lies on the fine grid, which no marginal of whole numbers with whole noise would be
    assert one.measure.noise.exponent > 0  # type: ignore[union-attr]
