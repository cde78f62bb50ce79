"""A made-up hospital for the demo: a million visits by two hundred thousand patients, as one Parquet file.

The numbers come from hashes of the row number, so every demo has the same truth. Nobody in it exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privet.core.schema import Table

VISITS = 1_000_000
PATIENTS = 200_000
WARDS = ("births", "children", "heart", "surgery", "trauma")

_MAKE = """
COPY (
    WITH drawn AS (
        SELECT i, (hash(i) % 1000000) / 1e6 AS u, (hash(i + 10000000) % 1000000) / 1e6 AS v,
            (hash(i + 20000000) % 1000000) / 1e6 AS w, (hash(i + 30000000) % 1000000) / 1e6 AS z
        FROM range({visits}) t(i)
    )
    SELECT
        CAST(floor({patients} * u) AS BIGINT) AS patient_id,
        CAST(20 + hash(floor({patients} * u)) % 60 + 15 * v AS INTEGER) AS age,
        ['births', 'children', 'heart', 'surgery', 'trauma'][CAST(1 + floor(5 * v * v) AS INTEGER)] AS ward,
        CASE WHEN w < 0.55 THEN 'flu' WHEN w < 0.8 THEN 'fracture' WHEN w < 0.95 THEN 'burn' WHEN w < 0.9998 THEN 'gout'
            ELSE 'rarity ' || i END AS diagnosis,
        round(-400 * ln(1 - 0.999 * z), 2) AS cost,
        DATE '2025-01-01' + CAST(floor(365 * v) AS INTEGER) AS day
    FROM drawn
) TO '{path}' (FORMAT parquet)
"""


def make_visits(folder: Path) -> Path:
    """Return the path of the visits, written into a folder."""
    import duckdb

    path = folder / "visits.parquet"
    duckdb.connect().execute(_MAKE.format(visits=VISITS, patients=PATIENTS, path=path))
    return path


def declare(path: Path) -> Table:
    """Return the table as its custodian would declare it: who is protected, and what is public."""
    import datetime

    from privet.core import schema
    from privet.core.unit import Person

    return schema.Table(
        str(path),
        unit=Person("patient_id"),
        columns={
            "patient_id": schema.integer(),
            "age": schema.integer(0, 110),
            "ward": schema.category(list(WARDS)),
            "diagnosis": schema.text(),
            "cost": schema.number(0, 2000),
            "day": schema.date(datetime.date(2025, 1, 1), datetime.date(2025, 12, 31)),
        },
        contribution=schema.Contribution(groups=3, rows=3),
    )
