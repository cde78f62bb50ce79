"""A data set of a server: the declarations of one privet.toml, its ledger, its engine, and a desk for each account."""

from __future__ import annotations

import copy
import datetime
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.config.declared import Config
from privet.config.engine_kinds import open_engine
from privet.config.reading import read_config
from privet.config.sessions import LateEngine, account_of, needed_tables, open_ledger
from privet.config.tables import views_about
from privet.core.budget import Budget
from privet.core.errors import BadParameter, NotFound, RequestError, UnknownName
from privet.core.given import set_fields
from privet.core.ports import Ledger
from privet.core.schema import Table, followed
from privet.core.unit import Link, unit_columns
from privet.execution.request import read_views, utc_now
from privet.query.sql.rewrites import read_schema
from privet.session import Session

from .admission import AdmissionLedger, PacedLedger
from .identity import Identity

_NAME = re.compile("[A-Za-z][A-Za-z0-9_-]{0,63}")
_MOST_DESKS = 256


@dataclass(frozen=True)
class Desk:
    """One account's two sessions over a data set: one that plans, finds and charges, and one that reads."""

    account: str
    admitting: Session
    reading: Session


class DataSet:
    """The data set of one privet.toml, opened once for all accounts."""

    def __init__(self, name: str, config: Config) -> None:
        if not _NAME.fullmatch(name):
            raise BadParameter("data set", name, "a name of letters, digits, - and _ that begins with a letter")
        self.name, self.config = name, config
        self.ledger = open_ledger(config)
        self._paced = PacedLedger(self.ledger)  # one for all accounts: equal questions take turns at it
        self.engine = LateEngine(config.tables, lambda some: open_engine(config, some))
        self._desks: dict[tuple[Any, ...], Desk] = {}
        self._without: dict[tuple[str, ...], LateEngine] = {}
        self._making = threading.Lock()

    def close(self) -> None:
        """Close the sessions, the engine and the ledger, after the scans that run."""
        for desk in self._desks.values():
            desk.admitting.close()
            desk.reading.close()
        for engine in (self.engine, *self._without.values()):
            engine.close()
        self.ledger.close()

    def visible_to(self, identity: Identity) -> bool:
        """Return whether an account may know that the data set exists."""
        named = identity.datasets is None or self.name in identity.datasets
        known = identity.role != "analyst" or not self.config.analysts or identity.name in self.config.analysts
        return named and known

    def desk(self, identity: Identity) -> Desk:
        """Return an analyst's desk, made at the first question of a day and after each change of the budget.

        Guarantee: its sessions know no table and no column that the account may not ask about.
        """
        rights = self.rights(identity)
        account, about, _, _ = rights
        budget = self.ledger.budget_of(account)
        kept = *rights, budget.describe()
        with self._making:
            desk = self._desks.get(kept)
            if desk is None:
                if len(self._desks) >= _MOST_DESKS:
                    self._desks.clear()  # sessions of questions that are being read stay alive with these
                desk = self._desks[kept] = self._make(account, about, identity.withheld, budget)
            return desk

    def rights(self, identity: Identity) -> tuple[str, frozenset[str], tuple[str, ...], datetime.date]:
        """Return an account, the tables that it may ask about, the columns withheld from it, and the day."""
        if not self.visible_to(identity):
            raise missing(self.name)
        _, about = account_of(self.config, identity.name if self.config.analysts else None)
        if identity.tables is not None:
            allowed = {*identity.tables, *self.config.public}
            about = frozenset(about & allowed)
        return identity.name, about, identity.withheld, utc_now().date()

    def _make(self, account: str, about: frozenset[str], withheld: tuple[str, ...], budget: Budget) -> Desk:
        tables = _without(needed_tables(self.config, about), withheld)
        engine = self._engine_without(withheld)
        views = _usable(views_about(self.config.views, self.config.tables, about, self.config.schema), tables, self)

        def session(ledger: Ledger) -> Session:
            return Session(
                tables,
                views=views,
                ledger=ledger,
                account=account,
                engine=engine,
                about=about,
                schema=self.config.schema,
            )

        return Desk(account, session(AdmissionLedger(self.ledger)), session(self._paced))

    def _engine_without(self, withheld: tuple[str, ...]) -> LateEngine:
        """Return an engine over all tables without some columns.

        Engines name a column by its place in its table, so sessions whose tables lack columns have a separate one.
        """
        if not withheld:
            return self.engine
        if withheld not in self._without:
            tables = _without(self.config.tables, withheld)
            self._without[withheld] = LateEngine(tables, lambda some: open_engine(self.config, some))
        return self._without[withheld]


def missing(name: str) -> NotFound:
    """Return the error for a data set that an account may not know of, whether or not it exists for others."""
    return NotFound(f"there is no data set {name[:64]!r} for this account")


def _without(tables: Mapping[str, Table], withheld: tuple[str, ...]) -> dict[str, Table]:
    """Return tables without the columns that are withheld."""
    kept = {}
    for name, table in tables.items():
        schema = table.schema
        hidden = {column.rpartition(".")[2] for column in withheld if column.rpartition(".")[0] in ("", name)} & {
            *schema.columns
        }
        needed = {*unit_columns(schema.unit), *([] if schema.key is None else [schema.key])}
        needed |= set() if schema.blocks is None else {schema.blocks.column}
        needed |= {
            other.schema.unit.column
            for other in tables.values()
            if isinstance(other.schema.unit, Link) and other.schema.unit.to == name
        }
        if hidden & needed:
            wrong = ", ".join(f"{name}.{column}" for column in sorted(hidden & needed))
            raise RequestError(f"{wrong} cannot be withheld: it identifies people, or divides the table into blocks")
        if hidden:
            columns = {column: facts for column, facts in schema.columns.items() if column not in hidden}
            table = copy.copy(table)
            set_fields(table, schema=replace(schema, columns=columns))
        kept[name] = table
    return kept


def _usable(views: Mapping[str, str], tables: Mapping[str, Table], data: DataSet) -> dict[str, str]:
    """Return the views that need no column that is withheld."""
    schemas = followed({name: table.schema for name, table in tables.items()})
    kept: dict[str, str] = {}
    for name, sql in views.items():
        try:
            read_views({**kept, name: sql}, schemas, schemas, read_schema(data.config.schema))
        except UnknownName:
            continue
        kept[name] = sql
    return kept


def open_data_sets(given: Mapping[str, Path]) -> dict[str, DataSet]:
    """Return the data sets of some privet.toml files, by name; raise the problems of any before serving."""
    opened: dict[str, DataSet] = {}
    try:
        for name, path in given.items():
            opened[name] = DataSet(name, read_config(path))
    except BaseException:
        for dataset in opened.values():
            dataset.close()
        raise
    return opened
