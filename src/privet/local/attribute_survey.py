"""Several attributes of each person: one of them with the whole epsilon, or all of them with a share of it each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.event import Composed, Event
from privet.core.given import choice, mapping, plain_text, set_fields
from privet.core.numbers import Number, float_up, probability, whole

from .choose import best
from .estimates import Frequencies
from .frequency_oracle import FrequencyOracle, read_labels
from .hybrid import HybridMean
from .mean_oracle import MeanOracle
from .randomizer import Bytes, Integers, Randomizer, Words, read_epsilon
from .split_oracle import SplitOracle

_METHODS = ("sampling", "splitting")
_ALLOWED = "attributes by name: a list of labels, a number of values, or a tuple (low, high) of bounds for each"
_MOST_PARTS = 1000


@dataclass(frozen=True, repr=False, eq=False, init=False)
class AttributeSurvey(SplitOracle):
    """Randomise several attributes of a person, and estimate the frequencies or the mean of each.

    A person reports one attribute with the whole epsilon, chosen by the report's identifier, or all of them with an
    equal share of epsilon, whichever errs less. The former does at every usual epsilon.

    Args:
        attributes: for each name, a list of labels or a number of values for frequencies, or a tuple (low, high) of
            bounds for a mean.
        epsilon: the privacy loss of one person's report, whatever the number of attributes.
        method: `sampling` of one attribute or `splitting` of epsilon; the better one if left out.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> survey = local.AttributeSurvey({"sex": ["f", "m"], "age": (0, 110)}, epsilon=2)
        >>> survey.method
        'sampling'
        >>> len(survey.client.report({"sex": "f", "age": 42}))
        1

    Guarantee: epsilon-DP for each person by themselves: as SplitOracle where one attribute is sampled; where epsilon
    is split, by composition of reports that cost an equal share each.
    Cites: [WXYZ19, several attributes].
    """

    kind: ClassVar[str] = "several attributes"
    names: tuple[str, ...]
    method: str
    oracles: tuple[Randomizer, ...]

    def __init__(
        self,
        attributes: Mapping[str, Any],
        *,
        epsilon: Number,
        method: Literal["sampling", "splitting"] | None = None,
        survey: str = "",
    ) -> None:
        given = mapping(attributes, "attributes", _ALLOWED)
        if not 1 <= len(given) <= _MOST_PARTS:
            raise BadParameter("attributes", attributes, _ALLOWED)
        asked = read_epsilon(epsilon)
        whole_, part = (
            tuple(_oracle(name, domain, loss, attributes) for name, domain in given.items())
            for loss in (asked, asked / len(given))
        )
        chosen = method if method is not None else _better(whole_, part)
        choice(chosen, "method", _METHODS)
        set_fields(
            self,
            names=tuple(given),
            method=chosen,
            oracles=whole_ if chosen == "sampling" else part,
            survey=plain_text(survey, "survey"),
        )

    @property
    def parts(self) -> tuple[Randomizer, ...]:
        return self.oracles

    @property
    def _sampled(self) -> bool:
        return self.method == "sampling"

    @property
    def width(self) -> int:
        return super().width if self._sampled else sum(part.width for part in self.parts)

    @property
    def event(self) -> Event:
        """The event of one person's report."""
        return super().event if self._sampled else Composed(tuple(part.event for part in self.parts))

    @property
    def _told(self) -> list[Any]:
        return [self.method, list(self.names), *super()._told]

    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        readers = {name: part._read for name, part in zip(self.names, self.parts, strict=True)}
        return read_columns(answers, readers, parameter)

    def _answers_to(self, part: int, answers: Any) -> Any:
        return answers[f"f{part}"]

    def _pieces(self, data: Bytes) -> list[Bytes]:
        ends = np.cumsum([part.width for part in self.parts])[:-1]
        return np.split(data, ends, axis=1)

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        if self._sampled:
            return super()._randomise(answers, ids)
        pieces = [part._randomise(self._answers_to(place, answers), ids) for place, part in enumerate(self.parts)]
        return np.concatenate(pieces, axis=1)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        if self._sampled:
            return super()._allowed(data, ids)
        pieces = zip(self.parts, self._pieces(data), strict=True)
        allowed: NDArray[np.bool_] = np.all([part._allowed(piece, ids) for part, piece in pieces], axis=0)
        return allowed

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        if self._sampled:
            return super()._count_into(tally, data, ids)
        for place, piece in enumerate(self._pieces(data)):
            tally[place] += len(piece)
            self.parts[place]._count_into(self._tally_of(tally, place), piece, ids)
        return None

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> dict[str, Any]:
        # people who report an attribute are a random sample of all
        whose = "population" if self._sampled else covers
        return {
            name: part._estimate(self._tally_of(tally, place), int(tally[place]), confidence, whose, rejected)
            for place, (name, part) in enumerate(zip(self.names, self.parts, strict=True))
            if tally[place]
        }

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move a share, or a mean in its bounds.

        Guarantee: where one attribute is sampled, all liars may report the same one.
        """
        each = max(_relative(part) for part in self.parts)
        more = len(self.parts) if self._sampled else 1
        return float_up(float(probability(fraction, "fraction")) * each * more)

    def __repr__(self) -> str:
        names = ", ".join(self.names)
        return f"AttributeSurvey({names}, by {self.method}, epsilon={self.epsilon:.6g}, {self.width:,} bytes)"


@dataclass(frozen=True, repr=False, eq=False, init=False)
class MarginalSurvey(SplitOracle):
    """Randomise several attributes of a person, and estimate the joint frequencies of every few of them.

    A person reports one set of attributes with the whole epsilon; which one follows from the report's identifier.

    Args:
        attributes: for each name, a list of labels or a number of values.
        ways: the number of attributes in a set.
        epsilon: the privacy loss of one person's report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> survey = local.MarginalSurvey({"sex": ["f", "m"], "smokes": ["no", "yes"], "ward": 5}, ways=2, epsilon=1)
        >>> survey.sets
        (('sex', 'smokes'), ('sex', 'ward'), ('smokes', 'ward'))

    Guarantee: epsilon-DP for each person by themselves, as SplitOracle.
    Cites: [CKS18, marginals].
    """

    kind: ClassVar[str] = "marginals"
    names: tuple[str, ...]
    domains: tuple[Any, ...]
    ways: int
    asked: Fraction

    def __init__(self, attributes: Mapping[str, Any], *, ways: int = 2, epsilon: Number, survey: str = "") -> None:
        given = mapping(attributes, "attributes", "attributes by name: a list of labels or a number of values for each")
        if not given:
            raise BadParameter("attributes", attributes, "at least one attribute")
        domains = tuple(read_labels(domain) for domain in given.values())
        size = whole(ways, "ways", least=1, most=len(domains))
        asked = read_epsilon(epsilon)
        set_fields(self, names=tuple(given), domains=domains, ways=size, asked=asked)
        set_fields(self, survey=plain_text(survey, "survey"))
        if len(self.sets) > _MOST_PARTS:
            raise BadParameter("ways", ways, f"such that there are at most {_MOST_PARTS:,} sets")
        if not all(isinstance(part, FrequencyOracle) for part in self.parts):
            raise BadParameter("attributes", attributes, "with fewer values in each set")

    @cached_property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sets of attributes."""
        return tuple(combinations(self.names, self.ways))

    @cached_property
    def _places(self) -> tuple[tuple[int, ...], ...]:
        return tuple(combinations(range(len(self.names)), self.ways))

    @cached_property
    def parts(self) -> tuple[Randomizer, ...]:
        sizes = [prod(len(self.domains[place]) for place in places) for places in self._places]
        return tuple(best(size, epsilon=self.asked, n=1000).oracle for size in sizes)

    @property
    def _told(self) -> list[Any]:
        labels = [list(domain) if isinstance(domain, tuple) else len(domain) for domain in self.domains]
        return [list(self.names), labels, *super()._told]

    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        from .response import KaryResponse

        readers = {
            name: KaryResponse(domain, epsilon=1)._read for name, domain in zip(self.names, self.domains, strict=True)
        }
        return read_columns(answers, readers, parameter)

    def _answers_to(self, part: int, answers: Any) -> Any:
        numbers = np.zeros(len(answers), dtype=np.int64)
        for place in self._places[part]:
            numbers = numbers * len(self.domains[place]) + answers[f"f{place}"]
        return numbers

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> dict[tuple[str, ...], Frequencies]:
        estimates = {}
        for part, places in enumerate(self._places):
            if not tally[part]:
                continue
            # people who report a set are a random sample of all
            own = self._tally_of(tally, part)
            cells = self.parts[part]._estimate(own, int(tally[part]), confidence, "population", rejected)
            labels = tuple(product(*(self.domains[place] for place in places)))
            estimates[self.sets[part]] = Frequencies(
                labels, cells.values, cells.low, cells.high, cells.standard_errors, cells.n, cells.confidence,
                cells.covers, rejected,
            )  # fmt: skip
        return estimates

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated share of a cell of the largest set, which this share of n people have.

        Guarantee: that of reports, and of who reports which set, for sets of equal numbers of people.
        """
        share, size = probability(frequency, "frequency"), whole(n, "n", least=1)
        own = max(_spread(part, share) for part in self.parts)
        return float_up((own + float(share * (1 - share))) * len(self.parts) / size)

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move the share of a cell.

        Guarantee: all liars may report the same set.
        """
        each = max(_relative(part) for part in self.parts)
        return float_up(float(probability(fraction, "fraction")) * each * len(self.parts))

    def __repr__(self) -> str:
        names = ", ".join(self.names)
        return f"MarginalSurvey({names}, {self.ways} at a time, epsilon={self.epsilon:.6g}, {self.width:,} bytes)"


def read_columns(answers: Any, readers: Mapping[str, Callable[..., Any]], parameter: str) -> Any:
    """Return answers as rows of integers, one for each attribute: of one person, of columns, or of a list of people."""
    allowed = f"the attributes {', '.join(readers)}, of one person or of each of a list"
    columns: dict[str, Any] = {}
    try:
        if isinstance(answers, Mapping):
            columns = dict(answers)
        else:
            rows = list(answers)
            columns = {name: [row[name] for row in rows] for name in readers}
            if any(len(row) != len(readers) for row in rows):
                columns = {}
    except Exception:  # whatever a foreign type raises
        columns = {}
    if set(columns) != set(readers):
        raise BadValue(parameter, "something else", allowed)
    read = [reader(columns[name], parameter) for name, reader in readers.items()]
    if len({values.shape for values in read}) != 1:
        raise BadValue(parameter, "columns of different lengths", allowed)
    records = np.zeros(read[0].shape, dtype=[(f"f{place}", np.int64) for place in range(len(read))])
    for place, column in enumerate(read):
        records[f"f{place}"] = column
    return records


def _oracle(name: str, domain: Any, loss: Fraction, attributes: Any) -> Randomizer:
    plain_text(name, "attributes")
    if isinstance(domain, tuple):
        if len(domain) != 2:
            raise BadParameter("attributes", attributes, _ALLOWED)
        return HybridMean(domain[0], domain[1], epsilon=loss)
    return best(domain, epsilon=loss, n=1000).oracle


def _spread(part: Randomizer, share: Fraction | None = None) -> float:
    """Return the variance of one report, relative to the bounds of a mean."""
    if isinstance(part, MeanOracle):
        return part.variance((part.low + part.high) / 2, 1) / float(part.high - part.low) ** 2
    if isinstance(part, FrequencyOracle):
        return part.variance(Fraction(1, part.values) if share is None else share, 1)
    raise BadParameter("attributes", part, _ALLOWED)


def _relative(part: Randomizer) -> float:
    moved = part.robustness(1)
    return moved / float(part.high - part.low) if isinstance(part, MeanOracle) else moved


def _better(whole_: tuple[Randomizer, ...], part: tuple[Randomizer, ...]) -> str:
    """Return the method with the smaller variances: one attribute of each person, or all with less epsilon."""
    many = len(whole_)

    def own(oracle: Randomizer) -> float:
        # the variance among people: uniform numbers, or values that are all as common
        return 1 / 12 if isinstance(oracle, MeanOracle) else float(Fraction(1, _values(oracle)))

    sampled = sum(many * _spread(oracle) + (many - 1) * own(oracle) for oracle in whole_)
    return "sampling" if sampled <= sum(_spread(oracle) for oracle in part) else "splitting"


def _values(oracle: Randomizer) -> int:
    return oracle.values if isinstance(oracle, FrequencyOracle) else 1
