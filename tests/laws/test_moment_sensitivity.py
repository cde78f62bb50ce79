"""What one unit moves in sums of products, by brute force on the engine's own SQL: never more than is claimed.

Designs are random: numbers and categories, with and without a constant, a norm of rows and squares of the target, for
rows, people and windows of time, under both relations, with Laplace and with Gaussian noise.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privet.audit.neighbours import Seen, claims_of
from privet.core.errors import InvariantError, PrivetError
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Products, RowNorm
from privet.core.schema import Contribution, Schema, Table, category, date, integer, number
from privet.core.unit import Person, Rows, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.planner.make import make_plan
from privet.planner.moment_plan import MomentPlan, RowLimit, Variable, plan_moments
from privet.planner.moments import MomentMeasure, loss_of
from privet.planner.plan import Pass, Spend
from privet.planner.verify import verify
from privet.query.nodes import AggregateCall, Query
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import FIRST, SECRET

COLUMNS = {
    "u": integer(nullable=True),
    "t": date(nullable=True),
    "a": number(-2, 2, nullable=True),
    "b": integer(0, 5, nullable=True),
    "g": category(["p", "q", "r"], nullable=True),
    "h": category(["x", "y"], nullable=True),
    "z": number(0, 10, nullable=True),
}
KINDS = ("BIGINT", "DATE", "DOUBLE", "BIGINT", "VARCHAR", "VARCHAR", "DOUBLE")
NAMES = list(COLUMNS)
PURE = Spend(Fraction(1), Fraction(0), None, Fraction(0))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(0))
NORMS = (None, RowLimit(1, Fraction(3, 2)), RowLimit(2, Fraction(3, 2)), RowLimit(1, Fraction(9)))


@dataclass(frozen=True)
class Design:
    """Who is protected, how neighbours differ, and what is measured."""

    who: str
    neighbors: Any
    spend: Spend
    norm: RowLimit | None
    features: str
    constant: bool = True
    squares: bool = True
    group: int = 1

    @property
    def schema(self) -> Schema:
        unit = {
            "rows": Rows(self.group),
            "people": Person("u", self.group),
            "windows": Window("u", "t", 7, origin=FIRST, group=self.group),
        }[self.who]
        return Schema(unit=unit, columns=COLUMNS, neighbors=self.neighbors, contribution=Contribution(groups=1, rows=2))

    def plan(self) -> MomentPlan:
        several = [Variable(one, ColumnRef(one), COLUMNS[one].values) for one in self.features]
        levels = [replace(one, levels=tuple(v for v in one.levels if v is not None)) if one.levels else one
                  for one in several]  # fmt: skip
        return plan_moments(
            Query("d", (), (), None, ()), {"d": self.schema}, features=levels, target=Variable("z", ColumnRef("z")),
            constant=self.constant, spend=self.spend, norm=self.norm, squares=self.squares,
        )  # fmt: skip


DESIGNS = [
    Design(who, neighbors, spend, norm, features, constant, squares, group)
    for place, (who, neighbors, spend, norm) in enumerate(
        (who, neighbors, spend, norm)
        for who in ("rows", "people", "windows")
        for neighbors in ("add-remove", "change-one")
        for spend in (PURE, RHO)
        for norm in NORMS
    )
    for features, constant, squares, group in [
        (("ab", True, True, 1), ("agb", True, False, 1), ("gha", False, True, 2), ("hg", True, True, 1))[place % 4]
    ]
]


def named(design: Design) -> str:
    norm = "box" if design.norm is None else f"L{design.norm.order} {float(design.norm.size):g}"
    noise = "rho" if design.spend is RHO else "epsilon"
    return f"{design.who}, {design.neighbors}, {noise}, {norm}, {design.features}, {design.group}"


def some_row(draw: random.Random, owner: int, *, extreme: bool) -> tuple[Any, ...]:
    def pick(ends: list[Any], inside: Any) -> Any:
        if draw.random() < 0.05:
            return None
        return draw.choice(ends) if extreme or draw.random() < 0.5 else inside

    day = FIRST.replace(day=FIRST.day + draw.choice([5, 6, 8, 9]))
    return (
        owner,
        day,
        pick([-2.0, 2.0, 0.0, 1e300, float("inf"), float("nan")], draw.uniform(-3, 3)),
        pick([0, 5, -7, 99], draw.randint(0, 5)),
        pick(["p", "q", "r"], "s"),
        pick(["x", "y"], "w"),
        pick([0.0, 10.0, -1e9], draw.uniform(0, 10)),
    )


def unit(draw: random.Random, owner: int, design: Design) -> list[tuple[Any, ...]]:
    many = 1 if design.who == "rows" else draw.choice([1, 2, 5])
    row = some_row(draw, owner, extreme=True)
    if draw.random() < 0.5:
        return [row] * many
    return [some_row(draw, owner, extreme=draw.random() < 0.7) for _ in range(many)]


def neighbours(design: Design, draw: random.Random) -> list[tuple[list[Any], list[Any]]]:
    found = []
    for _ in range(8):
        others = [row for owner in range(3, 5) for row in unit(draw, owner, design)]
        before = [row for owner in range(design.group) for row in unit(draw, owner, design)]
        after = []
        if design.neighbors == "change-one":
            after = [row for owner in range(design.group) for row in unit(draw, owner, design)]
        if design.who == "windows":  # rows of a week, in two buckets, are others or gone
            after = [row for row in after if draw.random() < 0.5]
        found.append(([*before, *others], [*after, *others]))
    return found


class Tables:
    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(KINDS))
        self.connection.execute(f"CREATE TABLE d(world BIGINT, {columns})")

    def scan_all(self, one: Pass, worlds: list[list[Any]]) -> list[dict[Any, Any]]:
        self.connection.execute("DELETE FROM d")
        listed = [(index, *row) for index, world in enumerate(worlds) for row in world]
        columns = [list(column) for column in zip(*listed, strict=True)]
        unnested = ", ".join(f"unnest(${i}::{kind}[])" for i, kind in enumerate(("BIGINT", *KINDS), start=1))
        self.connection.execute(f"INSERT INTO d SELECT {unnested}", columns)
        asked = statement(one.scan, "(SELECT * FROM d WHERE world = $world)", SECRET, DUCKDB)
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        found = [
            {(): self.connection.execute(f"EXECUTE scan(world := {world})").fetchall()[0]}
            for world in range(len(worlds))
        ]
        self.connection.execute("DEALLOCATE scan")
        return found


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables()


@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_no_unit_moves_products_by_more_than_their_price_says(design: Design, tables: Tables) -> None:
    plan = design.plan()
    verify(plan.plan, {"d": design.schema})
    worlds = neighbours(design, random.Random(DESIGNS.index(design)))
    one = plan.plan.passes[0]
    seen = [Seen(found) for found in tables.scan_all(one, [world for pair in worlds for world in pair])]
    (claim,) = claims_of(one)
    moved = [claim.measured(*two) for two in zip(seen[::2], seen[1::2], strict=True)]
    assert 0 < max(moved) <= claim.size


def corners(design: Design) -> list[list[Any]]:
    """Return worlds of one unit at a corner of what is declared, in every combination."""
    numbers, found = (-2.0, 2.0), []
    for a in (*numbers, 0.0):
        for b in (0, 5):
            for z in (0.0, 10.0):
                for g in "pqr":
                    days = (5, 8) if design.who == "windows" else (5,)
                    found.append([
                        (owner, FIRST.replace(day=FIRST.day + day), a, b, g, "y", z)
                        for owner in range(design.group)
                        for day in days
                        for _ in range(1 if design.who == "rows" else 2)
                    ])  # fmt: skip
    return found


ATTAINED = [
    Design(who, neighbors, spend, norm, features)
    for who in ("rows", "people", "windows")
    for neighbors in ("add-remove", "change-one")
    for spend in (PURE, RHO)
    for norm, features in ((None, "a"), (RowLimit(1, Fraction(2)), "a"), (None, "g"))
    if not (norm is not None and spend is RHO)
]


@pytest.mark.parametrize("design", ATTAINED, ids=named)
def test_some_unit_moves_products_by_nearly_all_that_their_price_says(design: Design, tables: Tables) -> None:
    one = design.plan().plan.passes[0]
    seen = [Seen(found) for found in tables.scan_all(one, [[], *corners(design)])]
    (claim,) = claims_of(one)
    moves = design.schema.moves == "change-one"
    pairs = [(first, second) for first in (seen if moves else seen[:1]) for second in seen]
    part = float(max(claim.measured(*two) for two in pairs) / claim.size) ** (1 if design.spend is PURE else 0.5)
    # what a unit that changes moves is claimed by bounds of which not all are attained at once
    nearly = not moves or (design.norm is None and design.features == "a")
    assert (0.85 if nearly else 0.6) <= part <= 1
    if design.spend is PURE and nearly:
        assert part >= 0.9


@pytest.mark.parametrize("design", DESIGNS[::3], ids=named)
def test_the_oracle_sums_the_same_products_as_the_engine(design: Design, tables: Tables) -> None:
    one = design.plan().plan.passes[0]
    schema = one.scan.schema
    facts = {name: getattr(schema, name) for name in ("unit", "columns", "neighbors", "contribution")}
    for world, _ in neighbours(design, random.Random(7))[:4]:
        memory = Memory({"d": Table([dict(zip(NAMES, row, strict=True)) for row in world], **facts)})
        (found,) = tables.scan_all(one, [world])
        assert memory.scan(one.scan)._groups == found


# --- a plan that claims too little is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS[::5], ids=named)
def test_noise_for_less_than_a_unit_moves_is_refused(design: Design) -> None:
    one = design.plan().plan.passes[0]
    measure: Any = one.measure
    for fields in (
        {"loss": measure.loss * Fraction(999, 1000)},
        {"scales": (measure.scales[0] / 2, *measure.scales[1:])},
        {"scales": measure.scales[:-1]},
        {"shift": measure.shift + 1},
    ):
        with pytest.raises((InvariantError, PrivetError)):
            replace(measure, **fields).verify(one.scan)


def test_noise_of_plain_sums_is_refused_where_products_are_summed() -> None:
    """An engine would sum squares of up to 25 under the noise of a sum of up to 5."""
    schema = Design("rows", "add-remove", PURE, None, "g").schema
    query = Query("d", (), (AggregateCall("s", "sum", ColumnRef("b")),), None, ())
    plan = make_plan(query, {"d": schema}, spend=PURE)
    verify(plan, {"d": schema})
    one = plan.passes[0]
    squared = replace(one, scan=replace(one.scan, products=Products(((0, 0),))))
    with pytest.raises(InvariantError, match="products"):
        verify(replace(plan, passes=(squared,)), {"d": schema})


def test_levels_that_may_stand_together_count_each_by_itself() -> None:
    design = Design("rows", "add-remove", PURE, None, "g")
    one = design.plan().plan.passes[0]
    measure: Any = one.measure
    apart = replace(one.scan, sums=tuple(
        total if total.where is None
        else replace(total, where=Call("not", (Call("equal", total.where.arguments),)))
        for total in one.scan.sums
    ))  # fmt: skip
    with pytest.raises(InvariantError, match="another sensitivity"):
        measure.verify(apart)
    same = replace(one.scan, sums=tuple(
        total if total.where is None else replace(total, where=Call("equal", (ColumnRef("g"), Literal("q"))))
        for total in one.scan.sums
    ))  # fmt: skip
    with pytest.raises(InvariantError, match="another sensitivity"):
        measure.verify(same)


def test_each_product_needs_its_noise_under_a_norm() -> None:
    for spend in (PURE, RHO):
        one = Design("rows", "add-remove", spend, RowLimit(2, Fraction(1, 2)), "ab").plan().plan.passes[0]
        measure: Any = one.measure
        for place in range(len(measure.scales)):
            fewer = (*measure.scales[:place], measure.scales[place] / 4, *measure.scales[place + 1 :])
            with pytest.raises(InvariantError, match="another sensitivity"):
                replace(measure, scales=fewer).verify(one.scan)


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["pure", "rho"])
def test_products_with_the_target_move_twice_as_far_where_a_row_changes(spend: Spend, tables: Tables) -> None:
    plan = Design("rows", "change-one", spend, RowLimit(1, Fraction(2)), "a").plan()
    one, products = plan.plan.passes[0], plan.scan.products
    assert products is not None
    # noise for products with the target alone: what else moves does not count
    scales = tuple(
        Fraction(2**32) if second == plan.target > first else Fraction(2**90) for first, second in products.pairs
    )
    measure = MomentMeasure(plan.measure.family, scales, loss_of(one.scan, scales, plan.measure.family), 0)
    lone = Pass(one.scan, measure)
    row = (1, FIRST, 2.0, 0, "p", "x")
    seen = [Seen(found) for found in tables.scan_all(lone, [[(*row, 10.0)], [(*row, 0.0)]])]
    (claim,) = claims_of(lone)
    assert 0.45 * claim.size <= claim.measured(*seen) <= claim.size


def test_a_wider_norm_than_the_noise_is_for_is_refused() -> None:
    design = Design("rows", "add-remove", PURE, RowLimit(1, Fraction(3, 2)), "ab")
    one = design.plan().plan.passes[0]
    products: Any = one.scan.products
    wider = RowNorm(1, products.norm.limit * 2, products.norm.over, products.norm.shift)
    fewer = RowNorm(1, products.norm.limit, products.norm.over - 1, products.norm.shift)
    for norm in (wider, fewer, None):
        scan = replace(one.scan, products=Products(products.pairs, norm))
        with pytest.raises(InvariantError, match="another sensitivity"):
            one.measure.verify(scan)


def test_off_diagonal_products_have_half_the_variance_under_a_norm() -> None:
    for spend in (PURE, RHO):
        plan = Design("rows", "add-remove", spend, RowLimit(2, Fraction(2)), "ab").plan()
        measure, products = plan.measure, plan.scan.products
        assert isinstance(measure, MomentMeasure)
        assert products is not None
        scales = dict(zip(products.pairs, measure.scales, strict=True))
        assert scales[1, 1] == 2 * scales[1, 2] == scales[0, 0]
        assert loss_of(plan.scan, measure.scales, measure.family) <= measure.loss
