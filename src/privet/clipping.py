"""What clamping and bounding take away: asked about on request, charged like any question, and told with advice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .answer import Answer
from .asked import Question, check_bounds, read_question, spend_of
from .core.errors import RequestError
from .core.estimate import Estimate
from .core.exact import Number
from .core.receipt import Receipt
from .core.scan import Norm, Truncate
from .core.schema import Contribution
from .planner.clipping import Clamp, bounding_of, bounding_question, clamping_question, clamps_of
from .planner.make import make_plan
from .planner.stability import Rule
from .several import Several

_MANY, _FEW = 0.05, 0.01
"""A larger part beyond a bound than the first calls for a wider one, a smaller part than the second for a narrower."""


@dataclass(frozen=True)
class Clamped:
    """Which part of the rows lies beyond each end of a clamp, and what the answer would be without it, if known.

    `middle` are the 1% and the 99% quantile of what is clamped.
    """

    clamp: Clamp
    below: Estimate | None
    above: Estimate | None
    middle: tuple[Estimate, Estimate] | None
    clamped: Estimate | None
    unclamped: Estimate | None

    def lines(self) -> Iterator[str]:
        """Yield what was found, and advice on better bounds."""
        name, where = self.clamp.name, "at or " if self.clamp.at_ends else ""
        for part, end, side in ((self.below, self.clamp.low, "below"), (self.above, self.clamp.high, "above")):
            if part is not None and end is not None:
                yield f"About {_part(part)} of the rows have {name} {where}{side} {float(end):,.6g}."
        if self.clamped is not None and self.unclamped is not None:
            function = self.clamp.function.upper()
            yield (
                f"{function} of {name} is {_number(self.clamped)} as it is clamped, and {_number(self.unclamped)} "
                f"without."
            )
        yield from self._advice()

    def _advice(self) -> Iterator[str]:
        much = [part for part in (self.below, self.above) if part is not None and part.low > _MANY]
        little = all(part is None or part.high < _FEW for part in (self.below, self.above))
        if much and self.clamp.at_ends:
            yield f"Wider bounds for {self.clamp.name}, if such are public, would lose less and need more noise."
        elif much:
            yield f"A wider clamp of {self.clamp.name} would lose less and need more noise."
        low, high = self.clamp.low, self.clamp.high
        if self.middle is None or not (much or little) or low is None or high is None:
            return
        bottom, top = (one.value for one in self.middle)
        if self.clamp.function == "sum":
            now, then = max(abs(low), abs(high)), max(abs(bottom), abs(top))
        else:
            now, then = high - low, top - bottom
        if top > bottom and now and (not little or then < 0.9 * float(now)):
            yield (
                f"Bounds of {bottom:,.4g} to {top:,.4g} hold about 98 of 100 rows, with {then / float(now):.0%} of the "
                f"noise."
            )


@dataclass(frozen=True, repr=False)
class Clipping:
    """What clamping and bounding take away from a question: estimates with intervals, what they cost, and advice."""

    columns: tuple[Clamped, ...]
    beyond: Estimate | None
    bounding: Norm | Truncate | None
    cost: dict[str, float]
    receipt: Receipt
    confidence: float

    def lines(self) -> list[str]:
        """Return what was found, in sentences."""
        found = [line for one in self.columns for line in one.lines()]
        if self.beyond is not None:
            what = "scaled down" if isinstance(self.bounding, Norm) else "cut"
            found.append(f"About {_part(self.beyond)} of the people give more than counts in full, and are {what}.")
            if self.beyond.low > _MANY:
                found.append("A larger contribution would lose less of what they give, and need more noise.")
            elif self.beyond.high < _FEW:
                found.append("Hardly anyone does: a smaller contribution would need less noise, and cut more of them.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        return {
            "clamped": [
                {
                    "value": one.clamp.name,
                    "low": None if one.clamp.low is None else float(one.clamp.low),
                    "high": None if one.clamp.high is None else float(one.clamp.high),
                    "below": _plain(one.below),
                    "above": _plain(one.above),
                    "middle": None if one.middle is None else [_plain(end) for end in one.middle],
                    "answer": _plain(one.clamped),
                    "answer_without": _plain(one.unclamped),
                }
                for one in self.columns
            ],
            "people_beyond": _plain(self.beyond),
            "confidence": self.confidence,
            "cost": self.cost,
            "entry": self.receipt.entry,
            "lines": self.lines(),
        }

    def __repr__(self) -> str:
        price = ", ".join(f"{name} {value:.4g}" for name, value in self.cost.items())
        return "\n".join(
            [*self.lines(), f"Intervals hold the noise with {self.confidence:.3g} probability. Cost {price}."]
        )


class Clipped(Several):
    """A road on which one may ask what clamping and bounding take away."""

    def clipping(
        self,
        question: Question,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: Number | None = 0.95,
        key: str | None = None,
    ) -> Clipping:
        """Return a private estimate of what clamping and bounding take away from a question, and advice on bounds.

        Charged like any question, once for all that it asks; the answer to the question itself is not among it. Shares
        are of all rows that it is about, and of all people, whatever its groups.
        """
        with self._pace.asking():
            check_bounds(bound, contribution)
            query, _ = read_question(question, self._schemas, self._views)
            spend = spend_of(self._budget, epsilon, rho)
            plan = make_plan(query, self._schemas, spend=spend, bound=bound, contribution=contribution)
            clamps = clamps_of(query, self._schemas)
            people = bounding_question(plan, self._schemas)
            questions: list[Question] = [
                *([clamping_question(query, clamps)] if clamps else []),
                *([people] if people else []),
            ]
            if not questions:
                raise RequestError(
                    "nothing is clamped or bounded here: each row counts once, and in full; every interval covers the "
                    "noise"
                )
            options: dict[str, Any] = {"bound": bound, "contribution": contribution}
            batch = self.plan_all(questions, epsilon=epsilon, rho=rho, **options)
            answers = list(self.run_all(batch, confidence=confidence, key=key))
            columns = tuple(_read(clamp, index, answers[0]) for index, clamp in enumerate(clamps))
            beyond = _share(answers[-1], "beyond") if people else None
            return Clipping(columns, beyond, bounding_of(plan), batch.cost(), answers[0].receipt, answers[0].confidence)


def _read(clamp: Clamp, index: int, answer: Answer) -> Clamped:
    ends = [_estimate(answer, f"quantile{index}_{place}") for place in (0, 1)]
    bottom, top = ends
    return Clamped(
        clamp,
        _share(answer, f"below{index}"),
        _share(answer, f"above{index}"),
        None if bottom is None or top is None else (bottom, top),
        _estimate(answer, f"clamped{index}"),
        _estimate(answer, f"unclamped{index}"),
    )


def _estimate(answer: Answer, name: str) -> Estimate | None:
    """Return a number of an answer with its interval; None where it was not asked for."""
    for series in answer.series:
        if series.name == name and series.low is not None and series.high is not None and series.error is not None:
            value = math.nan if series.values[0] is None else float(series.values[0])
            return Estimate(
                value=value,
                low=series.low[0],
                high=series.high[0],
                confidence=answer.confidence,
                standard_error=series.error[0],
                covers="the noise",
            )
    return None


def _share(answer: Answer, name: str) -> Estimate | None:
    """Return a part of a whole: its interval lies between nothing and all, and is both where nothing is known."""
    found = _estimate(answer, name)
    if found is None:
        return None
    low, high = (0.0 if math.isnan(found.low) else found.low), (1.0 if math.isnan(found.high) else found.high)
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return Estimate(
        value=found.value,
        low=low,
        high=max(low, high),
        confidence=found.confidence,
        standard_error=found.standard_error,
        covers=found.covers,
    )


def _part(part: Estimate) -> str:
    shown = min(max(part.value, 0.0), 1.0) if not math.isnan(part.value) else part.high
    return f"{shown * 100:.3g}% ({part.low * 100:.3g}% to {part.high * 100:.3g}%)"


def _number(one: Estimate) -> str:
    return f"{one.value:,.6g} ({one.low:,.6g} to {one.high:,.6g})"


def _plain(one: Estimate | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    numbers = {"value": one.value, "low": one.low, "high": one.high}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
