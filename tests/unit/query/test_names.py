"""Names with a schema before them, in quotes of any dialect, and in any case."""

from __future__ import annotations

import pyarrow
import pytest

import privet
from privet.core.errors import BadParameter, ParseError, RequestError, UnknownName, Unsupported
from privet.core.schema import Schema, category, integer
from privet.core.unit import Person
from privet.query.nodes import Query
from privet.query.sql.parse import parse, parse_view
from privet.query.sql.rewrites import find_table, read_schema

COLUMNS = {"user_id": integer(), "ward": category(["A", "B"]), "age": integer(0, 120)}
VISITS = Schema(unit=Person("user_id"), columns=COLUMNS)
TABLES = {"visits": VISITS, "PUMS": VISITS, "sales.orders": VISITS}


def ask(text: str, schema: str | None = None) -> Query:
    return parse(text, TABLES, schema=schema)


PLAIN = ask("SELECT ward, AVG(age) AS a FROM visits WHERE age > 3 GROUP BY ward")


@pytest.mark.parametrize(
    "same",
    [
        "SELECT ward, AVG(age) AS a FROM public.visits WHERE age > 3 GROUP BY ward",
        "SELECT Visits.WARD, AVG(visits.Age) AS a FROM PUBLIC.Visits WHERE public.VISITS.age > 3 GROUP BY "
        "public.visits.ward",
        'SELECT "public"."visits"."ward", AVG("age") AS a FROM "public"."visits" WHERE age > 3 GROUP BY 1',
        "SELECT `ward`, AVG(`visits`.`age`) AS a FROM `public`.`visits` WHERE age > 3 GROUP BY ward",
        "SELECT ward, AVG(v.age) AS a FROM `public.visits` v WHERE age > 3 GROUP BY ward",
        "SELECT [ward], AVG([visits].[age]) AS [a] FROM [public].[visits] WHERE [age] > 3 GROUP BY [ward]",
        "SELECT ward, AVG(age) a FROM visits.visits WHERE visits.visits.age > 3 GROUP BY ward",
    ],
)
def test_a_name_with_its_schema_is_the_table_itself(same: str) -> None:
    assert ask(same) == PLAIN


@pytest.mark.parametrize("schema", ["clinic", "warehouse.clinic"])
def test_a_declared_schema_stands_before_every_table(schema: str) -> None:
    assert (
        ask("SELECT ward, AVG(age) AS a FROM Clinic.visits WHERE clinic.visits.age > 3 GROUP BY ward", schema) == PLAIN
    )
    for other in ("public", "visits", '"Clinic"', "other.clinic"):
        with pytest.raises(UnknownName, match="no schema") as refused:
            ask(f"SELECT COUNT(*) FROM {other}.visits", schema)
        assert refused.value.what == "schema"
        assert f"{schema}.visits" in str(refused.value)


def test_a_catalogue_is_declared_with_the_schema() -> None:
    same = ask("SELECT COUNT(*) FROM visits")
    assert ask("SELECT COUNT(*) FROM warehouse.clinic.visits", "warehouse.clinic") == same
    with pytest.raises(UnknownName, match=r"no schema 'other\.clinic'"):
        ask("SELECT COUNT(*) FROM other.clinic.visits", "warehouse.clinic")
    with pytest.raises(UnknownName, match=r"no schema 'warehouse\.clinic'"):
        ask("SELECT COUNT(*) FROM warehouse.clinic.visits", "clinic")
    with pytest.raises(Unsupported, match=r"catalogue\.schema\.table"):
        ask("SELECT COUNT(*) FROM a.warehouse.clinic.visits", "warehouse.clinic")


def test_a_schema_may_be_called_as_its_table() -> None:
    asked = ask("SELECT AVG(PUMS.age), MAX(PUMS.PUMS.age) FROM PUMS.PUMS")
    assert asked.table == "PUMS"
    assert asked == ask("SELECT AVG(age), MAX(age) FROM PUMS")


def test_a_table_may_be_declared_with_its_schema() -> None:
    same = ask('SELECT AVG(age) FROM "sales.orders"')
    assert same.table == "sales.orders"
    assert ask("SELECT AVG(orders.age) FROM Sales.Orders") == same
    assert ask("SELECT AVG(sales.orders.age) FROM sales.orders") == same
    assert ask("SELECT AVG(o.age) FROM sales.orders o") == same
    with pytest.raises(UnknownName, match=r"did you mean 'sales\.orders'"):
        ask("SELECT AVG(age) FROM sale.orders")


def test_a_cte_hides_a_table_but_not_its_full_name() -> None:
    cte = "WITH visits AS (SELECT * FROM public.visits WHERE age > 3) "
    assert ask(cte + "SELECT ward, AVG(age) AS a FROM visits GROUP BY ward") == PLAIN
    whole = ask(cte + "SELECT COUNT(*) FROM public.visits p JOIN visits v ON p.user_id = v.user_id")
    assert whole != ask(cte + "SELECT COUNT(*) FROM visits p JOIN visits v ON p.user_id = v.user_id")


def test_a_view_has_the_schema_of_the_tables() -> None:
    views = {"adults": parse_view("SELECT * FROM clinic.visits WHERE age > 3", TABLES, {}, schema="clinic")}
    query = "SELECT ward, AVG(age) AS a FROM clinic.adults GROUP BY ward"
    assert parse(query, TABLES, views, schema="clinic") == PLAIN
    with pytest.raises(RequestError, match="view and of a CTE"):
        parse(f"WITH adults AS (SELECT * FROM visits) {query}", TABLES, views, schema="clinic")


@pytest.mark.parametrize(
    ("query", "error", "told"),
    [
        ("SELECT COUNT(*) FROM hospital.visits", UnknownName, "write public.visits, or visits alone"),
        ('SELECT COUNT(*) FROM "Public".visits', UnknownName, "no schema 'Public'"),
        ('SELECT COUNT(*) FROM public."Visits"', UnknownName, "no table 'public.Visits'"),
        ("SELECT COUNT(*) FROM public.nothing", UnknownName, "no table 'public.nothing'"),
        ("SELECT AVG(public.visits.age) FROM public.visits v", Unsupported, "write alias.age"),
        ("SELECT AVG(public.PUMS.age) FROM public.visits", Unsupported, "FROM does not name"),
        ("SELECT AVG(hospital.visits.age) FROM visits", UnknownName, "no schema 'hospital'"),
        ("SELECT AVG(age[1]) FROM visits", Unsupported, "lists"),
        ("SELECT AVG([age, age]) FROM visits", Unsupported, "lists"),
        ("SELECT AVG([1]) FROM visits", Unsupported, "lists"),
        ("SELECT AVG(age) FROM [visits", Unsupported, "lists"),
        ("SELECT AVG(age) FROM `visits", ParseError, "does not end"),
        ("SELECT COUNT(*) FROM information_schema.tables", UnknownName, "no table"),
        ("SELECT COUNT(*) FROM public.read_csv('x')", Unsupported, "functions"),
    ],
)
def test_other_names_are_refused_by_name(query: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        ask(query)


def test_quoted_parts_are_exact_and_others_are_not() -> None:
    names = ("visits", "a.b")
    assert find_table([("VISITS", False)], names, None) == "visits"
    assert find_table([("A", False), ("B", False)], names, None) == "a.b"
    for path in ([("VISITS", True)], [("a", True), ("B", True)], [("PUBLIC", True), ("visits", False)]):
        with pytest.raises(UnknownName):
            find_table(path, names, None)


@pytest.mark.parametrize("schema", ["", ".", "a.", "a.b.c", " ", 3, b"x", "x" * 300])
def test_a_schema_is_a_name_or_two(schema: object) -> None:
    with pytest.raises(BadParameter):
        read_schema(schema)


def table(**columns: object) -> privet.Table:
    rows = pyarrow.table({"user_id": [1, 2, 3], "age": [30, 40, 50]})
    return privet.Table(
        rows,
        unit=Person("user_id"),
        columns={"user_id": integer(), "age": integer(0, 120), **columns},  # type: ignore[dict-item]
        contribution=privet.Contribution(groups=1, rows=1),
    )


def test_names_that_differ_in_case_only_are_refused_at_declaration() -> None:
    with pytest.raises(BadParameter, match="'visits' as well"):
        privet.Session({"visits": table(), "Visits": table()}, budget=privet.Pure(epsilon=1))
    with pytest.raises(BadParameter, match="'age' as well"):
        table(Age=integer(0, 9))
    with pytest.raises(BadParameter):
        privet.Session({"visits": table()}, budget=privet.Pure(epsilon=1), views={"VISITS": "SELECT * FROM visits"})


def test_a_session_has_a_schema_in_sql_and_in_python() -> None:
    budget = privet.Pure(epsilon=1)
    with privet.Session(
        {"visits": table()}, budget=budget, schema="clinic", views={"old": "SELECT * FROM clinic.visits WHERE age > 35"}
    ) as session:
        plain = session.plan("SELECT COUNT(*) AS n FROM visits").digest
        assert session.plan("SELECT COUNT(*) AS n FROM clinic.visits").digest == plain
        assert session.plan(session.table("clinic.visits").agg(n=privet.count())).digest == plain
        assert session.plan("SELECT COUNT(*) AS n FROM Clinic.Old").digest != plain
        with pytest.raises(UnknownName, match="no schema 'public'"):
            session.table("public.visits")
    with privet.Session({"visits": table()}, budget=budget) as session:
        assert session.plan("SELECT COUNT(*) AS n FROM visits").digest == plain
