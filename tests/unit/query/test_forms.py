"""Forms that say in other words what is understood are read as the same question."""

from __future__ import annotations

import pytest

from privet.core.errors import RequestError, Unsupported
from privet.core.schema import Contribution, Schema, category, integer, number, text
from privet.core.unit import Nobody, Person
from privet.query.sql.parse import parse

VISITS = Schema(
    unit=Person("u"),
    columns={"u": integer(), "ward": category(["A", "B"]), "urgent": category([0, 1]), "cost": number(0, 100)},
    contribution=Contribution(groups=1, rows=1),
)
PEOPLE = Schema(
    unit=Person("u"), columns={"u": integer(), "age": integer(0, 120)}, contribution=VISITS.contribution, key="u"
)
WARDS = Schema(
    unit=Nobody(), columns={"ward": category(["A", "B"]), "beds": integer(0, 99), "title": text()}, key="ward"
)
TABLES = {"visits": VISITS, "people": PEOPLE, "wards": WARDS}

SAME = [
    (
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH ROLLUP",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)",
    ),
    (
        "SELECT ward, urgent, COUNT(*) FROM visits GROUP BY ward, urgent WITH CUBE",
        "SELECT ward, urgent, COUNT(*) FROM visits GROUP BY CUBE (ward, urgent)",
    ),
    ("SELECT COUNT(*) FROM visits NATURAL JOIN people", "SELECT COUNT(*) FROM visits JOIN people USING (u)"),
    (
        "SELECT SUM(beds) FROM visits NATURAL LEFT JOIN wards",
        "SELECT SUM(beds) FROM visits LEFT JOIN wards USING (ward)",
    ),
    (
        "SELECT COUNT(*) FROM visits NATURAL JOIN people NATURAL JOIN wards WHERE age > 3",
        "SELECT COUNT(*) FROM visits JOIN people USING (u) JOIN wards USING (ward) WHERE age > 3",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward = ANY ('A', 'B')", "SELECT COUNT(*) FROM visits WHERE ward IN ('A', 'B')"),
    (
        "SELECT COUNT(*) FROM visits WHERE ward = SOME (SELECT ward FROM wards WHERE beds > 3)",
        "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 3)",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE ward <> ALL (SELECT ward FROM wards WHERE beds > 3)",
        "SELECT COUNT(*) FROM visits WHERE NOT ward IN (SELECT ward FROM wards WHERE beds > 3)",
    ),
    ("SELECT COUNT(*) FROM visits WHERE cost IN (VALUES (1), (2))", "SELECT COUNT(*) FROM visits WHERE cost IN (1, 2)"),
    (
        "SELECT COUNT(*) FROM visits WHERE (ward, cost) IN (VALUES ('A', 1), ('B', 2))",
        "SELECT COUNT(*) FROM visits WHERE (ward, cost) IN (('A', 1), ('B', 2))",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT cost FROM visits ORDER BY cost DESC) WHERE cost > 3",
        "SELECT COUNT(*) FROM (SELECT cost FROM visits) WHERE cost > 3",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT u, cost FROM visits WHERE urgent = 1 "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY u ORDER BY cost) = 1)",
        "SELECT COUNT(*) FROM (SELECT u, cost, ROW_NUMBER() OVER (PARTITION BY u ORDER BY cost) AS row_number "
        "FROM visits WHERE urgent = 1) WHERE row_number = 1",
    ),
    (
        "PIVOT visits ON urgent USING COUNT(*) GROUP BY ward ORDER BY ward DESC LIMIT 1",
        "SELECT * FROM (PIVOT visits ON urgent USING COUNT(*) GROUP BY ward) ORDER BY ward DESC LIMIT 1",
    ),
]


@pytest.mark.parametrize(("written", "meant"), SAME)
def test_a_form_is_read_as_what_it_means(written: str, meant: str) -> None:
    assert parse(written, TABLES) == parse(meant, TABLES)


REFUSED = [
    "SELECT COUNT(*) FROM visits WHERE cost > ANY (SELECT beds FROM wards)",
    "SELECT COUNT(*) FROM visits WHERE cost = ALL (SELECT beds FROM wards)",
    "SELECT COUNT(*) FROM visits WHERE cost = ANY (SELECT cost FROM visits)",
    "SELECT COUNT(*) FROM visits NATURAL JOIN (SELECT age AS old FROM people)",
    "SELECT COUNT(*) FROM visits POSITIONAL JOIN wards",
    "SELECT COUNT(*) FROM (SELECT cost FROM visits ORDER BY cost LIMIT 5)",
    "SELECT COUNT(*) FROM (SELECT cost FROM visits LIMIT 5)",
    "SELECT COUNT(*) FROM (SELECT cost FROM visits ORDER BY cost OFFSET 5)",
    "SELECT COUNT(*) FROM (SELECT cost FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY cost) = 1)",
    "SELECT COUNT(*) FROM (SELECT cost FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY cost) = 1)",
    "SELECT COUNT(*) FROM (SELECT u FROM visits QUALIFY COUNT(*) OVER () > 5)",
    "SELECT u FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY u ORDER BY cost) = 1",
    "SELECT COUNT(*) FROM (SELECT DISTINCT beds FROM wards ORDER BY beds LIMIT 2) AS w, visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY WITH ROLLUP",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_reaches_across_people_or_means_something_else_is_refused(sql: str) -> None:
    with pytest.raises(RequestError):
        parse(sql, TABLES)


def test_the_first_public_rows_are_taken_by_their_order() -> None:
    first = "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards ORDER BY beds DESC LIMIT {})"
    assert parse(first.format(1), TABLES) != parse(first.format(2), TABLES)
    with pytest.raises(Unsupported, match="DISTINCT"):
        parse(first.format(1).replace("SELECT ward FROM wards", "SELECT DISTINCT ward FROM wards"), TABLES)


def test_a_constant_that_a_sub_query_is_asked_with_is_a_condition_on_its_rows() -> None:
    rows = "SELECT COUNT(*) FROM (SELECT u, 'A' AS k FROM visits) AS v"
    asked = f"{rows} WHERE (SELECT beds FROM wards w WHERE w.ward = {{}}) > 3"
    assert parse(asked.format("v.k"), TABLES) == parse(asked.format("'A'"), TABLES)
    with pytest.raises(RequestError):  # whose row is met must be said
        parse(
            "SELECT COUNT(*) FROM (SELECT u, 5 AS k FROM visits) AS v WHERE EXISTS "
            "(SELECT 1 FROM people p WHERE p.u = v.k)",
            TABLES,
        )
