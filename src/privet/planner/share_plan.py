"""From the plan of a count of people to the plan of the same count with truncated Tulap noise."""

from __future__ import annotations

from dataclasses import replace

from privet.core.errors import RequestError
from privet.core.numbers import Number, open_probability
from privet.mechanisms.tulap import Tulap

from .plan import Pass, Plan
from .stability import sensitivity_of
from .tulap_counts import TulapMeasure


def with_tulap(plan: Plan, delta: Number) -> Plan:
    """Return the plan that reads the same rows, and releases their number with Tulap noise of the plan's epsilon.

    Raises:
        RequestError: the account has no delta, the cost is not an epsilon, or one unit can move the count by more than
            1. Nothing was charged.

    Guarantee: `TulapMeasure.verify` checks all of it again before anything is charged.
    """
    allowed, spend = open_probability(delta, "delta"), plan.spend
    if spend.epsilon is None:
        raise RequestError("delta= is for a test at a stated epsilon; pass epsilon=, or leave out delta=")
    if not spend.delta:
        raise RequestError("the budget of this account has no delta, so that no test may spend one; leave out delta=")
    (pass_,) = plan.passes
    scan = pass_.scan
    if scan.keys or len(scan.sums) != 1 or scan.bounding.shift or sensitivity_of(scan.sums[0], scan).l1 > 1:
        raise RequestError(
            "a test with a delta needs a count that each protected unit moves by at most 1; leave out delta="
        )
    made = Pass(scan, TulapMeasure(Tulap(epsilon=spend.epsilon, delta=allowed)))
    asked = replace(plan.query, keys=(), aggregates=(), steps=(), levels=(), groupings=())
    return replace(plan, query=asked, passes=(made,), readings=(), before=None, wider=None, narrowed=False)
