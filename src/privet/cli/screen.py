"""How commands print: aligned tables at any width, and progress while work is long.

Colour and movement only on a terminal. Nothing here knows how many rows there are, or shows how far a scan has come.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import click

from privet.core.numbers import float_up, read_rational, written_decimal, written_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

    from privet.answer import Answer, Series


# How commands print: tables for people, JSON for programs. Colour only on a terminal, which rich sees to.


_KEY = "privet.cli.json"


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with a `--json` flag, which it receives as `as_json` and which shapes errors as well."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
        ctx.meta[_KEY] = value
        return value

    return click.option("--json", "as_json", is_flag=True, callback=remember, help="Print JSON.")(command)


def wants_json(ctx: click.Context) -> bool:
    """Return whether the command line asked for JSON."""
    return bool(ctx.meta.get(_KEY, False))


def print_json(value: object) -> None:
    """Print plain data as JSON on standard output."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_theorems(title: str, quantity: str, figures: Mapping[str, float], least: float) -> None:
    """Print each theorem's figure in a table, least first, with the tightest marked."""
    ordered = sorted(figures.items(), key=lambda item: item[1])
    rows = [
        (name, show_cost(figure, 6), "" if place else "<- tightest") for place, (name, figure) in enumerate(ordered)
    ]
    click.echo(title)
    print_table(("theorem", quantity, ""), rows or [("no theorem applies", show_cost(least, 6), "")], right=(1,))


# Numbers on the command line: read exactly (`1e-6` is one millionth, `1/3` a third), and costs shown rounded up.


_LARGEST = 10**300


def number(text: str) -> Fraction:
    """Return a decimal number, or a ratio of two, as the rational that it is."""
    above, _, below = str(text).partition("/")
    top, bottom = _decimal(above), _decimal(below or "1")
    found = None if top is None or not bottom else read_rational(top / bottom)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    if found and not Fraction(1, _LARGEST) <= abs(found) <= _LARGEST:
        raise click.BadParameter(f"{text!r} is beyond the range of numbers, 1e-300 to 1e300")
    return found


def whole_number(text: object) -> int:
    """Return a whole number, in the digits 0 to 9."""
    found = written_whole(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return found


def counting_number(text: object) -> int:
    """Return a whole number of at least 1."""
    found = whole_number(text)
    if found < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1")
    return found


def told(amount: Fraction) -> str:
    """Return a number in a few digits."""
    return f"{float_up(amount):g}"


def width(text: str) -> Fraction | str | dict[str, Fraction | str]:
    """Return how far off an answer may be: a number, a percentage as text, or either for each column that is named."""
    if "=" not in str(text):
        return _one_width(str(text))
    found: dict[str, Fraction | str] = {}
    for part in str(text).split(","):
        name, _, amount = part.rpartition("=")
        if not name.strip() or name.strip() in found:
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%")
        try:
            found[name.strip()] = _one_width(amount.strip())
        except click.BadParameter:  # tells the whole of what was said, as it was said
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%") from None
    return found


def _one_width(text: str) -> Fraction | str:
    return text if text.rstrip().endswith("%") else number(text)


def show_cost(cost: float, digits: int = 3) -> str:
    """Return a cost in a few significant digits, rounded up from the decimal that Python shows for it."""
    if not math.isfinite(cost):
        return "infinite"
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(cost))):.{digits}g}"


def _decimal(text: str) -> Fraction | None:
    # Not Fraction(text): of "1e999999999" it would make the integer.
    found = written_decimal(text)
    return None if found is None else read_rational(found)


_NARROWEST = 40
_GAP = 2


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error that work goes on, if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def screen() -> Console:
    """Return standard output for people: as wide as the terminal, or as COLUMNS sets it, or 80 columns."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows under heads; the last column takes the width that is left and wraps within it."""
    cells = zip(*rows, strict=True) if rows else [()] * len(heads)
    columns = zip(heads, cells, strict=True)
    print_grid([Figures(head, tuple(each), place in right) for place, (head, each) in enumerate(columns)], wraps=True)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names with their texts, the names in line, long texts wrapped beside them."""
    names, texts = zip(*facts, strict=True)
    print_grid([Figures("", names, right=False, faint=True), Figures("", texts, right=False)], heads=False, wraps=True)


def print_grid(columns: Sequence[Figures], *, heads: bool = True, wraps: bool = False, indent: str = "") -> None:
    """Print columns side by side. With `wraps`, the last one wraps between words within the width that is left.

    A line is wider than the screen only where a word is, or where the other columns leave less than `_NARROWEST`.
    """
    from rich.segment import Segments
    from rich.table import Table
    from rich.text import Text

    console = screen()
    table = Table(box=None, show_header=heads, header_style="dim", pad_edge=False, padding=(0, _GAP, 0, 0))
    *front, last = columns
    used = len(indent) + sum(column.width + _GAP for column in front)
    if wraps:
        room = max(_NARROWEST, console.width - used)
        last = replace(last, cells=tuple("\n".join(wrap(cell, room)) for cell in last.cells))
    columns = [*front, last]
    for column in columns:
        side: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(Text(column.head), justify=side, width=column.width, style="dim" if column.faint else "")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    lines = console.render_lines(table, console.options.update(width=used + last.width), pad=False)
    trimmed = [piece for line in lines for piece in _trimmed(indent, line)]
    console.print(Segments(trimmed), soft_wrap=True, end="")


def _trimmed(indent: str, line: Sequence[Segment]) -> list[Segment]:
    """Return a line after its indent, without the blanks that only fill its last column."""
    from rich.segment import Segment

    line = [Segment(indent), *line]
    while line and not line[-1].text.strip():
        line.pop()
    last = [Segment(line[-1].text.rstrip(), line[-1].style)] if line else []
    return [*line[:-1], *last, Segment.line()]


def print_text(text: str, *, style: str = "", indent: str = "") -> None:
    """Print a paragraph, wrapped to the width."""
    from rich.text import Text

    console = screen()
    for line in wrap(text, console.width - len(indent)):
        console.print(Text(f"{indent}{line}".rstrip(), style=style), soft_wrap=True)


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text, none wider than asked for unless a single word is."""
    import textwrap

    lines: list[str] = []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return lines


def printable(text: str) -> str:
    """Return a text from a ledger or an analyst with nothing in it that could move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


# An answer as a table: every number with its error bar, columns in line, in blocks where the screen is too narrow.


_MOST_DECIMALS = 12


@dataclass(frozen=True)
class Figures:
    """One column of a table as it is printed: its head, its cells, and whether they are numbers or labels."""

    head: str
    cells: tuple[str, ...]
    right: bool
    faint: bool = False

    @property
    def width(self) -> int:
        """How many places of a terminal the widest line takes."""
        from rich.cells import cell_len

        return max(cell_len(line) for text in (self.head, *self.cells) for line in text.splitlines() or [""])

    def first(self, rows: int) -> Figures:
        """Return the column up to some row."""
        return replace(self, cells=self.cells[:rows])


def print_answer(answer: Answer, *, beside: Sequence[Figures] = (), most: int | None = None, indent: str = "") -> None:
    """Print an answer's rows, at most `most` of them; `beside` has a further column for each noisy one."""
    labels = [_labels(series) for series in answer.series if not series.noisy]
    groups: list[list[Figures]] = []
    others = iter(beside)
    for series in answer.series:
        if series.noisy:
            groups.append([*figures(series, answer.confidence), *([next(others)] if beside else [])])
    print_columns(labels, groups, rows=len(answer), most=most, indent=indent)


def note_facts(answer: Answer) -> list[tuple[str, str]]:
    """Return the notes of an answer, a width that was asked for first, under labels."""
    notes = list(answer.notes)
    width = [] if answer.accuracy is None else [("width", notes.pop(0))]
    return [*width, *(("" if index else "notes", note) for index, note in enumerate(notes))]


def print_columns(
    labels: list[Figures], groups: list[list[Figures]], *, rows: int, most: int | None = None, indent: str = ""
) -> None:
    """Print columns side by side, those of a group together, in as many blocks as the width asks for."""
    console = screen()
    shown = rows if most is None else min(rows, most)
    labels = [column.first(shown) for column in labels]
    groups = [[column.first(shown) for column in group] for group in groups]
    for number, block in enumerate(_blocks(labels, groups, console.width - len(indent))):
        if number:
            console.print()
        print_grid(block, indent=indent)
    if shown < rows:
        print_text(f"... and {rows - shown:,} more", style="dim", indent=indent)


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
