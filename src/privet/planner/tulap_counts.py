"""A count with Tulap noise: an integer, and a uniform part that is drawn with it and stored beside it.

Tests of a proportion are read from it where the release may fail with a probability delta: there the uniform
part depends on the noise, so that both are drawn together. Both are integers; no float is ever released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from privet.core.errors import InvariantError
from privet.core.event import Event
from privet.core.given import check_fields
from privet.core.scan import Scan
from privet.core.wire import wired
from privet.display import shown_amount, shown_error
from privet.mechanisms.tulap import BITS, Tulap

from .measures import Cell, Columns, Measure, MeasuredColumn, OpenedSums, summed_in_words, without_places
from .stability import sensitivity_of

if TYPE_CHECKING:
    from privet.core.event import Floats

_PART = Fraction(1, 2**BITS)
_HALF = Fraction(1, 2)


@wired("TulapCount", "mechanism")
@dataclass(frozen=True)
class TulapMeasure:
    """One count of all rows together with Tulap noise.

    Two integers are released: the count with its noise rounded to the nearest whole number, and the rounded-off part,
    from -1/2 to 1/2, in steps of 2**-64. Asking again returns both, so that no p-value is drawn twice.

    Guarantee: the event is that of the mechanism, for a count that one unit moves by at most 1.
    Cites: [AS18, Def. 4.1 and Thm 4.5], [AS20].
    """

    mechanism: Tulap
    measures: ClassVar[tuple[Measure, ...]] = ()
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = False
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the noise, by the mechanism that draws it."""
        return (self.mechanism.event,)

    def columns(self, scan: Scan) -> int:
        """Return how many columns are released: the integer, and its uniform part."""
        return 2

    def with_noise(self, measures: tuple[Measure, ...]) -> TulapMeasure:
        """Return the same: it has no separate noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy count as a whole number, and the rounded-off part in steps of 2**-64."""
        (count,) = opened.groups.get((), (0,))
        noisy = self.mechanism.release(int(count))
        nearest = math.floor(noisy + _HALF)
        return (nearest,), (int((noisy - nearest) / _PART),)

    def parts(self, released: Columns) -> tuple[int, Fraction]:
        """Return the whole number that was released, and the exact part from -1/2 to 1/2 beside it."""
        (nearest,), (part,) = released
        return nearest, part * _PART

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return both, in people."""
        import numpy as np

        nearest, part = self.parts(released)
        return [np.array([float(nearest)]), np.array([float(part)])]

    def verify(self, scan: Scan) -> None:
        """Raise unless one unit moves the one count of a scan by at most 1, which the noise is for."""
        without_places(scan)
        if scan.keys or scan.discovery is not None or scan.sizes is not None or scan.products is not None:
            raise InvariantError("a count with Tulap noise is one of all rows together")
        if len(scan.sums) != 1 or scan.sums[0].expression is not None or scan.bounding.shift:
            raise InvariantError("a count with Tulap noise is a whole number of people")
        if sensitivity_of(scan.sums[0], scan).l1 > 1:
            raise InvariantError("Tulap noise is for a count that one unit moves by at most 1")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how both integers are read."""
        what, name = summed_in_words(scan.sums[0], scan), "Tulap"
        return [
            MeasuredColumn(what, "sum", name, step=Fraction(1), bins=1),
            MeasuredColumn(f"what was rounded off {what}", "sum", name, step=_PART, bins=1),
        ]

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data."""
        return [
            {
                "sum": summed_in_words(scan.sums[0], scan),
                "noise": "Tulap",
                "standard_deviation": self.mechanism.deviation,
                "half_width_95": self._half_width(0.95),
                "most": None if math.isinf(self.mechanism.most) else self.mechanism.most,
                "sensitivity": 1.0,
                "norm": "L1",
                "clamped_to": None,
            }
        ]

    def _half_width(self, confidence: float) -> float:
        from scipy.optimize import brentq

        def beyond(width: float) -> float:
            return float(self.mechanism.cdf(-width)) - (1 - confidence) / 2

        high = 1.0
        while beyond(high) > 0:
            high *= 2
        return float(brentq(beyond, 0.0, high))

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        (fact,) = self.facts(scan)
        most = "" if fact["most"] is None else f", never more than {shown_amount(fact['most'])}"
        return [
            f"Measures {fact['sum']}, with Tulap noise of standard deviation {shown_amount(self.mechanism.deviation)}"
            f"{most}: a whole number, and a uniform part that is drawn with it and stored beside it."
        ]

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return ["Both are read together, so that the test is exact: p-values and intervals include the noise."]

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as a row of a table."""
        (fact,) = self.facts(scan)
        noise = f"Tulap, standard deviation {shown_amount(self.mechanism.deviation)}"
        return [(str(fact["sum"]), noise, "1", "", f"±{shown_error(fact['half_width_95'])}")]

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        return "part of a test; intervals come with the finding"
