"""Where the noise of a cell comes from, once released rows were summed, joined and reshaped; and its interval.

A cell that is computed from several released numbers has noise that is made of theirs. Sums have the law of the sum of
independent noises; formulas are computed anew under the known noise; what rises with each of its numbers lies between
what their ends make of it. What depends on an order or a choice by noisy numbers has no narrow interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

from privet.aggregates import CentredTotal
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Kind
from privet.inference.bars import Bars, Law, depths, derived_bars, half_width, noise_points, points_for
from privet.inference.levels import mixed
from privet.planner.plan import Place, Plan, Reading
from privet.planner.stability import Bias, moved
from privet.query.expressions import mentions

from .postprocess import evaluate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.answer import Series
    from privet.core.event import Floats


class SeriesBars(Protocol):
    """The intervals of some rows of one release, for each number alone."""

    def series(self, name: str, values: Sequence[Any], meaning: Expression, kind: Kind) -> Series:
        """Return a column of these rows with its intervals."""
        ...


MOST_SHAPES = 16
"""The most different laws of sums that are tabulated for one answer; for more, the wider of two is used."""
MOST_NOISES = 8
"""The most independent noises that one formula is computed anew under."""
MOST_BOXES = 5
"""The most numbers in a formula that are known by their intervals alone."""
_BLOCK = 256


@dataclass(frozen=True)
class Cell:
    """A released number: of which leaf, in which of its rows, and which aggregate."""

    leaf: int
    row: int
    reading: str


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of other origins, and a constant."""

    terms: tuple[tuple[Origin, float], ...]
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Formula:
    """An expression over numbers with noise, by name, and over values without."""

    expression: Expression
    inputs: tuple[tuple[str, Origin], ...]
    given: tuple[tuple[str, Any], ...]
    kinds: Mapping[str, Kind]


@dataclass(frozen=True, eq=False)
class Rising:
    """Something that rises, or stays, with each of several numbers: the greatest, the least, a quantile."""

    of: Callable[[Sequence[float]], float]
    parts: tuple[Origin | float, ...]


@dataclass(frozen=True)
class AtLeast:
    """A number of which only a lower end is certain: groups that were found, and others too rare to be shown."""

    low: float


@dataclass(frozen=True)
class Unknown:
    """What depends on an order or a choice that noisy numbers made."""


Origin = Cell | WeightedSum | Formula | Rising | AtLeast | Unknown
UNKNOWN = Unknown()


def as_sum(origin: Origin) -> WeightedSum:
    """Return an origin as a weighted sum: of itself alone, once, where it is none."""
    return origin if isinstance(origin, WeightedSum) else WeightedSum(((origin, 1.0),))


def added(terms: Sequence[tuple[Origin, float]], offset: float) -> Origin:
    """Return the origin of a weighted sum, with sums inside it taken apart."""
    flat: dict[Origin, float] = {}
    for origin, factor in terms:
        if isinstance(origin, Unknown | AtLeast):
            return UNKNOWN
        if isinstance(origin, WeightedSum):
            offset += factor * origin.offset
            for inner, times in origin.terms:
                flat[inner] = flat.get(inner, 0.0) + factor * times
        else:
            flat[origin] = flat.get(origin, 0.0) + factor
    return WeightedSum(tuple(flat.items()), offset)


def derived(
    expression: Expression, row: Mapping[str, Any], origins: Mapping[str, Origin], kinds: Mapping[str, Kind]
) -> Origin | None:
    """Return the origin of an expression over one row; None where nothing in it has noise.

    `origins` are those of the columns that have noise in this row.
    """
    used = sorted(mentions(expression) & origins.keys())
    if not used:
        return None
    if expression.column is not None:
        return origins[expression.column]
    if expression.function == "coalesce" and row_value(expression.arguments[0], row) is not None:
        # a count, or a sum, is NULL only where a join found no row for it, which is no matter of noise
        return derived(expression.arguments[0], row, origins, kinds)
    if any(isinstance(origins[name], Unknown | AtLeast) for name in used):
        return UNKNOWN
    line = _line(expression, row, origins)
    if line is not None:
        return added(line[0], line[1])
    return _formula(expression, used, row, origins, kinds)


def row_value(expression: Expression, row: Mapping[str, Any]) -> Any:
    """Return the value of a column in a row, or of a constant; None for other expressions."""
    match expression:
        case ColumnRef(name=name):
            return row[name]
        case Literal(value=value):
            return value
    return None


_Terms = tuple[list[tuple[Origin, float]], float]


def _line(expression: Expression, row: Mapping[str, Any], origins: Mapping[str, Origin]) -> _Terms | None:
    """Return a weighted sum that an expression is, where it is one."""
    match expression:
        case ColumnRef(name=name) if name in origins:
            return [(origins[name], 1.0)], 0.0
        case ColumnRef() | Literal():
            value = row_value(expression, row)
            if value is None or isinstance(value, bool) or not hasattr(value, "__float__"):
                return None
            return [], float(value)
        case Call(function="to_number", arguments=(inner,)):
            return _line(inner, row, origins)
        case Call(function=function, arguments=arguments) if function in _LINES:
            sides = [_line(argument, row, origins) for argument in arguments]
            known = [side for side in sides if side is not None]
            return _LINES[function](*known) if len(known) == len(sides) else None
    return None


def _plus(one: _Terms, other: _Terms, sign: float = 1.0) -> _Terms:
    return [*one[0], *((origin, sign * factor) for origin, factor in other[0])], one[1] + sign * other[1]


def _times(one: _Terms, other: _Terms) -> _Terms | None:
    if one[0] and other[0]:
        return None
    (terms, offset), factor = (one, other[1]) if one[0] else (other, one[1])
    return [(origin, factor * times) for origin, times in terms], offset * factor


def _over(one: _Terms, other: _Terms) -> _Terms | None:
    return None if other[0] or not other[1] else _times(one, ([], 1 / other[1]))


_LINES: Mapping[str, Callable[..., _Terms | None]] = {
    "add": _plus,
    "subtract": lambda one, other: _plus(one, other, -1.0),
    "negate": lambda terms: _times(terms, ([], -1.0)),
    "multiply": _times,
    "divide": _over,
}


def _formula(
    expression: Expression,
    used: Sequence[str],
    row: Mapping[str, Any],
    origins: Mapping[str, Origin],
    kinds: Mapping[str, Kind],
) -> Formula:
    """Return a formula over origins; formulas inside it are put in their places."""
    inputs: list[tuple[str, Origin]] = []
    given: list[tuple[str, Any]] = [(name, row[name]) for name in sorted(mentions(expression) - set(used))]
    known: dict[str, Kind] = {name: kinds[name] for name in mentions(expression)}
    inside: dict[str, Expression] = {}
    for name in used:
        origin = origins[name]
        if not isinstance(origin, Formula):
            inputs.append((name, origin))
            continue
        renamed = {old: f"{name}: {old}" for old in mentions(origin.expression)}
        inside[name] = _renamed(origin.expression, {old: ColumnRef(new) for old, new in renamed.items()})
        inputs += [(renamed[old], inner) for old, inner in origin.inputs]
        given += [(renamed[old], value) for old, value in origin.given]
        known |= {renamed[old]: kind for old, kind in origin.kinds.items()}
    return Formula(_renamed(expression, inside), tuple(inputs), tuple(given), known)


def _renamed(expression: Expression, names: Mapping[str, Expression]) -> Expression:
    match expression:
        case ColumnRef(name=name):
            return names.get(name, expression)
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(_renamed(argument, names) for argument in arguments))
    return expression


class Leaf:
    """The released numbers of one plan, the law of each one's noise, and the intervals of each alone."""

    def __init__(
        self,
        plan: Plan,
        sums: Mapping[Place, Floats],
        base: Mapping[str, Any],
        bars: Callable[[list[int], float], SeriesBars],
        noises: Sequence[Hashable],
        *,
        independent: bool = True,
    ) -> None:
        self.plan, self.sums, self.base, self.bars = plan, sums, base, bars
        self.noises = noises
        """What distinguishes the noises of rows: the release and the group."""
        self.independent = independent
        """Whether the noises of different rows are independent."""
        self.readings = {reading.name: reading for reading in plan.readings}

    def line(self, reading: Reading) -> list[tuple[Place, float]] | None:
        """Return the sums that an aggregate is a weighted sum of; None where it is none."""
        if not self.independent or self.plan.covers == "bounding":
            return None
        factor = reading.aggregate.linear
        if factor is not None:
            return [(reading.places[0], float(factor))]
        if isinstance(reading.aggregate, CentredTotal):
            argument = reading.aggregate.argument
            factors = (float(argument.centred().step), float(argument.middle))
            return list(zip(reading.places, factors, strict=True))
        return None

    def terms(self, reading: Reading, row: int) -> tuple[float, list[tuple[Hashable, Law, float]]] | None:
        """Return the value of an aggregate in a row, and the noises that it is a weighted sum of: their names, their
        laws and how many times each counts; None where it is no such sum.
        """
        line = self.line(reading)
        if line is None:
            return None
        value, noises = 0.0, []
        for place, times in line:
            value += times * float(self.sums[place][row])
            if place in reading.noisy:
                noises.append(((self.noises[row], place), self.plan.law(place), times))
        return value, noises  # type: ignore[return-value]

    def computed(self, reading: Reading) -> bool:
        """Whether an aggregate is computed from noisy sums, and can be computed anew from others."""
        own = reading.aggregate
        return self.independent and not (own.chosen or own.ranked or reading.has_presence)

    def bias(self, name: str) -> Bias:
        """Return to which sides bounding can move an aggregate."""
        return Bias(*self.plan.bias(ColumnRef(name)))


class Intervals:
    """The intervals of cells by their origins, each at a tail."""

    def __init__(self, leaves: Sequence[Leaf], tail: float) -> None:
        self.leaves, self.tail = leaves, tail
        self._shapes: set[Hashable] = set()
        self._totals: dict[tuple[int, float], tuple[float, float, float]] = {}
        self._kept: list[Origin] = []  # origins known by identity must stay alive
        self._sides: dict[int, Bias] = {}

    def bars(self, origins: Sequence[Origin], tail: float | None = None) -> Bars:
        """Return the intervals of several cells, and their standard errors, NaN where there is none."""
        import numpy as np

        tail = self.tail if tail is None else tail
        ends = [np.full(len(origins), math.nan) for _ in range(3)]
        cells: dict[tuple[int, str], list[int]] = {}
        formulas: dict[Hashable, list[int]] = {}
        for place, origin in enumerate(origins):
            match origin:
                case Cell(leaf=leaf, reading=reading):
                    cells.setdefault((leaf, reading), []).append(place)
                case Formula(expression=expression):
                    formulas.setdefault(expression, []).append(place)
                case _:
                    interval = self._one(origin, tail)
                    for column, value in zip(ends, interval, strict=True):
                        column[place] = value
        for (leaf, reading), places in cells.items():
            rows = [origins[place].row for place in places]  # type: ignore[union-attr]
            values = [self.leaves[leaf].base[reading][row] for row in rows]
            series = self.leaves[leaf].bars(rows, tail).series(reading, values, ColumnRef(reading), "number")
            for column, numbers in zip(ends, (series.low, series.high, series.error), strict=True):
                column[places] = math.nan if numbers is None else numbers
            if series.low is None:
                ends[0][places], ends[1][places] = -math.inf, math.inf
        for places in formulas.values():
            made = self._formulas([origins[place] for place in places], tail)  # type: ignore[misc]
            for column, drawn in zip(ends, (made.low, made.high, made.error), strict=True):
                column[places] = drawn
        return Bars(*ends)

    def _one(self, origin: Origin, tail: float) -> tuple[float, float, float]:
        known = self._totals.get((id(origin), tail))
        if known is not None:
            return known
        match origin:
            case WeightedSum():
                interval = self._total(origin, tail)
            case Rising(of=of, parts=parts):
                noisy = [part for part in parts if not isinstance(part, float)]
                bars = self.bars(noisy, tail / max(1, len(noisy)))
                low, high = iter(bars.low.tolist()), iter(bars.high.tolist())
                lows = [part if isinstance(part, float) else next(low) for part in parts]
                highs = [part if isinstance(part, float) else next(high) for part in parts]
                null = any(math.isnan(end) for end in (*lows, *highs))
                interval = (-math.inf, math.inf, math.nan) if null else (of(lows), of(highs), math.nan)
            case AtLeast(low=least):
                interval = (least, math.inf, math.nan)
            case _:
                interval = (-math.inf, math.inf, math.nan)
        self._totals[id(origin), tail] = interval
        self._kept.append(origin)
        return interval

    # --- sums -------------------------------------------------------------------------------------------------------

    def add_noises(self, origin: Origin, factor: float, found: dict[Hashable, tuple[Law, float]]) -> float | None:
        """Add the noises of a released number, times a factor, to those found; return its own value times it.

        None where it is no weighted sum of noisy sums.
        """
        if not isinstance(origin, Cell):
            return None
        leaf = self.leaves[origin.leaf]
        made = leaf.terms(leaf.readings[origin.reading], origin.row)
        if made is None:
            return None
        value, noises = made
        for name, law, times in noises:
            _, before = found.get(name, (law, 0.0))
            found[name] = (law, before + factor * times)
        return factor * value

    def _total(self, origin: WeightedSum, tail: float) -> tuple[float, float, float]:
        """Return the interval of a weighted sum.

        Guarantee: noises that are told apart are independent, and those of one name are one noise; so the half-width is
        that of their sum. What is no sum of noises is taken at the ends of its own interval, for its part of the tail.
        """
        noises: dict[Hashable, tuple[Law, float]] = {}
        others: list[tuple[Origin, float]] = []
        center, least, most = origin.offset, origin.offset, origin.offset
        for term, factor in origin.terms:
            value = self.add_noises(term, factor, noises)
            if value is None:
                others.append((term, factor))
                continue
            center += value
            low, high = self._ends(term)
            least += min(factor * low, factor * high)
            most += max(factor * low, factor * high)
        share = tail / (len(others) + (1 if noises else 0)) if others else tail
        half, error = self.half_width_of(list(noises.values()), share) if noises else (0.0, 0.0)
        low, high = max(center - half, least), min(center + half, most)
        low, high = min(low, most), max(high, least)
        if others:
            bars = self.bars([rest for rest, _ in others], share)
            factors = [factor for _, factor in others]
            for factor, start, other in zip(factors, bars.low.tolist(), bars.high.tolist(), strict=True):
                if factor:
                    low += min(factor * start, factor * other)
                    high += max(factor * start, factor * other)
            error = math.nan
        if math.isnan(low) or math.isnan(high):
            return -math.inf, math.inf, math.nan
        return low, high, error

    def _ends(self, origin: Origin) -> tuple[float, float]:
        if isinstance(origin, Cell):
            low, high = self.leaves[origin.leaf].readings[origin.reading].aggregate.ends
            return float(low), float(high)
        return -math.inf, math.inf

    def half_width_of(self, noises: Sequence[tuple[Law, float]], tail: float) -> tuple[float, float]:
        """Return how far a weighted sum of independent noises reaches at a tail, and its standard deviation."""
        import numpy as np

        law = self._law(noises, tail)
        return float(half_width(law, law, np.zeros(1), tail)[0]), law.deviation

    def _law(self, noises: Sequence[tuple[Law, float]], tail: float) -> Law:
        """Return the law of a weighted sum of independent noises; the law returned is never narrower at the tail.

        Sums of Laplace noises lie between Laplace and Gaussian noise of their variance.
        """
        kept = [(law, abs(factor)) for law, factor in noises if law.scale and factor]
        if not kept:
            return Law("gaussian", 0.0)
        if len(kept) == 1:
            return kept[0][0].times(kept[0][1])
        step = max(law.step * factor for law, factor in kept)
        if all(law.family == "gaussian" for law, _ in kept):
            variance = math.fsum((law.deviation**2 + law.step**2 / 12) * factor**2 for law, factor in kept)
            return Law("gaussian", math.sqrt(variance), step)
        scales: dict[float, int] = {}
        plain = all(law.family == "laplace" and law.parts == (1.0,) and not law.mixed for law, _ in kept)
        for law, factor in kept:
            scale = float(f"{law.scale * factor:.9g}")
            scales[scale] = scales.get(scale, 0) + 1
        shape = tuple(sorted(scales.items()))
        if plain and (shape in self._shapes or len(self._shapes) < MOST_SHAPES) and len(shape) <= 64:
            self._shapes.add(shape)
            return mixed(shape, step)
        deviation = math.sqrt(math.fsum((law.deviation * factor) ** 2 for law, factor in kept))
        gaussian = Law("gaussian", deviation, step)
        laplace = Law("laplace", deviation / math.sqrt(2), step)
        wider = max(1.0, laplace.reach(tail) / gaussian.reach(tail))
        return Law("gaussian", deviation * wider, step)

    # --- formulas ---------------------------------------------------------------------------------------------------

    def _formulas(self, formulas: Sequence[Formula], tail: float) -> Bars:
        """Return the intervals of formulas of one expression, by computing it anew under the noise of its numbers."""
        import numpy as np

        ends = [np.full(len(formulas), sign * math.inf) for sign in (-1, 1)]
        error = np.full(len(formulas), math.nan)
        made = [self._drawn(formula, tail) for formula in formulas]
        groups: dict[Hashable, list[int]] = {}
        for place, drawn in enumerate(made):
            if drawn is not None:
                groups.setdefault(drawn.shape, []).append(place)
        for places in groups.values():
            for start in range(0, len(places), _BLOCK):
                some = places[start : start + _BLOCK]
                bars = self._computed([(formulas[place], made[place]) for place in some])  # type: ignore[misc]
                ends[0][some], ends[1][some], error[some] = bars.low, bars.high, bars.error
        return Bars(ends[0], ends[1], error)

    def _drawn(self, formula: Formula, tail: float) -> _Drawn | None:
        """Return the independent noises of a formula, with how much of each is in every input; None where unknown."""
        lines: dict[str, tuple[float, dict[Hashable, tuple[Law, float]]]] = {}
        computed: dict[str, tuple[Leaf, Reading, int]] = {}
        boxes: dict[str, Origin] = {}
        for name, origin in formula.inputs:
            noises: dict[Hashable, tuple[Law, float]] = {}
            line = as_sum(origin)
            values = [self.add_noises(term, factor, noises) for term, factor in line.terms]
            if all(value is not None for value in values):
                lines[name] = (math.fsum(value or 0.0 for value in values) + line.offset, noises)
                continue
            if isinstance(origin, Cell):
                leaf = self.leaves[origin.leaf]
                reading = leaf.readings[origin.reading]
                if leaf.computed(reading):
                    computed[name] = (leaf, reading, origin.row)
                    continue
            boxes[name] = origin
        # noises that are in each input as often as each other are one, the sum of them; one that an aggregate is
        # computed from stays separate
        alone = {(leaf.noises[row], place) for leaf, reading, row in computed.values() for place in reading.noisy}
        names = list(lines)
        together: dict[Hashable, list[tuple[Law, float]]] = {}
        every = {which: law for _, noises in lines.values() for which, (law, _) in noises.items()}
        for key, law in every.items():
            factors = tuple(lines[name][1].get(key, (law, 0.0))[1] for name in names)
            together.setdefault((factors, key) if key in alone else (factors, None), []).append((law, 1.0))
        laws: list[Law] = []
        parts: list[tuple[tuple[float, ...], Hashable]] = []
        for (factors, key), group in together.items():  # type: ignore[misc]
            laws.append(self._law(group, tail))
            parts.append((factors, key))
        drawn = {which for _, which in parts}
        for leaf, reading, row in computed.values():
            for place in reading.noisy:
                if (leaf.noises[row], place) not in drawn:
                    drawn.add((leaf.noises[row], place))
                    laws.append(leaf.plan.law(place))
                    parts.append(((0.0,) * len(names), (leaf.noises[row], place)))
        if len(laws) > MOST_NOISES or len(boxes) > MOST_BOXES:
            return None
        share = tail / (1 + len(boxes)) if boxes else tail
        corners: dict[str, tuple[float, float]] = {}
        if boxes:
            bars = self.bars(list(boxes.values()), share)
            corners = dict(zip(boxes, zip(bars.low.tolist(), bars.high.tolist(), strict=True), strict=True))
            if any(not math.isfinite(end) for pair in corners.values() for end in pair):
                return None
        centers = {name: value for name, (value, _) in lines.items()}
        return _Drawn(laws, parts, centers, computed, corners, share)

    def _computed(self, pairs: Sequence[tuple[Formula, _Drawn]]) -> Bars:
        import numpy as np

        first, model = pairs[0]
        points = points_for(len(pairs), model.tail) // 2
        columns: dict[str, list[NDArray[Any]]] = {}
        size = 2 * points + 1
        deep = np.zeros(size)
        for place, (formula, drawn) in enumerate(pairs):
            half = noise_points(drawn.laws, points)
            noise = [np.concatenate((each, -each, np.zeros(1))) for each in half]
            deep = deep if place else depths(drawn.laws, noise or [np.zeros(size)])
            for name, values in drawn.columns(formula, noise, size).items():
                columns.setdefault(name, []).append(values)
        noisy: dict[str, Kind] = {name: "number" for name, _ in first.inputs}
        kinds = {**first.kinds, **noisy}
        every: list[Bars] = []
        for corner in product(*((0, 1) for _ in model.corners)):
            table: dict[str, Any] = {name: np.concatenate(values) for name, values in columns.items()}
            for name, side in zip(model.corners, corner, strict=True):
                table[name] = np.concatenate([np.full(size, drawn.corners[name][side]) for _, drawn in pairs])
            for name in [name for name, values in table.items() if values.dtype.kind == "O"]:
                table[name] = table[name].tolist()
            values = np.asarray(evaluate(first.expression, table, kinds), dtype=np.float64)
            every.append(derived_bars(values.reshape(len(pairs), size), deep, tail=model.tail))
        low = np.fmin.reduce([bars.low for bars in every])
        high = np.fmax.reduce([bars.high for bars in every])
        return Bars(low, high, every[0].error if not model.corners else np.full_like(low, np.nan))

    # --- bounding ---------------------------------------------------------------------------------------------------

    def side(self, origin: Origin) -> Bias:
        """Return to which sides bounding can move a cell."""
        known = self._sides.get(id(origin))
        if known is None:
            known = self._sides[id(origin)] = self._side(origin)
            self._kept.append(origin)
        return known

    def _side(self, origin: Origin) -> Bias:
        match origin:
            case Cell(leaf=leaf, reading=reading):
                return self.leaves[leaf].bias(reading)
            case WeightedSum(terms=terms):
                sides = {(self.side(term), factor < 0) for term, factor in terms}
                turned = [Bias(side.high, side.low) if negative else side for side, negative in sides]
                return Bias(any(side.low for side in turned), any(side.high for side in turned))
            case Rising(parts=parts):
                sides_of = [self.side(part) for part in parts if not isinstance(part, float)]
                return Bias(any(side.low for side in sides_of), any(side.high for side in sides_of))
            case Formula(expression=expression, inputs=inputs):
                positive = {name for name, inner in inputs if self._never_negative(inner)}
                return moved(expression, {name: self.side(inner) for name, inner in inputs}, positive)
        return Bias()

    def _never_negative(self, origin: Origin) -> bool:
        if isinstance(origin, WeightedSum):
            return origin.offset >= 0 and all(
                factor >= 0 and self._never_negative(term) for term, factor in origin.terms
            )
        return self._ends(origin)[0] >= 0


@dataclass(frozen=True)
class _Drawn:
    """The independent noises of one formula, and how its inputs are made of them."""

    laws: list[Law]
    parts: list[tuple[tuple[float, ...], Hashable]]
    centers: Mapping[str, float]
    computed: Mapping[str, tuple[Leaf, Reading, int]]
    corners: Mapping[str, tuple[float, float]]
    tail: float

    @property
    def shape(self) -> Hashable:
        """What formulas have in common that are computed together: how their noises are spread, but for the scale."""
        laws = tuple((law.family, law.parts, getattr(law, "_shape", None), law.scale > 0) for law in self.laws)
        return laws, tuple(self.centers), tuple(self.computed), tuple(self.corners)

    def columns(self, formula: Formula, noise: Sequence[Floats], size: int) -> dict[str, NDArray[Any]]:
        """Return the inputs under each point of the noise, and the values given beside them."""
        import numpy as np

        columns: dict[str, NDArray[Any]] = {}
        for place, (name, center) in enumerate(self.centers.items()):
            values = np.full(size, center)
            for (factors, _), draws in zip(self.parts, noise, strict=True):
                values = values + factors[place] * draws
            columns[name] = values
        by_name = {key: values for (_, key), values in zip(self.parts, noise, strict=True) if key is not None}
        for name, (leaf, reading, row) in self.computed.items():
            sums = [
                np.full(size, float(leaf.sums[place][row]))
                + (0.0 if place in reading.known else by_name[leaf.noises[row], place])
                for place in reading.places
            ]
            columns[name] = np.asarray(reading.aggregate.read(*sums), dtype=np.float64)
        for name, value in formula.given:
            kind = formula.kinds[name]
            if kind in ("integer", "number") and value is not None:
                columns[name] = np.full(size, value, dtype=np.float64 if kind == "number" else np.int64)
            else:
                columns[name] = np.full(size, value, dtype=object)
        return columns
