"""A plan in words and as plain data: what is protected, what noise is added, what it costs, what may be lost."""

from __future__ import annotations

from typing import Any

from privet import accounting
from privet.core.rounding import float_up
from privet.core.scan import Norm, Once, Truncate
from privet.core.unit import Person
from privet.mechanisms import Laplace

from .plan import Measure, Pass, Plan


def coverage_notes(plan: Plan, confidence: float) -> tuple[str, ...]:
    """Return what the intervals of an answer cover, and what they do not."""
    notes = [f"intervals hold the noise with {confidence:.3g} probability, each by itself"]
    bounding = plan.passes[0].scan.bounding
    if isinstance(bounding, Norm):
        notes.append("what people give beyond the declared contribution is scaled down, and not covered")
    if isinstance(bounding, Truncate):
        notes.append("what people give beyond the stated groups and rows is dropped, and not covered")
    if plan.discovers:
        notes.append("rare groups are left out; coverage is before that selection")
    if any(step.where is not None or step.limit is not None for step in plan.query.steps):
        notes.append("rows were chosen by released values; coverage is before that choice")
    return tuple(notes)


def facts(plan: Plan) -> dict[str, Any]:
    """Return everything public about a plan as plain data: for certificates and machines."""
    first = plan.passes[0].scan
    return {
        "table": first.table,
        "version": first.schema.version,
        "protects": str(first.schema.unit),
        "neighbors": first.schema.neighbors,
        "bounding": _bounding(plan.passes[0]),
        "releases": [_measure(measure, one) for one in plan.passes for measure in one.measures],
        "keys": "discovered above a threshold" if plan.discovers else "public",
        "cost": cost(plan),
    }


def cost(plan: Plan) -> dict[str, float]:
    """Return what the answer costs by itself: epsilon at the delta it was planned for, or rho."""
    event, spend = plan.event, plan.spend
    if spend.rho is not None:
        return {"rho": float_up(event.rho()), "delta_keys": float_up(event.slack())}
    if not spend.delta and not event.slack():
        return {"epsilon": float_up(event.pure())}
    delta = spend.delta + spend.keys
    if event.pure() != float("inf") and not event.slack():
        return {"epsilon": float_up(event.pure()), "delta": 0.0}
    return {"epsilon": accounting.epsilon(event, delta), "delta": float_up(delta)}


def explain(plan: Plan) -> str:
    """Return the plan in plain words."""
    first = plan.passes[0]
    lines = [
        f"Protects {first.scan.schema.unit} of {first.scan.table} ({first.scan.schema.neighbors} neighbours).",
        _bounding(first),
    ]
    for one in plan.passes:
        if one.keys is not None:
            people = one.keys.threshold / 2**one.keys.shift
            lines.append(f"Groups are found in the data; one is shown if its noisy weight is above {people:.4g}.")
        for measure in one.measures:
            noise = _measure(measure, one)
            lines.append(
                f"Adds {noise['noise']} noise of standard deviation {noise['standard_deviation']:.4g} to "
                f"{noise['sum']}; 95% of it within {noise['half_width_95']:.4g}."
            )
    price = ", ".join(f"{name} {value:.4g}" for name, value in cost(plan).items())
    lines.append(f"Costs {price}.")
    return "\n".join(lines)


def _bounding(one: Pass) -> str:
    unit = one.scan.schema.unit
    who = unit.column if isinstance(unit, Person) else "row"
    match one.scan.bounding:
        case Once():
            return "Each row counts in full."
        case Norm(order=order, limit=limit):
            amount = f"{limit}" if order == 1 else f"{limit**0.5:.4g}"
            norm = "sum" if order == 1 else "root of the sum of squares"
            return (
                f"Each {who} counts in full while the {norm} of its rows in each group is at most {amount}; "
                f"whoever gives more is scaled down as a whole."
            )
        case Truncate(groups=groups, rows=rows):
            return f"Of each {who} at most {rows} rows in each of at most {groups} groups are kept, chosen at random."


def _measure(measure: Measure, one: Pass) -> dict[str, Any]:
    step = float(measure.sum.step)
    unit = step**measure.sum.power
    return {
        "sum": _name(measure, one),
        "noise": "Laplace" if isinstance(measure.mechanism, Laplace) else "Gaussian",
        "standard_deviation": measure.standard_deviation * unit,
        "half_width_95": measure.error(0.95) * unit,
        "sensitivity_l1": float(measure.sensitivity.l1) / 2**measure.shift * unit,
        "sensitivity_l2": float(measure.sensitivity.l2_squared) ** 0.5 / 2**measure.shift * unit,
        "clamped_to": [
            float(measure.sum.low * step + measure.sum.origin),
            float(measure.sum.high * step + measure.sum.origin),
        ],
    }


def _name(measure: Measure, one: Pass) -> str:
    if measure.sum.expression is None:
        what = "the count of people" if one.scan.distinct else "the count of rows"
    elif measure.sum.power == 2:
        what = "a sum of squares"
    else:
        what = "a sum"
    return f"{what} in each group" if one.scan.keys else what
