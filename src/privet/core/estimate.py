"""A number that was estimated, with an interval that states which errors it covers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from privet.core.numbers import in_full

from .given import plain_text, read, set_fields

Covers = Literal["noise", "bounding", "population"]
"""The errors that intervals may cover: the added noise; or also the loss by contribution bounding, up to the declared
maximum of rows per person; or, of quantiles, also sampling from a larger population."""

COVERS: tuple[str, ...] = get_args(Covers)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate with an honest interval.

    `low` and `high` contain the quantity named in `covers` with probability `confidence` or more; `value` is unbiased
    and may lie outside the possible range, while the interval never does. Unknown values are NaN.
    """

    value: float
    low: float
    high: float
    confidence: float
    standard_error: float
    covers: str

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "confidence", "standard_error"):
            number = getattr(self, name)
            if not (isinstance(number, float) and math.isnan(number)):
                set_fields(self, **{name: read(number, float, name)})
        plain_text(self.covers, "covers")

    def __str__(self) -> str:
        value, low, high = (in_full(number, 4) for number in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}] ({self.confidence:.0%}: {self.covers})"
