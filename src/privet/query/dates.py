"""Dates and times as expressions see them: truncation, differences and shifts, with the calendar of ISO 8601.

Used for the public bounds of an expression; engines compute the same on private values.
"""

from __future__ import annotations

import datetime

DATE_PARTS = ("day", "week", "month", "quarter", "year")
TIME_PARTS = ("second", "minute", "hour")
Moment = datetime.date | datetime.datetime


def truncate(moment: Moment, part: str) -> Moment:
    """Return the start of the second, minute, hour, day, week, month, quarter or year that holds a moment."""
    day = datetime.date(moment.year, moment.month, moment.day)
    if part == "week":
        day -= datetime.timedelta(days=day.weekday())
    elif part == "month":
        day = day.replace(day=1)
    elif part == "quarter":
        day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    elif part == "year":
        day = day.replace(month=1, day=1)
    if not isinstance(moment, datetime.datetime):
        return day
    hour, minute, second = moment.hour, moment.minute, moment.second
    kept = {"hour": (hour, 0, 0), "minute": (hour, minute, 0), "second": (hour, minute, second)}.get(part, (0, 0, 0))
    return datetime.datetime.combine(day, datetime.time(*kept))


def ordinal(moment: Moment, part: str) -> int:
    """Return the number of the second, ..., year that holds a moment, counted from the first of our calendar."""
    days = datetime.date(moment.year, moment.month, moment.day).toordinal() - 1
    if part in TIME_PARTS:
        at = moment.time() if isinstance(moment, datetime.datetime) else datetime.time()
        seconds = days * 86400 + at.hour * 3600 + at.minute * 60 + at.second
        return seconds // {"second": 1, "minute": 60, "hour": 3600}[part]
    months = moment.year * 12 + moment.month - 1
    numbers = {"day": days, "week": days // 7, "month": months, "quarter": months // 3, "year": moment.year}
    return numbers[part]


def difference(part: str, start: Moment, end: Moment) -> int:
    """Return how many starts of a part lie after `start` and not after `end`."""
    return ordinal(end, part) - ordinal(start, part)


def shift(moment: Moment, part: str, amount: int) -> Moment | None:
    """Return a moment so many days, months or seconds later; None outside the years 1 to 9999.

    A day that the month does not have becomes its last: 31 January and one month is 28 or 29 February.
    """
    try:
        if part != "month":
            return moment + datetime.timedelta(**{f"{part}s": amount})
        months = moment.year * 12 + moment.month - 1 + amount
        for day in (moment.day, 30, 29, 28):
            try:
                return moment.replace(year=months // 12, month=months % 12 + 1, day=min(day, moment.day))
            except ValueError:
                continue
    except (OverflowError, ValueError):
        pass
    return None


def starts(low: Moment, high: Moment, part: str, most: int) -> tuple[Moment, ...] | None:
    """Return the starts of all parts that touch [low, high]; None if there are more than `most`."""
    first, count = truncate(low, part), difference(part, low, high) + 1
    if count > most:
        return None
    per = {"week": ("day", 7), "quarter": ("month", 3), "year": ("month", 12), "minute": ("second", 60)}
    unit, size = {**per, "hour": ("second", 3600)}.get(part, (part, 1))
    shifted = [shift(first, unit, size * index) for index in range(count)]
    return tuple(moment for moment in shifted if moment is not None)
