"""Private bounds in a plan: noisy counts in public ranges, how large one must be, and all of it in words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from privet.aggregates import Span
from privet.core.errors import InvariantError
from privet.core.expression import Call, ColumnRef, Expression
from privet.core.scan import Scan
from privet.core.wire import canonical
from privet.query.normal import conjunction, text

from .choose import Choice
from .keys import count_cells
from .measures import BoundsMeasure, Measure
from .plan import Pass, Place, Plan
from .stability import sensitivity_of, shift_of

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
