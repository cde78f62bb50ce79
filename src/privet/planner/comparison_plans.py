"""Plans for mechanisms that compare counts and bounded sums and release none: a choice of options, a sparse vector.

A question's scan, the worth of one integer of it, and how far and in which direction one unit can move it come from
declared facts. A choice is of one option from a public list, by scores that are sums over private rows. A sparse vector
is over questions that are chosen as answers come: the threshold, the number of crossings that it reports, how far one
unit may move any question, and the noise are all that is fixed when it is opened. All of it is public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cached_property
from math import floor, isqrt, log
from typing import Any, Literal

from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.event import Composed, Event, Repeated
from privet.core.given import check_fields
from privet.core.numbers import float_up, in_full, whole
from privet.core.relation import Value, tables_of
from privet.core.scan import Scan, Sum
from privet.core.schema import Contribution, Schema
from privet.core.unit import Neighbors, Person, Rows, Unit, Window
from privet.core.wire import canonical
from privet.display import html_lines, shown_amount, shown_error
from privet.mechanisms import DiscreteLaplaceEvent
from privet.mechanisms.lattice import step_of
from privet.mechanisms.selection import NoisyMax
from privet.mechanisms.sparse_run import Steps, make_steps
from privet.mechanisms.sparse_vector import Sparse
from privet.query.nodes import Query, Step
from privet.query.normal import conjunction, text
from privet.query.resolve import meanings
from privet.query.shape import schema_within_limits

from .explain import plan_version, scans_in_words
from .make import make_plan, private_schema
from .measures import SumMeasure, plain_text_of, summed_in_words
from .plan import Spend
from .stability import Rule, bounding_for, sensitivity_of
from .verify import verify_scan

_ANY = Spend(Fraction(1), Fraction(0), None, Fraction(0))
"""A spend without a delta and without rho, so that contributions are bounded in L1."""

Law = Literal["exponential", "gumbel"]
"""The noise that decides: exponential noise is permute-and-flip, and Gumbel noise the exponential mechanism."""

MOST_CROSSINGS = 1_000
"""A vector reports this many crossings at most."""

MOST_QUESTIONS = 10_000
"""A vector answers this many questions at most: its state, in which their answers are, is written for each."""

MOST_OPTIONS = 1_000
"""This many options may be chosen from: each is a sum over the data."""

NAMES: Mapping[Law, str] = {"exponential": "permute-and-flip", "gumbel": "the exponential mechanism"}

_VALUES_PART = Fraction(1, 2)
"""The part of the cost for measuring crossings, where it is measured."""

_BITS = 2**64


@dataclass(frozen=True)
class ScalarQuestion:
    """A scan with one sum and no groups."""

    scan: Scan

    def __post_init__(self) -> None:
        check_scalar_scan(self.scan)
        if len(self.scan.sums) != 1:
            raise InvariantError("a scalar question has one sum")

    @property
    def sum(self) -> Sum:
        """The sum."""
        return self.scan.sums[0]


def check_scalar_scan(scan: Scan) -> None:
    """Raise unless a scan returns plain sums of all rows together, whose movement is bounded in L1."""
    plain = not (scan.keys or scan.discovery or scan.places or scan.near or scan.cells or scan.sizes) and scan.sums
    if not plain or any(total.origin or total.offset or total.power != 1 for total in scan.sums):
        raise InvariantError("numbers are compared where a scan returns plain sums of all rows together")
    if scan.bounding.order != 1:
        raise InvariantError("numbers are compared where contributions are bounded in L1")


def worth_of(total: Sum, scan: Scan) -> Fraction:
    """Return the worth of one integer of a sum, in the units of the question."""
    return total.step / (1 << scan.bounding.shift)


@dataclass(frozen=True)
class Movement:
    """How far one unit can move a number, in the units of its question, and whether only up or only down.

    A number `rises` if it cannot fall when a unit comes, nor rise when one goes; it `falls` in the reverse case.
    """

    distance: Fraction
    rises: bool
    falls: bool


def movement_of(total: Sum, scan: Scan) -> Movement:
    """Return how far neighbours differ in a sum, and in which direction.

    Guarantee: `distance` is the L1 bound of `sensitivity_of`. Under add-remove neighbours of one unit, what the others
    give stays as it is, and the unit gives its own rows' numbers times weights of at least 0: where no row's number is
    negative, the sum can only rise when the unit comes. With change-one neighbours, windows of time or several units
    together, one may come as another goes, and of different values it depends on those that others hold: nothing is
    claimed of the direction.
    Cites: [DR14, Def. 3.1].
    """
    schema, (low, high) = scan.schema, total.ends
    one_way = schema.moves == "add-remove" and schema.unit.touches == 1 and scan.bounding.of is None
    distance = sensitivity_of(total, scan).l1 * worth_of(total, scan)
    return Movement(distance, one_way and low >= 0, one_way and high <= 0)


def scalar_question(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    what: str = "a question",
) -> ScalarQuestion:
    """Return the scan of a question that asks for one count or bounded sum, or refuse it by name.

    `what` is the name of such a question in refusals. Reads no data.
    """
    if query.keys or query.levels:
        raise Unsupported(f"{what} here is one number of all rows; leave out GROUP BY, and choose rows with WHERE")
    if query.others or not all(map(_is_plain, query.steps)):
        raise Unsupported(f"{what} here is one number; leave out joins, conditions and limits on what it released")
    columns = list(meanings(query).values())
    if len(columns) != 1 or len(query.aggregates) != 1 or columns[0].column != query.aggregates[0].name:
        raise Unsupported(
            f"{what} here is one COUNT or SUM, and nothing computed from it; put constants into the sum, as in "
            f"SUM(CASE WHEN age > 65 THEN 1 ELSE 0 END)"
        )
    plan = make_plan(query, tables, spend=_ANY, bound=bound, contribution=contribution)
    (reading,) = plan.readings
    if reading.known:
        raise Unsupported(f"{what} here is about private rows, and this number of rows is declared and public")
    pass_ = plan.passes[0]
    summed = len(plan.passes) == 1 and isinstance(pass_.measure, SumMeasure) and len(pass_.scan.sums) == 1
    if not summed or reading.aggregate.linear is None:
        if plan.choosing:
            raise Unsupported(
                f"{what} here needs a contribution limit that is declared; pass contribution= with numbers"
            )
        raise Unsupported(
            f"{what} here is a COUNT or a SUM, and {query.aggregates[0].function.upper()} is neither; means and "
            f"quantiles can move too far with one row"
        )
    return ScalarQuestion(pass_.scan)


def _is_plain(step: Step) -> bool:
    kept = all(condition is None for condition in (step.where, step.having, step.qualify, step.limit))
    return step.plain and kept and not step.offset


@dataclass(frozen=True)
class ThresholdPlan:
    """A sparse vector with every decision made: its threshold, limit, questions and noise.

    `epsilon` is the joint cost of all crossings and values. A question may move by `sensitivity` at most, in its own
    units; where `monotone`, only upwards as a unit comes. `values` states whether crossings are measured as well.
    `account` and `name` distinguish one vector from another.
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
        """The mechanism that compares questions with the threshold."""
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
        """The scale of the noise on measured values, in steps; None where nothing is measured."""
        return self.steps.moves * self.limit / (self.epsilon * _VALUES_PART) if self.values else None

    @cached_property
    def event(self) -> Event:
        """The joint cost of all questions: the event of the noise that will be drawn.

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
        """A fingerprint of all fixed facts, and of the vector's owner."""
        facts = [self.threshold, self.limit, self.sensitivity, self.monotone, self.epsilon, self.values]
        about = [self.unit, self.neighbors, self.account, self.name]
        return hashlib.sha256(canonical(["sparse vector", *facts, *about]).encode()).hexdigest()

    @property
    def step(self) -> Fraction:
        """The worth of one step of the grid, in the units of questions."""
        return step_of(self.steps.exponent)

    @property
    def value_error(self) -> float | None:
        """How far a measured value is from the truth, at most, with probability 0.95; None where none is."""
        scale = self.value_scale
        return None if scale is None else float_up(self.step * (Fraction(log(20) * 1.000001) * scale + 1))

    def off(self, questions: int = 100) -> float:
        """Return how far from the threshold a question can be that one of this many is wrong about, 95% of the time."""
        asked = whole(questions, "questions", least=1, most=10**18)
        return self.comparing.accuracy(asked, Fraction(1, 20))

    @property
    def cost(self) -> dict[str, float]:
        """The cost of the vector, whatever is asked."""
        if self.measure == "rho":
            return {"rho": float_up(self.event.rho()), "delta": 0.0}
        return {"epsilon": float_up(self.event.pure()), "delta": 0.0}

    def explain(self) -> str:
        """Return the vector in plain words: its protection, answers and cost."""
        ways = "only upwards as one comes, which takes less noise" if self.monotone else "either way"
        moved, limit = shown_amount(float_up(self.sensitivity)), f"{self.limit:,}"
        lines = [
            f"Protects {self.unit} of {' and '.join(self.tables)} ({self.neighbors} neighbours).",
            f"Answers for each question whether it is above {shown_amount(float(self.threshold))}, and is closed "
            f"after {limit} that {'was' if self.limit == 1 else 'were'}. Questions are counts and bounded sums, which "
            f"may be chosen by the answers so far.",
            f"What is protected may move a question by at most {moved}, {ways}; a question that could move further is "
            f"refused.",
            f"The threshold gets Laplace noise of scale {shown_amount(float_up(self.comparing.threshold_scale))}, "
            f"drawn once, and each question noise of scale {shown_amount(float_up(self.comparing.query_scale))}: "
            f"with probability 0.95, of 100 questions none is answered wrongly that is further than "
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

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"<div>{html_lines(self.explain().splitlines())}</div>"


def question_digest(plan: ThresholdPlan, question: ScalarQuestion) -> str:
    """Return the fingerprint of a question that a vector is asked."""
    return hashlib.sha256(canonical(["asked", plan.digest, question.scan]).encode()).hexdigest()


def steps_of(total: int, question: ScalarQuestion, plan: ThresholdPlan) -> int:
    """Return the answer to a question on the grid of a vector, rounded, from the integer that its scan returns.

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
    """Return the pure epsilon that a spend allows: all of it, or the epsilon that costs its rho at most.

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
        needed = float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(float_up(moved.distance))))
        raise RequestError(
            f"one {'row' if scan.schema.unit.rowwise else 'person'} can move this question by {in_full(needed)} "
            f"({summed_in_words(question.sum, scan)}), and the vector was opened for "
            f"{in_full(float(plan.sensitivity))} at most; ask for less, or open one with sensitivity={needed:.12g}"
        )
    if plan.monotone and not moved.rises:
        raise RequestError(
            "this vector was opened for questions that can only rise as people come, and this one may fall: it sums "
            "negative numbers, or counts different values; open one with signed=True, which takes more noise"
        )


def kind_of_unit(of: Schema | ThresholdPlan) -> tuple[object, ...]:
    """Return the protected unit, whichever column names it."""
    unit: Unit = of.unit
    return type(unit), of.neighbors, unit.touches, getattr(unit, "length", None)


@dataclass(frozen=True)
class ScorePlace:
    """Where the score of an option is: which scan of a plan, and which of its sums."""

    scan: int
    column: int

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class ChoicePlan:
    """A choice with every decision made: the options, a score for each, and the noise by which one is chosen.

    `rate` is per unit of the score, and `sensitivity` is how far one unit can move any score; with `monotone`, all
    scores move in one direction. `measure` is the unit in which the choice was planned: epsilon or rho.
    """

    options: tuple[Value, ...]
    scans: tuple[Scan, ...]
    scores: tuple[ScorePlace, ...]
    sensitivity: Fraction
    monotone: bool
    rate: Fraction
    law: Law
    measure: Literal["epsilon", "rho"] = "epsilon"

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.options) != len(self.scores) or not self.scans:
            raise InvariantError("each option of a choice has a score")

    @property
    def sums(self) -> tuple[tuple[Sum, Scan], ...]:
        """The sum of each option's score, and its scan."""
        return tuple((self.scans[place.scan].sums[place.column], self.scans[place.scan]) for place in self.scores)

    @cached_property
    def unit(self) -> Fraction:
        """The largest number of which the worth of an integer of each score is a whole multiple."""
        worths = [worth_of(*score) for score in self.sums]
        below = math.lcm(*(worth.denominator for worth in worths))
        return Fraction(math.gcd(*(int(worth * below) for worth in worths)), below)

    @property
    def multiples(self) -> tuple[int, ...]:
        """How much an integer of each score counts, in the unit that all scores share."""
        return tuple(int(worth_of(*score) / self.unit) for score in self.sums)

    @cached_property
    def mechanism(self) -> NoisyMax:
        """The mechanism that chooses, from the scores as integers of `unit`."""
        return NoisyMax(
            sensitivity=self.sensitivity / self.unit,
            rate=self.rate * self.unit,
            monotone=self.monotone,
            law=self.law,
        )

    @property
    def event(self) -> Event:
        """The cost of the choice: the event of the mechanism that will choose."""
        return self.mechanism.event

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that decides the release."""
        places = [(place.scan, place.column) for place in self.scores]
        decided = [self.options, self.scans, places, self.sensitivity, self.monotone, self.rate, self.law]
        return hashlib.sha256(canonical(["choice", *decided]).encode()).hexdigest()

    @property
    def schema(self) -> Schema:
        """The facts of the table that is asked about."""
        return self.scans[0].schema

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read."""
        return tuple(dict.fromkeys(name for scan in self.scans for name in tables_of(scan.table)))

    def behind(self, confidence: float = 0.95) -> float:
        """Return how far below the best score that of the chosen option is, at most, with this probability."""
        return self.mechanism.error(confidence, size=len(self.options)) * float_up(self.unit)

    @property
    def cost(self) -> dict[str, float]:
        """The cost of the choice alone."""
        if self.measure == "rho":
            return {"rho": float_up(self.event.rho()), "delta": 0.0}
        return {"epsilon": float_up(self.event.pure()), "delta": 0.0}

    def explain(self) -> str:
        """Return the choice in plain words: its protection, decision and cost."""
        schema, count = self.schema, len(self.options)
        moved = f"{shown_amount(float_up(self.sensitivity))}"
        ways = (
            ", and moves all scores in the same direction, which halves the noise" if self.monotone else ", either way"
        )
        total, scan = self.sums[0]
        where = "" if scan.where is None else f", where {plain_text_of(scan.where)}"
        lines = [
            f"Protects {schema.unit} of {' and '.join(self.tables)} ({schema.neighbors} neighbours).",
            *scans_in_words(self.scans),
            f"Chooses one of {count:,} public options by {NAMES[self.law]}, from a score of each; the scores "
            f"themselves are not released.",
            f"The score of {_shown(self.options[0])} is {summed_in_words(total, scan)}{where}.",
            f"What is protected moves a score by at most {moved}{ways}.",
            f"With probability 0.95 the score of what is chosen is at most {shown_error(self.behind())} below the "
            f"best.",
            f"Costs {', '.join(f'{name} {value:.4g}' for name, value in self.cost.items())}.",
        ]
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Return everything public about the choice as plain data: for certificates and machines."""
        schema, scan = self.schema, self.scans[0]
        where = scan.where if len(self.scans) == 1 else None
        return {
            **plan_version(),
            "table": " and ".join(self.tables),
            "version": schema.version,
            "protects": str(schema.unit),
            "neighbors": schema.neighbors,
            "bounding": " ".join(scans_in_words(self.scans)),
            "may_be_low": [],
            "may_be_high": [],
            "releases": [
                {
                    "sum": f"one of {len(self.options):,} options by {summed_in_words(*self.sums[0])}",
                    "noise": "Permute-and-flip" if self.law == "exponential" else "Exponential",
                    "options": len(self.options),
                    "sensitivity": float_up(self.sensitivity),
                    "monotone": self.monotone,
                    "behind_95": self.behind(),
                    "clamped_to": None,
                }
            ],
            "exact": [],
            "keys": "none",
            "group_by": [],
            "where": None if where is None else text(where),
            "cost": self.cost,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the choice, with its digest and its options, as plain data."""
        return {"digest": self.digest, **self.facts(), "options": [_shown(option) for option in self.options]}

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"<div>{html_lines(self.explain().splitlines())}</div>"


def make_choice(
    options: Sequence[Value], scores: Sequence[ScalarQuestion], *, spend: Spend, law: Law | None
) -> ChoicePlan:
    """Return the plan of a choice from these options by these scores. Free, and the same for every data set.

    Without a `law` it is permute-and-flip, the best for one choice, or the exponential mechanism where the cost is
    counted as rho, which prices its smaller range of losses.

    Guarantee: the rate is such that the mechanism's event is what the spend allows, for the largest movement of any
    score; scores are taken to move in one direction only where each of them is proven to.
    Cites: [MT07, Thm 6], [MS20, privacy].
    """
    scans, places = _shared(scores)
    sensitivity, monotone = _moved(
        [movement_of(scans[place.scan].sums[place.column], scans[place.scan]) for place in places]
    )
    chosen: Law = law or ("exponential" if spend.epsilon is not None else "gumbel")
    if spend.epsilon is not None:
        cost = spend.epsilon
    else:  # a pure event of epsilon is epsilon**2 / 2 in rho, and one of bounded range epsilon**2 / 8
        squared = (8 if chosen == "gumbel" else 2) * (spend.rho or Fraction(0))
        cost = Fraction(math.isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS)
    rate = cost / (sensitivity * (1 if monotone else 2))
    measure: Literal["epsilon", "rho"] = "rho" if spend.epsilon is None else "epsilon"
    return ChoicePlan(tuple(options), scans, places, sensitivity, monotone, rate, chosen, measure)


def verify_choice(plan: ChoicePlan, tables: Mapping[str, Schema]) -> None:
    """Raise unless a choice has noise for the sensitivity that its scores have on these tables.

    Guarantee: a plan that passes costs what its event says on these tables, no matter what made it.
    """
    if type(plan) is not ChoicePlan:
        raise InvariantError(
            "a choice is read as it is: its cost and its digest are computed, and not its own to state"
        )
    for scan in plan.scans:
        verify_scan(scan, tables)
        check_scalar_scan(scan)
    places = [(score.scan, score.column) for score in plan.scores]
    if any(not (0 <= scan < len(plan.scans) and 0 <= column < len(plan.scans[scan].sums)) for scan, column in places):
        raise InvariantError("a choice reads a score that no scan returns")
    sensitivity, monotone = _moved([movement_of(*score) for score in plan.sums])
    if plan.sensitivity < sensitivity or (plan.monotone and not monotone):
        raise InvariantError("a choice has noise for another sensitivity than its scores have")


def _moved(movements: Sequence[Movement]) -> tuple[Fraction, bool]:
    """Return how far any of several numbers moves, and whether one unit moves all of them in one direction."""
    one_way = all(movement.rises for movement in movements) or all(movement.falls for movement in movements)
    return max(movement.distance for movement in movements), one_way


def _shared(scores: Sequence[ScalarQuestion]) -> tuple[tuple[Scan, ...], tuple[ScorePlace, ...]]:
    """Return as few scans as return all the scores, and the place of each score among them.

    Guarantee: scans that differ in their sums alone weigh units alike, and so do rows that are units, whichever of them
    a condition keeps: it may stand at the sum.
    """
    scans_of: dict[str, tuple[Scan, dict[str, Sum]]] = {}
    placed: list[tuple[str, str]] = []
    for score in scores:
        scan, total = score.scan, score.sum
        if scan.bounding.unbounded and scan.where is not None:
            total = replace(total, where=conjunction(scan.where, total.where))
            scan = replace(scan, where=None)
        # a scan for different values has one sum
        alike = scan if scan.bounding.of is not None else replace(scan, sums=())
        name, column = canonical(alike), canonical(total)
        scans_of.setdefault(name, (scan, {}))[1].setdefault(column, total)
        placed.append((name, column))
    names = list(scans_of)
    scans = tuple(replace(scan, sums=tuple(sums.values())) for scan, sums in scans_of.values())
    columns = {name: list(sums) for name, (_, sums) in scans_of.items()}
    return scans, tuple(ScorePlace(names.index(name), columns[name].index(column)) for name, column in placed)


def _shown(option: Value) -> str:
    return f"{float(option):.6g}" if isinstance(option, Fraction) else str(option)
