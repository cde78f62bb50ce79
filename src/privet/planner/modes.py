"""The most frequent values in a plan: what they are chosen from, how far one unit moves counts, all of it in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privet.aggregates import Mode
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError
from privet.core.expression import Expression
from privet.core.scan import Bounding, GroupKey, Largest, Once, Scan, Truncate
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Contribution, Schema
from privet.core.unit import Rows, Window, person_column
from privet.core.wire import canonical
from privet.mechanisms.frequent import Frequent
from privet.query.normal import conjunction, text

from .choose import Choice
from .keys import count_cells, discovered, group_key
from .plan import Pass, Place, Plan, Spend
from .quantiles import part_of
from .stability import SHIFT, Rule, shift_of

# How the most frequent values are chosen: from what, how far one unit can move their counts, and for what spend.
#
# Everything here comes from public facts. Values that are not declared are found first, as keys are, for half the
# part.


_BITS = 2**64


def wanted_winners(aggregates: Mapping[str, object]) -> list[Mode]:
    """Return the choices of most frequent values that a query asks for: of the same values, the one of most."""
    found: dict[str, Mode] = {}
    for one in aggregates.values():
        if isinstance(one, Mode):
            text = canonical((one.expression, one.where))
            if text not in found or one.k > found[text].k:
                found[text] = one
    return [found[text] for text in sorted(found)]


def option_key(mode: Mode, columns: Mapping[str, Facts]) -> GroupKey:
    """Return what is chosen from as a key: the values that public facts imply, or none known in advance; never NULL."""
    key = group_key(mode.expression, columns)
    values = None if key.values is None else tuple(value for value in key.values if value is not None)
    return GroupKey(key.expression, values, False)


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
        case Once() if isinstance(scan.schema.unit, Rows):
            most = 1
        case _:
            raise InvariantError("values are chosen where the largest cells of a unit are bounded")
    double = 2 if scan.schema.moves == "change-one" else 1
    return Fraction(most * double * scan.schema.unit.touches)


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
        part = part_of(part, Fraction(1, 2))
        scan, release = discovered(scan, _finding(part), most=_kept(scan, contribution), delta=part.keys)
    else:
        most = min(mode.k, len(option.values))
    span, one = span_of_scores(scan), 2 ** shift_of(scan.bounding)
    if part.epsilon is not None and most == 1:
        draw = Frequent(most, span, part.epsilon / span, "exponential", one)
    else:
        draw = Frequent(most, span, _each(part, most) / span, "gumbel", one)
    return Pass(scan, (), release, winners=draw)


def place_of(mode: Mode, passes: tuple[Pass, ...], where: Expression | None) -> Place:
    """Return where a value is among what a plan over the rows that meet a condition chooses."""
    wanted = (mode.expression, conjunction(where, mode.where))
    for index, one in enumerate(passes):
        if one.winners is not None and (one.scan.keys[-1].expression, one.scan.where) == wanted:
            return index, mode.rank - 1
    raise InvariantError("the most frequent values have no pass")


def _bounding(schema: Schema, contribution: Contribution, *, rule: Rule, grouped: bool) -> Bounding:
    """Return how a unit is bounded: to the rows that it typically has of one value, or of one in each of its groups."""
    if isinstance(schema.unit, Rows):
        return Once()
    if rule == "groups":
        return Truncate(contribution.groups, contribution.rows)
    return Largest(contribution.rows * (contribution.groups if grouped else 1), SHIFT)


def _kept(scan: Scan, contribution: Contribution) -> int:
    """Return for how many values a unit speaks where they are found: without groups, values are the groups."""
    if isinstance(scan.schema.unit, Rows):
        return 1
    return contribution.groups * (contribution.rows if len(scan.keys) > 1 else 1)


def _finding(part: Spend) -> Choice:
    if part.epsilon is not None:
        return Choice("laplace", part.epsilon)
    if part.rho is None:
        raise InvariantError("a spend is in epsilon or in rho")
    return Choice("gaussian", part.rho)


def _each(part: Spend, choices: int) -> Fraction:
    """Return the range that each of so many choices may have: epsilons add up, or the squares over 8 to rho."""
    if part.epsilon is not None:
        return part.epsilon / choices
    squared = 8 * (part.rho or Fraction(0)) / choices
    return Fraction(math.isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS)


# The most frequent values of a plan in words and as plain data: what is chosen, from what, how far off it may be.


_SIZE = 100
"""So many values are taken to be found, where it is not known how many will be."""


def winner_facts(one: Pass) -> list[dict[str, Any]]:
    """Return what is released as the most frequent values of one pass."""
    if one.winners is None:
        return []
    draw, option = one.winners, one.scan.keys[-1]
    size = _SIZE if option.values is None else len(option.values)
    where = " in each group" if one.groups else ""
    many = f"the {draw.k} most frequent values" if draw.k > 1 else "the most frequent value"
    return [
        {
            "sum": f"{many} of {text(option.expression)}{where}",
            "noise": "Permute-and-flip" if draw.law == "exponential" else "Exponential",
            "options": None if option.values is None else len(option.values),
            "options_found": None if one.keys is None else "in the data",
            "rows_behind_95": draw.error(0.95, size=size) / 2 ** shift_of(one.scan.bounding),
            "clamped_to": None,
        }
    ]


def winner_lines(one: Pass) -> list[str]:
    """Return the choices of a pass in plain words."""
    lines = []
    for told in winner_facts(one):
        law = "permute-and-flip" if told["noise"] == "Permute-and-flip" else "the exponential mechanism"
        of = f"{told['options']:,} declared values" if told["options"] else "the values that are found"
        sized = "" if told["options"] else f" (if {_SIZE} are found)"
        lines.append(
            f"Chooses {told['sum']} from {of}, by {law}; 95% of the time what is chosen has at most "
            f"{told['rows_behind_95']:,.4g} rows fewer than the most frequent{sized}."
        )
    return lines


def winner_rows(one: Pass) -> list[tuple[str, ...]]:
    """Return the choices of a pass as rows of the table of releases."""
    return [
        (
            str(told["sum"]),
            f"{str(told['noise']).lower()}, {told['options'] or 'found'} values",
            "",
            "",
            f"{told['rows_behind_95']:,.4g} rows behind",
        )
        for told in winner_facts(one)
    ]


def winner_notes(plan: Plan) -> list[str]:
    """Return what is said, and not said, about the most frequent values of an answer."""
    passes = [one for one in plan.passes if one.winners is not None]
    ranges = any(one.buckets for one in plan.passes)
    notes = ["a range is made of noisy counts, and its ends have no interval"] if ranges else []
    notes += ["the most frequent values are chosen by noisy counts, and have no interval"] if passes else []
    if any(one.keys is not None for one in passes):
        notes.append("rare values are not among those that are chosen from")
    return notes


def largest_in_words(one: Pass, largest: Largest) -> str:
    """Return what happens to whoever has more rows of one value than a plan allows."""
    unit = one.scan.schema.unit
    who = f"Each {person_column(unit) or 'row'}"
    if isinstance(unit, Window):
        who = f"{who}, in each bucket of {unit.duration},"
    of = text(one.scan.keys[-1].expression)
    added = ", added over all groups," if one.groups else ""
    return (
        f"{who} counts in full while its rows of one value of {of}{added} are at most {largest.limit}; "
        f"whoever gives more is scaled down as a whole."
    )


def behind_in_words(one: Pass) -> str:
    """Return how far off a choice is, for the width of its column."""
    told = winner_facts(one)[0]
    return f"chosen; at most {told['rows_behind_95']:,.4g} rows behind the most frequent"
