"""How far one unit can move each sum of a scan, and which columns the bounding of its contributions can move.

Here alone sensitivities of queries are proven. `bounding_bias` and `column_bias` alone decide which columns bounding
can move, and to which side: displays, exports, notes and certificates ask here. Reads no data.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from privet.core.errors import InvariantError
from privet.core.relation import Call, ColumnRef, Derive, Expression, GroupWithin, Literal, Relation
from privet.core.scan import Bounding, Largest, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.core.schema import Contribution, Schema
from privet.core.unit import Sensitivity, unit_columns
from privet.mechanisms.rank_ladder import sway_of
from privet.query.expressions import typed, typed_where
from privet.query.join import joins_of
from privet.query.typed import clamp_ends

if TYPE_CHECKING:
    from .plan import Pass, Plan, Reading

Rule = typing.Literal["norm", "groups"]
"""How a unit that contributes too much is bounded: scaled down as a whole, or cut to some groups and rows."""

SHIFT = 20
"""Units are weighted in steps of 2**-20: fine beside any noise, and sums still fit 128 bits."""

_TIMES = 4
"""Under an L2 norm a unit keeps this many times the declared number of keys: few have more and need to be ranked."""


def sensitivity_of(total: Sum, scan: Scan) -> Sensitivity:
    """Return how far the integers that the scan returns for one of its sums can move between neighbours.

    Let B bound the norm of one unit's contributions to all cells: Y for one row of at most Y (`Once`); Y * limit *
    2**shift in L1, or with its square in L2 (`Norm`); Y * rows in each of at most `groups` cells (`Truncate`); `most`
    (`Pairs`).

    Guarantee: add-remove: B, since a unit's cells appear or vanish. Change-one: the unit's old cells vanish and its
    new ones appear: L1 2B. In L2, let a row give a number in [-d, u], and c, c' be what the unit gave and gives as
    counts, so that each has norm at most B/Y. A cell moves by at most u c + d c' or d c + u c', and (u c + d c')^2 <=
    (u^2 + d^2)(c^2 + c'^2): L2 squared is at most 2 (u^2 + d^2) (B/Y)^2, from 2B^2 to 4B^2. Ungrouped, one cell
    moves within [min(low, 0), max(high, 0)] times B/Y, or within [low, high] where the row always counts.
    A group of k units is a chain of k neighbours. A window of time takes part of the rows of at most two units, so each
    of them changes, under both relations. A sum that cannot move at all is claimed to move by 1: it gets noise
    all the same, since only declared facts make a number exact.
    Different values are not a sum over units, and the same holds: let a(g) and b(g) be how many pairs of cell g a unit
    kept before and keeps now, so that both add up to at most B. Whatever the others hold, the cell moves by at most
    max(a(g), b(g)): in L1 by 2B at most, in L2 squared by sum a^2 + b^2 <= 2B^2, and a single cell by B. Where they are
    added up, each pair that goes or comes is worth a number in [-d, u]: a cell moves by u b + d a or d b + u a at most,
    as above with a and b for the counts; where a unit comes or goes, by Y a.
    Cites: [DR14, Def. 3.1], [KM11, bounded and unbounded].
    """
    l1, l2_squared = _given(total, scan)
    schema, neighbors = scan.schema, scan.schema.neighbors
    if schema.moves == "change-one":
        low, high = total.ends
        if scan.keys:
            up, down = max(high, 0), max(-low, 0)
            sides = Fraction(up**2 + down**2, total.most**2) if total.most else Fraction(1)
            l1, l2_squared = 2 * l1, 2 * sides * l2_squared
        else:
            widest = high - low if _always_counts(total, scan) else max(high, 0) - min(low, 0)
            factor = Fraction(widest, total.most) if total.most else Fraction(0)
            l1, l2_squared = l1 * factor, l2_squared * factor**2
    l1, l2_squared = max(l1, Fraction(1)), max(l2_squared, Fraction(1))
    return Sensitivity(neighbors=neighbors, l1=l1, l2_squared=l2_squared).of_group(schema.unit.touches)


def key_sensitivity(scan: Scan) -> Sensitivity:
    """Return how far the weights by which keys are discovered can move between neighbours.

    Guarantee: a unit gives 2**shift / k to each of k keys (order 1) or 2**shift / sqrt(k) (order 2), so its norm is
    at most 2**shift; or 2**shift to each of at most `most` (order 0). Otherwise as `sensitivity_of` for numbers that
    cannot be negative.
    """
    discovery = scan.discovery
    if discovery is None:
        raise InvariantError("a scan without discovery has no weights of keys")
    norm = Fraction(2**discovery.shift)
    # of order 1 the L1 norm is at most 2**shift, and so is L2; of order 2, sqrt(k) keys' worth in L1
    l1 = norm if discovery.order == 1 else norm * discovery.most
    squared = norm**2 if discovery.order else norm**2 * discovery.most
    double = 2 if scan.schema.moves == "change-one" else 1
    plain = Sensitivity(neighbors=scan.schema.neighbors, l1=l1 * double, l2_squared=squared * double)
    return plain.of_group(scan.schema.unit.touches)


def size_sensitivity(scan: Scan) -> Sensitivity:
    """Return how far the numbers of units by size can move between neighbours.

    Guarantee: each unit adds 1 to one bin, which its own rows alone decide. Add-remove: one bin moves by 1. Change-one:
    one loses 1 and another gains it: 2 in L1, and 2 in L2 squared. A group of k units is a chain of k neighbours; a
    window of time takes part of the rows of at most two units, each of which may change its bin or come to none.
    """
    scan_moves = Sensitivity.histogram(neighbors=scan.schema.moves)
    plain = Sensitivity(neighbors=scan.schema.neighbors, l1=scan_moves.l1, l2_squared=scan_moves.l2_squared)
    return plain.of_group(scan.schema.unit.touches)


def reach_of(scan: Scan) -> Fraction:
    """Return the most that one unit's cells of a scan's first sum add up to, for all units that differ.

    Guarantee: what a unit gives to all cells is a vector u >= 0 of weighted counts with sum u <= B: 1 (`Once`),
    limit * 2**shift (`Norm` of order 1), rows * groups (`Truncate`); for any integer matrix A and any norm then
    |A u| <= sum u_i |a_i| <= B max |a_i|. A norm of order 2 does not bound that: one row in each of k cells has the L2
    norm sqrt(k), and moves a sum over all of them by k. A group of k units is a chain of k neighbours. Of a sum whose
    rows give at most Y in size, the cells of a unit add up to at most B Y in size. Where rows may give numbers of both
    signs and units change, |A u - A v| <= 2 B Y max |a_i|: the bound is doubled, since how columns differ from each
    other says nothing then.
    Cites: [DMNS06, vectors].
    """
    (total, *_) = scan.sums
    signed = total.ends[0] < 0 < total.ends[1] and scan.schema.moves == "change-one"
    match scan.bounding:
        case Once() if scan.schema.unit.rowwise:
            most = 1
        case Norm(order=1, limit=limit, shift=shift):
            most = limit * 2**shift
        case Truncate(groups=groups, rows=kept):
            most = groups * kept
        case _:
            raise InvariantError("a strategy measures counts that are bounded in L1")
    return Fraction(most * scan.schema.unit.touches * total.most * (2 if signed else 1))


def _given(total: Sum, scan: Scan) -> tuple[Fraction, Fraction]:
    """Return bounds on the L1 norm, and the L2 norm squared, of one unit's contributions to all cells."""
    if scan.products is not None:
        raise InvariantError("an engine sums the products of a scan's sums instead of these, and they move further")
    most = Fraction(total.most)
    match scan.bounding:
        case Once():
            if not scan.schema.unit.rowwise:
                raise InvariantError("only where each row is a unit may contributions go unbounded")
            return most, most**2
        case Norm(order=1, limit=limit, shift=shift):
            norm = most * limit * 2**shift
            return norm, norm**2
        case Norm(limit=limit, shift=shift):
            # L2 alone is bounded; L1 has no bound that does not grow with the number of cells
            squared = most**2 * limit * 4**shift
            return _unbounded(scan.schema, squared), squared
        case Truncate(groups=groups, rows=rows):
            return most * rows * groups, most**2 * rows**2 * groups
        case Pairs(most=kept):
            counted = total.expression is None and total.ends == (1, 1)
            if not counted and total.expression != scan.bounding.of:
                raise InvariantError("different values are counted, or added up themselves")
            # all of them may be values of one group
            return kept * most, (kept * most) ** 2
    raise InvariantError("an unknown kind of bounding")


def _unbounded(schema: Schema, squared: Fraction) -> Fraction:
    """Return an L1 bound that is always valid: at most as many cells as rows, so sqrt(rows) times L2, squared up."""
    return squared * schema.rows


def _always_counts(total: Sum, scan: Scan) -> bool:
    """Whether each row is certain to contribute a number within `ends`: it may change, but not come to nothing."""
    whole = isinstance(scan.table, str) and scan.where is None
    unconditional = total.where is None and whole and scan.bounding.unbounded
    return unconditional and (total.expression is None or total.null_as is not None)


def bounding_for(
    schema: Schema,
    contribution: Contribution,
    *,
    rule: Rule,
    grouped: bool,
    order: typing.Literal[1, 2],
    distinct: bool,
) -> Bounding:
    """Return how contributions are bounded: to the norm of the declared contribution, or by keeping that many groups.

    Ungrouped, all rows of a unit fall into one cell: as many as its limit for all groups together.
    """
    if schema.unit.rowwise:
        return Once()
    groups = contribution.groups if grouped else 1
    rows = 1 if distinct else contribution.rows * (1 if grouped else contribution.groups)
    if rule == "groups":
        return Truncate(groups, rows)
    return Norm(order, groups * rows if order == 1 else groups * rows * rows, SHIFT)


def pairs_kept(schema: Schema, contribution: Contribution) -> int:
    """Return the number of pairs of a group and a value that count for a unit: its limit on rows."""
    return 1 if schema.unit.rowwise else contribution.groups * contribution.rows


def keys_kept(bounding: Bounding, contribution: Contribution) -> int:
    """Return the number of keys that count for a unit where keys are discovered; units with more are cut to it.

    A unit with k keys adds 1/sqrt(k) to each under an L2 norm, sqrt(k) in all, so that cutting it to the declared
    number loses much, and the threshold grows only like the root of the logarithm of the number kept. Under an L1 norm
    it adds 1 in all, however many it keeps, and a truncated unit has no more to add: there the declared number is best,
    and so it is where each unit is declared to have one.
    """
    match bounding:
        case Once():
            return 1
        case Norm(order=2) if contribution.groups > 1:
            return _TIMES * contribution.groups
    return contribution.groups


def span_of(share: Fraction, scan: Scan, sway: Fraction = Fraction(0)) -> Fraction:
    """Return a bound on the ranges in which one unit can move the ranks off the aim, added over all groups.

    The aim beside q n may move by `sway` for each that n moves by: it does so by at most D, or max(D, D').

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
        return 2 * (1 + sway) * norm
    return 2 * (max(share, 1 - share) + sway) * norm


def ladder_span(shares: Sequence[Fraction], scan: Scan, beta: Fraction) -> Fraction:
    """Return a bound on the ranges in which one unit can move by how much rungs clear quantiles, over all groups.

    Guarantee: q n - L and T - q n move as `span_of` shows, at any place, and with them the least over all shares; what
    is added for sampling moves by `sway_of` for each that n moves by.
    """
    return max(span_of(share, scan, sway_of(shares, beta)) for share in shares)


def heaviest_of(scan: Scan) -> int:
    """Return how much one unit weighs in a group at most, in the integers of a scan."""
    match scan.bounding:
        case Norm(order=1, limit=limit, shift=shift):
            return int(limit * 2**shift)
        case Truncate(rows=rows):
            return rows
        case Once():
            return 1
    raise InvariantError("ranks are counted where the weight of a unit is bounded")


def norm_of(scan: Scan) -> Fraction:
    """Return how far one unit can move the weights at all places of all groups, in L1.

    Guarantee: add-remove: B, what a unit weighs in all cells. Change-one: what it weighed goes, and what it weighs
    comes: 2 B, also where there is one group, since its places differ.
    """
    norm = sensitivity_of(Sum(None, 1, 1), scan).l1
    return 2 * norm if scan.schema.moves == "change-one" and not scan.keys else norm


def span_of_scores(scan: Scan) -> Fraction:
    """Return a bound on the ranges in which one unit can move the counts of a group's values, added over all groups.

    Guarantee: add-remove: a unit that comes or goes moves the counts of group g by 0 to m(g), its largest cell there,
    all one way: a range of m(g). The m of all groups add up to at most B: limit * 2**shift (`Largest`), rows in each
    of at most `groups` cells, or of one where there is one group (`Truncate`), 1 (`Once`). Change-one: what it gave
    goes and what it gives comes, so that counts move by -m(g) to m'(g): 2 B in all. A group of k units is a chain of
    k neighbours, and ranges add. A window of time changes each of the units that it touches.
    Cites: [MT07, Thm 6], [DR14, Thm 3.10].
    """
    match scan.bounding:
        case Largest(limit=limit, shift=shift):
            most = limit * 2**shift
        case Truncate(groups=groups, rows=kept):
            most = kept * (groups if len(scan.keys) > 1 else 1)
        case Once() if scan.schema.unit.rowwise:
            most = 1
        case _:
            raise InvariantError("values are chosen where the largest cells of a unit are bounded")
    double = 2 if scan.schema.moves == "change-one" else 1
    return Fraction(most * double * scan.schema.unit.touches)


# Which columns bounding can move, and to which side.


class Bias(NamedTuple):
    """The sides to which bounding can move a number: it may be too low, or too high."""

    low: bool = False
    high: bool = False


_NONE, _EITHER = Bias(), Bias(low=True, high=True)


def bounding_bias(plan: Plan) -> dict[str, Bias]:
    """Return the sides to which bounding can move each aggregate of a plan; both are False where it cannot.

    Guarantee: a number is unmarked only where public facts imply that bounding removes nothing of it, or where it is a
    weighted mean, spread or quantile, of which `mean_notes` tells. Facts that are declared and not proven (keys) count
    as true here: nothing but a mark depends on them.
    """
    if plan.covers == "bounding":  # intervals that cover the removed part are paid for, and need no mark
        return {}
    return {reading.name: _of_reading(plan, reading) for reading in plan.readings}


def column_bias(meaning: Expression, plan: Plan) -> Bias:
    """Return the sides to which bounding can move a column that is an expression over aggregates and keys."""
    positive = {reading.name for reading in plan.readings if reading.aggregate.ends[0] >= 0}
    return moved(meaning, plan.bounding_bias, positive)


def moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    """Return the sides to which an expression is moved, where known for its columns; some are never negative."""
    return _moved(expression, known, positive)


def loses(one: Pass) -> bool:
    """Return whether bounding can remove a part of a unit's contributions to a pass.

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
    """Return how many rows one unit has at most, by declared keys and by grouping within it."""
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
    """Return the number of cells that rows can fall into; infinity where keys are found in the data."""
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
        pass_ = plan.passes[index]
        total = pass_.scan.places if pass_.scan.places is not None else _sum_at(pass_, number)
        if total is None or total.expression is None:
            continue
        known = typed_where(total.expression, pass_.scan.schema.columns, (pass_.scan.where, total.where))
        low, high = clamp_ends(total.expression, known)
        least, most = (end * total.step + total.origin for end in (total.low, total.high))
        below |= low is None or low < least - total.step
        above |= high is None or high > most + total.step
    return below, above


def _sum_at(pass_: Pass, number: int) -> Sum | None:
    return pass_.measures[number].sum if number < len(pass_.measures) else None


def _moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    match expression:
        case ColumnRef(name=name):
            return known.get(name, _NONE)
        case Call(function=function, arguments=arguments):
            sides = [_moved(argument, known, positive) for argument in arguments]
            if not any(map(any, sides)):
                return _NONE
            signs = [_sign(argument, positive) for argument in arguments]
            return _COMBINED.get(function, _unknown)(sides, signs)
    return _NONE


_Combined = Callable[[Sequence[Bias], Sequence[int]], Bias]


def _unknown(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return _EITHER


def _rising(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return Bias(any(side.low for side in sides), any(side.high for side in sides))


def _product(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    """Return the bias of a product, which rises with each factor where the other is positive, and falls if negative."""
    moved = [_turned(side, other) for side, other in zip(sides, reversed(signs), strict=True) if any(side)]
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
    """Return 1 if never negative and -1 if never positive, as far as public facts imply; else 0."""
    match expression:
        case ColumnRef(name=name):
            return int(name in positive)
        case Literal(value=bool() | None):
            return 0
        case Literal(value=int() | Fraction() as value):
            return 1 if value >= 0 else -1
        case Call(function="negate", arguments=(argument,)):
            return -_sign(argument, positive)
        case Call(function="multiply" | "divide", arguments=(left, right)):
            return _sign(left, positive) * _sign(right, positive)
    return 0
