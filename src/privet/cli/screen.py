"""How commands show things to people: plain tables that line up at any width, and signs of life while work is long.

Colour and movement only on a terminal. Nothing here knows how many rows there are, or shows how far a scan has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

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
    """Return standard output for people: as wide as the terminal, or as COLUMNS says, or 80 columns."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows under heads, columns in line; the last column takes the room that is left and wraps within it."""
    from rich.text import Text

    console = screen()
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    used = sum(widths[:-1]) + _GAP * (len(widths) - 1)
    room = max(_NARROWEST, console.width - used)
    for index, row in enumerate([heads, *rows]):
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        front = (" " * _GAP).join([*cells[:-1], ""])
        for line, part in enumerate(wrap(row[-1], room)):
            text = (front if line == 0 else " " * len(front)) + part
            console.print(Text(text.rstrip(), style="dim" if index == 0 else ""), soft_wrap=True)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print what goes by each name, the names in line, long texts wrapped beside them."""
    from rich.text import Text

    console = screen()
    width = max(len(name) for name, _ in facts) + _GAP
    for name, told in facts:
        for line, part in enumerate(wrap(told, max(_NARROWEST, console.width - width))):
            text = Text((name if line == 0 else "").ljust(width), style="dim")
            console.print(text.append(part, style="not dim"), soft_wrap=True)


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
