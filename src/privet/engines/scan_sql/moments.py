"""The calendar of the years 1 to 9999, in which all dates and points in time of every engine lie."""

from __future__ import annotations

import datetime

from privet.core.expression import Value
from privet.core.schema import Kind

FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
FIRST_MOMENT, LAST_MOMENT = datetime.datetime.min, datetime.datetime.max


def shift_range(part: str, amount: int, kind: Kind | None) -> tuple[Value, Value] | None:
    """Return the first and the last value that can be moved by so much without leaving the calendar."""
    lowest, highest = (FIRST, LAST) if kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
    try:
        if part == "month":
            low, high = max(12, 12 - amount), min(9999 * 12 + 11, 9999 * 12 + 11 - amount)
            if low > high:
                return None
            first = lowest.replace(year=low // 12, month=low % 12 + 1)
            # the last day of the last month: the day before the next one's first
            last = highest.replace(year=high // 12, month=high % 12 + 1, day=1)
            if (high // 12, high % 12) != (9999, 11):
                following = last.replace(year=(high + 1) // 12, month=(high + 1) % 12 + 1)
                last = following - datetime.timedelta(days=1)
            else:
                last = highest
            return first, last
        move = datetime.timedelta(**{f"{part}s": amount})
        return (lowest, highest - move) if amount >= 0 else (lowest - move, highest)
    except OverflowError:
        return None
