"""`privet stream`: open a stream of running sums, step through it, show it and verify it.

Registered as an entry point of the group `privet.commands`, so that the command line imports nothing of streams.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from privet.config import read_config
from privet.config.sessions import existing_ledger, ledger_at
from privet.core.errors import RequestError
from privet.core.estimate import Estimate
from privet.core.numbers import read_rational, written_decimal, written_ratio, written_whole
from privet.core.ports import LedgerAdmin

from .arrivals import Arrival, StepClock
from .durable import METHODS, RunningStream, StreamAnswer, open_stream, resume_stream

_COLUMNS = {"value", "group", "person"}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})([smhd])")


def _number(text: str) -> Fraction:
    found = written_ratio(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    return found


def _whole_number(text: str) -> int:
    found = written_whole(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return found


def _moment(text: str) -> datetime.datetime:
    try:
        found = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise click.BadParameter(f"{text!r} is not a time with its zone, such as 2026-12-31T23:59:59Z")
    return found


def _length(text: str) -> datetime.timedelta:
    found = _LENGTH.fullmatch(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a length such as 30s, 15m, 1h or 7d")
    return datetime.timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def _on_ledger(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options that all of them have."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--ledger", "ledger_path", type=click.Path(path_type=Path), help="The ledger that is charged."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            default="privet.toml",
            show_default=True,
            envvar="PRIVET_CONFIG",
            help="What the custodian declared: its ledger is used, unless another is named.",
        ),
        click.argument("folder", type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function


def _ledger(config: Path, path: Path | None) -> LedgerAdmin:
    return existing_ledger(read_config(config)) if path is None else ledger_at(path)


@click.group("stream")
def command() -> None:
    """Release running sums of a stream, step by step.

    \b
    Example:
      privet stream open arrivals --horizon 1000 --epsilon 1
      privet stream step arrivals 12
      privet stream show arrivals
    """


@command.command("open")
@_on_ledger
@click.option("--horizon", type=_whole_number, required=True, help="The number of steps.")
@click.option("--epsilon", type=_number, help="The privacy loss of all steps together.")
@click.option("--delta", type=_number, help="With epsilon: the probability with which the loss may exceed it.")
@click.option("--rho", type=_number, help="The zCDP parameter of all steps together, instead of epsilon.")
@click.option("--method", type=click.Choice(METHODS), help="How sums are measured; chosen if left out.")
@click.option("--group", "groups", multiple=True, help="A group that has a sum of its own; pass one for each.")
@click.option("--low", type=_number, default="0", show_default=True, help="The least value of a row.")
@click.option("--high", type=_number, default="1", show_default=True, help="The largest value of a row.")
@click.option("--grid", type=_number, default="1", show_default=True, help="What values are rounded to.")
@click.option("--rows-per-person", type=_whole_number, help="Protect people: how many first rows of each are kept.")
@click.option("--start", type=_moment, help="When the first step begins, such as 2026-01-01T00:00:00Z.")
@click.option("--every", type=_length, help="How long each step is, such as 1h or 7d.")
@click.option("--account", default="session", show_default=True, help="The account that pays.")
def open_command(
    folder: Path,
    config: Path,
    ledger_path: Path | None,
    as_json: bool,
    groups: tuple[str, ...],
    start: datetime.datetime | None,
    every: datetime.timedelta | None,
    **options: Any,
) -> None:
    """Charge a new stream, and keep it in a new FOLDER.

    \b
    Example:
      privet stream open visits.stream --horizon 365 --epsilon 1
    """
    if (start is None) != (every is None):
        raise RequestError("a clock has a start and a length of its steps: pass both --start and --every, or neither")
    clock = None if start is None or every is None else StepClock(start, every)
    with (
        _ledger(config, ledger_path) as ledger,
        open_stream(folder, ledger, groups=groups or None, clock=clock, **options) as stream,
    ):
        told = stream.describe()
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(
        f"Charged as entry {told['entry']}: {told['sums']['horizon']} steps, by {told['sums']['method']}. At the last "
        f"one the standard error is {told['standard_error_at_horizon']:.3g}."
    )


@command.command("step")
@_on_ledger
@click.argument("values", nargs=-1)
@click.option("--rows", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The step's rows, as CSV.")
@click.option("--number", type=_whole_number, help="Which step this is; it must be the next one.")
@click.option("--at", type=_moment, help="A moment within the step, for a stream with a clock.")
@click.option("--confidence", type=_number, default="0.95", show_default=True, help="Of the intervals.")
def step_command(
    folder: Path,
    config: Path,
    ledger_path: Path | None,
    as_json: bool,
    values: tuple[str, ...],
    rows: Path | None,
    number: int | None,
    at: datetime.datetime | None,
    confidence: Fraction,
) -> None:
    """Release the sums after one more step.

    VALUES is the total of the step's rows, or group=total for each group that has any; --rows names a CSV file with
    the columns value, group and person instead.

    \b
    Example:
      privet stream step visits.stream 12
      privet stream step wards.stream A=3 B=5
      privet stream step visits.stream --rows today.csv
    """
    with _ledger(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
        given: dict[str, Any] = {"rows": read_rows(rows)} if rows is not None else {"value": _value(values, stream)}
        if rows is not None and values:
            raise RequestError("a step takes its totals or its rows: pass VALUES or --rows, not both")
        if at is not None and number is not None:
            raise RequestError("pass --at for a stream with a clock, or --number for one without, not both")
        if at is not None:
            answer = stream.step_at(at, confidence=confidence, **given)
        else:
            answer = stream.step(number=number, confidence=confidence, **given)
        _print(stream.steps, answer, as_json)


@command.command("show")
@_on_ledger
@click.option("--at", type=_whole_number, help="The step; the last one if left out.")
@click.option("--confidence", type=_number, default="0.95", show_default=True, help="Of the intervals.")
@click.option("--plot", type=click.Path(path_type=Path), help="Also draw all steps so far into this file.")
def show_command(
    folder: Path,
    config: Path,
    ledger_path: Path | None,
    as_json: bool,
    at: int | None,
    confidence: Fraction,
    plot: Path | None,
) -> None:
    """Show the sums after a step as they were released, at no cost.

    \b
    Example:
      privet stream show visits.stream
      privet stream show visits.stream --at 30 --plot visits.png
    """
    with _ledger(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
        if plot is not None:
            stream.plot(confidence=confidence, path=plot)
        _print(stream.steps if at is None else at, stream.estimate(at, confidence=confidence), as_json)


@command.command("verify")
@_on_ledger
def verify_command(folder: Path, config: Path, ledger_path: Path | None, as_json: bool) -> None:
    """Verify that a stream is the latest by the ledger, and that all it has released is intact.

    \b
    Example:
      privet stream verify visits.stream
    """
    with _ledger(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
        stream.verify()
        steps, horizon = stream.steps, stream.horizon
    if as_json:
        click.echo(json.dumps({"steps": steps, "horizon": horizon, "intact": True}))
        return
    click.echo(f"Intact: {steps} of {horizon} steps released.")


def read_rows(path: Path) -> list[Arrival]:
    """Return the rows of a CSV file; its heading is public, and what a row holds is never quoted."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        names = set(reader.fieldnames or ())
        if not names or not names <= _COLUMNS:
            raise RequestError(
                "the file of a step's rows has a heading of the columns value, group and person, or some"
            )
        return [
            Arrival(
                _cell(row["value"]) if "value" in names else 1,
                row.get("group") or None,
                row.get("person") or None,
            )
            for row in reader
        ]


def _cell(text: str | None) -> Fraction | None:
    """Return the number in a cell; None, which drops the row, for what is none."""
    return read_rational(written_decimal((text or "").strip()))


def _value(values: tuple[str, ...], stream: RunningStream) -> int | dict[str, int]:
    if stream.groups is None:
        if len(values) != 1:
            raise RequestError("pass the total of the step, a whole number; 0 for an empty one")
        return _whole(values[0])
    pairs = [value.rpartition("=") for value in values]
    if any(not name for name, _, _ in pairs) or len({name for name, _, _ in pairs}) != len(pairs):
        raise RequestError("pass group=total for each group that has rows, each once")
    return {name: _whole(total) for name, _, total in pairs}


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise RequestError("the total of a step must be a whole number")
    return int(text)


def _print(step: int, answer: StreamAnswer, as_json: bool) -> None:
    found = answer if isinstance(answer, dict) else {"": answer}
    if as_json:
        told = {name: vars(one) for name, one in found.items()}
        click.echo(
            json.dumps({"step": step, "groups": told} if isinstance(answer, dict) else {"step": step, **told[""]})
        )
        return
    for name, one in found.items():
        click.echo(f"step {step}{f', {name}' if name else ''}: {_words(one)}")


def _words(one: Estimate) -> str:
    return f"{one.value:,.6g} [{one.low:,.6g}, {one.high:,.6g}] ({one.confidence:.0%}: {one.covers})"
