"""`privet stream`: open a stream of running sums, step through it, show it and verify it; `w-event` does so of windows.

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
from typing import Any, cast

import click

from privet.config import read_config
from privet.config.sessions import existing_ledger, ledger_at
from privet.core.errors import BadParameter, LedgerError, RequestError
from privet.core.estimate import Estimate
from privet.core.given import read_place
from privet.core.numbers import (
    in_full,
    open_probability,
    read_rational,
    whole,
    written_decimal,
    written_ratio,
    written_whole,
)
from privet.core.ports import LedgerAdmin

from .arrivals import Arrival, StepClock
from .durable import RunningStream, StreamAnswer, open_stream, resume_stream
from .stream_state import METHODS
from .w_event import WEventRelease
from .w_event_kept import KeptWEventStream, StreamLedger, open_w_event
from .w_event_rule import ALGORITHMS, MOST_EVERY

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})([smhd])")


def given_number(text: str) -> Fraction:
    """Return a number."""
    number = written_ratio(str(text))
    if number is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    return number


def whole_number(text: str) -> int:
    """Return a whole number."""
    number = written_whole(str(text))
    if number is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return number


def given_moment(text: str) -> datetime.datetime:
    """Return a time with its zone."""
    try:
        moment = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.BadParameter(f"{text!r} is not a time with its zone, such as 2026-12-31T23:59:59Z")
    return moment


def given_length(text: str) -> datetime.timedelta:
    """Return a length of time."""
    match = _LENGTH.fullmatch(str(text))
    if match is None:
        raise click.BadParameter(f"{text!r} is not a length such as 30s, 15m, 1h or 7d")
    return datetime.timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def on_ledger(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds the options that all commands have, and the argument that names the stream."""
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
    """Return the rows of a CSV file by its columns; its heading is public, and a row is never quoted."""
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
        info = stream.describe()
    if as_json:
        click.echo(json.dumps(info, indent=2))
        return
    click.echo(
        f"Charged as entry {info['entry']}: {info['sums']['horizon']} steps, by {info['sums']['method']}. At the last "
        f"one the standard error is {info['standard_error_at_horizon']:.3g}."
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
    """Return the rows of a CSV file, with missing values left out."""
    return [
        Arrival(
            _cell(row["value"]) if "value" in row else 1,
            row.get("group") or None,
            row.get("person") or None,
        )
        for row in rows_given(path, {"value", "group", "person"})
    ]


def _cell(text: str | None) -> Fraction | None:
    """Return the number in a cell; None, which drops the row, for any other text."""
    return read_rational(written_decimal((text or "").strip()))


def _value(values: tuple[str, ...], stream: RunningStream) -> int | dict[str, int]:
    if stream.groups is not None:
        return by_name(values, "group")
    if len(values) != 1:
        raise RequestError("pass the total of the step, a whole number; 0 for an empty one")
    return whole_given(values[0])


def _print(step: int, answer: StreamAnswer, as_json: bool) -> None:
    answers = answer if isinstance(answer, dict) else {"": answer}
    if as_json:
        facts = {name: vars(value) for name, value in answers.items()}
        click.echo(
            json.dumps({"step": step, "groups": facts} if isinstance(answer, dict) else {"step": step, **facts[""]})
        )
        return
    for name, estimate in answers.items():
        click.echo(f"step {step}{f', {name}' if name else ''}: {_words(estimate)}")


def _words(est: Estimate) -> str:
    return f"{in_full(est.value)} [{in_full(est.low)}, {in_full(est.high)}] ({est.confidence:.0%}: {est.covers})"


@command.group("w-event")
def windows() -> None:
    """Release a histogram at every step, such that any window of steps is protected.

    \b
    Example:
      privet stream w-event open hourly --epsilon 1 --window 24
      privet stream w-event step hourly 1200
      privet stream w-event show hourly
    """


@windows.command("open")
@on_ledger("account")
@click.option("--epsilon", type=given_number, required=True, help="The largest privacy loss of any window.")
@click.option("--window", type=whole_number, required=True, help="How many consecutive steps are protected together.")
@click.option("--cell", "cells", multiple=True, help="The name of a count of each step; pass one for each.")
@click.option("--contribution", type=whole_number, default="1", show_default=True, help="A person's rows in a step.")
@click.option("--algorithm", type=click.Choice(("auto", *ALGORITHMS)), default="auto", show_default=True)
@click.option("--change", type=given_number, help="How far a count typically moves; it decides which algorithm runs.")
@click.option("--moves-every", type=whole_number, default="1", show_default=True, help="Steps from move to move.")
@click.option("--start", type=given_moment, help="When the first step begins, such as 2026-01-01T00:00:00Z.")
@click.option("--every", type=given_length, help="How long each step is, such as 1h or 7d.")
def open_windows(
    account: str,
    config: Path,
    ledger_path: Path | str | None,
    as_json: bool,
    cells: tuple[str, ...],
    moves_every: int,
    start: datetime.datetime | None,
    every: datetime.timedelta | None,
    **options: Any,
) -> None:
    """Open an ACCOUNT for a new stream, which promises something of any window of its steps.

    \b
    Example:
      privet stream w-event open hourly --epsilon 1 --window 24 --cell walk --cell ride
    """
    clock = clock_given(start, every)
    whole(moves_every, "moves_every", least=1, most=MOST_EVERY)
    with ledger_of(config, ledger_path) as ledger:
        kept = cast(StreamLedger, ledger)
        if account in kept.promises():
            raise LedgerError(f"there is a stream in the account {account!r} already; a new stream has its own")
        stream = open_w_event(kept, account, cells=list(cells) or 1, every=moves_every, clock=clock, **options)
    if as_json:
        facts = {"account": account, "cells": list(stream.plan.cells), "algorithm": stream.plan.algorithm}
        click.echo(json.dumps({**facts, "promise": stream.plan.promise.describe()}))
        return
    click.echo(stream.plan.explain())


@windows.command("step")
@on_ledger("account")
@click.argument("counts", nargs=-1)
@click.option("--rows", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The step's rows, as CSV.")
@click.option("--number", type=whole_number, help="Which step this is; it must be the next one.")
@click.option("--at", type=given_moment, help="A moment within the step, for a stream with a clock.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
def step_windows(
    account: str,
    config: Path,
    ledger_path: Path | str | None,
    as_json: bool,
    counts: tuple[str, ...],
    rows: Path | None,
    number: int | None,
    at: datetime.datetime | None,
    confidence: Fraction,
) -> None:
    """Release the histogram of one more step.

    COUNTS is the count of the step, or cell=count for each cell that has any; --rows names a CSV file with the columns
    person and cell instead.

    \b
    Example:
      privet stream w-event step hourly walk=120 ride=80
      privet stream w-event step hourly --rows hour.csv --at 2026-01-01T07:30:00Z
    """
    open_probability(confidence, "confidence")
    if rows is not None and counts:
        raise RequestError("a step takes its counts or its rows: pass COUNTS or --rows, not both")
    if at is not None and number is not None:
        raise RequestError("pass --at for a stream with a clock, or --number for one without, not both")
    with ledger_of(config, ledger_path) as ledger:
        stream = open_w_event(cast(StreamLedger, ledger), account)
        following = stream.state.step + 1
        if number is not None and number != following:
            raise BadParameter("number", number, f"the next step, {following}: a step is out of order")
        pairs = None if rows is None else _people_and_cells(rows)
        given = None if rows is not None else _counts(counts, stream)
        if at is not None:
            release = stream.step_at(at, given, rows=pairs)
        elif pairs is not None:
            release = stream.step_rows(pairs)
        else:
            release = stream.step(given)
        _print_windows(release, confidence, as_json)


@windows.command("show")
@on_ledger("account")
@click.option("--at", type=whole_number, help="The step; the last one if left out.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
def show_windows(
    account: str, config: Path, ledger_path: Path | str | None, as_json: bool, at: int | None, confidence: Fraction
) -> None:
    """Show the histogram of a step as it was released, at no cost.

    \b
    Example:
      privet stream w-event show hourly --at 7
    """
    with ledger_of(config, ledger_path) as ledger:
        _print_windows(open_w_event(cast(StreamLedger, ledger), account).release(at), confidence, as_json)


@windows.command("verify")
@on_ledger("account")
def verify_windows(account: str, config: Path, ledger_path: Path | str | None, as_json: bool) -> None:
    """Verify that the ledger is intact, and that no window of the stream's steps spent more than was promised.

    \b
    Example:
      privet stream w-event verify hourly
    """
    with ledger_of(config, ledger_path) as ledger:
        stream = open_w_event(cast(StreamLedger, ledger), account)
        stream.verify()
        steps, promise = stream.state.step, stream.plan.promise.describe()
    if as_json:
        click.echo(json.dumps({"steps": steps, "promise": promise, "intact": True}))
        return
    click.echo(f"Intact: {steps} step{'s' * (steps != 1)} released, with {promise}.")


def _people_and_cells(path: Path) -> list[tuple[str, str]]:
    rows = rows_given(path, {"person", "cell"})
    # a row without a person cannot be bounded, and is left out, as is one with fewer columns than the heading
    return [(row["person"], row.get("cell") or "") for row in rows if row.get("person")]


def _counts(counts: tuple[str, ...], stream: KeptWEventStream) -> list[int]:
    cells = stream.plan.cells
    if len(cells) == 1 and len(counts) == 1 and "=" not in counts[0]:
        return [whole_given(counts[0])]
    if not counts or (len(cells) == 1 and "=" not in counts[0]):
        raise RequestError(
            "pass the count of the step, a whole number, or cell=count for each cell; 0 for an empty one"
        )
    given = by_name(counts, "cell")
    if not set(given) <= set(cells):  # a name that is not declared is data: not quoted
        raise RequestError(f"pass counts of the cells that were declared: {', '.join(cells[:20])}")
    return [given.get(name, 0) for name in cells]


def _print_windows(release: WEventRelease, confidence: Fraction, as_json: bool) -> None:
    low, high = release.interval(confidence)
    if as_json:
        known = {"low": low, "high": high} if release.measured else {"low": None, "high": None}
        click.echo(json.dumps({**release.to_dict(), **known}))
        return
    click.echo(str(release))
