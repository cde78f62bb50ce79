"""Two numbers of answers against each other: difference, ratio and p-value, at no cost. Sees released numbers only."""

from __future__ import annotations

from privet.answer import ComparedNumber
from privet.core.errors import RequestError, Unsupported
from privet.core.estimate import Covers, Estimate
from privet.inference.contrast import Alternative, Contrast
from privet.inference.equation import Equation
from privet.inference.finding import Finding
from privet.query.functions import mentions

from .population import PopulationReader

_SAME_PEOPLE = 2.0
"""Errors of two answers by sampling may go together, as people may be in both: (a + b)^2 <= 2 a^2 + 2 b^2."""


def compared(
    one: ComparedNumber, other: ComparedNumber, *, covers: Covers, alternative: Alternative, margin: float | None
) -> Finding:
    """Return the difference and the ratio of two numbers, with intervals and the p-value that they are equal.

    Guarantee: rows of one release have independent noise, and so have two releases. People may be in both groups of an
    answer: what one weighs in both together bounds that. They may be in both answers too, whatever these are about:
    then variances by sampling are doubled.

    Raises:
        RequestError: it is one and the same number, or two answers of one charge, whose noise may be shared.
    """
    readers = _reader(one), _reader(other)
    places = [reader.chosen[each.row] for reader, each in zip(readers, (one, other), strict=True)]
    charged = one.charge == other.charge
    together = charged and one.digest == other.digest and _meaning(readers[0], one) == _meaning(readers[1], other)
    if together and places[0] == places[1]:
        raise RequestError("both are the same released number, whose difference from itself is 0; name another group")
    if charged and not together:
        raise Unsupported("answers of one charge may share their noise; compare groups of one column of one answer")
    confidence = readers[0].confidence
    tail = 1 - confidence
    population = covers == "population"
    cells = 2 if together else 1
    contrast = Contrast(*(_equation(each, cells, population=population) for each in (one, other)))
    if population and not together:
        contrast = Contrast(contrast.one.scaled(_SAME_PEOPLE), contrast.other.scaled(_SAME_PEOPLE))
    words = "the noise"
    if population:
        words = readers[0].words("difference", readers[0].used(one.column))
    low, high = contrast.difference_interval(tail)
    estimates = {
        "difference": Estimate(
            value=contrast.difference,
            low=low,
            high=high,
            confidence=confidence,
            standard_error=contrast.error,
            covers=words,
        )
    }
    if contrast.one.low >= 0 and contrast.other.low >= 0 and contrast.other.value[0] > 0:
        low, high = contrast.ratio_interval(tail)
        estimates["ratio"] = Estimate(
            value=contrast.ratio,
            low=low,
            high=high,
            confidence=confidence,
            standard_error=contrast.ratio_error,
            covers=words.replace("difference", "ratio"),
        )
    hypothesis = f"{one.label} = {other.label}"
    if alternative != "two-sided":
        hypothesis = f"{one.label} {'<=' if alternative == 'greater' else '>='} {other.label}"
    if margin is not None:
        hypothesis = f"{one.label} and {other.label} differ by {margin:g} or more"
    p_value = contrast.p_value(alternative=alternative) if margin is None else contrast.equivalence(margin)
    return Finding(
        name=f"Comparison of {one.label} and {other.label}",
        hypothesis=hypothesis,
        p_value=p_value,
        estimates=estimates,
        method="test inversion by the joint law of the noise" + (" and of sampling" if population else ""),
        assumptions=_assumptions(one, population=population, together=together),
        notes=("It costs nothing: both numbers had been released.",),
    )


def _reader(one: ComparedNumber) -> PopulationReader:
    if not isinstance(one.sampled, PopulationReader):
        raise Unsupported(
            "one of the two is an aggregate as it was released and the other was summed afterwards; ask for both in "
            "one list, ask_all([...]), where they share a release, or for both as groups of one question"
        )
    return one.sampled


def _meaning(reader: PopulationReader, one: ComparedNumber) -> tuple[object, ...]:
    """Return what a column is: its expression, and the aggregates in it with their places."""
    readings = {reading.name: reading for reading in reader.plan.readings}
    meaning = reader.meanings[one.column]
    used = [readings[name] for name in sorted(mentions(meaning) & readings.keys())]
    return meaning, tuple((reading.aggregate, reading.places) for reading in used)


def _equation(one: ComparedNumber, cells: int, *, population: bool) -> Equation:
    equation, _, curved = _reader(one).equation(one.column, cells, population=population)
    if curved is not None:
        raise Unsupported(f"{one.column!r} is a root, whose differences have no known law; compare variances: VAR(x)")
    return equation.at([one.row])


def _assumptions(one: ComparedNumber, *, population: bool, together: bool) -> tuple[str, ...]:
    if not population:
        return ("the numbers are those of the rows that were asked about; sampling is not covered",)
    people = "people are drawn independently of each other"
    if all(part.scan.schema.unit.rowwise for part in _reader(one).plan.passes):
        people = "rows are drawn independently of each other"
    more = () if together else ("the same people may be in both answers: variances by sampling are doubled",)
    return (people, *more, "values are clamped to their declared bounds")
