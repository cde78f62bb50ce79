"""A choice of one option from a public list, by scores that are sums over private rows: every decision, in advance.

The options, a bounded sum for each, how far one unit can move the sums, and the noise that decides: all of it public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from privet.core.errors import InvariantError
from privet.core.event import Event
from privet.core.given import check_fields
from privet.core.numbers import float_up
from privet.core.relation import Value, tables_of
from privet.core.scan import Once, Pairs, Scan, Sum
from privet.core.schema import Schema
from privet.core.wire import canonical
from privet.display import shown_amount, shown_error
from privet.mechanisms.selection import NoisyMax
from privet.query.normal import conjunction, text

from .explain import plan_version, scans_in_words
from .measures import summed_in_words
from .plan import Spend
from .scalars import Movement, ScalarQuestion, check_scalar_scan, movement_of, worth_of
from .verify import verify_scan

Law = Literal["exponential", "gumbel"]
"""The noise that decides: exponential noise is permute-and-flip, and Gumbel noise the exponential mechanism."""

NAMES: Mapping[Law, str] = {"exponential": "permute-and-flip", "gumbel": "the exponential mechanism"}
MOST_OPTIONS = 1_000
"""This many options may be chosen from: each is a sum over the data."""

_BITS = 2**64


@dataclass(frozen=True)
class ScorePlace:
    """Where the score of an option is: which scan of a plan, and which of its sums."""

    scan: int
    column: int

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class ChoicePlan:
    """A choice with every decision made: the options, a score for each, and the noise by which one is chosen.

    `rate` is per unit of the score, and `sensitivity` is how far one unit can move any score; with `monotone`, all
    scores move in one direction. `measure` is what the choice was planned in: epsilon or rho.
    """

    options: tuple[Value, ...]
    scans: tuple[Scan, ...]
    scores: tuple[ScorePlace, ...]
    sensitivity: Fraction
    monotone: bool
    rate: Fraction
    law: Law
    measure: Literal["epsilon", "rho"] = "epsilon"

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.options) != len(self.scores) or not self.scans:
            raise InvariantError("each option of a choice has a score")

    @property
    def sums(self) -> tuple[tuple[Sum, Scan], ...]:
        """The sum of each option's score, and its scan."""
        return tuple((self.scans[one.scan].sums[one.column], self.scans[one.scan]) for one in self.scores)

    @cached_property
    def unit(self) -> Fraction:
        """The largest number of which what an integer of each score is worth is a whole multiple."""
        worths = [worth_of(*one) for one in self.sums]
        below = math.lcm(*(worth.denominator for worth in worths))
        return Fraction(math.gcd(*(int(worth * below) for worth in worths)), below)

    @property
    def multiples(self) -> tuple[int, ...]:
        """By how much an integer of each score counts, in the unit that all scores share."""
        return tuple(int(worth_of(*one) / self.unit) for one in self.sums)

    @cached_property
    def mechanism(self) -> NoisyMax:
        """What chooses, from the scores as integers of `unit`."""
        return NoisyMax(
            sensitivity=self.sensitivity / self.unit,
            rate=self.rate * self.unit,
            monotone=self.monotone,
            law=self.law,
        )

    @property
    def event(self) -> Event:
        """What the choice costs: the event of the very mechanism that will choose."""
        return self.mechanism.event

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that decides what is released."""
        places = [(one.scan, one.column) for one in self.scores]
        decided = [self.options, self.scans, places, self.sensitivity, self.monotone, self.rate, self.law]
        return hashlib.sha256(canonical(["choice", *decided]).encode()).hexdigest()

    @property
    def schema(self) -> Schema:
        """The facts of the table that is asked about."""
        return self.scans[0].schema

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read."""
        return tuple(dict.fromkeys(name for scan in self.scans for name in tables_of(scan.table)))

    def behind(self, confidence: float = 0.95) -> float:
        """Return how far below the best score that of the chosen option is, at most, with this probability."""
        return self.mechanism.error(confidence, size=len(self.options)) * float_up(self.unit)

    @property
    def cost(self) -> dict[str, float]:
        """What the choice costs by itself."""
        if self.measure == "rho":
            return {"rho": float_up(self.event.rho()), "delta": 0.0}
        return {"epsilon": float_up(self.event.pure()), "delta": 0.0}

    def explain(self) -> str:
        """Return the choice in plain words: what is protected, how it is decided, what it costs."""
        schema, count = self.schema, len(self.options)
        moved = f"{shown_amount(float_up(self.sensitivity))}"
        ways = (
            ", and moves all scores in the same direction, which halves the noise" if self.monotone else ", either way"
        )
        lines = [
            f"Protects {schema.unit} of {' and '.join(self.tables)} ({schema.neighbors} neighbours).",
            *scans_in_words(self.scans),
            f"Chooses one of {count:,} public options by {NAMES[self.law]}, from a score of each; the scores "
            f"themselves are not released.",
            f"The score of {_shown(self.options[0])} is {summed_in_words(*self.sums[0])}.",
            f"What is protected moves a score by at most {moved}{ways}.",
            f"With probability 0.95 the score of what is chosen is at most {shown_error(self.behind())} below the "
            f"best.",
            f"Costs {', '.join(f'{name} {value:.4g}' for name, value in self.cost.items())}.",
        ]
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Return everything public about the choice as plain data: for certificates and machines."""
        schema, scan = self.schema, self.scans[0]
        where = scan.where if len(self.scans) == 1 else None
        return {
            **plan_version(),
            "table": " and ".join(self.tables),
            "version": schema.version,
            "protects": str(schema.unit),
            "neighbors": schema.neighbors,
            "bounding": " ".join(scans_in_words(self.scans)),
            "may_be_low": [],
            "may_be_high": [],
            "releases": [
                {
                    "sum": f"one of {len(self.options):,} options by {summed_in_words(*self.sums[0])}",
                    "noise": "Permute-and-flip" if self.law == "exponential" else "Exponential",
                    "options": len(self.options),
                    "sensitivity": float_up(self.sensitivity),
                    "monotone": self.monotone,
                    "behind_95": self.behind(),
                    "clamped_to": None,
                }
            ],
            "exact": [],
            "keys": "none",
            "group_by": [],
            "where": None if where is None else text(where),
            "cost": self.cost,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the choice, with its digest and its options, as plain data."""
        return {"digest": self.digest, **self.facts(), "options": [_shown(one) for one in self.options]}

    def __str__(self) -> str:
        return self.explain()


def make_choice(
    options: Sequence[Value], scores: Sequence[ScalarQuestion], *, spend: Spend, law: Law | None
) -> ChoicePlan:
    """Return the plan of a choice from these options by these scores. Free, and the same for every data set.

    Without a `law` it is permute-and-flip, the best for one choice, or the exponential mechanism where the cost is
    counted as rho, which prices its smaller range of losses.

    Guarantee: the rate is such that the mechanism's event is what the spend allows, for the largest movement of any
    score; scores are taken to move in one direction only where each of them is proven to.
    Cites: [MT07, Thm 6], [MS20, privacy].
    """
    scans, places = _shared(scores)
    sensitivity, monotone = _moved([movement_of(scans[one.scan].sums[one.column], scans[one.scan]) for one in places])
    chosen: Law = law or ("exponential" if spend.epsilon is not None else "gumbel")
    if spend.epsilon is not None:
        cost = spend.epsilon
    else:  # a pure event of epsilon is epsilon**2 / 2 in rho, and one of bounded range epsilon**2 / 8
        squared = (8 if chosen == "gumbel" else 2) * (spend.rho or Fraction(0))
        cost = Fraction(math.isqrt(squared.numerator * _BITS**2 // squared.denominator), _BITS)
    rate = cost / (sensitivity * (1 if monotone else 2))
    measure: Literal["epsilon", "rho"] = "rho" if spend.epsilon is None else "epsilon"
    return ChoicePlan(tuple(options), scans, places, sensitivity, monotone, rate, chosen, measure)


def verify_choice(plan: ChoicePlan, tables: Mapping[str, Schema]) -> None:
    """Raise unless a choice has noise for the sensitivity that its scores have on these tables.

    Guarantee: a plan that passes costs what its event says on these tables, no matter what made it.
    """
    if type(plan) is not ChoicePlan:
        raise InvariantError("a choice is read as it is: its cost and its digest are computed, and not its own to say")
    for scan in plan.scans:
        verify_scan(scan, tables)
        check_scalar_scan(scan)
    places = [(score.scan, score.column) for score in plan.scores]
    if any(not (0 <= scan < len(plan.scans) and 0 <= one < len(plan.scans[scan].sums)) for scan, one in places):
        raise InvariantError("a choice reads a score that no scan gives")
    sensitivity, monotone = _moved([movement_of(*one) for one in plan.sums])
    if plan.sensitivity < sensitivity or (plan.monotone and not monotone):
        raise InvariantError("a choice has noise for another sensitivity than its scores have")


def _moved(movements: Sequence[Movement]) -> tuple[Fraction, bool]:
    """Return how far any of several numbers moves, and whether one unit moves all of them in one direction."""
    one_way = all(one.rises for one in movements) or all(one.falls for one in movements)
    return max(one.distance for one in movements), one_way


def _shared(scores: Sequence[ScalarQuestion]) -> tuple[tuple[Scan, ...], tuple[ScorePlace, ...]]:
    """Return as few scans as give all the scores, and where each score is among them.

    Guarantee: scans that differ in their sums alone weigh units alike, and so do rows that are units, whichever of them
    a condition keeps: it may stand at the sum.
    """
    found: dict[str, tuple[Scan, dict[str, Sum]]] = {}
    placed: list[tuple[str, str]] = []
    for one in scores:
        scan, total = one.scan, one.sum
        if isinstance(scan.bounding, Once) and scan.where is not None:
            total = replace(total, where=conjunction(scan.where, total.where))
            scan = replace(scan, where=None)
        # a scan for different values has one sum
        alike = scan if isinstance(scan.bounding, Pairs) else replace(scan, sums=())
        name, column = canonical(alike), canonical(total)
        found.setdefault(name, (scan, {}))[1].setdefault(column, total)
        placed.append((name, column))
    names = list(found)
    scans = tuple(replace(scan, sums=tuple(sums.values())) for scan, sums in found.values())
    columns = {name: list(sums) for name, (_, sums) in found.items()}
    return scans, tuple(ScorePlace(names.index(name), columns[name].index(column)) for name, column in placed)


def _shown(option: Value) -> str:
    return f"{float(option):.6g}" if isinstance(option, Fraction) else str(option)
