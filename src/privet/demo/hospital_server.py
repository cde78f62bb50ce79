"""The made-up hospital of the demo in a database of a PostgreSQL server, with a role that may only read it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from privet.core.errors import RequestError, raise_alone
from privet.engines.postgres.reader_address import driver, read_options, shown

from .hospital import TABLES, make_hospital

_COLUMNS = {
    "patients": "patient_id bigint, born integer, region text",
    "visits": "patient_id bigint, age integer, ward text, diagnosis text, cost float8, day date",
    "prescriptions": "patient_id bigint, drug text, doses integer",
}
_KEPT = ("host", "hostaddr", "port", "sslmode", "sslrootcert")


@contextlib.contextmanager
def hospital_in_server(folder: Path, url: str, *, keep: bool) -> Iterator[Path]:
    """Yield the path of the privet.toml of a hospital in a database of its own, which goes afterwards unless kept.

    `url` is the address of a role that may create databases and roles.
    """
    options, name = read_options(url), f"privet_demo_{secrets.token_hex(4)}"
    psycopg = driver()
    try:
        with contextlib.closing(psycopg.connect(**options, autocommit=True)) as owner:
            password = secrets.token_urlsafe(18)
            owner.execute(f"CREATE DATABASE {name}")
            try:
                owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
                _load(psycopg, {**options, "dbname": name}, name, folder)
                declared = _declare(folder, options, name, password)
            except BaseException:
                _remove(owner, name)
                raise
    except psycopg.Error:
        raise_alone(
            RequestError(
                f"the demo's hospital cannot be loaded at {shown(options)}; pass the address of a role that may create "
                f"databases and roles"
            )
        )
    try:
        yield declared
    finally:
        if not keep:
            with (
                contextlib.suppress(psycopg.Error),
                contextlib.closing(psycopg.connect(**options, autocommit=True)) as owner,
            ):
                _remove(owner, name)


def _load(psycopg: Any, options: Mapping[str, Any], role: str, folder: Path) -> None:
    import duckdb

    make_hospital(folder)
    with contextlib.closing(psycopg.connect(**options, autocommit=True)) as owner:
        owner.execute(f"REVOKE TEMPORARY ON DATABASE {role} FROM PUBLIC")
        for table in TABLES:
            owner.execute(f"CREATE TABLE {table} ({_COLUMNS[table]})")
            rows, lines = folder / f"{table}.parquet", folder / f"{table}.csv"
            with duckdb.connect() as connection:
                source, target = (str(path).replace("'", "''") for path in (rows, lines))
                connection.execute(f"COPY (FROM '{source}') TO '{target}' (FORMAT csv, HEADER false)")
            with open(lines, "rb") as file, owner.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
                while block := file.read(2**20):
                    copy.write(block)
            lines.unlink()
            owner.execute(f"ANALYZE {table}")
            owner.execute(f"GRANT SELECT ON {table} TO {role}")


def _declare(folder: Path, options: Mapping[str, Any], name: str, password: str) -> Path:
    """Return the privet.toml of the hospital, with its server, and a file with the password beside it."""
    declared, secret = folder / "privet.toml", folder / "password"
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{password}\n")
    place = urlencode({one: str(options[one]) for one in _KEPT if options.get(one)}, quote_via=quote)
    text = declared.read_text(encoding="utf-8")
    for table in TABLES:
        text = text.replace(f'source = "{table}.parquet"', f'source = {{ table = "{table}" }}')
    engine = f'[engine]\nkind = "postgres"\nurl = "postgresql://{name}@/{name}?{place}"\npassword_file = "password"\n'
    declared.write_text(f"{text}\n{engine}", encoding="utf-8")
    return declared


def _remove(owner: Any, name: str) -> None:
    owner.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    owner.execute(f"DROP ROLE IF EXISTS {name}")
