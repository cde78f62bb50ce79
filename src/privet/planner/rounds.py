"""Plans that are carried out one part after another, each charged separately: rounds, and questions in steps.

Rounds are for widths that depend on the data: each costs twice the one before, up to a maximum, and their number is
decided by their releases alone. In a question in steps, the release of a step is a constant of the next, which is
planned with it once it is known. Every part is an ordinary plan: it is verified, charged and stored separately, and
found again by its own digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

from privet.aggregates import Ranked
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.event import Composed
from privet.core.numbers import Number, in_digits, read_amount
from privet.core.relation import tables_of
from privet.core.schema import Contribution, Schema
from privet.core.wire import canonical
from privet.query.nodes import Query
from privet.query.resolve import linear_in, meanings

from .accuracy import excess, half_width_of, has_price, limited, reached, tail_of
from .contributions import refuse_chosen
from .explain import beside_lines, boundings, cost, cost_of, known_lines, why
from .groupings import parts_of
from .keys import choices
from .make import Among, make_plan, with_before, with_earlier, with_wider
from .measures import SURE
from .plan import Known, Plan, Spend, Target
from .selections import presence_lines, presence_only, quantile_passes
from .stability import Rule

MOST_ROUNDS = 5
"""Rounds take 1/32, 1/16, 1/8, 1/4 and 1/2 of the maximum: a confidence that is split over more gets too wide."""


def make_rounds(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    target: Target,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    apart: bool = False,
    narrow: bool = True,
) -> Plan:
    """Return a plan of rounds that together cost no more than the spend. Free, and the same for every data set.

    Round j of k takes 2**(j - k - 1) of the spend, so that each costs twice the one before, and each has noise, and a
    digest, of its own. All noise is of one family: the one that errs less once all rounds are averaged.

    Guarantee: the parts add up to 1 - 2**-k. Laplace noise and choices cost as much in epsilon, or rho, as their part
    says, and those add up. Gaussian noise of all rounds together has the rho that `choices` gives for k times the
    measures, as `make_batch` divides it. So whichever rounds are carried out, they cost no more than the spend; an
    account is charged for each before it is read, and its filter holds however their number is decided.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7].
    """
    how = {"bound": bound, "contribution": contribution, "apart": apart, "narrow": narrow}
    plain = make_plan(query, tables, spend=spend, **how)  # type: ignore[arg-type]
    hidden = [key.expression for key in plain.groups if key.values is None]
    if hidden and query.find:
        raise Unsupported(
            "rounds would look for groups again and again: leave find_groups out, or pass epsilon= instead of within="
        )
    if hidden:
        names = ", ".join(key.name for key in query.keys if key.expression in hidden)
        raise Unsupported(
            f"the values of {names} are not declared, and rounds would look for them again and again: declare them, or "
            f"name them in the question (WHERE {names} IN (...)), or pass epsilon= instead of within="
        )
    if any(pass_.inside for pass_ in plain.passes):
        raise Unsupported(
            "what is chosen (MODE, TOP_K, BOUNDS) has no width, and would be chosen again each round: ask it by itself"
        )
    count = _rounds_for(plain, target)
    alone = presence_only(plain)
    measures = sum(len(pass_.measures) for index, pass_ in enumerate(plain.passes) if index not in alone)
    parts = measures + sum(bool(pass_.measure.draws) for pass_ in plain.passes)
    alpha = (1 - target.confidence) / count
    room = Among(max(1, measures) * count, max(1, parts) * count, even=True, alpha=alpha)
    families = choices(spend.part(Fraction(room.measures, room.parts)), room.measures)
    made = []
    for family in [choice.family for choice in families] if measures else [None]:
        plans = [
            make_plan(
                query,
                tables,
                spend=spend,
                among=replace(room, weight=Fraction(count, 2 ** (count - index)), family=family),
                **how,  # type: ignore[arg-type]
            )
            for index in range(count)
        ]
        passes = tuple(pass_ for plan in plans for pass_ in plan.passes)
        made.append(Plan(query, passes, plans[0].readings, spend, target, count, narrowed=plain.narrowed))
    return min(made, key=_error)


def _rounds_for(plan: Plan, target: Target) -> int:
    """Return how many rounds there are: with quantiles, fewer at a high confidence, which is divided among them."""
    limited(plan, target)
    ranked = [reading.aggregate for reading in plan.readings if isinstance(reading.aggregate, Ranked)]
    if not ranked:
        return MOST_ROUNDS
    count = min(MOST_ROUNDS, int((1 - target.confidence) / (1 - SURE)))
    if count < 2 and any(aggregate.extreme for aggregate in ranked):
        most = float(1 - 2 * (1 - SURE))
        raise RequestError(
            f"an interval of MIN or MAX holds {float(SURE * 100):g} times in 100, and rounds need two of them: ask for "
            f"a confidence of at most {most:g}, or pass epsilon= instead of within="
        )
    return max(2, count)


def _error(plan: Plan) -> float:
    """Return the sum of the relative variances of all rounds combined."""
    error = 0.0
    for index, pass_ in enumerate(plan.passes[: len(plan.passes) // plan.rounds]):
        for place, measure in enumerate(pass_.measures):
            error += (plan.law((index, place)).deviation / max(1, measure.sum.most)) ** 2
    return error


def check_reachable(plan: Plan, target: Target) -> None:
    """Refuse a target that even all rounds could not reach on any data, where declared facts show it."""
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    for column, limit in limited(plan, target).items():
        narrowest, largest = _at_best(plan, column)
        wanted = float(limit.amount) * (largest if limit.relative else 1.0)
        if narrowest > wanted * (1 + 1e-9):
            most = f"{name} {float(amount_of(plan.spend)):.4g}"
            raise RequestError(
                f"{column} cannot reach {limit}: at {most} the best possible half-width is ±{in_digits(narrowest, 4)}. "
                f"Increase at_most, or ask for a wider interval."
            )


def _at_best(plan: Plan, column: str) -> tuple[float, float]:
    """Return the narrowest half-width that a column can have, and how far from 0 it can be, as far as is known."""
    line = linear_in(meanings(plan.query)[column])
    reading = next((candidate for candidate in plan.readings if line and candidate.name == line.column), None)
    if line is None or reading is None:
        return 0.0, float("inf")
    rows, factor = plan.passes[0].scan.schema.rows, abs(float(line.factor))
    half = half_width_of(plan, column, 1 - tail_of(plan))
    if half is not None and reading.aggregate.steady:
        return float(half), factor * reading.aggregate.most * rows + abs(float(line.offset))
    if half is not None:
        place = reading.places[0]
        most = 1 if isinstance(place, Known) else plan.passes[place[0]].measures[place[1]].sum.most
        return float(half), factor * float(reading.aggregate.linear or 0) * rows * most + abs(float(line.offset))
    laws = [plan.law(place) for place in reading.places] if reading.aggregate.sums() else []
    narrowest = factor * reading.aggregate.narrowest_width(laws, rows, tail_of(plan))
    return narrowest, max(map(abs, reading.aggregate.ends)) * factor + abs(float(line.offset))


def amount_of(spend: Spend) -> Fraction:
    """Return the amount of a spend, in its own measure."""
    amount = spend.rho if spend.epsilon is None else spend.epsilon
    if amount is None:
        raise InvariantError("a spend is in epsilon or in rho")
    return amount


# Rounds in plain words: what each adds, when they stop, and their least and greatest cost.


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
    for index, pass_ in enumerate(plan.passes[:size]):
        for place, (measure, fact) in enumerate(zip(pass_.measures, pass_.measure.facts(pass_.scan), strict=False)):
            unit = float(measure.sum.step) ** measure.sum.power
            lines.append(
                f"Adds {fact['noise']} noise to {fact['sum']}, of standard deviation "
                f"{in_digits(fact['standard_deviation'], 4)} in the first round and "
                f"{in_digits(plan.law((index, place)).deviation * unit, 4)} once all are averaged."
            )
    lines += [line for pass_, measure in quantile_passes(plan.passes[-size:]) for line in measure.lines(pass_.scan)]
    lines += [*beside_lines(plan), *presence_lines(plan)]
    lines.append(why(plan))
    if plan.target is not None:
        lines.append(_stops(plan, plan.target))
    lines.append(_price(plan))
    return "\n".join(line for line in lines if line)


def _stops(plan: Plan, target: Target) -> str:
    limits = ", ".join(f"{name} {limit}" for name, limit in limited(plan, target).items())
    return (
        f"How wide the answer will be depends on the data, so it comes in up to {plan.rounds} rounds, each charged "
        f"before it reads and twice as dear as the one before. They stop as soon as every interval at "
        f"{float(target.confidence):.4g} confidence is as narrow as asked ({limits}), judged by released values alone."
    )


def _price(plan: Plan) -> str:
    first, most = cost(plan.round(0)), cost(plan)
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    ends = f"{name} {first.get(name, 0.0):.4g} (one round) to {most.get(name, 0.0):.4g} (all of them)"
    return f"Costs {ends}, delta {most.get('delta', 0.0):.4g}."


# How a width is reached: for the least spend, where public facts alone determine it, or else in rounds.

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
    """Return the plan that reaches a target: of the least price where that is known in advance, or else of rounds.

    Rounds cost no more than `at_most`, in the measure of `spend`, or than the spend where it is left out; a price that
    is known in advance is refused where it is above `at_most`.
    """
    refuse_chosen(query.table, tables, contribution, "for a width, which depends on it: state a cost")
    name = "rho" if spend.epsilon is None else "epsilon"
    most = None if at_most is None else read_amount(at_most, "at_most")
    limit = spend if most is None else replace(spend, **{name: most})
    if has_price(make_plan(query, tables, spend=limit, bound=bound, contribution=contribution), target):
        how = {"spend": spend, "target": target, "bound": bound, "contribution": contribution}
        made = partial(cheapest, query, tables, **how)  # type: ignore[arg-type]
        plan = with_wider(_priced(made), lambda: _priced(partial(made, narrow=False)))
        plan = cheaper_beside_counts(plan, made)
        price = amount_of(plan.spend)
        if most is not None and price > most:
            raise RequestError(
                f"so narrow an answer costs {name} {float(price):.4g}, more than at_most={float(most):.4g}; "
                f"increase at_most, or ask for a wider interval"
            )
        return plan
    how = {"spend": limit, "target": target, "bound": bound, "contribution": contribution}
    plan = with_earlier(partial(make_rounds, query, tables, **how), sharing=False)  # type: ignore[arg-type]
    check_reachable(plan, target)
    return plan


def _priced(made: Callable[..., Plan]) -> Plan:
    """Return the cheapest plan, or the one with each sum apart where that costs less."""
    plan = with_before(made(), lambda: made(apart=True))
    cheaper = plan.before is not None and amount_of(plan.before.spend) < amount_of(plan.spend)
    return plan.before if plan.before is not None and cheaper else plan


def cheaper_beside_counts(plan: Plan, made: Callable[..., Plan]) -> Plan:
    """Return the cheapest plan whose SUMs share counts, where that costs less than one whose SUMs do not."""
    if plan.spend.rho is None and not plan.spend.delta:
        return plan
    now = made(sharing=True)
    cheaper = now.unshared is not None and amount_of(now.spend) < amount_of(plan.spend)
    return replace(now, unshared=plan) if cheaper else plan


def cheapest(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    target: Target,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    apart: bool = False,
    narrow: bool = True,
    sharing: bool = False,
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
        how = {"bound": bound, "contribution": contribution, "target": target, "narrow": narrow, "sharing": sharing}
        return make_plan(query, tables, spend=amount, apart=apart, **how)  # type: ignore[arg-type]

    low, high = -1, PRICES - 1
    best = at(high)
    if excess(best, target) > 1:
        listed = ", ".join(width.words() for width in reached(best, target) if width.half_width > width.wanted)
        raise RequestError(
            f"no {name} up to {float(price(high)):,g} makes the answer as narrow as that; the best is {listed}: "
            f"ask for a wider one by within="
        )
    while high - low > 1:
        middle = (low + high) // 2
        plan = at(middle)
        low, high, best = (low, middle, plan) if excess(plan, target) <= 1 else (middle, high, best)
    return best


class NextStep(NamedTuple):
    """The plan that comes next, and whether it is that of the question itself."""

    plan: Plan
    last: bool


Following = Callable[[tuple[Any, ...]], NextStep]
"""Returns the step that follows once some values are released; it is the same for the same values."""


@dataclass(frozen=True, repr=False)
class InSteps(Plan):
    """A question that needs values first: a plan for each of them, and that of the question.

    The last plan is made with other values of their kinds, and made again with the released ones.
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
        passes = tuple(pass_ for plan in (last, *steps[:-1]) for pass_ in plan.passes)
        return cls(last.query, passes, last.readings, spend, steps=steps, following=following)

    @cached_property
    def event(self) -> Composed:
        """The joint cost of all steps."""
        return Composed(tuple(event for step in self.steps for event in step.event.events))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all steps, by which nothing is stored: each is, by its own."""
        return hashlib.sha256(canonical(["steps", *(step.digest for step in self.steps)]).encode()).hexdigest()

    @cached_property
    def price(self) -> Mapping[str, float]:
        """The joint cost of all steps."""
        passes = [pass_ for step in self.steps for plan in parts_of(step) for pass_ in plan.passes]
        return cost_of(passes, self.spend)

    def explain(self) -> str:
        """Return the steps in plain words, with the price of each and of all."""
        lines = [
            f"Asked in {len(self.steps)} steps, each charged by itself: what a step releases stands in the next as a "
            f"constant, and the next is planned with it."
        ]
        for number, step in enumerate(self.steps, 1):
            lines += [f"Step {number}: {_named(step)}.", step.explain()]
        listed = ", ".join(f"{name} {amount:.4g}" for name, amount in self.price.items())
        return "\n".join([*lines, f"All steps together cost {listed}."])

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the steps as plain data that JSON can represent."""
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
