"""Sessions as a privet.toml declares them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack

from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.schema import Table
from privet.core.unit import Link
from privet.engines.duckdb.engine import DuckDB
from privet.session import Session

from .declared import Config
from .ledgers import open_ledger
from .reading import read_config
from .tables import views_about

EVERYBODY = "everybody"
"""The account that pays where a privet.toml names no analysts: all share the data set's budget."""


def open(path: str | os.PathLike[str] = "privet.toml", analyst: str | None = None) -> Session:
    """Return a session over the tables of a privet.toml, charged to its ledger, for one of its analysts.

    An analyst is only shown the tables that they may ask about: another is refused as one that does not exist. Where
    the file names analysts, one must be given; where it names none, all share the data set's budget.

    Args:
        path: the file.
        analyst: whose account pays; needed where the file lists several.

    Raises:
        BadConfig: if the file has problems, which it lists.

    Example:
        >>> try:
        ...     privet.open("absent.toml")
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request

    Guarantee: every charge is held to the budgets of the file, as exact as they are written, or the ledger is refused;
    no plan of the session is about a table outside `about`.
    """
    config = read_config(path)
    account, about = account_of(config, analyst)
    tables = needed_tables(config, about)
    with ExitStack() as opened:
        engine = opened.enter_context(open_engine(config, tables))
        ledger = opened.enter_context(open_ledger(config))
        session = Session(
            tables,
            views=views_about(config.views, config.tables, about),
            ledger=ledger,
            account=account,
            engine=engine,
            about=about,
            time_step=config.engine.time_step,
        )
        session.closing(engine.close).closing(ledger.close)
        opened.pop_all()
    return session


def account_of(config: Config, analyst: str | None) -> tuple[str, frozenset[str]]:
    """Return the account that pays for an analyst's questions, and the tables that they may ask about."""
    if analyst is not None and not isinstance(analyst, str):
        raise BadParameter("analyst", analyst, "the name of an analyst")
    if not config.analysts:
        if analyst is not None:
            raise UnknownName("analyst", str(analyst), (), advice=f"{config.path.name} names none; leave it out")
        return EVERYBODY, frozenset(config.tables)
    if analyst is None:
        raise RequestError(f"{config.path.name} names analysts, each with a budget; pass the one who asks")
    if analyst not in config.analysts:
        advice = f"ask the custodian to add one to {config.path.name}"
        raise UnknownName("analyst", str(analyst), (), advice=advice)
    return analyst, frozenset({*config.analysts[analyst].tables, *config.public})


def needed_tables(config: Config, about: frozenset[str]) -> dict[str, Table]:
    """Return some tables and those that their links lead to, which say whose rows they hold."""
    found, waiting = set[str](), list(about)
    while waiting:
        name = waiting.pop()
        unit = config.tables[name].schema.unit
        if name not in found and isinstance(unit, Link):
            waiting.append(unit.to)
        found.add(name)
    return {name: table for name, table in config.tables.items() if name in found}


def open_engine(config: Config, tables: Mapping[str, Table]) -> DuckDB:
    """Return the engine over some of the tables, within the limits of the file."""
    limits = config.engine
    return DuckDB(
        tables,
        memory_limit=limits.memory_limit,
        threads=limits.threads,
        timeout=limits.timeout,
        scans=limits.scans,
    )
