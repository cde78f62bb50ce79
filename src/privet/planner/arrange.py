"""Which of several questions are read from one release: where public facts show that this errs less at the same price.

Nothing here looks at data. What is compared are the variances of the noise in the plans themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from privet.aggregates import Aggregate, CentredTotal, Total
from privet.core.errors import PrivetError
from privet.core.schema import Key, Schema
from privet.core.wire import canonical
from privet.query.nodes import Query

from .blocks import SharedRelease, disjoint_blocks
from .groupings import parts_of
from .plan import Known, Plan, Reading

_LESS = 1 - 1e-6
"""A total variance is less than another where it is less than this part of it."""

Planned = Callable[[Sequence[Query]], Sequence[Plan]]
"""Plans for several questions at one price."""


@dataclass(frozen=True)
class Gain:
    """A release that several questions share, and how many times larger their variance would be one by one."""

    release: SharedRelease
    ratio: float
    rowwise: bool
    """Whether each row is a unit of its own."""

    def words(self) -> str:
        """Return in plain words which questions share a release, and what they gain by it."""
        person = "" if self.rowwise else ", and what one person gives is bounded over all of them together"
        return (
            f"Questions {_listed(self.release.places)} {self.release.words}, and are read from one release: each row "
            f"counts in one of its cells{person}. At the same price, the variance of their noise is "
            f"{self.ratio:,.3g} times smaller than one by one."
        )

    def facts(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "questions": [place + 1 for place in self.release.places],
            "why": self.release.words,
            "variance_ratio": self.ratio,
        }


def _listed(places: Sequence[int]) -> str:
    """Return the numbers of questions, neighbours as ranges: 1 to 3 and 7."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    told = [str(run[0] + 1) if len(run) == 1 else f"{run[0] + 1} to {run[-1] + 1}" for run in runs]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


@dataclass(frozen=True)
class SharedPlans:
    """Plans for several questions, and the releases that some of them share."""

    plans: tuple[Plan, ...]
    gains: tuple[Gain, ...]


def arranged(
    questions: Sequence[Query],
    weights: Sequence[int],
    alone: Sequence[Plan],
    tables: Mapping[str, Schema],
    planned: Planned,
) -> SharedPlans:
    """Return the plans of questions, some of which share releases where all of them err less so, by public facts.

    The error that counts is the sum over all questions of the variances of their noise, relative to what one row can
    add, times the weight of each.
    """
    asked, terms = list(questions), [1.0] * len(questions)
    plans, least = tuple(alone), total_variance(alone, terms, weights)
    kept: list[SharedRelease] = []
    for one in candidates(questions, tables):
        if any(place in other.places for other in kept for place in one.places):
            continue
        trial, factors = list(asked), list(terms)
        for place, query, factor in zip(one.places, one.queries, one.terms, strict=True):
            trial[place], factors[place] = query, factor
        found = _planned(trial, planned)
        if found is None or not _all_answered(one, found, alone):
            continue
        total = total_variance(found, factors, weights)
        if total < least * _LESS:
            asked, terms, plans, least = trial, factors, found, total
            kept.append(one)
    gains = []
    for one in kept:
        apart = sum(variance_of(alone[place]) for place in one.places)
        shared = sum(terms[place] * variance_of(plans[place]) for place in one.places)
        rowwise = plans[one.places[0]].passes[0].scan.schema.unit.rowwise
        gains.append(Gain(one, apart / shared, rowwise))
    return SharedPlans(plans, tuple(gains))


def candidates(questions: Sequence[Query], tables: Mapping[str, Schema]) -> list[SharedRelease]:
    """Return every way of reading some of the questions from one release, those of the most questions first."""
    found = disjoint_blocks(questions, tables)
    return sorted(found, key=lambda one: (-len(one.places), rows_in(one)))


def rows_in(release: SharedRelease) -> str:
    """Return a text that is the same for releases of the same cells, whatever the order of the questions."""
    first = release.queries[0]
    return canonical([first.table, first.where, sorted(canonical(key.expression) for key in first.keys)])


def _planned(questions: Sequence[Query], planned: Planned) -> tuple[Plan, ...] | None:
    """Return plans for questions; None where they cannot be planned so, as each of them could by itself."""
    try:
        return tuple(planned(questions))
    except PrivetError:
        return None


def total_variance(plans: Sequence[Plan], terms: Sequence[float], weights: Sequence[int]) -> float:
    """Return the variance of all answers together, each times its weight."""
    every = zip(plans, terms, weights, strict=True)
    return sum(weight * factor * variance_of(plan) for plan, factor, weight in every)


def variance_of(plan: Plan) -> float:
    """Return the variance of the noise in a question's sums, each relative to the most that one row can add to it."""
    return sum(_of_reading(reading, part) for part in parts_of(plan) for reading in part.readings)


def _of_reading(reading: Reading, plan: Plan) -> float:
    own = reading.aggregate
    if own.chosen or own.own_pass or own.extreme:
        return 0.0
    found = []
    for place in reading.places:
        if isinstance(place, Known):
            found.append(0.0)
            continue
        measure = plan.measure_at(place)
        found.append((measure.standard_deviation / max(1, measure.sum.most)) ** 2)
    if isinstance(own, CentredTotal):  # as the sum that it is
        argument = own.argument
        plain, centred = argument.plain(), argument.centred()
        far = float(max(1, plain.most) * plain.step)
        centre = (float(centred.most * centred.step) / far) ** 2 * found[0]
        return centre + (float(argument.middle) / far) ** 2 * found[1]
    return sum(found)


def _all_answered(release: SharedRelease, found: Sequence[Plan], alone: Sequence[Plan]) -> bool:
    every = zip(release.places, release.blocks, strict=True)
    return all(_answers(found[place], alone[place], block) for place, block in every)


def _answers(found: Plan, alone: Plan, block: int) -> bool:
    """Return whether a plan that shares a release answers what the question by itself does: its sums and its groups."""
    if type(found) is not Plan or type(alone) is not Plan or found.discovers or alone.discovers:
        return False
    pairs = zip(found.readings, alone.readings, strict=True)
    if not all(_same(one.aggregate, other.aggregate) for one, other in pairs):
        return False
    own = {cell[:-1] for cell in _cells(found) if cell[-1] == block}
    return own == set(_cells(alone))


def _cells(plan: Plan) -> list[tuple[Key, ...]]:
    """Return the groups that a plan answers, by the keys of its question in their order."""
    listed = plan.passes[0].scan.cells
    cells = product(*(key.values or () for key in plan.groups)) if listed is None else listed
    return [tuple(cell[place] for place in plan.key_places) for cell in cells]


def _same(one: Aggregate, other: Aggregate) -> bool:
    """Return whether two aggregates are one; a sum may be read beside a mean or not."""
    if one.own_pass or one.chosen or other.own_pass or other.chosen:
        return False
    if isinstance(one, Total | CentredTotal) and isinstance(other, Total | CentredTotal):
        return one.argument == other.argument
    return one == other
