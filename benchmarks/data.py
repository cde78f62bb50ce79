"""The made-up table that queries are measured on, written once by DuckDB to .bench-data (not kept in the repository).

A million people and ten million visits to a thousand cities, a few cities each: popularity falls like 1/rank, and both
a person's visits and a person's cities have heavy tails. Rows come in no order.
"""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / ".bench-data"
ROWS, PEOPLE, CITIES = 10**7, 10**6, 1000

MAKE = f"""
CREATE TABLE people AS SELECT
    i AS person,
    1 + least(1000, floor(exp(1.8 + 0.95 * sqrt(-2 * ln(1 - a)) * cos(2 * pi() * b))))::INTEGER AS visits,
    1 + least(60, floor(exp(1.5 + 0.75 * sqrt(-2 * ln(1 - a)) * sin(2 * pi() * b))))::INTEGER AS homes
FROM (SELECT i, random() AS a, random() AS b FROM range({PEOPLE}) AS t(i));

CREATE TABLE visits AS SELECT
    person,
    floor(exp(ln({CITIES + 1}) * (hash(person * 64 + floor(random() * homes)::BIGINT) // 2048)::DOUBLE / 2.0 ** 53))
        ::INTEGER AS rank,
    random() AS x, random() AS y
FROM people, range(visits);

COPY (
    SELECT person, printf('city-%04d', rank) AS city,
        1000 * pow(x, 1 + (rank % 7) / 3 + (hash(person) % 5)::DOUBLE / 4) AS amount,
        (18 + floor(72 * y))::INTEGER AS age
    FROM visits ORDER BY y LIMIT {ROWS}
) TO '{{file}}' (FORMAT parquet);
"""


def cities() -> list[str]:
    """Return the names of all cities, which are public."""
    return [f"city-{rank:04d}" for rank in range(1, CITIES + 1)]


def visits(rows: int = ROWS) -> Path:
    """Return the file with the table, or with the visits of the first people only, making it if need be."""
    HOME.mkdir(exist_ok=True)
    whole = HOME / "visits.parquet"
    if not whole.is_file():
        _make(MAKE, whole)
    if rows == ROWS:
        return whole
    part = HOME / f"visits-{rows}.parquet"
    if not part.is_file():
        people = PEOPLE * rows // ROWS
        _make(f"COPY (SELECT * FROM '{whole}' WHERE person < {people}) TO '{{file}}' (FORMAT parquet)", part)
    return part


def _make(sql: str, file: Path) -> None:
    import duckdb

    unfinished = file.with_suffix(".unfinished")
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SELECT setseed(0.42)")
        connection.execute(sql.replace("{file}", str(unfinished)))
    unfinished.rename(file)


def truth(file: Path) -> dict[str, tuple[int, float]]:
    """Return every city's true count and average."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        found = connection.execute(f"SELECT city, count(*), avg(amount) FROM '{file}' GROUP BY city").fetchall()
    return {city: (count, average) for city, count, average in found}


def errors(released: dict[str, tuple[float, float]], true: dict[str, tuple[int, float]]) -> dict[str, float]:
    """Return mean absolute errors over all cities; one that was not released counts as no visits, of amount 500."""
    pairs = [(true[city], released.get(city, (0.0, 500.0))) for city in true]
    return {
        "count error": sum(abs(a[0] - b[0]) for a, b in pairs) / len(pairs),
        "average error": sum(abs(a[1] - b[1]) for a, b in pairs) / len(pairs),
    }
