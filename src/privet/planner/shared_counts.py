"""Several SUMs beside one count: each is read from its centred sum and from a noisy count that all of them share.

A row moves a centred sum by half as much as a sum of numbers that are not negative. With d such sums, the count costs
less than that saves: standard deviations fall from sqrt(d) to (sqrt(d) + 1) / 2 at the same price. Every noise is
independent and drawn by a mechanism of its own, whose event is charged; nothing here but public facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.aggregates import CentredTotal, Total
from privet.core.numbers import in_full
from privet.core.scan import Scan, Sum
from privet.core.wire import canonical
from privet.mechanisms import Gaussian

from .keys import choices
from .measures import Measure, SumMeasure, plain_text_of
from .plan import Known, Pass, Place, Plan, Reading, Spend
from .stability import sensitivity_of

_LESS = Fraction(99, 100)
"""A count is shared where variances fall by at least this factor: less is not worth another release."""

_FINE, _COARSE, _WIDEST = 128, 8, 8
"""The variance of a count is sought in parts of 128 of that of the sums, every eighth of them first, up to 8 times."""

_PLACES = 20
"""Shares are multiples of 2**-20 of each other."""


@dataclass(frozen=True)
class CentredTerm:
    """A sum as its centred form and a count make it: squares of what a unit moves, relative to the sum's own square."""

    total: Sum
    centred: Sum
    moved: Fraction
    """Of the centred sum."""
    counted: Fraction
    """Of the count, times the middle by which it counts."""

    def cost(self, width: float) -> float:
        """Return the share that the centred sum needs where the count has `width` times the variance of the sums.

        A separate sum has the share 1; less than 1 is a gain.
        """
        left = 1.0 - float(self.counted) * width
        return float(self.moved) / left if left > 0 else math.inf

    def share(self, width: Fraction) -> Fraction:
        """Return that share as it is used, rounded up."""
        return _rounded(self.moved / (1 - self.counted * width))


@dataclass(frozen=True)
class CountShared:
    """A count, how many times the variance of the sums it has, the sums beside it, and whether it is asked for."""

    count: Sum
    width: Fraction
    terms: tuple[CentredTerm, ...]
    asked: bool

    @property
    def share(self) -> Fraction:
        """The share of the count itself, rounded up."""
        return _rounded(1 / self.width)

    @property
    def saved(self) -> Fraction:
        """How many shares are saved: each separate sum has one, and so has a count that is asked for."""
        return (
            len(self.terms)
            + self.asked
            - self.share
            - sum((term.share(self.width) for term in self.terms), Fraction(0))
        )


def with_shared_counts(plan: Plan, room: Fraction) -> Plan | None:
    """Return a plan that reads SUMs from centred sums and counts which they share, if all sums err less so.

    `room` is the part of the Gaussian noise's rho that is left where there are more releases.

    With equal shares of rho, K sums have K times the variance that one alone would have. Let the square of what a
    unit moves be S for a sum, S_c for its centred sum and S_n for the count, and m the middle of the bounds. A count
    of variance y T S_n and a centred sum of variance T (S - m^2 y S_n) make a sum of variance T S, and cost 1 / y and
    S_c / (S - m^2 y S_n), in parts of rho; all other sums cost 1. So T is the sum of these, and is K without a shared
    count. For d numbers within [0, M] that come or go, S_c = S / 4 and m^2 S_n = S / 4: the sum is least at
    y = 4 / (1 + sqrt(d)), where T = (1 + sqrt(d))^2 / 4. A count that is asked for itself has y of 1 at most.

    Guarantee: the rhos of all releases of a pass add up to `room` times what they added up to before, and each release
    has noise for the sensitivity that the scan implies. Composition of independent Gaussian noise is all that is used.
    Decided by declared facts alone.
    Cites: [Leb24, Alg. 1], [BS16, Lemma 1.7].
    """
    if (
        not room
        or plan.rounds > 1
        or plan.covers != "noise"
        or plan.choosing
        or not all(step.plain for step in plan.query.steps)
    ):
        return None
    passes, readings = list(plan.passes), plan.readings
    for index, pass_ in enumerate(plan.passes):
        shares = _shares_of(pass_)
        counts = None if shares is None else _shared(pass_.scan, _single(plan, index))
        if counts and shares is not None:
            passes[index] = made = _measured(pass_, counts, shares * room)
            readings = tuple(_moved(reading, index, pass_, made) for reading in readings)
    if tuple(passes) == plan.passes:
        return None
    return replace(plan, passes=tuple(passes), readings=readings, before=None, wider=None, unshared=plan)


def room_for(spend: Spend, measures: int, parts: int) -> Fraction:
    """Return the part of the rho of Gaussian noise that is left where there are up to twice as many releases.

    Guarantee: where delta is priced, `choices` leaves a margin for the blur of each of a number of releases. With more
    of them, all together have the rho that leaves such a margin for twice as many: each SUM adds one count at most.
    """
    shares = []
    for releases in (measures, 2 * measures):
        options = choices(spend.part(Fraction(measures, parts)), releases)
        shares += [choice.share * releases for choice in options if choice.family == "gaussian"]
    return shares[1] / shares[0] if len(shares) == 2 else Fraction(0)


def _shares_of(pass_: Pass) -> Fraction | None:
    """Return the rho of all sums of a pass together; None where they are not plain sums with equal shares of it."""
    plain = isinstance(pass_.measure, SumMeasure) and pass_.plain and not pass_.scan.distinct
    if not plain or pass_.scan.bounding.of is not None or len(pass_.measures) < 2:
        return None
    if not all(isinstance(measure.mechanism, Gaussian) for measure in pass_.measures):
        return None
    rhos = {Fraction(measure.mechanism.event.rho()) for measure in pass_.measures}
    return rhos.pop() * len(pass_.measures) if len(rhos) == 1 else None


def _single(plan: Plan, index: int) -> Mapping[int, Total]:
    """Return the sums of a pass that SUMs are read from, and nothing else, by their places."""
    totals: dict[int, Total] = {}
    others: set[int] = set()
    for reading in plan.readings:
        for number in (number for at, number in reading.noisy if at == index):
            if type(reading.aggregate) is Total:
                totals[number] = reading.aggregate
            else:
                others.add(number)
    return {place: total for place, total in totals.items() if place not in others}


def _shared(scan: Scan, single: Mapping[int, Total]) -> tuple[CountShared, ...]:
    """Return the counts that sums are to share, where all variances fall enough."""
    groups: dict[Sum, list[CentredTerm]] = {}
    for place, total in single.items():
        term = _term(scan, scan.sums[place], total)
        if term is not None:
            groups.setdefault(total.argument.present(), []).append(term)
    candidates = [_best(count, terms, asked=count in scan.sums) for count, terms in groups.items()]
    kept = tuple(count for count in candidates if count.saved > 0)
    least = len(scan.sums) - sum((count.saved for count in kept), Fraction(0))
    return kept if least <= len(scan.sums) * _LESS else ()


def _term(scan: Scan, total: Sum, aggregate: Total) -> CentredTerm | None:
    """Return a sum in its centred form; None where the bounds are centred at 0, or the centred sum is there already."""
    argument = aggregate.argument
    centred, count = argument.centred(), argument.present()
    if not argument.middle or centred in scan.sums:
        return None
    plain, moved, counted = (sensitivity_of(part, scan).l2_squared * part.step**2 for part in (total, centred, count))
    return CentredTerm(total, centred, moved / plain, argument.middle**2 * counted / plain)


def _best(count: Sum, terms: Sequence[CentredTerm], *, asked: bool) -> CountShared:
    """Return how a count is best shared: its width by halves of a grid, and the sums that gain by it."""

    def cost(width: int) -> float:
        each = (min(1.0, term.cost(width / _FINE)) for term in terms)
        return _FINE / width + sum(each)

    most = _FINE if asked else _FINE * _WIDEST
    near = min(range(_COARSE, most + 1, _COARSE), key=cost)
    best = min(range(max(1, near - _COARSE), min(most, near + _COARSE) + 1), key=cost)
    gaining = tuple(term for term in terms if term.cost(best / _FINE) < 1)
    return CountShared(count, Fraction(best, _FINE), gaining, asked)


def _measured(pass_: Pass, shared: Sequence[CountShared], rho: Fraction) -> Pass:
    """Return a pass with centred sums and counts in place of sums; the rhos of its sums add up to `rho`."""
    gone = {term.total for count in shared for term in count.terms}
    weights = {total: Fraction(1) for total in pass_.scan.sums if total not in gone}
    for count in shared:
        weights |= {term.centred: term.share(count.width) for term in count.terms}
        weights[count.count] = count.share
    sums = sorted(weights, key=canonical)
    scan, whole, shift = (
        replace(pass_.scan, sums=tuple(sums)),
        sum(weights.values(), Fraction(0)),
        pass_.scan.bounding.shift,
    )
    measures = []
    for total in sums:
        sensitivity = sensitivity_of(total, scan)
        noise = Gaussian(sensitivity=sensitivity, rho=rho * weights[total] / whole)
        measures.append(Measure(total, sensitivity, noise, shift))
    return replace(pass_, scan=scan).with_noise(measures)


def _moved(reading: Reading, index: int, before: Pass, after: Pass) -> Reading:
    """Return a reading with the places that its sums have now."""
    sums = after.scan.sums

    def place_of(place: Place) -> Place:
        if isinstance(place, Known) or place[0] != index:
            return place
        return index, sums.index(before.scan.sums[place[1]])

    aggregate = reading.aggregate
    own = [place for place in reading.noisy if place[0] == index]
    if type(aggregate) is Total and own and before.scan.sums[own[0][1]] not in sums:
        beside = CentredTotal(aggregate.argument)
        return Reading(reading.name, beside, tuple((index, sums.index(total)) for total in beside.sums()))
    return Reading(reading.name, aggregate, tuple(map(place_of, reading.places)))


def _rounded(share: Fraction) -> Fraction:
    return Fraction(math.ceil(share * 2**_PLACES), 2**_PLACES)


def errs_less(plan: Plan, other: Plan) -> bool:
    """Return whether no sum of a plan has more noise than in another plan of the same question, and some have less."""
    if plan.discovers:
        return False
    pairs = list(zip(plan.readings, other.readings, strict=True))
    ratios = [ratio for reading, before in pairs for ratio in _ratios(plan, reading, other, before)]
    return bool(ratios) and max(ratios) <= 1 + 1e-9 and min(ratios) <= _LESS


def _ratios(plan: Plan, reading: Reading, other: Plan, before: Reading) -> list[float]:
    """Return the variances of an aggregate's sums over those in another plan; of a SUM, its own."""
    was = _variance(other, before)
    if was:
        return [_variance(plan, reading) / was]
    pairs = zip(reading.places, before.places, strict=True)
    noisy = [(now, old) for now, old in pairs if not isinstance(now, Known) and not isinstance(old, Known)]
    summed = [(now, old) for now, old in noisy if plan.passes[now[0]].measures]
    return [(plan.law(now).deviation / other.law(old).deviation) ** 2 for now, old in summed]


def _variance(plan: Plan, reading: Reading) -> float:
    """Return the variance of the noise of a SUM or a count; 0 of what is not linear in its sums, or not summed."""
    own = reading.aggregate
    if isinstance(own, CentredTotal):
        factors: tuple[Fraction, ...] = (own.argument.centred().step, own.argument.middle)
    elif own.linear is not None and not own.chosen:
        factors = (own.linear,)
    else:
        return 0.0
    every = zip(reading.places, factors, strict=False)
    return sum((plan.law(place).deviation * float(factor)) ** 2 for place, factor in every)


def shared_line(plan: Plan, before: Plan) -> str:
    """Return in words which SUMs are read beside a count that they share, and the gain."""
    were = {total for pass_ in before.passes for total in pass_.scan.sums}
    centred = [total for pass_ in plan.passes for total in pass_.scan.sums if total not in were and total.expression]
    names = _in_words([plain_text_of(total.expression) for total in centred if total.expression is not None])
    times = _in_words([in_full(float(total.origin)) for total in centred])
    pairs = zip(plan.readings, before.readings, strict=True)
    gains = [f"{1 / ratio:.3g}" for reading, other in pairs for ratio in _ratios(plan, reading, before, other)]
    between = " to ".join(dict.fromkeys((min(gains, key=float), max(gains, key=float)))) if gains else ""
    gained = f": at the same price, variances are {between} times smaller than with a noisy sum for each" * bool(gains)
    return f"Reads SUM of {names} as centred sums plus {times} times a count that they share{gained}."


def _in_words(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
