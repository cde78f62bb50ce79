"""Window functions and aggregates over released rows, in plain Python: their values, and where their noise comes from.

Sees released rows only. What they take and return is checked in `privet.query.over`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from privet.core.errors import Unsupported
from privet.query.nodes import OverRows
from privet.query.over import PLACES, SPREADS

from .origins import UNKNOWN, AtLeast, Origin, Rising, added

MOST_WORK = 20_000_000
"""The most cells of frames that are looked at for one answer."""
MOST_TERMS = 2_000_000
"""The most terms of sums, over all rows, whose noise is kept track of."""


@dataclass(frozen=True)
class RowsSeen:
    """What one function over rows sees: the rows' arguments, their noise, and how rows are put together and in order.

    `rows` are those of one partition or group, in order, and `ties` says for each at which place its ties begin and
    end. `noisy` is whether noise decided which rows these are or their order, `found` whether they are groups that
    were found in the data.
    """

    arguments: Sequence[Sequence[Any]]
    origins: Sequence[Sequence[Origin | None]]
    kept: Sequence[bool] | None
    rows: Sequence[int]
    noisy: bool
    found: bool


Value = tuple[Any, Origin | None]


def of_group(one: OverRows, given: RowsSeen) -> Value:
    """Return an aggregate of all rows, and where its noise comes from."""
    return _aggregate(one, given, given.rows)


def _aggregate(one: OverRows, given: RowsSeen, rows: Sequence[int]) -> Value:
    rows = rows if given.kept is None else [row for row in rows if given.kept[row]]
    if one.function == "count_rows":
        return len(rows), _counted(given, len(rows))
    values, origins = given.arguments[0], given.origins[0]
    some = [row for row in rows if values[row] is not None]
    noisy = [origins[row] for row in some if origins[row] is not None]
    # whether a noisy number is NULL is decided by noise
    unsure = given.noisy or any(origins[row] is not None for row in rows if values[row] is None)
    if one.function == "count":
        return len(some), UNKNOWN if unsure else _counted(given, len(some))
    if one.function == "count_distinct":
        number = len({values[row] for row in some})
        return number, UNKNOWN if unsure or noisy else _counted(given, number)
    if not some:
        # where groups are found, one that is missing may have rows
        missing = given.found and one.function == "any_value"
        return None, UNKNOWN if unsure or missing else None
    if one.function == "any_value":
        return values[some[0]], UNKNOWN if unsure else origins[some[0]]
    listed = [values[row] for row in some]
    value = _VALUES[one.function](listed, one)
    if unsure:
        return value, UNKNOWN
    if not noisy:
        return value, None
    return value, _origin(one, some, listed, origins)


def _counted(given: RowsSeen, number: int) -> Origin | None:
    """Return what is uncertain of a number of rows: all, where noise chose them; that there are more, if found."""
    return UNKNOWN if given.noisy else AtLeast(float(number)) if given.found else None


def _origin(one: OverRows, rows: Sequence[int], values: Sequence[Any], origins: Sequence[Origin | None]) -> Origin:
    parts = [(origins[row], value) for row, value in zip(rows, values, strict=True)]
    if one.function in ("sum", "avg"):
        factor = 1.0 if one.function == "sum" else 1 / len(rows)
        noisy = [(origin, factor) for origin, _ in parts if origin is not None]
        offset = math.fsum(float(value) for origin, value in parts if origin is None) * factor
        return added(noisy, offset)
    if one.function in ("min", "max", "quantile"):
        if any(isinstance(origin, type(UNKNOWN)) for origin, _ in parts):
            return UNKNOWN
        listed = tuple(float(value) if origin is None else origin for origin, value in parts)
        return Rising(lambda ends: float(_VALUES[one.function](list(ends), one)), listed)
    return UNKNOWN


def _spread(values: list[Any], one: OverRows) -> float | None:
    size, sample = len(values), one.function.endswith("_samp")
    if sample and size < 2:
        return None
    mean = math.fsum(values) / size
    variance = math.fsum((value - mean) ** 2 for value in values) / (size - 1 if sample else size)
    return math.sqrt(variance) if one.function.startswith("stddev") else variance


def _quantile(values: list[Any], one: OverRows) -> float:
    """Return the value of a rank, between two as far along as the rank is."""
    ordered = sorted(values)
    place = float(one.arguments[1].constant) * (len(ordered) - 1)  # type: ignore[arg-type]
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    if not (math.isfinite(ordered[below]) and math.isfinite(ordered[above])):
        return float(ordered[below] if place == below else ordered[above] if ordered[above] > 0 else ordered[below])
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _sum(values: list[Any], one: OverRows) -> Any:
    return sum(values) if all(type(value) is int for value in values) else math.fsum(values)


_VALUES: dict[str, Callable[[list[Any], OverRows], Any]] = {
    "sum": _sum,
    "avg": lambda values, one: math.fsum(values) / len(values),
    "min": lambda values, one: min(values),
    "max": lambda values, one: max(values),
    "any_value": lambda values, one: values[0],
    "quantile": _quantile,
    **dict.fromkeys(SPREADS, _spread),
}


def of_windows(one: OverRows, given: RowsSeen, ties: Sequence[int]) -> list[Value]:
    """Return a window function for each row of a partition, in its order.

    `ties` has a number for each row, the same for rows that tie and rising along the order.
    """
    if one.function in PLACES:
        return [(value, UNKNOWN if given.noisy else None) for value in _places(one, ties)]
    frames = _frames(one, ties)
    if one.function in ("lag", "lead"):
        return _shifted(one, given)
    if one.function in ("first_value", "last_value", "nth_value"):
        return [_picked(one, given, frame) for frame in frames]
    if sum(end - start for start, end in set(frames)) > MOST_WORK:
        raise Unsupported(
            "these frames are of too many rows to be added up one by one; use fewer rows, or smaller frames"
        )
    made: dict[tuple[int, int], Value] = {}
    terms = 0
    for frame in frames:
        if frame not in made:
            value, origin = _aggregate(one, given, given.rows[frame[0] : frame[1]])
            terms += frame[1] - frame[0]
            made[frame] = (value, UNKNOWN if origin is not None and terms > MOST_TERMS else origin)
    return [made[frame] for frame in frames]


def _places(one: OverRows, ties: Sequence[int]) -> list[Any]:
    """Return the functions of the order alone: ROW_NUMBER, RANK, ..."""
    size = len(ties)
    match one.function:
        case "row_number":
            return list(range(1, size + 1))
        case "rank":
            return [_first(ties, place) + 1 for place in range(size)]
        case "dense_rank":
            return [tie - ties[0] + 1 for tie in ties]
        case "percent_rank":
            return [_first(ties, place) / (size - 1) if size > 1 else 0.0 for place in range(size)]
        case "cume_dist":
            return [_last(ties, place) / size for place in range(size)]
    parts = int(one.arguments[0].constant)  # type: ignore[arg-type]
    whole, more = divmod(size, parts)
    large = more * (whole + 1)  # the first parts have one row more
    return [
        place // (whole + 1) + 1 if place < large else more + (place - large) // max(whole, 1) + 1
        for place in range(size)
    ]


def _first(ties: Sequence[int], place: int) -> int:
    from bisect import bisect_left

    return bisect_left(ties, ties[place])


def _last(ties: Sequence[int], place: int) -> int:
    from bisect import bisect_right

    return bisect_right(ties, ties[place])


def _frames(one: OverRows, ties: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each row where its frame begins and ends among the rows of the partition, in order."""
    size, frame = len(ties), one.frame
    if frame is None:
        return [(0, _last(ties, place)) for place in range(size)] if one.order else [(0, size)] * size
    found = []
    for place in range(size):
        if frame.rows:
            start = 0 if frame.start is None else place + frame.start
            end = size if frame.end is None else place + frame.end + 1
        else:
            start = 0 if frame.start is None else _first(ties, place)
            end = size if frame.end is None else _last(ties, place)
        start = min(max(start, 0), size)
        found.append((start, max(start, min(end, size))))
    return found


def _shifted(one: OverRows, given: RowsSeen) -> list[Value]:
    constant = one.arguments[1].constant if len(one.arguments) > 1 else 1
    away = int(constant) * (-1 if one.function == "lag" else 1)  # type: ignore[arg-type]
    found: list[Value] = []
    for place, row in enumerate(given.rows):
        at = place + away
        if 0 <= at < len(given.rows):
            found.append(_value(given, 0, given.rows[at]))
        elif len(given.arguments) > 2:
            found.append(_value(given, 2, row))
        else:
            found.append((None, UNKNOWN if given.noisy else None))
    return found


def _picked(one: OverRows, given: RowsSeen, frame: tuple[int, int]) -> Value:
    start, end = frame
    place = {"first_value": start, "last_value": end - 1}.get(one.function)
    if place is None:
        place = start + int(one.arguments[1].constant) - 1  # type: ignore[arg-type]
    if not start <= place < end:
        return None, UNKNOWN if given.noisy else None
    return _value(given, 0, given.rows[place])


def _value(given: RowsSeen, argument: int, row: int) -> Value:
    return given.arguments[argument][row], UNKNOWN if given.noisy else given.origins[argument][row]
