"""The largest spend of a question that still fits its account, for a refusal that teaches. Charges nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import cast

from privet.core.errors import BudgetExceeded
from privet.core.numbers import float_down
from privet.planner.accuracy import reached, widths
from privet.planner.make import make_plan
from privet.planner.plan import Plan
from privet.planner.rounds import make_rounds

from .executor import Executor
from .request import AskOptions

_HALVINGS = 16
"""How often the range is halved in which the largest cost that fits is sought."""


def with_largest(refused: BudgetExceeded, plan: Plan, options: AskOptions, executor: Executor) -> BudgetExceeded:
    """Return a refusal with the most that this very question may still cost, in the measure it was asked in."""
    name = "rho" if plan.spend.epsilon is None else "epsilon"

    def at(amount: float) -> Plan:
        spend, bound, contribution = (
            replace(plan.spend, **{name: Fraction(amount)}),
            options.bound,
            options.stated,
        )
        query, tables, target = plan.query, executor.schemas, plan.target
        if target is not None and plan.rounds > 1:
            return make_rounds(query, tables, spend=spend, target=target, bound=bound, contribution=contribution)
        return make_plan(
            query, tables, spend=spend, bound=bound, contribution=contribution, target=target, covers=plan.covers
        )

    def fits(amount: float) -> bool:
        return executor.admits(at(amount).event, [plan])

    low, high = _surely_fits(name, plan, executor), float_down(cast(Fraction, getattr(plan.spend, name)))
    low = low if 0 < low < high and fits(low) else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return BudgetExceeded(
        measure=refused.measure,
        requested=refused.requested,
        remaining=refused.remaining,
        largest_epsilon=low if name == "epsilon" else refused.largest_epsilon,
        largest_rho=low if name == "rho" else None,
        error=_in_words(at(low)) if low else "",
        countable=refused.countable,
    )


def _surely_fits(name: str, plan: Plan, executor: Executor) -> float:
    """Return the amount that `remaining` shows, in the measure of a question: the largest that fits is no less."""
    left = executor.remaining([plan])
    if name == "epsilon":
        return left.largest_epsilon
    return float_down(Fraction(left.amount)) if left.measure == "rho" else 0.0


def _in_words(plan: Plan) -> str:
    """Return how wide the columns of a plan will be, at the confidence that it was made for."""
    if plan.target is not None and plan.rounds == 1:
        return ", ".join(width.words() for width in reached(plan, plan.target))
    return ", ".join(f"{width.column} {width.words()}" for width in widths(plan) if width.known)
