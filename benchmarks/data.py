"""The made-up table that queries are measured on, written once by DuckDB to .bench-data (not kept in the repository).

A million people and ten million visits to a thousand cities, a few cities each: popularity falls like 1/rank, and both
a person's visits and a person's cities have heavy tails. Rows come in no order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / ".bench-data"
ROWS, PEOPLE, CITIES, REGIONS = 10**7, 10**6, 1000, 50

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


def regions() -> list[str]:
    """Return the names of all regions, which are public."""
    return [f"region-{index:02d}" for index in range(REGIONS)]


def people() -> Path:
    """Return the file with a row for each person, making it if need be."""
    HOME.mkdir(exist_ok=True)
    file = HOME / "people.parquet"
    if not file.is_file():
        region = f"printf('region-%02d', floor({REGIONS} * pow(random(), 2))::INTEGER)"
        made = f"SELECT i AS person, {region} AS region, (1930 + floor(80 * random()))::INTEGER AS born"
        _make(f"COPY ({made} FROM range({PEOPLE}) AS t(i) ORDER BY random()) TO '{{file}}' (FORMAT parquet)", file)
    return file


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
    """Return mean absolute errors over all cities, and over the 100 largest, which every system shows nearly all of.

    A city that was not released counts as no visits, of amount 500.
    """
    largest = sorted(true, key=lambda city: -true[city][0])[:100]
    found = {}
    for name, cities in (("", list(true)), (", 100 largest", largest)):
        pairs = [(true[city], released.get(city, (0.0, 500.0))) for city in cities]
        found[f"count error{name}"] = sum(abs(a[0] - b[0]) for a, b in pairs) / len(pairs)
        found[f"average error{name}"] = sum(abs(a[1] - b[1]) for a, b in pairs) / len(pairs)
    return found


Tried = dict[str, float]


def tuned(record: str, groups: list[int], each: list[int], attempt: Callable[[int, int], Tried]) -> tuple[Tried, str]:
    """Return the bounds with the least error in counts and averages together, and all that were tried, in words.

    The number of cities is tuned at the first number of visits, then that of visits at the best number of cities.
    Each setting is tried once and kept; one run each, so that the least also had some luck.
    """
    file = HOME / f"{record}.json"
    known: list[Tried] = json.loads(file.read_text()) if file.is_file() else []
    tried: list[Tried] = []
    for most in each:
        for number in groups if most == each[0] else [int(_best(tried[: len(groups)])["groups"])]:
            found = next((one for one in known if (one["groups"], one["rows"]) == (number, most)), None)
            if found is None:
                found = {"groups": number, "rows": most, **attempt(number, most)}
                known.append(found)
                file.write_text(json.dumps(known, indent=1))
            tried.append(found)
    best = _best(tried)
    listed = "; ".join(
        f"{one['groups']:g} x {one['rows']:g}: {one['count error']:.4g}, {one['average error']:.4g}" for one in tried
    )
    chosen = f"{best['groups']:g} x {best['rows']:g}"
    return best, f"tuned (cities x visits: errors): {listed}; chosen {chosen}"


def _best(tried: list[Tried]) -> Tried:
    return min(tried, key=lambda one: one["count error"] * one["average error"])


PREDICTORS = 10


def measured(rows: int) -> Path:
    """Return a file of numbers from -1 to 1, with the person whom each row is of, five rows each; made if need be."""
    HOME.mkdir(exist_ok=True)
    file = HOME / f"measured-{rows}.parquet"
    if not file.is_file():
        numbers = ", ".join(f"2 * random() - 1 AS x{place}" for place in range(PREDICTORS))
        _make(
            f"COPY (SELECT (hash(i) % {rows // 5})::BIGINT AS person, {numbers}, 2 * random() - 1 AS y "
            f"FROM range({rows}) AS t(i)) TO '{{file}}' (FORMAT parquet);",
            file,
        )
    return file


SCALED = """
CREATE MACRO uniform(i, salt) AS (hash(i * 16 + salt) // 2048)::DOUBLE / 2.0 ** 53;

COPY (
    SELECT person, printf('city-%04d', rank) AS city,
        1000 * pow(uniform(i, 4), 1 + (rank % 7) / 3 + (hash(person) % 5)::DOUBLE / 4) AS amount,
        (18 + floor(72 * uniform(i, 5)))::INTEGER AS age
    FROM (
        SELECT i, person,
            floor(exp(ln({cities} + 1) * uniform(person * 64 + floor(uniform(i, 2) * homes)::BIGINT, 3)))::INTEGER
                AS rank
        FROM (
            SELECT i, person,
                1 + least(60, floor(exp(1.5 + 0.75 * sqrt(-2 * ln(1 - uniform(person, 6)))
                    * cos(2 * pi() * uniform(person, 7)))))::INTEGER AS homes
            FROM (SELECT i, floor({people} * pow(uniform(i, 1), 1.5))::BIGINT AS person FROM range({rows}) AS t(i))
        )
    )
) TO '{file}' (FORMAT parquet);
"""
"""Rows in no order, each made from its own number: any number of them takes no memory."""


def scaled(rows: int) -> Path:
    """Return the file with this many visits, ten a person on average and heavy tails, making it if need be."""
    HOME.mkdir(exist_ok=True)
    file = HOME / f"scaled-{rows}.parquet"
    if not file.is_file():
        made = SCALED.replace("{cities}", str(CITIES)).replace("{people}", str(rows // 10))
        _make(made.replace("{rows}", str(rows)), file)
    return file
