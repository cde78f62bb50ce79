"""Options that the commands of streams share: numbers, moments, lengths of time, rows in a file, and the ledger."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from privet.config import read_config
from privet.config.sessions import existing_ledger, ledger_at
from privet.core.errors import RequestError
from privet.core.given import read_place
from privet.core.numbers import written_ratio, written_whole
from privet.core.ports import LedgerAdmin

from .arrivals import StepClock

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})([smhd])")


def given_number(text: str) -> Fraction:
    """Return a number."""
    found = written_ratio(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    return found


def whole_number(text: str) -> int:
    """Return a whole number."""
    found = written_whole(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return found


def given_moment(text: str) -> datetime.datetime:
    """Return a time with its zone."""
    try:
        found = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise click.BadParameter(f"{text!r} is not a time with its zone, such as 2026-12-31T23:59:59Z")
    return found


def given_length(text: str) -> datetime.timedelta:
    """Return a length of time."""
    found = _LENGTH.fullmatch(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a length such as 30s, 15m, 1h or 7d")
    return datetime.timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def on_ledger(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what gives a command the options that all of them have, and the argument that says which stream."""
    kind = click.Path(path_type=Path) if name == "folder" else click.STRING

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
            click.option(
                "--ledger",
                "ledger_path",
                type=read_place,
                metavar="PLACE",
                help="The ledger that is charged: its path, or postgresql://...",
            ),
            click.option(
                "--config",
                type=click.Path(path_type=Path),
                default="privet.toml",
                show_default=True,
                envvar="PRIVET_CONFIG",
                help="What the custodian declared: its ledger is used, unless another is named.",
            ),
            click.argument(name, type=kind),
        ):
            function = option(function)
        return function

    return decorated


def ledger_of(config: Path, path: Path | str | None) -> LedgerAdmin:
    """Return the ledger that is named, or the one that the custodian declared."""
    return existing_ledger(read_config(config)) if path is None else ledger_at(path)


def clock_given(start: datetime.datetime | None, every: datetime.timedelta | None) -> StepClock | None:
    """Return the clock of a stream; None where neither of its parts is given."""
    if (start is None) != (every is None):
        raise RequestError("a clock has a start and a length of its steps: pass both --start and --every, or neither")
    return None if start is None or every is None else StepClock(start, every)


def rows_given(path: Path, known: set[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file by its columns; its heading is public, and what a row holds is never quoted."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        names = set(reader.fieldnames or ())
        if not names or not names <= known:
            shown = ", ".join(sorted(known))
            raise RequestError(f"the file of a step's rows has a heading of the columns {shown}, or some of them")
        return list(reader)


def whole_given(text: str) -> int:
    """Return a total or a count, which is data: it is not quoted."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise RequestError("the total of a step must be a whole number")
    return int(text)


def by_name(values: tuple[str, ...], what: str) -> dict[str, int]:
    """Return numbers that were given as name=number, each name once."""
    pairs = [value.rpartition("=") for value in values]
    if any(not name for name, _, _ in pairs) or len({name for name, _, _ in pairs}) != len(pairs):
        raise RequestError(f"pass {what}=total for each {what} that has rows, each once")
    return {name: whole_given(total) for name, _, total in pairs}
