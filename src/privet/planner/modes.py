"""The most frequent values and private bounds in a plan: the options, how far one unit moves counts, all in words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privet.aggregates import Mode, Span
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError
from privet.core.relation import Call, ColumnRef, Expression
from privet.core.scan import Bounding, GroupKey, Largest, Once, Scan, Truncate
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Contribution, Schema
from privet.core.unit import in_buckets, person_column
from privet.core.wire import canonical
from privet.mechanisms.top_k import Frequent
from privet.query.normal import conjunction, text

from .keys import Choice, count_cells, discovered, group_key
from .measures import BoundsMeasure, Measure, ModeMeasure
from .plan import Pass, Place, Plan, Spend
from .stability import SHIFT, Rule, sensitivity_of, shift_of, span_of_scores

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
    span, one = span_of_scores(scan), 2 ** shift_of(scan.bounding)
    if part.epsilon is not None and most == 1:
        draw = Frequent(most, span, part.epsilon / span, "exponential", one)
    else:
        draw = Frequent(most, span, _each(part, most) / span, "gumbel", one)
    return Pass(scan, ModeMeasure(draw, release))


def place_of(mode: Mode, passes: tuple[Pass, ...], where: Expression | None) -> Place:
    """Return where a value is among what a plan over the rows that meet a condition chooses."""
    wanted = (mode.expression, conjunction(where, mode.where))
    for index, one in enumerate(passes):
        if isinstance(one.measure, ModeMeasure) and (one.scan.keys[-1].expression, one.scan.where) == wanted:
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
    """Return for how many values a unit speaks where they are found: without groups, values are the groups."""
    if scan.schema.unit.rowwise:
        return 1
    return contribution.groups * (contribution.rows if len(scan.keys) > 1 else 1)


def _finding(part: Spend) -> Choice:
    if part.epsilon is not None:
        return Choice("laplace", part.epsilon)
    if part.rho is None:
        raise InvariantError("a spend is in epsilon or in rho")
    return Choice("gaussian", part.rho)


def _each(part: Spend, choices: int) -> Fraction:
    """Return the range that each of some choices may have: epsilons add up, or the squares over 8 to rho."""
    if part.epsilon is not None:
        return part.epsilon / choices
    squared = 8 * (part.rho or Fraction(0)) / choices
    return Fraction(math.isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS)


# The most frequent values of a plan in words and as plain data: what is chosen, from what, how far off it may be.


def winner_notes(plan: Plan) -> list[str]:
    """Return what is said, and not said, about the most frequent values of an answer."""
    passes = [one for one in plan.passes if isinstance(one.measure, ModeMeasure)]
    ranges = any(isinstance(one.measure, BoundsMeasure) for one in plan.passes)
    notes = ["Private bounds are chosen by noisy counts and have no interval."] if ranges else []
    notes += ["The most frequent values are chosen by noisy counts and have no interval."] if passes else []
    if any(one.keys is not None for one in passes):
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


# How a private range is found: a noisy count in each of many public ranges, and how large one must be to be believed.
#
# Everything here comes from public facts. The counts are sums like any other, with one key more: the range.


def wanted_spans(aggregates: Mapping[str, object]) -> list[Span]:
    """Return the ranges that a query asks for, each once and in an order of their own."""
    found = {canonical((one.expression, one.where)): one for one in aggregates.values() if isinstance(one, Span)}
    return [found[text] for text in sorted(found)]


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
    measure = Measure(total, sensitivity, choice.mechanism(sensitivity), shift_of(scan.bounding))
    return Pass(scan, BoundsMeasure(measure))


def place_in(span: Span, passes: tuple[Pass, ...], where: Expression | None) -> tuple[Span, tuple[Place, ...]]:
    """Return a range with its threshold, and where its counts are among those of a plan."""
    wanted = ((span.ranges,), conjunction(where, span.where, _known(span)))
    for index, one in enumerate(passes):
        measure, found = one.measure, (one.scan.keys[-1:], one.scan.where)
        if isinstance(measure, BoundsMeasure) and found == wanted:
            several = tuple((index, place) for place in range(len(span.ranges.values or ())))
            return replace(span, threshold=measure.threshold(one.scan)), several
    raise InvariantError("a range has no pass")


def _known(span: Span) -> Expression:
    return Call("not", (Call("is_null", (span.expression,)),))


# Private ranges of a plan in words: what is counted, what may be missed, and how a range is declared.


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
    if not isinstance(span.expression, ColumnRef) or not isinstance(scan.table, str):
        return ""
    name = span.expression.name
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
