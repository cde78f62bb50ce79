"""A histogram with error bars, drawn in text. It is shown released numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One released number with its interval."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ink:
    """The characters that bars are drawn with."""

    body: str
    left: str
    line: str
    point: str
    right: str


LINES = Ink("█", "├", "─", "●", "┤")
ASCII = Ink("#", "|", "-", "o", "|")


def draw_bars(bars: Sequence[Bar], *, width: int = 50, ink: Ink = LINES) -> Iterator[str]:
    """Yield one line for each bar: solid up to the interval, a whisker over it, a point at the released number."""
    longest = max((bar.high for bar in bars), default=0.0)
    margin = max((len(bar.label) for bar in bars), default=0)
    for bar in bars:
        low, point, high = (_cell(end, longest, width) for end in (bar.low, bar.value, bar.high))
        cells = [ink.body] * low + [ink.line] * (high - low + 1)
        cells[low], cells[high], cells[point] = ink.left, ink.right, ink.point
        yield f"{bar.label:>{margin}} {''.join(cells)} {bar.value:,.0f} ({max(bar.low, 0):,.0f} to {bar.high:,.0f})"


def _cell(value: float, longest: float, width: int) -> int:
    """Return the cell in which a value falls; what is below zero is drawn at zero."""
    if longest <= 0:
        return 0
    return round(max(value, 0.0) / longest * (width - 1))
