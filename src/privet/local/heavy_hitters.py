"""Heavy hitters: which strings of an unknown domain many people have, found through the prefixes of their codes.

Each person reports one prefix of the code of their string; its length is decided by the report's identifier, so that
nobody reports twice. The server walks down from the shortest prefixes and keeps those that a string above the threshold
may still have; whatever it keeps or drops is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, float_up, open_probability, probability, whole

from .count_mean import texts_of
from .estimates import Frequencies
from .mixing import salted
from .randomizer import Integers, Words
from .sketch_tables import Floats, SketchTables, spread_of
from .string_codes import DIGIT_BITS, StringCodes

_CHILDREN = 2**DIGIT_BITS
_TABLES = 64
_THRESHOLD = 3.0
"""Strings above this many standard deviations of one prefix length are to be found."""

_PATIENCE = 4.0
"""A path is dropped where its last digits, however many, fall this many standard deviations short of the threshold."""

_LEAST_SCORE = 2.6
"""Where shared buckets vary more than reports, strings are sought from this many standard deviations of both on."""

_MOST_PATHS = 20_000
_APART = 5
"""Codes that share this many digits are of one string."""

_LEAST_SHARE = 2.0
_LONGEST_CODE = 100
_COVERS = ("reports", "population")
Paths = NDArray[np.uint8]


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
        set_fields(self, length=whole(length, "length", least=1, most=_LONGEST_CODE), alphabet=characters)
        if self.levels > _LONGEST_CODE:
            raise BadParameter("length", length, "smaller: codes of such strings have too many digits")

    @cached_property
    def codes(self) -> StringCodes:
        """The code of each string."""
        return StringCodes(self.length, self.alphabet, b"privet " + self.survey.encode()[:50])

    @property
    def levels(self) -> int:
        """The number of different lengths of prefixes."""
        return self.codes.digits

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
        found = np.frombuffer(raw, dtype=np.dtype((np.void, self.levels)))
        return found.reshape(()) if isinstance(answers, str) else found

    def _states(self, answers: Any, tables: Integers) -> Words:
        digits = np.ascontiguousarray(answers).view(np.uint8).reshape(len(answers), self.levels)
        lengths = tables // _TABLES + 1
        states = np.zeros(len(digits), dtype=np.uint64)
        for level in range(self.levels):
            states = np.where(level < lengths, _extended(states, digits[:, level], level), states)
        return states

    def threshold(self, n: int) -> float:
        """Return the share from which on a string is found among n people: three standard deviations of one length."""
        size = max(1, whole(n, "n", least=1) // self.levels)
        return _THRESHOLD * math.sqrt(spread_of(self, 0, size))

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated share of a string that is found, and this share of n people have.

        Guarantee: that of reports on prefixes of five digits or more; strings that share buckets add at most the sum
        of all squared shares, divided by the number of all buckets of all tables.
        """
        used = whole(n, "n", least=1) * (self.levels - _APART + 1) // self.levels
        return spread_of(self, frequency, max(1, used))

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move the estimated share of a string.

        Guarantee: forged reports may all be about prefixes that count, and support the string.
        Cites: [CJG21, direct forging].
        """
        more = self.levels / (self.levels - _APART + 1)
        return float_up(float(probability(fraction, "fraction")) * more * self._own_share)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", _COVERS)
        supports = self._decoded(tally)
        sizes = tally.sum(axis=1).reshape(self.levels, _TABLES).sum(axis=1)
        moment = self._second_moment(tally[_APART * _TABLES :], supports[_APART * _TABLES :])
        paths, counts = self._walk(supports, sizes, moment)
        names = [self.codes.decode(path.tobytes()) or "" for path in paths]
        used = int(sizes[_APART - 1 :].sum())
        collisions = moment / (_TABLES * self.buckets * (self.levels - _APART + 1))
        columns = self._shares(counts, max(used, 1), level, collisions)
        least = _LEAST_SHARE / _THRESHOLD * self.threshold(n)
        kept = np.flatnonzero(columns[0] >= least)
        order = kept[np.argsort(-columns[0][kept], kind="stable")].tolist()
        values, low, high, errors = (column[order] for column in columns)
        labels = tuple(names[place] for place in order)
        return Frequencies(labels, values, low, high, errors, n, float(level), whose, rejected)

    def _walk(self, supports: Floats, sizes: Integers, moment: float) -> tuple[Paths, Integers]:
        """Return the codes that a string above the threshold may have, and how many reports support each.

        A path is dropped where for some r its last r digits score patience * sqrt(r) below the threshold: a string
        above the threshold does so rarely, and a path that leaves such a string's code scores 0 on average from
        there on, so that about exp(-1.7 r) of its continuations are left after r digits.
        """
        p, q = float(self.p), float(self.q)
        states, paths = np.zeros(1, dtype=np.uint64), np.zeros((1, 0), dtype=np.uint8)
        sums, counts, targets = np.zeros((1, 0), dtype=np.float32), np.zeros(1, dtype=np.int64), np.zeros(0)
        for level, size in enumerate(sizes.tolist()):
            states = np.repeat(states, _CHILDREN)
            digits = np.tile(np.arange(_CHILDREN, dtype=np.uint8), len(paths))
            states = _extended(states, digits, level)
            hits = np.zeros(len(states), dtype=np.int64)
            for table in range(level * _TABLES, (level + 1) * _TABLES):
                hits += np.rint(supports[table]).astype(np.int64)[self._bucket(states, table)]
            flat = math.sqrt(q * (1 - q) / (p - q) ** 2 / max(size, 1))
            error = math.sqrt(flat**2 + moment / (_TABLES * self.buckets))
            scores = (hits / max(size, 1) - q) / (p - q) / error if size else np.zeros(len(hits))
            sums = np.repeat(sums, _CHILDREN, axis=0) + scores[:, None].astype(np.float32)
            sums = np.concatenate((sums, scores[:, None]), axis=1, dtype=np.float32)
            lengths = np.arange(level + 1, 0, -1)
            targets = np.concatenate((targets, [0.0])) + max(_THRESHOLD * flat / error, _LEAST_SCORE)
            short = ((sums - targets.astype(np.float32)) / np.sqrt(lengths).astype(np.float32)).min(axis=1)
            kept = np.flatnonzero(short >= -_PATIENCE)
            if len(kept) > _MOST_PATHS:
                kept = kept[np.argpartition(-short[kept], _MOST_PATHS)[:_MOST_PATHS]]
            paths = np.concatenate((paths[kept // _CHILDREN], digits[kept, None]), axis=1)
            counts = np.repeat(counts, _CHILDREN)[kept] + (hits[kept] if level >= _APART - 1 else 0)
            states, sums, short = states[kept], sums[kept], short[kept]
        return _one_each(paths, counts, sums[:, _APART:].sum(axis=1), self.codes)


def _extended(states: Words, digits: Paths, level: int) -> Words:
    """Return the states of prefixes that are one digit longer."""
    return salted(states ^ (digits.astype(np.uint64) + np.uint64(1)), level)


def _one_each(paths: Paths, counts: Integers, scores: Floats, codes: StringCodes) -> tuple[Paths, Integers]:
    """Return of all codes of strings that share their first digits the one with the best score."""
    taken: set[bytes] = set()
    kept: list[int] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        head = paths[place, :_APART].tobytes()
        if head not in taken and codes.decode(paths[place].tobytes()) is not None:
            taken.add(head)
            kept.append(place)
    return paths[kept], counts[kept]
