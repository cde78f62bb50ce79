"""Which of several questions are read from one release: where public facts show that this errs less at the same price.

Nothing here looks at data. The variances of the noise in the plans themselves are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from privet.aggregates import Aggregate, CentredTotal, Total
from privet.core.errors import PrivetError
from privet.core.numbers import in_digits
from privet.core.scan import Bounding
from privet.core.schema import Key, Schema
from privet.core.wire import canonical
from privet.inference.levels import noise_of
from privet.mechanisms import Laplace
from privet.query.nodes import Query

from .cells import SharedRelease, disjoint_blocks, shared_cells
from .from_strategy import best_strategy, key_values, with_strategy
from .groupings import Levels, parts_of
from .keys import Family
from .plan import Known, Plan, Reading, Spend

if TYPE_CHECKING:
    from privet.strategy import MatrixStrategy

_LESS = 1 - 1e-6
"""A total variance is less than another where it is less than this part of it."""

_LEAST = 1e-60
"""Variances below this are all alike."""

_PARTS = 8
"""Shares of the price are whole numbers of such parts of a single question's share."""

Planned = Callable[[Sequence[Query], Sequence[int], Spend | None], Sequence[Plan]]
"""Plans for several questions, with their weights, at one price: that of all questions, or another."""

Bounded = Callable[[Query], Bounding]
"""How a unit's contributions to all cells of a question are bounded in L1."""


@dataclass(frozen=True)
class Gain:
    """A release that several questions share, and how many times larger their variance would be one by one."""

    release: SharedRelease
    ratio: float
    rowwise: bool
    """Whether each row is a unit of its own."""
    strategy: str | None = None
    """The strategy measured on the cells, where not each of them is measured."""
    of: Literal["variance", "price"] = "variance"
    """The quantity this many times larger one by one: the variance at one price, or the price of the same widths."""

    def words(self) -> str:
        """Return in plain words which questions share a release, and their gain."""
        person = "" if self.rowwise else ", and what one person contributes is bounded over all of them together"
        measured = "" if self.strategy is None else f" What is measured is the strategy {self.strategy!r}."
        places = self.release.places
        asked = f"The groupings of question {places[0] + 1}" if len(places) == 1 else f"Questions {_listed(places)}"
        return (
            f"{asked} {self.release.words}, and are read from one release: each row counts in one of its cells"
            f"{person}.{measured} {self._gained()} {in_digits(self.ratio, 3)} times smaller than one by one."
        )

    def _gained(self) -> str:
        if self.of == "price":
            return "At the same widths, the price of the whole list is"
        return "At the same price, the variance of their noise is"

    def facts(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "questions": [place + 1 for place in self.release.places],
            "why": self.release.words,
            f"{self.of}_ratio": self.ratio,
            **({} if self.strategy is None else {"strategy": self.strategy}),
        }


def _listed(places: Sequence[int]) -> str:
    """Return the numbers of questions, neighbours as ranges: 1 to 3 and 7."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    ranges = [str(run[0] + 1) if len(run) == 1 else f"{run[0] + 1} to {run[-1] + 1}" for run in runs]
    return ranges[0] if len(ranges) == 1 else f"{', '.join(ranges[:-1])} and {ranges[-1]}"


@dataclass(frozen=True)
class SharedPlans:
    """Plans for several questions, and the releases that some of them share."""

    plans: tuple[Plan, ...]
    gains: tuple[Gain, ...]


@dataclass(frozen=True)
class _Measured:
    """A release that is tried: the variance of its questions at a unit of the price, and the share that it gets.

    Shares count as multiples of that of a question alone.
    """

    release: SharedRelease
    variances: tuple[float, ...]
    measures: int
    share: float
    strategy: MatrixStrategy | None = None


def arranged(
    questions: Sequence[Query],
    weights: Sequence[int],
    alone: Sequence[Plan],
    tables: Mapping[str, Schema],
    planned: Planned,
    bounded: Bounded,
) -> SharedPlans:
    """Return the plans of questions, some of which share releases where all of them err less so, by public facts.

    The error that counts is the sum over all questions of the variances of their noise, relative to what one row can
    add, times the weight of each. With V the variance of a release at a unit of the price, and shares s that add up to
    it, the sum of V / s^p is least where s is proportional to V^(1/(p+1)): p is 2 for Laplace noise and 1 for Gaussian.
    Releases are taken one after the other, the one with the least error first.
    """
    none = SharedPlans(tuple(alone), ())
    family = family_of(alone)
    if family is None:
        return none
    price = _Price(family, tuple(alone), tuple(weights))
    left = [price.measured(release, planned, bounded) for release in candidates(questions, alone, tables)]
    tried = [trial for trial in left if trial is not None]
    kept: list[_Measured] = []
    least = price.total(kept)
    while tried:
        totals = [(price.total([*kept, trial]), rows_in(trial.release), place) for place, trial in enumerate(tried)]
        total, _, place = min(totals)
        if total >= least * _LESS:
            break
        best, least = tried[place], total
        kept.append(best)
        tried = [trial for trial in tried if not {*trial.release.places} & {*best.release.places}]
    while kept:
        made = _made(kept, questions, weights, price, planned, bounded)
        if made is not None:
            return made
        kept.pop()  # the last one gained least
    return none


def family_of(plans: Sequence[Plan]) -> Family | None:
    """Return the noise that all sums of several plans have; None where they have none."""
    families = {measure.mechanism.family for plan in plans for pass_ in plan.passes for measure in pass_.measures}
    return families.pop() if len(families) == 1 else None


@dataclass(frozen=True)
class _Price:
    """The costs and errors of questions one by one, in one family of noise."""

    family: Family
    alone: tuple[Plan, ...]
    weights: tuple[int, ...]

    @property
    def power(self) -> int:
        """The power of its share by which a variance falls."""
        return 2 if self.family == "laplace" else 1

    @cached_property
    def unit(self) -> Spend:
        """A unit of the price: 1 in the measure in which shares of this noise add up."""
        keys = self.alone[0].spend.keys
        if self.family == "laplace":
            return Spend(Fraction(1), Fraction(0), None, keys)
        return Spend(None, Fraction(0), Fraction(1), keys)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of each question alone, at a unit of the price for each of its sums."""
        return tuple(variance_of(plan, self.power) for plan in self.alone)

    def total(self, kept: Sequence[_Measured]) -> float:
        """Return the variance of all answers together, each times its weight, where some share releases."""
        taken = {place for trial in kept for place in trial.release.places}
        parts: dict[str, tuple[int, int]] = {}
        rest = 0.0
        for place, plan in enumerate(self.alone):
            if place not in taken:
                for part in parts_of(plan):
                    measures, weight = parts.get(part.digest, (_shares(part), 0))
                    parts[part.digest] = measures, max(weight, self.weights[place])
        for place, plan in enumerate(self.alone):
            if place not in taken:
                own = max(parts[part.digest][1] for part in parts_of(plan))
                rest += self.weights[place] * self.variances[place] / own**self.power
        shares = float(sum(measures * weight for measures, weight in parts.values()))
        for trial in kept:
            each = trial.share * max(self.weights[place] for place in trial.release.places)
            shares += trial.measures * each
            places = zip(trial.release.places, trial.variances, strict=True)
            rest += sum(self.weights[place] * variance for place, variance in places) / each**self.power
        return float(rest * shares**self.power)

    def measured(self, release: SharedRelease, planned: Planned, bounded: Bounded) -> _Measured | None:
        """Return the variances of a release's questions, and the share that suits it; None if it answers others."""
        try:
            plans = planned(release.queries, [1] * len(release.queries), self.unit)
        except PrivetError:  # as each of them could be alone
            return None
        if not all_answered(release, plans, [self.alone[place] for place in release.places]):
            return None
        own = tuple(variance_of(plan, self.power) for plan in plans)
        variances = tuple(factor * each for factor, each in zip(release.terms, own, strict=True))
        strategy = None
        if release.how == "cells":
            weights = [self.weights[place] for place in release.places]
            best = best_strategy(release, plans[0], weights, bounded(release.queries[0]), self.power)
            if best is not None:
                strategy, variances = best
            elif release.grouped_several_times:
                return None
        parts = sum(len(parts_of(self.alone[place])) for place in release.places)
        apart = sum(self.variances[place] for place in release.places) / parts
        if not apart or not sum(variances):
            return None
        share = (sum(variances) / apart) ** (1 / (self.power + 1))
        return _Measured(release, variances, _shares(plans[0]), round(max(share, 1.0) * _PARTS) / _PARTS, strategy)


def _made(
    kept: Sequence[_Measured],
    questions: Sequence[Query],
    weights: Sequence[int],
    price: _Price,
    planned: Planned,
    bounded: Bounded,
) -> SharedPlans | None:
    """Return the plans where questions share releases; None where these err more than one by one, after all."""
    asked, shares = list(questions), [_PARTS * weight for weight in weights]
    terms = [1.0] * len(questions)
    for trial in kept:
        heaviest = max(weights[place] for place in trial.release.places)
        for place, query, factor in zip(trial.release.places, trial.release.queries, trial.release.terms, strict=True):
            asked[place], terms[place], shares[place] = query, factor, round(_PARTS * trial.share) * heaviest
    try:
        plans = list(planned(asked, shares, None))
    except PrivetError:
        return None
    variances = [factor * variance_of(plan) for plan, factor in zip(plans, terms, strict=True)]
    for trial in kept:
        if trial.strategy is not None:
            if family_of([plans[trial.release.places[0]]]) != price.family:
                return None
            rewritten = with_strategy(
                trial.release, trial.strategy, plans, bounded(trial.release.queries[0]), price.alone
            )
            for place, plan, variance in rewritten:
                plans[place], variances[place] = plan, variance
    apart = [variance_of(plan) for plan in price.alone]
    if _weighed(variances, weights) >= _weighed(apart, weights) * _LESS:
        return None
    gains = []
    for trial in kept:
        before, after = (sum(each[place] for place in trial.release.places) for each in (apart, variances))
        rowwise = plans[trial.release.places[0]].passes[0].scan.schema.unit.rowwise
        name = None if trial.strategy is None else trial.strategy.name
        gains.append(Gain(trial.release, before / after, rowwise, name))
    return SharedPlans(tuple(plans), tuple(gains))


def _weighed(variances: Sequence[float], weights: Sequence[int]) -> float:
    return sum(weight * variance for weight, variance in zip(weights, variances, strict=True))


def _shares(plan: Plan) -> int:
    """Return how many parts of a price a plan takes: its sums, discoveries and choices."""
    return max(1, sum(max(1, len(pass_.measures) + pass_.finds_groups) for pass_ in plan.passes))


def candidates(questions: Sequence[Query], alone: Sequence[Plan], tables: Mapping[str, Schema]) -> list[SharedRelease]:
    """Return every way of reading some of the questions from one release that is tried."""
    known: dict[int, frozenset[tuple[Key, ...]]] = {}
    for place, plan in enumerate(alone):
        if isinstance(plan, Levels):
            if _noisy_at_each_level(plan):
                known[place] = frozenset(product(*key_values(plan)))
        elif type(plan) is Plan and _public_counts(plan):
            known[place] = frozenset(_cells(plan))
    return [*disjoint_blocks(questions, tables), *shared_cells(questions, known, tables)]


def _public_counts(plan: Plan) -> bool:
    return not plan.discovers and len(plan.passes) == 1 and plan.passes[0].plain


def _noisy_at_each_level(levels: Levels) -> bool:
    """Return whether all groups of all levels are public, each has all of them, and none of their sums is known."""
    whole = len(levels.reconciled) == len(levels.plans) and all(map(_public_counts, levels.plans))
    return whole and not any(reading.known for plan in levels.plans for reading in plan.readings)


def rows_in(release: SharedRelease) -> str:
    """Return a text that is the same for releases of the same cells, whatever the order of the questions."""
    first = release.queries[0]
    return canonical([first.table, first.where, sorted(canonical(key.expression) for key in first.keys)])


def variance_of(plan: Plan, power: int = 0) -> float:
    """Return the variance of the noise in a question's sums, each relative to the most that one row can add to it.

    It is that at a unit of the price for each sum, where a variance falls by a power of its share. Counts at several
    levels have the variance that they have once they are made to agree.
    """
    if isinstance(plan, Levels) and _noisy_at_each_level(plan) and len(plan.plans[0].readings) == 1:
        return _made_to_agree(plan, power)
    return sum(_of_reading(reading, part, power) for part in parts_of(plan) for reading in part.readings)


def _made_to_agree(levels: Levels, power: int) -> float:
    sizes = dict(enumerate(map(len, key_values(levels))))
    levels_of_plans = zip(levels.query.levels, levels.plans, strict=True)
    # ratios of these are compared: where there is hardly any noise, each level has as little
    variances = {axes: max(_of_reading(plan.readings[0], plan, power), _LEAST) for axes, plan in levels_of_plans}
    noise = noise_of({axis: sizes[axis] for axes in variances for axis in axes}, variances)
    return sum(noise[axes].variance(variances) for axes in levels.query.levels)


def _of_reading(reading: Reading, plan: Plan, power: int) -> float:
    own = reading.aggregate
    if own.chosen or own.own_pass or own.extreme:
        return 0.0
    variances = []
    for place in reading.places:
        if isinstance(place, Known):
            variances.append(0.0)
            continue
        measure = plan.measure_at(place)
        event = measure.mechanism.event
        share = float(event.pure() if isinstance(measure.mechanism, Laplace) else event.rho())
        variances.append((measure.standard_deviation / max(1, measure.sum.most)) ** 2 * share**power)
    if isinstance(own, CentredTotal):  # as the sum that it is
        argument = own.argument
        plain, centred = argument.plain(), argument.centred()
        far = float(max(1, plain.most) * plain.step)
        centre = (float(centred.most * centred.step) / far) ** 2 * variances[0]
        return centre + (float(argument.middle) / far) ** 2 * variances[1]
    return sum(variances)


def all_answered(release: SharedRelease, found: Sequence[Plan], alone: Sequence[Plan]) -> bool:
    """Return whether each question of a release is answered as if alone; the groups of cells were compared before."""
    if release.blocks is None:
        return all(type(plan) is Plan and not plan.discovers for plan in found)
    every = zip(found, alone, release.blocks, strict=True)
    return all(_answers(plan, other, block) for plan, other, block in every)


def _answers(plan: Plan, alone: Plan, block: int) -> bool:
    """Return whether a plan that shares a release answers as the question alone does: its sums and its groups."""
    if type(plan) is not Plan or type(alone) is not Plan or plan.discovers or alone.discovers:
        return False
    pairs = zip(plan.readings, alone.readings, strict=True)
    if not all(_same(reading.aggregate, other.aggregate) for reading, other in pairs):
        return False
    own = {cell[:-1] for cell in _cells(plan) if cell[-1] == block}
    return own == set(_cells(alone))


def _cells(plan: Plan) -> list[tuple[Key, ...]]:
    """Return the groups that a plan answers, by the keys of its question in their order."""
    listed = plan.passes[0].scan.cells
    cells = product(*(key.values or () for key in plan.groups)) if listed is None else listed
    return [tuple(cell[place] for place in plan.key_places) for cell in cells]


def _same(aggregate: Aggregate, other: Aggregate) -> bool:
    """Return whether two aggregates are one; a sum may be read beside a mean or not."""
    if aggregate.own_pass or aggregate.chosen or other.own_pass or other.chosen:
        return False
    if isinstance(aggregate, Total | CentredTotal) and isinstance(other, Total | CentredTotal):
        return aggregate.argument == other.argument
    return aggregate == other
