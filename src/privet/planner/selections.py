"""Quantiles, MIN and MAX, the most frequent values and private bounds in a plan: choices and their options.

Their grids and options, how far one unit moves ranks and counts, how a spend is divided among them, and what their
intervals cover. A least value of no rows would come out as the greatest one that is declared: it is NULL instead, by a
count that is released, for a tenth of what the least and the greatest may cost, or that the question releases anyway.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.aggregates import Mode, Ranked, Span
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, Unsupported
from privet.core.numbers import in_digits
from privet.core.relation import Call, ColumnRef, Expression
from privet.core.scan import Bounding, GroupKey, Largest, Once, Scan, Sum, Truncate
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Contribution, Schema
from privet.core.unit import in_buckets, person_column
from privet.core.wire import canonical
from privet.mechanisms import Gaussian, Laplace
from privet.mechanisms.rank_choice import LARGEST_DENOMINATOR, QuantileChoice
from privet.mechanisms.rank_ladder import LEAST_ALPHA, QuantileLadder
from privet.mechanisms.rank_several import DIGITS, MOST, MOST_EPSILON, QuantileJoint, QuantileTree, SeveralRanks
from privet.mechanisms.top_k import Frequent
from privet.query.normal import conjunction, text
from privet.query.resolve import meanings

from .accuracy import CONFIDENCE
from .keys import Choice, count_cells, discovered, group_key
from .measures import (
    SURE,
    BoundsMeasure,
    Measure,
    ModeMeasure,
    QuantileDraw,
    QuantileMeasure,
    SumMeasure,
    near_of,
    shares_of,
)
from .plan import Known, Pass, Place, Plan, Reading, Spend
from .stability import SHIFT, Rule, heaviest_of, ladder_span, norm_of, sensitivity_of, span_of, span_of_scores

if TYPE_CHECKING:
    from privet.core.event import Floats

PART = Fraction(1, 10)
"""The count's part of the spend on the quantiles of a column that have a least or a greatest among them."""

EMPTY = 0.999
"""How often the least and the greatest of no rows at all are NULL, or more often."""


def presence_sum(quantiles: Sequence[Ranked]) -> Sum | None:
    """Return the count of rows that quantiles of one column are of, where there is a least or a greatest among them."""
    return quantiles[0].argument.present() if any(quantile.extreme for quantile in quantiles) else None


def presence_pass(total: Sum, scan: Scan, part: Spend) -> Pass:
    """Return the pass that counts rows, for a part of a spend: with Laplace noise, or Gaussian where rho is spent.

    Guarantee: an epsilon adds to that of the choices, and a rho to theirs. `scan` has no sums and bounds in L1.
    """
    scan = replace(scan, sums=(total,))
    sensitivity = sensitivity_of(total, scan)
    if part.rho is None:
        noise: Laplace | Gaussian = Laplace(sensitivity=sensitivity, epsilon=part.epsilon)
    else:
        noise = Gaussian(sensitivity=sensitivity, rho=part.rho)
    return Pass(scan, SumMeasure((Measure(total, sensitivity, noise, scan.bounding.shift),)))


def presence_place(total: Sum, passes: Sequence[Pass], known: Mapping[Sum, Known]) -> Place:
    """Return where the count of rows is: known, among the sums of the question, or in a pass of its own."""
    if total in known:
        return known[total]
    for index, pass_ in enumerate(passes):
        if pass_.plain and not pass_.scan.distinct and total in pass_.scan.sums:
            return index, pass_.scan.sums.index(total)
    raise InvariantError("a least or greatest value has no count of rows")


def least_rows(plan: Plan, place: Place) -> float:
    """Return the threshold of a noisy count: the noise alone exceeds it once in 1,000 times, or less often.

    The noise is as likely above a distance as below its negative, so half of what lies outside an interval is above.
    """
    if isinstance(place, Known):
        return 0.0
    index, at = plan.across(place)[-1]
    return plan.passes[index].measures[at].error(2 * EMPTY - 1)


def without_rows(plan: Plan, reading: Reading, values: Any, sums: Mapping[Place, Floats]) -> Any:
    """Return the least or greatest values, NULL where the noisy count of rows is at most `least_rows`."""
    if not reading.has_presence:
        return values
    few = sums[reading.places[-1]] <= least_rows(plan, reading.places[-1])
    if not few.any():
        return values
    masked = values.astype(object)
    masked[few] = None
    return masked


def presence_only(plan: Plan) -> frozenset[int]:
    """Return the passes that count rows for the least and the greatest alone, and share their spend."""
    counts = _passes(place for reading in plan.readings if reading.has_presence for place in reading.places[1:])
    others = _passes(place for reading in plan.readings if not reading.has_presence for place in reading.places)
    return frozenset(index for index in counts - others if plan.passes[index].keys is None)


def presence_notes(plan: Plan) -> list[str]:
    """Return when the least and the greatest are NULL."""
    asked = [reading for reading in plan.readings if reading.has_presence]
    if not asked:
        return []
    least = max(least_rows(plan, reading.places[-1]) for reading in asked)
    return [
        f"MIN and MAX are NULL where the noisy count of their rows is at most {in_digits(least, 4)}; this is the "
        f"case for a group without rows at least {EMPTY * 1000:g} times in 1,000."
    ]


def presence_lines(plan: Plan) -> list[str]:
    """Return in words the cost of the count of rows for the least and the greatest."""
    asked = [reading for reading in plan.readings if reading.has_presence]
    if not asked:
        return []
    if presence_only(plan):
        share = f"takes {float(PART * 100):g}% of what is spent on them"
    else:
        share = "is released anyway"
    return [f"{presence_notes(plan)[0]} The count {share}."]


def null_notes(plan: Plan, released: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where a least or a greatest value came out as NULL; computed from the release alone."""
    notes = []
    for reading in plan.readings:
        if not reading.has_presence:
            continue
        values = list(released[reading.name])
        none = sum(value is None for value in values)
        if none:
            where = f" in {none:,} of {len(values):,} groups" if plan.query.keys else ""
            shown = [name for name, meaning in meanings(plan.query).items() if meaning == ColumnRef(reading.name)]
            notes.append(f"{', '.join(shown) or reading.name}: NULL{where}: too few rows.")
    return tuple(notes)


def _passes(places: Iterable[Place]) -> set[int]:
    return {place[0] for place in places if not isinstance(place, Known)}


# How quantiles are chosen: the grid, how far one unit can move ranks, and how a part of the spend is divided.
#
# Everything here comes from public facts. A quantile takes most of its part for itself, and the rest for its
# interval.

_MOST_PLACES = 2**16
_MOST_CELLS = 2**19
_FEWEST_PLACES = 2**8
"""How many places a grid has where the values have more: at most these in a group, and in all groups together."""

_FINEST = 30
_ENDS = 16
"""How many bits the number of a place has: of a quantile that is chosen alone, and of the end of an interval."""

_COMMON = 4
"""From this many quantiles on, their intervals come from a common ladder too."""

_BLOCKS = 16
_ALL_BLOCKS = 17
_FEWEST_BLOCKS = 6
_BLOCKS_OF_UNKNOWN = 10
"""How many bits the number of a block has, in which rows are counted first: in a group, in all groups together, at
least, and where it is not known how many groups there are."""


def wanted_selections(aggregates: Mapping[str, object]) -> list[tuple[Ranked, ...]]:
    """Return the quantiles that a query asks for, those of one column together, in an order of their own."""
    by_column: dict[str, dict[Fraction, Ranked]] = {}
    for aggregate in aggregates.values():
        if isinstance(aggregate, Ranked):
            by_column.setdefault(canonical(aggregate.argument), {})[aggregate.share] = aggregate
    return [tuple(ranked for _, ranked in sorted(by_column[text].items())) for text in sorted(by_column)]


def places_of(ranked: Ranked, scan: Scan) -> Sum:
    """Return the grid of a quantile: as fine as can be counted in every public group."""
    cells = count_cells(scan.keys, scan.cells)
    return ranked.places(max(_FEWEST_PLACES, min(_MOST_PLACES, _MOST_CELLS // cells)))


def selection_pass(
    quantiles: Sequence[Ranked],
    scan: Scan,
    part: Spend,
    *,
    alpha: Fraction = 1 - CONFIDENCE,
    even: bool = False,
    population: bool = False,
) -> Pass:
    """Return the pass that chooses quantiles of one column, and their intervals, for a part of a spend.

    An interval misses with probability alpha; with `population`, it covers the quantile of the sampled population, and
    half of alpha is for sampling. With `even`, intervals get twice as much as quantiles: where width matters most. A
    single quantile is chosen on a fine grid, on which rows are distinguished only near its rank; `RankChoice` and
    `RankLadder` show that this leaves the law of the choices unchanged.

    Guarantee: the draws' ranges add up to epsilon, or their squares over 8 to rho. `scan` has no sums.
    Cites: [DR14, Thm 3.16], [CR21, bounded range in zCDP].
    """
    first, alone = quantiles[0], len(quantiles) == 1
    grid = first.places(2 ** (_ENDS if first.extreme else _FINEST) - 1) if alone else places_of(first, scan)
    scan, shares = replace(scan, places=grid), [quantile.share for quantile in quantiles]
    inner = tuple(share for share in shares if 0 < share < 1)
    rounds = first.rounds(grid)
    draws = _first_edition(shares, scan, part, even=even, rounds=rounds)
    if not inner:
        return Pass(_seen(scan, draws), QuantileMeasure(tuple(draws)))
    wants = _wants(shares, squared=part.rho is not None, even=even)
    sizes = [want.times * want.size ** (1 if part.rho is None else 2) for want in wants]
    outer = len(shares) - len(inner)
    share = part.part(Fraction(sum(sizes[outer:]), sum(sizes)))
    values, digits = _values(inner, scan, share, even=even, rounds=rounds and not alone)
    ladders = _ladders(inner, scan, share, alpha, digits=digits, even=even, population=population)
    spent = part.epsilon if part.rho is None else part.rho
    draws = [*draws[:outer], values, *ladders]
    return Pass(_seen(scan, draws), QuantileMeasure(tuple(draws), spent, even))


def _values(
    shares: tuple[Fraction, ...], scan: Scan, part: Spend, *, even: bool, rounds: bool
) -> tuple[QuantileChoice | SeveralRanks, int]:
    """Return the draw of the quantiles themselves, and to how many binary digits of a place it resolves them."""
    part = part.part(_for_values(shares, even=even))
    joint, multiple, digits = jointly(len(shares), squared=part.rho is not None), len(shares) > 1, DIGITS * rounds
    levels = 1 if joint or not multiple else len(shares).bit_length()
    epsilon, last = _each(part, levels), _last(scan)
    held = min(epsilon, Fraction(MOST_EPSILON))
    if joint:
        return QuantileJoint.of(shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits), digits
    if multiple or rounds:
        return QuantileTree(shares, last, norm_of(scan), held, digits), digits
    return QuantileChoice.middle(shares[0], last=last, span=span_of(shares[0], scan), epsilon=epsilon), 0


def _ladders(
    shares: tuple[Fraction, ...],
    scan: Scan,
    part: Spend,
    alpha: Fraction,
    *,
    digits: int,
    even: bool,
    population: bool,
) -> list[QuantileLadder]:
    """Return the draws of intervals: a ladder for each quantile, and for many of them a common one beside these.

    Where there are both, each has half of the part and of alpha, and both cover; their intersection is shown.
    """
    part = part.part(1 - _for_values(shares, even=even))
    common = len(shares) >= _COMMON and math.lcm(*(share.denominator for share in shares)) <= LARGEST_DENOMINATOR
    if population and scan.schema.unit.touches > 1:
        raise Unsupported(
            'covers="population" needs people who are independent of each other, and the rows of a person in different '
            "windows of time are not; protect whole people, or leave covers out"
        )
    if common:
        part, alpha = part.part(Fraction(1, 2)), alpha / 2
    alpha, beta = (alpha / 2, max(alpha / 2, LEAST_ALPHA)) if population else (alpha, Fraction(0))

    def ladder(of: tuple[Fraction, ...], epsilon: Fraction) -> QuantileLadder:
        return QuantileLadder.of(
            of,
            last=_last(scan),
            span=ladder_span(of, scan, beta),
            epsilon=epsilon,
            alpha=alpha,
            digits=digits,
            beta=beta,
            heaviest=heaviest_of(scan) if population else 1,
        )

    ladders = [ladder((share,), _each(part, len(shares))) for share in shares]
    return [*ladders, ladder(shares, _each(part, 1))] if common else ladders


def _for_values(shares: Sequence[Fraction], *, even: bool) -> Fraction:
    """Return the quantiles' part of a spend on quantiles and intervals."""
    return Fraction(1, 3) if even else Fraction(4, 5) if len(shares) > 1 else Fraction(3, 5)


def _each(part: Spend, times: int) -> Fraction:
    """Return the epsilon of each of some draws of equal cost, so that all together cost the part."""
    return _unit([Want((), 0, 1, times)], part)


def _last(scan: Scan) -> int:
    return scan.places.high if scan.places else 0


def _first_edition(
    shares: Sequence[Fraction], scan: Scan, part: Spend, *, even: bool, rounds: bool
) -> list[QuantileDraw]:
    """Return the draws of quantiles as the first edition of the planner made them: each with two ends.

    Those of the least and the greatest come first, and are made so still.
    """
    wants = _wants(shares, squared=part.rho is not None, even=even)
    unit, last, alone = _unit(wants, part), _last(scan), len(shares) == 1
    shift = max(0, last.bit_length() - _ENDS) if alone else 0
    coarse = {"last": last >> shift, "shift": shift}
    draws: list[QuantileDraw] = []
    for want in wants:
        epsilon, share = unit * want.size, want.shares[0]
        held = min(epsilon, Fraction(MOST_EPSILON))
        if want.side:
            tail = float(1 - SURE) / (1 if share in (0, 1) else 2)
            span = span_of(share, scan)
            draws.append(QuantileChoice.end(share, want.side, span=span, epsilon=epsilon, tail=tail, **coarse))
        elif len(want.shares) > 1 and want.times == 1:
            digits = DIGITS if rounds else 0
            draws.append(QuantileJoint.of(want.shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits))
        elif not alone and (rounds or len(want.shares) > 1):
            draws.append(QuantileTree(want.shares, last, norm_of(scan), held, DIGITS if rounds else 0))
        else:
            draws.append(QuantileChoice.middle(share, last=last, span=span_of(share, scan), epsilon=epsilon))
    return draws


def without_ladders(plan: Plan) -> Plan | None:
    """Return the plan as it was made before intervals of quantiles were ladders, or None where there was none."""
    if any(isinstance(draw, QuantileLadder) and draw.beta for pass_ in plan.passes for draw in pass_.measure.draws):
        return None
    if plan.rounds > 1 and plan.target is not None and 1 - plan.target.confidence < 2 * (1 - SURE):
        return None
    passes = tuple(_without_ladders(pass_, plan.spend) for pass_ in plan.passes)
    return replace(plan, passes=passes, before=None if plan.before is None else without_ladders(plan.before))


def _without_ladders(pass_: Pass, spend: Spend) -> Pass:
    if not isinstance(pass_.measure, QuantileMeasure) or pass_.measure.part is None:
        return pass_
    measure, scan = pass_.measure, replace(pass_.scan, near=None)
    rounds = any(draw.digits for draw in measure.draws if isinstance(draw, SeveralRanks))
    shares = sorted({slot.share for slot in measure.slots})
    part = replace(spend, rho=measure.part) if spend.epsilon is None else replace(spend, epsilon=measure.part)
    draws = _first_edition(shares, scan, part, even=measure.even, rounds=rounds)
    return Pass(_seen(scan, draws), QuantileMeasure(tuple(draws)))


def _seen(scan: Scan, draws: Sequence[QuantileDraw]) -> Scan:
    """Return a scan that distinguishes rows only near the rank of its one quantile, if there is one only.

    Rows are counted in blocks of places first.
    """
    bits = max(0, _last(scan).bit_length() - _blocks(scan))
    single = [draw for draw in draws if isinstance(draw, QuantileChoice | QuantileLadder)]
    if len(single) < len(draws) or len({share for draw in single for share in shares_of(draw)}) > 1:
        return scan
    needed = [near for draw in single if (near := near_of(draw, bits, scan)) is not None]
    if not needed:
        return scan
    below, above = max(need.below for need in needed), max(need.above for need in needed)
    return replace(scan, near=replace(needed[0], below=below, above=above))


def _blocks(scan: Scan) -> int:
    """Return how many bits the number of a block has, from how many groups there are."""
    if any(key.values is None for key in scan.keys):
        return _BLOCKS_OF_UNKNOWN
    return max(_FEWEST_BLOCKS, min(_BLOCKS, _ALL_BLOCKS - (count_cells(scan.keys, scan.cells) - 1).bit_length()))


def quantile_passes(passes: Sequence[Pass]) -> list[tuple[Pass, QuantileMeasure]]:
    """Return the passes that choose quantiles, each with its measure."""
    return [(pass_, pass_.measure) for pass_ in passes if isinstance(pass_.measure, QuantileMeasure)]


def place_in_pass(selection: QuantileMeasure, index: int, ranked: Ranked) -> tuple[int, int]:
    """Return where a quantile is among the draws of a pass."""
    return index, selection.column_of(ranked.share)


def jointly(number: int, *, squared: bool) -> bool:
    """Return whether this many quantiles are chosen by one joint choice: it is off by fewer ranks than one by one.

    Where squares of losses add up, choosing by halves is better: its losses are many and small. So it is for three.
    """
    return not squared and 2 <= number <= MOST and number != 3


class Want(NamedTuple):
    """A draw: of one share or of several at once, aiming to a side or not; how large its losses are, and how many."""

    shares: tuple[Fraction, ...]
    side: int
    size: int
    times: int = 1


def _wants(shares: Sequence[Fraction], *, squared: bool, even: bool) -> list[Want]:
    """Return the draws for some quantiles of a column; the least and the greatest are ends of intervals themselves.

    The division of the first edition: a single quantile takes two thirds for itself, and a third for its interval;
    several together take nine tenths, or eight tenths where they are chosen jointly. With `even`, it is a third. With
    `squared`, it is the squares of the sizes that add up. The least and the greatest still take that.
    """
    inner = tuple(share for share in shares if 0 < share < 1)
    multiple, joint = len(inner) > 1, jointly(len(inner), squared=squared)
    levels = 1 if joint else len(inner).bit_length()
    whole = 1 if even else 2 if squared else 4
    if multiple:
        all_of_them = (1 if even else 8 if joint else 18) * len(inner)
        whole = max(1, math.isqrt(all_of_them // levels)) if squared else -(-all_of_them // levels)
    wants = [Want((share,), 1 if share == 0 else -1, whole) for share in shares if share in (0, 1)]
    wants += [Want(inner, 0, whole, levels)] if multiple else [Want((share,), 0, whole) for share in inner]
    return wants + [Want((share,), side, 1) for share in inner for side in (-1, 1)]


def _unit(wants: Sequence[Want], part: Spend) -> Fraction:
    """Return the epsilon of a draw of size 1, so that all together cost the part."""
    if part.rho is None:
        if part.epsilon is None:
            raise InvariantError("a spend is in epsilon or in rho")
        return part.epsilon / sum(want.size * want.times for want in wants)
    squared = 8 * part.rho / sum(want.size**2 * want.times for want in wants)
    bits = 2**64
    return Fraction(math.isqrt(squared.numerator * bits**2 // squared.denominator), bits)


# The coverage of quantiles' intervals, in words.


def choice_notes(plan: Plan, confidence: float) -> list[str]:
    """Return notes on the coverage of quantiles' intervals."""
    if not any(pass_.measure.draws for pass_ in plan.passes):
        return []
    notes, ends = [], False
    for _, measure in quantile_passes(plan.passes[-len(plan.passes) // plan.rounds :]):
        ends |= any(not measure.ladders_of(slot.share) for slot in measure.slots)
        notes += [measure.covered(share, confidence) for share in measure.inner if measure.ladders_of(share)]
    if ends and confidence > float(SURE):
        which = "Quantiles" if not notes else "MIN and MAX"
        level = f"{float(SURE):.3g}"
        notes.append(f"{which} have intervals up to confidence {level}; above it, theirs are the declared bounds.")
    elif ends:
        which = "quantiles" if not notes else "MIN and MAX"
        notes.append(
            f"Intervals of {which} were drawn with them and cover them with probability {float(SURE):.3g} or more."
        )
    inside = [] if confidence > float(SURE) else _about_ends(plan)
    return [*dict.fromkeys(notes), *inside, *presence_notes(plan)]


def _about_ends(plan: Plan) -> list[str]:
    """Return how far inside the least and the greatest values are looked for, and the outcome of too few rows."""
    aims = [
        abs(slot.offset) / 2**pass_.scan.bounding.shift
        for pass_, measure in quantile_passes(plan.passes)
        for slot in measure.slots
        if slot.share in (0, 1)
    ]
    if not aims:
        return []
    return [
        f"The least and the greatest are values about {in_digits(max(aims), 4)} ranks inside; the true ones lie "
        f"between them and the declared bound. Of fewer rows they lie anywhere up to the far bound and carry no "
        f"information."
    ]


def far_notes(plan: Plan, released: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where a least or a greatest value came out as the far bound: most likely of too few rows.

    It is computed from the release alone.
    """
    notes = []
    for reading in plan.readings:
        ranked = reading.aggregate
        if not isinstance(ranked, Ranked) or not ranked.extreme or isinstance(reading.places[0], Known):
            continue
        grid = plan.passes[reading.places[0][0]].scan.places
        if grid is None:
            continue
        end = float(grid.origin + (grid.high if ranked.share == 0 else 0) * grid.step)
        every = list(released[reading.name])
        values = [float(value) for value in every if value is not None]
        far = sum(value >= end if ranked.share == 0 else value <= end for value in values)
        if far:
            where = f" in {far:,} of {len(every):,} groups" if plan.query.keys else ""
            shown = [name for name, meaning in meanings(plan.query).items() if meaning == ColumnRef(reading.name)]
            notes.append(
                f"{', '.join(shown) or reading.name}: the far bound{where}, most likely because of too few rows."
            )
    return tuple(notes)


# How the most frequent values are chosen: their options, how far one unit can move the counts, and the spend.
#
# Everything here comes from public facts. Values that are not declared are found first, as keys are, for half the
# part.

_BITS = 2**64


def wanted_winners(aggregates: Mapping[str, object]) -> list[Mode]:
    """Return the choices of most frequent values that a query asks for: of the same values, the one of most."""
    winners: dict[str, Mode] = {}
    for aggregate in aggregates.values():
        if isinstance(aggregate, Mode):
            text = canonical((aggregate.expression, aggregate.where))
            if text not in winners or aggregate.k > winners[text].k:
                winners[text] = aggregate
    return [winners[text] for text in sorted(winners)]


def option_key(mode: Mode, columns: Mapping[str, Facts]) -> GroupKey:
    """Return the options of a choice as a key: values implied by public facts, or none known yet; never NULL."""
    key = group_key(mode.expression, columns)
    values = None if key.values is None else tuple(value for value in key.values if value is not None)
    return GroupKey(key.expression, values, False)


def winners_pass(mode: Mode, scan: Scan, part: Spend, *, rule: Rule, contribution: Contribution) -> Pass:
    """Return the pass that chooses the most frequent values of a column in every group, for a part of a spend.

    `scan` has the groups and no sums. Values that are not public are found by half of the part, and `part.keys`.

    Guarantee: the events of what finds values and of what chooses among them add up to the part.
    Cites: [DR14, Thm 3.16].
    """
    option = option_key(mode, scan.schema.columns)
    keys = (*scan.keys, option)
    count_cells(keys, scan.cells)
    bounding = _bounding(scan.schema, contribution, rule=rule, grouped=bool(scan.keys))
    where = conjunction(scan.where, mode.where)
    scan = replace(scan, keys=keys, where=where, sums=(rows(None),), bounding=bounding)
    release, most = None, mode.k
    if option.values is None:
        part = part.part(Fraction(1, 2))
        scan, release = discovered(scan, _finding(part), most=_kept(scan, contribution), delta=part.keys)
    else:
        most = min(mode.k, len(option.values))
    span, unit = span_of_scores(scan), 2**scan.bounding.shift
    if part.epsilon is not None and most == 1:
        draw = Frequent(most, span, part.epsilon / span, "exponential", unit)
    else:
        draw = Frequent(most, span, _range_each(part, most) / span, "gumbel", unit)
    return Pass(scan, ModeMeasure(draw, release))


def place_of(mode: Mode, passes: tuple[Pass, ...], where: Expression | None) -> Place:
    """Return where a value is among the choices of a plan over the rows that meet a condition."""
    wanted = (mode.expression, conjunction(where, mode.where))
    for index, pass_ in enumerate(passes):
        if isinstance(pass_.measure, ModeMeasure) and (pass_.scan.keys[-1].expression, pass_.scan.where) == wanted:
            return index, mode.rank - 1
    raise InvariantError("the most frequent values have no pass")


def _bounding(schema: Schema, contribution: Contribution, *, rule: Rule, grouped: bool) -> Bounding:
    """Return how a unit is bounded: to the limit on its rows of one value, or of one in each of its groups."""
    if schema.unit.rowwise:
        return Once()
    if rule == "groups":
        return Truncate(contribution.groups, contribution.rows)
    return Largest(contribution.rows * (contribution.groups if grouped else 1), SHIFT)


def _kept(scan: Scan, contribution: Contribution) -> int:
    """Return the number of values that count for a unit where they are found: without groups, values are the groups."""
    if scan.schema.unit.rowwise:
        return 1
    return contribution.groups * (contribution.rows if len(scan.keys) > 1 else 1)


def _finding(part: Spend) -> Choice:
    if part.epsilon is not None:
        return Choice("laplace", part.epsilon)
    if part.rho is None:
        raise InvariantError("a spend is in epsilon or in rho")
    return Choice("gaussian", part.rho)


def _range_each(part: Spend, choices: int) -> Fraction:
    """Return the range that each of some choices may have: epsilons add up, or the squares over 8 to rho."""
    if part.epsilon is not None:
        return part.epsilon / choices
    squared = 8 * (part.rho or Fraction(0)) / choices
    return Fraction(math.isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS)


# The most frequent values of a plan in words and as plain data: the choice, its options, how far off it may be.


def winner_notes(plan: Plan) -> list[str]:
    """Return the notes on the most frequent values of an answer."""
    passes = [pass_ for pass_ in plan.passes if isinstance(pass_.measure, ModeMeasure)]
    ranges = any(isinstance(pass_.measure, BoundsMeasure) for pass_ in plan.passes)
    notes = ["Private bounds are chosen by noisy counts and have no interval."] if ranges else []
    notes += ["The most frequent values are chosen by noisy counts and have no interval."] if passes else []
    if any(pass_.keys is not None for pass_ in passes):
        notes.append("Rare values are not among the candidates.")
    return notes


def largest_in_words(one: Pass, largest: Largest) -> str:
    """Return how rows of one value beyond what a plan allows are bounded."""
    unit = one.scan.schema.unit
    who = f"Each {person_column(unit) or 'row'}{in_buckets(unit)}"
    of = text(one.scan.keys[-1].expression)
    added = ", added over all groups," if one.groups else ""
    return (
        f"{who} counts in full while its rows of one value of {of}{added} are at most {largest.limit}; "
        f"contributions above that are scaled down as a whole."
    )


# Private bounds in a plan: noisy counts in public ranges, how large one must be, and all of it in words.


# How a private range is found: a noisy count in each of many public ranges, and how large one must be to count.
#
# Everything here comes from public facts. The counts are sums like any other, with one key more: the range.


def wanted_spans(aggregates: Mapping[str, object]) -> list[Span]:
    """Return the ranges that a query asks for, each once and in an order of their own."""
    spans = {canonical((span.expression, span.where)): span for span in aggregates.values() if isinstance(span, Span)}
    return [spans[text] for text in sorted(spans)]


def span_pass(span: Span, scan: Scan, choice: Choice) -> Pass:
    """Return the pass that counts rows by range, in every group. `scan` has the groups, bounds for them, and no sums.

    Guarantee: that of the noise, for how far one unit can move the counts of all ranges of all groups: a row without a
    value is in none, and any other in one.
    Cites: [WZLDSG20, approximate bounds].
    """
    keys = (*scan.keys, span.ranges)
    count_cells(keys, scan.cells)
    where = conjunction(scan.where, span.where, _known(span))
    scan = replace(scan, keys=keys, where=where, sums=span.sums())
    (total,) = scan.sums
    sensitivity = sensitivity_of(total, scan)
    measure = Measure(total, sensitivity, choice.mechanism(sensitivity), scan.bounding.shift)
    return Pass(scan, BoundsMeasure(measure))


def place_in(span: Span, passes: tuple[Pass, ...], where: Expression | None) -> tuple[Span, tuple[Place, ...]]:
    """Return a range with its threshold, and where its counts are among those of a plan."""
    wanted = ((span.ranges,), conjunction(where, span.where, _known(span)))
    for index, pass_ in enumerate(passes):
        measure, counted = pass_.measure, (pass_.scan.keys[-1:], pass_.scan.where)
        if isinstance(measure, BoundsMeasure) and counted == wanted:
            places = tuple((index, place) for place in range(len(span.ranges.values or ())))
            return replace(span, threshold=measure.threshold(pass_.scan)), places
    raise InvariantError("a range has no pass")


def _known(span: Span) -> Expression:
    return Call("not", (Call("is_null", (span.expression,)),))


# Private ranges of a plan in words: the counts, possible misses, and how a range is declared.


def range_notes(plan: Plan, values: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return how the ranges of an answer are declared, so that later questions may use them: they are public now."""
    notes, ends = [], dict[str, dict[str, list[Any]]]()
    spans = {reading.name: reading.aggregate for reading in plan.readings if isinstance(reading.aggregate, Span)}
    for name, span in spans.items():
        held = [value for value in values[name] if value is not None]
        ends.setdefault(_named(span), {})[span.side] = held
    for named, sides in ends.items():
        span = next(span for span in spans.values() if _named(span) == named)
        if not sides.get("low") or not sides.get("high"):
            if sides.keys() == {"low", "high"}:
                notes.append(f"No range of {named} has enough rows to be detected at this cost.")
            continue
        low, high = (
            f"{end:.17g}" if isinstance(end, float) else str(end) for end in (min(sides["low"]), max(sides["high"]))
        )
        notes.append(f"{named} lies mostly from {low} to {high}; values further out may exist.")
        declared = _declaration(plan, span, low, high)
        if declared:
            notes.append(declared)
    return notes


def _declaration(plan: Plan, span: Span, low: str, high: str) -> str:
    """Return how the range of a table's own column is written down."""
    scan = plan.passes[0].scan
    name = span.expression.column
    if name is None or not isinstance(scan.table, str):
        return ""
    nullable = ", nullable = true" if scan.schema.columns[name].nullable else ""
    return (
        f"To sum it, declare in privet.toml, under [tables.{_key(scan.table)}.columns]: "
        f'{_key(name)} = {{ kind = "{span.values}", low = {low}, high = {high}{nullable} }}'
    )


def _key(name: str) -> str:
    """Return a name as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else json.dumps(name)


def _named(span: Span) -> str:
    return text(span.expression)
