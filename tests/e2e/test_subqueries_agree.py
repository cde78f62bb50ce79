"""Sub-queries and joins give what plain SQL gives, at negligible noise, with NULLs where SQL has them."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Contribution, Link, Person, PublicTable, Session, Table, category, date, integer, number, text

KINDS = {
    "people": {"id": pa.int64(), "sex": pa.string(), "born": pa.int64(), "city": pa.string()},
    "visits": {
        "vid": pa.int64(),
        "pid": pa.int64(),
        "ward": pa.string(),
        "cost": pa.float64(),
        "day": pa.date32(),
        "again": pa.int64(),
    },
    "drugs": {"visit": pa.int64(), "drug": pa.string(), "dose": pa.int64(), "ward": pa.string()},
    "cities": {"name": pa.string(), "pop": pa.int64(), "big": pa.bool_()},
    "rates": {"ward": pa.string(), "rate": pa.float64()},
    "single": {"highest": pa.float64()},
}


def world(seed: int) -> dict[str, pa.Table]:
    draw = random.Random(seed)
    some, first = draw.choice, datetime.date(2024, 1, 1)
    rows: dict[str, list[tuple[Any, ...]]] = {
        "people": [
            (i, some("fm") if i % 7 else None, some([None, 1950, 1970]), some(["u", "v", "w", None])) for i in range(60)
        ],
        "visits": [
            (
                i,
                draw.randrange(65),
                some(["a", "b", "c", None]),
                some([None, 1.0, 2.5, 10.0]),
                first + datetime.timedelta(days=draw.randrange(60)),
                some([None, 1, 2, 3]),
            )
            for i in range(200)
        ],
        "drugs": [
            (draw.randrange(200), some(["x", "y", None]), some([None, 1, 2, 3]), some(["a", "b", None]))
            for _ in range(300)
        ],
        "cities": [("u", 10, True), ("v", 20, False), (None, 5, True)],
        "rates": [("a", 1.5), ("a", 2.5), ("b", 3.0), (None, 9.0)],
        "single": [(3.0,)],
    }
    return {
        name: pa.table(
            {
                column: pa.array([row[place] for row in listed], kind)
                for place, (column, kind) in enumerate(KINDS[name].items())
            }
        )
        for name, listed in rows.items()
    }


def session_of(tables: dict[str, pa.Table]) -> Session:
    days = date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    return Session(
        {
            "people": Table(
                tables["people"],
                unit=Person("id"),
                columns={
                    "id": integer(),
                    "sex": category(["f", "m"], nullable=True),
                    "born": integer(1900, 2000, nullable=True),
                    "city": text(nullable=True),
                },
                contribution=Contribution(groups=1, rows=1),
                key="id",
            ),
            "visits": Table(
                tables["visits"],
                unit=Link("pid", to="people", column="id"),
                columns={
                    "vid": integer(),
                    "pid": integer(),
                    "ward": category(["a", "b", "c"], nullable=True),
                    "cost": number(0, 10, nullable=True),
                    "day": days,
                    "again": integer(0, 5, nullable=True),
                },
                contribution=Contribution(groups=20, rows=20),
            ),
            "drugs": Table(
                tables["drugs"],
                unit=Link("visit", to="visits", column="vid"),
                columns={
                    "visit": integer(nullable=True),
                    "drug": category(["x", "y"], nullable=True),
                    "dose": integer(0, 5, nullable=True),
                    "ward": category(["a", "b"], nullable=True),
                },
                contribution=Contribution(groups=50, rows=50),
            ),
            "cities": PublicTable(
                tables["cities"],
                columns={"name": text(nullable=True), "pop": integer(0, 100), "big": privet.boolean()},
                key="name",
            ),
            "rates": PublicTable(
                tables["rates"], columns={"ward": text(nullable=True), "rate": number(0, 10)}, rows=100
            ),
            "single": PublicTable(tables["single"], columns={"highest": number(0, 10)}, rows=10),
        },
        budget=privet.Approximate(epsilon=10**12, delta=1e-6),
    )


@pytest.fixture(scope="module", params=[1, 2])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    tables = world(request.param)
    plain = duckdb.connect()
    for name, table in tables.items():
        plain.register(name, table)
    with session_of(tables) as session:
        yield session, plain
    plain.close()


QUERIES = """\
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id);
SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.pid = p.id AND v.cost > 2);
SELECT COUNT(*) FROM people WHERE id IN (SELECT pid FROM visits WHERE ward = 'a');
SELECT COUNT(*) FROM people WHERE id NOT IN (SELECT pid FROM visits WHERE ward = 'a');
SELECT sex, COUNT(*) FROM people WHERE id NOT IN (SELECT pid FROM visits) GROUP BY sex;
SELECT COUNT(*) FROM visits WHERE vid IN (SELECT visit FROM drugs WHERE drug = 'x');
SELECT ward, COUNT(*) FROM visits WHERE vid NOT IN (SELECT visit FROM drugs WHERE drug = 'x') GROUP BY ward;
SELECT COUNT(*) FROM visits v WHERE v.ward IN (SELECT d.ward FROM drugs d WHERE d.visit = v.vid);
SELECT COUNT(*) FROM visits v WHERE v.ward NOT IN (SELECT d.ward FROM drugs d WHERE d.visit = v.vid);
SELECT COUNT(*) FROM visits v WHERE (v.ward IN (SELECT d.ward FROM drugs d WHERE d.visit = v.vid)) IS NULL;
SELECT COUNT(*) FROM visits v WHERE v.again NOT IN (SELECT d.dose FROM drugs d WHERE d.visit = v.vid AND drug = 'y')
    OR v.cost > 5;
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.pid = p.id) > 3;
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.pid = p.id) = 0;
SELECT COUNT(*) FROM people p WHERE (SELECT MAX(cost) FROM visits v WHERE v.pid = p.id) > 2;
SELECT COUNT(*) FROM people p WHERE (SELECT SUM(cost) FROM visits v WHERE v.pid = p.id) IS NULL;
SELECT AVG(LEAST((SELECT COUNT(*) FROM visits v WHERE v.pid = p.id), 10)) FROM people p;
SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.pid = v.pid);
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.day > v.day);
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.day > v.day AND w.day <
    v.day + INTERVAL 10 DAY);
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.ward <> v.ward);
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.vid <> v.vid);
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.vid <> v.vid AND w.ward
    = v.ward);
SELECT COUNT(*) FROM visits v WHERE (SELECT COUNT(*) FROM visits w WHERE w.pid = v.pid AND w.day <= v.day) = 1;
SELECT COUNT(*) FROM people WHERE city IN (SELECT name FROM cities);
SELECT COUNT(*) FROM people WHERE city NOT IN (SELECT name FROM cities);
SELECT COUNT(*) FROM people WHERE city NOT IN (SELECT name FROM cities WHERE name IS NOT NULL);
SELECT COUNT(*) FROM people WHERE city NOT IN (SELECT name FROM cities WHERE pop > 1000);
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE name = city AND big);
SELECT COUNT(*) FROM people WHERE NOT EXISTS (SELECT 1 FROM cities WHERE name = city);
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE pop > 15);
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE pop > 1500);
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE pop > 15) AND sex = 'f';
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(rate) FROM rates);
SELECT COUNT(*) FROM visits v WHERE cost > (SELECT MAX(rate) FROM rates r WHERE r.ward = v.ward);
SELECT COUNT(*) FROM visits v WHERE cost < (SELECT SUM(rate) FROM rates r WHERE r.ward = v.ward);
SELECT COUNT(*) FROM visits WHERE cost < (SELECT highest FROM single);
SELECT COUNT(*) FROM people WHERE born > (SELECT 1940 + pop FROM cities WHERE name = 'v');
SELECT COUNT(*) FROM people p WHERE (SELECT pop FROM cities WHERE name = p.city) > 15;
SELECT COUNT(*) FROM visits v WHERE (SELECT sex FROM people p WHERE p.id = v.pid) = 'f';
SELECT COUNT(*), SUM(CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id) THEN 1 ELSE 0 END) AS came FROM
    people p;
SELECT EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id) AS came, COUNT(*) FROM people p GROUP BY EXISTS (SELECT 1
    FROM visits v WHERE v.pid = p.id);
SELECT CASE WHEN id IN (SELECT pid FROM visits WHERE ward = 'b') THEN 'yes' ELSE 'no' END AS b, COUNT(*) FROM people
    GROUP BY 1;
SELECT COUNT(*) FROM people WHERE sex = 'f' OR id IN (SELECT pid FROM visits WHERE ward = 'a');
SELECT COUNT(*) FROM people WHERE id IN (SELECT pid FROM visits GROUP BY pid HAVING COUNT(*) > 3);
SELECT COUNT(*) FROM people WHERE id NOT IN (SELECT pid FROM visits GROUP BY pid HAVING COUNT(*) > 3);
SELECT COUNT(*) FROM visits WHERE vid IN (SELECT visit FROM drugs GROUP BY visit HAVING COUNT(*) > 1);
SELECT COUNT(*) FROM (SELECT visit, COUNT(*) AS n FROM drugs GROUP BY visit) WHERE n > 1;
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v, drugs d WHERE d.visit = v.vid AND v.pid = p.id
    AND d.drug = 'x');
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id AND EXISTS (SELECT 1 FROM drugs
    d WHERE d.visit = v.vid AND d.drug = 'y'));
SELECT COUNT(*) FROM people p WHERE p.id IN (SELECT v.pid FROM visits v WHERE v.vid IN (SELECT visit FROM drugs));
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id AND p.sex = 'f');
SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.id AND p.sex = 'f');
SELECT COUNT(*) FROM people p WHERE (p.id, 'a') IN (SELECT v.pid, v.ward FROM visits v);
SELECT COUNT(*) FROM people p WHERE (p.id, p.city) NOT IN (SELECT v.pid, v.ward FROM visits v);
SELECT COUNT(*) FROM visits v WHERE again = (SELECT MAX(dose) FROM drugs d WHERE d.visit = v.vid);
SELECT COUNT(*) FROM visits v WHERE v.cost IN (SELECT rate FROM rates);
SELECT COUNT(*) FROM visits v WHERE again NOT IN (SELECT rate FROM rates WHERE ward = 'b');
SELECT COUNT(*) FROM visits WHERE 'a' IN (SELECT ward FROM rates);
SELECT COUNT(*) FROM visits v WHERE 'a' NOT IN (SELECT d.ward FROM drugs d WHERE d.visit = v.vid);
SELECT COUNT(*) FROM visits v JOIN people p ON v.pid = p.id WHERE EXISTS (SELECT 1 FROM drugs d WHERE d.visit = v.vid
    AND d.drug = 'x') AND p.sex IN ('f');
SELECT COUNT(*) FROM visits v WHERE ward IN (SELECT ward FROM rates WHERE rate > 2) AND cost > 1;
SELECT COUNT(DISTINCT pid) FROM visits v WHERE v.vid IN (SELECT visit FROM drugs WHERE dose = 3);
SELECT COUNT(*) FROM (SELECT p.id, (SELECT COUNT(*) FROM visits v WHERE v.pid = p.id) AS n FROM people p) t WHERE n
    >= 2;
SELECT COUNT(*) FROM people p LEFT JOIN visits v ON v.pid = p.id WHERE v.vid IS NULL;
SELECT COUNT(*) FROM people p SEMI JOIN visits v ON v.pid = p.id AND v.cost > 2;
SELECT sex, COUNT(*) FROM people p ANTI JOIN visits v ON v.pid = p.id AND v.ward = 'a' GROUP BY sex;
SELECT COUNT(*) FROM people ANTI JOIN (SELECT pid AS id, ward FROM visits) v USING (id) WHERE sex = 'f';
SELECT COUNT(*) FROM people ANTI JOIN (SELECT pid AS id, ward FROM visits) v ON v.id = people.id WHERE sex = 'f';
SELECT COUNT(*), COUNT(v.vid), COUNT(p.sex) FROM people p FULL JOIN visits v ON v.pid = p.id AND v.cost > 2;
SELECT COUNT(*) FROM (SELECT pid, COUNT(*) AS a FROM visits WHERE ward = 'a' GROUP BY pid) x
    FULL OUTER JOIN (SELECT pid, COUNT(*) AS b FROM visits WHERE ward = 'b' GROUP BY pid) y ON x.pid = y.pid
    WHERE x.a IS NULL OR y.b IS NULL;
SELECT COALESCE(a, 0) > 0 AS a, COALESCE(b, 0) > 0 AS b, COUNT(pid) AS n
    FROM (SELECT pid, COUNT(*) AS a FROM visits WHERE ward = 'a' GROUP BY pid) x
    FULL JOIN (SELECT pid, COUNT(*) AS b FROM visits WHERE ward = 'b' GROUP BY pid) y USING (pid) GROUP BY 1, 2;
SELECT COUNT(*) FROM (SELECT pid, ward FROM visits UNION SELECT pid, ward FROM visits WHERE cost > 2);
SELECT COUNT(*) FROM (SELECT pid, ward FROM visits INTERSECT SELECT pid, ward FROM visits WHERE cost > 2);
SELECT COUNT(*) FROM (SELECT pid, ward FROM visits EXCEPT SELECT pid, ward FROM visits WHERE cost > 2);
SELECT ward, COUNT(*) FROM (SELECT pid, ward FROM visits EXCEPT SELECT pid, ward FROM visits WHERE cost > 2)
    GROUP BY ward;
SELECT COUNT(*) FROM (SELECT id FROM people EXCEPT SELECT pid FROM visits);
SELECT COUNT(*) FROM (SELECT id FROM people WHERE sex = 'f' UNION SELECT pid FROM visits WHERE ward = 'a'
    INTERSECT SELECT pid FROM visits WHERE ward = 'b');
SELECT COUNT(*) FROM people WHERE id IN (SELECT pid FROM visits WHERE ward = 'a' EXCEPT
    SELECT pid FROM visits WHERE ward = 'b');
SELECT COUNT(*) FROM people WHERE city IN (SELECT name FROM cities UNION SELECT ward FROM rates);
SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY pid ORDER BY day) AS s FROM visits) WHERE s > 5;
SELECT COUNT(*) FROM (SELECT AVG(cost) OVER (PARTITION BY pid ORDER BY day, vid ROWS BETWEEN 1 PRECEDING AND
    1 FOLLOWING) AS s FROM visits) WHERE s > 3;
SELECT ward, COUNT(*) FROM (SELECT ward, COUNT(*) OVER (PARTITION BY pid, ward) AS n, MAX(cost) OVER (PARTITION BY pid)
    AS m FROM visits) WHERE n > 1 AND m > 2 GROUP BY ward
"""


@pytest.mark.parametrize("sql", [one.strip() for one in QUERIES.split(";") if one.strip()])
def test_a_question_gives_what_plain_sql_gives(sql: str, both: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    session, plain = both
    cursor = plain.execute(sql)
    wanted = cursor.fetchall()
    answer = session.ask(sql, epsilon=10**9)
    names = list(next(iter(answer)))
    shown = [name for name in names if not any(name == f"{other}{end}" for other in names for end in ENDS)]
    found = [tuple(row[name] for name in shown) for row in answer]
    assert sorted(map(rounded, present(found)), key=str) == sorted(map(rounded, present(wanted)), key=str)


ENDS = ("_low", "_high", "_error", "_may_be_understated")


def present(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows of groups with people in them: declared ones are shown with none as well."""
    return [
        row
        for row in rows
        if any(isinstance(one, (int, float)) and not isinstance(one, bool) and abs(one) > 0.01 for one in row)
    ]


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        round(float(one), 2) + 0.0 if isinstance(one, (int, float)) and not isinstance(one, bool) else one
        for one in row
    )
