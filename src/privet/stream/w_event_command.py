"""`privet stream w-event`: histograms of which any window of steps is protected, in an account of the ledger."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import click

from privet.core.errors import BadParameter, LedgerError, RequestError
from privet.core.numbers import open_probability, whole

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
from .w_event import WEventRelease
from .w_event_kept import KeptWEventStream, StreamLedger, open_w_event
from .w_event_rule import ALGORITHMS, MOST_EVERY


@click.group("w-event")
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
def open_command(
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
        told = {"account": account, "cells": list(stream.plan.cells), "algorithm": stream.plan.algorithm}
        click.echo(json.dumps({**told, "promise": stream.plan.promise.describe()}))
        return
    click.echo(stream.plan.explain())


@windows.command("step")
@on_ledger("account")
@click.argument("counts", nargs=-1)
@click.option("--rows", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The step's rows, as CSV.")
@click.option("--number", type=whole_number, help="Which step this is; it must be the next one.")
@click.option("--at", type=given_moment, help="A moment within the step, for a stream with a clock.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
def step_command(
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
        pairs = None if rows is None else [(row.get("person") or "", row.get("cell") or "") for row in _rows(rows)]
        given = None if rows is not None else _counts(counts, stream)
        if at is not None:
            release = stream.step_at(at, given, rows=pairs)
        elif pairs is not None:
            release = stream.step_rows(pairs)
        else:
            release = stream.step(given)
        _print(release, confidence, as_json)


@windows.command("show")
@on_ledger("account")
@click.option("--at", type=whole_number, help="The step; the last one if left out.")
@click.option("--confidence", type=given_number, default="0.95", show_default=True, help="Of the intervals.")
def show_command(
    account: str, config: Path, ledger_path: Path | str | None, as_json: bool, at: int | None, confidence: Fraction
) -> None:
    """Show the histogram of a step as it was released, at no cost.

    \b
    Example:
      privet stream w-event show hourly --at 7
    """
    with ledger_of(config, ledger_path) as ledger:
        _print(open_w_event(cast(StreamLedger, ledger), account).release(at), confidence, as_json)


@windows.command("verify")
@on_ledger("account")
def verify_command(account: str, config: Path, ledger_path: Path | str | None, as_json: bool) -> None:
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


def _rows(path: Path) -> list[dict[str, str]]:
    found = rows_given(path, {"person", "cell"})
    # a row without a person cannot be bounded, and is left out, as is one with fewer columns than the heading
    return [row for row in found if row.get("person")]


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


def _print(release: WEventRelease, confidence: Fraction, as_json: bool) -> None:
    low, high = release.interval(confidence)
    if as_json:
        known = {"low": low, "high": high} if release.measured else {"low": None, "high": None}
        click.echo(json.dumps({**release.to_dict(), **known}))
        return
    click.echo(str(release))
