"""A sparse vector over counts and bounded sums that are chosen as answers come: all that is fixed when it is opened.

The threshold, how many crossings it reports, how far one unit may move any question, and the noise: all of it public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, isqrt, log
from typing import Any, Literal

from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, RequestError
from privet.core.event import Composed, Event, Repeated
from privet.core.given import check_fields
from privet.core.numbers import float_up, whole
from privet.core.scan import Scan
from privet.core.schema import Contribution, Schema
from privet.core.unit import Neighbors, Person, Rows, Unit, Window
from privet.core.wire import canonical
from privet.display import shown_amount, shown_error
from privet.mechanisms import DiscreteLaplaceEvent
from privet.mechanisms.lattice import step_of
from privet.mechanisms.sparse_run import Steps, make_steps
from privet.mechanisms.sparse_vector import Sparse
from privet.query.shape import schema_within_limits

from .explain import plan_version
from .make import private_schema
from .measures import summed_in_words
from .plan import Spend
from .scalars import ScalarQuestion, movement_of, worth_of
from .stability import Rule, bounding_for
from .verify import verify_scan

MOST_CROSSINGS = 1_000
"""A vector reports this many crossings at most."""

MOST_QUESTIONS = 10_000
"""A vector answers this many questions at most: its state, in which their answers are, is written for each."""

_VALUES_PART = Fraction(1, 2)
"""The part of the cost that measuring what crosses takes, where it is measured."""

_BITS = 2**64


@dataclass(frozen=True)
class ThresholdPlan:
    """A sparse vector with every decision made: what it compares with, how often, for which questions, and its noise.

    `epsilon` is what all crossings and values cost together. A question may move by `sensitivity` at most, in its own
    units; where `monotone`, only upwards as a unit comes. `values` says whether what crosses is measured as well.
    `account` and `name` tell one vector from another.
    """

    threshold: Fraction
    limit: int
    sensitivity: Fraction
    monotone: bool
    epsilon: Fraction
    values: bool
    unit: Rows | Person | Window
    neighbors: Neighbors
    tables: tuple[str, ...]
    account: str
    name: str
    measure: Literal["epsilon", "rho"] = "epsilon"

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.limit >= 1 and self.sensitivity > 0 and self.epsilon > 0):
            raise InvariantError("a sparse vector has a limit, a sensitivity and a cost above 0")
        if self.monotone and (self.neighbors != "add-remove" or self.unit.timed or self.unit.touches != 1):
            raise InvariantError("questions move one way only where one unit comes or goes whole")

    @cached_property
    def comparing(self) -> Sparse:
        """What compares questions with the threshold."""
        return Sparse(
            threshold=self.threshold,
            limit=self.limit,
            sensitivity=self.sensitivity,
            epsilon=self.epsilon * (1 - _VALUES_PART if self.values else 1),
            monotone=self.monotone,
        )

    @cached_property
    def steps(self) -> Steps:
        """The grid on which questions are compared, with the scales of both noises in its steps."""
        made = self.comparing
        return make_steps("fine", made.threshold, made.sensitivity, made.threshold_scale, made.query_scale)

    @property
    def value_scale(self) -> Fraction | None:
        """The scale of the noise on what is measured, in steps; None where nothing is."""
        return self.steps.moves * self.limit / (self.epsilon * _VALUES_PART) if self.values else None

    @cached_property
    def event(self) -> Event:
        """What all questions cost together: the event of the very noise that will be drawn.

        Guarantee: that of the sparse vector, and that of one discrete Laplace release for each crossing, whose noise is
        its own. Questions that come out below are free, however many.
        Cites: [DR14, Alg. 3], [LSL17, standard sparse vector].
        """
        crossings, scale = self.comparing.event, self.value_scale
        if scale is None:
            return crossings
        measured = DiscreteLaplaceEvent(steps=self.steps.moves, scale=scale)
        return Composed((crossings, Repeated(measured, self.limit)))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that was fixed, and of whose vector it is."""
        facts = [self.threshold, self.limit, self.sensitivity, self.monotone, self.epsilon, self.values]
        about = [self.unit, self.neighbors, self.account, self.name]
        return hashlib.sha256(canonical(["sparse vector", *facts, *about]).encode()).hexdigest()

    @property
    def step(self) -> Fraction:
        """What one step of the grid is worth, in the units of questions."""
        return step_of(self.steps.exponent)

    @property
    def value_error(self) -> float | None:
        """How far what is measured lies from the truth, at most, with probability 0.95; None where nothing is."""
        scale = self.value_scale
        return None if scale is None else float_up(self.step * (Fraction(log(20) * 1.000001) * scale + 1))

    def off(self, questions: int = 100) -> float:
        """Return how far from the threshold a question can be that one of this many is wrong about, 95% of the time."""
        asked = whole(questions, "questions", least=1, most=10**18)
        return self.comparing.accuracy(asked, Fraction(1, 20))

    @property
    def cost(self) -> dict[str, float]:
        """What the vector costs, whatever is asked."""
        if self.measure == "rho":
            return {"rho": float_up(self.event.rho()), "delta": 0.0}
        return {"epsilon": float_up(self.event.pure()), "delta": 0.0}

    def explain(self) -> str:
        """Return the vector in plain words: what is protected, what it tells, what it costs."""
        ways = "only upwards as one comes, which takes less noise" if self.monotone else "either way"
        moved, limit = shown_amount(float_up(self.sensitivity)), f"{self.limit:,}"
        lines = [
            f"Protects {self.unit} of {' and '.join(self.tables)} ({self.neighbors} neighbours).",
            f"Tells of each question whether its answer is above {shown_amount(float(self.threshold))}, and is closed "
            f"after {limit} that {'was' if self.limit == 1 else 'were'}. Questions are counts and bounded sums, which "
            f"may be chosen by the answers so far.",
            f"What is protected may move a question by at most {moved}, {ways}; a question that could move further is "
            f"refused.",
            f"The threshold gets Laplace noise of scale {shown_amount(float_up(self.comparing.threshold_scale))}, "
            f"drawn once, and each question noise of scale {shown_amount(float_up(self.comparing.query_scale))}: "
            f"with probability 0.95, of 100 questions none is told wrongly that is further than "
            f"{shown_error(self.off())} from the threshold.",
        ]
        if (error := self.value_error) is not None:
            lines.append(
                f"What comes out above is measured by noise of its own; 95% of it lies within {shown_error(error)}."
            )
        price = ", ".join(f"{name} {value:.4g}" for name, value in self.cost.items())
        return "\n".join([*lines, f"Costs {price}, once, when it is opened."])

    def facts(self) -> dict[str, Any]:
        """Return everything public about the vector as plain data: for certificates and machines."""
        return {
            **plan_version(),
            "table": " and ".join(self.tables),
            "version": "",
            "protects": str(self.unit),
            "neighbors": self.neighbors,
            "bounding": "Each question states its own.",
            "may_be_low": [],
            "may_be_high": [],
            "releases": [
                {
                    "sum": f"which questions are above {float(self.threshold):.6g}, up to {self.limit:,} of them",
                    "noise": "Laplace",
                    "name": self.name,
                    "threshold": float(self.threshold),
                    "limit": self.limit,
                    "values": self.values,
                    "monotone": self.monotone,
                    "sensitivity": float_up(self.sensitivity),
                    "norm": "L1",
                    "clamped_to": None,
                }
            ],
            "exact": [],
            "keys": "none",
            "group_by": [],
            "where": None,
            "cost": self.cost,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the vector, with its digest, as plain data."""
        return {"digest": self.digest, **self.facts()}

    def __str__(self) -> str:
        return self.explain()


def question_digest(plan: ThresholdPlan, question: ScalarQuestion) -> str:
    """Return the fingerprint of a question that a vector is asked."""
    return hashlib.sha256(canonical(["asked", plan.digest, question.scan]).encode()).hexdigest()


def steps_of(total: int, question: ScalarQuestion, plan: ThresholdPlan) -> int:
    """Return the answer to a question on the grid of a vector, rounded, from the integer that its scan gives.

    Guarantee: answers that lie at most the sensitivity apart are at most `steps.moves` steps apart.
    """
    return floor(total * worth_of(question.sum, question.scan) / plan.step + Fraction(1, 2))


def counted(
    name: str, tables: Mapping[str, Schema], *, bound: Rule, contribution: Contribution | None
) -> tuple[Schema, Fraction]:
    """Return the facts of a table, and how far one unit can move a count of its rows."""
    schema = private_schema(name, tables)
    limits = schema_within_limits(name, tables, contribution).contribution
    if limits.chosen:
        raise RequestError(
            f"the contribution limit of {name!r} is chosen anew for each question, and a sparse vector needs one that "
            f"is fixed; pass contribution= with numbers, such as Contribution(groups=1, rows=3)"
        )
    bounding = bounding_for(schema, limits, rule=bound, grouped=False, order=1, distinct=False)
    scan = Scan(name, schema, None, (), (rows(None),), bounding)
    return schema, movement_of(scan.sums[0], scan).distance


def cost_of_spend(spend: Spend) -> tuple[Fraction, Literal["epsilon", "rho"]]:
    """Return the pure epsilon that a spend allows: all of it, or what costs its rho at most.

    Guarantee: an epsilon-DP release costs epsilon**2 / 2 in rho at most.
    Cites: [BS16, Prop. 1.4].
    """
    if spend.epsilon is not None:
        return spend.epsilon, "epsilon"
    squared = 2 * (spend.rho or Fraction(0))
    return Fraction(isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS), "rho"


def verify_question(plan: ThresholdPlan, question: ScalarQuestion, tables: Mapping[str, Schema]) -> None:
    """Raise unless a question moves no further, and in no other direction, than a vector was opened for.

    Guarantee: the answers to all questions that pass are at most the vector's sensitivity apart between neighbours and,
    where it is monotone, all move one way; so its event holds, whatever made the questions.
    """
    if type(plan) is not ThresholdPlan or type(question) is not ScalarQuestion:
        raise InvariantError("a vector and its questions are read as they are")
    scan = question.scan
    verify_scan(scan, tables)
    if kind_of_unit(scan.schema) != kind_of_unit(plan):
        raise RequestError(
            f"this vector was opened for {plan.unit} ({plan.neighbors} neighbours), and the question is about "
            f"{scan.schema.unit} ({scan.schema.neighbors}); open another one with table= for it"
        )
    moved = movement_of(question.sum, scan)
    if moved.distance > plan.sensitivity:
        told = f"{float_up(moved.distance):,.6g}"
        raise RequestError(
            f"one {'row' if scan.schema.unit.rowwise else 'person'} can move {summed_in_words(question.sum, scan)} by "
            f"{told}, and this vector was opened for {float(plan.sensitivity):,.6g} at most; ask for less, or open one "
            f"with sensitivity={told.replace(',', '')}"
        )
    if plan.monotone and not moved.rises:
        raise RequestError(
            "this vector was opened for questions that can only rise as people come, and this one may fall: it sums "
            "negative numbers, or counts different values; open one with signed=True, which takes more noise"
        )


def kind_of_unit(of: Schema | ThresholdPlan) -> tuple[object, ...]:
    """Return what is protected, whichever column names it."""
    unit: Unit = of.unit
    return type(unit), of.neighbors, unit.touches, getattr(unit, "length", None)
