"""Released rows on their way through the steps that follow a release, each cell with where its noise comes from.

Window functions and aggregates over them are computed in plain Python; what these take and return is checked in
`privet.query.released`. Uses released and public rows only. Sizes are capped, so that no question exhausts a machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from privet.core.errors import Unsupported
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import Kind
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.duckdb.public import Bound, fetch
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.query.expressions import mentions, typed
from privet.query.nodes import Beside, Order, Output, OverRows, PublicRows, Query, Step
from privet.query.released import PLACES, SPREADS, facts_over

from .origins import UNKNOWN, AtLeast, Origin, Rising, added, derived
from .postprocess import facts_of_kind, run_step, tidy

MOST_ROWS = 200_000
"""The most rows that joins and unions of released rows may make."""

ROW = "privet row"
"""The column with the number of the released row that a row came from."""


def run(step: Step, rows: dict[str, Any], kinds: Mapping[str, Kind]) -> tuple[dict[str, Any], dict[str, Kind]]:
    """Return the rows of a step, each still with the number of the released row that it came from."""
    outputs = (*step.outputs, Output(ROW, ColumnRef(ROW)))
    if not step.distinct:
        return run_step(replace(step, outputs=outputs), rows, kinds)
    columns, made = run_step(replace(step, outputs=outputs, distinct=False, limit=None, offset=0), rows, kinds)
    names = [output.name for output in step.outputs]
    first: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(zip(*(columns[name] for name in names), strict=True)):
        first.setdefault(row, index)
    kept = list(first.values())[step.offset :]
    kept = kept if step.limit is None else kept[: step.limit]
    return {name: [values[index] for index in kept] for name, values in columns.items()}, made


@dataclass(frozen=True)
class ReleasedTable:
    """Released rows: their columns, the kinds of these, and the origins of the cells that have noise.

    `noisy` is whether noise decided which rows there are, and `found` whether they are groups found in the data.
    """

    columns: Mapping[str, Sequence[Any]]
    kinds: Mapping[str, Kind]
    origins: Mapping[str, Sequence[Origin | None]] = field(default_factory=dict)
    noisy: bool = False
    found: bool = False

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def origin(self, name: str, row: int) -> Origin | None:
        """Return where the noise of a cell comes from; None where it has none."""
        origins = self.origins.get(name)
        return None if origins is None else origins[row]

    def has_noise(self, expression: Expression | None) -> bool:
        """Whether an expression has noise in some row."""
        return expression is not None and any(name in self.origins for name in mentions(expression))


Rows = Callable[[Query], ReleasedTable]
"""Returns the released rows of a further question, before its steps."""


def after_steps(steps: Sequence[Step], table: ReleasedTable, rows_of: Rows) -> ReleasedTable:
    """Return released rows after some steps."""
    for step in steps:
        table = _after(step, table, rows_of)
    return table


def _after(step: Step, table: ReleasedTable, rows_of: Rows) -> ReleasedTable:
    for beside in step.beside:
        table = _with_others(beside, table, rows_of)
    if step.plain:
        return _plain(step, table)
    if step.where is not None:
        table = _kept(step.where, table)
    if step.keys is not None:
        table = _grouped(step, table)
    if step.having is not None:
        table = _kept(step.having, table)
    for window in step.windows:
        table = _with_window(window, table)
    if step.qualify is not None:
        table = _kept(step.qualify, table)
    cut = Step(step.outputs, None, step.distinct, step.order, step.limit, step.offset)
    return _plain(cut, table)


def _plain(step: Step, table: ReleasedTable) -> ReleasedTable:
    """Return what a step computes from each row alone, and the rows that it keeps."""
    if step.renames is not None:
        return _renamed(step.renames, table)
    columns: dict[str, Any] = {ROW: list(range(table.size)), **table.columns}
    result, kinds = run(step, columns, {ROW: "integer", **table.kinds})
    chosen = [int(row) for row in result.pop(ROW)]
    made = {name: kind for name, kind in kinds.items() if name != ROW}
    origins: dict[str, list[Origin | None]] = {}
    for output in step.outputs:
        if table.has_noise(output.expression):
            cells = _derived(output.expression, table, chosen)
            if not cells or any(
                origin is not None for origin in cells
            ):  # of no rows, those that are missing have noise
                origins[output.name] = cells
    listed = {name: _listed(values) for name, values in result.items()}
    cut = step.limit is not None or bool(step.offset)
    noisy = (
        table.noisy
        or table.has_noise(step.where)
        or (cut and any(table.has_noise(term.expression) for term in step.order))
        or (step.distinct and bool(origins))
    )
    return ReleasedTable(listed, made, origins, noisy, table.found)


def _renamed(names: Mapping[str, str], table: ReleasedTable) -> ReleasedTable:
    """Return columns under other names, which takes no engine."""
    columns = {name: _listed(table.columns[was]) for name, was in names.items()}
    kinds = {name: table.kinds[was] for name, was in names.items()}
    known = {name: table.origins[was] for name, was in names.items() if was in table.origins}
    origins = {name: own for name, own in known.items() if not own or any(origin is not None for origin in own)}
    return ReleasedTable(columns, kinds, origins, table.noisy, table.found)


def _derived(expression: Expression, table: ReleasedTable, rows: Sequence[int]) -> list[Origin | None]:
    if expression.column is not None:
        own = table.origins[expression.column]
        return [own[row] for row in rows]
    names = mentions(expression)
    origins: list[Origin | None] = []
    for row in rows:
        here = {name: origin for name in names if (origin := table.origin(name, row)) is not None}
        values = {name: table.columns[name][row] for name in names}
        origins.append(derived(expression, values, here, table.kinds) if here else None)
    return origins


def _kept(where: Expression, table: ReleasedTable) -> ReleasedTable:
    outputs = tuple(Output(name, ColumnRef(name)) for name in table.columns)
    return _plain(Step(outputs, where), table)


def _computed(expressions: Sequence[Expression], table: ReleasedTable) -> tuple[list[Sequence[Any]], list[Any]]:
    """Return expressions over all rows: their values, and their origins."""
    if not expressions or not table.columns:
        return [[] for _ in expressions], [[] for _ in expressions]
    names = [f"privet {place}" for place in range(len(expressions))]
    made = _plain(Step(tuple(map(Output, names, expressions))), table)
    none = [None] * table.size
    return [made.columns[name] for name in names], [made.origins.get(name, none) for name in names]


# --- groups and windows ----------------------------------------------------------------------------------------------


def _grouped(step: Step, table: ReleasedTable) -> ReleasedTable:
    keys = step.keys or ()
    by, sources = _computed([key.expression for key in keys], table)
    noisy = table.noisy or any(origin is not None for cells in sources for origin in cells)
    groups: dict[tuple[Any, ...], list[int]] = {} if keys else {(): list(range(table.size))}
    for row in range(table.size if keys else 0):
        groups.setdefault(tuple(values[row] for values in by), []).append(row)
    columns: dict[str, list[Any]] = {key.name: [cell[place] for cell in groups] for place, key in enumerate(keys)}
    kinds: dict[str, Kind] = {key.name: _kind(key.expression, table) for key in keys}
    origins: dict[str, list[Origin | None]] = {}
    for aggregate in step.aggregates:
        given = _given(aggregate, table, noisy)
        values = [of_group(aggregate, replace(given, rows=rows)) for rows in groups.values()]
        _add(aggregate, values, table, columns, kinds, origins)
    if not columns:  # only the existence of these groups is asked for
        columns, kinds = {ROW + "s": [1] * len(groups)}, {ROW + "s": "integer"}
    return ReleasedTable(columns, kinds, origins, noisy, table.found)


def _with_window(over: OverRows, table: ReleasedTable) -> ReleasedTable:
    by, sources = _computed(over.partition, table)
    keys, ordered = _computed([term.expression for term in over.order], table)
    noisy = table.noisy or any(origin is not None for cells in (*sources, *ordered) for origin in cells)
    # of rows that noise chose, a value of one is still that row's own
    picks = over.function in ("lag", "lead", "first_value", "last_value", "nth_value")
    sorted_by_noise = any(origin is not None for cells in (*sources, *ordered) for origin in cells)
    given = _given(over, table, sorted_by_noise if picks else noisy)
    partitions: dict[tuple[Any, ...], list[int]] = {}
    for row in range(table.size):
        partitions.setdefault(tuple(values[row] for values in by), []).append(row)
    results: list[Value] = [(None, None)] * table.size
    for rows in partitions.values():
        placed = _sorted(rows, keys, over.order)
        ties, last = [], 0
        for place, row in enumerate(placed):
            if place and any(values[row] != values[placed[place - 1]] for values in keys):
                last += 1
            ties.append(last)
        for row, value in zip(placed, of_windows(over, replace(given, rows=placed), ties), strict=True):
            results[row] = value
    columns, kinds, origins = dict(table.columns), dict(table.kinds), dict(table.origins)
    _add(over, results, table, columns, kinds, origins)
    return replace(table, columns=columns, kinds=kinds, origins=origins)


def _given(over: OverRows, table: ReleasedTable, noisy: bool) -> RowsSeen:
    arguments, origins = _computed(over.arguments, table)
    kept: list[bool] | None = None
    if over.where is not None:
        (values,), (sources,) = _computed([over.where], table)
        kept = [value is True for value in values]
        noisy = noisy or any(origin is not None for origin in sources)
    return RowsSeen(arguments, origins, kept, range(table.size), noisy, table.found)


def _add(
    over: OverRows, values: Sequence[Value], table: ReleasedTable, columns: Any, kinds: dict[str, Kind], origins: Any
) -> None:
    facts = {name: facts_of_kind(kind) for name, kind in table.kinds.items()}
    kinds[over.name] = facts_over(over, facts).kind
    columns[over.name] = [tidy(value, kinds[over.name]) for value, _ in values]
    if any(origin is not None for _, origin in values):
        origins[over.name] = [origin for _, origin in values]


def _kind(expression: Expression, table: ReleasedTable) -> Kind:
    return typed(expression, {name: facts_of_kind(kind) for name, kind in table.kinds.items()}).kind or "number"


def _sorted(rows: Sequence[int], keys: Sequence[Sequence[Any]], order: Sequence[Order]) -> list[int]:
    """Return rows in order; those that tie keep theirs."""
    ordered = list(rows)
    for values, term in reversed(list(zip(keys, order, strict=True))):
        known = [row for row in ordered if values[row] is not None]
        null = [row for row in ordered if values[row] is None]
        known.sort(key=values.__getitem__, reverse=term.descending)
        ordered = null + known if term.nulls_first else known + null
    return ordered


# --- other rows ------------------------------------------------------------------------------------------------------


def _with_others(beside: Beside, table: ReleasedTable, rows_of: Rows) -> ReleasedTable:
    match beside.source:
        case PublicRows(columns=listed, steps=steps):
            stored = {name: values for name, _, values in listed}
            other = ReleasedTable(stored, {name: facts.kind for name, facts, _ in listed})
            other = after_steps(steps, other, rows_of)
        case query:
            other = after_steps(query.steps, rows_of(query), rows_of)
    if beside.kind == "all":
        return _stacked(beside, table, other)
    return _joined(beside, table, other)


def _stacked(beside: Beside, table: ReleasedTable, other: ReleasedTable) -> ReleasedTable:
    """Return the rows of both, one below the other."""
    if table.size + other.size > MOST_ROWS:
        raise _too_many()
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, Kind] = {}
    origins: dict[str, list[Origin | None]] = {}
    for name, own in beside.names:
        left, right = table.kinds[name], other.kinds[own]
        kinds[name] = left if left == right else "timestamp" if "timestamp" in (left, right) else "number"
        columns[name] = [*table.columns[name], *other.columns[own]]
        if name in table.origins or own in other.origins:
            origins[name] = [
                *table.origins.get(name, [None] * table.size),
                *other.origins.get(own, [None] * other.size),
            ]
    return ReleasedTable(columns, kinds, origins, table.noisy or other.noisy, table.found or other.found)


def _joined(beside: Beside, table: ReleasedTable, other: ReleasedTable) -> ReleasedTable:
    """Return both side by side, for each pair that meets the condition; other rows too, where the kind keeps them."""
    renamed = {name: other.columns[own] for name, own in beside.names}
    kinds = {**table.kinds, **{name: other.kinds[own] for name, own in beside.names}}
    pairs: list[tuple[int | None, int | None]] = list(_pairs(beside.on, table, other, renamed, kinds))
    if beside.kind in ("left", "full"):
        met = {row for row, _ in pairs}
        pairs += [(row, None) for row in range(table.size) if row not in met]
        pairs.sort(key=lambda pair: (pair[0] is None, pair[0], pair[1] is None, pair[1]))
    if beside.kind in ("right", "full"):
        theirs = {row for _, row in pairs}
        pairs += [(None, row) for row in range(other.size) if row not in theirs]
    if len(pairs) > MOST_ROWS:
        raise _too_many()
    columns: dict[str, list[Any]] = {}
    origins: dict[str, list[Origin | None]] = {}
    both = ReleasedTable({}, {}, {**table.origins, **{name: () for name, own in beside.names if own in other.origins}})
    met_by_noise = both.has_noise(beside.on)
    # a row that is not there because noise, or rareness, kept it out has numbers nevertheless
    gone, gone_too = (UNKNOWN if side.noisy or side.found or met_by_noise else None for side in (table, other))
    for name, values in table.columns.items():
        columns[name] = [None if row is None else values[row] for row, _ in pairs]
        if name in table.origins:
            origins[name] = [gone if row is None else table.origin(name, row) for row, _ in pairs]
    for name, own in beside.names:
        columns[name] = [None if row is None else other.columns[own][row] for _, row in pairs]
        if own in other.origins:
            origins[name] = [gone_too if row is None else other.origin(own, row) for _, row in pairs]
    noisy = table.noisy or other.noisy or met_by_noise
    return ReleasedTable(columns, kinds, origins, noisy, table.found or other.found)


def _pairs(
    on: Expression | None,
    table: ReleasedTable,
    other: ReleasedTable,
    renamed: Mapping[str, Sequence[Any]],
    kinds: Mapping[str, Kind],
) -> list[tuple[int, int]]:
    """Return the pairs of rows that meet a condition, by their numbers, in order."""
    if on is None and table.size * other.size > MOST_ROWS:
        raise _too_many()
    if on is None:
        return [(i, j) for i in range(table.size) for j in range(other.size)]
    bound = Bound()
    columns: dict[str, RowSource] = {}
    sides = []
    for letter, source in (("a", table.columns), ("b", renamed)):
        listed = []
        for place, (name, values) in enumerate(source.items()):
            column = f"{letter}{place}"
            columns[name] = RowSource(f"{letter}.{column}", facts_of_kind(kinds[name]))
            bound.parameters[column] = [tidy(value, kinds[name]) for value in values]
            listed.append(f"unnest(${column}::{TYPES[kinds[name]]}[]) AS {column}")
        sides.append(f"(SELECT *, row_number() OVER () - 1 AS i FROM (SELECT {', '.join(listed)})) {letter}")
    condition = Renderer(columns, DUCKDB).render(on).sql
    sql = f"SELECT a.i, b.i FROM {sides[0]} JOIN {sides[1]} ON {condition} LIMIT {MOST_ROWS + 1}"
    pairs = [(int(i), int(j)) for i, j in fetch(sql, bound)]
    if len(pairs) > MOST_ROWS:
        raise _too_many()
    return sorted(pairs)


def _too_many() -> Exception:
    return Unsupported(
        f"joined and united, the released rows would be more than {MOST_ROWS:,}; what was released is stored, so ask "
        f"again with a narrower condition, at no cost"
    )


def _listed(values: Any) -> list[Any]:
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    return [value.item() if hasattr(value, "item") else value for value in plain]


MOST_WORK = 20_000_000
"""The most cells of frames that are looked at for one answer."""
MOST_TERMS = 2_000_000
"""The most terms of sums, over all rows, whose noise is kept track of."""


@dataclass(frozen=True)
class RowsSeen:
    """The input of one function over rows: the rows' arguments, their noise, and how rows are put together and in
    order.

    `rows` are those of one partition or group, in order, and `ties` has for each at which place its ties begin and
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


def _aggregate(over: OverRows, given: RowsSeen, rows: Sequence[int]) -> Value:
    rows = rows if given.kept is None else [row for row in rows if given.kept[row]]
    if over.function == "count_rows":
        return len(rows), _counted(given, len(rows))
    values, origins = given.arguments[0], given.origins[0]
    some = [row for row in rows if values[row] is not None]
    noisy = [origins[row] for row in some if origins[row] is not None]
    # whether a noisy number is NULL is decided by noise
    unsure = given.noisy or any(origins[row] is not None for row in rows if values[row] is None)
    if over.function == "count":
        return len(some), UNKNOWN if unsure else _counted(given, len(some))
    if over.function == "count_distinct":
        number = len({values[row] for row in some})
        return number, UNKNOWN if unsure or noisy else _counted(given, number)
    if not some:
        # where groups are found, one that is missing may have rows
        missing = given.found and over.function == "any_value"
        return None, UNKNOWN if unsure or missing else None
    if over.function == "any_value":
        return values[some[0]], UNKNOWN if unsure else origins[some[0]]
    listed = [values[row] for row in some]
    value = _VALUES[over.function](listed, over)
    if unsure:
        return value, UNKNOWN
    if not noisy:
        return value, None
    return value, _origin(over, some, listed, origins)


def _counted(given: RowsSeen, number: int) -> Origin | None:
    """Return the uncertainty of a number of rows: all of it, where noise chose them; that there are more, if found."""
    return UNKNOWN if given.noisy else AtLeast(float(number)) if given.found else None


def _origin(over: OverRows, rows: Sequence[int], values: Sequence[Any], origins: Sequence[Origin | None]) -> Origin:
    parts = [(origins[row], value) for row, value in zip(rows, values, strict=True)]
    if over.function in ("sum", "avg"):
        factor = 1.0 if over.function == "sum" else 1 / len(rows)
        noisy = [(origin, factor) for origin, _ in parts if origin is not None]
        offset = math.fsum(float(value) for origin, value in parts if origin is None) * factor
        return added(noisy, offset)
    if over.function in ("min", "max", "quantile"):
        if any(isinstance(origin, type(UNKNOWN)) for origin, _ in parts):
            return UNKNOWN
        listed = tuple(float(value) if origin is None else origin for origin, value in parts)
        return Rising(lambda ends: float(_VALUES[over.function](list(ends), over)), listed)
    return UNKNOWN


def _spread(values: list[Any], over: OverRows) -> float | None:
    size, sample = len(values), over.function.endswith("_samp")
    if sample and size < 2:
        return None
    mean = math.fsum(values) / size
    variance = math.fsum((value - mean) ** 2 for value in values) / (size - 1 if sample else size)
    return math.sqrt(variance) if over.function.startswith("stddev") else variance


def _quantile(values: list[Any], over: OverRows) -> float:
    """Return the value of a rank, between two as far along as the rank is."""
    ordered = sorted(values)
    place = float(over.arguments[1].constant) * (len(ordered) - 1)  # type: ignore[arg-type]
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    if not (math.isfinite(ordered[below]) and math.isfinite(ordered[above])):
        return float(ordered[below] if place == below else ordered[above] if ordered[above] > 0 else ordered[below])
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _sum(values: list[Any], over: OverRows) -> Any:
    return sum(values) if all(type(value) is int for value in values) else math.fsum(values)


_VALUES: dict[str, Callable[[list[Any], OverRows], Any]] = {
    "sum": _sum,
    "avg": lambda values, over: math.fsum(values) / len(values),
    "min": lambda values, over: min(values),
    "max": lambda values, over: max(values),
    "any_value": lambda values, over: values[0],
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
        return [_of_frame(one, given, frame) for frame in frames]
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


def _places(over: OverRows, ties: Sequence[int]) -> list[Any]:
    """Return the functions of the order alone: ROW_NUMBER, RANK, ..."""
    size = len(ties)
    match over.function:
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
    parts = int(over.arguments[0].constant)  # type: ignore[arg-type]
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


def _frames(over: OverRows, ties: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each row where its frame begins and ends among the rows of the partition, in order."""
    size, frame = len(ties), over.frame
    if frame is None:
        return [(0, _last(ties, place)) for place in range(size)] if over.order else [(0, size)] * size
    frames = []
    for place in range(size):
        if frame.rows:
            start = 0 if frame.start is None else place + frame.start
            end = size if frame.end is None else place + frame.end + 1
        else:
            start = 0 if frame.start is None else _first(ties, place)
            end = size if frame.end is None else _last(ties, place)
        start = min(max(start, 0), size)
        frames.append((start, max(start, min(end, size))))
    return frames


def _shifted(over: OverRows, given: RowsSeen) -> list[Value]:
    constant = over.arguments[1].constant if len(over.arguments) > 1 else 1
    away = int(constant) * (-1 if over.function == "lag" else 1)  # type: ignore[arg-type]
    values: list[Value] = []
    for place, row in enumerate(given.rows):
        at = place + away
        if 0 <= at < len(given.rows):
            values.append(_value(given, 0, given.rows[at]))
        elif len(given.arguments) > 2:
            values.append(_value(given, 2, row))
        else:
            values.append((None, UNKNOWN if given.noisy else None))
    return values


def _of_frame(over: OverRows, given: RowsSeen, frame: tuple[int, int]) -> Value:
    start, end = frame
    place = {"first_value": start, "last_value": end - 1}.get(over.function)
    if place is None:
        place = start + int(over.arguments[1].constant) - 1  # type: ignore[arg-type]
    if not start <= place < end:
        return None, UNKNOWN if given.noisy else None
    return _value(given, 0, given.rows[place])


def _value(given: RowsSeen, argument: int, row: int) -> Value:
    return given.arguments[argument][row], UNKNOWN if given.noisy else given.origins[argument][row]
