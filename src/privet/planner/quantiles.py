"""Quantiles in a plan: the grid, how far one unit moves ranks, how the spend is divided, and all of it in words."""

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

from .derive import columns_of, meanings
from .keys import count_cells
from .plan import Known, Pass, Place, Plan, QuantileDraws, Spend
from .presence import presence_notes
from .stability import sensitivity_of, shift_of

# How quantiles are chosen: the grid, how far one unit can move ranks, and how a part of the spend is divided.
#
# Everything here comes from public facts. A quantile takes most of its part for itself, and the rest for its
# interval.


SURE = Fraction(99, 100)
"""The probability with which an interval of a quantile holds it; asked for more, it is the declared bounds."""

_MOST_PLACES = 2**16
_MOST_CELLS = 2**19
_FEWEST_PLACES = 2**8
"""How many places a grid has where the values have more: so many in a group, and in all groups together."""

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


def span_of(share: Fraction, scan: Scan) -> Fraction:
    """Return a bound on the ranges in which one unit can move the ranks off the aim, added over all groups.

    Let a unit weigh D in a group in all, and L, T be the weight below a place and at or below it, n that of the group.

    Guarantee: add-remove: L and T move by 0 to D, and n by D, so L - q n moves by -q D to (1 - q) D, q n - T by
    -(1 - q) D to q D, and the larger of them and 0 by at most max(q, 1 - q) D either way: a range of 2 max(q, 1 - q) D.
    The D of all groups add up to at most B, the L1 bound of what a unit weighs in all cells. Change-one: a unit that
    weighed D weighs D' elsewhere: L - q n moves by -(1 - q) D - q D' to (1 - q) D' + q D, at most max(D, D') either
    way, so by a range of 2 B where there is one group; with groups, of 2 max(q, 1 - q) (D + D'), which add up to
    4 max(q, 1 - q) B. A group of k units is a chain of k neighbours. What is aimed at beside q n is a constant.
    Cites: [Smi11, Alg. 2].
    """
    norm = sensitivity_of(Sum(None, 1, 1), scan).l1
    if scan.schema.moves == "change-one" and not scan.keys:
        return 2 * norm
    return 2 * max(share, 1 - share) * norm


def norm_of(scan: Scan) -> Fraction:
    """Return how far one unit can move the weights at all places of all groups, in L1.

    Guarantee: add-remove: B, what a unit weighs in all cells. Change-one: what it weighed goes, and what it weighs
    comes: 2 B, also where there is one group, since its places differ.
    """
    norm = sensitivity_of(Sum(None, 1, 1), scan).l1
    return 2 * norm if scan.schema.moves == "change-one" and not scan.keys else norm


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
    return Pass(scan, (), None, QuantileDraws(tuple(draws)))


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
    return Pass(scan, (), None, QuantileDraws(tuple(draws)))


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


def places_in(selection: QuantileDraws, index: int, ranked: Ranked) -> tuple[Place, ...]:
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
    """Return whether so many quantiles are chosen by one joint choice: it is off by fewer ranks than one by one.

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


# Quantiles of a plan in words and as plain data: what is chosen, from what, and by how many ranks it may be off.


_NAMES = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}


def choice_facts(one: Pass) -> list[dict[str, Any]]:
    """Return what is released as choices of one pass: each quantile with its grid, and how many ranks it may be off."""
    places = one.scan.places
    if one.selection is None or places is None:
        return []
    weight = 2 ** shift_of(one.scan.bounding)
    over = " and ".join(sorted(columns_of(places.expression))) if places.expression is not None else "1"
    where = (" where a condition holds" if places.where is not None else "") + (
        " in each group" if one.scan.keys else ""
    )
    found: dict[Fraction, dict[str, Any]] = {}
    for slot in one.selection.slots:
        draw = slot.draw
        if slot.share not in found:
            name = _NAMES.get(slot.share, f"{float(slot.share):.6g}-quantile")
            found[slot.share] = {
                "sum": f"the {name} of {over}{where}",
                "noise": "Exponential",
                "how": _how(draw),
                "places": places.high + 1,
                "step": float(places.step),
                "clamped_to": [float(places.origin + end * places.step) for end in (places.low, places.high)],
                "aims": slot.offset / weight,
                "ranks_off_95": draw.error(0.95) / weight,
                "interval_ranks": (abs(slot.offset) + draw.error(float(SURE))) / weight,
                "interval_confidence": float(SURE),
            }
        else:
            told = found[slot.share]
            told["interval_ranks"] = (abs(slot.offset) + draw.error(float(SURE))) / weight
    return list(found.values())


def _how(draw: object) -> str:
    if isinstance(draw, QuantileJoint):
        return "together with the others by one joint choice"
    if isinstance(draw, QuantileTree) and len(draw.shares) > 1:
        return "by halves, the middle quantile first, by the exponential mechanism"
    return "by the exponential mechanism"


def choice_lines(one: Pass) -> list[str]:
    """Return the choices of a pass in plain words."""
    lines = []
    for told in choice_facts(one):
        aims, grid = told["aims"], f"{told['places']:,} values, {told['step']:.6g} apart"
        if aims:
            side, far = ("smallest", "greatest") if aims > 0 else ("largest", "least")
            lines.append(
                f"Chooses {told['sum']} as a value near the {abs(aims):,.4g}th {side}, from {grid}, by the exponential "
                f"mechanism; its interval reaches from there to the declared bound. Of fewer than about "
                f"{abs(aims):,.4g} rows it lies anywhere up to the {far} value that is declared, and says nothing."
            )
        else:
            lines.append(
                f"Chooses {told['sum']} from {grid}, {told['how']}; whatever the data, 95% of choices are at most "
                f"{told['ranks_off_95']:,.4g} ranks off. The ends of its interval are at most "
                f"{told['interval_ranks']:,.4g} ranks away."
            )
    return lines


def choice_rows(one: Pass) -> list[tuple[str, ...]]:
    """Return the choices of a pass as rows of the table of releases."""
    return [
        (
            str(told["sum"]),
            f"exponential mechanism over {told['places']:,} values",
            "",
            f"{told['clamped_to'][0]:,.6g} to {told['clamped_to'][1]:,.6g}",
            f"{told['ranks_off_95'] + abs(told['aims']):,.4g} ranks",
        )
        for told in choice_facts(one)
    ]


def choice_notes(plan: Plan, confidence: float) -> list[str]:
    """Return what the intervals of quantiles cover."""
    if all(one.selection is None for one in plan.passes):
        return []
    if confidence > float(SURE):
        most = f"quantiles have intervals up to {float(SURE):.3g} probability; beyond, theirs are the declared bounds"
        return [most, *presence_notes(plan)]
    return [
        f"intervals of quantiles were drawn with them, and hold them with {float(SURE):.3g} probability or more",
        *_about_ends(plan),
        *presence_notes(plan),
    ]


def _about_ends(plan: Plan) -> list[str]:
    """Return how far inside the least and the greatest values are looked for, and what becomes of too few rows."""
    aims = [
        abs(slot.offset) / 2 ** shift_of(one.scan.bounding)
        for one in plan.passes
        if one.selection is not None
        for slot in one.selection.slots
        if slot.share in (0, 1)
    ]
    if not aims:
        return []
    return [
        f"the least and the greatest are values about {max(aims):,.4g} ranks inside, the true ones between them and "
        f"the declared bound; of fewer rows they lie anywhere up to the far bound, and say nothing"
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
            notes.append(f"{', '.join(shown) or reading.name}: the far bound{where}, most likely for want of rows")
    return tuple(notes)
