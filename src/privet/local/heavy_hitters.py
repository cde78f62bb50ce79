"""Heavy hitters: which strings of an unknown domain many people have, found through the prefixes of their codes.

Each person reports one prefix of the code of their string; its length is decided by the report's identifier, so that
nobody reports twice. The server walks down from the shortest prefixes and keeps those that a string above the threshold
may still have; whatever it keeps or drops is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from privet.core.errors import BadParameter, BadValue
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, float_up, open_probability, probability, whole

from .count_mean import texts_of
from .estimates import COVERS, Frequencies
from .prefix_search import CROWDED, PrefixTallies, digits_apart, extended, find_codes
from .randomizer import Integers, Words
from .sketch_tables import SketchTables, spread_of
from .string_codes import StringCodes

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
        """The number of levels whose prefixes tell strings apart."""
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
        found = np.frombuffer(raw, dtype=np.dtype((np.void, self.codes.digits)))
        return found.reshape(()) if isinstance(answers, str) else found

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
        if self.threshold(n) >= 1:  # of so few people, nothing can be told
            names = [None] * len(names)
        known = [place for place, name in enumerate(names) if name is not None]
        used = max(1, sum(tallies.size(length) for length in range(self.levels - self._telling, self.levels)))
        collisions = crowding / (_TABLES * self.buckets * self._telling)
        columns = self._shares(np.rint(counts[known]).astype(np.int64), used, n, level, whose, collisions)
        order = np.argsort(-columns[0], kind="stable").tolist()
        values, low, high, errors = (column[order] for column in columns)
        labels = tuple(names[known[place]] for place in order)
        return Frequencies(labels, values, low, high, errors, n, float(level), whose, rejected)
