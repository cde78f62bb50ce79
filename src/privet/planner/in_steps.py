"""The plan of a question in steps: values that are released first, each charged by itself, and then the question.

What a step releases is a constant of the next, which is planned with it once it is known. Every step is a plan like any
other: it is verified, charged and stored by itself, and found again by its own digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

from privet.core.event import Composed
from privet.core.wire import canonical

from .explain import cost_of
from .groupings import parts_of
from .plan import Plan, Spend


class NextStep(NamedTuple):
    """The plan that comes next, and whether it is that of the question itself."""

    plan: Plan
    last: bool


Following = Callable[[tuple[Any, ...]], NextStep]
"""Returns the step that follows once some values are released; it is the same for the same values."""


@dataclass(frozen=True, repr=False)
class InSteps(Plan):
    """A question that needs values first: a plan for each of them, and that of the question.

    The last plan is made with other values of their kinds, and made again with what is released.
    Guarantee: the spends of all steps add up to that of the whole, so that they cost no more than it together,
    whatever is released by the first of them. An account is charged for each before it is read.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7].
    """

    steps: tuple[Plan, ...] = ()
    following: Following | None = field(default=None, compare=False)

    @classmethod
    def of(cls, steps: tuple[Plan, ...], following: Following, spend: Spend) -> Self:
        """Return the plan of a question from those of its steps, the question itself last."""
        last = steps[-1]
        # those of the question come first, so that its readings are where they were
        passes = tuple(one for plan in (last, *steps[:-1]) for one in plan.passes)
        return cls(last.query, passes, last.readings, spend, steps=steps, following=following)

    @cached_property
    def event(self) -> Composed:
        """What all steps cost together."""
        return Composed(tuple(event for one in self.steps for event in one.event.events))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all steps, by which nothing is stored: each is, by its own."""
        return hashlib.sha256(canonical(["steps", *(one.digest for one in self.steps)]).encode()).hexdigest()

    @cached_property
    def price(self) -> Mapping[str, float]:
        """What all steps cost together."""
        several = [one for step in self.steps for plan in parts_of(step) for one in plan.passes]
        return cost_of(several, self.spend)

    def explain(self) -> str:
        """Return the steps in plain words, with the price of each and of all."""
        lines = [
            f"Asked in {len(self.steps)} steps, each charged by itself: what a step releases stands in the next as a "
            f"constant, and the next is planned with it."
        ]
        for number, step in enumerate(self.steps, 1):
            lines += [f"Step {number}: {_named(step)}.", step.explain()]
        told = ", ".join(f"{name} {amount:.4g}" for name, amount in self.price.items())
        return "\n".join([*lines, f"All steps together cost {told}."])

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the steps as plain data that JSON can hold."""
        last = self.steps[-1].to_dict()
        return {
            **last,
            "digest": self.digest,
            "cost": dict(self.price),
            "steps": [step.to_dict() for step in self.steps],
        }

    def __repr__(self) -> str:
        return self.explain()


def _named(step: Plan) -> str:
    names = ", ".join(output.name for output in step.query.steps[-1].outputs) if step.query.steps else ""
    return names or "the question"


def share_of(spend: Spend, count: int) -> Spend:
    """Return an equal part of a spend, with an equal part of its delta."""
    part = Fraction(1, count)
    return Spend(
        None if spend.epsilon is None else spend.epsilon * part,
        spend.delta * part,
        None if spend.rho is None else spend.rho * part,
        spend.keys * part,
    )
