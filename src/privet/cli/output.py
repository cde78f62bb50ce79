"""How commands print: tables for people, JSON for programs. Colour only on a terminal, which rich sees to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from .numbers import show_cost

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
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="", box=None, pad_edge=False)
    table.add_column("theorem")
    table.add_column(quantity, justify="right")
    table.add_column("")
    for place, (name, figure) in enumerate(sorted(figures.items(), key=lambda item: item[1])):
        table.add_row(name, show_cost(figure, 6), "<- tightest" if place == 0 else "")
    if not figures:
        table.add_row("no theorem applies", show_cost(least, 6), "")
    Console(soft_wrap=True).print(table)
