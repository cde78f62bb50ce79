"""Plans for sums of products: which factors a table's columns become, their grids, and the noise of each product.

Decided from declared facts alone, so that the same question has the same plan, and its stored answer is found again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from privet.aggregates import Mean
from privet.core.errors import InvariantError, RequestError
from privet.core.relation import Call, Expression
from privet.core.relation import Literal as Constant
from privet.core.scan import Products, RowNorm, Scan, Sum
from privet.core.schema import Contribution, Key, Schema
from privet.query.nodes import AggregateCall, Query
from privet.query.normal import call
from privet.query.shape import schema_within_limits

from .contributions import refuse_chosen
from .keys import Choice, choices
from .make import aggregate_of, private_schema
from .moments import MOST_PRODUCTS, Family, MomentMeasure, axes_of, loss_of
from .plan import Pass, Plan, Spend
from .stability import bounding_for

STEPS = 2**16
"""A number is measured in at most this many steps from the middle of its bounds to an end."""

MOST_FACTORS = 128
"""No more numbers and levels than this are multiplied with each other."""

_MOST_BITS = 62
_LONGEST_WEIGHT = 20

_WITH_SQUARES = {"first": Fraction(475, 1000), "mixed": Fraction(455, 1000), "squares": Fraction(1, 20)}
_COUNTED = Fraction(1, 50)
_EQUAL = {"first": Fraction(1, 2), "mixed": Fraction(1, 2)}
"""How a price is shared where a norm is declared: products of features, of features with the target, its squares,
and the number of rows where no constant measures it."""


@dataclass(frozen=True)
class Variable:
    """A column of a regression: its name, its expression over the table, and whether its values are categories."""

    name: str
    expression: Expression
    levels: tuple[Key, ...] | None = None
    """The declared values, of which the first is the one that others are compared with; None for a number."""
    parts: tuple[tuple[str, Key], ...] = ()
    """Of a product of columns, each of them: a number with None, a category with its level."""


@dataclass(frozen=True)
class Factor:
    """One factor of the products: a number on its grid, 1 where a category has a level, or 1 in every row.

    A number is `centre` + `unit` * v, where v lies between -1 and 1.
    """

    name: str
    level: Key = None
    kind: Literal["constant", "number", "level", "count"] = "number"
    centre: Fraction = Fraction(0)
    unit: Fraction = Fraction(1)
    parts: tuple[tuple[str, Key], ...] = ()
    """Of a product of columns, each of them: a number with None, a category with its level."""

    @property
    def label(self) -> str:
        """Its name in a table."""
        if self.parts:
            return ":".join(name if level is None else f"{name}={level}" for name, level in self.parts)
        if self.kind == "constant":
            return "(intercept)"
        return self.name if self.kind != "level" else f"{self.name}: {self.level}"


@dataclass(frozen=True)
class RowLimit:
    """A norm that the features of a row are declared to keep to: each a number between -1 and 1, or 1 for a level."""

    order: Literal[1, 2]
    size: Fraction


@dataclass(frozen=True, repr=False)
class MomentPlan:
    """A plan for sums of products: the one that is charged, and its factors."""

    plan: Plan
    factors: tuple[Factor, ...]
    """Features first, the target after them, and the count of rows last where nothing else is one."""
    target: int
    rows_each: int
    """How many rows one unit counts as, at most."""

    @property
    def measure(self) -> MomentMeasure:
        """The noise."""
        measure = self.plan.passes[0].measure
        if not isinstance(measure, MomentMeasure):
            raise InvariantError("products are measured together")
        return measure

    @property
    def scan(self) -> Scan:
        """The scan that is read."""
        return self.plan.passes[0].scan

    def worth(self) -> tuple[Fraction, ...]:
        """Return the worth of one integer of each factor, where the factor lies between -1 and 1."""
        return tuple(Fraction(1, factor.most) for factor in self.scan.sums)


def plan_moments(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    features: Sequence[Variable],
    target: Variable,
    constant: bool,
    spend: Spend,
    norm: RowLimit | None = None,
    squares: bool = True,
    contribution: Contribution | None = None,
) -> MomentPlan:
    """Return the plan for all products of features and target; without `squares`, neither those of the target alone
    nor the number of rows are measured.
    """
    schema = private_schema(query.table, tables)
    refuse_chosen(query.table, tables, contribution, "for a regression")
    limits = schema_within_limits(query.table, tables, contribution)
    made = _Factors(query, schema, limits, constant=constant, on_one_grid=norm is not None)
    if constant:
        made.add_ones("constant")
    kept_all = constant
    for feature in features:
        if feature.levels is None:
            made.add_number(feature)
        else:
            made.add_levels(feature, feature.levels[1:] if kept_all else feature.levels)
            kept_all = True
    over = len(made.factors)
    place = over
    made.add_number(target)
    if squares and not constant:
        made.add_ones("count")
    if len(made.factors) > MOST_FACTORS:
        raise RequestError(
            f"this has {len(made.factors):,} numbers and levels of categories, and a regression has at most "
            f"{MOST_FACTORS}; leave out a column, or group its values"
        )
    bounding = bounding_for(schema, limits.contribution, rule="norm", grouped=False, order=1, distinct=False)
    scan = Scan(query.table, schema, made.where(query.where), (), tuple(made.sums), bounding)
    pairs = _pairs(made.factors, scan, place, squares=squares)
    if len(pairs) > MOST_PRODUCTS:
        raise RequestError(f"this needs {len(pairs):,} sums of products, and one release has at most {MOST_PRODUCTS:,}")
    scan = replace(scan, products=Products(pairs, None if norm is None else _row_norm(norm, over)))
    measures = [_measured(scan, made.factors, over, choice) for choice in choices(spend, 1)]
    best = min(measures, key=lambda measure: _error(scan, measure))
    asked = replace(query, keys=(), aggregates=(), steps=(), levels=(), groupings=())
    plan = Plan(asked, (Pass(scan, best),), (), spend)
    each = 1 if schema.unit.rowwise else getattr(bounding, "limit", 1)
    return MomentPlan(plan, tuple(made.factors), place, each)


class _Factors:
    """Collects the factors of a scan, and the condition under which a row has all of them."""

    def __init__(self, query: Query, schema: Schema, limits: Schema, *, constant: bool, on_one_grid: bool) -> None:
        self.query, self.schema, self.limits = query, schema, limits
        self.constant, self.one_grid = constant, on_one_grid
        self.factors: list[Factor] = []
        self.sums: list[Sum] = []
        self.conditions: list[Expression] = []

    @property
    def full(self) -> int:
        """The integer that stands for 1 where a row has a constant or a level."""
        return STEPS if self.one_grid else 1

    def add_ones(self, kind: Literal["constant", "count"]) -> None:
        self.factors.append(Factor("", kind=kind))
        self.sums.append(Sum(None, self.full, self.full))

    def add_levels(self, variable: Variable, levels: Sequence[Key]) -> None:
        for level in levels:
            self.factors.append(Factor(variable.name, level, "level"))
            self.sums.append(
                Sum(None, self.full, self.full, where=Call("equal", (variable.expression, Constant(level))))
            )
        listed = tuple(Constant(level) for level in variable.levels or ())
        self.conditions.append(call("in", variable.expression, *listed))

    def add_number(self, variable: Variable) -> None:
        asked = AggregateCall(variable.name, "avg", variable.expression)
        mean = aggregate_of(asked, self.schema, self.limits.columns, self.query.where)
        if not isinstance(mean, Mean):
            raise InvariantError("numbers have bounds and a grid")
        given = mean.argument
        centre = given.middle if self.constant else Fraction(0)
        half = max(abs(given.high - centre), abs(given.low - centre))
        if given.low == given.high or not half:
            raise RequestError(
                f"{variable.name} has the same value in every row, by its declared bounds, so that nothing can be "
                f"learned from it; leave it out, or declare wider bounds"
            )
        fine = given.step / 2 if given.step else half / STEPS
        step = half / STEPS if self.one_grid or half / fine > STEPS or (half / fine).denominator > 1 else fine
        most = int(half / step)
        self.factors.append(Factor(variable.name, centre=centre, unit=half, parts=variable.parts))
        self.sums.append(Sum(variable.expression, -most, most, origin=centre, step=step))
        if given.nullable:
            self.conditions.append(call("not", call("is_null", variable.expression)))

    def where(self, own: Expression | None) -> Expression | None:
        """Return the condition under which a row counts: that of the question, and that nothing is missing."""
        conditions = [*([] if own is None else [own]), *dict.fromkeys(self.conditions)]
        return call("and", *conditions) if conditions else None


def _pairs(factors: Sequence[Factor], scan: Scan, target: int, *, squares: bool) -> tuple[tuple[int, int], ...]:
    """Return the products that are measured: none that is always 0, and none twice.

    A level is 1 or 0, and so its square is its product with the constant.
    """
    axes = axes_of(scan)
    pairs = []
    for second in range(len(factors)):
        for first in range(second + 1):
            same = first == second
            if "count" in (factors[first].kind, factors[second].kind):
                wanted = same
            elif first == second == target:
                wanted = squares
            elif factors[second].kind == "level" and axes[first] == axes[second]:
                wanted = same and factors[0].kind != "constant"
            else:
                wanted = True
            if wanted:
                pairs.append((first, second))
    return tuple(sorted(pairs))


def _row_norm(norm: RowLimit, over: int) -> RowNorm:
    """Return the norm in the integers of a scan; weights have as many places as fit 64 bits."""
    size = norm.size * STEPS
    limit = math.floor(size if norm.order == 1 else size**2)
    if limit < 1:
        raise RequestError("norm= is too small: no row could keep to it; it is at least 1 where there is a constant")
    shift = _LONGEST_WEIGHT
    while shift > 8 and limit * 2 ** (shift * norm.order) >= 2**_MOST_BITS:
        shift -= 1
    return RowNorm(norm.order, limit, over, shift)


def _measured(scan: Scan, factors: Sequence[Factor], over: int, choice: Choice) -> MomentMeasure:
    """Return the noise of all products at a price.

    Guarantee: `MomentMeasure.verify` computes all of it again before anything is charged.
    """
    family: Family = "laplace" if choice.family == "laplace" else "gaussian"
    power = 1 if family == "laplace" else 2
    price = choice.share if family == "laplace" else 2 * choice.share
    counted = factors[-1].kind == "count"
    squares = scan.products is not None and (over, over) in scan.products.pairs
    shares = _WITH_SQUARES if squares else _without_squares(over) if family == "laplace" else _EQUAL
    return _scaled(scan, _shapes(scan, over, power, shares, counted=counted), family, price)


def _scaled(scan: Scan, shapes: Sequence[Fraction], family: Family, price: Fraction) -> MomentMeasure:
    loss = loss_of(scan, shapes, family)
    return MomentMeasure(family, tuple(shape * loss / price for shape in shapes), price, scan.bounding.shift)


def _without_squares(features: int) -> dict[str, Fraction]:
    """Return how a price is shared under a norm where Laplace noise is added to X'X and X'y alone: for the least noise.

    With d coefficients of mean square 1/3, shares s and 1 - s, scales 1/s of squares, half of it of other products and
    1/(1 - s) of those with the target, X'y - X'X b has the noise d (d + 3) / (6 s^2) + 2 d / (1 - s)^2. It is least
    where (s / (1 - s))^3 = (d + 3) / 12; s is rounded down to a thousandth, in whole numbers.
    """
    part = max(k for k in range(1, 1000) if 12 * k**3 <= (features + 3) * (1000 - k) ** 3)
    return {"first": Fraction(part, 1000), "mixed": Fraction(1000 - part, 1000)}


def shared_unequally(one: Pass) -> bool:
    """Return whether a pass shares its price for the least noise: Laplace noise under a norm, without squares."""
    measure, products = one.measure, one.scan.products
    if not isinstance(measure, MomentMeasure) or products is None or products.norm is None:
        return False
    target = products.norm.over
    return measure.family == "laplace" and (target, target) not in products.pairs


def with_equal_shares(plan: Plan) -> Plan | None:
    """Return the plan of a regression as it was made while half of its price was for X'X, and half for X'y."""
    (pass_,) = plan.passes
    measure, products = pass_.measure, pass_.scan.products
    if not isinstance(measure, MomentMeasure) or products is None or products.norm is None:
        return None
    shapes = _shapes(pass_.scan, products.norm.over, 1, _EQUAL, counted=False)
    return replace(plan, passes=(Pass(pass_.scan, _scaled(pass_.scan, shapes, "laplace", measure.loss)),))


def _shapes(scan: Scan, over: int, power: int, shares: Mapping[str, Fraction], *, counted: bool) -> list[Fraction]:
    """Return scales relative to each other: equal parts of the price for each product of a box, or those of a norm."""
    products = scan.products
    if products is None:
        raise InvariantError("this scan sums no products")
    sums, norm = scan.sums, products.norm
    largest = [Fraction(sums[first].most * sums[second].most) for first, second in products.pairs]
    if norm is None:
        return [product**power for product in largest]
    size = Fraction(norm.limit) if norm.order == 1 else Fraction(math.isqrt(norm.limit))
    scales = []
    for (first, second), most in zip(products.pairs, largest, strict=True):
        if second < over:
            times = 1 if first == second else 2
            scales.append(size ** (2 * power) / (shares["first"] * times))
        elif first < over:
            scales.append((size * sums[second].most) ** power / shares["mixed"])
        else:
            share = _COUNTED if counted and first == len(sums) - 1 else shares["squares"]
            scales.append(most**power / share)
    return scales


def _error(scan: Scan, measure: MomentMeasure) -> float:
    """Return the mean variance of products, each in parts of its largest."""
    if scan.products is None:
        raise InvariantError("this scan sums no products")
    largest = [scan.sums[first].most * scan.sums[second].most for first, second in scan.products.pairs]
    return sum(float(variance) / most**2 for variance, most in zip(measure.variances, largest, strict=True))
