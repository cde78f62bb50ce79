"""The most frequent values of a plan in words and as plain data: what is chosen, from what, how far off it may be."""

from __future__ import annotations

from typing import Any

from privet.core.scan import Largest
from privet.core.unit import Window, person_column
from privet.query.normal import text

from .plan import Pass, Plan
from .stability import shift_of

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
