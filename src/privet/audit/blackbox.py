"""Tries to refute a claim by looking at releases alone, whatever made them.

The event that distinguishes two neighbours best is found on some of the releases, and used on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from privet.accounting.cost import epsilon as epsilon_of
from privet.accounting.events import ZcdpEvent
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BadValue, raise_alone
from privet.core.event import Event
from privet.core.given import called, function, is_a, listed
from privet.core.numbers import (
    Number,
    failure_probability,
    float_up,
    nonnegative,
    open_probability,
    read_rational,
    whole,
)
from privet.mechanisms import Mechanism
from privet.mechanisms.lattice import read_floats

from .exact import Curve
from .releases import LARGEST, NAMES, Draw, Place, make_draw, places_of, row_codes
from .report import Counts, Report, epsilon_low, power, rate_high, rate_low

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privet.core.event import Floats


# Scores of releases, learnt from some of them: the higher, the likelier under one neighbour than under the other.
#
# An event is "the score is at least this much", or "at most", and can state in words which releases it contains.


_LABELS = 4096
"""Outputs that differ in at most this many ways are distinguished by name; more are put into bins."""
_BINS = 256
_ATOMS, _SEEN = 512, 8
"""Numbers among many others that have a bin of their own: this many, each seen this often."""
_COORDINATES = 16
"""Coordinates of a vector that are also looked at alone: those that differ most."""
_WEIGHED = 512
"""Coordinates among which a weighted sum is sought."""
_SMOOTH = 4.0
"""Sightings that every bin is given under both neighbours, so that a rare one does not look telling by luck."""
_APART = 2.5
"""Standard deviations by which the ratios of two bins, and then of pooled ones, must differ to be kept apart."""
_TOLD = 4
_ROWS_TOLD = 3


class Score(Protocol):
    """What assigns a number to every release, and describes which releases have at least this much, or at most."""

    def __call__(self, rows: Floats) -> Floats: ...

    def words(self, threshold: float, high: bool) -> str: ...


def learn_scores(p: Floats, q: Floats, places: Sequence[Place], names: Mapping[float, str]) -> Iterator[Score]:
    """Yield scores that may distinguish the releases p from the releases q."""
    labels = {**NAMES, **names}
    parts = [_Ratio.learn(p[:, j], q[:, j], _Column(j), place_name(place), labels) for j, place in enumerate(places)]
    if len(parts) == 1:
        if max(np.max(np.abs(each), initial=0.0) for each in (p, q)) <= LARGEST:
            yield from (_Tail(_Column(0), place_name(places[0]), up) for up in (True, False))
        yield parts[0]
        return
    yield from sorted(parts, key=lambda part: -part.apart)[:_COORDINATES]
    yield _Sum(parts)
    weighed = _weights(p, q)
    if weighed is not None:
        yield _Ratio.learn(weighed(p), weighed(q), weighed, weighed.words(places), labels)
    rows = row_codes(p), row_codes(q)
    shown = dict(zip(rows[0].tolist(), p[:_LABELS], strict=False))
    shown.update(zip(rows[1].tolist(), q[:_LABELS], strict=False))
    yield _Rows.learn(*rows, {code: _row(row, labels) for code, row in shown.items()})


def place_name(place: Place) -> str:
    """Return a place of a release as a programmer would write it."""
    return "output" + "".join(f"[{part!r}]" for part in place)


@dataclass(frozen=True)
class _Column:
    index: int

    def __call__(self, rows: Floats) -> Floats:
        return rows[:, self.index]


@dataclass(frozen=True)
class _Tail:
    """The number itself, or minus the number."""

    read: _Column
    name: str
    up: bool

    def __call__(self, rows: Floats) -> Floats:
        return self.read(rows) if self.up else -self.read(rows)

    def words(self, threshold: float, high: bool) -> str:
        bound = threshold if self.up else -threshold
        return f"{self.name} is {'at least' if high is self.up else 'at most'} {bound:.6g}"


@dataclass(frozen=True)
class _Ratio:
    """The log of how much likelier a number, or its bin, was in p than in q."""

    read: Any
    name: str
    starts: Floats
    table: Floats
    apart: float
    """How far apart the two laws over the bins are, in total variation."""
    whole: bool
    """Whether a bin is a single value."""
    names: Mapping[float, str]

    @classmethod
    def learn(cls, p: Floats, q: Floats, read: Any, name: str, names: Mapping[float, str]) -> _Ratio:
        both = np.sort(np.concatenate([p, q]))
        first = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
        values, whole = both[first], first.size <= _LABELS
        if not whole:
            edges = both[np.arange(_BINS) * (both.size - 1) // _BINS]
            seen = np.diff(first, append=both.size)
            often = np.argsort(seen)[::-1][:_ATOMS]
            atoms = values[often[seen[often] >= _SEEN]]
            values = np.unique(np.concatenate([edges, atoms, np.nextafter(atoms, np.inf)]))
        counts = _pooled([_counted(values, each) for each in (p, q)])
        apart = float(np.abs(counts[0] / len(p) - counts[1] / len(q)).sum() / 2)
        return cls(read, name, values, _log_ratio(counts, p, q), apart, whole, names)

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(self.table[_bin(self.starts, self.read(rows))])

    def words(self, threshold: float, high: bool) -> str:
        held = self.table >= threshold if high else self.table <= threshold
        return f"{self.name} is {_alternatives(_runs(self.starts, held, self.whole, self.names))}"


@dataclass(frozen=True)
class _Sum:
    """The sum of what the coordinates indicate separately."""

    parts: Sequence[_Ratio]

    def __call__(self, rows: Floats) -> Floats:
        total = np.zeros(len(rows))
        for part in self.parts:
            total += part(rows)
        return total

    def words(self, threshold: float, high: bool) -> str:
        side = "at least" if high else "at most"
        return (
            f"the {len(self.parts)} values together: the logs of how much likelier each is under the first input "
            f"add up to {side} {threshold:.4g}"
        )


@dataclass(frozen=True)
class _Rows:
    """The log of how much likelier a whole row was in p than in q; 0 for one that was not seen."""

    known: Floats
    table: Floats
    shown: Mapping[float, str]

    @classmethod
    def learn(cls, p: Floats, q: Floats, shown: Mapping[float, str]) -> _Rows:
        known, seen = np.unique(np.concatenate([p, q]), return_counts=True)
        if known.size > _LABELS:
            known = np.sort(known[np.argsort(seen)[::-1][:_LABELS]])
        inside = [each[known[_bin(known, each)] == each] for each in (p, q)]
        counts = [np.bincount(_bin(known, each), minlength=known.size) for each in inside]
        return cls(known, _log_ratio(counts, p, q), shown)

    def __call__(self, rows: Floats) -> Floats:
        codes = row_codes(rows)
        at = _bin(self.known, codes)
        return np.where(self.known[at] == codes, self.table[at], 0.0)

    def words(self, threshold: float, high: bool) -> str:
        held = np.flatnonzero(self.table >= threshold if high else self.table <= threshold)
        order = np.argsort(self.table[held] * (-1 if high else 1), kind="stable")
        rows = [self.shown[code] for code in self.known[held[order]].tolist() if code in self.shown]
        shown = " or ".join(rows[:_ROWS_TOLD]) or "one of those seen more often"
        more = len(held) - len(rows[:_ROWS_TOLD])
        return f"output is {shown}" + (f", or one of {more:,} others" if more and rows else "")


@dataclass(frozen=True)
class _Weighed:
    """A weighted sum of coordinates, each kept within the range in which it was mostly seen."""

    low: Floats
    high: Floats
    weights: Floats

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(np.clip(rows, self.low, self.high) @ self.weights)

    def words(self, places: Sequence[Place]) -> str:
        heavy = np.argsort(-np.abs(self.weights))[:3]
        terms = " ".join(f"{self.weights[j]:+.3g} {place_name(places[j])}" for j in heavy)
        return f"the weighted sum {terms.removeprefix('+')}{' ...' if len(places) > len(heavy) else ''}"


def _weights(p: Floats, q: Floats) -> _Weighed | None:
    """Return the weighted sum that distinguishes the two best where noise is shared between coordinates (Fisher's)."""
    if p.shape[1] > _WEIGHED or len(p) < 2:
        return None
    both = np.concatenate([p, q])
    low, high = np.quantile(both, [0.001, 0.999], axis=0)
    plain = (np.abs(both) <= LARGEST).all(axis=0) & (high > low)
    if not plain.any():
        return None
    low, high = np.where(plain, low, 0.0), np.where(plain, high, 0.0)
    size = np.where(plain, high - low, 1.0)
    scaled = [np.where(plain, np.clip(each, low, high) - low, 0.0) / size for each in (p, q)]
    spread = np.asarray(sum(np.cov(each, rowvar=False) for each in scaled)) + 1e-9 * np.eye(p.shape[1])
    weights = np.linalg.solve(spread, scaled[0].mean(axis=0) - scaled[1].mean(axis=0)) / size
    largest = np.max(np.abs(weights))
    return _Weighed(low, high, weights / largest) if np.isfinite(largest) and largest > 0 else None


def _bin(starts: Floats, numbers: Floats) -> Any:
    return np.clip(np.searchsorted(starts, numbers, side="right") - 1, 0, starts.size - 1)


def _counted(starts: Floats, numbers: Floats) -> Any:
    return np.diff(np.searchsorted(np.sort(numbers), starts, side="left"), append=numbers.size)


def _log_ratio(counts: Sequence[Any], p: Floats, q: Floats) -> Floats:
    return np.asarray(np.log((counts[0] + _SMOOTH) / (counts[1] + _SMOOTH)) - np.log(len(p) / len(q)))


def _pooled(counts: Sequence[Any]) -> list[Any]:
    """Return the counts, those of bins beside each other pooled while chance alone may have set their ratios apart.

    The two neighbours that are most alike come together first, until any two differ.
    """
    a, b = (each.astype(np.float64) + 1.0 for each in counts)
    after, before = list(range(1, a.size + 1)), list(range(-1, a.size - 1))
    logs, spread = np.log(a / b), 1 / a + 1 / b
    far = np.append(np.abs(np.diff(logs)) / np.sqrt(spread[1:] + spread[:-1]), np.inf)

    def compare(i: int) -> None:
        if i >= 0 and after[i] < a.size:
            j = after[i]
            far[i] = abs(logs[i] - logs[j]) / math.sqrt(spread[i] + spread[j])

    for _ in range(a.size - 1):
        i = int(np.argmin(far))
        if far[i] >= _APART:
            break
        j = after[i]
        a[i], b[i], after[i] = a[i] + a[j] - 1, b[i] + b[j] - 1, after[j]
        logs[i], spread[i], far[j] = math.log(a[i] / b[i]), 1 / a[i] + 1 / b[i], np.inf
        far[i] = np.inf
        if after[i] < a.size:
            before[after[i]] = i
        compare(i)
        compare(before[i])
    heads = [0]
    while after[heads[-1]] < a.size:
        heads.append(after[heads[-1]])
    sizes = np.diff(heads, append=a.size)
    return [np.repeat(each[heads] - 1, sizes) for each in (a, b)]


def _runs(starts: Floats, held: Any, whole: bool, names: Mapping[float, str]) -> Iterator[str]:
    """Yield the ranges and values that some bins make up: bins that follow each other are one range."""
    special = np.abs(starts) > LARGEST
    last = len(starts) - 1
    begin = 0
    while begin <= last:
        if not held[begin]:
            begin += 1
            continue
        end = begin
        while end < last and held[end + 1] and not special[end + 1] and not special[begin]:
            end += 1
        if special[begin]:
            yield names.get(float(starts[begin]), "a text")
        else:
            open_low = begin == 0 or special[begin - 1]
            open_high = end == last or special[end + 1]
            yield _range(starts, begin, end, open_low=open_low, open_high=open_high, whole=whole)
        begin = end + 1


def _range(starts: Floats, begin: int, end: int, *, open_low: bool, open_high: bool, whole: bool) -> str:
    low, high = f"{starts[begin]:.6g}", f"{starts[end if whole or open_high else end + 1]:.6g}"
    if open_low and open_high:
        return "any number"
    if open_high:
        return f"at least {low}"
    if open_low:
        return f"{'at most' if whole else 'below'} {high}"
    return low if low == high else f"between {low} and {high}"


def _alternatives(runs: Iterator[str]) -> str:
    texts = list(runs)
    more = f", or in {len(texts) - _TOLD:,} more places" if len(texts) > _TOLD else ""
    return (" or ".join(texts[:_TOLD]) or "nowhere") + more


def _row(row: Floats, names: Mapping[float, str]) -> str:
    cells = [names.get(cell, f"{cell:.6g}") for cell in row[:8].tolist()]
    return f"({', '.join(cells)}{', ...' if len(row) > len(cells) else ''})"


_THRESHOLDS = 1024
_CAUTION = 0.1
_BETTER = 1.005
"""How many times more telling an event must look than a plainer one to be chosen instead."""


@dataclass(frozen=True)
class Witness:
    """An event: the outputs whose score is at least a threshold, likelier under one neighbour than the other."""

    learnt: Score
    threshold: float
    flipped: bool
    """Whether it is likelier under the second neighbour; then the score counts with the other sign."""
    epsilon: float
    delta: float
    """The point of the claim at which it was found to be the most telling."""

    def score(self, rows: Floats) -> Floats:
        """Return the score of each release: high where it speaks for the neighbour that the event is likelier under."""
        scores = self.learnt(rows)
        return -scores if self.flipped else scores

    @property
    def words(self) -> str:
        """Return which releases are in the event."""
        return self.learnt.words(-self.threshold if self.flipped else self.threshold, high=not self.flipped)


def find_witness(
    one: Floats,
    other: Floats,
    claims: Sequence[tuple[float, float]],
    *,
    places: Sequence[Place],
    names: Mapping[float, str],
    trials: int,
    alarm: float,
) -> Witness:
    """Return the event, and the claimed (epsilon, delta), that these releases refute best or come closest to.

    `claims` are points that a claim makes, each of which must hold. The result is a guess, to be put to the test on
    this many `trials` with other releases of each.
    """
    best, witness = 0.0, None
    # scores are learnt on one half and compared on the other, or those that learnt luck by heart would win
    half = len(one) // 2
    for score in learn_scores(one[:half], other[:half], places, names):
        seen = np.sort(score(one[half:])), np.sort(score(other[half:]))
        both = np.sort(np.concatenate(seen))
        spread = np.unique(both[np.linspace(0, both.size - 1, _THRESHOLDS).astype(np.int64)])
        for flipped in (False, True):
            ours, theirs = (-seen[1][::-1], -seen[0][::-1]) if flipped else seen
            thresholds = -spread[::-1] if flipped else spread
            # what the trials may be expected to show, with rates on the cautious side of those seen
            p = rate_low(_at_least(ours, thresholds), len(ours), _CAUTION)
            q = rate_high(_at_least(theirs, thresholds), len(theirs), _CAUTION)
            p_low, q_high = rate_low(p * trials, trials, alarm / 2), rate_high(q * trials, trials, alarm / 2)
            for epsilon, delta in claims:
                merit = epsilon_low(p_low, q_high, delta) / max(epsilon, 1e-9)
                index = int(np.argmax(merit))
                if witness is None or merit[index] > best * _BETTER:
                    best = float(merit[index])
                    witness = Witness(score, float(thresholds[index]), flipped, epsilon, delta)
    if witness is None:
        raise ValueError("there are no releases")
    return witness


def _at_least(scores: Floats, thresholds: Floats) -> Floats:
    return np.asarray(scores.size - np.searchsorted(scores, thresholds, side="left"))


Claimed = Number | tuple[Number, Number] | Budget | Event | Curve
"""A claim: an epsilon, an epsilon and a delta, a budget, or a whole curve."""

ALARM = 1e-6
"""How often an audit may refute a claim that is true."""

DELTAS = (0.001, 0.01, 0.03, 0.1)
"""Where a claim that is a curve is put to the test: smaller deltas are out of the reach of samples."""

_SEARCHED = 0.3
"""The part of the releases in which the event is sought; the rest bounds its chances."""

_CURVE = 64


def audit(
    mechanism: Mechanism | Callable[[Any], Any] | Draw,
    neighbours: tuple[Any, Any],
    claimed: Claimed,
    samples: int = 100_000,
    *,
    batched: bool = False,
    alarm: float = ALARM,
) -> Report:
    """Return what `samples` releases of each of two neighbouring inputs imply about a claim.

    `mechanism` is a mechanism, a function of one input, or, with `batched`, a function of an input and a count that
    returns this many releases at once: an array with a row for each, or a sequence of numbers, texts or tables. A call
    that raises counts as a separate output, unless every call does. `claimed` is an epsilon, a pair (epsilon, delta), a
    budget, or an event, which claims a whole curve.

    Args:
        mechanism: a mechanism, or a function of one input.
        neighbours: two neighbouring inputs.
        claimed: an epsilon, (epsilon, delta), a budget, an event or a `Curve`.
        samples: how many releases of each.
        batched: whether the function takes an input and a count.
        alarm: the probability with which a true claim is refuted.

    Example:
        >>> report = audit.audit(privet.Laplace(sensitivity=1, epsilon=1), (10, 11), 1, 2000)
        >>> report.refuted
        False

    Guarantee: a claim that holds is refuted with probability at most `alarm`: the event is chosen on some of the
    releases, and its chances are bounded on the others.
    Cites: [JUO20, bounds from samples], [DWWZK18].
    """
    size = whole(samples, "samples", least=100, most=10**9)
    rate = float(open_probability(alarm, "alarm"))
    claims = claim_points(claimed)
    if not isinstance(neighbours, (tuple, list)) or len(neighbours) != 2:
        raise BadParameter("neighbours", type(neighbours).__name__, "two inputs that differ in one unit")
    draw = make_draw(mechanism, batched)
    trials = size - int(size * _SEARCHED)
    guesses = [draw(value, size - trials) for value in neighbours]
    draw.verify_works()
    places = places_of(*guesses)
    witness = find_witness(
        guesses[0].at(places),
        guesses[1].at(places),
        claims,
        places=places,
        names={**guesses[0].names, **guesses[1].names},
        trials=trials,
        alarm=rate,
    )
    scores = [witness.score(draw(value, trials).at(places)) for value in neighbours]
    return _judge(witness, scores[:: -1 if witness.flipped else 1], trials, rate, claims)


def claim_points(claimed: Claimed) -> tuple[tuple[float, float], ...]:
    """Return the points (epsilon, delta) at which a claim is put to the test."""
    if is_a(claimed, Event):
        return _event_points(cast(Event, claimed))
    match claimed:
        case Pure(epsilon=epsilon):
            return ((float_up(epsilon), 0.0),)
        case Approximate(epsilon=epsilon, delta=delta):
            return ((float_up(epsilon), float_up(delta)),)
        case Zcdp(rho=rho):
            return claim_points(ZcdpEvent(rho))
        case Curve(points=points):
            return points or ((math.inf, 0.0),)
        case (epsilon, delta):
            limit, allowed = nonnegative(epsilon, "claimed epsilon"), failure_probability(delta, "claimed delta")
            return ((float_up(limit), float_up(allowed)),)
    exact = read_rational(claimed)
    if exact is None or exact < 0:
        raise BadParameter("claimed", claimed, "an epsilon of at least 0, (epsilon, delta), a budget or an event")
    return ((float_up(exact), 0.0),)


def _event_points(event: Event) -> tuple[tuple[float, float], ...]:
    pure = float_up(event.pure())
    points = [(pure, 0.0)] if math.isfinite(pure) else []
    points += [(epsilon_of(event, delta), delta) for delta in DELTAS]
    known = [(epsilon, delta) for epsilon, delta in points if math.isfinite(epsilon)]
    return tuple(known) or ((math.inf, 0.0),)


def _judge(
    witness: Witness, scores: Sequence[Floats], trials: int, alarm: float, claims: tuple[tuple[float, float], ...]
) -> Report:
    hits = [int(np.count_nonzero(score >= witness.threshold)) for score in scores]
    counts = Counts(hits[0], hits[1], trials)
    return Report(
        epsilon=witness.epsilon,
        delta=witness.delta,
        found=counts.epsilon(witness.delta, alarm),
        witness=witness.words,
        counts=counts,
        flipped=witness.flipped,
        alarm=alarm,
        power=power(counts, witness.epsilon, witness.delta, alarm),
        points=_points(scores),
        claims=claims,
    )


def _points(scores: Sequence[Floats]) -> tuple[tuple[float, float], ...]:
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.linspace(0, 1, _CURVE), method="higher"))
    return tuple((float(np.mean(scores[1] >= at)), float(np.mean(scores[0] < at))) for at in thresholds)


# What the low bits of a double reveal: which values can have made it. Goodness of fit does not detect this.


_WIDTH = 4096
"""More than there are exponents of doubles, so that two of them fit into one number."""

PAIRS: tuple[tuple[float, float], ...] = (
    (0.0, 1.0),
    (0.1, 0.7),
    (1 / 3, 4 / 3),
    (0.25, -0.75),
    (1000.1, 1001.0),
)
"""Neighbours whose doubles end in different places."""


def low_bits(released: ArrayLike) -> NDArray[np.int64]:
    """Return for each double a label: its power of two, and the power of two of its last bit that is set.

    A double that was made by adding noise to a value can only end where the value or the noise ends, so a leaking
    sampler gives some labels under one value and never under another.

    Args:
        released: doubles.

    Example:
        >>> len(audit.low_bits([0.5, 0.75]))
        2

    Cites: [Mir12, the attack].
    """
    numbers = _doubles(released).reshape(-1)
    fraction, power = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = (np.abs(fraction) * 2.0**53).astype(np.int64)
    last = np.where(whole > 0, np.log2(np.maximum(whole & -whole, 1)), 0).astype(np.int64) - 53 + power
    label = (power.astype(np.int64) + _WIDTH // 2) * _WIDTH + last + _WIDTH // 2
    return np.where(whole > 0, label, 0)


def _doubles(released: ArrayLike) -> NDArray[np.float64]:
    if isinstance(released, np.ndarray) and released.dtype == np.float64:
        return released  # NaN and infinities are outputs like any others
    return read_floats(released, "released")


def audit_bits(
    draw: Draw, claimed: Claimed, samples: int = 50_000, *, pairs: tuple[tuple[Any, Any], ...] = PAIRS
) -> Report:
    """Return the most telling of the audits of the low bits of what a sampler of doubles releases.

    `draw` takes a value and a count. The false alarms are split over the pairs of values, each of which must be
    neighbours under the claim.

    Args:
        draw: returns that many doubles for an input.
        claimed: an epsilon, (epsilon, delta), a budget, an event or a `Curve`.
        samples: how many releases of each.
        pairs: pairs of neighbouring inputs.

    Example:
        >>> from privet.audit.unsafe import float_laplace
        >>> audit.audit_bits(float_laplace, 1, 2000, pairs=((0.0, 1.0),)).found >= 0
        True
    """

    sampler = function(draw, "draw", "a function of a value and a count")
    tried = listed(pairs, "pairs", "pairs of values", most=1000)
    if not tried or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in tried):
        raise BadParameter("pairs", pairs, "one or more pairs of values")

    def bits(value: Any, count: int) -> NDArray[np.int64]:
        drawn = called(sampler, "draw", value, count)
        try:
            numbers = np.asarray(_doubles(drawn))
        except BadValue:
            raise_alone(BadParameter("draw", draw, "a function of a value and a count that returns that many doubles"))
        return low_bits(numbers).reshape(numbers.shape)

    alarm = ALARM / len(tried)
    reports = [audit(bits, pair, claimed, samples, batched=True, alarm=alarm) for pair in tried]
    return max(reports, key=lambda report: report.found - report.epsilon)
