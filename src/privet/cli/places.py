"""Where a command finds what it works on: the ledger by its path, or everything by a privet.toml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import json_option

if TYPE_CHECKING:
    from privet.ledger.sqlite import SqliteLedger

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    default="privet.toml",
    show_default=True,
    envvar="PRIVET_CONFIG",
    help="What the custodian declared.",
)
analyst_option = click.option("--analyst", envvar="PRIVET_ANALYST", help="Who asks, where the file names analysts.")
ledger_option = click.option(
    "--ledger",
    "ledger_path",
    type=click.Path(path_type=Path),
    help="The ledger, instead of the one declared.",
)


def ledger_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return what makes a function a command on a ledger, with the options that all of them have."""

    def made(function: Callable[..., Any]) -> click.Command:
        return click.command(name)(config_option(ledger_option(json_option(function))))

    return made


def existing_ledger(config: Path, ledger_path: Path | None) -> SqliteLedger:
    """Return a ledger that is there already, checked against the head that is pinned, if one is; none is made."""
    from privet.ledger.sqlite import SqliteLedger

    if ledger_path is not None:
        return SqliteLedger(ledger_path)
    from privet.config import read_config
    from privet.core.errors import RequestError
    from privet.ledger.folder import locate

    declared = read_config(config).ledger
    if not locate(declared.path).exists():
        raise RequestError(f"there is no ledger {str(declared.path)!r} yet: the first question about {config} makes it")
    return SqliteLedger(declared.path, head=declared.head)


def declared_ledger(config: Path, ledger_path: Path | None) -> SqliteLedger:
    """Return the ledger that a privet.toml declares, made if there is none; or one that is there, by its path."""
    if ledger_path is not None:
        return existing_ledger(config, ledger_path)
    from privet.config import read_config
    from privet.config.sessions import open_ledger

    return open_ledger(read_config(config))
