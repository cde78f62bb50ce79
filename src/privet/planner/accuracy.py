"""How a width is reached: for the least spend, where public facts alone say which that is, or else in rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import RequestError
from privet.core.numbers import Number, read_amount
from privet.core.schema import Contribution, Schema
from privet.query.nodes import Query

from .make import make_plan
from .plan import Plan, Spend, Target
from .rounds import amount_of, check_reachable, make_rounds
from .stability import Rule
from .target import excess, has_price, reached

_DIGITS = 1000
"""Prices have four digits: whole numbers from this to ten times it, times a power of ten."""

_LEAST, _LARGEST = -9, 3
"""The powers of ten between which a price is sought."""


def price(place: int) -> Fraction:
    """Return the amount at a place in the list of all prices, which starts at 0 and rises."""
    power, digits = divmod(place, 9 * _DIGITS)
    return Fraction(_DIGITS + digits, _DIGITS) * Fraction(10) ** (_LEAST + power)


PRICES = (_LARGEST - _LEAST) * 9 * _DIGITS + 1
"""How many prices there are; the last is a thousand."""


def plan_within(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    at_most: Number | None,
    target: Target,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
) -> Plan:
    """Return the plan that reaches a target: of the least price where that is known before, or else of rounds.

    Rounds cost no more than `at_most`, in the measure of `spend`, or than the spend where it is left out; a price that
    is known before is refused where it is above `at_most`.
    """
    name = "rho" if spend.epsilon is None else "epsilon"
    most = None if at_most is None else read_amount(at_most, "at_most")
    limit = spend if most is None else replace(spend, **{name: most})
    if has_price(make_plan(query, tables, spend=limit, bound=bound, contribution=contribution), target):
        plan = cheapest(query, tables, spend=spend, target=target, bound=bound, contribution=contribution)
        price = amount_of(plan.spend)
        if most is not None and price > most:
            raise RequestError(
                f"so narrow an answer costs {name} {float(price):.4g}, more than at_most={float(most):.4g}; "
                f"say more, or ask for a wider one"
            )
        return plan
    plan = make_rounds(query, tables, spend=limit, target=target, bound=bound, contribution=contribution)
    check_reachable(plan, target)
    return plan


def cheapest(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    target: Target,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
) -> Plan:
    """Return the plan of the least price, in the measure of `spend`, that meets a target.

    Guarantee: the plan meets the target, and at the next lower of all prices it would not. In each family of noise the
    quantile falls as the spend rises, and no family drops out; a plan has the family with the least excess, and a
    minimum of falling functions falls. So halving finds the first price that meets the target. Nothing but declared
    facts is used, and the spend is found before anything is read: it says nothing about the data.
    """
    name = "rho" if spend.epsilon is None else "epsilon"

    def at(place: int) -> Plan:
        amount = replace(spend, **{name: price(place)})
        return make_plan(query, tables, spend=amount, bound=bound, contribution=contribution, target=target)

    low, high = -1, PRICES - 1
    best = at(high)
    if excess(best, target) > 1:
        told = ", ".join(one.words() for one in reached(best, target) if one.half_width > one.wanted)
        raise RequestError(
            f"no {name} up to {float(price(high)):,g} makes the answer as narrow as that; it gives {told}: "
            f"ask for a wider one by within="
        )
    while high - low > 1:
        middle = (low + high) // 2
        plan = at(middle)
        low, high, best = (low, middle, plan) if excess(plan, target) <= 1 else (middle, high, best)
    return best
