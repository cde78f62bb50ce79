"""`privet stream`: open a stream of running sums, step through it, show it and verify it; `w-event` does so of windows.

Registered as an entry point of the group `privet.commands`, so that the command line imports nothing of streams.
"""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from privet.core.errors import RequestError
from privet.core.estimate import Estimate
from privet.core.numbers import read_rational, written_decimal

from .arrivals import Arrival
from .durable import METHODS, RunningStream, StreamAnswer, open_stream, resume_stream
from .shell_options import (
    by_name,
    clock_given,
    given_length,
    given_moment,
    given_number,
    ledger_of,
    on_ledger,
    rows_given,
    whole_given,
    whole_number,
)
from .w_event_command import windows


@click.group("stream")
def command() -> None:
    """Release running sums of a stream, step by step.

    \b
    Example:
      privet stream open arrivals --horizon 1000 --epsilon 1
      privet stream step arrivals 12
      privet stream show arrivals
    """


command.add_command(windows)


@command.command("open")
@on_ledger("folder")
@click.option("--horizon", type=whole_number, required=True, help="The number of steps.")
@click.option("--epsilon", type=given_number, help="The privacy loss of all steps together.")
@click.option("--delta", type=given_number, help="With epsilon: the probability with which the loss may exceed it.")
@click.option("--rho", type=given_number, help="The zCDP parameter of all steps together, instead of epsilon.")
@click.option("--method", type=click.Choice(METHODS), help="How sums are measured; chosen if left out.")
@click.option("--group", "groups", multiple=True, help="A group that has a sum of its own; pass one for each.")
@click.option("--low", type=given_number, default="0", show_default=True, help="The least value of a row.")
@click.option("--high", type=given_number, default="1", show_default=True, help="The largest value of a row.")
@click.option("--grid", type=given_number, default="1", show_default=True, help="What values are rounded to.")
@click.option("--rows-per-person", type=whole_number, help="Protect people: how many first rows of each are kept.")
@click.option("--start", type=given_moment, help="When the first step begins, such as 2026-01-01T00:00:00Z.")
@click.option("--every", type=given_length, help="How long each step is, such as 1h or 7d.")
@click.option("--account", default="session", show_default=True, help="The account that pays.")
def open_command(
    folder: Path,
    config: Path,
    ledger_path: Path | str | None,
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
    clock = clock_given(start, every)
    with (
        ledger_of(config, ledger_path) as ledger,
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
@on_ledger("folder")
@click.argument("values", nargs=-1)
@click.option("--rows", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The step's rows, as CSV.")
@click.option("--number", type=whole_number, help="Which step this is; it must be the next one.")
@click.option("--at", type=given_moment, help="A moment within the step, for a stream with a clock.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
def step_command(
    folder: Path,
    config: Path,
    ledger_path: Path | str | None,
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
    with ledger_of(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
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
@on_ledger("folder")
@click.option("--at", type=whole_number, help="The step; the last one if left out.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
@click.option("--plot", type=click.Path(path_type=Path), help="Also draw all steps so far into this file.")
def show_command(
    folder: Path,
    config: Path,
    ledger_path: Path | str | None,
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
    with ledger_of(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
        if plot is not None:
            stream.plot(confidence=confidence, path=plot)
        _print(stream.steps if at is None else at, stream.estimate(at, confidence=confidence), as_json)


@command.command("verify")
@on_ledger("folder")
def verify_command(folder: Path, config: Path, ledger_path: Path | str | None, as_json: bool) -> None:
    """Verify that a stream is the latest by the ledger, and that all it has released is intact.

    \b
    Example:
      privet stream verify visits.stream
    """
    with ledger_of(config, ledger_path) as ledger, resume_stream(folder, ledger) as stream:
        stream.verify()
        steps, horizon = stream.steps, stream.horizon
    if as_json:
        click.echo(json.dumps({"steps": steps, "horizon": horizon, "intact": True}))
        return
    click.echo(f"Intact: {steps} of {horizon} steps released.")


def read_rows(path: Path) -> list[Arrival]:
    """Return the rows of a CSV file, with what is missing left out."""
    return [
        Arrival(
            _cell(row["value"]) if "value" in row else 1,
            row.get("group") or None,
            row.get("person") or None,
        )
        for row in rows_given(path, {"value", "group", "person"})
    ]


def _cell(text: str | None) -> Fraction | None:
    """Return the number in a cell; None, which drops the row, for what is none."""
    return read_rational(written_decimal((text or "").strip()))


def _value(values: tuple[str, ...], stream: RunningStream) -> int | dict[str, int]:
    if stream.groups is not None:
        return by_name(values, "group")
    if len(values) != 1:
        raise RequestError("pass the total of the step, a whole number; 0 for an empty one")
    return whole_given(values[0])


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
