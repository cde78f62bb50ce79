"""How much one person counts, what a limit on it takes away, and which columns that can move. Reads no data.

`bounding_bias` and `column_bias` are the one place that decides which columns bounding can move, and to which side:
displays, exports, notes and certificates ask here. Where an answer chooses the limit itself, or covers what it takes
away, both stand on one paid histogram: the numbers of units by the size of what they contribute, in dyadic bins. The
passes that release it come right before the pass whose limit they choose, or whose losses they count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from privet.aggregates import CountValues, Mean
from privet.aggregates.column_sums import SumValues
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.estimate import Covers
from privet.core.relation import Call, ColumnRef, Derive, Expression, GroupWithin, Literal, Relation
from privet.core.scan import Largest, Norm, Once, Pairs, Scan, Sizes, Sum, Truncate
from privet.core.schema import Contribution, Schema
from privet.core.unit import unit_columns
from privet.inference.sizes import lost_at_most
from privet.mechanisms import Gaussian, Laplace
from privet.query.expressions import mentions, typed, typed_where
from privet.query.join import joins_of
from privet.query.resolve import linear_in, meanings
from privet.query.shape import schema_within_limits
from privet.query.typed import clamp_ends

from .keys import Choice, count_cells
from .measures import Measure, Noise, SizeMeasure, SumMeasure
from .plan import Pass, Plan, Reading
from .stability import sensitivity_of, size_sensitivity

AUTO_SHARE = Fraction(1, 5)
"""The part of the price that chooses a contribution limit."""

COVER_SHARE = Fraction(1, 2)
"""The part of the price for intervals that cover bounding, which chooses a limit as well where that is asked for."""

OPEN = 2**20
"""Sizes up to this are told apart where no most_rows is declared."""

_INSTEAD = "pass contribution=Contribution(groups=, rows=) instead"


class Bias(NamedTuple):
    """To which sides bounding can move a number: it may be too low, or too high."""

    low: bool = False
    high: bool = False


_NONE, _EITHER = Bias(), Bias(low=True, high=True)


def bounding_bias(plan: Plan) -> dict[str, Bias]:
    """Return for each aggregate of a plan to which sides bounding can move it; both are False where it cannot.

    Guarantee: a number is unmarked only where public facts imply that bounding removes nothing of it, or where it is a
    weighted mean, spread or quantile, of which `mean_notes` tells. Facts that are declared and not proven (keys) count
    as true here: nothing but a mark depends on them.
    """
    if plan.covers == "bounding":  # intervals that cover what is removed are paid for, and need no mark
        return {}
    return {reading.name: _of_reading(plan, reading) for reading in plan.readings}


def column_bias(meaning: Expression, plan: Plan) -> Bias:
    """Return to which sides bounding can move a column that is an expression over aggregates and keys."""
    positive = {reading.name for reading in plan.readings if reading.aggregate.ends[0] >= 0}
    return moved(meaning, plan.bounding_bias, positive)


def moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    """Return to which sides an expression is moved, where that is known of its columns; some are never negative."""
    return _moved(expression, known, positive)


def loses(one: Pass) -> bool:
    """Return whether bounding can remove something of what a unit contributes to a pass.

    A unit has r rows at most, in at most as many cells as there are; its norm is largest with all in one cell.
    """
    scan = one.scan
    if scan.schema.unit.rowwise:
        return False
    if any(join.most is not None for join in joins_of(scan.table)):
        return True
    rows, cells = _most_rows(scan), _cells(scan)
    match scan.bounding:
        case Once():
            return False
        case Norm(limit=limit) if scan.distinct:
            return min(rows, cells) > limit
        case Norm(order=order, limit=limit):
            return rows**order > limit
        case Truncate(groups=groups, rows=kept):
            return min(rows, cells) > groups or (rows > kept and not scan.distinct)
        case Pairs(of=of, most=most):
            values = typed(of, scan.schema.columns).values
            return min(rows, math.inf if values is None else cells * len(values)) > most
        case Largest(limit=limit):
            return rows > limit


def _most_rows(scan: Scan) -> float:
    """Return how many rows one unit has at most, by declared keys and by what was grouped within it."""
    schema = scan.schema
    if schema.key in unit_columns(schema.unit) or _one_each(scan.table):
        return 1
    return schema.rows if schema.most_rows is None else min(schema.rows, schema.most_rows)


def _one_each(relation: Relation) -> bool:
    """Return whether a relation has one row for each unit at most: it is grouped by the unit alone."""
    match relation:
        case Derive(source=source):
            return _one_each(source)
        case GroupWithin(keys=keys):
            return len(keys) == 1  # every grouping within units has their columns among its keys
    return False


def _cells(scan: Scan) -> float:
    """Return in how many cells rows can fall; infinity where keys are found in the data."""
    if scan.cells is not None and len(scan.keys) == len(scan.cells[0] if scan.cells else ()):
        return len(scan.cells)
    return math.prod(math.inf if key.values is None else len(key.values) for key in scan.keys)


def _of_reading(plan: Plan, reading: Reading) -> Bias:
    aggregate = reading.aggregate
    places = reading.noisy
    if aggregate.chosen or not places:
        return _NONE
    passes = [plan.passes[place[0]] for place in places]
    below, above = cut_within(plan, places)
    if aggregate.linear is not None or (aggregate.additive and aggregate.typical is None):
        (low, high), lost = aggregate.ends, any(map(loses, passes))
        return Bias(above or (lost and high > 0), below or (lost and low < 0))
    if aggregate.typical is None and any(map(loses, passes)):
        return _EITHER  # an aggregate of which nothing is known
    return _EITHER if below or (above and aggregate.arity > 1) else Bias(low=above)


def cut_within(plan: Plan, places: Iterable[tuple[int, int]]) -> tuple[bool, bool]:
    """Return whether values that are computed within people are clamped to their limits, from below and from above."""
    below = above = False
    for index, number in places:
        one = plan.passes[index]
        total = one.scan.places if one.scan.places is not None else _sum_at(one, number)
        if total is None or total.expression is None:
            continue
        known = typed_where(total.expression, one.scan.schema.columns, (one.scan.where, total.where))
        low, high = clamp_ends(total.expression, known)
        least, most = (end * total.step + total.origin for end in (total.low, total.high))
        below |= low is None or low < least - total.step
        above |= high is None or high > most + total.step
    return below, above


def _sum_at(one: Pass, number: int) -> Sum | None:
    return one.measures[number].sum if number < len(one.measures) else None


def _moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    match expression:
        case ColumnRef(name=name):
            return known.get(name, _NONE)
        case Call(function=function, arguments=arguments):
            sides = [_moved(one, known, positive) for one in arguments]
            if not any(map(any, sides)):
                return _NONE
            signs = [_sign(one, positive) for one in arguments]
            return _COMBINED.get(function, _unknown)(sides, signs)
    return _NONE


_Combined = Callable[[Sequence[Bias], Sequence[int]], Bias]


def _unknown(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return _EITHER


def _rising(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return Bias(any(one.low for one in sides), any(one.high for one in sides))


def _product(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    """Return the bias of a product, which rises with each factor where the other is positive, and falls if negative."""
    moved = [_turned(one, other) for one, other in zip(sides, reversed(signs), strict=True) if any(one)]
    return _rising(moved, signs)


def _quotient(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    above, below = sides
    if any(below) and 0 in signs:
        return _EITHER
    parts = [_turned(above, signs[1])] if any(above) else []
    return _rising([*parts, *([_turned(below, -signs[0] * signs[1] ** 2)] if any(below) else [])], signs)


def _turned(bias: Bias, sign: int) -> Bias:
    return {1: bias, -1: Bias(bias.high, bias.low)}.get(sign, _EITHER)


_COMBINED: Mapping[str, _Combined] = {
    **dict.fromkeys(("add", "to_integer", "to_number", "round", "round_to", "floor", "ceil", "sqrt"), _rising),
    **dict.fromkeys(("coalesce", "nullif", "least", "greatest"), _rising),
    **dict.fromkeys(("as_date", "as_timestamp", "epoch_us", "add_days", "add_months", "add_seconds"), _rising),
    "date_diff": lambda sides, signs: _rising([_turned(sides[1], -1), sides[2]], signs),
    "subtract": lambda sides, signs: _rising([sides[0], _turned(sides[1], -1)], signs),
    "negate": lambda sides, signs: _turned(sides[0], -1),
    "multiply": _product,
    "divide": _quotient,
}
"""How functions of aggregates move with their arguments; of others nothing is known."""


def _sign(expression: Expression, positive: Container[str]) -> int:
    """Return 1 for what is never negative and -1 for what is never positive, as far as public facts tell; else 0."""
    match expression:
        case ColumnRef(name=name):
            return int(name in positive)
        case Literal(value=bool() | None):
            return 0
        case Literal(value=int() | Fraction() as value):
            return 1 if value >= 0 else -1
        case Call(function="negate", arguments=(one,)):
            return -_sign(one, positive)
        case Call(function="multiply" | "divide", arguments=(left, right)):
            return _sign(left, positive) * _sign(right, positive)
    return 0


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


def _people(one: Pass, cells: int) -> Fraction:
    """Return how many people exceed the limit C at which noise and loss add up to the least.

    Noise errs by C b on average in each of the cells, where b is its mean absolute value at C = 1 as a part of what one
    row adds at most; a limit that rises by 1 loses one row less of each person above it. So b times the number of cells
    exceed the best: 1/epsilon for one cell and Laplace noise, and sigma sqrt(2/pi) for Gaussian noise.
    """
    measure = next((each for each in one.measures if each.sum.most), None)
    if measure is None:
        return Fraction(1)
    noise = measure.mechanism
    mean = noise.width * (1.0 if noise.family == "laplace" else math.sqrt(2 / math.pi))
    found = mean / (measure.sum.most * 2**measure.shift) * cells
    return Fraction(max(1, round(1000 * found)), 1000)


def with_limit(one: Pass, limit: int) -> Pass:
    """Return a pass with a limit of its own on what one unit gives, whose noise grows with it.

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
        one, after = plan.passes[place], plan.passes[place + 1] if place + 1 < len(plan.passes) else None
        if after is None or not after.plain or replace(after.scan, sums=()) != replace(one.scan, sizes=None):
            raise InvariantError("units are counted by size for the pass that comes after")
        if plan.rounds > 1 or not isinstance(after.measure, SumMeasure) or after.keys is not None:
            raise InvariantError("units are counted by size for sums of public groups, in one round")
        measure, sizes = one.sizes, one.scan.sizes
        if measure is None or sizes is None or (measure.people is None) != (sizes.of == "lost"):
            raise InvariantError("a limit is chosen by the norms of units, and a loss counted by what they lose")
        if measure.people is not None:
            if not isinstance(after.scan.bounding, Norm) or after.scan.bounding.limit != 1:
                raise InvariantError("a pass whose limit is chosen is charged at the limit of 1")
            for limit in (1, largest_limit(one)):
                chosen = with_limit(after, limit)
                chosen.measure.verify(chosen.scan)
    if plan.covers == "bounding":
        if not _pays(plan):
            raise InvariantError("intervals cover bounding where a pass pays for it")
        check_covered(plan, "norm")


# What is refused, and what an answer that paid covers.


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
    for name, meaning in {**{one: ColumnRef(one) for one in readings}, **shown}.items():
        used = [readings[one] for one in mentions(meaning) if one in readings]
        values = any(isinstance(one, CountValues | SumValues) for one in used)
        if values or any(one.linear is None and not isinstance(one, Mean) for one in used):
            own = next((column for column, of in shown.items() if name in mentions(of)), name)
            raise Unsupported(
                f"covers='bounding' is for counts, sums and means, which {own!r} is not; ask for it alone"
            )
        straight = isinstance(meaning, ColumnRef) or (linear_in(meaning) is not None and used[0].linear is not None)
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
    """Whether the sizes that a plan releases bound what is lost: of rows, in every pass."""
    about = {place + 1 for place in plan.size_places if _tells_loss(plan.passes[place])}
    return bool(about) and all(place in about for place, one in enumerate(plan.passes) if not one.sizes)


def _tells_loss(one: Pass) -> bool:
    scan = one.scan
    if scan.sizes is None or scan.schema.most_rows is None or not isinstance(scan.bounding, Norm):
        return False
    return scan.sizes.of == "lost" or scan.bounding.order == 1 or not scan.keys


def covered_in_words(plan: Plan) -> str:
    """Return what the intervals of a plan cover."""
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


def _loss(one: Pass, released: Sequence[Sequence[int]], tail: float) -> float:
    measure, most, norm = one.sizes, _most(one.scan), one.scan.bounding
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
