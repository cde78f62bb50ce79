"""A question in steps: values are released first, each charged by itself, and stand in the question as constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from privet.answer import Answer
from privet.core.errors import BudgetExceeded, InvariantError
from privet.core.numbers import float_down
from privet.display import cost_words
from privet.planner.in_steps import InSteps
from privet.planner.plan import Plan

from .executor import Executor

Run = Callable[..., Answer]
"""Carries out the plan of one step: `run(plan, key=...)`."""


def run_steps(executor: Executor, plan: InSteps, run: Run, *, key: str | None) -> Answer:
    """Return the answer to a question in steps: each is found in the ledger, or charged, read and drawn by itself.

    Guarantee: each step is a plan that is verified and charged like any other, and sees of those before it what they
    released. Nothing is charged unless all steps fit into what is left, as far as can be told before the first.
    """
    if type(plan) is not InSteps or plan.following is None:
        raise InvariantError("a question in steps is planned by a session")
    _admit(executor, plan)
    values: tuple[Any, ...] = ()
    done: list[Answer] = []
    while True:
        step, last = plan.following(values)
        number = len(done) + 1
        answer = run(step, key=None if key is None else key if last else f"{key}, step {number}")
        done.append(answer)
        if last:
            return replace(answer, notes=(*answer.notes, _told(plan, done)))
        values = (*values, answer.series[0].values[0])


def _told(plan: InSteps, done: list[Answer]) -> str:
    """Return what was released first, and what all of it cost."""
    *firsts, last = done
    first = ", ".join(
        f"{one.series[0].name} = {_shown(one.series[0].values[0])} ({_cost(one.plan)}, entry {one.receipt.entry})"
        for one in firsts
    )
    return (
        f"Asked in {len(done)} steps: {first} came first and stood in the question as a constant, and the question "
        f"itself cost {_cost(last.plan)}; {cost_words(plan.price) or 'nothing'} in all. Intervals do not cover the "
        f"noise of what came first."
    )


def _cost(plan: Plan) -> str:
    return cost_words(plan.price) or "nothing"


def _shown(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _admit(executor: Executor, plan: InSteps) -> None:
    """Raise unless all steps fit into the budget; where the first was paid for before, each charge tells by itself.

    A first step that was charged and never stored, as where a server has admitted the question and reads it now, or
    where the process ended in between, is not charged again.
    """
    if executor.find(plan.steps[0]) is not None or executor.admits(plan.event, plan.steps):
        return
    first = plan.steps[0].digest
    if any(one.digest == first and one.account == executor.account for one in executor.ledger.history()):
        return
    if not executor.admits(plan.steps[0].event, plan.steps[:1]):
        return  # where not even one fits, its own charge is refused, and says why
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    left = executor.remaining(plan.steps)
    raise BudgetExceeded(
        measure=name,
        requested=plan.price[name],
        remaining=left.largest_epsilon if name == "epsilon" else float_down(left.amount),
        largest_epsilon=left.largest_epsilon,
        countable=False,
    )
