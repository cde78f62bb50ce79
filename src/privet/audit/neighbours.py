"""The neighbours of the data at hand: tables without a unit, or with it turned into another. Custodians only.

A separate engine, over copies of the tables. What it reads is private, and nothing of it is released.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from privet.core.scan import Discovery, Scan
from privet.core.schema import Table
from privet.core.unit import Nobody, Window, person_column
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.scan_sql.dialect import quoted
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.row_values import owner_of, physical
from privet.engines.scan_sql.statement import as_counts, counting, statement
from privet.mechanisms import Laplace
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.mechanisms.top_k import Frequent
from privet.planner.matrix import MatrixMeasure
from privet.planner.measures import KeyRelease, KeyRule, ModeMeasure, Noise
from privet.planner.moments import MomentMeasure
from privet.planner.plan import Pass
from privet.planner.tulap_counts import TulapMeasure
from privet.strategy.residuals import ResidualStrategy

# What a pass of a plan claims about two neighbours, and how much of it two readings use: in integers, exactly.
#
# Knows plans and what an engine read; never touches tables. Measurements are private, like the readings.


Cell = tuple[Any, ...]
Norm = Literal["L1", "L2", "range", "most", "number", "part"]
"""In which measure a claim is: added up, squares added up, the ranges of groups added up, the most at one place, how
many there are, or the square of the part of what is allowed."""


@dataclass(frozen=True)
class Seen:
    """The result of a scan in one world: integers by cell; or the weight at each place, by group. Private."""

    cells: Mapping[Cell, tuple[int, ...]] = field(default_factory=dict)
    places: Mapping[Cell, Mapping[int, int]] = field(default_factory=dict)

    def column(self, place: int) -> dict[Cell, int]:
        """Return one of the integers of each cell."""
        return {cell: int(row[place]) for cell, row in self.cells.items()}


Measured = Callable[[Seen, Seen], "Fraction | int"]


@dataclass(frozen=True)
class Claim:
    """How far neighbours may be apart, in integers that are worth `unit` each, and what measures it.

    `size` is squared for L2 and for a part.
    """

    what: str
    norm: Norm
    size: Fraction
    unit: Fraction
    measured: Measured

    def read(self, size: Fraction | int) -> float:
        """Return a size, or the root of a squared one, in the units of the count or sum."""
        return math.sqrt(size) * float(self.unit) if self.norm in ("L2", "part") else float(size * self.unit)


def claims_of(one: Pass) -> tuple[Claim, ...]:
    """Return all that the events of a pass rest on: what each of its mechanisms takes for granted about neighbours.

    A key to be found that only one of two neighbours has is hidden by the rule for keys. So sums and choices are
    compared over the keys that both have; how many others there are, and what they weigh, are claims of their own.
    """
    claims = list(_of_sums(one))
    if one.keys is not None and one.scan.discovery is not None:
        claims += _of_keys(one.keys, one.scan.discovery, touches=one.scan.schema.unit.touches)
    if one.sizes is not None:
        norm, size = _norm_of(one.sizes.mechanism)
        claims.append(Claim("the people of a size", norm, size, Fraction(1), _moved(0, norm)))
    if isinstance(one.measure, MatrixMeasure):
        claims.append(_of_strategy(one, one.measure))
    if isinstance(one.measure, MomentMeasure):
        claims.append(_of_moments(one.measure))
    if isinstance(one.measure, TulapMeasure):
        claims.append(Claim("a count with Tulap noise", "L1", Fraction(1), Fraction(1), _moved(0, "L1")))
    if isinstance(one.measure, ModeMeasure):
        claims.append(_of_winners(one, one.measure.choice))
    for draw in one.measure.draws:
        match draw:
            case QuantileChoice():
                claims.append(_of_rank(draw, one))
            case QuantileLadder():
                claims.append(_of_ladder(draw, one))
            case _:
                claims.append(_of_ranks(draw.norm, one))
    return tuple(claims)


def _weight(pass_: Pass) -> Fraction:
    """Return what one of a scan's integers is worth, in rows."""
    return Fraction(1, 2 ** getattr(pass_.scan.bounding, "shift", 0))


def _norm_of(noise: Noise) -> tuple[Norm, Fraction]:
    """Return what noise is made for: the noise itself states so, and not the plan around it."""
    return ("L1", noise.sensitivity) if isinstance(noise, Laplace) else ("L2", noise.sensitivity_squared)


def _of_sums(pass_: Pass) -> Iterator[Claim]:
    common = pass_.scan.discovery is not None
    for place, measure in enumerate(pass_.measures):
        norm, size = _norm_of(measure.mechanism)
        counted = measure.sum.expression is None
        unit = (Fraction(1) if counted else measure.sum.step) / 2**measure.shift
        yield Claim("a count" if counted else "a sum", norm, size, unit, _moved(place, norm, common=common))


def _moved(place: int, norm: Norm, *, common: bool = False) -> Measured:
    def measured(before: Seen, after: Seen) -> int:
        steps = _steps(before.column(place), after.column(place), common=common).values()
        match norm:
            case "L1":
                return sum(map(abs, steps))
            case "L2":
                return sum(step * step for step in steps)
        return max(map(abs, steps), default=0)

    return measured


def _steps(one: Mapping[Any, int], other: Mapping[Any, int], *, common: bool) -> dict[Any, int]:
    cells = one.keys() & other.keys() if common else one.keys() | other.keys()
    return {cell: other.get(cell, 0) - one.get(cell, 0) for cell in cells}


# --- what a strategy measures -----------------------------------------------------------------------------------------


def _of_strategy(pass_: Pass, measure: MatrixMeasure) -> Claim:
    """Return the claim of a strategy: how far the rows of its matrix move, each by its weight.

    The rows are those that are applied to single cells; of residuals, what depends on them is the centred marginals.
    """
    noise, strategy = measure.noise, measure.strategy
    power = strategy.power
    size = (noise.contribution * 2**noise.shift) ** power * noise.moved
    places = [{value: place for place, value in enumerate(key.values or ())} for key in pass_.scan.keys]

    def measured(before: Seen, after: Seen) -> Fraction:
        counts = [0] * strategy.cells
        for cell, step in _steps(before.column(0), after.column(0), common=False).items():
            at = 0
            for each, value in zip(places, cell, strict=True):
                at = at * len(each) + each[value]
            counts[at] = step
        if isinstance(strategy, ResidualStrategy):
            tables = zip(strategy.subsets, strategy.weights, strategy._measured_tables(counts), strict=True)
            return sum(
                (weight * _residual_squares(strategy, axes, table) for axes, weight, table in tables), Fraction(0)
            )
        pairs = zip(strategy.row_weights(), strategy.apply(counts), strict=True)
        return Fraction(sum(weight * abs(move) ** power for weight, move in pairs))

    return Claim("the sums of a strategy", "L1" if power == 1 else "L2", size, Fraction(1), measured)


def _of_moments(measure: MomentMeasure) -> Claim:
    """Return the claim of products: how far all of them move, each divided by the scale of its noise."""
    power = 1 if measure.family == "laplace" else 2
    weight = 2**measure.shift

    def measured(before: Seen, after: Seen) -> Fraction:
        total = Fraction(0)
        for place, scale in enumerate(measure.scales):
            for step in _steps(before.column(place), after.column(place), common=False).values():
                total += Fraction(abs(step), weight) ** power / scale
        return total

    return Claim("sums of products", "L1" if power == 1 else "L2", measure.loss, Fraction(1), measured)


def _residual_squares(strategy: ResidualStrategy, axes: tuple[int, ...], table: Any) -> Fraction:
    """Return the sum of squares of a table of integers less its means along attributes without a basis, exactly.

    The variance of its noise is this many times as large as the longest columns of its bases, squared.
    """
    unit = 1
    table = table.astype(object)
    for place, axis in enumerate(axes):
        basis = strategy._basis(axis)
        if basis is None:
            table = table * table.shape[place] - table.sum(axis=place, keepdims=True)
            unit *= table.shape[place] ** 2
        else:
            unit *= max(sum(int(entry) ** 2 for entry in column) for column in basis.matrix.T.tolist())
    return Fraction(sum(int(entry) ** 2 for entry in table.ravel().tolist()), unit)


# --- keys that are found ----------------------------------------------------------------------------------------------


def _of_keys(rule: KeyRelease | KeyRule, discovery: Discovery, *, touches: int) -> Iterator[Claim]:
    """Yield what a rule for keys rests on: how far weights move, and how many keys only one side has, how heavy."""
    unit = Fraction(1, 2**discovery.shift)
    if isinstance(rule, KeyRule):
        made = rule.mechanism
        sides = 1 if made.neighbors == "add-remove" else 2
        size = Fraction(sides * made.group * made.keys)
        yield Claim("the people of a key", "L1", size, unit, _moved(-1, "L1"))
        yield Claim("the people of one key", "most", Fraction(made.group), unit, _moved(-1, "most"))
    else:
        norm, size = _norm_of(rule.mechanism)
        yield Claim("the people of a key", norm, size, unit, _moved(-1, norm))
        what, alone = "the heaviest key that one side alone has", _heaviest(discovery, touches)
        yield Claim(what, "part", Fraction(1), Fraction(1), alone)
    most = Fraction(discovery.most * touches)
    yield Claim("the keys that one side alone has", "number", most, Fraction(1), _alone)


def _alone(before: Seen, after: Seen) -> int:
    return max(len(before.cells.keys() - after.cells.keys()), len(after.cells.keys() - before.cells.keys()))


def _heaviest(discovery: Discovery, touches: int) -> Measured:
    """Return what measures the heaviest key of one side alone, by what a threshold allows for this many of them.

    Cites: [DVGM22] for the threshold, and `privet.mechanisms.key_selection` for what it takes for granted.
    """
    full = 2**discovery.shift

    def measured(before: Seen, after: Seen) -> Fraction:
        heaviest = Fraction(0)
        for own, other in ((before, after), (after, before)):
            weights = [weight for cell, weight in own.column(-1).items() if cell not in other.cells]
            # w <= full / t for order 1, and w^2 <= full^2 / t for order 2: compared as squares, which are exact
            shared = 1 if touches > 1 or discovery.order == 0 else len(weights) ** (3 - discovery.order)
            heaviest = max(heaviest, Fraction(max(weights, default=0) ** 2 * shared, (touches * full) ** 2))
        return heaviest

    return measured


# --- choices ----------------------------------------------------------------------------------------------------------


def _of_winners(pass_: Pass, draw: Frequent) -> Claim:
    """Return the claim of a choice of frequent values: the ranges in which the counts of groups move, added up."""

    def measured(before: Seen, after: Seen) -> int:
        ranges: dict[Cell, list[int]] = {}
        for cell, step in _steps(before.column(0), after.column(0), common=pass_.scan.discovery is not None).items():
            ranges.setdefault(cell[:-1], [0]).append(step)  # what stands for nothing never moves
        return sum(max(steps) - min(steps) for steps in ranges.values())

    return Claim("the rows of frequent values", "range", draw.span, _weight(pass_), measured)


def _of_ranks(norm: Fraction, pass_: Pass) -> Claim:
    """Return the claim of quantiles that are chosen together: the weights at all places of all groups."""

    def measured(before: Seen, after: Seen) -> int:
        pairs = _sides(before, after)
        return sum(sum(map(abs, _steps(mine, theirs, common=False).values())) for mine, theirs in pairs)

    return Claim("the rows of quantiles", "L1", norm, _weight(pass_), measured)


def _of_rank(draw: QuantileChoice, pass_: Pass) -> Claim:
    """Return the claim of one quantile or end: the ranges in which ranks off the aim move, added up over groups."""

    def measured(before: Seen, after: Seen) -> Fraction:
        return sum((_range(draw, mine, theirs) for mine, theirs in _sides(before, after)), Fraction(0))

    return Claim("the ranks of a quantile", "range", draw.span, _weight(pass_), measured)


def _of_ladder(draw: QuantileLadder, pass_: Pass) -> Claim:
    """Return the claim of an interval: the ranges in which ranks by which rungs clear a quantile move, over groups.

    Whatever values were released: the rungs of all of them end at places of the grid.
    """

    def measured(before: Seen, after: Seen) -> Fraction:
        return sum((_cleared(draw, mine, theirs) for mine, theirs in _sides(before, after)), Fraction(0))

    return Claim("the ranks of an interval", "range", draw.span, _weight(pass_), measured)


def _cleared(draw: QuantileLadder, mine: Mapping[int, int], theirs: Mapping[int, int]) -> Fraction:
    """Return twice the most by which what is below a place, or at or below it, moves beside the aims of a group."""
    places = sorted({0, draw.last, *mine, *theirs, *(place + 1 for place in (*mine, *theirs) if place < draw.last)})
    totals = [sum(map(int, side.values())) for side in (mine, theirs)]
    most = Fraction(0)
    for share in draw.shares:
        aims = [share * total for total in totals]
        roots = [Fraction(draw.root(share, total), draw.unit) for total in totals]
        for place in places:
            for inside in (0, 1):
                ranks = [sum(int(n) for at, n in side.items() if at < place + inside) for side in (mine, theirs)]
                off = [rank - aim for rank, aim in zip(ranks, aims, strict=True)]
                moved = off[1] - off[0]
                # what is below is taken from the aim, less the root; and from what is at or below both are taken
                most = max(most, abs(moved + (roots[1] - roots[0]) * (1 if inside == 0 else -1)))
    return 2 * most


def _sides(before: Seen, after: Seen) -> list[tuple[Mapping[int, int], Mapping[int, int]]]:
    nothing: Mapping[int, int] = {}
    cells = before.places.keys() | after.places.keys()
    return [(before.places.get(cell, nothing), after.places.get(cell, nothing)) for cell in cells]


def _range(draw: QuantileChoice, mine: Mapping[int, int], theirs: Mapping[int, int]) -> Fraction:
    """Return the length of the range about 0 in which places of a group move off the aim."""
    import numpy as np

    weights = [_together(side, draw.shift) for side in (mine, theirs)]
    last, scale = draw.last, draw.share.denominator
    held = sorted(weights[0].keys() | weights[1].keys())
    # off is the same from one place that has something to the next
    places = sorted({0, last, *held, *(min(place + 1, last) for place in held), *(max(place - 1, 0) for place in held)})
    off = []
    for counts in weights:
        at = np.array([counts.get(place, 0) for place in places], dtype=object)
        upto, total = np.cumsum(at), int(at.sum())
        aim = draw.share.numerator * total + draw.offset * scale
        below, pad = (upto - at) * scale, abs(draw.offset) * scale
        # what lies before the first place and after the last, where there is an offset
        low = np.concatenate(([-pad], below, [total * scale])) if pad else below
        high = np.concatenate(([0], upto * scale, [total * scale + pad])) if pad else upto * scale
        off.append(np.maximum(np.maximum(low - aim, aim - high), 0))
    moves = [0, *(off[1] - off[0])]
    return Fraction(int(max(moves)) - int(min(moves)), scale)


def _together(weights: Mapping[int, int], shift: int) -> dict[int, int]:
    blocks: dict[int, int] = {}
    for place, weight in weights.items():
        blocks[int(place) >> shift] = blocks.get(int(place) >> shift, 0) + int(weight)
    return blocks


_SECRET = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834
"""One secret for all worlds: an engine draws a fresh one for each question, and the claim holds under any."""

_OTHERS = 3
"""As many other units does a unit turn into, where neighbours change."""

_MICROSECOND = datetime.timedelta(microseconds=1)
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class UnitPart:
    """The rows of one unit: those of a person, or of a row alone, by number; from a time on, if it is a window."""

    number: int
    start: str | None
    name: object
    """What the custodian knows it by."""


@dataclass(frozen=True)
class Change:
    """Units that go, all of their rows or every other one, and what comes in their place, if anything does."""

    gone: tuple[UnitPart, ...]
    instead: tuple[UnitPart, ...] = ()
    half: bool = False

    @property
    def unit(self) -> object:
        """Who it is that goes or changes."""
        return self.gone[0].name if len(self.gone) == 1 else tuple(part.name for part in self.gone)


class Bench(DuckDB):
    """An engine whose tables can lack units, or have them turned into others. All private ones have the same unit."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self._worlds = dict(self._relations)
        self._copies = {
            name: f"copy{index}" for index, name in enumerate(self._relations) if not self._tables[name].unit.public
        }
        self._unit = next((self._tables[name].unit for name in self._copies), Nobody())
        owners = [f"SELECT {self._owner(name)} AS u FROM {self._known(name)}" for name in self._copies]
        if self._owned:
            known = f"SELECT DISTINCT u FROM ({' UNION ALL '.join(owners)}) WHERE u IS NOT NULL"
            self._fetch(f"CREATE TABLE people AS SELECT u, row_number() OVER (ORDER BY u) AS n FROM ({known})")
        for name, copy in self._copies.items():
            numbered = f"SELECT *, row_number() OVER () AS row FROM {self._relations[name]}"
            joined = f"LEFT JOIN people AS p ON p.u = r.{self._owner(name)}"
            whose = f"SELECT r.*, p.n FROM ({numbered}) AS r {joined}"
            self._fetch(f"CREATE TABLE {copy} AS {whose if self._owned else f'SELECT *, row AS n FROM ({numbered})'}")
            self._fetch(f"CREATE VIEW world_{copy} AS SELECT * EXCLUDE (row, n) FROM {copy}")
            self._worlds[name] = f"world_{copy}"

    def __enter__(self) -> Bench:
        return self

    def changes(self, names: Sequence[str], most: int) -> tuple[int, Iterator[Change]]:
        """Return how many units own rows of these tables, up to `most` of them, and the neighbours that they make."""
        units = self._units([name for name in names if name in self._copies])[:most]
        return len(units), self._neighbours(units)

    def _neighbours(self, units: list[UnitPart]) -> Iterator[Change]:
        group = min(getattr(self._unit, "group", 1), len(units))
        change = any(self._tables[name].neighbors == "change-one" for name in self._copies)
        for place in range(len(units)):
            gone = tuple(units[(place + step) % len(units)] for step in range(group))
            if not (change and self._unit.rowwise):  # elsewhere a unit may have no rows
                yield Change(gone)
            if self._unit.timed:
                yield Change(gone, half=True)
            for step in range(1, min(_OTHERS, len(units) - group) + 1) if change else ():
                start = place + group - 1 + step * max(1, (len(units) - group) // _OTHERS)
                instead = tuple(units[(start + index) % len(units)] for index in range(group))
                if not {part.number for part in gone} & {part.number for part in instead}:
                    yield Change(gone, instead)

    def enter(self, change: Change) -> None:
        """Let the tables lack units; or let the rows of others stand under their names in place of their own."""
        for name, copy in self._copies.items():
            mine = " OR ".join(self._those(name, part) for part in change.gone)
            half = " AND row % 2 = 0" if change.half else ""
            kept = [f"SELECT * EXCLUDE (row, n) FROM {copy} WHERE (({mine}){half}) IS NOT TRUE"]
            for part, other in zip(change.gone, change.instead, strict=False):
                kept.append(
                    f"SELECT * EXCLUDE (row, n){self._named(name, part)} FROM {copy} WHERE {self._those(name, other)}"
                )
            self._fetch(f"CREATE OR REPLACE VIEW {self._worlds[name]} AS {' UNION ALL '.join(kept)}")

    def read(self, scan: Scan) -> Seen:
        """Return what a scan returns in the world that was entered."""
        relation = relation_sql(scan.table, self._tables, self._worlds, _SECRET, DUCKDB)
        if scan.places is not None:
            # place by place: blocks of places concern which ranks are looked at, not what a unit weighs
            counted = counting(replace(scan, near=None), relation, _SECRET, DUCKDB)
            counts = as_counts(self._fetch_arrays(counted.sql, counted.parameters), counted.kinds)
            return Seen(
                places={cell: dict(zip(map(int, at), map(int, n), strict=True)) for cell, (at, n) in counts.items()}
            )
        asked = statement(scan, relation, _SECRET, DUCKDB)
        rows = self._fetch(asked.sql, asked.parameters)
        return Seen({row[: asked.keys]: row[asked.keys :] for row in rows})

    # --- whose rows -------------------------------------------------------------------------------------------------

    @property
    def _owned(self) -> bool:
        return person_column(self._unit) is not None

    def _column(self, name: str, column: str) -> str:
        return physical(self._tables[name])[column]

    def _owner(self, name: str) -> str:
        column = person_column(self._tables[name].unit)
        return "row" if column is None else self._column(name, column)

    def _known(self, name: str) -> str:
        """Return the rows of a table that belong to a unit."""
        schema = self._tables[name]
        return self._relations[name] + (f" WHERE {owner_of(schema, DUCKDB)[1]}" if self._owned else "")

    def _units(self, names: list[str]) -> list[UnitPart]:
        """Return who owns rows of tables: people, each row, or people from each time on at which they have a row."""
        if self._unit.rowwise:
            return [
                UnitPart(row, None, (name, row))
                for name in names
                for (row,) in self._fetch(f"SELECT row FROM {self._copies[name]} ORDER BY row")
            ]
        time = self._unit.time if isinstance(self._unit, Window) else None
        parts: dict[tuple[int, str | None], UnitPart] = {}
        for name in names:
            start = "NULL" if time is None else f"CAST({self._column(name, time)} AS VARCHAR)"
            finite = "true" if time is None else f"isfinite({self._column(name, time)})"
            listed = (
                f"SELECT DISTINCT n, {start} AS s, u FROM {self._copies[name]} JOIN people USING (n) WHERE {finite}"
            )
            for number, moment, who in self._fetch(f"{listed} ORDER BY n, s"):
                parts[number, moment] = UnitPart(number, moment, who if moment is None else (who, moment))
        return list(parts.values())

    def _those(self, name: str, part: UnitPart) -> str:
        """Return the condition that a row of a table's copy is one of a unit's."""
        if part.start is None or not isinstance(self._unit, Window):
            return f"n = {part.number}"
        time, start = self._column(name, self._unit.time), self._moment(name, part.start)
        if self._tables[name].columns[self._unit.time].kind == "date":
            passed, length = f"({time} - {start})", self._unit.length // _DAY
        else:
            passed, length = f"(epoch_us({time}) - epoch_us({start}))", self._unit.length // _MICROSECOND
        return f"(n = {part.number} AND CASE WHEN isfinite({time}) THEN {passed} >= 0 AND {passed} < {length} END)"

    def _named(self, name: str, part: UnitPart) -> str:
        """Return the words by which rows that are read are given to a unit, and moved to its time."""
        if not self._owned:
            return ""
        given = [f"(SELECT u FROM people WHERE n = {part.number}) AS {self._owner(name)}"]
        if part.start is not None and isinstance(self._unit, Window):
            given.append(f"{self._moment(name, part.start)} AS {self._column(name, self._unit.time)}")
        return f" REPLACE ({', '.join(given)})"

    def _moment(self, name: str, start: str) -> str:
        time = self._unit.time if isinstance(self._unit, Window) else ""
        kind = "DATE" if self._tables[name].columns[time].kind == "date" else "TIMESTAMP"
        return f"CAST({quoted(start)} AS {kind})"
