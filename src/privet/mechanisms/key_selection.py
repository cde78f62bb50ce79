"""Which keys may be shown, decided from how many people contribute to each: by a noisy threshold, or optimally."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from privet import noise
from privet.accounting.events import ApproximateEvent, ThresholdEvent
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Event, Repeated
from privet.core.given import set_fields
from privet.core.numbers import (
    Number,
    exp_down,
    exp_up,
    float_down,
    float_near,
    float_up,
    open_probability,
    positive,
    whole,
)
from privet.core.unit import Neighbors, Sensitivity, read_neighbors
from privet.core.wire import wired

from .gaussian import Gaussian
from .laplace import Laplace
from .lattice import Numbers, read_numbers
from .mechanism import Mechanism, read_times, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Which keys may be shown, decided from the number of people of each: the common part of every such rule.
#
# A key is a group that public facts do not name, such as a diagnosis found in the data. Each person has at most this
# many; people with more must be cut to that, by a choice that depends on no other data, before people are
# counted.


MOST = 10**6
"""The maximum number of keys of a group of people: noise is drawn for at least twice as many at a time."""

_LEAST_BLOCK = 256
_ALLOWED = "the number of people for one key (a whole number of at least 0), an array of them, or a mapping of keys"


class KeySelection(Mechanism):
    """A rule that shows a key, or does not, with a probability that rises with the number of its people.

    `keys` is how many keys a person has at most, `group` how many people are protected together, and `neighbors`
    whether a person is added or removed, or changed into another.

    Example:
        >>> rule = mechanisms.LaplaceThreshold(epsilon=1, delta=1e-6)
        >>> isinstance(rule, mechanisms.KeySelection), rule.people(0.5)
        (True, 15)
    """

    keys: int
    group: int
    neighbors: Neighbors

    @abstractmethod
    def probability(self, people: int) -> Fraction | float:
        """Return how likely a key of this many people is shown; 0 for none."""

    def release(self, counts: Any) -> Any:
        """Return whether a key is shown: True or False for a count, an array for an array, a set for a mapping.

        A mapping has each key's number of people, and the result is the set of the keys that are shown.
        """
        if isinstance(counts, Mapping):
            numbers = _read(list(counts.values()))
            return frozenset(key for key, shown in zip(counts, self._decide(numbers), strict=True) if shown)
        numbers = _read(counts)
        shown = self._decide(numbers)
        return bool(shown[0]) if numbers.shape is None else shown.reshape(numbers.shape)

    def simulate(self, counts: Any, times: int) -> Any:
        """Return this many decisions about a key of this many people. Each costs the event once more."""
        numbers = _read(counts)
        if numbers.shape is not None:
            return super().simulate(counts, times)
        import numpy as np

        return self.release(np.full(read_times(times), numbers.values))

    def people(self, probability: Number = 0.5) -> int:
        """Return the least number of people with which a key is shown with at least this probability."""
        wanted = open_probability(probability, "probability")
        high = 1
        while self.probability(high) < wanted:
            high *= 2
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.probability(middle) >= wanted else (middle, high)
        return high

    @abstractmethod
    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        """Return a decision for each count of at least 1, drawn afresh; the result for 0 is not used."""

    def _decide(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return the decisions, drawn in blocks of a public length: noise on a vector may depend on how long it is."""
        import numpy as np

        counts = np.array(numbers.values, dtype=object).reshape(-1)
        block = max(_LEAST_BLOCK, 2 * self.keys * self.group)
        padded = np.zeros(counts.size + -counts.size % block, dtype=object)
        padded[: counts.size] = counts
        drawn = [self._draw(padded[start : start + block]) for start in range(0, padded.size, block)]
        shown = np.concatenate(drawn)[: counts.size] if drawn else np.zeros(0, dtype=np.bool_)
        return shown & (counts > 0).astype(np.bool_)


def read_people(keys: int, group: int, neighbors: Neighbors) -> tuple[int, int, Neighbors]:
    """Return how many keys a person has, how many people are protected together, and under which relation."""
    limit, together = whole(keys, "keys", least=1, most=MOST), whole(group, "group", least=1, most=MOST)
    if limit * together > MOST:
        raise BadParameter("group", group, f"such that all of them hold at most {MOST:,} keys")
    return limit, together, read_neighbors(neighbors)


def read_count(people: int) -> int:
    """Return a public number of people, as `probability` takes it."""
    return whole(people, "people")


def _read(counts: Any) -> Numbers:
    numbers = read_numbers(counts, "counts", wide=True)
    import numpy as np

    if numbers.size and (not numbers.whole or bool(np.any(np.asarray(numbers.values) < 0))):
        raise BadValue("counts", "something else", _ALLOWED)
    return numbers


# The threshold above which a key that is not public may be shown, for Laplace and for Gaussian noise.


SHIFT = 20
"""People count in steps of 2**-20, so that a threshold need not be a whole number of them."""

Order = Literal[0, 1, 2]
"""How a person's weight is shared over their keys: 1 to each (0), 1/t to each of t (1), 1/sqrt(t) to each (2)."""


def threshold_for(
    noise: Laplace | Gaussian, *, most: int, order: Order, shift: int, group: int, delta: Fraction
) -> int:
    """Return the least whole weight that a key's noisy weight must exceed for the key to be released.

    A unit with t <= `most` keys adds to each at most w_t, which is 2**shift over 1, t or sqrt(t), so that its own keys,
    which its absence removes, show with probability at most 1 - prod P[noise <= T - w_t] <= delta if P[noise > T - w_t]
    <= 1 - (1 - delta)**(1/t): hence T = max over t of w_t + q_t. With m units together, a key may carry m weights, and
    there may be m times as many: T = m w_1 + q for m * most keys.

    Guarantee: the keys that only one unit (or group) holds add at most `delta` to the noise's own delta. Under
    change-one the units before and after each have such keys, which show with probabilities a, b <= delta. Then the
    divergence at e^eps is at most a + (1 - a) H(r e^eps) with r = (1 - b) / (1 - a) and H the noise's; for r >= 1 it is
    at most a + H(e^eps), and for r < 1 convexity gives H(r t) <= r H(t) + (1 - r), hence at most b + H(e^eps).
    Cites: [KKMN09, noisy thresholds], [SDH23], [DVGM22, the optimal rule].
    """
    unit = 1 << shift
    if group > 1 or order == 0:
        return group * unit + _quantile(noise, _tail(delta, group * most))
    return max(_weight(unit, first, order) + _quantile(noise, _tail(delta, last)) for first, last in _runs(most))


class NoisyThreshold(KeySelection):
    """Show a key where its number of people, in steps of 2**-20 and with noise, exceeds a threshold in such steps."""

    noise: Laplace | Gaussian
    threshold: int

    def probability(self, people: int) -> float:
        """Return how likely a key of this many people is shown, to about 1e-6 of it."""
        count = read_count(people)
        return _above(self.noise, self.threshold - (count << SHIFT)) if count else 0.0

    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        import numpy as np

        return np.asarray(self.noise.release(counts << SHIFT) > self.threshold, dtype=np.bool_)


def _above(noise: Laplace | Gaussian, value: int) -> float:
    """Return P[noise > value] on integers far finer than the noise: for reading, never for deciding."""
    if isinstance(noise, Laplace):
        step = float_up(1 / noise.scale)
        beyond = math.exp(-step * float_near(Fraction(value + 1 if value >= 0 else -value))) / (1 + math.exp(-step))
        return beyond if value >= 0 else 1 - beyond
    return (
        math.erfc((float_near(Fraction(value)) + 0.5) / noise.sigma / math.sqrt(2)) / 2
    )  # rounded: above value from value + 1/2 on


def _runs(most: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of keys, one by one at first and then in short runs, whose ends bound all within them."""
    first = 1
    while first <= most:
        last = min(most, first + first // 64)
        yield first, last
        first = last + 1


def _weight(unit: int, keys: int, order: Order) -> int:
    return unit // keys if order == 1 else math.isqrt(unit * unit // keys)


def _tail(delta: Fraction, keys: int) -> float:
    """Return 1 - (1 - delta)**(1/keys), rounded down."""
    return -math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2.0**-30)


def _quantile(noise: Laplace | Gaussian, tail: float) -> int:
    """Return a whole q with P[noise > q] <= tail, for the noise as it is drawn."""
    if isinstance(noise, Laplace):
        # P[noise > q] = a^(q+1) / (1+a) on the integers, below e^(-q/scale) / 2 on finer grids, which raise it
        raised = 2.0**-40 if noise.grid == "whole" else 2.0**-14
        return math.ceil(float_up(noise.scale) * (1 + raised) * max(0.0, -math.log(2 * tail))) + 1
    return _gaussian_quantile(noise, tail)


def _gaussian_quantile(noise: Gaussian, tail: float) -> int:
    from scipy.special import ndtri

    # the discrete law on a fine grid has tails within e^blur of the continuous one's, and is then rounded
    return math.ceil(noise.sigma * (1 + 2.0**-20) * max(0.0, -float(ndtri(tail * (1 - 2.0**-20))))) + 1


# Keys shown where their number of people, with Laplace noise, exceeds a threshold.


@dataclass(frozen=True, init=False, repr=False)
class LaplaceThreshold(NoisyThreshold):
    """Show a key where its number of people, plus Laplace noise of scale c m keys / epsilon, exceeds a threshold.

    `OptimalKeys` needs fewer people at the same cost; this is for comparison, and where the noisy number is wanted.

    Args:
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        keys: how many keys one person has at most.
        group: how many people are protected together.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.LaplaceThreshold(epsilon=1, delta=1e-6)
        >>> mechanism.people(0.5)
        15

    Guarantee: (epsilon, delta)-DP for units with at most `keys` keys: a group of m people moves the counts by m keys
    in L1, twice that under change-one, and keys that only they hold show with probability delta (`threshold_for`).
    Cites: [KKMN09, noisy thresholds], [DVGM22, thresholds].
    """

    noise: Laplace
    threshold: int
    delta: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self, *, epsilon: Number, delta: Number, keys: int = 1, group: int = 1, neighbors: Neighbors = "add-remove"
    ) -> None:
        loss, failure = positive(epsilon, "epsilon"), open_probability(delta, "delta")
        if failure < Fraction(1, 10**300):
            raise BadParameter("delta", delta, "at least 1e-300")
        limit, together, relation = read_people(keys, group, neighbors)
        moved = limit * together * (1 if relation == "add-remove" else 2)
        drawn = Laplace(sensitivity=moved << SHIFT, epsilon=loss)
        least = threshold_for(drawn, most=limit, order=0, shift=SHIFT, group=together, delta=failure)
        set_fields(self, noise=drawn, threshold=least, delta=failure, keys=limit, group=together, neighbors=relation)

    @cached_property
    def event(self) -> ThresholdEvent:
        """The noise's event, and delta for the keys that may slip through."""
        return ThresholdEvent(self.noise.event, self.delta)

    def __repr__(self) -> str:
        people = self.threshold / 2**SHIFT
        return f"LaplaceThreshold(above {people:.6g} people, epsilon={self.epsilon:.6g}, delta={float(self.delta):.6g})"


# Keys shown where their number of people, with Gaussian noise, exceeds a threshold: for people with many keys.


@dataclass(frozen=True, init=False, repr=False)
class GaussianThreshold(NoisyThreshold):
    """Show a key where its number of people, plus Gaussian noise, exceeds a threshold.

    Half of delta is the noise's, half is for keys that may slip through. The noise grows with the root of `keys`.

    Args:
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        keys: how many keys one person has at most.
        group: how many people are protected together.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.GaussianThreshold(epsilon=1, delta=1e-6)
        >>> mechanism.people(0.5)
        23

    Guarantee: (epsilon, delta)-DP for units with at most `keys` keys: a group of m people moves the counts by m
    sqrt(keys) in L2, by m sqrt(2 keys) under change-one, and keys that only they hold show with probability delta / 2
    (`threshold_for`).
    Cites: [KKMN09, noisy thresholds], [SDH23], [BW18, Alg. 1].
    """

    noise: Gaussian
    threshold: int
    slipping: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self, *, epsilon: Number, delta: Number, keys: int = 1, group: int = 1, neighbors: Neighbors = "add-remove"
    ) -> None:
        half = open_probability(delta, "delta") / 2
        limit, together, relation = read_people(keys, group, neighbors)
        sides = 1 if relation == "add-remove" else 2
        unit = Fraction(1 << SHIFT)
        moved = Sensitivity(
            neighbors=relation,
            l1=sides * together * limit * unit,
            l2_squared=sides * together**2 * limit * unit**2,
        )
        drawn = Gaussian(sensitivity=moved, epsilon=epsilon, delta=half)
        least = threshold_for(drawn, most=limit, order=0, shift=SHIFT, group=together, delta=half)
        set_fields(self, noise=drawn, threshold=least, slipping=half, keys=limit, group=together, neighbors=relation)

    @cached_property
    def event(self) -> ThresholdEvent:
        """The noise's event, and delta for the keys that may slip through."""
        return ThresholdEvent(self.noise.event, self.slipping)

    def __repr__(self) -> str:
        people = self.threshold / 2**SHIFT
        rho, delta = float_up(self.event.rho()), float_up(self.event.slack())
        return f"GaussianThreshold(above {people:.6g} people, rho={rho:.6g}, slack={delta:.6g})"


# The optimal rule for showing keys: no rule with the same guarantee shows any key with a higher probability.
#
# The probabilities are exact rationals, and draws have exactly these. No float decides anything.


LONGEST = 2**20
"""At most this many people make every key certain, or the rule is refused: its probabilities are listed one by one."""

_RATIO_BITS = 128
_WORD_BITS = 63
_LARGEST_EPSILON = Fraction(700)
_SMALLEST_EPSILON = Fraction(1, 2**100)
_SMALLEST_DELTA = Fraction(1, 2**1000)


@wired("OptimalKeys", "key_epsilon", "key_delta", "keys", "group", "neighbors")
@dataclass(frozen=True, init=False, repr=False)
class OptimalKeys(KeySelection):
    """Show a key with the largest probability p(n) that (epsilon, delta)-DP allows where n people have it.

    p(0) = 0 and p(n+1) = min(e p(n) + d, 1 - (1 - p(n) - d) / e, 1), where a single key costs (ln e, d). With
    `keys` keys a person that is ln e = epsilon / (c m keys) and d = delta (e - 1) / (c keys (e^m - 1)) for groups of m
    people, with c = 1 for add-remove and 2 for change-one.

    Args:
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        keys: how many keys one person has at most.
        group: how many people are protected together.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.OptimalKeys(epsilon=1, delta=1e-6)
        >>> mechanism.people(0.5)
        14

    Guarantee: (epsilon, delta)-DP for units with at most `keys` keys. One more person is p(n+1) <= e p(n) + d and
    1 - p(n) <= e (1 - p(n+1)) + d, and p never falls; so by a chain a key that s people of a group hold costs s ln e,
    with a delta of d (1 + e + ... + e^(s-1)). Keys are independent, and costs add. The s add up to c m `keys`, each
    being at most m, and the delta grows faster than s: it is largest for c `keys` keys with m people each. Here e is
    the exponential rounded down to a rational, and each p(n) is rounded down to a multiple of a power of two once it
    was computed from the rounded one before it, which keeps both inequalities. No rule shows any key more often, by
    induction, since both inequalities are necessary.
    Cites: [DVGM22, the optimal rule, several keys], [KOV15, the worst pair], [DR14, Thm 3.16].
    """

    key_epsilon: Fraction
    key_delta: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        keys: int = 1,
        group: int = 1,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        loss, failure = positive(epsilon, "epsilon"), open_probability(delta, "delta")
        limit, together, relation = read_people(keys, group, neighbors)
        sides = _sides(relation)
        key_loss = loss / (sides * limit * together)
        if key_loss < _SMALLEST_EPSILON or together * key_loss > _LARGEST_EPSILON:
            raise BadParameter("epsilon", epsilon, "such that a key's part of it lies between 2**-100 and 700")
        part = failure / (sides * limit) / _growth(key_loss, together)
        if together > 1:
            part = _round_down(part)
        if part < _SMALLEST_DELTA:
            raise BadParameter("delta", delta, "such that a key's part of it is at least 2**-1000")
        if 2 * half_way(key_loss, part) + 4 > LONGEST:
            raise BadParameter(
                "epsilon",
                epsilon,
                f"so large that {LONGEST:,} people make a key certain; below that, use a LaplaceThreshold",
            )
        set_fields(self, key_epsilon=key_loss, key_delta=part, keys=limit, group=together, neighbors=relation)

    @cached_property
    def event(self) -> Event:
        """The event of one release: of each key that a person may have, or, for groups, of the whole.

        One key's pair of laws is dominated by that of `ApproximateEvent`, whose divergence delta + (1 - delta) (e -
        e^x) / (e + 1) the rule attains where p(n) = (1 - delta) / (e + 1): nothing is lost there.
        """
        times = _sides(self.neighbors) * self.keys
        if self.group == 1:
            once = ApproximateEvent(self.key_epsilon, self.key_delta)
            return once if times == 1 else Repeated(once, times)
        total = times * self.key_delta * _growth(self.key_epsilon, self.group)
        return ApproximateEvent(times * self.group * self.key_epsilon, total)

    @property
    def delta(self) -> float:
        """The delta of one release, rounded up."""
        return float_up(self.event.slack())

    def probability(self, people: int) -> Fraction:
        """Return how likely a key of this many people is shown, exactly."""
        ladder = self._ladder
        return Fraction(ladder[min(read_count(people), len(ladder) - 1)], 1 << self._bits)

    def people(self, probability: Number = 0.5) -> int:
        """Return the least number of people with which a key is shown with at least this probability."""
        wanted = open_probability(probability, "probability")
        return bisect_left(self._ladder, math.ceil(wanted * (1 << self._bits)))

    @property
    def certain(self) -> int:
        """The least number of people with which a key is always shown."""
        return len(self._ladder) - 1

    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        import numpy as np

        # p = (top + rest) / 2**63 with rest < 1: a uniform word below the top shows, and one equal to it needs the rest
        places = np.minimum(counts, len(self._ladder) - 1).astype(np.int64)
        words = noise.uniform_below(1 << _WORD_BITS, counts.size).view(np.uint64)
        tops = self._tops[places]
        decided: NDArray[np.bool_] = words < tops
        for lane in np.flatnonzero(words == tops):
            decided[lane] = self._ask_rest(self._ladder[places[lane]])
        return decided

    def _ask_rest(self, numerator: int) -> bool:
        """Return True with the probability of the binary digits that a word leaves out."""
        rest = 1 << (self._bits - _WORD_BITS)
        return noise.uniform_below(rest) < numerator % rest

    @property
    def _bits(self) -> int:
        """How many binary digits the probabilities have: 128 more than it takes to distinguish delta from 0."""
        return _RATIO_BITS + (self.key_delta.denominator // self.key_delta.numerator).bit_length()

    @cached_property
    def _ladder(self) -> list[int]:
        """The probabilities as multiples of 2**-bits, from no people to as many as make it certain."""
        unit = 1 << self._bits
        ratio = math.floor(exp_down(self.key_epsilon) * (1 << _RATIO_BITS))
        delta = math.floor(self.key_delta * unit)
        ladder, last = [0], 0
        while last < unit:
            grown = (ratio * last >> _RATIO_BITS) + delta
            shrunk = unit + ((last + delta - unit) << _RATIO_BITS) // ratio
            last = min(grown, shrunk, unit)
            ladder.append(last)
        return ladder

    @cached_property
    def _tops(self) -> NDArray[np.uint64]:
        import numpy as np

        rest = self._bits - _WORD_BITS
        return np.array([numerator >> rest for numerator in self._ladder], dtype=np.uint64)

    def __repr__(self) -> str:
        kinds = "" if self.keys == 1 else f", keys={self.keys}"
        together = "" if self.group == 1 else f", group={self.group}"
        relation = "" if self.neighbors == "add-remove" else f", neighbors={self.neighbors!r}"
        cost = f"epsilon={shown(Fraction(self.event.pure()))}, delta={self.delta:.6g}"
        return f"OptimalKeys({cost}{kinds}{together}{relation})"


def half_way(key_epsilon: Fraction, key_delta: Fraction) -> float:
    """Return about how many people make a key as likely shown as not, without listing anything.

    Where d (e^n - 1) / (e - 1) = 1/2; from there it takes about as many again to certainty.
    """
    loss = float_down(min(key_epsilon, _LARGEST_EPSILON))
    return math.log1p(math.expm1(loss) / (2 * float_up(key_delta))) / loss


def _sides(neighbors: Neighbors) -> int:
    return 1 if neighbors == "add-remove" else 2


def _growth(key_epsilon: Fraction, group: int) -> Fraction:
    """Return 1 + e + ... + e^(group - 1), rounded up."""
    if group == 1:
        return Fraction(1)
    return (exp_up(group * key_epsilon) - 1) / (exp_down(key_epsilon) - 1)


def _round_down(value: Fraction) -> Fraction:
    """Return a value of about 128 binary digits, no larger."""
    bits = _RATIO_BITS + (value.denominator // value.numerator).bit_length()
    return Fraction(math.floor(value * (1 << bits)), 1 << bits)
