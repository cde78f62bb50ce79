"""How numbers and tables are shown to people: one rounding for shells, print and notebooks, as text or as HTML.

Everything shown here is public. Keys that were found in data can contain anything, so HTML escapes every value, and
text has nothing in it that moves a cursor.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, Protocol

from privet.core.numbers import in_digits

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

MOST_ROWS = 20
"""This many rows of a table are shown; the others are counted."""

_WIDTH = 120
_NARROWEST = 40
_GAP = 2
_MOST_DECIMALS = 12
_BAR = 12
_VAST = 1e15
"""Numbers from here on, and as far below 1, are written with an exponent."""


MARKS: Mapping[tuple[bool, bool], str] = {(False, False): "", (True, False): "≥", (False, True): "≤", (True, True): "≈"}
"""The mark before a number that contribution bounding can make too low, too high, or either."""

_LEGEND: Mapping[str, str] = {
    "≥": "≥ means at least, up to noise.",
    "≤": "≤ means at most, up to noise.",
    "≈": "≈ means that bounding may move the number either way.",
}


def legend(marks: Collection[str]) -> str:
    """Return the meaning of an answer's marks in one line; nothing where there are none."""
    return " ".join(words for mark, words in _LEGEND.items() if mark in marks)


class ShownSeries(Protocol):
    """A column of an answer: its name, values, the ends of their intervals, which keys do not have, and its mark."""

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> tuple[Any, ...]: ...
    @property
    def low(self) -> tuple[Any, ...] | None: ...
    @property
    def high(self) -> tuple[Any, ...] | None: ...
    @property
    def mark(self) -> str: ...


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


# Numbers: an error has two significant digits and is rounded up; a value has as many decimals as its error.


def error_up(error: float) -> float:
    """Return an error rounded up to two significant digits, so that no bar is shown narrower than it is."""
    if not math.isfinite(error) or error == 0:
        return error
    near = Context(prec=13).create_decimal(repr(float(error)))  # digits that a float adds are no error
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(near))


def shown_error(error: float) -> str:
    """Return an error as it is written: 720, 1,300 or 0.013."""
    if not math.isfinite(error):
        return str(error)
    if error >= _VAST:
        return f"{error_up(error):.2g}"
    up = Decimal(repr(error_up(error))).normalize()
    return f"{up:,f}"


def shown_amount(amount: float) -> str:
    """Return an amount in four significant digits, without an exponent if it is of some size: 33,940 or 0.1234."""
    return in_digits(amount, 4)


def shown_estimate(value: float, error: float) -> str:
    """Return a number with its error: 171,301 ± 720."""
    return f"{_number(value, _decimals([error] if error > 0 else [], [value]))} ± {shown_error(error)}"


def is_moments(series: ShownSeries) -> bool:
    """Whether the intervals of a column are of dates or timestamps."""
    return any(isinstance(end, datetime.date) for end in (*(series.low or ()), *(series.high or ())))


def _moments(series: ShownSeries, confidence: float) -> list[Figures]:
    """Return a noisy column of dates or timestamps, as fine as its narrowest interval, which is shown no narrower."""
    rows = [*zip(series.values, series.low or (), series.high or (), strict=True)]
    wide = [top - bottom for _, bottom, top in rows if bottom is not None and top is not None]
    narrowest = min(wide, default=_DAY)
    step = next((unit for unit in (_DAY, _SECOND) if unit <= narrowest), datetime.timedelta.resolution)
    values, bars = [], []
    for value, bottom, top in rows:
        mark = f"{series.mark} " if series.mark and value is not None else ""
        values.append("NULL" if value is None else f"{mark}{_moment(value, step)}")
        known = None not in (value, bottom, top)
        bars.append(f"[{_moment(bottom, step)}, {_moment(top, step, up=True)}]" if known else "")
    return [
        Figures(printable(series.name), tuple(values), right=True),
        Figures(f"{confidence * 100:.4g}%", tuple(bars), right=True),
    ]


_DAY, _SECOND = datetime.timedelta(days=1), datetime.timedelta(seconds=1)


def _moment(moment: Any, step: datetime.timedelta, *, up: bool = False) -> str:
    """Return a date, or a timestamp cut to a step, or moved to the next one."""
    if not isinstance(moment, datetime.datetime):
        return str(moment)
    over = (moment - datetime.datetime.min) % step
    kept = moment - over + (step if up and over else datetime.timedelta(0))
    return str(kept.date() if step == _DAY else kept)


def figures(series: ShownSeries, confidence: float) -> list[Figures]:
    """Return a noisy column as one of values and one of error bars: plus or minus, or from and to."""
    if is_moments(series):
        return _moments(series, confidence)
    low, high = series.low or (), series.high or ()
    halves = [max(top - value, value - bottom) for value, bottom, top in _known(series)]
    decimals = _decimals([half for half in halves if half > 0], series.values)
    even = all(_even(value, bottom, top, decimals) for value, bottom, top in _known(series))
    values, bars = [], []
    for value, bottom, top in zip(series.values, low, high, strict=True):
        mark = f"{series.mark} " if series.mark and value is not None else ""
        values.append(f"{mark}{_number(value, decimals)}")
        if value is None or math.isnan(bottom) or math.isnan(top):
            bars.append("")
        elif even:
            bars.append(f"± {_number(_up(error_up(max(top - value, value - bottom)), decimals), decimals)}")
        else:
            bars.append(f"[{_number(-_up(-bottom, decimals), decimals)}, {_number(_up(top, decimals), decimals)}]")
    return [
        Figures(printable(series.name), tuple(values), right=True),
        Figures(f"{confidence * 100:.4g}%", tuple(bars), right=True),
    ]


def labels(series: ShownSeries) -> Figures:
    """Return a column without intervals: keys and labels."""
    right = bool(series.values) and all(isinstance(value, (int, float)) for value in series.values)
    cells = ("NULL" if value is None else printable(str(value)) for value in series.values)
    return Figures(printable(series.name), tuple(cells), right=right)


def answer_columns(columns: Sequence[ShownSeries], confidence: float) -> tuple[list[Figures], list[list[Figures]]]:
    """Return an answer as it is shown: its keys and labels, and for each noisy column its values with their bars."""
    noisy = [figures(series, confidence) for series in columns if series.low is not None]
    return [labels(series) for series in columns if series.low is None], noisy


def number_like(value: Any, series: ShownSeries) -> str:
    """Return a number with as many decimals as a column shows."""
    halves = [max(top - value, value - bottom) for value, bottom, top in _known(series)]
    return _number(value, _decimals([half for half in halves if half > 0], series.values))


def percent(share: float) -> str:
    """Return a share in percent, rounded up to a tenth, so that nothing spent looks like less."""
    return f"{min(math.ceil(share * 1000) / 10, 100):.3g}%"


def round_down(value: float, digits: int = 3) -> str:
    """Return an amount that is left in a few significant digits, rounded down."""
    return f"{float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(value))):.{digits}g}"


def room(epsilon: float, rho: float | None) -> str:
    """Return the most that one more question may cost, in the measure in which the account is asked."""
    name, most = ("epsilon", epsilon) if rho is None else ("rho", rho)
    return f"up to {name} {round_down(most)}" if most > 0 else "nothing"


def bar(share: float, width: int = _BAR) -> str:
    """Return a share as a bar; any part above 0 shows, and any below 1 leaves a gap."""
    full = round(share * width)
    full = min(max(full, 1 if share > 0 else 0), width if share >= 1 else width - 1)
    return "█" * full + "░" * (width - full)


def show_cost(cost: float, digits: int = 3) -> str:
    """Return a cost in a few significant digits, rounded up from the decimal that Python shows for it."""
    if not math.isfinite(cost):
        return "infinite"
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(cost))):.{digits}g}"


def cost_words(cost: Mapping[str, float]) -> str:
    """Return the cost of an answer alone, rounded up; amounts of nothing are left out."""
    return ", ".join(f"{name} {show_cost(cost[name])}" for name in ("epsilon", "rho", "delta") if cost.get(name))


def charge_words(facts: Mapping[str, Any]) -> str:
    """Return a charge in words, from the facts of its plan: its cost, sums, table, groups and condition."""
    cost = cost_words(facts.get("cost") or {})
    sums = ", ".join(_sum(str(release.get("sum", ""))) for release in facts.get("releases", ()))
    by = f" by {', '.join(map(plain_sql, facts['group_by']))}" if facts.get("group_by") else ""
    where = f" where {plain_sql(facts['where'])}" if facts.get("where") else ""
    if not cost and facts.get("table"):
        return f"nothing: what is public in {facts['table']}{by}{where}"
    return f"{cost}: {sums} in {facts.get('table', '')}{by}{where}" if cost else "a charge without a recorded plan"


def plain_sql(text: str) -> str:
    """Return SQL as people write it: plain names without quotes, and no brackets around all of it."""
    return without_brackets(re.sub(r'"([a-z_][a-z0-9_]*)"', r"\1", text))


def without_brackets(text: str) -> str:
    """Return SQL without a pair of brackets around all of it."""
    depth = 0
    if not (text.startswith("(") and text.endswith(")")):
        return text
    for letter in re.sub(r"'[^']*'|\"[^\"]*\"", "", text[1:-1]):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return text
    return text[1:-1]


def _sum(words: str) -> str:
    return words.replace(" in each group", "").removeprefix("the ").removeprefix("a ")


def _known(series: ShownSeries) -> Iterator[tuple[Any, float, float]]:
    for value, low, high in zip(series.values, series.low or (), series.high or (), strict=True):
        if value is not None and math.isfinite(low) and math.isfinite(high) and math.isfinite(value):
            yield value, low, high


def _decimals(halves: Sequence[float], values: Sequence[Any]) -> int:
    """Return how many decimals are worth showing: two digits of the narrowest bar, and none for whole numbers."""
    if all(value is None or float(value).is_integer() for value in values):
        return 0
    narrowest = min(halves, default=1.0)
    return min(max(0, 1 - math.floor(math.log10(narrowest))), _MOST_DECIMALS)


def _even(value: Any, low: float, high: float, decimals: int) -> bool:
    # a count rounded to whole numbers may lie a step beside the middle
    return bool(abs((high - value) - (value - low)) <= 2.01 * 10.0**-decimals)


def _up(value: float, decimals: int) -> float:
    """Return a number rounded up at some decimals, so that bars are never shown narrower than they are."""
    scale = 10.0**decimals
    return math.ceil(value * scale - 1e-9) / scale if math.isfinite(value) else value


def _number(value: Any, decimals: int) -> str:
    if value is None or value != value:
        return "NULL"
    return f"{value:,.{decimals}f}".replace("-0", "0") if value == 0 else f"{value:,.{decimals}f}"


# Text: columns in line, in blocks where the width is too small for all of them.


def printable(text: str) -> str:
    """Return a text from a ledger or an analyst with nothing in it that could move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text, none wider than asked for unless a single word is."""
    import textwrap

    lines: list[str] = []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return lines


def written(draw: Callable[[Console], None]) -> str:
    """Return a drawing on a console as plain text, the same in a shell and in a notebook."""
    from rich.console import Console

    out = StringIO()
    # rich would show it at once, and again where it is returned, if it noticed a notebook
    plain = Console(file=out, width=_WIDTH, force_jupyter=False, force_terminal=False, color_system=None)
    draw(plain)
    return out.getvalue().rstrip()


def draw_columns(
    console: Console,
    labels: list[Figures],
    groups: list[list[Figures]],
    *,
    rows: int,
    most: int | None = None,
    indent: str = "",
) -> None:
    """Draw columns side by side, those of a group together, in as many blocks as the width asks for."""
    shown = rows if most is None else min(rows, most)
    labels = [column.first(shown) for column in labels]
    groups = [[column.first(shown) for column in group] for group in groups]
    for number, block in enumerate(_blocks(labels, groups, console.width - len(indent))):
        if number:
            console.print()
        draw_grid(console, block, indent=indent)
    if shown < rows:
        draw_text(console, f"... and {rows - shown:,} more", style="dim", indent=indent)


def draw_grid(
    console: Console, columns: Sequence[Figures], *, heads: bool = True, wraps: bool = False, indent: str = ""
) -> None:
    """Draw columns side by side. With `wraps`, the last one wraps between words within the width that is left.

    A line is wider than the console only where a word is, or where the other columns leave less than `_NARROWEST`.
    """
    from rich.segment import Segments
    from rich.table import Table
    from rich.text import Text

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


def draw_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Draw names with their texts, the names in line, long texts wrapped beside them."""
    names, texts = zip(*facts, strict=True)
    columns = [Figures("", names, right=False, faint=True), Figures("", texts, right=False)]
    draw_grid(console, columns, heads=False, wraps=True)


def draw_text(console: Console, text: str, *, style: str = "", indent: str = "") -> None:
    """Draw a paragraph, wrapped to the width."""
    from rich.text import Text

    for line in wrap(text, console.width - len(indent)):
        console.print(Text(f"{indent}{line}".rstrip(), style=style), soft_wrap=True)


def _trimmed(indent: str, line: Sequence[Segment]) -> list[Segment]:
    """Return a line after its indent, without the blanks that only fill its last column."""
    from rich.segment import Segment

    line = [Segment(indent), *line]
    while line and not line[-1].text.strip():
        line.pop()
    last = [Segment(line[-1].text.rstrip(), line[-1].style)] if line else []
    return [*line[:-1], *last, Segment.line()]


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


# HTML for notebooks, without colours of its own, so that it is as legible on dark pages as on light ones.


def html_table(columns: Sequence[Figures], *, rows: int | None = None, most: int = MOST_ROWS) -> str:
    """Return columns as an HTML table of at most `most` rows, with the rows left out counted below it."""
    total = len(columns[0].cells) if columns and rows is None else rows or 0
    head = "".join(_cell("th", column.head, column) for column in columns)
    cells = zip(*(column.first(most).cells for column in columns), strict=True)
    body = "".join(f"<tr>{''.join(map(_td, row, columns))}</tr>" for row in cells)
    heads = f"<thead><tr>{head}</tr></thead>" if any(column.head for column in columns) else ""
    more = html_lines([f"... and {total - most:,} more"]) if total > most else ""
    return f'<table style="margin:0.4em 0;border-collapse:collapse">{heads}<tbody>{body}</tbody></table>{more}'


def html_lines(lines: Sequence[str]) -> str:
    """Return lines as small paragraphs of HTML."""
    style = "margin:0.15em 0;max-width:60em;opacity:0.75;font-size:90%"
    return "".join(f'<p style="{style}">{escape(line)}</p>' for line in lines)


def html_facts(facts: Sequence[tuple[str, str]]) -> str:
    """Return names with their texts as an HTML table without heads."""
    names, texts = zip(*facts, strict=True)
    return html_table([Figures("", names, right=False, faint=True), Figures("", texts, right=False)], most=len(names))


def _td(text: str, column: Figures) -> str:
    return _cell("td", text, column)


def _cell(tag: str, text: str, column: Figures) -> str:
    side = "right" if column.right else "left"
    style = f"text-align:{side};padding:0.15em 0.6em;white-space:pre-line;font-variant-numeric:tabular-nums"
    return f'<{tag} style="{style}{";opacity:0.75" * column.faint}">{escape(text)}</{tag}>'
