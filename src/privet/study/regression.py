"""Linear regression on private rows: from a formula to a plan, and from one charge to a value that answers again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

from privet.core.errors import BadParameter, RequestError
from privet.core.given import is_a, truth
from privet.core.numbers import Number, open_probability, rational
from privet.core.relation import Call, Expression, Literal
from privet.core.schema import Schema
from privet.display import Figures, draw_grid, draw_text, html_lines, html_table, shown_amount, written
from privet.execution.executor import Executor
from privet.execution.request import AskOptions, Catalog, spend_of
from privet.planner.make import private_schema
from privet.planner.moment_plan import MomentPlan, RowLimit, Variable, plan_moments
from privet.planner.stability import loses
from privet.planner.verify import verify
from privet.query.expressions import typed
from privet.query.frame import Frame
from privet.query.normal import call
from privet.query.terms import count

from .formula import RegressionFormula, read_formula
from .regression_table import Regression, Shrinkage

if TYPE_CHECKING:
    from rich.console import Console

NormGiven = Number | tuple[Choice["L1", "L2"], Number]
"""A limit on the norm of a row's features: a number, or the kind of norm and a number."""

_MOST_LEVELS = 100
_LARGEST_NORM = 10**6


@dataclass(frozen=True, repr=False)
class RegressionPlan:
    """Everything about a regression before it is charged: its measurements, its noise and its price.

    Example:
        >>> session.plan_regress("visits", "age ~ ward", epsilon=1).price["epsilon"]
        1.0
    """

    moments: MomentPlan
    formula: RegressionFormula
    levels: Mapping[str, tuple[Any, ...]]
    """The declared values of each category, the one first that others are compared with."""
    gain: str = ""
    """The gain by a limit on the norm of rows, in words."""

    @property
    def price(self) -> Mapping[str, float]:
        """The cost of the release alone."""
        return self.moments.plan.price

    @property
    def digest(self) -> str:
        """The digest under which it is charged and stored."""
        return self.moments.plan.digest

    def explain(self) -> str:
        """Return the plan in plain words."""
        said = f"\n{self.gain}" if self.gain else ""
        return f"Fits {self.formula}.\n{self.moments.plan.explain()}{said}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data for JSON."""
        factors = [factor.label for factor in self.moments.factors]
        return {"formula": str(self.formula), "factors": factors, "norm": self.gain, **self.moments.plan.to_dict()}

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_grid(console, self._figures(), wraps=True)
            draw_text(console, f"\n{self.explain()}")

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures())}{html_lines(self.explain().splitlines())}</div>"

    def _figures(self) -> list[Figures]:
        (facts,) = self.moments.measure.facts(self.moments.scan)
        least, most = (shown_amount(facts[name]) for name in ("least_standard_deviation", "standard_deviation"))
        return [
            Figures("sums of products", (f"{facts['products']:,}",), right=True),
            Figures("noise", (str(facts["noise"]),), right=False),
            Figures("standard deviation", (least if least == most else f"{least} to {most}",), right=True),
        ]


def plan_regression(
    frame: Frame,
    formula: str,
    catalog: Catalog,
    options: AskOptions,
    *,
    norm: NormGiven | None = None,
    intervals: bool = True,
) -> RegressionPlan:
    """Return the plan of a regression. It reads no data."""
    if not isinstance(frame, Frame) or frame._keys:
        raise BadParameter("table", type(frame).__name__, "a table of this session, before group_by")
    intervals = truth(intervals, "intervals")
    asked = read_formula(formula)
    spend = spend_of(catalog.budget, options)
    limit = _read_norm(norm, pure=not spend.delta and spend.rho is None)
    query = frame.agg(rows_of_a_regression=count()).query()
    schema = private_schema(query.table, catalog.schemas)
    features = [_variable(frame, name, schema) for name in asked.terms]
    features += [feature for names in asked.products for feature in _products(features, names)]
    target = _variable(frame, asked.target, schema)
    if target.levels is not None:
        raise RequestError(
            f"{target.name} holds {_kind(target.expression, schema)} values, and a regression explains numbers; "
            f"compare shares of its values instead"
        )
    given: dict[str, Any] = {"features": features, "target": target, "constant": asked.constant, "spend": spend}
    given |= {"squares": intervals, "contribution": options.stated}
    made = plan_moments(query, catalog.schemas, **given, norm=limit)
    levels = {feature.name: feature.levels for feature in features if feature.levels is not None}
    if limit is not None:
        return RegressionPlan(made, asked, levels)
    pure = made.measure.family == "laplace"
    other = plan_moments(query, catalog.schemas, **given, norm=RowLimit(1 if pure else 2, Fraction(2)))
    return RegressionPlan(made, asked, levels, _gain(made, other, pure=pure))


def _products(features: Sequence[Variable], names: Sequence[str]) -> Iterator[Variable]:
    """Yield the products of some columns: one for each combination of levels of the categories among them.

    The first level of a category is left out, as it is without a product; a product is a number with bounds that
    follow from those of its columns.
    """
    by_name = {feature.name: feature for feature in features}
    parts = [by_name[name] for name in names]
    for levels in product(*(part.levels[1:] if part.levels is not None else (None,) for part in parts)):
        numbers = [part.expression for part in parts if part.levels is None]
        met = [
            Call("equal", (part.expression, Literal(level)))
            for part, level in zip(parts, levels, strict=True)
            if part.levels is not None
        ]
        value = reduce(lambda a, b: call("multiply", a, b), numbers) if numbers else Literal(1)
        whole = call("case", call("and", *met), value, Literal(0)) if met else value
        yield Variable(":".join(names), whole, parts=tuple(zip(names, levels, strict=True)))


def _gain(box: MomentPlan, held: MomentPlan, *, pure: bool) -> str:
    """Return the effect of a norm of 2 in words: how noisy products of two features are, with it and without."""
    sizes = []
    for plan in (box, held):
        products, sums = plan.scan.products, plan.scan.sums
        pairs = () if products is None else products.pairs
        noisy = zip(pairs, plan.measure.variances, strict=True)
        between = [
            float(variance) / (sums[first].most * sums[second].most) ** 2
            for (first, second), variance in noisy
            if first != second and second < plan.target
        ]
        if not between:
            return ""
        sizes.append((sum(between) / len(between)) ** 0.5)
    ratio = sizes[0] / sizes[1]
    kind = "L1" if pure else "L2"
    what = (
        f"If the features of a row keep to an {kind} norm of 2 (each from -1 to 1 between its bounds, the constant 1)"
    )
    if ratio > 1:
        return f"{what}, norm=2 would divide the noise on products of two features by {ratio:.3g}."
    return f"{what}, norm=2 would gain nothing here: there are too few features."


def _read_norm(norm: NormGiven | None, *, pure: bool) -> RowLimit | None:
    allowed = 'a number above 0, such as 2, or a kind of norm and a number, such as ("L1", 2)'
    if norm is None:
        return None
    order: Choice[1, 2] = 1 if pure else 2
    size: object = norm
    if isinstance(norm, tuple):
        if len(norm) != 2 or norm[0] not in ("L1", "L2"):
            raise BadParameter("norm", norm, allowed)
        order, size = (1 if norm[0] == "L1" else 2), norm[1]
    if isinstance(size, (bool, tuple, list, str)):
        raise BadParameter("norm", norm, allowed)
    limit = rational(size, "norm")
    if not Fraction(1, 1000) <= limit <= _LARGEST_NORM:
        raise BadParameter("norm", norm, f"from 0.001 to {_LARGEST_NORM:,}")
    return RowLimit(order, limit)


def _kind(expression: Expression, schema: Schema) -> str:
    return typed(expression, schema.columns).kind or "NULL"


def _variable(frame: Frame, name: str, schema: Schema) -> Variable:
    """Return the meaning of a name in a formula: a number with bounds, or a category with declared values."""
    expression = frame._over(name, "formula")
    facts = typed(expression, schema.columns)
    if facts.kind in ("integer", "number") and facts.values is None:
        return Variable(name, expression)
    if facts.kind in ("date", "timestamp"):
        raise RequestError(
            f"{name} holds dates, and a regression is over numbers and categories; make a number of it first, such as "
            f"its year"
        )
    levels: tuple[Any, ...] = (False, True) if facts.kind == "boolean" else tuple(facts.values or ())
    levels = tuple(level for level in levels if level is not None)
    if not levels:
        raise RequestError(
            f"the values of {name} are not declared, and a regression needs them before it reads a row; declare them "
            f"(category([...])), or leave {name} out"
        )
    if len(levels) < 2:
        raise RequestError(f"{name} has one declared value only, so that nothing can be learned from it; leave it out")
    if len(levels) > _MOST_LEVELS:
        raise RequestError(
            f"{name} has {len(levels):,} declared values, and a regression takes at most {_MOST_LEVELS} of one column; "
            f"group them first"
        )
    return Variable(name, expression, levels)


def run_regression(
    executor: Executor, plan: RegressionPlan, *, confidence: Number | None, ridge: Shrinkage, key: str | None
) -> Regression:
    """Return the release of a plan of a regression: from the ledger, or charged, read and drawn."""
    level = 0.95 if confidence is None else float(open_probability(confidence, "confidence"))
    shrink = read_ridge(ridge)
    moments = plan.moments
    executor.check_open()
    verify(moments.plan, executor.schemas)
    kept = executor.find(moments.plan, key)
    if kept is None:
        with executor.turn(moments.plan.digest):
            kept = executor.release(moments.plan, key)
    # an answer of an earlier edition is read by the noise that it was released with
    (part,), scan, moments = kept.plan.passes, moments.scan, replace(moments, plan=kept.plan)
    (column,) = kept.released.sums[0]
    products = scan.products
    return Regression(
        table=_tables(moments),
        formula=plan.formula,
        levels=dict(plan.levels),
        factors=moments.factors,
        target=moments.target,
        pairs=() if products is None else products.pairs,
        sizes=tuple(factor.most for factor in scan.sums),
        measure=moments.measure,
        released=tuple(column),
        rows_each=moments.rows_each,
        people=None if scan.schema.unit.rowwise else str(scan.schema.unit),
        confidence=level,
        ridge=shrink,
        digest=kept.receipt.digest,
        version=scan.schema.version,
        price=dict(moments.plan.price),
        scaled=loses(part),
        normed=None if products is None or products.norm is None else f"L{products.norm.order}",
    )


def read_ridge(ridge: Shrinkage) -> Shrinkage:
    """Return how estimates are shrunk, or refuse it."""
    allowed = 'a number of at least 0, "auto" or "adassp"'
    if is_a(ridge, str):
        if ridge not in ("auto", "adassp"):
            raise BadParameter("ridge", ridge, allowed)
        return ridge
    if isinstance(ridge, (bool, Sequence, Mapping)):
        raise BadParameter("ridge", ridge, allowed)
    strength = rational(ridge, "ridge")
    if not 0 <= strength <= 10**12:
        raise BadParameter("ridge", ridge, f"{allowed}, up to 1e12")
    return float(strength)


def _tables(moments: MomentPlan) -> str:
    from privet.core.relation import tables_of

    return " and ".join(tables_of(moments.scan.table))
