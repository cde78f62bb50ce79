"""Heavy hitters: which strings of an unknown domain many people have, found through the prefixes of their codes.

Each person reports one prefix of the code of their string; its length is decided by the report's identifier, so that
no one reports twice. The server walks down from the shortest prefixes and keeps those that a string above the threshold
may still have; whatever it keeps or drops is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, float_up, open_probability, probability, whole

from .count_mean import SketchTables, spread_of, texts_of
from .estimates import COVERS, Frequencies
from .hashing import permuted, salted, unpermuted
from .randomizer import Integers, Words

DIGIT_BITS = 3
_FIRST_BITS = 8
"""The first digit has at most this many bits, as its few values can all be looked at; each further digit has three."""


@dataclass(frozen=True)
class StringCodes:
    """Codes of strings of at most `length` characters of an alphabet; of bytes in UTF-8 if the alphabet is empty."""

    length: int
    alphabet: str
    key: bytes

    @property
    def radix(self) -> int:
        """The number of different characters."""
        return len(self.alphabet) or 256

    @cached_property
    def strings(self) -> int:
        """The number of different strings."""
        return sum(self.radix**size for size in range(self.length + 1))

    @cached_property
    def bits(self) -> int:
        """The number of bits of a code, which is even."""
        return max(2, (self.strings - 1).bit_length() + 1 & ~1)

    @cached_property
    def digits(self) -> int:
        """The number of digits of a code."""
        return 1 + max(0, -(-(self.bits - _FIRST_BITS) // DIGIT_BITS))

    @property
    def first_bits(self) -> int:
        """The number of bits of the first digit."""
        return self.bits - DIGIT_BITS * (self.digits - 1)

    def encode(self, text: str) -> bytes | None:
        """Return the digits of a string's code, or None if it is too long or has other characters."""
        try:
            symbols = [self._places[character] for character in text] if self.alphabet else list(text.encode())
        except (KeyError, UnicodeEncodeError):
            return None
        if len(symbols) > self.length:
            return None
        number = 0
        for symbol in symbols:
            number = number * self.radix + symbol
        number += sum(self.radix**size for size in range(len(symbols)))
        code = permuted(number, self.bits, self.key)
        rest = [code >> DIGIT_BITS * place & (1 << DIGIT_BITS) - 1 for place in reversed(range(self.digits - 1))]
        return bytes([code >> DIGIT_BITS * (self.digits - 1), *rest])

    def decode(self, digits: bytes) -> str | None:
        """Return the string with this code, or None if none has it."""
        code = 0
        for digit in digits:
            code = code << DIGIT_BITS | digit
        number = unpermuted(code, self.bits, self.key)
        if number >= self.strings:
            return None
        size = 0
        while number >= self.radix**size:
            number -= self.radix**size
            size += 1
        symbols = []
        for _ in range(size):
            number, symbol = divmod(number, self.radix)
            symbols.append(symbol)
        symbols.reverse()
        if self.alphabet:
            return "".join(self.alphabet[symbol] for symbol in symbols)
        try:
            return bytes(symbols).decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {symbol: place for place, symbol in enumerate(self.alphabet)}


Floats = NDArray[np.float64]
Paths = NDArray[np.uint8]

_PATIENCE = 4.5
"""A path is dropped where its last digits, however many, fall this many standard deviations short of the threshold."""

_LAST_PATIENCE = 4.0
"""The same, for the whole codes that are listed."""

_MOST_PATHS = 40_000
CROWDED = 5 / 3
"""Prefixes from this many thresholds on may be removed from the buckets that they share with others."""

_SURE = 5
"""Only those above this many standard deviations are: otherwise noise would be fitted."""

_ROUNDS, _FITS = 8, 3

_SLIGHT = 0.02
"""Shared buckets that add less than this part of the variance are left as they are."""

APART_BITS = 24
"""Codes that share this many bits count as one string: other digits agree by chance."""


@dataclass(frozen=True)
class PrefixTallies:
    """The counts of reports on prefixes: for each length, tables with the number of reports that support each bucket.

    `sizes` has the reports of each table; `spread(share, n)` is the variance of a share among n reports.
    """

    supports: Floats
    sizes: Integers
    levels: int
    p: float
    q: float
    bucket: Callable[[Words, int], Integers]
    spread: Callable[[float, int], float]

    @property
    def tables(self) -> int:
        """The number of tables of each length."""
        return len(self.sizes) // self.levels

    @property
    def buckets(self) -> int:
        """The number of buckets of a table."""
        return len(self.supports[0])

    def size(self, level: int) -> int:
        """Return the number of reports on prefixes of a length."""
        return int(self.sizes[self._of(level)].sum())

    def hits(self, level: int, states: Words, least: float) -> tuple[Floats, float]:
        """Return how many reports support each prefix, and the sum of squared shares that still share its buckets.

        What prefixes well above the least share add to the buckets of others is taken out, where it would be felt: the
        largest first, as the noise of the rest is then smaller.
        """
        supports, size = self.supports[self._of(level)], self.size(level)
        raw = self._summed(level, supports, states)
        if not size:
            return raw, 1.0
        shares, all_buckets = self._shares(raw, size), self.tables * self.buckets
        moment = max(CROWDED * least, self._second_moment(level, supports))
        if moment / all_buckets < _SLIGHT * self.spread(least, size):
            return raw, moment
        pool = np.flatnonzero(shares >= least)
        crowd, own, left = np.zeros(0, dtype=np.int64), np.zeros(0), supports
        for _ in range(_ROUNDS):
            now = self._shares(self._summed(level, left, states[pool]), size)
            now[np.searchsorted(pool, crowd)] += own
            error = math.sqrt(self.spread(least, size) + moment / all_buckets)
            above = now >= max(CROWDED * least, _SURE * error)
            if np.array_equal(pool[above], crowd):
                break
            crowd, own = pool[above], now[above]
            for _ in range(_FITS):
                left = self._without(level, supports, states[crowd], own)
                own = np.clip(own + self._shares(self._summed(level, left, states[crowd]), size), 0, 1)
            left = self._without(level, supports, states[crowd], own)
            moment = max(CROWDED * least, self._second_moment(level, left))
        counts = self._summed(level, left, states)
        counts[crowd] += size * (self.p - self.q) * own
        return counts, moment

    def _second_moment(self, level: int, supports: Floats) -> float:
        """Return an estimate of the sum of squared shares of the prefixes that the tables of a length hash."""
        sizes = self.sizes[self._of(level)][:, None].astype(np.float64)
        p, q = self.p, self.q - (self.p - self.q) / (self.buckets - 1)  # of the bucket itself
        shares = (supports / np.maximum(sizes, 1) - q) / (p - q)
        noise = (self.buckets * q * (1 - q) / (p - q) ** 2 + 1) / np.maximum(sizes[:, 0], 1)
        each = ((shares - 1 / self.buckets) ** 2).sum(axis=1) - noise
        return float(min(1.0, sizes[:, 0] @ each / sizes.sum()))

    def _of(self, level: int) -> slice:
        return slice(level * self.tables, (level + 1) * self.tables)

    def _shares(self, hits: Floats, size: int) -> Floats:
        return (hits / size - self.q) / (self.p - self.q)

    def _summed(self, level: int, supports: Floats, states: Words) -> Floats:
        counts = np.zeros(len(states))
        for place, row in enumerate(supports):
            counts += row[self.bucket(states, level * self.tables + place)]
        return counts

    def _without(self, level: int, supports: Floats, states: Words, shares: Floats) -> Floats:
        """Return supports as if no one had these prefixes, and their people were spread over all buckets."""
        slope = (self.p - self.q) * self.buckets / (self.buckets - 1)  # from one bucket to all others
        left = supports.copy()
        for place, size in enumerate(self.sizes[self._of(level)].tolist()):
            held = np.bincount(self.bucket(states, level * self.tables + place), shares, self.buckets)
            left[place] -= size * slope * (held - shares.sum() / self.buckets)
        return left


def extended(states: Words, digits: Paths, level: int) -> Words:
    """Return the states of prefixes that are one digit longer."""
    return salted(states ^ (digits.astype(np.uint64) + np.uint64(1)), level)


def digits_apart(codes: StringCodes) -> int:
    """Return how many digits identify a string: prefixes of this many belong to one string each."""
    return min(codes.digits, 1 - (codes.first_bits - APART_BITS) // DIGIT_BITS)


def find_codes(tallies: PrefixTallies, codes: StringCodes, threshold: float) -> tuple[Paths, Floats, float]:
    """Return the codes of strings from a threshold on, how many reports support each, and what shares their buckets.

    A path is dropped where for some r its last r digits score patience * sqrt(r) below the threshold: a string at the
    threshold does so rarely, and a path that leaves such a string's code scores 0 on average from there on. The last
    levels add no digits: a wrong last digit has to pass them all.
    """
    states, paths = np.zeros(1, dtype=np.uint64), np.zeros((1, 0), dtype=np.uint8)
    sums, counts, targets = np.zeros((1, 0), dtype=np.float32), np.zeros(1), np.zeros(0)
    apart, crowding = digits_apart(codes), 0.0
    for level in range(tallies.levels):
        children = 1 << (codes.first_bits if not level else DIGIT_BITS) if level < codes.digits else 1
        parents = np.repeat(np.arange(len(states)), children)
        digits = np.tile(np.arange(children), len(states)).astype(np.uint8)
        states = extended(states[parents], digits, level) if level < codes.digits else states
        hits, moment = tallies.hits(level, states, threshold)
        size = tallies.size(level)
        if size:
            error = math.sqrt(tallies.spread(threshold, size))
            scores = (hits / size - tallies.q) / (tallies.p - tallies.q) / error
            target = threshold / error
        else:
            scores, target = np.zeros(len(hits)), 0.0
        sums = np.concatenate((sums[parents] + scores[:, None], scores[:, None]), axis=1, dtype=np.float32)
        targets = np.append(targets, 0.0) + target
        last = level + 1 == tallies.levels
        short = _shortfall(sums, targets)
        kept = np.flatnonzero(short >= -(_LAST_PATIENCE if last else _PATIENCE))
        if len(kept) > _MOST_PATHS:
            kept = kept[np.argpartition(-short[kept], _MOST_PATHS)[:_MOST_PATHS]]
        paths = paths[parents[kept]]
        if level < codes.digits:
            paths = np.concatenate((paths, digits[kept, None]), axis=1)
        counts = counts[parents[kept]]
        if level >= apart - 1:
            counts, crowding = counts + hits[kept], max(crowding, moment)
        states, sums = states[kept], sums[kept]
    return *_one_each(paths, counts, sums[:, apart:].sum(axis=1), apart), crowding


def _shortfall(sums: NDArray[np.float32], targets: Floats) -> NDArray[np.float32]:
    lengths = np.sqrt(np.arange(len(targets), 0, -1))
    shortfall: NDArray[np.float32] = ((sums - targets.astype(np.float32)) / lengths.astype(np.float32)).min(axis=1)
    return shortfall


def _one_each(paths: Paths, counts: Floats, scores: Floats, apart: int) -> tuple[Paths, Floats]:
    """Return, of all codes that share the digits which identify a string, the one with the best score."""
    taken: set[bytes] = set()
    kept: list[int] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        head = paths[place, :apart].tobytes()
        if head not in taken:
            taken.add(head)
            kept.append(place)
    return paths[kept], counts[kept]


_TABLES = 64
_THRESHOLD = 3
"""Strings above this many standard deviations of one level are to be found."""

_CHECKS = 4
"""The last levels, at which whole codes are reported once more."""

_MOST_LEVELS = 140
_LONGEST = 100


@dataclass(frozen=True, repr=False, eq=False, init=False)
class HeavyHitters(SketchTables):
    """Randomise a string of an unknown domain, and find the strings that many people have.

    Args:
        epsilon: the privacy loss of one report, at least 0.01.
        length: the most characters of a string; the most bytes, if no alphabet is given.
        alphabet: the characters that strings are made of; all of Unicode, in UTF-8, if left out. Fewer characters
            and shorter strings are found from smaller shares.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> words = local.HeavyHitters(epsilon=8, length=4, alphabet="abcdefghijklmnopqrstuvwxyz")
        >>> server = words.server()
        >>> server.add(words.client.reports(["tea"] * 6000 + ["milk"] * 4000))
        10000
        >>> {"milk", "tea"} <= set(server.estimate().labels)
        True

    Guarantee: epsilon-DP for each person by themselves, as SketchTables: a person reports one prefix, whose length
    does not depend on the string.
    Cites: [BNST17, TreeHist], [App17].
    """

    kind: ClassVar[str] = "heavy hitters"
    length: int
    alphabet: str

    def __init__(self, *, epsilon: Number, length: int, alphabet: str = "", survey: str = "") -> None:
        super().__init__(epsilon, survey)
        characters = plain_text(alphabet, "alphabet")
        if len(set(characters)) < len(characters) or len(characters) == 1:
            raise BadParameter("alphabet", alphabet, "at least two different characters, or nothing for all of Unicode")
        set_fields(self, length=whole(length, "length", least=1, most=_LONGEST), alphabet=characters)
        if self.levels > _MOST_LEVELS:
            raise BadParameter("length", length, "smaller: codes of such strings have too many digits")

    @cached_property
    def codes(self) -> StringCodes:
        """The code of each string."""
        return StringCodes(self.length, self.alphabet, b"privet " + self.survey.encode()[:50])

    @property
    def levels(self) -> int:
        """The number of groups of people: one for each length of prefixes, and some for whole codes."""
        return self.codes.digits + _CHECKS

    @property
    def _telling(self) -> int:
        """The number of levels whose prefixes identify a string."""
        return self.levels - digits_apart(self.codes) + 1

    @property
    def tables(self) -> int:
        return self.levels * _TABLES

    @property
    def _told(self) -> list[Any]:
        return [self.length, self.alphabet, *super()._told]

    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        """Return the digits of each string's code, as one item of bytes."""
        texts = texts_of(answers)
        codes = None if texts is None else {text: self.codes.encode(text) for text in set(texts)}
        if texts is None or codes is None or None in codes.values():
            what = "of the alphabet" if self.alphabet else "in UTF-8"
            unit = "characters" if self.alphabet else "bytes"
            raise BadValue(parameter, "something else", f"a text of at most {self.length} {unit} {what}")
        raw = b"".join(codes[text] or b"" for text in texts)
        digits = np.frombuffer(raw, dtype=np.dtype((np.void, self.codes.digits)))
        return digits.reshape(()) if isinstance(answers, str) else digits

    def _states(self, answers: Any, tables: Integers) -> Words:
        digits = np.ascontiguousarray(answers).view(np.uint8).reshape(len(answers), self.codes.digits)
        lengths = tables // _TABLES + 1
        states = np.zeros(len(digits), dtype=np.uint64)
        for level in range(self.codes.digits):
            states = np.where(level < lengths, extended(states, digits[:, level], level), states)
        return states

    def threshold(self, n: int) -> float:
        """Return the share t from which on strings are found among n people: three standard deviations of one level.

        A level has n / levels of the reports. The standard deviation is that of the share of a string with share t,
        estimated from one level alone: of its reports, of the people who are in the level, and of strings in the
        same buckets. Those from 5 t / 3 on are taken out of the buckets; the squared shares of all others sum to at
        most 5 t / 3.

        Args:
            n: the number of people.
        """
        size = Fraction(whole(n, "n", least=1), self.levels)
        p, q = self.p, self.q
        fixed = float(q * (1 - q) / (size * (p - q) ** 2))
        each = float((1 - p - q) / (size * (p - q)) + 1 / size) + CROWDED / (_TABLES * self.buckets)
        square = _THRESHOLD**2
        return (square * each + math.sqrt((square * each) ** 2 + 4 * square * fixed)) / 2

    def _spread(self, share: float, size: int) -> float:
        """Return the variance of an estimated share of one level, as `threshold` has it."""
        p, q = float(self.p), float(self.q)
        each = (1 - p - q) / (p - q) + 1
        return (q * (1 - q) / (p - q) ** 2 + each * share) / size + CROWDED * share / (_TABLES * self.buckets)

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated share of a string that is found, and this share of n people have.

        Guarantee: that of reports on prefixes that tell strings apart; strings that share buckets add at most the sum
        of all squared shares, divided by the number of all buckets of all tables.
        """
        used = whole(n, "n", least=1) * self._telling // self.levels
        return spread_of(self, frequency, max(1, used))

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move the estimated share of a string.

        Guarantee: forged reports may all be about prefixes that count, and support the string.
        Cites: [CJG21, direct forging].
        """
        more = self.levels / self._telling
        return float_up(float(probability(fraction, "fraction")) * more * self._own_share)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", COVERS)
        sizes = tally.sum(axis=1)
        tallies = PrefixTallies(
            self._decoded(tally), sizes, self.levels, float(self.p), float(self.q), self._bucket, self._spread
        )
        paths, counts, crowding = find_codes(tallies, self.codes, self.threshold(n))
        names = [self.codes.decode(path.tobytes()) for path in paths]
        if self.threshold(n) >= 1:  # of so few people, nothing can be estimated
            names = [None] * len(names)
        known = [place for place, name in enumerate(names) if name is not None]
        used = max(1, sum(tallies.size(length) for length in range(self.levels - self._telling, self.levels)))
        collisions = crowding / (_TABLES * self.buckets * self._telling)
        columns = self._shares(np.rint(counts[known]).astype(np.int64), used, n, level, whose, collisions)
        order = np.argsort(-columns[0], kind="stable").tolist()
        values, low, high, errors = (column[order] for column in columns)
        labels = tuple(names[known[place]] for place in order)
        return Frequencies(labels, values, low, high, errors, n, float(level), whose, rejected)
