"""Rounds in plain words: what each adds, when they stop, what they cost at least and at most."""

from __future__ import annotations

from privet.core.relation import tables_of

from .choice_words import choice_lines
from .explain import boundings, cost, known_lines, release_facts, why
from .plan import Plan, Target
from .presence import presence_lines
from .target import limited
from .widths import law_of


def explain_rounds(plan: Plan) -> str:
    """Return a plan of rounds in plain words."""
    size = len(plan.passes) // plan.rounds
    schema = plan.passes[0].scan.schema
    lines = [
        f"Protects {schema.unit} of {' and '.join(tables_of(plan.passes[0].scan.table))} ({schema.neighbors} "
        f"neighbours).",
        *boundings(plan.round(0)),
        *known_lines(plan),
    ]
    for index, one in enumerate(plan.passes[:size]):
        for place, measure in enumerate(one.measures):
            told = release_facts(measure, one)
            unit = float(measure.sum.step) ** measure.sum.power
            lines.append(
                f"Adds {told['noise']} noise to {told['sum']}, of standard deviation {told['standard_deviation']:,.4g} "
                f"in the first round and {law_of(plan, (index, place)).deviation * unit:,.4g} once all are averaged."
            )
    lines += [line for one in plan.passes[-size:] for line in choice_lines(one)]
    lines += presence_lines(plan)
    lines.append(why(plan))
    if plan.target is not None:
        lines.append(_stops(plan, plan.target))
    lines.append(_price(plan))
    return "\n".join(line for line in lines if line)


def _stops(plan: Plan, target: Target) -> str:
    told = ", ".join(f"{name} {limit}" for name, limit in limited(plan, target).items())
    return (
        f"How wide the answer will be depends on the data, so it comes in up to {plan.rounds} rounds, each charged "
        f"before it reads and twice as dear as the one before. They stop as soon as every interval at "
        f"{float(target.confidence):.4g} confidence is as narrow as asked ({told}), judged by released values alone."
    )


def _price(plan: Plan) -> str:
    first, most = cost(plan.round(0)), cost(plan)
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    ends = f"{name} {first.get(name, 0.0):.4g} (one round) to {most.get(name, 0.0):.4g} (all of them)"
    return f"Costs {ends}, delta {most.get('delta', 0.0):.4g}."
