"""An answer as a table: every number with its error bar, columns in line, in blocks where the screen is too narrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .screen import printable, screen

if TYPE_CHECKING:
    from privet.answer import Answer, Series

_GAP = 2
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class Figures:
    """One column as it is shown: its head, its cells, and whether they are numbers or labels."""

    head: str
    cells: tuple[str, ...]
    right: bool
    faint: bool = False

    @property
    def width(self) -> int:
        """How many signs the widest cell has."""
        return max(len(text) for text in (self.head, *self.cells))

    def first(self, rows: int) -> Figures:
        """Return the column up to some row."""
        return replace(self, cells=self.cells[:rows])


def print_answer(answer: Answer, *, beside: Sequence[Figures] = (), most: int | None = None, indent: str = "") -> None:
    """Print an answer's rows, at most so many; `beside` has a further column for each noisy one."""
    labels = [_labels(series) for series in answer.series if not series.noisy]
    groups: list[list[Figures]] = []
    others = iter(beside)
    for series in answer.series:
        if series.noisy:
            groups.append([*figures(series, answer.confidence), *([next(others)] if beside else [])])
    print_columns(labels, groups, rows=len(answer), most=most, indent=indent)


def note_facts(answer: Answer) -> list[tuple[str, str]]:
    """Return the notes of an answer with what each is about: a width that was asked for, what is covered, what not."""
    notes = list(answer.notes)
    width = [] if answer.accuracy is None else [("width", notes.pop(0))]
    covers, *others = notes
    return [*width, ("covers", covers), *(("" if index else "but", note) for index, note in enumerate(others))]


def print_columns(
    labels: list[Figures], groups: list[list[Figures]], *, rows: int, most: int | None = None, indent: str = ""
) -> None:
    """Print columns side by side, those of a group together, in as many blocks as the width asks for."""
    from rich.text import Text

    console = screen()
    shown = rows if most is None else min(rows, most)
    labels = [column.first(shown) for column in labels]
    groups = [[column.first(shown) for column in group] for group in groups]
    for number, block in enumerate(_blocks(labels, groups, console.width - len(indent))):
        if number:
            console.print()
        for index in range(-1, shown):
            line = Text(indent)
            for place, column in enumerate(block):
                text = column.head if index < 0 else column.cells[index]
                text = text.rjust(column.width) if column.right else text.ljust(column.width)
                if place == len(block) - 1:
                    text = text.rstrip()
                line.append(text + " " * _GAP, style="dim" if index < 0 or column.faint else "")
            line.rstrip()
            console.print(line, soft_wrap=True)
    if shown < rows:
        console.print(Text(f"{indent}... and {rows - shown:,} more", style="dim"), soft_wrap=True)


def figures(series: Series, confidence: float) -> list[Figures]:
    """Return a noisy column as one of values and one of error bars: plus or minus, or from and to."""
    low, high = series.low or (), series.high or ()
    halves = [max(top - value, value - bottom) for value, bottom, top in _known(series)]
    decimals = _decimals([half for half in halves if half > 0], series)
    even = all(_even(value, bottom, top, decimals) for value, bottom, top in _known(series))
    values, bars = [], []
    for value, bottom, top in zip(series.values, low, high, strict=True):
        values.append(_number(value, decimals))
        if value is None or math.isnan(bottom) or math.isnan(top):
            bars.append("")
        elif even:
            bars.append(f"± {_number(_up(max(top - value, value - bottom), decimals), decimals)}")
        else:
            bars.append(f"[{_number(-_up(-bottom, decimals), decimals)}, {_number(_up(top, decimals), decimals)}]")
    return [
        Figures(printable(series.name), tuple(values), right=True),
        Figures(f"{confidence * 100:.4g}%", tuple(bars), right=True),
    ]


def number_like(value: Any, series: Series) -> str:
    """Return a number with as many decimals as a column shows."""
    halves = [max(top - value, value - bottom) for value, bottom, top in _known(series)]
    return _number(value, _decimals([half for half in halves if half > 0], series))


def _labels(series: Series) -> Figures:
    right = bool(series.values) and all(isinstance(value, (int, float)) for value in series.values)
    cells = ("NULL" if value is None else printable(str(value)) for value in series.values)
    return Figures(printable(series.name), tuple(cells), right=right)


def _known(series: Series) -> Iterator[tuple[Any, float, float]]:
    for value, low, high in zip(series.values, series.low or (), series.high or (), strict=True):
        if value is not None and math.isfinite(low) and math.isfinite(high) and math.isfinite(value):
            yield value, low, high


def _decimals(halves: list[float], series: Series) -> int:
    """Return how many decimals are worth showing: two digits of the narrowest bar, and none for whole numbers."""
    if all(value is None or float(value).is_integer() for value in series.values):
        return 0
    narrowest = min(halves, default=1.0)
    return min(max(0, 1 - math.floor(math.log10(narrowest))), _MOST_DECIMALS)


def _even(value: Any, low: float, high: float, decimals: int) -> bool:
    # a value that is rounded to what it counts may lie a step beside the middle
    return bool(abs((high - value) - (value - low)) <= 2.01 * 10.0**-decimals)


def _up(value: float, decimals: int) -> float:
    """Return a number rounded up at some decimals, so that bars are never shown narrower than they are."""
    scale = 10.0**decimals
    return math.ceil(value * scale - 1e-9) / scale if math.isfinite(value) else value


def _number(value: Any, decimals: int) -> str:
    if value is None or value != value:
        return "NULL"
    return f"{value:,.{decimals}f}".replace("-0", "0") if value == 0 else f"{value:,.{decimals}f}"


def _blocks(labels: list[Figures], groups: list[list[Figures]], width: int) -> Iterator[list[Figures]]:
    """Yield the columns of each block: all labels, and as many groups as fit beside them, one at the least."""
    front = sum(column.width + _GAP for column in labels)
    block: list[Figures] = []
    for group in groups:
        needed = front + sum(column.width + _GAP for column in [*block, *group]) - _GAP
        if block and needed > width:
            yield [*labels, *block]
            block = []
        block += group
    if block or labels:
        yield [*labels, *block]
