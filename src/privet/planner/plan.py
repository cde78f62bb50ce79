"""Every decision about an answer, before a row is read: public, printable, hashable.

The cost of a plan is derived from the mechanisms that will draw its noise; there is nowhere else to write it down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.accounting.events import PureEvent, ThresholdEvent
from privet.aggregates import Aggregate
from privet.core.complete import check_fields
from privet.core.errors import BadParameter, InvariantError
from privet.core.event import Composed, Event
from privet.core.given import read
from privet.core.numbers import open_probability, whole
from privet.core.scan import GroupKey, Scan, Sum
from privet.core.sensitivity import Sensitivity
from privet.core.wire import wired
from privet.mechanisms import Gaussian, Laplace, OptimalKeys
from privet.mechanisms.frequent import Frequent
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_several import SeveralRanks
from privet.query.nodes import Query

from .editions import digest_of

if TYPE_CHECKING:
    from rich.console import Group

Noise = Laplace | Gaussian


@dataclass(frozen=True)
class Spend:
    """What one answer may cost by itself: (epsilon, delta), or rho; `keys` is the part of delta for unknown keys."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    keys: Fraction


@dataclass(frozen=True)
class Limit:
    """How wide an interval may be to either side: so much, or so large a part of any number that it holds."""

    amount: Fraction
    relative: bool = False

    def __str__(self) -> str:
        return f"±{float(self.amount * 100):,.4g}%" if self.relative else f"±{float(self.amount):,.4g}"


@dataclass(frozen=True)
class Target:
    """How narrow intervals are to be: each half-width at most `within`, or at most its column's, at a confidence."""

    within: Limit | None
    columns: tuple[tuple[str, Limit], ...]
    confidence: Fraction

    def of(self, column: str) -> Limit | None:
        """Return the half-width that a column may have, if it is limited."""
        return dict(self.columns).get(column, self.within)


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
        return float(self.mechanism.variance**0.5 / 2**self.shift)

    def error(self, confidence: float) -> float:
        """Return the half-width of the noise, in grid units."""
        return float(self.mechanism.error(confidence) / 2**self.shift)


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
    def event(self) -> Event:
        """The noise's event, and the probability that a single unit's own key shows."""
        return ThresholdEvent(self.mechanism.event, self.delta)

    @property
    def noise(self) -> Event:
        """The noise's event alone."""
        return self.mechanism.event


@wired("KeyRule", "mechanism")
@dataclass(frozen=True)
class KeyRule:
    """How unknown keys are released: by the optimal rule, from the number of units that hold each.

    Guarantee: the rule's event covers the sums that are released for the keys it shows. A key that only the units in
    question hold shows with no more than its part of delta, all of which counts as a failure, and a failure may show
    anything. For the other keys, sums move no more than their sensitivity, whichever of them were shown.
    """

    mechanism: OptimalKeys

    def __post_init__(self) -> None:
        check_fields(self)

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


class Slot(NamedTuple):
    """One place that is released: by which draw, for which share, and how far off it aims."""

    draw: QuantileChoice | SeveralRanks
    share: Fraction
    offset: int

    def value(self, chosen: int, grid: Sum) -> Fraction:
        """Return the value that what was chosen stands for: of a place, of a part of what is rounded to a place, or
        the middle of several places that were taken together.
        """
        start, step = self._line(grid)
        return min(max(start + step * chosen, grid.origin), grid.origin + grid.high * grid.step)

    def values(self, chosen: Sequence[int], grid: Sum) -> list[float]:
        """Return the values that many choices stand for, each rounded once."""
        ends = (grid.origin, grid.origin + grid.high * grid.step)
        unit = math.lcm(*(part.denominator for part in (*ends, *self._line(grid))))
        start, step, low, high = (int(part * unit) for part in (*self._line(grid), *ends))
        return [min(max(start + step * one, low), high) / unit for one in chosen]

    def _line(self, grid: Sum) -> tuple[Fraction, Fraction]:
        """Return the value of the first choice, were it not held to the grid's ends, and by how much they rise."""
        if isinstance(self.draw, QuantileChoice):
            several = 2**self.draw.shift
            return grid.origin + Fraction(several - 1, 2) * grid.step, several * grid.step
        part = grid.step / 2**self.draw.digits
        return grid.origin + (part - grid.step) / 2, part

    def half(self, grid: Sum, *, rounds: bool) -> Fraction:
        """Return how far from its value lies what was chosen: half of the places taken together, and of a step."""
        several = 2**self.draw.shift if isinstance(self.draw, QuantileChoice) else 1
        return grid.step * (several - 1 + rounds) / 2


@wired("Selection", "draws")
@dataclass(frozen=True)
class QuantileDraws:
    """The second kind of measure: places of a scan's grid, chosen in every group by one draw or several."""

    draws: tuple[QuantileChoice | SeveralRanks, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What is released, in order: a place in each group for every slot."""
        found: list[Slot] = []
        for draw in self.draws:
            if isinstance(draw, SeveralRanks):
                found += [Slot(draw, share, 0) for share in draw.shares]
            else:
                found.append(Slot(draw, draw.share, draw.offset))
        return tuple(found)


@wired("Pass", "scan", "measures", "keys", later={"selection": None, "winners": None, "buckets": False})
@dataclass(frozen=True)
class Pass:
    """One scan with the noise for each of its sums, in the scan's order; or with the choices that are made from it.

    With `winners`, the scan counts the rows of each group by one key more, its last: the values that are chosen from.
    """

    scan: Scan
    measures: tuple[Measure, ...]
    keys: KeyRelease | KeyRule | None
    selection: QuantileDraws | None = None
    winners: Frequent | None = None
    buckets: bool = False
    """Whether the last key of the scan is inside each group too: its one sum is released for each of its values."""

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.selection is not None) + (self.winners is not None) + self.buckets > 1:
            raise InvariantError("a pass chooses places or values, or sums by range, and one of these alone")
        if self.inside and not self.scan.keys:
            raise InvariantError("what is inside each group is the last key of a scan")

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """The keys of the groups that are answered: those of the scan, without one that is inside each of them."""
        return self.scan.keys[:-1] if self.inside else self.scan.keys

    @property
    def inside(self) -> bool:
        """Whether the last key of the scan is inside each group that is answered."""
        return self.winners is not None or self.buckets

    @property
    def finds_groups(self) -> bool:
        """Whether the pass discovers groups, and not values within them."""
        return self.keys is not None and not self.inside

    @property
    def finds_first(self) -> bool:
        """Whether what the pass discovers decides what later ones read: the values beside which all others are one."""
        return self.finds_groups and any(key.other is not None for key in self.scan.keys)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the pass costs."""
        found = (self.keys.event,) if self.keys else ()
        return (*found, *self._drawn)

    @property
    def noise_events(self) -> tuple[Event, ...]:
        """What the noise of the pass costs, without the delta of a threshold."""
        found = (self.keys.noise,) if self.keys else ()
        return (*found, *self._drawn)

    @property
    def _drawn(self) -> tuple[Event, ...]:
        draws = self.selection.draws if self.selection else ()
        won = (self.winners.event,) if self.winners else ()
        return (*(measure.mechanism.event for measure in self.measures), *(draw.event for draw in draws), *won)


@dataclass(frozen=True)
class Known:
    """A sum that public facts fix: it is not measured, carries no noise and costs nothing."""

    value: int

    def __post_init__(self) -> None:
        check_fields(self)


Place = tuple[int, int] | Known
"""Where the value of a sum is found: a pass and a measure in it, or nowhere because it is known."""


@dataclass(frozen=True)
class Reading:
    """An aggregate of the query and where its sums are."""

    name: str
    aggregate: Aggregate
    places: tuple[Place, ...]


@dataclass(frozen=True, repr=False)
class Plan:
    """A query with every decision made. The passes are what is private; the rest reads what they release.

    Print it for its words and a table of releases; `to_dict` has the same as plain data. Where there are several
    `rounds`, the passes are those of one after the other, the same but for their noise; readings say where their sums
    are in each round, and the event is that of all rounds: what the answer costs at most.
    """

    query: Query
    passes: tuple[Pass, ...]
    readings: tuple[Reading, ...]
    spend: Spend
    target: Target | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        whole(self.rounds, "rounds", least=1)
        if type(self.passes) is not tuple or not all(type(one) is Pass for one in self.passes):
            raise BadParameter("passes", self.passes, "a tuple of passes")

    def round(self, index: int) -> Plan:
        """Return one round as a plan of its own, with its own digest and event."""
        size, place = len(self.passes) // self.rounds, whole(index, "index", most=self.rounds - 1)
        return replace(self, passes=self.passes[place * size : (place + 1) * size], target=None, rounds=1)

    def first_rounds(self, count: int) -> Plan:
        """Return the plan of so many rounds: what was done where they were enough."""
        size, done = len(self.passes) // self.rounds, whole(count, "count", least=1, most=self.rounds)
        return replace(self, passes=self.passes[: done * size], target=None, rounds=done)

    def across(self, place: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """Return where a sum or a choice is in each round."""
        size = len(self.passes) // self.rounds
        first, number = read(place, tuple[int, int], "place")
        return tuple((first + size * index, number) for index in range(self.rounds))

    @cached_property
    def event(self) -> Composed:
        """What the answer costs: the events of the very mechanisms that will draw."""
        return Composed(tuple(event for one in self.passes for event in one.events))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that is released; how it is named, ordered or derived does not matter."""
        return digest_of(self.passes)

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """The keys of the groups that are answered."""
        return self.passes[1 if self.finds_first else 0].groups

    @property
    def finds_first(self) -> bool:
        """Whether the first pass discovers values, beside which all others are one more group in the later passes."""
        return len(self.passes) > 1 and self.passes[0].finds_first

    @property
    def key_places(self) -> tuple[int, ...]:
        """Where each key of the question is among the keys that are released, which have an order of their own."""
        expressions = [key.expression for key in self.groups]
        return tuple(expressions.index(key.expression) for key in self.query.keys)

    @cached_property
    def price(self) -> Mapping[str, float]:
        """What the answer costs by itself, in the words of its budget."""
        from .explain import priced

        return priced(self)

    @property
    def discovers(self) -> bool:
        """Whether some groups are not public."""
        return any(one.finds_groups for one in self.passes)

    def explain(self) -> str:
        """Return the plan in plain words: what is protected, what may be lost, what noise is added, what it costs."""
        from .explain import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can hold."""
        from .explain import facts
        from .target import facts_of
        from .widths import widths

        columns = [width.to_dict() for width in widths(self)]
        return {"digest": self.digest, **facts(self), "columns": columns, "target": facts_of(self)}

    def __repr__(self) -> str:
        from .show import as_text

        return as_text(self)

    def __rich__(self) -> Group:
        from .show import as_rich

        return as_rich(self)

    def _repr_html_(self) -> str:
        from .show import as_html

        return as_html(self)


def _check_noise(noise: Noise) -> None:
    """Refuse noise that is drawn for one number at a time: a measure has as many as there are groups."""
    if isinstance(noise, Gaussian) and noise.grid == "whole":
        raise InvariantError("noise for every group is drawn at once, on a fine grid")
