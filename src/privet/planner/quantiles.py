"""Quantiles in a plan: the grid, how the spend is divided, and what their intervals cover."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from privet.aggregates import Ranked
from privet.core.errors import InvariantError
from privet.core.expression import ColumnRef
from privet.core.scan import Near, Scan, Sum
from privet.core.wire import canonical
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_several import DIGITS, MOST, MOST_EPSILON, QuantileJoint, QuantileTree, SeveralRanks
from privet.query.resolve import meanings

from .keys import count_cells
from .measures import SURE, QuantileMeasure
from .plan import Known, Pass, Place, Plan, Spend
from .presence import presence_notes
from .stability import norm_of, shift_of, span_of

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


def selection_pass(quantiles: Sequence[Ranked], scan: Scan, part: Spend, *, even: bool = False) -> Pass:
    """Return the pass that chooses quantiles of one column, and the ends of their intervals, for a part of a spend.

    With `even`, ends get as much as quantiles: where it matters most how narrow their intervals are.

    Guarantee: the draws' ranges add up to epsilon, or their squares over 8 to rho. `scan` has no sums.
    Cites: [DR14, Thm 3.16], [CR21, bounded range in zCDP].
    """
    if len(quantiles) == 1:
        return _alone(quantiles[0], scan, part, even=even)
    scan = replace(scan, places=places_of(quantiles[0], scan))
    rounds = scan.places is not None and quantiles[0].rounds(scan.places)
    wants = _wants([one.share for one in quantiles], squared=part.rho is not None, even=even)
    unit = _unit(wants, part)
    last = scan.places.high if scan.places else 0
    draws: list[QuantileChoice | SeveralRanks] = []
    for want in wants:
        epsilon, share = unit * want.size, want.shares[0]
        held = min(epsilon, Fraction(MOST_EPSILON))
        if not want.side and len(want.shares) > 1 and want.times == 1:
            digits = DIGITS if rounds else 0
            draws.append(QuantileJoint.of(want.shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits))
        elif not want.side and (rounds or len(want.shares) > 1):
            draws.append(QuantileTree(want.shares, last, norm_of(scan), held, DIGITS if rounds else 0))
        elif want.side:
            tail = float(1 - SURE) / (1 if share in (0, 1) else 2)
            span = span_of(share, scan)
            draws.append(QuantileChoice.end(share, want.side, last=last, span=span, epsilon=epsilon, tail=tail))
        else:
            draws.append(QuantileChoice.middle(share, last=last, span=span_of(share, scan), epsilon=epsilon))
    return Pass(scan, QuantileMeasure(tuple(draws)))


def _alone(ranked: Ranked, scan: Scan, part: Spend, *, even: bool) -> Pass:
    """Return the pass that chooses one quantile on a fine grid, of which rows are told apart only near its rank.

    Guarantee: as `selection_pass`; that this leaves the law of the choices as it is, is shown at `RankChoice`.
    """
    places = ranked.places(2 ** (_ENDS if ranked.extreme else _FINEST) - 1)
    last, span = places.high, span_of(ranked.share, scan)
    shift = max(0, last.bit_length() - _ENDS)
    wants = _wants([ranked.share], squared=part.rho is not None, even=even)
    unit = _unit(wants, part)
    tail = float(1 - SURE) / (1 if ranked.extreme else 2)
    draws = []
    for want in wants:
        epsilon = unit * want.size
        if want.side:
            coarse = {"last": last >> shift, "shift": shift}
            draws.append(QuantileChoice.end(ranked.share, want.side, span=span, epsilon=epsilon, tail=tail, **coarse))
        else:
            draws.append(QuantileChoice.middle(ranked.share, last=last, span=span, epsilon=epsilon))
    scan = replace(scan, places=places, near=_near(draws, max(0, last.bit_length() - _blocks(scan))))
    return Pass(scan, QuantileMeasure(tuple(draws)))


def _blocks(scan: Scan) -> int:
    """Return how many bits the number of a block has, from how many groups there are."""
    if any(key.values is None for key in scan.keys):
        return _BLOCKS_OF_UNKNOWN
    return max(_FEWEST_BLOCKS, min(_BLOCKS, _ALL_BLOCKS - (count_cells(scan.keys, scan.cells) - 1).bit_length()))


def _near(draws: Sequence[QuantileChoice], bits: int) -> Near | None:
    """Return what all choices of one share need to be told apart, where blocks of 2**bits places are counted first."""
    needed = [draw.near(bits) for draw in draws if draw.shift < bits]
    if not needed:
        return None
    return replace(needed[0], below=max(one.below for one in needed), above=max(one.above for one in needed))


def quantile_passes(passes: Sequence[Pass]) -> list[tuple[Pass, QuantileMeasure]]:
    """Return the passes that choose quantiles, each with its measure."""
    return [(one, one.measure) for one in passes if isinstance(one.measure, QuantileMeasure)]


def places_in(selection: QuantileMeasure, index: int, ranked: Ranked) -> tuple[Place, ...]:
    """Return where a quantile and the ends of its interval are among the draws of a pass."""
    slots = selection.slots
    found = [place for place, slot in enumerate(slots) if slot.share == ranked.share]
    found.sort(key=lambda place: (slots[place].offset != 0, slots[place].offset))  # itself, the lower end, the upper
    if len(found) != (1 if ranked.extreme else 3):
        raise InvariantError("a plan does not draw what its quantiles need")
    return tuple((index, place) for place in found)


def part_of(spend: Spend, part: Fraction) -> Spend:
    """Return a part of what an answer may cost, with all of its delta."""
    return replace(
        spend,
        epsilon=None if spend.epsilon is None else spend.epsilon * part,
        rho=None if spend.rho is None else spend.rho * part,
    )


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

    A quantile by itself takes two thirds for itself, and a third for its interval; several together take nine tenths,
    or eight tenths where they are chosen jointly, which is so much better that their intervals may have more.
    With `even`, it is a third. With `squared`, it is the squares of the sizes that add up.
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
    if confidence > float(SURE):
        most = f"Quantiles have intervals up to confidence {float(SURE):.3g}; above it, theirs are the declared bounds."
        return [most, *presence_notes(plan)]
    return [
        f"Intervals of quantiles were drawn with them and cover them with probability {float(SURE):.3g} or more.",
        *_about_ends(plan),
        *presence_notes(plan),
    ]


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
