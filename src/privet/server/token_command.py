"""`privet token`: accounts of a server. Registered as an entry point of the group `privet.commands`."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from privet.config.reading import read_config
from privet.config.sessions import open_ledger
from privet.core.errors import BadParameter, RequestError, UnknownName

from .identity import ROLES, TokenFacts, TokenStore, rotate_key
from .whole_numbers import WholeRange

ACTOR = "command line"


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            default="privet.toml",
            show_default=True,
            help="The privet.toml whose ledger the accounts lie beside.",
        ),
        click.option(
            "--accounts", type=click.Path(path_type=Path), help="The accounts file. [default: beside the ledger]"
        ),
    ):
        function = option(function)
    return function


def _place(config: Path, accounts: Path | None) -> Path:
    return accounts or read_config(config).ledger.path.parent / "privet.accounts"


@contextmanager
def _opened(config: Path, accounts: Path | None) -> Iterator[TokenStore]:
    store = TokenStore(_place(config, accounts))
    try:
        yield store
    finally:
        store.close()


@click.group("token")
def command() -> None:
    """Make, list and revoke the tokens of a server's accounts.

    \b
    Example:
      privet token add alice
      privet token list
      privet token revoke 1
    """


@command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="analyst", show_default=True, help="What it may do.")
@click.option(
    "--dataset", "datasets", multiple=True, help="A data set that it may ask about. [default: all] Repeatable."
)
@click.option("--table", "tables", multiple=True, help="A table that it may ask about. [default: all] Repeatable.")
@click.option("--withhold", "withheld", multiple=True, metavar="TABLE.COLUMN", help="A column that it does not see.")
@click.option("--days", type=WholeRange(1, 36500), help="How long it is valid. [default: until it is revoked]")
@_options
def add_command(
    name: str,
    role: str,
    datasets: tuple[str, ...],
    tables: tuple[str, ...],
    withheld: tuple[str, ...],
    days: int | None,
    config: Path,
    accounts: Path | None,
    as_json: bool,
) -> None:
    """Make a token for NAME, and show it: it is shown once, and kept nowhere.

    \b
    Example:
      privet token add alice --table visits --withhold visits.diagnosis --days 90
      privet token add carol --role custodian
    """
    declared = read_config(config)
    if role == "analyst" and declared.analysts and name not in declared.analysts:
        raise UnknownName("analyst", name, declared.analysts, advice=f"add [analysts.{name}] to {config.name} first")
    for table in tables:
        if table not in declared.tables:
            raise UnknownName("table", table, declared.tables)
    for column in withheld:
        _check_column(column, {known: [*table.schema.columns] for known, table in declared.tables.items()})
    until = None if days is None else datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    with _opened(config, accounts) as store:
        token, facts = store.add(
            name, role, datasets=datasets or None, tables=tables or None, withheld=withheld, expires=until
        )
    with open_ledger(declared) as ledger:
        ledger.note_act("token added", actor=ACTOR, role="custodian", account=name, note=f"token {facts.id}, {role}")
    if as_json:
        click.echo(json.dumps({"token": token, **facts.to_dict()}))
        return
    click.echo(token)
    click.echo(
        f"This is token {facts.id}, of {name} ({role}). It is shown once: anyone who has it asks as {name}.", err=True
    )


def _check_column(given: str, columns: dict[str, list[str]]) -> None:
    table, _, column = given.rpartition(".")
    tables = [name for name, known in columns.items() if table in ("", name) and column in known]
    if not tables:
        raise BadParameter("--withhold", given, "a column of a table, such as visits.diagnosis")


@command.command("list")
@_options
def list_command(config: Path, accounts: Path | None, as_json: bool) -> None:
    """List the tokens: whose, which role, until when, and when each was last used.

    \b
    Example:
      privet token list
    """
    with _opened(config, accounts) as store:
        tokens = store.tokens()
    if as_json:
        click.echo(json.dumps({"tokens": [token.to_dict() for token in tokens]}))
        return
    for facts in tokens:
        click.echo(_line(facts))
    if not tokens:
        click.echo("no tokens yet: privet token add NAME")


def _line(row: TokenFacts) -> str:
    who = row.identity
    about = "all tables" if who.tables is None else ", ".join(who.tables)
    hidden = f" without {', '.join(who.withheld)}" if who.withheld else ""
    until = "" if who.expires is None else f", until {who.expires:%Y-%m-%d}"
    return f"{row.id:>4}  {who.name}  {who.role}  {row.state}{until}  {about}{hidden}  last used {row.used or 'never'}"


@command.command("revoke")
@click.argument("number", type=WholeRange(1))
@_options
def revoke_command(number: int, config: Path, accounts: Path | None, as_json: bool) -> None:
    """Revoke a token for good, by its NUMBER; log-ins by it end at once.

    \b
    Example:
      privet token revoke 1
    """
    with _opened(config, accounts) as store:
        facts = store.revoke(number)
    with open_ledger(read_config(config)) as ledger:
        ledger.note_act(
            "token revoked", actor=ACTOR, role="custodian", account=facts.identity.name, note=f"token {facts.id}"
        )
    click.echo(json.dumps(facts.to_dict()) if as_json else f"token {number} of {facts.identity.name} is revoked")


@command.command("rotate-cookies")
@_options
def rotate_command(config: Path, accounts: Path | None, as_json: bool) -> None:
    """Make a new key for browser log-ins; every log-in ends when the server is started again.

    \b
    Example:
      privet token rotate-cookies
    """
    place = _place(config, accounts).with_name("privet.cookie-key")
    if not place.parent.is_dir():
        raise RequestError(f"there is no folder {str(place.parent)!r}")
    rotate_key(place)
    click.echo(json.dumps({"status": "rotated"}) if as_json else "the key is new; restart the server, and log in again")
