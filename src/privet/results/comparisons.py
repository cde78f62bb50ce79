"""What follows from the numbers of an answer, at no cost: intervals that cover a population, and comparisons of two.

People are drawn independently of each other; rows of one person are not. What one person weighs in a group is bounded
by C, and the factor C on the variance of rows covers whatever their rows have in common: nothing more needs to be
released, and it is conservative where people have fewer rows, or rows that differ. Of numbers that are weighted sums of
released ones, what two share is counted once: answers of one list may be read from the same measurements, so that their
noises are dependent. Uses released numbers and public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.aggregates import Aggregate
from privet.aggregates.aggregate import SampleSums
from privet.answer import RECONSTRUCTED, ComparedNumber, Series
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.estimate import Covers, Estimate
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.scan import Largest, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.inference.bars import Bars, Law
from privet.inference.contrast import Alternative, Contrast
from privet.inference.equation import Equation
from privet.inference.finding import Finding
from privet.planner.plan import Known, Place, Plan, Reading
from privet.query.expressions import mentions
from privet.query.resolve import linear_in
from privet.release import Released

from .origins import UNKNOWN, Intervals, Leaf, Origin, as_sum

if TYPE_CHECKING:
    from privet.core.event import Floats


_NOT_A_NUMBER = "it is a date, a timestamp or a label; intervals for a population are of numbers"
_WINDOWS = (
    "covers='population' needs people who are independent of each other, and rows of one person in different windows "
    "of time, or of people who are protected as a group, are not; protect whole people, each by itself"
)


def weight_in(scan: Scan, cells: int = 1) -> float:
    """Return the design effect C: what one unit weighs in this many cells of a scan together, at most, in rows.

    Guarantee: with w its weight and n(g) its rows in a cell, the sum of w n(g) over the cells is at most the limit of
    an L1 norm, and at most sqrt(cells) times that of an L2 norm; a unit that counts once in a cell weighs at most 1.
    """
    match scan.bounding:
        case Once():
            return 1.0
        case Norm(order=1, limit=limit):
            most = float(limit)
        case Norm(limit=squared):
            most = math.sqrt(squared * cells)
        case Truncate(groups=groups, rows=rows):
            return float(rows * min(cells, groups))
        case Largest() | Pairs():
            raise InvariantError("chosen and different values have no sampling error of their own")
    return min(most, float(cells)) if scan.distinct else most


@dataclass(frozen=True, eq=False)
class PopulationReader:
    """What an answer released, for the intervals of its columns that cover a population."""

    plan: Plan
    sums: Mapping[Place, Floats]
    chosen: Sequence[int]
    meanings: Mapping[str, Expression]
    series: Mapping[str, Series]
    confidence: float

    def estimates(self, column: str) -> tuple[Estimate, ...]:
        """Return each number of a column with an interval that covers the population, and its estimand in words."""
        import numpy as np

        shown = self.series[column]
        values = [math.nan if value is None else float(value) for value in _numbers(shown, column)]
        bars, words = self._bars(column, 1 - self.confidence)
        low, high = np.minimum(bars.low, values), np.maximum(bars.high, values)  # the number itself is not ruled out
        return tuple(
            Estimate(value=value, low=a, high=b, confidence=self.confidence, standard_error=error, covers=words)
            for value, a, b, error in zip(values, low.tolist(), high.tolist(), bars.error.tolist(), strict=True)
        )

    def _bars(self, column: str, tail: float) -> tuple[Bars, str]:
        meaning = self.meanings[column]
        used = self._used(meaning, column)
        if self.plan.covers == "population":
            return _drawn(self.series[column]), self.words("quantile", used)
        parts = _linear_parts(meaning)
        if parts is None or len(parts[0]) == 1:
            equation, noun, own = self.equation(column)
            bars = equation.bars(tail)
            if own is not None:
                noun = "standard deviation"
                ends = (own.from_equation(bars.low), own.from_equation(bars.high))
                slope = own.from_equation(equation.value + bars.error) - own.from_equation(equation.value)
                bars = Bars(*ends, slope)
            return bars, self.words(noun, used)
        return self._added(parts, tail), self.words("difference" if len(used) > 1 else "number", used)

    def _added(self, parts: tuple[dict[str, float], float], tail: float) -> Bars:
        """Return intervals of a weighted sum of several aggregates of a row, each at its part of the tail.

        Guarantee: all of them hold together but for the sum of their tails, and with them the sum.
        """
        import numpy as np

        terms, offset = parts
        low = high = np.full(len(self.chosen), offset)
        error = np.zeros(len(self.chosen))
        for name, factor in terms.items():
            own = self._readings[name].aggregate
            bars = self._of_reading(self._readings[name]).bars(tail / len(terms))
            ends = [factor * own.from_equation(end) for end in (bars.low, bars.high)]
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
            error = error + abs(factor) * bars.error
        return Bars(low, high, error)

    def equation(
        self, column: str, cells: int = 1, *, population: bool = True
    ) -> tuple[Equation, str, Aggregate | None]:
        """Return a column as an estimating equation, what it is called, and the aggregate that it is a function of.

        The last is None where the equation is about the column itself. `cells` is how many groups are looked at
        together. Without `population`, it is about the rows that were asked about, and the noise alone errs.

        Raises:
            Unsupported: no such equation is known; the message states what to ask instead.
        """
        if column not in self.meanings:
            raise Unsupported(f"{column!r} has no noise, and so no interval")
        _numbers(self.series[column], column)
        meaning = self.meanings[column]
        self._used(meaning, column, population=population)
        if not population:
            equation, noun, curved = self._equation(column, meaning, cells)
            return equation.of_sample, noun, curved
        return self._equation(column, meaning, cells)

    def _equation(self, column: str, meaning: Expression, cells: int) -> tuple[Equation, str, Aggregate | None]:
        line = linear_in(meaning)
        if line is not None:
            reading = self._readings[line.column]
            own, equation = reading.aggregate, self._of_reading(reading, cells)
            factor, offset = float(line.factor), float(line.offset)
            if (factor, offset) == (1.0, 0.0):
                return equation, own.estimand, own if own.curved else None
            if not own.curved:
                return equation.moved(factor, offset), own.estimand, None
        elif isinstance(meaning, Call) and (ratio := _ratio(meaning)) is not None:
            return (*self._ratio(*ratio, cells), None)
        raise Unsupported(
            f"this is for aggregates, weighted sums and ratios of them, and {column!r} is something else; ask for what "
            f"it is made of"
        )

    def compare(
        self,
        one: ComparedNumber,
        other: ComparedNumber,
        *,
        covers: Covers,
        alternative: Alternative,
        margin: float | None,
    ) -> Finding:
        """Return how two numbers compare, the first of which is of this reader."""

        return compared(one, other, covers=covers, alternative=alternative, margin=margin)

    def words(self, noun: str, used: Sequence[Reading]) -> str:
        """Return what an interval covers, with its estimand."""
        return f"the noise, and sampling from a population, {self.estimand(noun, used)}"

    def estimand(self, noun: str, used: Sequence[Reading]) -> str:
        """Return the estimand: over people, a weighted number, with the limit on what each of them counts."""
        scans = [self.plan.passes[place[0]].scan for reading in used for place in reading.noisy]
        scans = scans or [self.plan.passes[0].scan]
        if all(scan.schema.unit.rowwise for scan in scans):
            return f"of the {noun}, rows being drawn independently"
        most = max(weight_in(scan) for scan in scans)
        counted = "counting once" if most == 1 and all(scan.distinct for scan in scans) else _rows(most)
        expected = "expected " if noun.startswith("expected ") else ""
        return f"of the {expected}weighted {noun.removeprefix(expected)}, each person {counted}"

    def used(self, column: str) -> list[Reading]:
        """Return the aggregates that a column is made of."""
        return self._used(self.meanings[column], column)

    def _used(self, meaning: Expression, column: str, *, population: bool = True) -> list[Reading]:
        what = "covers='population'" if population else "compare"
        used = [self._readings[name] for name in sorted(mentions(meaning) & self._readings.keys())]
        if not used or mentions(meaning) - self._readings.keys():
            raise Unsupported(f"{what} is for what is computed from aggregates alone, and {column!r} is not")
        for reading in used:
            own = reading.aggregate
            if own.ranked and not population:
                raise Unsupported(
                    f"compare is not for {column!r}: the intervals of quantiles are drawn, and their differences have "
                    f"no known law; compare means, or shares below a value"
                )
            if own.ranked and own.extreme:
                raise Unsupported(
                    f"{what} is not for {column!r}: the ends of a sample are no estimate of those of a "
                    f"population; ask for a quantile near the end, such as QUANTILE(x, 0.99)"
                )
            if own.unsampled is not None and not (own.ranked and self.plan.covers == "population"):
                raise Unsupported(f"{what} is not for {column!r}: {own.unsampled}")
        if population and any(pass_.scan.schema.unit.touches > 1 for pass_ in self.plan.passes):
            raise Unsupported(_WINDOWS)
        if self.plan.covers == "bounding":
            raise Unsupported(
                "these intervals cover what bounding removes; ask again with covers='noise', which costs nothing, for "
                "intervals that cover a population"
            )
        return used

    @property
    def _readings(self) -> dict[str, Reading]:
        return {reading.name: reading for reading in self.plan.readings}

    def _of_reading(self, reading: Reading, cells: int = 1) -> Equation:
        own, places = reading.aggregate, reading.places
        first = next((place[0] for place in reading.noisy), 0)
        laws = tuple(self.plan.law(place) for place in places)
        sums = tuple(self.sums[place][self.chosen] for place in places)
        beside = tuple(self._beside(first, total) for total in own.beside())
        most = weight_in(self.plan.passes[first].scan, cells)
        return own.equation(SampleSums(sums, laws, most, beside))

    def _beside(self, place: int, total: Sum) -> tuple[Floats, Law] | None:
        """Return another sum of the same pass, if it was released and is read."""
        for reading in self.plan.readings:
            for wanted, at in zip(reading.aggregate.sums(), reading.places, strict=False):
                if wanted == total and (isinstance(at, Known) or at[0] == place):
                    return self.sums[at][self.chosen], self.plan.law(at)
        return None

    def _ratio(self, top: tuple[str, float], bottom: tuple[str, float], cells: int) -> tuple[Equation, str]:
        """Return the ratio of two sums or counts of one row, by Fieller's residual.

        A number of rows N below, of which each row above is one: sum w (a - theta)^2 = Q - theta^2 N there at the true
        theta, with Q the sum of w a^2: for counts Q = theta N. Of any two others, sum w (a - theta b)^2 is at most
        2 sum w a^2 + 2 theta^2 sum w b^2.
        """
        import numpy as np

        above, other = (self._readings[name] for name, _ in (top, bottom))
        for reading in (above, other):
            if reading.aggregate.linear is None and not reading.aggregate.steady:
                raise Unsupported(
                    "covers='population' is for ratios of counts and sums; ask for the two numbers of this one by "
                    "themselves"
                )
        a, b = self._of_reading(above, cells), self._of_reading(other, cells)
        noise = (*a.noise, *(replace(term, constant=term.slope, slope=-term.constant) for term in b.noise))
        factor = top[1] / bottom[1]
        if _part_of(above, other):
            most = max(weight_in(pass_.scan, cells) for pass_ in self.plan.passes if pass_.plain)
            rows, counts = np.maximum(b.top, 0.0), above.aggregate.counts
            spread = (a.spread[0], a.spread[1] * rows, a.spread[2] * rows**2 - most * rows)
            ends = (0.0, 1.0) if counts else (a.low, a.high)
            share = Equation(a.top, b.top, noise, spread, *ends)
            return share.moved(factor, 0.0), "share" if counts else "ratio"
        variances = [np.maximum(side.variance(side.value), 0.0) for side in (a, b)]
        none = np.zeros_like(a.top)
        low = 0.0 if a.low >= 0 and b.low >= 0 else -math.inf
        ratio = Equation(a.top, b.top, noise, (2 * variances[0], none, 2 * variances[1]), low, math.inf)
        return ratio.moved(factor, 0.0), "ratio"


def _numbers(series: Series, column: str) -> tuple[Any, ...]:
    if series.low is None or not all(value is None or isinstance(value, int | float) for value in series.values):
        raise Unsupported(f"covers='population' is not for {column!r}: {_NOT_A_NUMBER}")
    return series.values


def _drawn(series: Series) -> Bars:
    import numpy as np

    none = np.full(len(series.values), np.nan)
    return Bars(np.asarray(series.low, dtype=np.float64), np.asarray(series.high, dtype=np.float64), none)


def _rows(most: float) -> str:
    return "counting at most 1 row" if most == 1 else f"counting at most {most:.4g} rows"


def _part_of(one: Reading, other: Reading) -> bool:
    """Whether the second counts rows of one pass, and the first counts some of them, or sums over them."""
    whole, *more = other.aggregate.sums()
    plain = other.aggregate.counts and whole.expression is None and not more
    part = one.aggregate.sums()[0]
    passes = {place[0] for reading in (one, other) for place in reading.noisy}
    return plain and len(passes) == 1 and _conditions(whole.where) <= _conditions(part.where)


def _conditions(where: Expression | None) -> set[Expression]:
    match where:
        case None:
            return set()
        case Call(function="and", arguments=arguments):
            return set().union(*map(_conditions, arguments))
    return {where}


def _linear_parts(expression: Expression) -> tuple[dict[str, float], float] | None:
    """Return a weighted sum of columns, and a constant, where an expression is one."""
    match expression:
        case ColumnRef(name=name):
            return {name: 1.0}, 0.0
        case Literal(value=bool()):
            return None
        case Literal(value=int() | Fraction() as value):
            return {}, float(value)
        case Call(function="to_number", arguments=(inner,)):
            return _linear_parts(inner)
        case Call(function="negate", arguments=(inner,)):
            return _times(_linear_parts(inner), -1.0)
        case Call(function="add" | "subtract" as function, arguments=(first, second)):
            left, right = _linear_parts(first), _times(_linear_parts(second), 1.0 if function == "add" else -1.0)
            if left is None or right is None:
                return None
            terms = {name: left[0].get(name, 0.0) + right[0].get(name, 0.0) for name in {**left[0], **right[0]}}
            return terms, left[1] + right[1]
        case Call(function="multiply", arguments=(first, second)):
            left, right = _linear_parts(first), _linear_parts(second)
            if left is None or right is None or (left[0] and right[0]):
                return None
            return _times(left, right[1]) if left[0] else _times(right, left[1])
        case Call(function="divide", arguments=(first, second)):
            left, right = _linear_parts(first), _linear_parts(second)
            return None if left is None or right is None or right[0] or not right[1] else _times(left, 1 / right[1])
    return None


def _times(parts: tuple[dict[str, float], float] | None, factor: float) -> tuple[dict[str, float], float] | None:
    return None if parts is None else ({name: factor * number for name, number in parts[0].items()}, factor * parts[1])


def _ratio(expression: Call) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """Return the two columns of a ratio, each with its factor, where an expression is one."""
    match expression:
        case Call(function="to_number", arguments=(Call() as inner,)):
            return _ratio(inner)
        case Call(function="multiply", arguments=(Call() as inner, other)) if not mentions(other):
            ratio, factor = _ratio(inner), _linear_parts(other)
            return None if ratio is None or factor is None else ((ratio[0][0], ratio[0][1] * factor[1]), ratio[1])
        case Call(function="multiply", arguments=(other, Call() as inner)) if not mentions(other):
            return _ratio(Call("multiply", (inner, other)))
        case Call(function="divide", arguments=(first, second)):
            sides = [_linear_parts(_within_null(side)) for side in (first, second)]
            single = [side for side in sides if side is not None and len(side[0]) == 1 and not side[1]]
            if len(single) == 2:
                (top,), (bottom,) = (tuple(side[0].items()) for side in single)
                return top, bottom
    return None


def _within_null(expression: Expression) -> Expression:
    """Return x of NULLIF(x, 0), which is NULL only where there is nothing to divide by."""
    match expression:
        case Call(function="nullif", arguments=(inner, Literal(value=0))):
            return inner
    return expression


_SAME_PEOPLE = 2.0
"""Errors of two answers by sampling may go together, as people may be in both: (a + b)^2 <= 2 a^2 + 2 b^2."""


def compared(
    one: ComparedNumber, other: ComparedNumber, *, covers: Covers, alternative: Alternative, margin: float | None
) -> Finding:
    """Return the difference and the ratio of two numbers, with intervals and the p-value that they are equal.

    Guarantee: rows of one release have independent noise, and so have two releases. People may be in both groups of an
    answer: what one weighs in both together bounds that. They may be in both answers too, whatever these are about:
    then variances by sampling are doubled.

    Raises:
        RequestError: it is one and the same number, or two answers of one charge, whose noise may be shared.
    """
    readers = _reader(one), _reader(other)
    places = [reader.chosen[each.row] for reader, each in zip(readers, (one, other), strict=True)]
    charged = one.charge == other.charge
    together = charged and one.digest == other.digest and _meaning(readers[0], one) == _meaning(readers[1], other)
    if together and places[0] == places[1]:
        raise RequestError("both are the same released number, whose difference from itself is 0; name another group")
    if charged and not together:
        raise Unsupported("answers of one charge may share their noise; compare groups of one column of one answer")
    confidence = readers[0].confidence
    tail = 1 - confidence
    population = covers == "population"
    cells = 2 if together else 1
    contrast = Contrast(*(_equation(each, cells, population=population) for each in (one, other)))
    if population and not together:
        contrast = Contrast(contrast.one.scaled(_SAME_PEOPLE), contrast.other.scaled(_SAME_PEOPLE))
    words = "the noise"
    if population:
        words = readers[0].words("difference", readers[0].used(one.column))
    low, high = contrast.difference_interval(tail)
    estimates = {
        "difference": Estimate(
            value=contrast.difference,
            low=low,
            high=high,
            confidence=confidence,
            standard_error=contrast.error,
            covers=words,
        )
    }
    if contrast.one.low >= 0 and contrast.other.low >= 0 and contrast.other.value[0] > 0:
        low, high = contrast.ratio_interval(tail)
        estimates["ratio"] = Estimate(
            value=contrast.ratio,
            low=low,
            high=high,
            confidence=confidence,
            standard_error=contrast.ratio_error,
            covers=words.replace("difference", "ratio"),
        )
    hypothesis = f"{one.label} = {other.label}"
    if alternative != "two-sided":
        hypothesis = f"{one.label} {'<=' if alternative == 'greater' else '>='} {other.label}"
    if margin is not None:
        hypothesis = f"{one.label} and {other.label} differ by {margin:g} or more"
    p_value = contrast.p_value(alternative=alternative) if margin is None else contrast.equivalence(margin)
    return Finding(
        name=f"Comparison of {one.label} and {other.label}",
        hypothesis=hypothesis,
        p_value=p_value,
        estimates=estimates,
        method="test inversion by the joint law of the noise" + (" and of sampling" if population else ""),
        assumptions=_assumptions(one, population=population, together=together),
        notes=("It costs nothing: both numbers had been released.",),
    )


def _reader(number: ComparedNumber) -> PopulationReader:
    if not isinstance(number.sampled, PopulationReader):
        raise Unsupported(
            "one of the two is an aggregate as it was released and the other was summed afterwards; ask for both in "
            "one list, ask_all([...]), where they share a release, or for both as groups of one question"
        )
    return number.sampled


def _meaning(reader: PopulationReader, number: ComparedNumber) -> tuple[object, ...]:
    """Return what a column is: its expression, and the aggregates in it with their places."""
    readings = {reading.name: reading for reading in reader.plan.readings}
    meaning = reader.meanings[number.column]
    used = [readings[name] for name in sorted(mentions(meaning) & readings.keys())]
    return meaning, tuple((reading.aggregate, reading.places) for reading in used)


def _equation(number: ComparedNumber, cells: int, *, population: bool) -> Equation:
    equation, _, curved = _reader(number).equation(number.column, cells, population=population)
    if curved is not None:
        raise Unsupported(
            f"{number.column!r} is a root, whose differences have no known law; compare variances: VAR(x)"
        )
    return equation.at([number.row])


def _assumptions(number: ComparedNumber, *, population: bool, together: bool) -> tuple[str, ...]:
    if not population:
        return ("the numbers are those of the rows that were asked about; sampling is not covered",)
    people = "people are drawn independently of each other"
    if all(part.scan.schema.unit.rowwise for part in _reader(number).plan.passes):
        people = "rows are drawn independently of each other"
    more = () if together else ("the same people may be in both answers: variances by sampling are doubled",)
    return (people, *more, "values are clamped to their declared bounds")


Noises = dict[Hashable, tuple[Law, float]]
"""Independent noises by what distinguishes them: the law of each, and how many times it counts."""

_LEAST_TAIL, _MOST_TAIL = 1e-12, 0.999
_STEPS = 60


@dataclass(frozen=True, eq=False)
class SummedNumbers:
    """The numbers of an answer whose rows were summed or reconstructed: of which noises each is a weighted sum."""

    leaves: Sequence[Leaf]
    origins: Mapping[str, Sequence[Origin | None]]
    confidence: float
    released: Released
    """The released numbers, which distinguish releases of different ledgers."""

    def estimates(self, column: str) -> tuple[Estimate, ...]:
        """Refuse: the sampling error of such numbers is not known."""
        raise Unsupported(RECONSTRUCTED)

    def compare(
        self,
        one: ComparedNumber,
        other: ComparedNumber,
        *,
        covers: Covers,
        alternative: Alternative,
        margin: float | None,
    ) -> Finding:
        """Return the difference of two numbers, with an interval and the p-value that they are equal.

        Guarantee: noises of one release and one charge that have one name are one noise, and others are independent; so
        the difference has the law of their sum, each as many times as it counts in one number less in the other.
        """
        if covers == "population":
            raise Unsupported(RECONSTRUCTED)
        noises: Noises = {}
        value = 0.0
        for number, sign in ((one, 1.0), (other, -1.0)):
            value += sign * _noises_of(number, sign, noises)
        left = [(law, factor) for law, factor in noises.values() if abs(factor) > 1e-9]
        if not left:
            raise RequestError("both are the same released number, whose difference from itself is 0; name another")
        tail = 1 - self.confidence
        law = _LawOfSum(left)
        half, deviation = law.half_width(tail)
        difference = Estimate(
            value=value,
            low=value - half,
            high=value + half,
            confidence=self.confidence,
            standard_error=deviation,
            covers="the noise",
        )
        hypothesis = f"{one.label} = {other.label}"
        if margin is not None:
            hypothesis = f"{one.label} and {other.label} differ by {margin:g} or more"
            p_value = max(law.above(margin - value), law.above(margin + value))
        elif alternative == "two-sided":
            p_value = min(1.0, 2 * law.above(abs(value)))
        else:
            hypothesis = f"{one.label} {'<=' if alternative == 'greater' else '>='} {other.label}"
            p_value = law.above(value if alternative == "greater" else -value)
        return Finding(
            name=f"Comparison of {one.label} and {other.label}",
            hypothesis=hypothesis,
            p_value=p_value,
            estimates={"difference": difference},
            method="the joint law of the noise of both numbers",
            assumptions=("the numbers are those of the rows that were asked about; sampling is not covered",),
            notes=("It costs nothing: both numbers had been released.",),
        )


def _noises_of(number: ComparedNumber, sign: float, noises: Noises) -> float:
    """Add the noises of a number, with a sign, to those found, and return its value."""
    reader = number.sampled
    if not isinstance(reader, SummedNumbers):
        raise Unsupported(
            "one of the two is an aggregate as it was released and the other was summed afterwards; ask for both in "
            "one list, ask_all([...]), where they share a release, or for both as groups of one question"
        )
    origin = reader.origins[number.column][number.row]
    intervals = Intervals(reader.leaves, 1 - reader.confidence)
    line = as_sum(UNKNOWN if origin is None else origin)
    value = line.offset
    own: Noises = {}
    for term, factor in line.terms:
        part = intervals.add_noises(term, factor, own)
        if part is None:
            raise Unsupported(
                f"{number.label} is no weighted sum of released sums, so that the law of a difference is not known; "
                f"compare counts or sums"
            )
        value += part
    which = hash(repr(reader.released.sums))
    for name, (law, factor) in own.items():
        key = (number.charge, which, name)
        _, before = noises.get(key, (law, 0.0))
        noises[key] = (law, before + sign * factor)
    return value


class _LawOfSum:
    """The law of a weighted sum of independent symmetric noises."""

    def __init__(self, noises: Sequence[tuple[Law, float]]) -> None:
        self._noises = noises
        self._intervals = Intervals((), 0.5)

    def half_width(self, tail: float) -> tuple[float, float]:
        """Return how far the noise reaches but for a tail, on both sides together, and its standard deviation."""
        return self._intervals.half_width_of(self._noises, tail)

    def above(self, value: float) -> float:
        """Return the probability of noise of at least a value: by bisection, never too small.

        It is half the tail whose half-width is the distance from 0; below 1e-12 it is returned as 1e-12.
        """
        if value <= 0:
            return 1.0 - self.above(-value) if value < 0 else 0.5 if not math.isnan(value) else 1.0
        if self.half_width(_MOST_TAIL)[0] >= value:
            return 0.5
        low, high = math.log(_LEAST_TAIL), math.log(_MOST_TAIL)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self.half_width(math.exp(middle))[0] > value:
                low = middle
            else:
                high = middle
        return min(0.5, math.exp(high) / 2)
