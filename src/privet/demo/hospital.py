"""A made-up hospital for the demo: patients, visits and prescriptions, a million rows in all, and its privet.toml.

The numbers come from hashes of row numbers, so every demo has the same truth. No person in it exists.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from privet.core.errors import RequestError, raise_alone
from privet.engines.postgres.reader_address import driver, read_options, shown

PATIENTS, VISITS, PRESCRIPTIONS = 150_000, 500_000, 350_000
ROWS = PATIENTS + VISITS + PRESCRIPTIONS
TABLES = ("patients", "visits", "prescriptions")
REGULARS, OFTEN = 5, 300
"""Five patients collect insulin 300 times a year each: far above the limit, which nearly no one else exceeds."""

DECLARED_DRUGS, DECLARED_EACH = 5, 2
"""The limit on the prescriptions of one patient, as the custodian declares it."""

DECLARED = f"""\
# What the custodian of a made-up hospital declares: who is protected, and what is public.
[budget]
epsilon = 3
delta = 1e-6

[tables.patients]
source = "patients.parquet"
unit = "patient_id"
contribution = {{ groups = 1, rows = 1 }}
version = "2025"

[tables.patients.columns]
patient_id = "integer"
born = {{ kind = "integer", low = 1925, high = 2025 }}
region = {{ values = ["east", "north", "south", "west"] }}

[tables.visits]
source = "visits.parquet"
unit = "patient_id"
contribution = {{ groups = 3, rows = 5 }}
version = "2025"

[tables.visits.columns]
patient_id = "integer"
age = {{ kind = "integer", low = 0, high = 110 }}
ward = {{ values = ["births", "children", "heart", "surgery", "trauma"] }}
diagnosis = "text"
cost = {{ kind = "number", low = 0, high = 3000 }}
day = {{ kind = "date", low = 2025-01-01, high = 2025-12-31 }}

[tables.prescriptions]
source = "prescriptions.parquet"
unit = "patient_id"
contribution = {{ groups = {DECLARED_DRUGS}, rows = {DECLARED_EACH} }}
version = "2025"

[tables.prescriptions.columns]
patient_id = "integer"
drug = "text"
doses = {{ kind = "integer", low = 1, high = 30 }}
"""

_DRAW = "CREATE MACRO draw(i, salt) AS (hash(i * 16 + salt) % 1000003) / 1000003.0"

_MAKE = {
    "patients": f"""
        SELECT i AS patient_id, CAST(2024 - floor(95 * draw(i, 1)) AS INTEGER) AS born,
            ['east', 'north', 'south', 'west'][CAST(1 + floor(4 * draw(i, 2)) AS INTEGER)] AS region
        FROM range({PATIENTS}) t(i)""",
    "visits": f"""
        WITH drawn AS (
            SELECT i, CAST(floor({PATIENTS} * draw(i, 3)) AS BIGINT) AS patient_id,
                CAST(floor(365 * draw(i, 4)) AS INTEGER) AS d, draw(i, 5) AS w, draw(i, 6) AS z, draw(i, 7) AS v
            FROM range({VISITS}) t(i)
        ), placed AS (
            SELECT *, CAST(1 + floor(5 * v * sqrt(v)) AS INTEGER) AS place,
                0.1 + 0.55 * exp(-pow((d - 38) / 24.0, 2)) + 0.35 * exp(-pow((d - 345) / 18.0, 2)) AS flu
            FROM drawn
        )
        SELECT patient_id, CAST(floor(95 * draw(patient_id, 1)) AS INTEGER) AS age,
            ['births', 'children', 'heart', 'surgery', 'trauma'][place] AS ward,
            CASE WHEN w < flu THEN 'flu' WHEN w < 0.8 THEN 'fracture' WHEN w < 0.95 THEN 'burn'
                WHEN w < 0.9998 THEN 'gout' ELSE 'rarity ' || i END AS diagnosis,
            round(-[250, 180, 600, 650, 450][place] * ln(1 - 0.99 * z), 2) AS cost,
            DATE '2025-01-01' + d AS day
        FROM placed""",
    "prescriptions": f"""
        SELECT CASE WHEN i < {REGULARS * OFTEN} THEN i % {REGULARS}
                ELSE CAST(floor({PATIENTS} * draw(i, 8)) AS BIGINT) END AS patient_id,
            CASE WHEN i < {REGULARS * OFTEN} THEN 'insulin'
                WHEN w < 0.36 THEN 'ibuprofen' WHEN w < 0.6 THEN 'amoxicillin' WHEN w < 0.78 THEN 'metformin'
                WHEN w < 0.9 THEN 'statin' WHEN w < 0.97 THEN 'insulin' WHEN w < 0.9995 THEN 'warfarin'
                ELSE 'trial drug ' || (i % 90) END AS drug,
            CAST(1 + floor(30 * v * v) AS INTEGER) AS doses
        FROM (SELECT i, draw(i, 9) AS w, draw(i, 10) AS v FROM range({PRESCRIPTIONS}) t(i))""",
}


def make_hospital(folder: Path, engine: str = "duckdb") -> Path:
    """Return the path of the privet.toml of a hospital that is written into a folder, to be read by an engine."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(_DRAW)
        for name, query in _MAKE.items():
            target = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet)")
    declared = folder / "privet.toml"
    named = "" if engine == "duckdb" else f'\n[engine]\nkind = "{engine}"\n'
    declared.write_text(DECLARED + named, encoding="utf-8")
    return declared


def true_rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    """Return the result of a query on the bare data. For the demo alone, whose data are made up."""
    import duckdb

    with duckdb.connect() as connection:
        for name in TABLES:
            source = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"CREATE VIEW {name} AS FROM '{source}'")
        return connection.execute(query).fetchall()


# The demo's questions. To show one thing more, add a question: the demo asks them in order and shows the answers.


@dataclass(frozen=True)
class Question:
    """A question, its lesson and its cost; no cost where the question itself states how wide it may be.

    `truth` returns the same columns as `sql` without any privacy, where there is an answer; `most` is how many of its
    rows are printed, and `pictured` whether it goes into the picture. `at_most` is the most that a width may cost,
    where that depends on the data. `clipped` marks the question whose total is too low on purpose: its interval does
    not cover the truth, and its remark explains why.
    """

    shows: str
    sql: str
    epsilon: Fraction | None
    truth: str = ""
    remark: str = ""
    most: int | None = None
    pictured: bool = False
    at_most: Fraction | None = None
    clipped: bool = False


QUESTIONS = (
    Question(
        "A patient counts, not a visit",
        "SELECT COUNT(DISTINCT patient_id) AS patients, COUNT(*) AS visits FROM visits",
        Fraction(1, 4),
        "SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM visits",
        "The noise of the visits is larger: it hides all visits of a patient, up to the 15 that privet.toml declares. "
        "≥ means at least, up to noise: a patient with more than 15 visits would count as 15.",
    ),
    Question(
        "Contributions above the limit are scaled down, on purpose",
        "SELECT COUNT(*) AS prescriptions FROM prescriptions",
        Fraction(1, 8),
        "SELECT COUNT(*) FROM prescriptions",
        f"{REGULARS} patients have {OFTEN} prescriptions each, and privet.toml declares a limit of "
        f"{DECLARED_DRUGS * DECLARED_EACH} that nearly everyone stays within. Each of the {REGULARS} counts as "
        f"{DECLARED_DRUGS * DECLARED_EACH}, so that no one's presence shows, and the total is too low by about "
        f"{REGULARS * (OFTEN - DECLARED_DRUGS * DECLARED_EACH):,}; this interval does not cover that.",
        clipped=True,
    ),
    Question(
        "Averages by group",
        "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
        Fraction(1, 2),
        "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward",
    ),
    Question(
        "Medians",
        "SELECT ward, MEDIAN(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
        Fraction(1, 4),
        "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward",
    ),
    Question(
        "Two tables, joined by whose rows they are",
        "SELECT region, AVG(cost) AS cost FROM visits JOIN patients USING (patient_id) GROUP BY region ORDER BY region",
        Fraction(1, 4),
        "SELECT region, AVG(cost) FROM visits JOIN patients USING (patient_id) GROUP BY region",
    ),
    Question(
        "How wide an answer may be, instead of what it may cost",
        "SELECT COUNT(DISTINCT patient_id) AS elderly FROM visits WHERE age >= 65 WITHIN 50 CONFIDENCE 0.99",
        None,
        "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE age >= 65",
        "The least epsilon that keeps the answer within 50, 99 times of 100, from public facts alone.",
    ),
    Question(
        "The same for averages: rounds, each twice as dear as the last, until they are narrow enough",
        "SELECT ward, AVG(age) AS age FROM visits GROUP BY ward ORDER BY ward WITHIN 1%",
        None,
        "SELECT ward, AVG(age) FROM visits GROUP BY ward",
        at_most=Fraction(1, 2),
    ),
    Question(
        "Groups that were not declared",
        "SELECT drug, COUNT(DISTINCT patient_id) AS patients FROM prescriptions GROUP BY drug ORDER BY patients DESC",
        Fraction(1, 2),
        "SELECT drug, COUNT(DISTINCT patient_id) FROM prescriptions GROUP BY drug",
        "A drug that only a few take could point at one of them, so it does not show.",
    ),
    Question(
        "A year of flu, day by day",
        "SELECT day, COUNT(*) AS flu FROM visits WHERE diagnosis = 'flu' GROUP BY day ORDER BY day",
        Fraction(1, 2),
        "SELECT day, COUNT(*) FROM visits WHERE diagnosis = 'flu' GROUP BY day",
        most=4,
        pictured=True,
    ),
    Question(
        "The same numbers in other words are free",
        "SELECT ward, AVG(cost) * COUNT(*) AS total FROM visits GROUP BY ward HAVING COUNT(*) > 80000 ORDER BY ward",
        Fraction(1, 2),
        "SELECT ward, SUM(cost) FROM visits GROUP BY ward HAVING COUNT(*) > 80000",
    ),
    Question("What would expose people is refused", "SELECT * FROM visits", Fraction(1, 10)),
    Question("A budget that is gone is gone", "SELECT AVG(age) AS age FROM visits", Fraction(3)),
)


# The made-up hospital of the demo in a database of a PostgreSQL server, with a role that may only read it.


_COLUMNS = {
    "patients": "patient_id bigint, born integer, region text",
    "visits": "patient_id bigint, age integer, ward text, diagnosis text, cost float8, day date",
    "prescriptions": "patient_id bigint, drug text, doses integer",
}
_KEPT = ("host", "hostaddr", "port", "sslmode", "sslrootcert")


@contextlib.contextmanager
def hospital_in_server(folder: Path, url: str, *, keep: bool) -> Iterator[Path]:
    """Yield the path of the privet.toml of a hospital in a separate database, which is dropped afterwards unless kept.

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
    place = urlencode({option: str(options[option]) for option in _KEPT if options.get(option)}, quote_via=quote)
    text = declared.read_text(encoding="utf-8")
    for table in TABLES:
        text = text.replace(f'source = "{table}.parquet"', f'source = {{ table = "{table}" }}')
    engine = f'[engine]\nkind = "postgres"\nurl = "postgresql://{name}@/{name}?{place}"\npassword_file = "password"\n'
    declared.write_text(f"{text}\n{engine}", encoding="utf-8")
    return declared


def _remove(owner: Any, name: str) -> None:
    owner.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    owner.execute(f"DROP ROLE IF EXISTS {name}")
