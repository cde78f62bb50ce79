"""How commands print: aligned tables at any width, and progress while work is long.

Colour and movement only on a terminal. Nothing here knows how many rows there are, or shows how far a scan has come.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from privet.core.numbers import float_up, written_ratio, written_whole
from privet.display import (
    Figures,
    answer_columns,
    draw_columns,
    draw_facts,
    draw_grid,
    draw_text,
    printable,
    show_cost,
    wrap,
)

if TYPE_CHECKING:
    from rich.console import Console

    from privet.answer import Answer


# How commands print: tables for people, JSON for programs. Rich prints colour only on a terminal.


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
    amount = written_ratio(str(text))
    if amount is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    if amount and not Fraction(1, _LARGEST) <= abs(amount) <= _LARGEST:
        raise click.BadParameter(f"{text!r} is beyond the range of numbers, 1e-300 to 1e300")
    return amount


def whole_number(text: object) -> int:
    """Return a whole number, in the digits 0 to 9."""
    count = written_whole(str(text))
    if count is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return count


def counting_number(text: object) -> int:
    """Return a whole number of at least 1."""
    count = whole_number(text)
    if count < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1")
    return count


def told(amount: Fraction) -> str:
    """Return a number in a few digits."""
    return f"{float_up(amount):g}"


def width(text: str) -> Fraction | str | dict[str, Fraction | str]:
    """Return the width of an answer: a number, a percentage as text, or either for each column that is named."""
    if "=" not in str(text):
        return _one_width(str(text))
    widths: dict[str, Fraction | str] = {}
    for part in str(text).split(","):
        name, _, amount = part.rpartition("=")
        if not name.strip() or name.strip() in widths:
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%")
        try:
            widths[name.strip()] = _one_width(amount.strip())
        except click.BadParameter:  # has the whole text, as it was written
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%") from None
    return widths


def _one_width(text: str) -> Fraction | str:
    return text if text.rstrip().endswith("%") else number(text)


class Waiting:
    """A line that shows the work in progress, for how long, and how long it may take; never how much of the data."""

    def __init__(self, what: str, limit: float | None = None) -> None:
        self._what, self._limit, self._step = what, limit, ""
        self._begun = time.monotonic()

    def step(self, step: str) -> None:
        """Show another step of the work, which has its own time limit."""
        self._step, self._begun = f", {step}", time.monotonic()

    def __str__(self) -> str:
        most = "" if self._limit is None else f" of at most {self._limit:,.0f} s"
        return f"{self._what}{self._step}: {time.monotonic() - self._begun:.0f} s{most}"

    def __rich__(self) -> str:
        return str(self)


@contextmanager
def working(what: str, *, limit: float | None = None) -> Iterator[Waiting]:
    """Show on standard error, if that is a terminal, for how long work has gone on, and the limit if there is one."""
    from rich.console import Console

    console, waiting = Console(stderr=True, markup=False), Waiting(what, limit)
    if not console.is_terminal:
        yield waiting
        return
    with console.status(waiting):
        yield waiting


def screen() -> Console:
    """Return standard output for people: as wide as the terminal, or as COLUMNS sets it, or 80 columns."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows under heads; the last column takes the width that is left and wraps within it."""
    cells = zip(*rows, strict=True) if rows else [()] * len(heads)
    columns = zip(heads, cells, strict=True)
    listed = [Figures(head, tuple(each), place in right) for place, (head, each) in enumerate(columns)]
    draw_grid(screen(), listed, wraps=True)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names with their texts, the names in line, long texts wrapped beside them."""
    draw_facts(screen(), facts)


def print_text(text: str, *, style: str = "", indent: str = "") -> None:
    """Print a paragraph, wrapped to the width."""
    draw_text(screen(), text, style=style, indent=indent)


def print_columns(
    labels: list[Figures], groups: list[list[Figures]], *, rows: int, most: int | None = None, indent: str = ""
) -> None:
    """Print columns side by side, those of a group together, in as many blocks as the width requires."""
    draw_columns(screen(), labels, groups, rows=rows, most=most, indent=indent)


def print_answer(answer: Answer, *, beside: Sequence[Figures] = (), most: int | None = None, indent: str = "") -> None:
    """Print an answer's rows, at most `most` of them; `beside` has a further column for each noisy one."""
    keys, groups = answer_columns(answer.series, answer.confidence)
    if beside:
        groups = [[*group, other] for group, other in zip(groups, beside, strict=True)]
    print_columns(keys, groups, rows=len(answer), most=most, indent=indent)


def note_facts(answer: Answer) -> list[tuple[str, str]]:
    """Return the notes of an answer, a width that was asked for first, under labels."""
    notes = list(answer.notes)
    width = [] if answer.accuracy is None else [("width", notes.pop(0))]
    return [*width, *(("" if index else "notes", note) for index, note in enumerate(notes))]


def print_error(message: str) -> None:
    """Print an error on standard error, wrapped where that is a terminal; a line above a caret stays as it is."""
    lines = f"Error: {message}".splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        keep = after.strip().startswith("^") or not sys.stderr.isatty()
        for shown in [line] if keep else wrap(line, max(shutil.get_terminal_size().columns, 40)) or [""]:
            click.echo(shown, err=True)


def print_problems(title: str, problems: Sequence[Mapping[str, Any]]) -> None:
    """Print the problems of a privet.toml on standard error, equal problems together, wrapped to the width."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    groups: dict[str, list[tuple[int, str]]] = {}
    for problem in problems:
        groups.setdefault(problem["message"], []).append((problem["line"], problem["key"]))
    click.echo(f"Error: {title}", err=True)
    for message, places in groups.items():
        lines = [str(line) for line, _ in places]
        keys = ", ".join(dict.fromkeys(key for _, key in places if key))
        where = f"line{'s' * (len(lines) > 1)} {', '.join(lines)}"
        first, *others = wrap(f"{where}: {keys and f'{keys}: '}{message}", max(console.width - 4, 40))
        draw_text(console, printable(first), indent="  ")
        for line in others:
            draw_text(console, printable(line), indent="    ")
