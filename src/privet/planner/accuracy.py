"""How accurate an answer will be, and how accurate it must be: half-widths of intervals, from public facts alone.

The noise of a column that is linear in one sum is the same whatever the data: its price is known in advance. The
widths of other columns, as of AVG, and all widths relative to their values, depend on the data: they are computed for
some numbers of rows n, and as the most they can be, and rounds measure them. Where all groups of a question are
public, the cells that each computed number sums are known before a row is read, and so is its noise.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, InvariantError, RequestError, UnknownName, Unsupported
from privet.core.event import Receipt
from privet.core.numbers import Number, in_digits, open_probability, positive, read_rational, written_decimal
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind
from privet.display import shown_error
from privet.inference.bars import Law, half_width
from privet.inference.levels import mixed
from privet.query.expressions import mentions, prepared
from privet.query.nodes import AggregateCall, OverRows, Query
from privet.query.normal import MICROSECONDS, microseconds
from privet.query.resolve import linear_in, meanings
from privet.query.terms import Width as StatedWidth

from .contributions import largest_limit
from .plan import Known, Limit, Plan, Reading, Target

if TYPE_CHECKING:
    from privet.core.event import Floats

_WIDEST = Fraction(10) ** 300
"""An interval may be asked to be this wide, or as narrow as 1 over it: floats represent all widths between."""

CONFIDENCE = Fraction(19, 20)
"""The confidence level of intervals where none is passed."""

SIZES = (100, 1_000, 10_000, 100_000)
"""The numbers of rows in a group for which widths are stated."""

LIMITS = (1, 10, 100, 1_000)
"""The contribution limits for which widths are stated, where the answer chooses its own."""

TAIL = 0.05

_OVER_ROWS = "computed from released rows; its interval comes with the answer"

_MOST_CELLS = 4096
"""Sums over more cells are not counted in advance."""


@dataclass(frozen=True)
class Reached:
    """The half-width that a column has at the target's confidence, and the one that it may have."""

    column: str
    half_width: Fraction
    wanted: Fraction

    def words(self) -> str:
        """Return the column with its half-width."""
        return f"{self.column} ±{in_digits(float(self.half_width), 4)}"


def read_target(within: StatedWidth | Limit, confidence: Number | None) -> Target:
    """Return the target of a caller: one half-width for all columns, or one for each column that is named."""
    level = CONFIDENCE if confidence is None else open_probability(confidence, "confidence")
    if not 0 < float(level) < 1:
        raise BadParameter(
            "confidence", float(level), "between 0 and 1, and not so near to either that it rounds to it"
        )
    if isinstance(within, Mapping):
        if not within or not all(isinstance(name, str) and name for name in within):
            raise BadParameter("within", within, "a number, or numbers by column, such as {'n': 5, 'cost': '2%'}")
        named = sorted((name, _limit(width, f"within of {name!r}")) for name, width in within.items())
        return Target(None, tuple(named), level)
    return Target(_limit(within, "within"), (), level)


def _limit(width: Number | str | Limit, parameter: str) -> Limit:
    """Return how wide a column may be: a number, or a text such as '2%'."""
    match width:
        case Limit():
            return width
        case str():
            return _part(width, parameter)
    amount = positive(width, parameter)
    if not 1 / _WIDEST <= amount <= _WIDEST:
        raise BadParameter(parameter, width, "a number from 1e-300 to 1e300")
    return Limit(amount)


def _part(width: str, parameter: str) -> Limit:
    allowed = "a number above 0, or a percentage above 0 and below 100 such as '2%'"
    digits, sign, rest = width.strip().partition("%")
    written = written_decimal(digits)
    share = None if written is None else read_rational(written)
    if share is None or not sign or rest or not 0 < share < 100:
        raise BadParameter(parameter, width, allowed)
    return Limit(share / 100, relative=True)


def limited(plan: Plan, target: Target) -> dict[str, Limit]:
    """Return the columns that have a limit, each with its own; refuse names that are none, or have no noise."""
    readings = {reading.name for reading in plan.readings}
    named = meanings(plan.query)
    limits = {}
    for name, _ in target.columns:
        if name not in named:
            raise UnknownName("column", name, named)
        if not mentions(named[name]) & readings:
            raise Unsupported(f"{name!r} has no noise; within= is for columns that have")
    for name, meaning in named.items():
        limit = target.of(name)
        if limit is not None and mentions(meaning) & readings:
            if limit.relative and meaning.function in {"as_date", "as_timestamp"}:
                raise Unsupported(f"{name!r} is a date, of which there are no parts; pass a number of days: within=7")
            limits[name] = limit
    if not limits:
        raise RequestError("no column of this question has noise, so there is nothing that within= could limit")
    return limits


def has_price(plan: Plan, target: Target) -> bool:
    """Whether the price of a target is known in advance: all is absolute, for columns linear in one sum."""
    columns = limited(plan, target)
    return all(not limit.relative and half_width_of(plan, name, 0.5) is not None for name, limit in columns.items())


def half_width_of(plan: Plan, column: str, confidence: float) -> Fraction | None:
    """Return how far from its middle the interval of a column reaches, if that is the same whatever the data."""
    if not all(step.plain for step in plan.query.steps):
        sums = plan.sums
        return None if sums is None else sums.half_width(column, confidence)
    line = linear_in(meanings(plan.query)[column])
    reading = next((candidate for candidate in plan.readings if line and candidate.name == line.column), None)
    if line is None or reading is None:
        return None
    if reading.aggregate.steady:
        laws = [plan.law(place) for place in reading.places]
        wide = reading.aggregate.predicted_width(laws, 1, 1 - confidence)
        return None if wide is None else Fraction(wide) * abs(line.factor)
    if reading.aggregate.linear is None:
        return None
    half = Fraction(plan.noise_within(reading.places[0], confidence))
    return (half + _rounding(plan, reading)) * abs(line.factor) * reading.aggregate.linear


def reached(plan: Plan, target: Target) -> tuple[Reached, ...]:
    """Return the half-widths of the columns that have a target, from public facts alone.

    Guarantee: what is shown is off by no more, as the sums are bounded, at least as often as the confidence says: it is
    the quantile of the very noise that will be drawn, and what rounding may add, times the exact factor of the sum.
    """
    half_widths = []
    for name, limit in limited(plan, target).items():
        half = half_width_of(plan, name, float(target.confidence))
        if half is None or limit.relative:
            raise InvariantError("a width that depends on the data has no price")
        half_widths.append(Reached(name, half, limit.amount))
    return tuple(half_widths)


def excess(plan: Plan, target: Target) -> Fraction:
    """Return the largest half-width of a plan as a multiple of its limit: at most 1 where the target is met."""
    return max(width.half_width / width.wanted for width in reached(plan, target))


def _rounding(plan: Plan, reading: Reading) -> Fraction:
    """Return how far a number is from the noisy sum that it is read from: counts are shown as whole numbers."""
    place = reading.places[0]
    return Fraction(1, 2) if reading.aggregate.counts and plan.is_weighted(place) else Fraction(0)


def facts_of(plan: Plan) -> dict[str, Any] | None:
    """Return the target of a plan, and the widths it reaches, as plain data."""
    if plan.target is None:
        return None
    if plan.rounds > 1:
        wanted = [
            {"column": name, "within": float(limit.amount), "relative": limit.relative}
            for name, limit in limited(plan, plan.target).items()
        ]
        return {"confidence": float(plan.target.confidence), "rounds": plan.rounds, "columns": wanted}
    columns = [
        {"column": width.column, "within": float(width.wanted), "half_width": float(width.half_width)}
        for width in reached(plan, plan.target)
    ]
    return {"confidence": float(plan.target.confidence), "columns": columns}


# Released intervals beside the widths that were asked for. Uses released numbers only.


@dataclass(frozen=True)
class Achieved:
    """The widest interval of a column beside its limit, and in how many of its rows the limit is met."""

    column: str
    limit: Limit
    widest: float
    met: int
    rows: int

    @property
    def reached(self) -> bool:
        """Whether every row is as narrow as asked."""
        return self.met == self.rows

    def words(self) -> str:
        """Return the column with the width that it has."""
        width = "not known to be other than 0" if math.isinf(self.widest) else f"±{self._shown}"
        some = "" if self.rows == 1 else f", and {self.met} of {self.rows} rows are as asked"
        return f"{self.column} is {width} (asked: {self.limit}{some})"

    @property
    def _shown(self) -> str:
        return f"{in_digits(self.widest * 100, 4)}%" if self.limit.relative else f"{in_digits(self.widest, 4)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can represent."""
        return {
            "column": self.column,
            "within": float(self.limit.amount),
            "relative": self.limit.relative,
            "widest": self.widest if math.isfinite(self.widest) else None,
            "met": self.met,
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Accuracy:
    """The outcome of a width that was asked for: the rounds that were paid for, and how narrow the answer is."""

    columns: tuple[Achieved, ...]
    receipts: tuple[Receipt, ...]
    rounds: int
    ended: str = ""
    """Why no further round was carried out, where that is not because of the width or of the maximum."""

    @property
    def reached(self) -> bool:
        """Whether every interval is as narrow as asked; an answer without rows has none that is."""
        return all(column.reached and column.rows for column in self.columns)

    def note(self) -> str:
        """Return a note on whether the width was reached, and otherwise on the answer's width."""
        count = f"{len(self.receipts)} of {self.rounds} rounds"
        if self.reached:
            return f"as narrow as asked after {count}."
        wide = "; ".join(column.words() for column in self.columns if not column.reached or not column.rows)
        why = self.ended or f"the maximum was spent ({count})"
        return f"NOT as narrow as asked: {why}; {wide or 'no row is shown'}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can represent."""
        return {
            "reached": self.reached,
            "rounds": [{"entry": receipt.entry, "digest": receipt.digest} for receipt in self.receipts],
            "most_rounds": self.rounds,
            "columns": [column.to_dict() for column in self.columns],
        }


def achieved(column: str, limit: Limit, values: Sequence[Any], low: Sequence[float], high: Sequence[float]) -> Achieved:
    """Return how narrow the intervals of a column are: how far the further end is from the value.

    As a part, that is divided by the number of the interval that is nearest to 0. So where the interval covers the
    truth, the value is off by no more than that part of the truth, whatever that is.
    """
    widest, met, rows = 0.0, 0, 0
    for value, bottom, top in zip(*map(_in_days, (values, low, high)), strict=True):
        if value is None and (bottom is None or (math.isnan(bottom) and math.isnan(top))):
            continue  # NULL whatever the noise
        rows += 1
        width = _width(value, bottom, top, limit)
        widest = max(widest, width)
        met += width <= float(limit.amount) * (1 + 1e-12)
    return Achieved(column, limit, widest, met, rows)


def _in_days(values: Sequence[Any]) -> list[Any]:
    """Return dates and timestamps as days since 1970, and NaN for the ends that a NULL has; numbers as they are."""
    if not any(isinstance(value, datetime.date) for value in values):
        return [*values]
    return [microseconds(value) / MICROSECONDS if isinstance(value, datetime.date) else value for value in values]


def _width(value: Any, bottom: float, top: float, limit: Limit) -> float:
    if value is None or not all(map(math.isfinite, (value, bottom, top))):
        return math.inf
    half = max(top - value, value - bottom)
    if not limit.relative or not half:
        return float(half)
    nearest = 0.0 if bottom <= 0 <= top else min(abs(bottom), abs(top))
    return math.inf if not nearest else float(half / nearest)


@dataclass(frozen=True)
class Width:
    """The half-width of a column: one number, or one for each of some n; neither for keys and derived columns."""

    column: str
    half_width: float | None = None
    at: tuple[tuple[int, float], ...] = ()
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether the width is a number, or one for each n."""
        return self.half_width is not None or bool(self.at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "at": [{"n": n, "half_width": width} for n, width in self.at]}

    def words(self) -> str:
        """Return the width in words."""
        if self.half_width is not None:
            return f"±{shown_error(self.half_width)}{self.note and f' ({self.note})'}"
        if self.at:
            listed = "; ".join(f"at n = {n:,}: ±{shown_error(width)}" for n, width in self.at)
            return f"{listed}{self.note and f' ({self.note})'}"
        return self.note


def widths(plan: Plan) -> tuple[Width, ...]:
    """Return the half-width of each column of the answer at 95%; of rounds, after all of them, at their target's."""
    if plan.choosing:
        return _by_limit(plan)
    readings = {reading.name: reading for reading in plan.readings}
    columns = []
    if not readings or not all(step.plain for step in plan.query.steps):
        summed = plan.sums if plan.query.steps and not plan.query.lists else None
        if summed is not None:
            return _of_sums(summed)
        return tuple(Width(name, note=_OVER_ROWS if noisy else "without noise") for name, noisy in _over_rows(plan))
    for name, shown in meanings(plan.query).items():
        meaning = shown.arguments[0] if shown.function in ("as_date", "as_timestamp") else shown  # in days
        if meaning.column in readings:
            columns.append(_of_reading(name, readings[meaning.column], plan))
        elif not mentions(meaning) & set(readings):
            columns.append(Width(name, note="without noise"))
        else:
            columns.append(Width(name, note="derived; its interval comes with the answer"))
    return tuple(columns)


def _of_sums(sums: CellSums) -> tuple[Width, ...]:
    """Return the half-widths of columns that are sums of released cells: of several rows, the widest."""
    halves = {name: noise.half_widths(1 - TAIL) for name, noise in sums.noises.items()}
    columns = []
    for name, meaning in meanings(sums.query).items():
        line = linear_in(meaning)
        if line is not None and line.column in halves:
            half = halves[line.column] * float(abs(line.factor))
            alike = half.max() - half.min() <= 1e-6 * half.max()
            columns.append(Width(name, half_width=float(half.max()), note="" if alike else "at most"))
        elif mentions(meaning) & set(halves):
            columns.append(Width(name, note="derived; its interval comes with the answer"))
        else:
            columns.append(Width(name, note="without noise"))
    return tuple(columns)


def _over_rows(plan: Plan) -> list[tuple[str, bool]]:
    """Return the columns of an answer that sums, joins or orders released rows, and whether noise is in each."""
    noisy = {reading.name for reading in plan.readings if reading.noisy}
    shown = [*(key.name for key in plan.query.keys), *(reading.name for reading in plan.readings)]
    for step in plan.query.steps:
        seen = noisy | {name for table in step.beside for name, _ in table.names}
        for over in (*step.aggregates, *step.windows):
            used = [*over.arguments, *over.partition, *(term.expression for term in over.order), over.where]
            if any(mentions(term) & seen for term in used if term is not None):
                seen.add(over.name)
        seen |= {key.name for key in step.keys or () if mentions(key.expression) & seen}
        shown = [output.name for output in step.outputs]
        noisy = {output.name for output in step.outputs if mentions(output.expression) & seen}
    return [(name, name in noisy) for name in shown]


def _by_limit(plan: Plan) -> tuple[Width, ...]:
    """Return the half-widths at some contribution limits, where the answer will choose its own."""
    top = min(largest_limit(plan.passes[place]) for place in plan.choosing)
    limits = [limit for limit in LIMITS if limit <= top]
    every = [widths(replace(_at_limit(plan, limit), covers="noise")) for limit in limits]
    columns = []
    for column in zip(*every, strict=True):
        words = (f"at a limit of {limit:,}: {width.words()}" for limit, width in zip(limits, column, strict=True))
        columns.append(
            replace(column[0], half_width=None, at=(), note="; ".join(words)) if column[0].known else column[0]
        )
    return tuple(columns)


def _at_limit(plan: Plan, limit: int) -> Plan:
    """Return a plan as if its limits were stated, and not to be chosen."""
    made = plan.at_limits(dict.fromkeys(plan.choosing, limit))
    stated = [
        replace(pass_, measure=replace(pass_.sizes, people=None)) if pass_.sizes is not None else pass_
        for pass_ in made.passes
    ]
    return replace(made, passes=tuple(stated))


def heading(plan: Plan) -> str:
    """Return a heading for the half-widths of a plan: their confidence, and the number of rounds."""
    if plan.target is None or plan.rounds == 1:
        return f"{1 - TAIL:.0%} half-width"
    return f"{float(plan.target.confidence):.4g} half-width after all {plan.rounds} rounds"


def tail_of(plan: Plan) -> float:
    """Return how often an interval of a plan may miss: of rounds, each that may be shown, so that all are covered."""
    return TAIL if plan.target is None or plan.rounds == 1 else float((1 - plan.target.confidence) / plan.rounds)


def _of_reading(name: str, reading: Reading, plan: Plan) -> Width:
    if not isinstance(reading.places[0], Known):
        index, column = plan.across(reading.places[0])[-1]
        words = plan.passes[index].measure.width(plan.passes[index].scan, column)
        if words is not None:
            return Width(name, note=words)
    place, factor = reading.places[0], reading.aggregate.linear
    if factor is not None:
        if not reading.noisy:
            return Width(name, half_width=0.0, note="exact: the number is public")
        return Width(name, half_width=plan.noise_within(place, 1 - tail_of(plan)) * float(factor))
    laws = [plan.law(at) for at in reading.places]
    if reading.aggregate.steady:
        return Width(name, half_width=reading.aggregate.predicted_width(laws, 1, tail_of(plan)))
    count = reading.places[-1]
    sizes = (count.value,) if isinstance(count, Known) else SIZES
    predicted = [(n, reading.aggregate.predicted_width(laws, n, tail_of(plan))) for n in sizes]
    known = tuple((n, width) for n, width in predicted if width is not None)
    if not known:
        return Width(name, note="its interval comes with the answer")
    note = "at most" if reading.aggregate.exactly else "roughly, at most"
    if isinstance(count, Known):
        return Width(name, half_width=known[0][1], note=note)
    return Width(name, at=known, note=note)


@dataclass(frozen=True)
class SummedNoise:
    """The noise of several sums: its variance, how much of it the largest term is, and all terms' squared shares."""

    variances: Floats
    largest: Floats
    fourth: Floats
    step: Floats
    pure: bool

    @classmethod
    def of(cls, laws: Sequence[Law], factors: Floats) -> SummedNoise:
        """Return the noise of sums that have a row of factors each, one for each independent noise."""
        import numpy as np

        pure = laws[0].family == "laplace"
        grid = [0.0 if pure else law.step**2 / 12 for law in laws]
        own = np.array([law.deviation**2 + more for law, more in zip(laws, grid, strict=True)])
        parts = factors**2 * own
        total = np.maximum(parts.sum(axis=1), 1e-300)
        steps = np.abs(factors) * np.array([law.step for law in laws])
        return cls(total, parts.max(axis=1) / total, (parts**2).sum(axis=1) / total**2, steps.max(axis=1), pure)

    def half_widths(self, confidence: float) -> Floats:
        """Return how far the noise of each sum reaches with this probability, as its interval does."""
        import numpy as np

        from privet.strategy.laplace_sums import half_widths, sum_widths

        if self.pure:
            wide: Any = sum_widths(confidence, self.largest, self.fourth)
        else:
            wide = half_widths(confidence, "gaussian")
        return np.asarray(np.sqrt(self.variances) * wide + self.step / 2)

    def from_shown(self, confidence: float) -> float:
        """Return how far from the sum that is shown its interval reaches, at most."""
        return float(self.half_widths(confidence).max())


@dataclass(frozen=True)
class EqualSums:
    """The noise of sums of equal noises, this many times each: the numbers of terms, and a factor."""

    law: Law
    terms: tuple[int, ...]
    factor: float
    rounding: float = 0.0
    """How far each term that is shown may be from the one with noise: weighted counts are shown as whole numbers."""

    def half_widths(self, confidence: float) -> Floats:
        """Return how far the noise of each sum reaches with this probability: the very width of its interval."""
        import numpy as np

        laws = map(self._summed, self.terms)
        return np.array([half_width(law, law, np.zeros(1), 1 - confidence)[0] for law in laws]) * self.factor

    def from_shown(self, confidence: float) -> float:
        """Return how far from the sum that is shown its interval reaches, at most."""
        pairs = zip(self.half_widths(confidence).tolist(), self.terms, strict=True)
        return float(max(half + many * self.rounding * self.factor for half, many in pairs))

    def _summed(self, many: int) -> Law:
        law = self.law
        if many == 1 or not law.scale:
            return law
        if law.family == "gaussian":
            return Law("gaussian", math.sqrt((law.deviation**2 + law.step**2 / 12) * many), law.step)
        return mixed(((float(f"{law.scale:.9g}"), many),), law.step)


@dataclass(frozen=True)
class CellSums:
    """A question in which sums of cells stand for aggregates, and the noise of each, by name."""

    query: Query
    noises: Mapping[str, SummedNoise | EqualSums]

    def half_width(self, column: str, confidence: float) -> Fraction | None:
        """Return the largest half-width of a column; None where it is not linear in one sum."""
        line = linear_in(meanings(self.query)[column])
        if line is None or line.column not in self.noises:
            return None
        return Fraction(self.noises[line.column].from_shown(confidence)) * abs(line.factor)


def sums_of_groups(plan: Plan) -> CellSums | None:
    """Return the sums of a question whose first step only adds up public groups; None for any other question.

    The keys of the step, and which groups it keeps, are computed here from the values of public keys.
    """
    first, later = plan.query.steps[0], plan.query.steps[1:]
    sums = first.aggregates
    plain = first.keys is not None and not first.windows and not first.beside and first.having is None
    if not plain or plan.rounds > 1 or plan.discovers or not all(step.plain for step in later):
        return None
    readings = {reading.name: reading for reading in plan.readings}
    added = [readings.get(_summed(total) or "") for total in sums]
    places = [None if reading is None or reading.aggregate.linear is None else reading.places[0] for reading in added]
    if not sums or any(place is None or isinstance(place, Known) for place in places):
        return None
    used = [key.expression for key in first.keys or ()] + ([first.where] if first.where is not None else [])
    cells = _groups(plan)
    if cells is None or any(mentions(expression) & set(readings) for expression in used):
        return None
    kinds = tuple(plan.kinds[key.name] for key in plan.query.keys)
    terms = _terms(plan.query, cells, kinds)
    if not terms:
        return None
    noises = {}
    for total, reading, place in zip(sums, added, places, strict=True):
        if reading is not None and place is not None and reading.aggregate.linear is not None:
            rounded = reading.aggregate.counts and plan.is_weighted(place)
            law, factor = plan.law(place), float(reading.aggregate.linear)
            noises[total.name] = EqualSums(law, terms, factor, 0.5 if rounded else 0.0)
    return CellSums(with_sums_as_aggregates(plan.query), noises)


def with_sums_as_aggregates(query: Query) -> Query:
    """Return a query whose first step sums rows as one that has these sums for aggregates."""
    first, later = query.steps[0], query.steps[1:]
    calls = tuple(AggregateCall(total.name, "count_rows") for total in first.aggregates)
    step = replace(first, keys=None, aggregates=(), where=None)
    return replace(query, keys=first.keys or (), aggregates=calls, steps=(step, *later), levels=(), groupings=())


def _summed(total: OverRows) -> str | None:
    """Return the column that is summed as it is; None where it is another function, or of some rows only."""
    whole = total.function == "sum" and total.where is None and not total.partition and not total.order
    (argument,) = total.arguments if len(total.arguments) == 1 else (None,)
    return argument.column if whole and argument is not None else None


def _groups(plan: Plan) -> tuple[tuple[Any, ...], ...] | None:
    """Return the groups of a plan, by its question's keys in their order; None where they are too many."""
    listed = plan.passes[0].scan.cells
    if listed is None:
        if math.prod(len(key.values or ()) for key in plan.groups) > _MOST_CELLS:
            return None
        listed = tuple(product(*(key.values or () for key in plan.groups)))
    if len(listed) > _MOST_CELLS:
        return None
    return tuple(tuple(cell[place] for place in plan.key_places) for cell in listed)


@lru_cache(maxsize=256)
def _terms(query: Query, cells: tuple[tuple[Any, ...], ...], kinds: tuple[Kind, ...]) -> tuple[int, ...]:
    """Return the different numbers of released groups that rows of the first step add up."""
    first, names = query.steps[0], [key.name for key in query.keys]
    facts = {name: Facts(kind=kind, nullable=True) for name, kind in zip(names, kinds, strict=True)}
    keys = [prepared(key.expression, facts) for key in first.keys or ()]
    kept = (lambda row: True) if first.where is None else prepared(first.where, facts)
    rows: Counter[tuple[Any, ...]] = Counter()
    for cell in cells:
        row = dict(zip(names, cell, strict=True))
        if kept(row):
            rows[tuple(key(row) for key in keys)] += 1
    return tuple(sorted(set(rows.values())))
