"""How commands print: tables for people, JSON for programs. Colour only on a terminal, which rich sees to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

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
