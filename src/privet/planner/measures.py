"""The release of a pass: a closed union of measures, each with its cost, draw, proof and words.

Everything here but `draw` uses public facts and released numbers only; the input of `draw` comes from
`privet.release`, which alone opens an engine's sealed results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from privet.accounting.events import PureEvent, ThresholdEvent
from privet.aggregates import Span
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError
from privet.core.event import Event
from privet.core.given import check_fields
from privet.core.numbers import in_digits, in_full, open_probability
from privet.core.relation import Call, Expression
from privet.core.scan import Near, Scan, Sizes, Sum
from privet.core.schema import Key, Kind
from privet.core.unit import Sensitivity
from privet.core.wire import wired
from privet.display import shown_amount, shown_error
from privet.inference.bars import Law
from privet.inference.sizes import limit_for
from privet.mechanisms import Gaussian, Laplace, OptimalKeys
from privet.mechanisms.laws import AdditiveNoise
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.mechanisms.rank_several import QuantileJoint, QuantileTree, SeveralRanks
from privet.mechanisms.top_k import MOST_FREQUENT, Frequent
from privet.query.expressions import mentions, typed
from privet.query.normal import text

from .stability import (
    heaviest_of,
    ladder_span,
    norm_of,
    sensitivity_of,
    size_sensitivity,
    span_of,
    span_of_scores,
)

if TYPE_CHECKING:
    from privet.core.event import Floats

Noise = Laplace | Gaussian
Cell = tuple[Key, ...]
Columns = tuple[tuple[Any, ...], ...]
"""The release: for each column, an integer or a value for each group."""

QuantileDraw = QuantileChoice | SeveralRanks | QuantileLadder
"""Everything that chooses quantiles, or their intervals."""

SURE = Fraction(99, 100)
"""The probability with which an interval whose ends are chosen covers a quantile: those of MIN and MAX, and all of the
first edition. For more, it is the declared bounds."""

FALSE = Fraction(1, 10_000)
"""The probability, at most, that some range without rows is taken to have some, in each group."""

_LEAST_BLOCK = 256
"""The public length in which noise is drawn for keys, unless one unit can have more."""

_MOST_PEOPLE = 2**512
"""No limit leaves more people above it than this, nor fewer than one part of it."""

_SIZE = 100
"""This many values are taken to be found, where it is not known how many will be."""

_QUOTES = re.compile(r'"([a-z_][a-z0-9_]*)"')
_NAMES = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}


@dataclass(frozen=True)
class OpenedSums:
    """The counts of a scan, opened by `privet.release`: integers of each group, and places with their weights."""

    groups: Mapping[Cell, Sequence[int]]
    places: Mapping[Cell, tuple[Sequence[int], Sequence[int]]]


@dataclass(frozen=True)
class MeasuredColumn:
    """The content of a released column, and how to read it: `step` is the worth of one integer.

    A row adds (x - centre)**power - less to a sum, put on its grid; a place that is chosen is centre + step * place.
    """

    what: str
    kind: Literal["sum", "selection", "public"]
    mechanism: str
    centre: Fraction = Fraction(0)
    power: int = 1
    less: Fraction = Fraction(0)
    step: Fraction | None = None
    noise: AdditiveNoise | None = None
    times: int = 1
    """How many numbers get their noise together, for each group."""
    inside: Mapping[str, Any] = field(default_factory=dict)
    """What identifies it inside its group."""
    bins: int = 0
    """How many numbers there are over all groups together, where there is not one for each group."""


@wired("Measure", "sum", "sensitivity", "mechanism", "shift")
@dataclass(frozen=True)
class Measure:
    """One sum, how far a unit can move it, and the mechanism that will add its noise.

    Released integers are worth 2**-shift grid units each, for a scan that weights units by up to 2**shift.
    """

    sum: Sum
    sensitivity: Sensitivity
    mechanism: Noise
    shift: int

    def __post_init__(self) -> None:
        check_fields(self)
        _check_noise(self.mechanism)

    @property
    def standard_deviation(self) -> float:
        """The noise's standard deviation, in grid units."""
        return float(self.mechanism.deviation / 2**self.shift)

    def error(self, confidence: float) -> float:
        """Return the half-width of the noise, in grid units."""
        return float(self.mechanism.error(confidence) / 2**self.shift)

    def read(self, released: Sequence[int]) -> Floats:
        """Return the release in grid units, one number for each group."""
        import numpy as np

        worth = 2**self.shift
        return np.array([noisy / worth for noisy in released], dtype=np.float64)

    def verify(self, scan: Scan) -> None:
        """Raise unless the noise is for the sensitivity that a scan implies."""
        if self.shift != scan.bounding.shift:
            raise InvariantError("a measure is read in other units than it was weighted in")
        claimed = sensitivity_of(self.sum, scan)
        if self.sensitivity != claimed or self.mechanism.distance < self.mechanism.moved(claimed):
            raise InvariantError("a measure's noise is for another sensitivity than its scan has")

    def measured(self, what: str) -> MeasuredColumn:
        """Return how its released integers are read."""
        unit = self.sum.step**self.sum.power
        return MeasuredColumn(
            what,
            "sum",
            self.mechanism.name,
            self.sum.origin,
            self.sum.power,
            self.sum.offset * unit,
            unit / 2**self.shift,
            self.mechanism,
        )

    def facts(self, name: str) -> dict[str, Any]:
        """Return the release of one sum: its noise, how far a unit can move it, and the bounds that are used."""
        step = float(self.sum.step)
        unit = step**self.sum.power
        noise = self.mechanism
        norm = float(noise.moved(self.sensitivity)) ** (1 if noise.norm == "L1" else 0.5)
        return {
            "sum": name,
            "noise": noise.name,
            "standard_deviation": self.standard_deviation * unit,
            "half_width_95": self.error(0.95) * unit,
            "sensitivity": norm / 2**self.shift * unit,
            "norm": noise.norm,
            "clamped_to": None
            if self.sum.expression is None
            else [float(end * self.sum.step + self.sum.origin) for end in (self.sum.low, self.sum.high)],
        }


@wired("KeyRelease", "sensitivity", "mechanism", "threshold", "delta", "shift")
@dataclass(frozen=True)
class KeyRelease:
    """How unknown keys are released: those whose noisy weight exceeds the threshold."""

    sensitivity: Sensitivity
    mechanism: Noise
    threshold: int
    delta: Fraction
    shift: int

    def __post_init__(self) -> None:
        check_fields(self)
        _check_noise(self.mechanism)
        open_probability(self.delta, "delta")

    @property
    def name(self) -> str:
        """Its name in words."""
        return f"{self.mechanism.name} threshold"

    @property
    def event(self) -> Event:
        """The noise's event, and the probability that a single unit's own key shows."""
        return ThresholdEvent(self.mechanism.event, self.delta)

    @property
    def noise(self) -> Event:
        """The noise's event alone."""
        return self.mechanism.event

    def shows(self, weights: list[int]) -> list[bool]:
        """Return which keys of a block are released."""
        return [weight > self.threshold for weight in add_noise(weights, self.mechanism)]


@wired("KeyRule", "mechanism")
@dataclass(frozen=True)
class KeyRule:
    """How unknown keys are released: by the optimal rule, from the number of units that have each.

    Guarantee: the rule's event covers the sums that are released for the keys it shows. A key that only the units in
    question hold shows with no more than its part of delta, all of which counts as a failure, and a failure may show
    anything. For the other keys, sums move no more than their sensitivity, whichever of them were shown.
    """

    mechanism: OptimalKeys

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def name(self) -> str:
        """Its name in words."""
        return "Optimal rule for keys"

    @property
    def event(self) -> Event:
        """The rule's own event: its epsilon and its delta."""
        return self.mechanism.event

    @property
    def noise(self) -> Event:
        """The rule's event without its delta: whatever is (epsilon, delta)-DP fails with probability delta at most.

        Guarantee: dominated by randomised response that gives itself away with probability delta.
        Cites: [KOV15, the worst pair].
        """
        return PureEvent(Fraction(self.mechanism.event.pure()))

    def shows(self, weights: list[int]) -> list[bool]:
        """Return which keys of a block are released."""
        return [bool(shown) for shown in self.mechanism.release(weights)]


class Slot(NamedTuple):
    """One place, or the number of a rung, that is released: by which draw, for which share, how far off it aims."""

    draw: QuantileDraw
    share: Fraction
    offset: int

    def value(self, chosen: int, grid: Sum) -> Fraction:
        """Return the value of a choice: of a place, of a part of the values rounded to a place, or the middle of
        several places that were taken together.
        """
        start, step = self.line(grid)
        return min(max(start + step * chosen, grid.origin), grid.origin + grid.high * grid.step)

    def values(self, chosen: Sequence[int], grid: Sum) -> list[float]:
        """Return the values of many choices, each rounded once; a rung stands for its number."""
        if isinstance(self.draw, QuantileLadder):
            return [float(rung) for rung in chosen]
        return _on_line(chosen, *self.line(grid), grid)

    def line(self, grid: Sum) -> tuple[Fraction, Fraction]:
        """Return the value of the first choice, before clamping to the grid's ends, and by how much they rise."""
        if isinstance(self.draw, QuantileChoice):
            places = 2**self.draw.shift
            return grid.origin + Fraction(places - 1, 2) * grid.step, places * grid.step
        part = grid.step / 2**self.draw.digits
        return grid.origin + (part - grid.step) / 2, part

    def half(self, grid: Sum, *, rounds: bool) -> Fraction:
        """Return how far a choice lies from its value: half of the places taken together, and of a step."""
        places = 2**self.draw.shift if isinstance(self.draw, QuantileChoice) else 1
        return grid.step * (places - 1 + rounds) / 2


@dataclass(frozen=True)
class SumMeasure:
    """Noisy sums of each group, and the release of groups that are not public, in the scan's order."""

    measures: tuple[Measure, ...]
    keys: KeyRelease | KeyRule | None = None
    inside: ClassVar[bool] = False
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = True
    """Whether several rounds of it are averaged, and not the last one taken."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the sums' noise."""
        return tuple(measure.mechanism.event for measure in self.measures)

    def columns(self, scan: Scan) -> int:
        """Return how many numbers are released in each group."""
        return len(self.measures)

    def with_noise(self, measures: tuple[Measure, ...]) -> SumMeasure:
        """Return the same with other noise."""
        return replace(self, measures=measures)

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy sums of each group."""
        nothing = (0,) * (len(self.measures) + 1)
        summed = [opened.groups.get(cell, nothing) for cell in cells]
        return tuple(
            tuple(add_noise([sums[index] for sums in summed], measure.mechanism))
            for index, measure in enumerate(self.measures)
        )

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the release, in grid units."""
        return [measure.read(noisy) for measure, noisy in zip(self.measures, released, strict=True)]

    def verify(self, scan: Scan) -> None:
        """Raise unless there is noise for every sum of a scan, for the sensitivity that it has there."""
        without_places(scan)
        _verify_sums(self.measures, scan)

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how each released column is read."""
        return [measure.measured(summed_in_words(measure.sum, scan)) for measure in self.measures]

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data."""
        return [measure.facts(_sum_in_words(measure, scan)) for measure in self.measures]

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        return _noise_lines(self.facts(scan))

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return []

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as rows of a table."""
        return _noise_rows(self.facts(scan))

    def width(self, scan: Scan, column: int) -> str | None:
        """Return in words how far off a column is, where it has no predicted width."""
        return None


@wired("Selection", "draws", later={"part": None, "even": False})
@dataclass(frozen=True)
class QuantileMeasure:
    """Places of a scan's grid, chosen in every group by one draw or several; and rungs of ladders around them.

    `part` is the spend on all draws, in the measure of the plan's spend, and `even` whether intervals matter most:
    from these an earlier edition's draws are made. Draws of one share come before its ladders.
    """

    draws: tuple[QuantileDraw, ...]
    part: Fraction | None = None
    even: bool = False
    measures: ClassVar[tuple[Measure, ...]] = ()
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = False
    averaged: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The releases, in order: a place in each group for every slot."""
        slots: list[Slot] = []
        for draw in self.draws:
            match draw:
                case QuantileChoice():
                    slots.append(Slot(draw, draw.share, draw.offset))
                case QuantileLadder():
                    slots.append(Slot(draw, draw.shares[0], 0))
                case _:
                    slots += [Slot(draw, share, 0) for share in draw.shares]
        return tuple(slots)

    @property
    def inner(self) -> tuple[Fraction, ...]:
        """The shares that are no ends."""
        return tuple(sorted({slot.share for slot in self.slots if 0 < slot.share < 1}))

    def column_of(self, share: Fraction) -> int:
        """Return the column in which the quantile of a share is released."""
        for column, slot in enumerate(self.slots):
            if (
                slot.share == share
                and (not slot.offset or share in (0, 1))
                and not isinstance(slot.draw, QuantileLadder)
            ):
                return column
        raise InvariantError("a plan does not draw what its quantiles need")

    def ladders_of(self, share: Fraction) -> list[tuple[int, QuantileLadder]]:
        """Return the ladders around the quantile of a share, each with the column of its rungs."""
        return [
            (column, slot.draw)
            for column, slot in enumerate(self.slots)
            if isinstance(slot.draw, QuantileLadder) and share in slot.draw.shares
        ]

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the choices."""
        return tuple(draw.event for draw in self.draws)

    def columns(self, scan: Scan) -> int:
        """Return how many places are released in each group."""
        return len(self.slots)

    def with_noise(self, measures: tuple[Measure, ...]) -> QuantileMeasure:
        """Return the same: it has no noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the places that are chosen in each group."""
        groups = [opened.places.get(cell, ((), ())) for cell in cells]
        chosen: list[tuple[int, ...]] = []
        for draw in self.draws:
            match draw:
                case QuantileChoice():
                    chosen.append(tuple(draw.release(groups)))
                case QuantileLadder():  # around the very values that are released
                    around = [chosen[self.column_of(share)] for share in draw.shares]
                    chosen.append(tuple(draw.release(groups, around)))
                case _:
                    chosen += map(tuple, draw.release(groups))
        return tuple(chosen)

    def interval(
        self, released: Columns, scan: Scan, share: Fraction, tail: float, *, rounds: bool
    ) -> tuple[Floats, Floats]:
        """Return both ends of a quantile's interval in each group; infinite where it is the declared bounds.

        Its ends are places, or several taken together, and stand for all that is counted there, half a place further
        where places round.

        Guarantee: a ladder's interval misses with probability `tail` at most; where there are two, each does with half
        of it. Both are around one place, so what they have in common is the narrower.
        """
        import numpy as np

        grid, ladders = self._grid(scan), self.ladders_of(share)
        if not ladders:
            return self._between(released, grid, share, tail, rounds=rounds)
        around = np.array(released[self.column_of(share)], dtype=np.int64)
        at, half = np.clip(around >> ladders[0][1].digits, 0, grid.high), np.full(around.shape, grid.high)
        for column, draw in ladders:
            values = np.array([released[self.column_of(other)] for other in draw.shares], dtype=np.int64)
            rungs = np.array(released[column], dtype=np.int64)
            radii = draw.half_widths(rungs, values, draw.wider(tail / len(ladders)))[draw.shares.index(share)]
            half = np.minimum(half, radii)
        low, high = at - half, at + half
        more = grid.step / 2 if rounds else Fraction(0)
        lower = _on_line(low.tolist(), grid.origin - more, grid.step)
        upper = _on_line(high.tolist(), grid.origin + more, grid.step)
        return np.where(low <= 0, -np.inf, lower), np.where(high >= grid.high, np.inf, upper)

    def _between(
        self, released: Columns, grid: Sum, share: Fraction, tail: float, *, rounds: bool
    ) -> tuple[Floats, Floats]:
        """Return the ends that were chosen for an interval; of the least and the greatest, one is the value itself."""
        import numpy as np

        slots = sorted((slot.offset, column) for column, slot in enumerate(self.slots) if slot.share == share)
        if len(slots) != (1 if share in (0, 1) else 3):
            raise InvariantError("a plan does not draw what its quantiles need")
        ends = []
        for side, (_, column) in ((-1, slots[0]), (1, slots[-1])):
            slot = self.slots[column]
            half = float(slot.half(grid, rounds=rounds))
            ends.append(np.array(slot.values(released[column], grid), dtype=np.float64) + side * half)
        low, high = ends
        sure = 1 - tail <= float(SURE)
        return (
            low if sure and share != 0 else np.full_like(low, -np.inf),
            high if sure and share != 1 else np.full_like(high, np.inf),
        )

    def covered(self, share: Fraction, confidence: float) -> str:
        """Return in words the coverage of a quantile's interval at a confidence, where ladders make it."""
        draws = [draw for _, draw in self.ladders_of(share)]
        whole = "the quantile of what the rows were sampled from" if draws[0].beta else "the quantile"
        level = 1 - float(sum(draw.alpha + draw.beta for draw in draws))
        words = f"Intervals of quantiles were drawn with them; each covers {whole} with probability {level:.4g} or more"
        wider = min(draw.wider((1 - confidence) / len(draws)) for draw in draws)
        if not wider:
            return f"{words}."
        if wider >= min(len(draw.weights) for draw in draws) - 1:
            return f"{words}; for {confidence:.4g} they are the declared bounds."
        return f"{words}; for {confidence:.4g} they are {math.sqrt(2) ** wider:.2g} times as wide."

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the values of the places that were chosen."""
        import numpy as np

        grid = self._grid(scan)
        return [
            np.array(slot.values(chosen, grid), dtype=np.float64)
            for slot, chosen in zip(self.slots, released, strict=True)
        ]

    def verify(self, scan: Scan) -> None:
        """Raise unless places are chosen for the sensitivity that ranks have in a scan, among rows it distinguishes."""
        places = self._grid(scan)
        if scan.sums:
            raise InvariantError("the measures of a plan are not the sums of its scan")
        for column, slot in enumerate(self.slots):
            if isinstance(slot.draw, QuantileLadder) and max(map(self.column_of, slot.draw.shares)) > column:
                raise InvariantError("a half-width is chosen around a value that is drawn before it")
        for draw in self.draws:
            match draw:
                case QuantileChoice():
                    enough, last = draw.span >= span_of(draw.share, scan), places.high >> draw.shift
                case QuantileLadder():
                    enough = draw.span >= ladder_span(draw.shares, scan, draw.beta)
                    enough &= not draw.beta or draw.heaviest >= heaviest_of(scan)
                    last = places.high
                case _:
                    enough, last = draw.norm >= norm_of(scan), places.high
            if not enough or draw.last != last:
                raise InvariantError("a quantile is chosen for another sensitivity than its scan has")
            if not _close_enough(draw, scan):
                raise InvariantError("a quantile is chosen among rows that its scan does not tell apart")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how each released column is read."""
        grid = self._grid(scan)
        over = "1" if grid.expression is None else plain_text_of(grid.expression)
        columns = []
        for slot in self.slots:
            if isinstance(slot.draw, QuantileLadder):
                which = ", ".join(_NAMES.get(share, f"{float(share):.6g}-quantile") for share in slot.draw.shares)
                what = f"the half-width around the {which} of {over}{_where_in_words(grid.where)}, by its number"
                columns.append(MeasuredColumn(what, "selection", "Exponential", Fraction(0), step=Fraction(1)))
                continue
            name = _NAMES.get(slot.share, f"{float(slot.share):.6g}-quantile")
            side = "lower" if slot.offset < 0 else "upper"
            end = f"the {side} end of the interval of " if slot.offset and slot.share not in (0, 1) else ""
            start, step = slot.line(grid)
            what = f"{end}the {name} of {over}{_where_in_words(grid.where)}"
            columns.append(MeasuredColumn(what, "selection", "Exponential", start, step=step))
        return columns

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return each quantile with its grid, and how many ranks it may be off, as plain data."""
        places, weight = self._grid(scan), 2**scan.bounding.shift
        over = " and ".join(sorted(mentions(places.expression))) if places.expression is not None else "1"
        where = (" where a condition holds" if places.where is not None else "") + (
            " in each group" if scan.keys else ""
        )
        listed = []
        for share in dict.fromkeys(slot.share for slot in self.slots):
            slot = self.slots[self.column_of(share)]
            name = _NAMES.get(share, f"{float(share):.6g}-quantile")
            row = {
                "sum": f"the {name} of {over}{where}",
                "noise": "Exponential",
                "how": _how(slot.draw),
                "places": places.high + 1,
                "step": float(places.step),
                "clamped_to": [float(places.origin + end * places.step) for end in (places.low, places.high)],
                "aims": slot.offset / weight,
                "ranks_off_95": slot.draw.error(0.95) / weight,
            }
            listed.append(row | self._interval_facts(share, weight))
        return listed

    def _interval_facts(self, share: Fraction, weight: int) -> dict[str, Any]:
        """Return how wide the interval of a quantile is, in ranks, and how often it covers: the narrowest ladder's."""
        ladders = [draw for _, draw in self.ladders_of(share)]
        if not ladders:
            ends = [slot for slot in self.slots if slot.share == share]
            most = abs(ends[-1].offset) + ends[-1].draw.error(float(SURE))
            return {"interval_ranks": most / weight, "interval_confidence": float(SURE)}
        value = self.slots[self.column_of(share)].draw
        beside = float(1 / value.rate) if isinstance(value, QuantileChoice) else 0.0
        return {
            "interval_ranks": min(draw.typical() for draw in ladders) / weight + beside / weight,
            "rungs": len(ladders[0].weights),
            "interval_ranks_95": min(draw.error(0.95) for draw in ladders) / weight,
            "interval_confidence": 1 - float(sum(draw.alpha + draw.beta for draw in ladders)),
        }

    def lines(self, scan: Scan) -> list[str]:
        """Return the choices in plain words."""
        lines = []
        for fact in self.facts(scan):
            aims, grid = fact["aims"], f"{fact['places']:,} values, {fact['step']:.6g} apart"
            if aims:
                side, far = ("smallest", "greatest") if aims > 0 else ("largest", "least")
                lines.append(
                    f"Chooses {fact['sum']} as a value near the {in_digits(abs(aims), 4)}th {side}, from {grid}, by "
                    f"the exponential mechanism; its interval reaches from there to the declared bound. Of fewer "
                    f"than about {in_digits(abs(aims), 4)} rows it lies anywhere up to the {far} value that is "
                    f"declared, and carries no information."
                )
                continue
            value = (
                f"Chooses {fact['sum']} from {grid}, {fact['how']}; whatever the data, 95% of choices are at most "
                f"{in_digits(fact['ranks_off_95'], 4)} ranks off."
            )
            if "interval_ranks_95" not in fact:
                lines.append(
                    f"{value} The ends of its interval are at most {in_digits(fact['interval_ranks'], 4)} ranks away."
                )
                continue
            lines.append(
                f"{value} Its interval, at {fact['interval_confidence']:.4g} confidence, is as wide as one of "
                f"{fact['rungs']} public half-widths around it: about {in_digits(fact['interval_ranks'], 4)} ranks "
                f"to either side where rows are dense, and 95% of the time less than √2 times what clears "
                f"{in_digits(fact['interval_ranks_95'], 4)}."
            )
        return lines

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return []

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the choices as rows of the table of releases."""
        return [
            (
                str(fact["sum"]),
                f"exponential mechanism over {fact['places']:,} values",
                "",
                f"{in_full(fact['clamped_to'][0])} to {in_full(fact['clamped_to'][1])}",
                f"{in_digits(fact['ranks_off_95'] + abs(fact['aims']), 4)} ranks",
            )
            for fact in self.facts(scan)
        ]

    def ranks_off(self, scan: Scan, column: int, confidence: float) -> float:
        """Return how many ranks off a choice is at most: rows, each as much as a person weighs of it."""
        slot = self.slots[column]
        return float((slot.draw.error(confidence) + abs(slot.offset)) / 2**scan.bounding.shift)

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        off = f"at most {in_digits(self.ranks_off(scan, column, 0.95), 4)} ranks off"
        facts = self._interval_facts(self.slots[column].share, 2**scan.bounding.shift)
        if "interval_ranks_95" not in facts:
            return f"{off}; its interval comes with the answer"
        ranks = in_digits(facts["interval_ranks"], 4)
        return f"{off}; its interval about {ranks} ranks to either side where rows are dense"

    @staticmethod
    def _grid(scan: Scan) -> Sum:
        if scan.places is None:
            raise InvariantError("places are counted if and only if some are chosen")
        return scan.places


@dataclass(frozen=True)
class ModeMeasure:
    """The most frequent values of the scan's last key in each group: of public ones, or of those that are found."""

    choice: Frequent
    keys: KeyRelease | KeyRule | None = None
    measures: ClassVar[tuple[Measure, ...]] = ()
    inside: ClassVar[bool] = True
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the choice."""
        return (self.choice.event,)

    def columns(self, scan: Scan) -> int:
        """Return how many values are released in each group; where there are fewer, the rest are NULL."""
        return MOST_FREQUENT

    def with_noise(self, measures: tuple[Measure, ...]) -> ModeMeasure:
        """Return the same: it has no noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the values that are chosen in each group, rank by rank, from public ones or from those found."""
        public = scan.keys[-1].values
        options: dict[Cell, list[Key]] = {} if public is None else {cell: list(public) for cell in cells}
        for *cell, value in () if self.keys is None else found_keys(opened, scan, self.keys):
            options.setdefault(tuple(cell), []).append(value)
        listed = [options.get(cell, []) for cell in cells]
        nothing = (0,)
        scores = [
            [opened.groups.get((*cell, value), nothing)[0] for value in values]
            for cell, values in zip(cells, listed, strict=True)
        ]
        drawn = self.choice.release(scores)
        return tuple(
            tuple(
                None if (index := won[rank]) is None else values[index]
                for won, values in zip(drawn, listed, strict=True)
            )
            for rank in range(self.choice.k)
        )

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the values that were chosen."""
        import numpy as np

        return [np.array([*values, None], dtype=object)[:-1] for values in released]

    def verify(self, scan: Scan) -> None:
        """Raise unless values are chosen by counts of rows, for the sensitivity that these have in a scan."""
        if scan.sums != (rows(None),) or scan.places is not None or scan.distinct or not scan.keys:
            raise InvariantError("values are chosen where the rows of each are counted, and nothing else is")
        without_places(scan)
        if scan.keys[-1].values is None and self.keys is None:
            raise InvariantError("values that are not public are chosen from only once they are found")
        if self.choice.span < span_of_scores(scan):
            raise InvariantError("values are chosen for another sensitivity than their scan has")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return the meaning of each released column."""
        over = plain_text_of(scan.keys[-1].expression)
        return [
            MeasuredColumn(f"the value of {over} at rank {rank + 1} by how frequent it is", "selection", self._law)
            for rank in range(self.choice.k)
        ]

    @property
    def _law(self) -> str:
        return "Permute-and-flip" if self.choice.law == "exponential" else "Exponential"

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the choice, its options, and how far off it may be, as plain data."""
        draw, option = self.choice, scan.keys[-1]
        size = _SIZE if option.values is None else len(option.values)
        where = " in each group" if scan.keys[:-1] else ""
        many = f"the {draw.k} most frequent values" if draw.k > 1 else "the most frequent value"
        return [
            {
                "sum": f"{many} of {text(option.expression)}{where}",
                "noise": self._law,
                "options": None if option.values is None else len(option.values),
                "options_found": None if self.keys is None else "in the data",
                "rows_behind_95": draw.error(0.95, size=size) / 2**scan.bounding.shift,
                "clamped_to": None,
            }
        ]

    def lines(self, scan: Scan) -> list[str]:
        """Return the choice in plain words."""
        (fact,) = self.facts(scan)
        law = "permute-and-flip" if fact["noise"] == "Permute-and-flip" else "the exponential mechanism"
        of = f"{fact['options']:,} declared values" if fact["options"] else "the values that are found"
        sized = "" if fact["options"] else f" (if {_SIZE} are found)"
        return [
            f"Chooses {fact['sum']} from {of}, by {law}; 95% of the time what is chosen has at most "
            f"{in_digits(fact['rows_behind_95'], 4)} rows fewer than the most frequent{sized}."
        ]

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return []

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the choice as a row of the table of releases."""
        (fact,) = self.facts(scan)
        noise = f"{str(fact['noise']).lower()}, {fact['options'] or 'found'} values"
        return [(str(fact["sum"]), noise, "", "", f"{in_digits(fact['rows_behind_95'], 4)} rows behind")]

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        return f"chosen; at most {in_digits(self.facts(scan)[0]['rows_behind_95'], 4)} rows behind the most frequent"


@dataclass(frozen=True)
class BoundsMeasure:
    """Noisy counts of the rows of each group in public ranges, which are the scan's last key."""

    count: Measure
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = True
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The one noisy count."""
        return (self.count,)

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the counts' noise."""
        return (self.count.mechanism.event,)

    def columns(self, scan: Scan) -> int:
        """Return how many counts are released in each group."""
        return len(scan.keys[-1].values or ())

    def with_noise(self, measures: tuple[Measure, ...]) -> BoundsMeasure:
        """Return the same with other noise."""
        if len(measures) != 1:
            raise InvariantError("rows are counted in ranges by one noisy count")
        return BoundsMeasure(measures[0])

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy counts of each range in each group."""
        values, size = scan.keys[-1].values or (), len(cells)
        inside = [opened.groups.get((*cell, value), (0,))[0] for value in values for cell in cells]
        noisy = add_noise(inside, self.count.mechanism)
        return tuple(tuple(noisy[at : at + size]) for at in range(0, len(values) * size, size or 1))

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the counts, in rows."""
        return [self.count.read(noisy) for noisy in released]

    def verify(self, scan: Scan) -> None:
        """Raise unless one sum is released for each public range, with noise for the sensitivity that it has."""
        without_places(scan)
        if not scan.keys or scan.keys[-1].values is None:
            raise InvariantError("one sum is released for each of the public values that are inside a group")
        _verify_sums(self.measures, scan)

    def threshold(self, scan: Scan) -> float:
        """Return the threshold of a noisy count, in rows, such that ranges without rows hardly ever exceed it.

        Guarantee: each of the R ranges of a group exceeds it by noise alone with probability FALSE / R at most, so
        that all of them stay below with probability 1 - FALSE at least, whatever the other counts are.
        """
        ranges = scan.keys[-1].values
        if ranges is None:
            raise InvariantError("the ranges of values are public")
        return self.count.error(float(1 - 2 * FALSE / len(ranges)))

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how the counts of each range are read."""
        over, ranges = _ranged(scan.keys[-1].expression), scan.keys[-1].values or ()
        kind: Kind = "integer" if typed(over, scan.schema.columns).kind == "integer" else "number"
        span = Span(over, kind, None, "low")
        columns = []
        for number in ranges:
            low, high = (f"{float(end):.6g}" for end in span.ends_of(int(number)))  # type: ignore[arg-type]
            column = self.count.measured(f"the count of rows with {plain_text_of(over)} from {low} to {high}")
            columns.append(replace(column, times=len(ranges), inside={"range": number}))
        return columns

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data."""
        what = f"the count of rows in each of {len(scan.keys[-1].values or ()):,} ranges"
        return [self.count.facts(f"{what} in each group" if scan.keys[:-1] else what)]

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        return _noise_lines(self.facts(scan))

    def later_lines(self, scan: Scan) -> list[str]:
        """Return in plain words how ranges are found."""
        return [
            f"Counts rows in {len(scan.keys[-1].values or ()):,} public ranges of "
            f"{text(_ranged(scan.keys[-1].expression))}, zero and powers of two of either sign; those with a noisy "
            f"count above {in_digits(self.threshold(scan), 4)} make the range that is shown. A range without rows "
            f"is among them with probability {float(FALSE):g} at most."
        ]

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as rows of a table."""
        return _noise_rows(self.facts(scan))

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        return (
            f"a power of two; what fewer than about {in_digits(2 * self.threshold(scan), 4)} rows hold may lie outside"
        )


@wired("SizeMeasure", "sensitivity", "mechanism", "people")
@dataclass(frozen=True)
class SizeMeasure:
    """Noisy numbers of units by the size of their contributions, over all groups together.

    Where `people` is stated, the limit that about this many units exceed is chosen by these numbers, and the next pass
    of the plan is bounded by it; otherwise they measure how much the limit of the next pass takes away.
    """

    sensitivity: Sensitivity
    mechanism: Noise
    people: Fraction | None = None
    measures: ClassVar[tuple[Measure, ...]] = ()
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = False
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_noise(self.mechanism)
        if self.people is not None and not 1 <= self.people * _MOST_PEOPLE <= _MOST_PEOPLE**2:
            raise InvariantError("a limit leaves a positive number of people above it, that floats hold")

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the numbers' noise."""
        return (self.mechanism.event,)

    @property
    def law(self) -> Law:
        """The law of the noise on each number."""
        return Law(self.mechanism.family, self.mechanism.width, 1.0)

    def columns(self, scan: Scan) -> int:
        """Return how many numbers of each group are released: none, as these are of all groups together."""
        return 0

    def with_noise(self, measures: tuple[Measure, ...]) -> SizeMeasure:
        """Return the same: it has no noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy number of units in each bin, and then the limit that is chosen by them.

        Guarantee: the limit is computed from the noisy numbers and the plan alone, and is at most `largest`.
        """
        bins = range(len(self._sizes(scan).edges) + 1)
        noisy = tuple(add_noise([opened.groups.get((place,), (0,))[0] for place in bins], self.mechanism))
        if self.people is None:
            return (noisy,)
        deviation = self.mechanism.deviation
        limit = limit_for(noisy, deviation / math.sqrt(2), float(self.people))
        return noisy, (min(limit, self.largest(scan)),)

    def largest(self, scan: Scan) -> int:
        """Return the largest limit that can be chosen: above what a unit is declared to have it adds noise alone."""
        top = 1 << len(self._sizes(scan).edges)
        return top if scan.schema.most_rows is None else min(top, scan.schema.most_rows)

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return nothing: these are no columns of an answer."""
        return []

    def verify(self, scan: Scan) -> None:
        """Raise unless the noise is for the sensitivity that numbers of units have in a scan."""
        self._sizes(scan)
        claimed = size_sensitivity(scan)
        if self.sensitivity != claimed or self.mechanism.distance < self.mechanism.moved(claimed):
            raise InvariantError("numbers of units have noise for another sensitivity than their scan has")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how the numbers of people are read, and the limit that is computed from them."""
        what, name = f"the number of people by {self._by(scan)}", self.mechanism.name
        bins = len(self._sizes(scan).edges) + 1
        noisy = MeasuredColumn(what, "sum", name, step=Fraction(1), noise=self.mechanism, bins=bins)
        limit = MeasuredColumn("the contribution limit", "selection", "computed from noisy numbers of people", bins=1)
        return [noisy] if self.people is None else [noisy, limit]

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data."""
        noise = self.mechanism
        return [
            {
                "sum": f"the number of people by {self._by(scan)}, in {len(self._sizes(scan).edges) + 1} bins",
                "noise": noise.name,
                "standard_deviation": noise.deviation,
                "half_width_95": float(noise.error(0.95)),
                "sensitivity": float(noise.moved(self.sensitivity)) ** (1 if noise.norm == "L1" else 0.5),
                "norm": noise.norm,
                "clamped_to": None,
            }
        ]

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        lines = _noise_lines(self.facts(scan))
        if self.people is not None:
            lines.append(
                f"From these numbers alone, chooses the contribution limit C that about "
                f"{in_digits(float(self.people), 3)} people exceed, where noise and loss are least together; C is "
                f"part of the answer."
            )
        return lines

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return []

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as rows of a table."""
        return _noise_rows(self.facts(scan))

    def width(self, scan: Scan, column: int) -> str | None:
        """Return in words how far off a column is; there is none."""
        return None

    @staticmethod
    def _by(scan: Scan) -> str:
        if scan.sizes is not None and scan.sizes.of == "lost":
            return "how many of their rows the limit takes away"
        order = scan.bounding.order
        return "their number of rows" if order == 1 or not scan.keys else "the root of the sum of squares of their rows"

    @staticmethod
    def _sizes(scan: Scan) -> Sizes:
        if scan.sizes is None:
            raise InvariantError("numbers of units by size are released where a scan counts them")
        return scan.sizes


def found_keys(opened: OpenedSums, scan: Scan, rule: KeyRelease | KeyRule) -> tuple[Cell, ...]:
    """Return the keys whose noisy weight is above the threshold, or that the rule shows.

    How many keys there are is private, and noise on a vector may depend on its length. So it is drawn in blocks of a
    public length, the last one filled up, which is at least as many keys as neighbours can differ in.
    """
    discovery, unit = scan.discovery, scan.schema.unit
    if discovery is None:
        raise InvariantError("keys are released only where a scan discovers them")
    block = max(_LEAST_BLOCK, 2 * discovery.most * unit.touches)
    weights = [sums[-1] for sums in opened.groups.values()]
    weights += [0] * (-len(weights) % block)
    drawn = [passes for start in range(0, len(weights), block) for passes in rule.shows(weights[start : start + block])]
    shown = [cell for cell, passes in zip(opened.groups, drawn, strict=False) if passes]
    return tuple(sorted(shown, key=_in_order))


def add_noise(integers: list[int], mechanism: Any) -> list[int]:
    """Return integers with the noise of a mechanism, which is drawn for all of them at once."""
    import numpy as np

    if not integers:
        return []
    vector = np.empty(len(integers), dtype=object)
    vector[:] = integers
    noisy: list[int] = mechanism.release(vector).tolist()
    return noisy


def _in_order(cell: Cell) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, 0 if value is None else value) for value in cell)


def without_places(scan: Scan) -> None:
    if scan.places is not None:
        raise InvariantError("places are counted if and only if some are chosen")
    if scan.near is not None:
        raise InvariantError("ranks are looked at where rows are counted by place")


def _verify_sums(measures: tuple[Measure, ...], scan: Scan) -> None:
    if tuple(measure.sum for measure in measures) != scan.sums:
        raise InvariantError("the measures of a plan are not the sums of its scan")
    for measure in measures:
        measure.verify(scan)


def shares_of(draw: QuantileDraw) -> tuple[Fraction, ...]:
    """Return the shares that a draw is for."""
    return (draw.share,) if isinstance(draw, QuantileChoice) else draw.shares


def near_of(draw: QuantileChoice | QuantileLadder, bits: int, scan: Scan) -> Near | None:
    """Return the places a draw needs to distinguish where blocks of 2**bits places are counted; None if no more."""
    if isinstance(draw, QuantileLadder):
        return draw.near(bits, scan.schema.rows * 2**scan.bounding.shift) if bits else None
    return draw.near(bits) if draw.shift < bits else None


def _close_enough(draw: QuantileDraw, scan: Scan) -> bool:
    """Return whether a scan distinguishes all that a choice does."""
    near = scan.near
    if near is None:
        return True
    if isinstance(draw, SeveralRanks) or len(shares_of(draw)) > 1:
        return False
    least = near_of(draw, near.bits, scan)
    return least is None or (near.share == least.share and near.below >= least.below and near.above >= least.above)


def _on_line(chosen: Sequence[int], start: Fraction, step: Fraction, grid: Sum | None = None) -> list[float]:
    """Return start + step * choice for each, clamped to the ends of a grid, each rounded once."""
    ends = () if grid is None else (grid.origin, grid.origin + grid.high * grid.step)
    unit = math.lcm(*(part.denominator for part in (start, step, *ends)))
    first, rise, *held = (int(part * unit) for part in (start, step, *ends))
    if not held:
        return [(first + rise * choice) / unit for choice in chosen]
    return [min(max(first + rise * choice, held[0]), held[1]) / unit for choice in chosen]


def _sum_in_words(measure: Measure, scan: Scan) -> str:
    used = " and ".join(sorted(mentions(measure.sum.expression))) if measure.sum.expression is not None else ""
    if scan.bounding.of is not None:
        how = "number" if measure.sum.expression is None else "sum"
        what = f"the {how} of different values of {text(scan.bounding.of)}"
    elif measure.sum.expression is None:
        what = "the count of people" if scan.distinct else "the count of rows"
    elif measure.sum.power == 2:
        what = f"a sum of squares over {used}"
    elif measure.sum.origin:
        what = f"a centred sum over {used}"
    else:
        what = f"a sum over {used}"
    if measure.sum.where is not None:
        what += " where a condition holds"
    return f"{what} in each group" if scan.keys else what


def summed_in_words(total: Sum, scan: Scan) -> str:
    """Return the sum that a released integer stands for, with its expression and its bounds."""
    where = _where_in_words(total.where)
    if scan.bounding.of is not None:
        how = "number" if total.expression is None else "sum"
        return f"the {how} of different values of {plain_text_of(scan.bounding.of)}{where}"
    if total.expression is None:
        return f"the count of {'people' if scan.distinct else 'rows'}{where}"
    over = plain_text_of(total.expression)
    away = f"{over} {'-' if total.origin > 0 else '+'} {float(abs(total.origin)):.6g}" if total.origin else over
    if total.power == 2:
        squared = f"({away})^2" if total.origin else f"{away}^2"
        away = f"{squared} - {float(total.offset * total.step**2):.6g}" if total.offset else squared
    low, high = (float(end * total.step + total.origin) for end in (total.low, total.high))
    return f"the sum of {away}, {over} clamped to {low:.6g} to {high:.6g}{where}"


def _where_in_words(where: Expression | None) -> str:
    return "" if where is None else f", where {plain_text_of(where)}"


def plain_text_of(expression: Expression) -> str:
    """Return an expression as SQL, plain names without quotes and no brackets around all of it."""
    return _QUOTES.sub(r"\1", text(expression))


def _noise_lines(facts: list[dict[str, Any]]) -> list[str]:
    return [
        f"Adds {fact['noise']} noise of standard deviation {shown_amount(fact['standard_deviation'])} to "
        f"{fact['sum']}; 95% of it lies within {shown_error(fact['half_width_95'])}."
        for fact in facts
    ]


def _noise_rows(facts: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            str(fact["sum"]),
            f"{fact['noise']}, standard deviation {shown_amount(fact['standard_deviation'])}",
            f"{shown_amount(fact['sensitivity'])} ({fact['norm']})",
            ""
            if fact["clamped_to"] is None
            else f"{in_full(fact['clamped_to'][0])} to {in_full(fact['clamped_to'][1])}",
            f"±{shown_error(fact['half_width_95'])}",
        )
        for fact in facts
    ]


def _how(draw: QuantileDraw) -> str:
    if isinstance(draw, QuantileJoint):
        return "together with the others by one joint choice"
    if isinstance(draw, QuantileTree) and len(draw.shares) > 1:
        return "by halves, the middle quantile first, by the exponential mechanism"
    return "by the exponential mechanism"


def _ranged(key: Expression) -> Expression:
    """Return the expression that the number of a range is computed from: the column in the first of its comparisons."""
    while isinstance(key, Call):
        if key.function != "case":
            return key.arguments[0]
        key = key.arguments[0]
    return key


def _check_noise(noise: Noise) -> None:
    """Refuse noise that is drawn for one number at a time: a measure has as many as there are groups."""
    if noise.family == "gaussian" and noise.grid == "whole":
        raise InvariantError("noise for every group is drawn at once, on a fine grid")
