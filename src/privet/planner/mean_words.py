"""What a mean is a mean of: rows in which no person counts more than the declared contribution. Words only."""

from __future__ import annotations

import math

from privet.core.scan import Bounding, Norm, Truncate
from privet.core.unit import Unit, Window, person_column

from .plan import Known, Pass, Plan


def mean_notes(plan: Plan) -> list[str]:
    """Return, for answers over people, how much a person's rows count in means, spreads and quantiles.

    The weighted mean differs from that of all rows by at most the share of rows that is lost times the width of the
    bounds; a sum says by itself that it may be too low, and a mean does not.
    """
    found: dict[str, list[str]] = {}
    for reading in plan.readings:
        if reading.aggregate.typical is None:
            continue
        passes = [plan.passes[place[0]] for place in reading.places if not isinstance(place, Known)]
        for words in dict.fromkeys(_counted(one) for one in passes):
            if words and reading.aggregate.typical not in found.setdefault(words, []):
                found[words].append(reading.aggregate.typical)
    return [
        f"{_listed(names)} are taken over rows {words}, not over all rows equally" for words, names in found.items()
    ]


def _counted(one: Pass) -> str | None:
    """Return how much a person's rows count in a pass; None where rows are units."""
    who = _who(one.scan.schema.unit)
    return None if who is None else _limit(one.scan.bounding, who, grouped=bool(one.groups))


def _limit(bounding: Bounding, who: str, *, grouped: bool) -> str | None:
    match bounding:
        case Norm(order=order, limit=limit):
            most = limit if order == 1 else math.isqrt(limit)
            return f"weighted so that each {who} counts as at most {most:,} row{'s' * (most != 1)}"
        case Truncate(groups=groups, rows=rows):
            where = f" in each of at most {groups:,} group{'s' * (groups != 1)}" if grouped else ""
            return f"of which each {who} has at most {rows:,}{where}, chosen at random"
        case _:
            return None


def _who(unit: Unit) -> str | None:
    column = person_column(unit)
    return f"{column}, in each bucket of {unit.duration}," if isinstance(unit, Window) else column


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
