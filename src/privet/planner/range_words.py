"""Private ranges of a plan in words: what is counted, what may be missed, and how a range is declared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from privet.aggregates import Span
from privet.core.expression import Column
from privet.query.normal import text

from .plan import Known, Pass, Place, Plan
from .ranges import FALSE, threshold_in


def range_lines(plan: Plan) -> list[str]:
    """Return in plain words how ranges are found."""
    lines = []
    for one in (one for one in plan.passes if one.buckets):
        named = next(
            _named(reading.aggregate)
            for reading in plan.readings
            if isinstance(reading.aggregate, Span) and plan.passes[_pass_of(reading.places)] is one
        )
        size = len(one.scan.keys[-1].values or ())
        lines.append(
            f"Counts rows in {size:,} public ranges of {named}, zero and powers of two of either sign; those with a "
            f"noisy count above {threshold_in(one):,.4g} make the range that is shown. A range without rows is among "
            f"them with probability {float(FALSE):g} at most."
        )
    return lines


def range_in_words(one: Pass) -> str:
    """Return how far off a range may be, for the width of its column."""
    return f"a power of two; what fewer than about {2 * threshold_in(one):,.4g} rows hold may lie outside"


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
                notes.append(f"no range of {named} has enough rows to be seen at this cost")
            continue
        low, high = (
            f"{end:.17g}" if isinstance(end, float) else str(end) for end in (min(sides["low"]), max(sides["high"]))
        )
        notes.append(f"{named} lies mostly from {low} to {high}; values further out may exist")
        declared = _declaration(plan, span, low, high)
        if declared:
            notes.append(declared)
    return notes


def _declaration(plan: Plan, span: Span, low: str, high: str) -> str:
    """Return how the range of a table's own column is written down."""
    scan = plan.passes[0].scan
    if not isinstance(span.expression, Column) or not isinstance(scan.table, str):
        return ""
    name = span.expression.name
    nullable = ", nullable = true" if scan.schema.columns[name].nullable else ""
    return (
        f"to sum it, declare in privet.toml, under [tables.{_key(scan.table)}.columns]: "
        f'{_key(name)} = {{ kind = "{span.values}", low = {low}, high = {high}{nullable} }}'
    )


def _key(name: str) -> str:
    """Return a name as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else json.dumps(name)


def _named(span: Span) -> str:
    return text(span.expression)


def _pass_of(places: tuple[Place, ...]) -> int:
    first = places[0]
    return -1 if isinstance(first, Known) else first[0]
