"""A made-up hospital for the demo: patients, visits and prescriptions, a million rows in all, and its privet.toml.

The numbers come from hashes of row numbers, so every demo has the same truth. Nobody in it exists.
"""

from __future__ import annotations

from pathlib import Path

PATIENTS, VISITS, PRESCRIPTIONS = 150_000, 500_000, 350_000
ROWS = PATIENTS + VISITS + PRESCRIPTIONS
TABLES = ("patients", "visits", "prescriptions")
REGULARS, OFTEN = 5, 200
"""So many patients come so often: what one person adds must not show, however often they come."""

DECLARED_GROUPS, DECLARED_ROWS = 3, 4
"""What a patient typically contributes to the visits, as the custodian declares it."""

DECLARED = f"""\
# What the custodian of a made-up hospital declares: who is protected, and what is public.
[budget]
epsilon = 3
delta = 1e-6

[tables.patients]
source = "patients.parquet"
unit = "patient_id"
version = "2025"

[tables.patients.columns]
patient_id = "integer"
born = {{ kind = "integer", low = 1925, high = 2025 }}
region = {{ values = ["east", "north", "south", "west"] }}

[tables.visits]
source = "visits.parquet"
unit = "patient_id"
contribution = {{ groups = {DECLARED_GROUPS}, rows = {DECLARED_ROWS} }}
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
contribution = {{ groups = 4, rows = 2 }}
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
            SELECT i, CASE WHEN i < {REGULARS * OFTEN} THEN i % {REGULARS}
                    ELSE CAST(floor({PATIENTS} * draw(i, 3)) AS BIGINT) END AS patient_id,
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
            round(-[250, 180, 600, 900, 450][place] * ln(1 - 0.99 * z), 2) AS cost,
            DATE '2025-01-01' + d AS day
        FROM placed""",
    "prescriptions": f"""
        SELECT CAST(floor({PATIENTS} * draw(i, 8)) AS BIGINT) AS patient_id,
            CASE WHEN w < 0.36 THEN 'ibuprofen' WHEN w < 0.6 THEN 'amoxicillin' WHEN w < 0.78 THEN 'metformin'
                WHEN w < 0.9 THEN 'statin' WHEN w < 0.97 THEN 'insulin' WHEN w < 0.9995 THEN 'warfarin'
                ELSE 'trial drug ' || (i % 90) END AS drug,
            CAST(1 + floor(30 * v * v) AS INTEGER) AS doses
        FROM (SELECT i, draw(i, 9) AS w, draw(i, 10) AS v FROM range({PRESCRIPTIONS}) t(i))""",
}


def make_hospital(folder: Path) -> Path:
    """Return the path of the privet.toml of a hospital that is written into a folder."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(_DRAW)
        for name, query in _MAKE.items():
            target = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet)")
    declared = folder / "privet.toml"
    declared.write_text(DECLARED, encoding="utf-8")
    return declared


def true_rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    """Return what a query gives on the bare data. For the demo alone, whose data are made up."""
    import duckdb

    with duckdb.connect() as connection:
        for name in TABLES:
            source = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"CREATE VIEW {name} AS FROM '{source}'")
        return connection.execute(query).fetchall()
