"""Limits on contributions that an answer chooses for itself, and intervals that cover the losses to a limit.

Both use one paid histogram: the numbers of units by the size of their contributions, in dyadic bins. The passes
that release it come right before the pass whose limit they choose, or whose losses they count. Reads no data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privet.aggregates import CountValues, Mean
from privet.aggregates.column_sums import SumValues
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.estimate import Covers
from privet.core.relation import ColumnRef, Relation
from privet.core.scan import Norm, Scan, Sizes
from privet.core.schema import Contribution, Schema
from privet.inference.sizes import lost_at_most
from privet.mechanisms import Gaussian, Laplace
from privet.query.expressions import mentions
from privet.query.join import joins_of
from privet.query.resolve import linear_in, meanings
from privet.query.shape import schema_within_limits

from .keys import Choice, count_cells
from .measures import Measure, Noise, SizeMeasure, SumMeasure
from .plan import Pass, Plan
from .stability import cut_within, sensitivity_of, size_sensitivity

AUTO_SHARE = Fraction(1, 5)
"""The part of the price that chooses a contribution limit."""

COVER_SHARE = Fraction(1, 2)
"""The part of the price for intervals that cover bounding, which chooses a limit as well where that is asked for."""

OPEN = 2**20
"""Sizes up to this are distinguished where no most_rows is declared."""

_INSTEAD = "pass contribution=Contribution(groups=, rows=) instead"


def powers_below(most: int) -> tuple[int, ...]:
    """Return the powers of two below a number."""
    return tuple(1 << place for place in range((most - 1).bit_length()))


def size_pass(one: Pass, choice: Choice, *, chosen: bool, cells: int) -> Pass:
    """Return the pass that counts units by size, for the pass that it comes before.

    Guarantee: edges are made from declared facts. The last bin has no upper end, so that whatever a unit gives, it is
    in one bin.
    """
    scan, norm = one.scan, one.scan.bounding
    if not isinstance(norm, Norm):
        raise InvariantError("units are counted by size where a norm bounds them")
    most, people = _most(scan), None
    if chosen:
        people = _people(one, cells)
        sizes = Sizes("norm", tuple(edge**norm.order for edge in powers_below(max(2, most or OPEN))))
    elif most is not None:
        sizes = Sizes("lost", tuple(edge << norm.shift for edge in (0, *powers_below(most))))
    else:
        raise InvariantError("what a limit takes away is counted up to a declared maximum")
    sized = replace(scan, sums=(), sizes=sizes)
    sensitivity = size_sensitivity(sized)
    return Pass(sized, SizeMeasure(sensitivity, choice.mechanism(sensitivity), people))


def _people(pass_: Pass, cells: int) -> Fraction:
    """Return how many people exceed the limit C at which noise and loss add up to the least.

    Noise errs by C b on average in each of the cells, where b is its mean absolute value at C = 1 as a part of what one
    row adds at most; a limit that rises by 1 loses one row less of each person above it. So b times the number of cells
    exceed the best: 1/epsilon for one cell and Laplace noise, and sigma sqrt(2/pi) for Gaussian noise.
    """
    measure = next((each for each in pass_.measures if each.sum.most), None)
    if measure is None:
        return Fraction(1)
    noise = measure.mechanism
    mean = noise.width * (1.0 if noise.family == "laplace" else math.sqrt(2 / math.pi))
    people = mean / (measure.sum.most * 2**measure.shift) * cells
    return Fraction(max(1, round(1000 * people)), 1000)


def with_limit(one: Pass, limit: int) -> Pass:
    """Return a pass with a limit of its own on one unit's contributions, whose noise grows with it.

    Guarantee: it costs what it cost at the limit of 1. Sensitivities are that many times those at 1: Laplace noise
    keeps its epsilon and its grid, and a discrete law of as many times the steps is dominated by the one that was
    charged (see `Laplace`); Gaussian noise keeps its rho and its blur, which are all that its event depends on.
    """
    norm = one.scan.bounding
    if not isinstance(norm, Norm) or not isinstance(one.measure, SumMeasure) or one.keys is not None:
        raise InvariantError("a limit is chosen for sums of public groups under a norm")
    scan = replace(one.scan, bounding=replace(norm, limit=limit**norm.order))
    return Pass(scan, one.measure.with_noise(tuple(_rescaled(measure, scan) for measure in one.measures)))


def _rescaled(measure: Measure, scan: Scan) -> Measure:
    sensitivity, noise = sensitivity_of(measure.sum, scan), measure.mechanism
    made: Noise
    if isinstance(noise, Laplace):
        made = Laplace(sensitivity=sensitivity, epsilon=noise.sensitivity / noise.scale, grid=noise.grid)
        same = made.event.pure() == noise.event.pure() and (made.sensitivity / noise.sensitivity).denominator == 1
    else:
        made = Gaussian(sensitivity=sensitivity, rho=noise.sensitivity_squared / (2 * noise.sigma_squared))
        same = (made.event.rho(), made.blur) == (noise.event.rho(), noise.blur)
    if not same:
        raise InvariantError("the noise of a chosen limit costs something else than was charged")
    return replace(measure, sensitivity=sensitivity, mechanism=made)


def largest_limit(one: Pass) -> int:
    """Return the largest limit that a pass may choose."""
    if one.sizes is None:
        raise InvariantError("a limit is chosen where units are counted by size")
    return one.sizes.largest(one.scan)


def verify_sizes(plan: Plan) -> None:
    """Raise unless each pass that counts units by size is about the pass after it, at the limit that it is charged at.

    Guarantee: a limit is applied only to the pass whose own sizes chose it, and that pass is charged at the limit of 1.
    """
    for place in plan.size_places:
        pass_, after = plan.passes[place], plan.passes[place + 1] if place + 1 < len(plan.passes) else None
        if after is None or not after.plain or replace(after.scan, sums=()) != replace(pass_.scan, sizes=None):
            raise InvariantError("units are counted by size for the pass that comes after")
        if plan.rounds > 1 or not isinstance(after.measure, SumMeasure) or after.keys is not None:
            raise InvariantError("units are counted by size for sums of public groups, in one round")
        measure, sizes = pass_.sizes, pass_.scan.sizes
        if measure is None or sizes is None or (measure.people is None) != (sizes.of == "lost"):
            raise InvariantError("a limit is chosen by the norms of units, and a loss counted by what they lose")
        if measure.people is not None:
            if not isinstance(after.scan.bounding, Norm) or after.scan.bounding.limit != 1:
                raise InvariantError("a pass whose limit is chosen is charged at the limit of 1")
            for limit in (1, largest_limit(pass_)):
                chosen = with_limit(after, limit)
                chosen.measure.verify(chosen.scan)
    if plan.covers == "bounding":
        if not _pays(plan):
            raise InvariantError("intervals cover bounding where a pass pays for it")
        check_covered(plan, "norm")


# Refusals, and the coverage of an answer that paid for it.


def refuse_chosen(
    relation: Relation, tables: Mapping[str, Schema], contribution: Contribution | None, what: str
) -> None:
    """Refuse a limit that is chosen privately where it has no place."""
    if schema_within_limits(relation, tables, contribution).contribution.chosen:
        raise Unsupported(f"contribution='auto' chooses a limit for one answer by itself, and not {what}; {_INSTEAD}")


def check_chosen(schema: Schema, rule: str, *, found: bool, others: Sequence[str]) -> None:
    """Refuse a question whose limit cannot be chosen privately, by name."""
    if schema.unit.rowwise:
        raise RequestError("each row is a unit and contributes itself; leave contribution='auto' out")
    if rule != "norm":
        raise Unsupported(f"contribution='auto' chooses how far people are scaled down (bound='norm'); {_INSTEAD}")
    if found:
        raise Unsupported(f"contribution='auto' is for groups that are declared; declare them, or {_INSTEAD}")
    if others:
        raise Unsupported(f"contribution='auto' is for counts, sums and means, and not for {others[0]}; {_INSTEAD}")


def check_covered(plan: Plan, rule: str) -> None:
    """Refuse intervals that cover bounding where that is not possible, by name."""
    scan = plan.passes[0].scan
    if scan.schema.unit.rowwise:
        raise RequestError("each row counts in full, so that bounding removes nothing; leave covers= out")
    if rule != "norm":
        raise Unsupported(
            "covers='bounding' is for people who are scaled down (bound='norm'), and not for bound='groups'"
        )
    if scan.schema.most_rows is None:
        raise RequestError(
            "no interval covers what a person of any size loses: declare the most rows that one person has "
            "(Table(..., most_rows=1000), or most_rows = 1000 in privet.toml), and covers='bounding' holds up to it"
        )
    if plan.discovers:
        raise Unsupported(
            "covers='bounding' is for groups that are declared: people in groups that are not shown lose all"
        )
    if any(join.most is not None for join in joins_of(scan.table)):
        raise Unsupported("covers='bounding' is for joins that drop no rows, and this one keeps only some")
    if any(cut_within(plan, [place for reading in plan.readings for place in reading.noisy])):
        raise Unsupported(
            "covers='bounding' is for rows of people, and what is computed within each person is clamped to the "
            "limit, which removes more; ask about the rows themselves, or leave covers= out"
        )
    readings = {reading.name: reading.aggregate for reading in plan.readings}
    shown = meanings(plan.query)
    for name, meaning in {**{column: ColumnRef(column) for column in readings}, **shown}.items():
        used = [readings[column] for column in mentions(meaning) if column in readings]
        values = any(isinstance(aggregate, CountValues | SumValues) for aggregate in used)
        if values or any(aggregate.linear is None and not isinstance(aggregate, Mean) for aggregate in used):
            own = next((column for column, of in shown.items() if name in mentions(of)), name)
            raise Unsupported(
                f"covers='bounding' is for counts, sums and means, which {own!r} is not; ask for it alone"
            )
        straight = meaning.column is not None or (linear_in(meaning) is not None and used[0].linear is not None)
        if used and not straight:
            raise Unsupported(f"covers='bounding' is for aggregates themselves, and {name!r} is derived from them")


def covering(plan: Plan, covers: Covers | None) -> Plan:
    """Return a plan whose intervals cover what is asked for, if it paid for that."""
    if covers is None or covers == plan.covers:
        return plan
    if covers == "bounding" and not _pays(plan):
        measure, price = next(iter(plan.price.items()))
        raise RequestError(
            f"this answer did not pay for covers='bounding': it takes {COVER_SHARE} of the price, so {measure} "
            f"{price * float(COVER_SHARE):.4g} of {price:.4g}; ask with covers='bounding', which is another answer"
        )
    if covers == "population":
        raise RequestError(
            "intervals that cover a population are drawn as such; ask with covers='population', which is another answer"
        )
    made = replace(plan, covers=covers)
    if covers == "bounding":
        check_covered(made, "norm")
    return made


def _pays(plan: Plan) -> bool:
    """Whether the sizes that a plan releases bound the loss: of rows, in every pass."""
    about = {place + 1 for place in plan.size_places if _tells_loss(plan.passes[place])}
    return bool(about) and all(place in about for place, pass_ in enumerate(plan.passes) if not pass_.sizes)


def _tells_loss(pass_: Pass) -> bool:
    scan = pass_.scan
    if scan.sizes is None or scan.schema.most_rows is None or not isinstance(scan.bounding, Norm):
        return False
    return scan.sizes.of == "lost" or scan.bounding.order == 1 or not scan.keys


def covered_in_words(plan: Plan) -> str:
    """Return the coverage of a plan's intervals."""
    if plan.covers != "bounding":
        return "the noise" if plan.covers == "noise" else "the noise, and sampling from a population"
    return f"the noise, and bounding up to {plan.passes[0].scan.schema.most_rows:,} rows of one person"


def losses(plan: Plan, sums: Sequence[Any], tail: float) -> dict[int, float]:
    """Return how many rows the limit of each pass takes away at most, over all groups together.

    Guarantee: each holds with probability 1 - tail, for units of at most `most_rows` rows. A unit of a size up to m
    that is scaled to C rows loses at most m - C, and m 2**-shift by rounding its weight down. That is linear in C
    between two edges, so where C was chosen by the same numbers, it is bounded at every edge at once, and interpolated.
    """
    return {place + 1: _loss(plan.passes[place], sums[place], tail) for place in plan.size_places}


def _loss(pass_: Pass, released: Sequence[Sequence[int]], tail: float) -> float:
    measure, most, norm = pass_.sizes, _most(pass_.scan), pass_.scan.bounding
    if measure is None or most is None or not isinstance(norm, Norm):
        raise InvariantError("a loss is bounded up to a declared maximum")
    noisy, law, rounded = released[0], measure.law, 2.0**-norm.shift
    if measure.people is None:
        return lost_at_most(noisy, [0, *powers_below(most), most], law, tail)
    sizes = (*powers_below(max(2, most)), max(2, most))

    def bound(limit: int) -> float:
        each = [max(0, size - limit) + size * rounded for size in sizes]
        return lost_at_most(noisy, each, law, tail / len(sizes))

    limit = int(released[1][0])
    for low, high in pairwise(sizes):
        if low <= limit < high:
            share = (limit - low) / (high - low)
            return bound(low) * (1 - share) + bound(high) * share
    return bound(sizes[-1])


def _most(scan: Scan) -> int | None:
    """Return the largest size of a unit that is declared: of one that counts once in each group, there are no more."""
    most = scan.schema.most_rows
    return most if most is None or not scan.distinct else min(most, count_cells(scan.keys, scan.cells))
