"""Privacy loss distributions of any composition: a proven upper bound, and a lower one that shows how tight it is.

For batches fixed in advance and for reports. Not for deciding, one query at a time, whether the next one still
fits: with costs chosen adaptively, a composed distribution is not valid; filters serve there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privet.accounting.pairs import EitherOrderPair, has_order
from privet.core.errors import BadParameter
from privet.core.event import Event, Pair, read_event
from privet.core.numbers import Number, failure_probability, float_down, float_up, nonnegative, positive

from .discretise import LARGEST_STEP, MOST_POINTS, Extent, Lattice, extent, lower, upper
from .distribution import (
    LossDistribution,
    LossPart,
    LossWindow,
    Moments,
    OptimisticLoss,
    compose_lower,
    compose_upper,
    support,
)

# Reads an event into the pairs that it is made of, each with its count, and what is certain to be simpler together.
#
# Pairs that know how to merge (Gaussians, zCDP promises) become one; failures leave their pairs and are multiplied
# exactly. No class is inspected: a pair states whether it can.


@dataclass(frozen=True)
class Copies:
    """A pair, and how many independent copies of it."""

    pair: Pair
    times: int


@dataclass(frozen=True)
class Gathered:
    """All pairs of an event, and the probability that any of its failures happens, rounded up."""

    pairs: tuple[Copies, ...]
    failure: float

    @property
    def alone(self) -> Pair | None:
        """The pair, if there is only one of it, so that its own curve is the answer."""
        return self.pairs[0].pair if len(self.pairs) == 1 and self.pairs[0].times == 1 else None

    @property
    def count(self) -> int:
        """How many copies there are in all."""
        return sum(copies.times for copies in self.pairs)


def gather(event: Event) -> Gathered:
    """Return the pairs of an event's atoms. The directions of all pairs go together: forward with forward.

    Pairs that do not know which of their sides has the unit are taken to be about the same two data sets, in the order
    in which they are passed. Beside one that does know, such as a sampled pair, they may be either way round.

    Guarantee: the product of the pairs, with the failure, dominates the event.
    Cites: [ZDW22, dominating pairs compose].
    """
    counts: dict[Pair, int] = {}
    whole: list[Pair] = []
    log_kept = 0.0
    stripped = [(*_stripped(atom.pair()), times) for atom, times in read_event(event).atoms().items()]
    decided = any(getattr(pair, "ordered", False) for pair, _, _ in stripped)
    for bare, failure, times in stripped:
        pair = EitherOrderPair(bare) if decided and not has_order(bare) else bare
        log_kept += times * (math.log1p(-failure) if failure < 1 else -math.inf)
        if pair.reach() == (0.0, 0.0) and not _tells(pair):
            continue
        if hasattr(pair, "repeated"):
            _merge(pair.repeated(times), whole)
        else:
            counts[pair] = counts.get(pair, 0) + times
    pairs = (*(Copies(pair, times) for pair, times in counts.items()), *(Copies(pair, 1) for pair in whole))
    failure = -math.expm1(log_kept)
    return Gathered(pairs, min(1.0, failure * (1 + 2.0**-44)))


def remaining(delta: Fraction, failure: float) -> float:
    """Return the delta left for the pairs once the failure is paid, (delta - failure)/(1 - failure), rounded down."""
    lost = Fraction(failure)
    if delta <= lost or lost == 1:
        return 0.0
    return -float_up(-(delta - lost) / (1 - lost))


def _stripped(pair: Pair) -> tuple[Pair, float]:
    if not hasattr(pair, "without_failure"):
        return pair, 0.0
    inner, failure = pair.without_failure()
    if inner == pair:
        return pair, 0.0
    deeper, more = _stripped(inner)
    return deeper, min(1.0, (failure + (1 - failure) * more) * (1 + 2.0**-50)) if failure or more else 0.0


def _tells(pair: Pair) -> bool:
    import numpy as np

    zero = np.zeros(1)
    return bool(pair.forward(zero)[0] > 0 or pair.backward(zero)[0] > 0)


def _merge(pair: Pair, whole: list[Pair]) -> None:
    for index, other in enumerate(whole):
        both = other.merged(pair)  # type: ignore[attr-defined]  # only pairs that can merge are kept here
        if both is not None:
            whole[index] = both
            return
    whole.append(pair)


# Chooses where to look: the tilt, the lattice step and the window for one question about one composition.
#
# Nothing here needs to be exact, or to be trusted: a poor choice makes the answer wider, never wrong.


TOLERANCE = 4e-6
"""The part of epsilon that placing losses on the lattice may add to the upper bound, by estimate."""
LARGEST = 1 << 21
"""Most lattice points in a window."""
LONGEST = 1 << 18
"""Most lattice points of a single pair, on either side."""
_LEVEL = 24.0
"""The window leaves out e**-24 of the tilted mass: its error is then far below that of the lattice."""


class Sketch:
    """One direction of a composition, each pair on its own coarse lattice: an upper bound, if a rough one."""

    def __init__(self, parts: Sequence[LossPart]) -> None:
        self.moments = Moments(parts)
        kept = sum(part.times * math.log1p(-min(part.lattice.infinite, 1 - 1e-16)) for part in parts)
        self.cut = sum(part.times * part.lattice.truncated for part in parts)
        self.lost = min(1.0, self.cut - math.expm1(kept))

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return the tilt at which Chernoff's bound reaches delta soonest, and an upper bound on epsilon."""
        left = delta - self.lost * (1 + 1e-6)
        target = math.log(left if left > 0 else delta)
        tilt, value = _least(lambda tilt: (self.moments.log_moment(tilt) + _chernoff(tilt) - target) / tilt)
        return tilt, max(0.0, value) if left > 0 else math.inf

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return the tilt at which Chernoff's bound at epsilon is least, and an upper bound on delta."""
        tilt, value = _least(lambda tilt: self.moments.log_moment(tilt) + _chernoff(tilt) - tilt * epsilon)
        return tilt, min(1.0, math.exp(min(0.0, value)) + self.lost * (1 + 1e-6))


@dataclass(frozen=True, eq=False)
class Aim:
    """A tilt, the window of losses that matters there, and the probes that prove how little lies outside."""

    tilt: float
    low: float
    high: float
    probes: tuple[float, float]
    width: float

    def window(self, parts: Sequence[LossPart]) -> LossWindow:
        """Return the window in lattice points, no larger than the parts' joint reach."""
        step, whole = parts[0].lattice.step, support(parts)
        low = max(whole.lowest, math.floor(max(self.low, -1e300) / step))
        high = min(whole.highest, math.ceil(min(self.high, 1e300) / step))
        return LossWindow(min(low, whole.highest), max(low, high))


def sketch(pairs: Sequence[Copies], reaches: Sequence[Extent], sides: Sequence[int] = (0, 1)) -> dict[int, Sketch]:
    """Return the directions of a composition, 0 forward and 1 backward, on coarse lattices."""
    cells = min(1024, max(16, 8192 // len(pairs)))
    parts = []
    for copies, reach in zip(pairs, reaches, strict=True):
        step = max(reach.forward, reach.backward, 1e-300) / cells
        parts.append((upper(copies.pair, step, reach), copies.times))
    return {side: Sketch([LossPart(both[side], times) for both, times in parts]) for side in sides}


def reaches_of(pairs: Sequence[Copies], level: float) -> list[Extent]:
    """Return how far each pair matters if tails of probability `level`, over all pairs, may be cut off."""
    count = sum(copies.times for copies in pairs)
    return [extent(copies.pair, max(level / count, 1e-300)) for copies in pairs]


def aim(rough: Sketch, tilt: float, *, level: float = _LEVEL) -> Aim:
    """Return the window around the tilted composition."""
    (low, high), probes = rough.moments.window(tilt, level)
    least, most = rough.moments.ends()
    return Aim(tilt, low, high, probes, max(min(high, most) - max(low, least), 1e-300))


def step_for(pairs: Sequence[Copies], reaches: Sequence[Extent], aimed: Aim, epsilon: float, tolerance: float) -> float:
    """Return a lattice step that adds about that part to epsilon, on which large atoms fall on lattice points.

    Connecting the dots spreads each loss by a variance of at most step**2/4 and keeps the moments 0 and -1, so the log
    moment at `tilt` grows by about count tilt (tilt + 1) step**2/12 and epsilon by count (tilt + 1) step**2/12.
    """
    count = sum(copies.times for copies in pairs)
    width = aimed.width
    step = math.sqrt(12 * tolerance * max(epsilon, width / 1000) / (count * (aimed.tilt + 1)))
    return aligned(pairs, max(min(step, width / 64), width / LARGEST, longest(reaches) / LONGEST))


def longest(reaches: Sequence[Extent]) -> float:
    """Return the largest loss of any single pair."""
    return max(max(reach.forward, reach.backward) for reach in reaches)


def aligned(pairs: Sequence[Copies], step: float) -> float:
    """Return a step no larger than the given one that divides the pairs' largest losses, if they share a divisor."""
    ends = {end for copies in pairs for end in copies.pair.reach() if 0 < end < math.inf}
    shared = 0.0
    for end in sorted(ends, reverse=True):
        shared = _divisor(shared, end)
        if shared < step:
            return step
    if not shared:
        return step
    # losses of discrete noise are simple fractions of the largest one; a count with many divisors meets them too
    cells = shared / step
    block = 60 if cells > 120 else 12 if cells > 24 else 1
    return shared / (block * math.ceil(cells / block))


def _divisor(first: float, other: float) -> float:
    """Return the greatest common divisor of two reals that are commensurable to within 1e-9, else something tiny."""
    largest = max(first, other)
    while other > 1e-9 * largest:
        first, other = other, abs(math.remainder(first, other))
    return first


def _chernoff(tilt: float) -> float:
    """Return the logarithm of max over x >= 0 of (1 - e**-x) e**(-tilt x)."""
    return tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt)


def _least(objective: Callable[[float], float]) -> tuple[float, float]:
    """Return the tilt that makes the objective least, and its value, by a grid and golden sections."""
    grid = np.geomspace(1e-3, 1e7, 24)
    values = [objective(float(tilt)) for tilt in grid]
    best = int(np.argmin(values))
    low, high = math.log(grid[max(0, best - 1)]), math.log(grid[min(len(grid) - 1, best + 1)])
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(12):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(math.exp(left)) < objective(math.exp(right)):
            high = right
        else:
            low = left
    tilt = math.exp((low + high) / 2)
    return tilt, objective(tilt)


# The bounds themselves.


_RATIO = 1.0005
_FINEST = 1 << 19
"""Most lattice points to which a bracket is refined; a gap that is still open then stays open."""
_SMALL = 1e-7
"""Tails of single events are cut where they cannot add more than this part of delta."""
_LARGEST_EPSILON = 1e9
_WHOLE = 1e-20
_STRETCH = 1 + 2.0**-40
_SHRINK = 1 - 2.0**-22
_ACCURACY = 1 - 2.0**-38


class Bounds(NamedTuple):
    """A proven upper bound, and a lower bound that no analysis of the same dominating pairs can beat."""

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class LossBracket:
    """The loss distributions of an event: from below and from above, in both directions of its pairs."""

    forward: tuple[OptimisticLoss, LossDistribution]
    backward: tuple[OptimisticLoss, LossDistribution]

    def delta(self, epsilon: float) -> Bounds:
        """Return bounds on the least delta at this epsilon, for the worse of the two directions."""
        sides, at = (self.forward, self.backward), float_down(nonnegative(epsilon, "epsilon"))
        if at > _LARGEST_EPSILON:
            raise BadParameter("epsilon", epsilon, f"at most {_LARGEST_EPSILON:g}")
        return Bounds(max(low.delta(at) for low, _ in sides), max(high.delta(at) for _, high in sides))

    def epsilon(self, delta: float) -> Bounds:
        """Return bounds on the least epsilon at this delta, for the worse of the two directions."""
        allowed = float_down(failure_probability(delta))
        above = max(self.forward[1].epsilon(allowed), self.backward[1].epsilon(allowed))
        below = max(low.epsilon(allowed) for low, _ in (self.forward, self.backward))
        return Bounds(min(below, above), above)


def epsilon_bounds(event: Event, delta: Number) -> Bounds:
    """Return the least epsilon at which the event is (epsilon, delta)-DP, between bounds that are usually within 0.05%.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> gaussian = privet.Gaussian(sensitivity=1, rho=0.125).event
        >>> bounds = accounting.epsilon_bounds(gaussian, 1e-6)
        >>> bounds.lower <= bounds.upper
        True

    Guarantee: the event is (upper, delta)-DP, for both orders of neighbours. `upper` never exceeds the sum of pure
    epsilons. No bound below `lower` can be derived from the same dominating pairs.
    Cites: [SMM19, losses convolve], [KJPH21, error bounds], [DGKKM22, connect the dots],
    [ZDW22, dominating pairs compose].
    """
    return _epsilon(event, delta, TOLERANCE, tight=True)


def pld_epsilon(event: Event, delta: Number, *, tolerance: float = TOLERANCE) -> float:
    """Return the upper end of `epsilon_bounds`, without the work of computing the lower one.

    `tolerance` is the part of epsilon that the lattice may add, by estimate; time grows with its inverse square root.

    Guarantee: as `epsilon_bounds`, whatever the tolerance.
    """
    return _epsilon(event, delta, tolerance, tight=False).upper


def delta_bounds(event: Event, epsilon: Number) -> Bounds:
    """Return the least delta at which the event is (epsilon, delta)-DP, between bounds.

    Args:
        event: an `Event`, such as `mechanism.event`.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> gaussian = privet.Gaussian(sensitivity=1, rho=0.125).event
        >>> bounds = accounting.delta_bounds(gaussian, 1)
        >>> bounds.lower <= bounds.upper
        True

    Guarantee: the event is (epsilon, upper)-DP, for both orders of neighbours.
    Cites: as `epsilon_bounds`.
    """
    return _delta(event, epsilon, TOLERANCE, tight=True)


def pld_delta(event: Event, epsilon: Number, *, tolerance: float = TOLERANCE) -> float:
    """Return the upper end of `delta_bounds`, without the work of computing the lower one.

    Guarantee: as `delta_bounds`, whatever the tolerance.
    """
    return _delta(event, epsilon, tolerance, tight=False).upper


def loss_distribution(event: Event, *, step: Number | None = None) -> LossBracket:
    """Return the whole privacy loss distribution of an event, bracketed, with its error terms beside the masses.

    For one number, `epsilon_bounds` and `delta_bounds` are sharper: they aim the computation at the tail in question.

    Args:
        event: an `Event`, such as `mechanism.event`.
        step: the width of the grid of losses; chosen if left out.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> round(accounting.loss_distribution(laplace).delta(0.25).upper, 4)
        0.1377

    Guarantee: see `LossDistribution` and `OptimisticLoss`.
    """
    gathered = gather(event)
    if not gathered.pairs:
        return _only_failure(gathered.failure, 1.0 if step is None else float_up(positive(step, "step")))
    reaches = reaches_of(gathered.pairs, _WHOLE)
    sketches = sketch(gathered.pairs, reaches)
    aims = [aim(rough, 0.0, level=-math.log(_WHOLE)) for rough in sketches.values()]
    if step is None:
        width = max(aimed.width for aimed in aims)
        spread = max(rough.moments.spread(0.0) for rough in sketches.values())
        wanted = spread * math.sqrt(TOLERANCE / gathered.count)
        spacing = aligned(gathered.pairs, max(wanted, 16 * width / LARGEST, longest(reaches) / LONGEST))
    else:
        spacing = float_up(positive(step, "step"))
        if not 1e-300 < spacing < LARGEST_STEP or longest(reaches) / spacing > MOST_POINTS:
            raise BadParameter("step", step, f"below {LARGEST_STEP:g}, and at least a {MOST_POINTS:,}th of the losses")
    low, high = (_lattices(gathered.pairs, reaches, spacing, make) for make in (lower, upper))
    made = []
    for side, aimed in enumerate(aims):
        for parts in (low[side], high[side]):
            parts.append(LossPart(_failing(parts[0].lattice.step, gathered.failure), 1))
        below = compose_lower(low[side], aimed.window(low[side]), 0.0, aimed.probes)
        above = compose_upper(high[side], aimed.window(high[side]), 0.0, aimed.probes)
        made.append((below, above))
    return LossBracket(made[0], made[1])


def _epsilon(event: Event, delta: Number, tolerance: float, *, tight: bool) -> Bounds:
    allowed = failure_probability(delta)
    positive(tolerance, "tolerance")
    gathered = gather(event)
    left = remaining(allowed, gathered.failure)
    if allowed < Fraction(gathered.failure):  # the failures alone may exceed delta, whatever the pairs cost
        bounds = Bounds(0.0, math.inf)
    elif not gathered.pairs:
        bounds = Bounds(0.0, 0.0)
    elif gathered.alone is not None:
        bounds = _alone_epsilon(gathered.alone, left)
    elif left > 0:
        bounds = _answer(gathered.pairs, _AtDelta(left), tolerance, tight=tight)
    else:
        bounds = Bounds(0.0, math.inf)
    if allowed >= event.slack():
        pure = event.pure()
        bounds = Bounds(bounds.lower, min(bounds.upper, float_up(pure)))
    return Bounds(min(bounds), bounds.upper)


def _delta(event: Event, epsilon: Number, tolerance: float, *, tight: bool) -> Bounds:
    exact = nonnegative(epsilon, "epsilon")
    positive(tolerance, "tolerance")
    gathered, at = gather(event), -float_up(-exact)
    if exact >= event.pure():
        promised = float_up(event.slack())
        return Bounds(min(gathered.failure * _ACCURACY, promised), promised)
    if not gathered.pairs:
        bounds = Bounds(0.0, 0.0)
    elif gathered.alone is not None:
        curve = _both(gathered.alone)
        bounds = Bounds(curve(at) * _ACCURACY, curve(at))
    else:
        bounds = _answer(gathered.pairs, _AtEpsilon(at), tolerance, tight=tight)
    failure, kept = gathered.failure, 1 - gathered.failure
    above = min(1.0, (failure + kept * bounds.upper) * (1 + 2.0**-50)) if failure else bounds.upper
    below = (failure + kept * bounds.lower) * _ACCURACY if failure else bounds.lower
    return Bounds(min(below, above), above)


@dataclass(frozen=True)
class _AtDelta:
    """The question for the least epsilon at a delta: where to aim, and how to read the answer off."""

    delta: float

    def level(self, pairs: Sequence[Copies], sides: Sequence[int]) -> float:
        return self.delta

    def target(self, rough: Sketch) -> tuple[float, float]:
        return rough.epsilon(self.delta)

    def scale(self, estimate: float) -> float:
        return estimate

    def highest(self, made: LossDistribution) -> float:
        return made.epsilon(self.delta)

    def lowest(self, made: OptimisticLoss, above: float) -> float:
        return made.epsilon(self.delta, below=above)


@dataclass(frozen=True)
class _AtEpsilon:
    """The question for the least delta at an epsilon."""

    epsilon: float

    def level(self, pairs: Sequence[Copies], sides: Sequence[int]) -> float:
        rough = sketch(pairs, reaches_of(pairs, 1e-290), sides)
        return max(1e-280, max(self.target(rough[side])[1] for side in sides))

    def target(self, rough: Sketch) -> tuple[float, float]:
        return rough.delta(self.epsilon)

    def scale(self, estimate: float) -> float:
        return self.epsilon

    def highest(self, made: LossDistribution) -> float:
        return made.delta(self.epsilon)

    def lowest(self, made: OptimisticLoss, above: float) -> float:
        return made.delta(self.epsilon)


def _answer(pairs: tuple[Copies, ...], question: _AtDelta | _AtEpsilon, tolerance: float, *, tight: bool) -> Bounds:
    """Return the bounds for one question about a composition, for the worse of its directions."""
    sides = (0,) if all(getattr(copies.pair, "symmetric", False) for copies in pairs) else (0, 1)
    reaches = reaches_of(pairs, question.level(pairs, sides) * _SMALL)
    sketches = sketch(pairs, reaches, sides)
    targets = {side: question.target(sketches[side]) for side in sides}
    best: Bounds | None = None
    for side in sorted(sides, key=lambda side: -targets[side][1]):
        tilt, estimate = targets[side]
        # the sketch is itself an upper bound: a direction that it proves to be the better one needs no more
        if best is not None and estimate * (1 + 1e-6) <= best.upper:
            continue
        if math.isinf(estimate) or sketches[side].cut > estimate / 2:  # losses too large for any lattice
            return Bounds(0.0, estimate)
        aimed = aim(sketches[side], tilt)
        step = step_for(pairs, reaches, aimed, question.scale(estimate), tolerance)
        refined = _refined(pairs, question, aimed, _Course(side, tuple(reaches), step), tight=tight)
        best = refined if best is None else Bounds(max(best.lower, refined.lower), max(best.upper, refined.upper))
    return Bounds(0.0, math.inf) if best is None else best


class _Course(NamedTuple):
    side: int
    reaches: tuple[Extent, ...]
    step: float


def _refined(
    pairs: tuple[Copies, ...], question: _AtDelta | _AtEpsilon, aimed: Aim, course: _Course, *, tight: bool
) -> Bounds:
    """Return bounds in one direction, halving the step until they are close or the lattice has grown too large."""
    best, step = Bounds(0.0, math.inf), course.step
    while True:
        high = _lattices(pairs, course.reaches, step, upper)[course.side]
        above = question.highest(compose_upper(high, aimed.window(high), aimed.tilt, aimed.probes))
        if not tight:
            return Bounds(0.0, above)
        low = _lattices(pairs, course.reaches, step, lower)[course.side]
        made = compose_lower(low, aimed.window(low), aimed.tilt, aimed.probes)
        best = Bounds(max(best.lower, question.lowest(made, above)), min(best.upper, above))
        step /= 2
        points = max(aimed.width / step * (1 + len(pairs) / 16), 2 * longest(course.reaches) / step)
        if best.upper <= _RATIO * best.lower or points > _FINEST:
            return best


def _lattices(
    pairs: Sequence[Copies],
    reaches: Sequence[Extent],
    step: float,
    make: Callable[[Pair, float, Extent], tuple[Lattice, Lattice]],
) -> tuple[list[LossPart], list[LossPart]]:
    """Return both directions of every pair on one lattice.

    An atom at a lattice point must not end up in the wrong cell by a rounding error, so the upper lattice is a little
    wider than asked for, and the lower one a little narrower.
    """
    moved = step * (_STRETCH if make is upper else _SHRINK)
    forward, backward = [], []
    for copies, reach in zip(pairs, reaches, strict=True):
        ahead, behind = make(copies.pair, moved, reach)
        forward.append(LossPart(ahead, copies.times))
        backward.append(LossPart(behind, copies.times))
    return forward, backward


def _alone_epsilon(pair: Pair, delta: float) -> Bounds:
    """Return where a single pair's own curve falls to delta, by bisection, rounded outwards."""
    curve = _both(pair)
    return Bounds(_falls(lambda x: curve(x) * _ACCURACY, delta, pair)[0], _falls(curve, delta, pair)[1])


def _falls(curve: Callable[[float], float], delta: float, pair: Pair) -> tuple[float, float]:
    if curve(0.0) <= delta:
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 1e9:
            return low, math.inf
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return low, high


def _both(pair: Pair) -> Callable[[float], float]:
    def curve(epsilon: float) -> float:
        at = np.array([epsilon])
        return min(1.0, max(float(pair.forward(at)[0]), float(pair.backward(at)[0])))

    return curve


def _only_failure(failure: float, step: float) -> LossBracket:
    masses = np.array([1 - failure])
    sides = OptimisticLoss(step, 0, masses, failure), LossDistribution(step, 0, masses, failure)
    return LossBracket(sides, sides)


def _failing(step: float, failure: float) -> Lattice:
    return Lattice(step, 0, np.array([1 - failure]), failure)
