"""Quantiles in a plan: the grid, how the spend is divided, and what their intervals cover."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from privet.aggregates import Ranked
from privet.core.errors import InvariantError, Unsupported
from privet.core.relation import ColumnRef
from privet.core.scan import Scan, Sum
from privet.core.wire import canonical
from privet.mechanisms.rank_choice import LARGEST_DENOMINATOR, QuantileChoice
from privet.mechanisms.rank_ladder import LEAST_ALPHA, QuantileLadder
from privet.mechanisms.rank_several import DIGITS, MOST, MOST_EPSILON, QuantileJoint, QuantileTree, SeveralRanks
from privet.query.resolve import meanings

from .keys import count_cells
from .measures import SURE, QuantileDraw, QuantileMeasure, near_of, shares_of
from .plan import Known, Pass, Plan, Spend
from .presence import presence_notes
from .stability import heaviest_of, ladder_span, norm_of, shift_of, span_of
from .target import CONFIDENCE

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
"""How many bits the number of a place has: of a quantile that is chosen by itself, and of the end of an interval."""

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
    found: dict[str, dict[Fraction, Ranked]] = {}
    for one in aggregates.values():
        if isinstance(one, Ranked):
            found.setdefault(canonical(one.argument), {})[one.share] = one
    return [tuple(one for _, one in sorted(found[text].items())) for text in sorted(found)]


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

    An interval misses with probability alpha; with `population`, it holds the quantile of what was sampled, and half of
    alpha is for sampling. With `even`, intervals get twice as much as quantiles: where it matters most how narrow they
    are. One quantile by itself is chosen on a fine grid, of which rows are told apart only near its rank; that this
    leaves the law of the choices as it is, is shown at `RankChoice` and `RankLadder`.

    Guarantee: the draws' ranges add up to epsilon, or their squares over 8 to rho. `scan` has no sums.
    Cites: [DR14, Thm 3.16], [CR21, bounded range in zCDP].
    """
    first, alone = quantiles[0], len(quantiles) == 1
    grid = first.places(2 ** (_ENDS if first.extreme else _FINEST) - 1) if alone else places_of(first, scan)
    scan, shares = replace(scan, places=grid), [one.share for one in quantiles]
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
    """Return the draw of the quantiles themselves, and in how many binary digits of a place it tells them."""
    part = part.part(_for_values(shares, even=even))
    joint, several, digits = jointly(len(shares), squared=part.rho is not None), len(shares) > 1, DIGITS * rounds
    levels = 1 if joint or not several else len(shares).bit_length()
    epsilon, last = _each(part, levels), _last(scan)
    held = min(epsilon, Fraction(MOST_EPSILON))
    if joint:
        return QuantileJoint.of(shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits), digits
    if several or rounds:
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

    Where there are both, each has half of the part and of alpha, and both hold: what they have in common is shown.
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

    found = [ladder((share,), _each(part, len(shares))) for share in shares]
    return [*found, ladder(shares, _each(part, 1))] if common else found


def _for_values(shares: Sequence[Fraction], *, even: bool) -> Fraction:
    """Return which part of a spend on quantiles and intervals the quantiles take."""
    return Fraction(1, 3) if even else Fraction(4, 5) if len(shares) > 1 else Fraction(3, 5)


def _each(part: Spend, times: int) -> Fraction:
    """Return what each of some draws that cost the same may cost in epsilon, so that all together cost the part."""
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
    if any(isinstance(draw, QuantileLadder) and draw.beta for one in plan.passes for draw in one.measure.draws):
        return None
    if plan.rounds > 1 and plan.target is not None and 1 - plan.target.confidence < 2 * (1 - SURE):
        return None
    passes = tuple(_without_ladders(one, plan.spend) for one in plan.passes)
    return replace(plan, passes=passes, before=None if plan.before is None else without_ladders(plan.before))


def _without_ladders(one: Pass, spend: Spend) -> Pass:
    if not isinstance(one.measure, QuantileMeasure) or one.measure.part is None:
        return one
    measure, scan = one.measure, replace(one.scan, near=None)
    rounds = any(draw.digits for draw in measure.draws if isinstance(draw, SeveralRanks))
    shares = sorted({slot.share for slot in measure.slots})
    part = replace(spend, rho=measure.part) if spend.epsilon is None else replace(spend, epsilon=measure.part)
    draws = _first_edition(shares, scan, part, even=measure.even, rounds=rounds)
    return Pass(_seen(scan, draws), QuantileMeasure(tuple(draws)))


def _seen(scan: Scan, draws: Sequence[QuantileDraw]) -> Scan:
    """Return a scan that tells rows apart only near the rank of its one quantile, if there is one only.

    Rows are counted in blocks of places first.
    """
    bits = max(0, _last(scan).bit_length() - _blocks(scan))
    single = [draw for draw in draws if isinstance(draw, QuantileChoice | QuantileLadder)]
    if len(single) < len(draws) or len({share for draw in single for share in shares_of(draw)}) > 1:
        return scan
    needed = [near for draw in single if (near := near_of(draw, bits, scan)) is not None]
    if not needed:
        return scan
    below, above = max(one.below for one in needed), max(one.above for one in needed)
    return replace(scan, near=replace(needed[0], below=below, above=above))


def _blocks(scan: Scan) -> int:
    """Return how many bits the number of a block has, from how many groups there are."""
    if any(key.values is None for key in scan.keys):
        return _BLOCKS_OF_UNKNOWN
    return max(_FEWEST_BLOCKS, min(_BLOCKS, _ALL_BLOCKS - (count_cells(scan.keys, scan.cells) - 1).bit_length()))


def quantile_passes(passes: Sequence[Pass]) -> list[tuple[Pass, QuantileMeasure]]:
    """Return the passes that choose quantiles, each with its measure."""
    return [(one, one.measure) for one in passes if isinstance(one.measure, QuantileMeasure)]


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

    The division of the first edition: a quantile by itself takes two thirds for itself, and a third for its interval;
    several together take nine tenths, or eight tenths where they are chosen jointly. With `even`, it is a third. With
    `squared`, it is the squares of the sizes that add up. What the least and the greatest take is still that.
    """
    inner = tuple(share for share in shares if 0 < share < 1)
    several, joint = len(inner) > 1, jointly(len(inner), squared=squared)
    levels = 1 if joint else len(inner).bit_length()
    whole = 1 if even else 2 if squared else 4
    if several:
        all_of_them = (1 if even else 8 if joint else 18) * len(inner)
        whole = max(1, math.isqrt(all_of_them // levels)) if squared else -(-all_of_them // levels)
    found = [Want((share,), 1 if share == 0 else -1, whole) for share in shares if share in (0, 1)]
    found += [Want(inner, 0, whole, levels)] if several else [Want((share,), 0, whole) for share in inner]
    return found + [Want((share,), side, 1) for share in inner for side in (-1, 1)]


def _unit(wants: Sequence[Want], part: Spend) -> Fraction:
    """Return what a draw of size 1 may cost in epsilon, so that all together cost the part."""
    if part.rho is None:
        if part.epsilon is None:
            raise InvariantError("a spend is in epsilon or in rho")
        return part.epsilon / sum(want.size * want.times for want in wants)
    squared = 8 * part.rho / sum(want.size**2 * want.times for want in wants)
    bits = 2**64
    return Fraction(math.isqrt(squared.numerator * bits**2 // squared.denominator), bits)


# What the intervals of quantiles cover, in words.


def choice_notes(plan: Plan, confidence: float) -> list[str]:
    """Return what the intervals of quantiles cover."""
    if not any(one.measure.draws for one in plan.passes):
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
    """Return how far inside the least and the greatest values are looked for, and what becomes of too few rows."""
    aims = [
        abs(slot.offset) / 2 ** shift_of(one.scan.bounding)
        for one, measure in quantile_passes(plan.passes)
        for slot in measure.slots
        if slot.share in (0, 1)
    ]
    if not aims:
        return []
    return [
        f"The least and the greatest are values about {max(aims):,.4g} ranks inside; the true ones lie between them "
        f"and the declared bound. Of fewer rows they lie anywhere up to the far bound and carry no information."
    ]


def far_notes(plan: Plan, released: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where a least or a greatest value came out as the far bound: most likely of too few rows.

    It is told from what was released alone.
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
