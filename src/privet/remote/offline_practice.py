"""Practice without a server: made-up rows that fit the declared facts which a client has fetched already."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

from privet.config.sessions import VERSION, write_rows
from privet.core.errors import Unsupported
from privet.core.given import set_fields
from privet.core.schema import PublicTable, Schema, Table
from privet.execution.request import Catalog
from privet.ledger.memory import MemoryLedger
from privet.session import Session


def practice_session(catalog: Catalog, account: str) -> Session:
    """Return a session over made-up rows of the tables of a catalog, with its budget to throw away.

    Tables that link to others, and views, are left out.

    Guarantee: what the session releases is a function of declared facts and of fresh noise.
    """
    known = {name: one for name, one in catalog.schemas.items() if one.link is None}
    if not known:
        raise Unsupported("there is no table to practise with: all of them link to others")
    folder = tempfile.mkdtemp(prefix="privet-practice-")
    try:
        bare = {name: _table(one, None) for name, one in known.items()}
        files = write_rows(Path(folder), bare)
        made = {name: _table(one, files[name]) for name, one in known.items()}
        ledger = MemoryLedger(catalog.budget)
        session = Session(made, ledger=ledger, account=account, schema=catalog.schema)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return session.closing(weakref.finalize(session, shutil.rmtree, folder, True))


def _table(schema: Schema, file: Path | None) -> Table:
    kind = PublicTable if schema.unit.public else Table
    made = object.__new__(kind)
    source = None if file is None else str(file)
    set_fields(made, source=source, schema=replace(schema, contents=None, version=VERSION))
    return made
