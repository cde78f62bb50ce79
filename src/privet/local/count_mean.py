"""A count-mean sketch: frequencies of any strings that are named afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.given import choice, listed, set_fields
from privet.core.numbers import Number, float_up, open_probability, probability, whole

from .estimates import COVERS, Frequencies
from .mixing import word_of
from .randomizer import Integers, Words
from .sketch_tables import SketchTables, spread_of


@dataclass(frozen=True, repr=False, eq=False, init=False)
class CountMeanSketch(SketchTables):
    """Randomise any string, and estimate how often each string of a list is the answer; the list comes afterwards.

    Args:
        epsilon: the privacy loss of one report, at least 0.01.
        tables: the number of hash functions.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> words = local.CountMeanSketch(epsilon=8)
        >>> server = words.server()
        >>> server.add(words.client.reports(["tea"] * 600 + ["coffee"] * 400))
        1000
        >>> found = server.estimate(of=["tea", "coffee", "milk"])
        >>> found["milk"][0] < 0.2 < found["tea"][0]
        True

    Guarantee: epsilon-DP for each person by themselves, as SketchTables.
    Cites: [App17, count-mean sketch].
    """

    kind: ClassVar[str] = "count-mean sketch"
    tables_asked: int

    def __init__(self, *, epsilon: Number, tables: int = 64, survey: str = "") -> None:
        super().__init__(epsilon, survey)
        set_fields(self, tables_asked=whole(tables, "tables", least=2, most=2**10))

    @property
    def tables(self) -> int:
        return self.tables_asked

    def _read(self, answers: Any, parameter: str = "answer") -> Words:
        """Return 64 bits for each string."""
        texts = texts_of(answers)
        if texts is None:
            raise BadValue(parameter, "something else", "a text, or a list of texts")
        words = {text: word_of(text.encode("utf-8", "surrogatepass"), self.digest) for text in set(texts)}
        found = np.array([words[text] for text in texts], dtype=np.uint64)
        return found.reshape(()) if isinstance(answers, str) else found

    def _states(self, answers: Any, tables: Integers) -> Words:
        found: Words = answers
        return found

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated frequency of a string that this share of n people have.

        Guarantee: that of reports; strings that share buckets add at most the sum of all squared shares, divided by
        the number of all buckets of all tables.
        """
        return spread_of(self, frequency, n)

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move one estimated frequency.

        Guarantee: a forged report supports a string or not, which moves its estimate by at most (1 - q) / (p - q).
        Cites: [CJG21, direct forging].
        """
        return float_up(float(probability(fraction, "fraction")) * self._own_share)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        raise RequestError("name the strings whose frequencies are wanted: estimate(of=['cat', 'dog'])")

    def _estimate_of(
        self, of: Any, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        names = tuple(listed(of, "of", "a list of texts"))
        if not names or not all(type(one) is str for one in names) or len(set(names)) < len(names):
            raise BadParameter("of", of, "a list of different texts")
        level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", COVERS)
        supports = self._decoded(tally)
        states = self._read(list(names))
        counts = sum(supports[table][self._bucket(states, table)] for table in range(self.tables))
        collisions = self._second_moment(tally, supports) / (self.tables * self.buckets)
        columns = self._shares(np.rint(counts).astype(np.int64), n, n, level, whose, collisions)
        return Frequencies(names, *columns, n, float(level), whose, rejected)


def texts_of(answers: Any) -> list[str] | None:
    """Return one text or several as a list, or None if any is none."""
    try:
        found = [answers] if isinstance(answers, str) else list(np.asarray(answers, dtype=object).ravel().tolist())
        if not isinstance(answers, str) and np.ndim(np.asarray(answers, dtype=object)) != 1:
            return None
    except Exception:  # ragged lists, and whatever a foreign type raises
        return None
    return [str(one) for one in found] if all(isinstance(one, str) for one in found) else None
