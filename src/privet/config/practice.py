"""Practice: the tables of a privet.toml with made-up rows, a budget to throw away and no ledger file."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

from privet.core.schema import Table
from privet.ledger.memory import MemoryLedger
from privet.session import Session

from .fake import write_rows
from .reading import read_config
from .sessions import account_of, needed_tables, open_engine
from .views import views_about

VERSION = "practice: made up"
"""The version of every table in practice: plans, answers and certificates that show it are about nobody."""


def practice(path: str | os.PathLike[str] = "privet.toml", analyst: str | None = None) -> Session:
    """Return a session like that of `privet.open`, over made-up rows that are drawn from the declarations alone.

    No source and no ledger is opened: it works where the data are not. What is spent is forgotten with the session.

    Guarantee: what the session releases is a function of the privet.toml and of fresh noise.
    """
    config = read_config(path)
    account, about = account_of(config, analyst)
    tables = needed_tables(config, about)
    folder = tempfile.mkdtemp(prefix="privet-practice-")
    try:
        files = write_rows(Path(folder), tables)
        made = {name: _with_rows(table, files[name]) for name, table in tables.items()}
        rules = config.rules
        ledger = MemoryLedger(
            rules.budget,
            analysts={name: one.budget or rules.budget for name, one in config.analysts.items()},
            per_query=rules.per_query,
            keys_share=rules.keys_share,
        )
        views = views_about(config.views, config.tables, about)
        engine = open_engine(config, made)
        session = Session(made, views=views, ledger=ledger, account=account, engine=engine, about=about)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return session.closing(weakref.finalize(session, shutil.rmtree, folder, True))


def _with_rows(table: Table, file: Path) -> Table:
    made = copy.copy(table)
    object.__setattr__(made, "source", str(file))
    object.__setattr__(made, "schema", replace(table.schema, version=VERSION))
    return made
