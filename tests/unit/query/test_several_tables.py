"""Joins, sub-queries within people, unions: what they are read into, and why the rest is refused."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction

import pytest

from privet.core.errors import InvariantError, RequestError, UnknownName, Unsupported
from privet.core.relation import By, Call, ColumnRef, Derive, GroupWithin, Join, Literal, Rank, Union, Within, tables_of
from privet.core.schema import Contribution, PublicTable, Schema, category, date, followed, integer, number, text
from privet.core.unit import Link, Person, Rows
from privet.query.build import check_categories
from privet.query.frame import Frame, col, count, sum, table
from privet.query.join import WORK, check_fanout, effort, joins_of
from privet.query.nodes import PrivateRows, Query
from privet.query.shape import schema_of, schema_within_limits
from privet.query.sql.parse import parse, parse_view

VISITS = Schema(
    unit=Person("person"),
    columns={
        "id": integer(),
        "person": integer(nullable=True),
        "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
        "ward": category(["a", "b"]),
        "cost": number(0, 100, step=Fraction(1, 100)),
    },
    contribution=Contribution(groups=2, rows=3),
    rows=10**6,
)
DRUGS = Schema(
    unit=Link("visit", to="visits", column="id"),
    columns={"visit": integer(), "dose": number(0, 8), "code": text()},
    contribution=Contribution(groups=1, rows=5),
)
PEOPLE = Schema(
    unit=Person("person"),
    columns={"person": integer(), "sex": category(["f", "m"]), "zip": text(), "weight": number()},
)
TABLES = followed(
    {
        "visits": VISITS,
        "drugs": DRUGS,
        "people": PEOPLE,
        "zips": PublicTable(None, columns={"zip": text(), "region": category(["n", "s"])}, key="zip", rows=50).schema,
        "codes": PublicTable(None, columns={"code": text(), "least": number(0, 9)}).schema,
        "events": Schema(unit=Rows(), columns={"zip": text(), "x": integer(0, 9)}, neighbors="add-remove"),
        "staff": Schema(unit=Person("badge"), columns={"badge": integer(), "person": integer()}),
        "texts": Schema(unit=Person("person"), columns={"person": text(), "sex": text()}),
        "other": Schema(unit=Person("person"), columns={"person": integer()}, neighbors="change-one"),
    }
)


def ask(sql: str) -> Query:
    return parse(sql, TABLES)


def rows(sql: str) -> PrivateRows:
    return parse_view(sql, TABLES, {})


PEOPLE_NAMES = (("person_2", "person"), ("sex", "sex"), ("zip", "zip"), ("weight", "weight"))


def test_a_join_on_the_unit_is_held_to_it_without_a_condition() -> None:
    asked = ask("SELECT p.sex, COUNT(*) FROM visits v JOIN people p ON v.person = p.person GROUP BY p.sex")
    assert asked.table == Join("visits", "people", "inner", PEOPLE_NAMES, most=10**5)
    assert asked.keys[0].expression == ColumnRef("sex")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sex, COUNT(*) FROM visits JOIN people USING (person) GROUP BY sex",
        "SELECT people.sex, COUNT(*) FROM visits INNER JOIN people ON people.person = visits.person GROUP BY 1",
        "WITH p AS (SELECT person AS who, sex FROM people) SELECT sex, COUNT(*) FROM visits JOIN p ON who = person "
        "GROUP BY sex",
        "SELECT s, COUNT(*) FROM (SELECT sex AS s FROM visits v JOIN people p ON p.person = v.person) GROUP BY s",
    ],
)
def test_the_same_join_is_the_same_tree_however_it_is_written(sql: str) -> None:
    plain = ask("SELECT p.sex, COUNT(*) FROM visits v JOIN people p ON v.person = p.person GROUP BY p.sex")
    found = ask(sql)
    assert (found.table, found.keys, found.aggregates) == (plain.table, plain.keys, plain.aggregates)


def test_the_sides_of_a_join_with_a_public_table_may_be_swapped() -> None:
    one = ask("SELECT region, COUNT(*) FROM people p JOIN zips z ON p.zip = z.zip GROUP BY region")
    other = ask("SELECT region, COUNT(*) FROM zips z JOIN people p ON p.zip = z.zip GROUP BY region")
    assert (one.table, one.keys) == (other.table, other.keys)
    left = ask("SELECT region, COUNT(*) FROM people p LEFT JOIN zips z USING (zip) GROUP BY region")
    right = ask("SELECT region, COUNT(*) FROM zips z RIGHT JOIN people p USING (zip) GROUP BY region")
    assert left.table == right.table
    assert left.table.kind == "left"


def test_conditions_of_an_inner_join_pend_and_those_of_a_left_joins_right_side_do_not() -> None:
    inner = ask("SELECT COUNT(*) FROM visits JOIN (SELECT * FROM people WHERE sex = 'f') p USING (person)")
    plain = ask("SELECT COUNT(*) FROM visits JOIN people p USING (person) WHERE sex = 'f'")
    assert (inner.table, inner.where) == (plain.table, plain.where)
    left = ask("SELECT COUNT(*) FROM visits LEFT JOIN (SELECT * FROM people WHERE sex = 'f') p USING (person)")
    assert isinstance(left.table.right, Derive)
    assert left.table.right.where == Call("equal", (ColumnRef("sex"), Literal("f")))
    assert left.where is None


def test_columns_of_a_left_joins_other_side_may_be_null() -> None:
    found = rows("SELECT v.person, p.sex, p.person AS other FROM visits v LEFT JOIN people p ON p.person = v.person")
    facts = found.schema.columns
    assert facts["sex"].nullable
    assert facts["person_2"].nullable
    assert found.columns["other"] == ColumnRef("person_2")  # not who owns the row: it may be missing
    assert found.schema.unit == Person("person")
    inner = rows("SELECT p.sex, p.person AS other FROM visits v JOIN people p ON p.person = v.person")
    assert not inner.schema.columns["sex"].nullable
    assert inner.columns["other"] == ColumnRef("person")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM drugs d JOIN visits v ON d.visit = v.id",
        "SELECT COUNT(*) FROM visits v JOIN drugs d ON d.visit = v.id AND v.cost > 5",
        "SELECT COUNT(*) FROM drugs d JOIN drugs e ON d.visit = e.visit",
        "SELECT COUNT(*) FROM drugs d LEFT JOIN people p USING (person)",
        "SELECT COUNT(*) FROM (SELECT visit AS at FROM drugs) d JOIN (SELECT id AS no FROM visits) v ON at = no",
        "SELECT COUNT(*) FROM visits v JOIN visits w ON v.id = w.id",
    ],
)
def test_a_link_says_who_owns_a_row_as_well_as_the_unit_does(sql: str) -> None:
    assert schema_of(ask(sql).table, TABLES).unit == Person("person")


def test_what_links_to_one_row_gives_no_more_than_before() -> None:
    joined = rows("SELECT * FROM drugs d JOIN visits v ON d.visit = v.id").schema
    assert joined.contribution == DRUGS.contribution
    assert joined.rows == DRUGS.rows
    assert (
        rows("SELECT v.ward FROM visits v LEFT JOIN drugs d ON d.visit = v.id").schema.rows == VISITS.rows + DRUGS.rows
    )
    assert rows("SELECT v.ward FROM visits v JOIN drugs d ON d.visit = v.id").schema.rows == DRUGS.rows
    wider = rows(
        "SELECT v.ward FROM visits v JOIN visits w ON v.person = w.person AND v.day < w.day",
    ).schema
    assert wider.contribution == Contribution(groups=4, rows=9)
    assert wider.rows == 10**12
    assert rows("SELECT * FROM people JOIN zips USING (zip)").schema.rows == PEOPLE.rows
    assert rows("SELECT ward FROM visits, codes").schema.rows == 10**6 * 10**5


def test_counts_within_a_person_are_bounded_by_rows_and_summed_as_is_typical() -> None:
    found = rows("SELECT person, COUNT(*) n, SUM(cost) s, AVG(cost) a, MAX(day) d FROM visits GROUP BY person")
    facts, typical = found.schema.columns, found.limited
    names = {name: one.name for name, one in found.columns.items() if isinstance(one, ColumnRef)}
    assert (facts[names["n"]].low, facts[names["n"]].high) == (1, 10**6)
    assert (typical[names["n"]].low, typical[names["n"]].high) == (1, 6)
    assert (facts[names["s"]].low, facts[names["s"]].high) == (0, 10**8)
    assert (typical[names["s"]].low, typical[names["s"]].high) == (0, 600)
    assert (facts[names["a"]].low, facts[names["a"]].high) == (0, 100)
    assert facts[names["d"]].low == datetime.date(2024, 1, 1)
    assert found.schema.contribution == Contribution(groups=1, rows=1)  # one row each
    asked = schema_within_limits(found.table, TABLES, Contribution(groups=1, rows=50))
    assert asked.columns[names["n"]].high == 50
    assert asked.contribution == Contribution(groups=1, rows=1)


def test_a_condition_on_aggregates_within_a_person_is_one_on_rows() -> None:
    one = ask("SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING COUNT(*) >= 3)")
    assert one.table == GroupWithin("visits", (("person", ColumnRef("person")),), (Within("count", "count_rows"),))
    assert one.where == Call("greater_equal", (ColumnRef("count"), Literal(3)))
    other = ask("SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) WHERE n >= 3")
    assert (one.table, one.where) == (other.table, other.where)


def test_distinct_with_the_person_is_a_group() -> None:
    asked = ask("SELECT ward, COUNT(*) FROM (SELECT DISTINCT person, ward FROM visits WHERE cost > 5) GROUP BY ward")
    keys = (("person", ColumnRef("person")), ("ward", ColumnRef("ward")))
    assert asked.table == GroupWithin("visits", keys, (), Call("greater", (ColumnRef("cost"), Literal(5))))


def test_windows_within_a_person_are_columns() -> None:
    asked = ask(
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person, ward ORDER BY day DESC) AS i FROM visits "
        "WHERE cost > 1) WHERE i = 1"
    )
    assert isinstance(asked.table, Rank)
    assert isinstance(asked.table.source, Derive)  # the condition comes before the window
    assert asked.table.partition == (ColumnRef("person"), ColumnRef("ward"))
    assert asked.table.order == (By(ColumnRef("day"), descending=True),)


def test_all_rows_of_several_tables_keep_their_owners() -> None:
    asked = ask(
        "SELECT COUNT(*) FROM (SELECT cost AS x FROM visits UNION ALL SELECT dose FROM drugs UNION ALL "
        "SELECT 1 FROM people)"
    )
    assert isinstance(asked.table, Union)
    assert [part.columns[0] for part in asked.table.sources] == [("person", ColumnRef("person"))] * 3
    facts = schema_of(asked.table, TABLES)
    assert (facts.columns["x"].low, facts.columns["x"].high, facts.columns["x"].kind) == (0, 100, "number")
    assert facts.contribution == Contribution(groups=2, rows=3 + 5 + 1)


def test_people_in_a_sub_query_are_a_join_by_who_they_are() -> None:
    asked = ask("SELECT COUNT(*) FROM people WHERE sex = 'f' AND person IN (SELECT person FROM visits WHERE cost > 50)")
    assert isinstance(asked.table, Join)
    assert asked.table.right == GroupWithin(
        "visits", (("person", ColumnRef("person")),), (), Call("greater", (ColumnRef("cost"), Literal(50)))
    )
    assert schema_of(asked.table, TABLES).contribution == PEOPLE.contribution


REFUSED = [
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward = b.ward", "between rows of the same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person OR v.cost > 5", "joined to the rest by AND"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON NOT (v.person = p.person)", "same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person + 1", "same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = v.person", "same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person >= p.person AND v.person <= p.person", "same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.id = p.person", "same person"),
    ("SELECT COUNT(*) FROM visits v, people p WHERE v.ward = p.sex", "same person"),
    ("SELECT COUNT(*) FROM visits v CROSS JOIN people p", "same person"),
    ("SELECT COUNT(*) FROM visits v LEFT JOIN people p ON v.cost > p.weight", "same person"),
    ("SELECT COUNT(*) FROM drugs d JOIN visits v ON d.visit = v.id + 0", "same person"),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person IS NOT DISTINCT FROM p.person", "plain equality"),
    ("SELECT COUNT(*) FROM visits v LEFT JOIN people p", "LEFT JOIN needs an ON"),
    ("SELECT COUNT(*) FROM visits v NATURAL JOIN (SELECT sex AS s FROM people) p", "NATURAL JOIN finds no column"),
    ("SELECT COUNT(*) FROM visits v RIGHT SEMI JOIN people p ON v.person = p.person", "RIGHT SEMI JOIN is not"),
    ("SELECT COUNT(*) FROM visits v FULL ANTI JOIN people p ON v.person = p.person", "FULL ANTI JOIN is not"),
    ("SELECT COUNT(*) FROM visits v OUTER JOIN people p ON v.person = p.person", "OUTER JOIN is not"),
    ("SELECT COUNT(*) FROM visits v ASOF JOIN people p ON v.person = p.person AND v.cost >= p.weight", "ASOF"),
    ("SELECT COUNT(*) FROM zips z LEFT JOIN people p ON z.zip = p.zip WHERE p.person IS NULL", "belong to no person"),
    ("SELECT COUNT(*) FROM people p RIGHT JOIN zips z ON z.zip = p.zip", "belong to no person"),
    ("SELECT COUNT(*) FROM staff s JOIN visits v ON s.person = v.person", "two owners"),
    ("SELECT COUNT(*) FROM staff s JOIN visits v ON s.badge = v.person", "two owners"),
    ("SELECT COUNT(*) FROM events e JOIN people p ON e.zip = p.zip", "protected by itself"),
    ("SELECT COUNT(*) FROM events e JOIN events f ON e.zip = f.zip", "protected by itself"),
    ("SELECT COUNT(*) FROM events e JOIN codes c ON e.zip = c.code", "make it into several"),
    ("SELECT COUNT(*) FROM events e JOIN zips z ON e.zip = z.zip OR e.x > 3", "make it into several"),
    ("SELECT COUNT(*) FROM events e JOIN zips z ON z.zip = z.zip", "make it into several"),
    ("SELECT COUNT(*) FROM events e JOIN zips z ON z.zip = CONCAT(z.region, e.zip)", "make it into several"),
    ("SELECT COUNT(*) FROM texts t JOIN people p ON t.person = p.person", "kind"),
    ("SELECT COUNT(*) FROM other o JOIN people p ON o.person = p.person", "different neighbours"),
    ("SELECT region, (SELECT COUNT(*) FROM visits) FROM zips", "beside a value of private"),
    ("SELECT region FROM zips WHERE EXISTS (SELECT 1 FROM people p WHERE p.zip = zips.zip)", "put the private table"),
    ("SELECT region FROM zips WHERE zip IN (SELECT zip FROM people)", "put the private table"),
    ("SELECT region FROM zips WHERE (SELECT COUNT(*) FROM people p WHERE p.zip = zips.zip) > 3", "put the private"),
    ("SELECT region FROM zips UNION ALL SELECT ward FROM visits", "lists single rows"),
    (
        "SELECT COUNT(*) FROM visits JOIN (SELECT ward, COUNT(*) n FROM visits GROUP BY ward) USING (ward)",
        "joined to private",
    ),
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person AND COUNT(*) > 3", "aggregate"),
    ("SELECT person, COUNT(*) FROM visits JOIN people USING (person) GROUP BY person", "tell people apart"),
    ("SELECT COUNT(zip) FROM people JOIN zips ON people.zip = zips.zip", "people.zip or zips.zip"),
    ("SELECT COUNT(*) FROM people JOIN people ON people.person = people.person", "two tables in FROM"),
    # within people
    ("SELECT AVG(c) FROM (SELECT person % 10 AS person, COUNT(*) AS c FROM visits GROUP BY 1)", "tell people apart"),
    ("SELECT COUNT(*) FROM (SELECT 7 AS person, cost FROM visits)", "cannot take its name"),
    ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS person FROM visits GROUP BY visits.person)", "cannot take its name"),
    ("SELECT COUNT(*) FROM (SELECT person, ward FROM visits GROUP BY person)", "'ward' is neither grouped"),
    ("SELECT COUNT(*) FROM (SELECT person, STDDEV(cost) FROM visits GROUP BY person)", "within one person's rows"),
    ("SELECT COUNT(*) FROM (SELECT person, COUNT(DISTINCT person) FROM visits GROUP BY person)", "returns 1"),
    ("SELECT COUNT(*) FROM (SELECT person, SUM(weight) FROM people GROUP BY person)", "no public bounds"),
    ("SELECT COUNT(*) FROM (SELECT person, FIRST(cost) FROM visits GROUP BY person)", "FIRST is not supported"),
    ("SELECT COUNT(*) FROM (SELECT person, ANY_VALUE(cost) FROM visits GROUP BY person)", "not supported"),
    ("SELECT COUNT(*) FROM (SELECT person, COUNT(*) FROM visits GROUP BY person LIMIT 3)", "LIMIT"),
    (
        "SELECT COUNT(*) FROM (SELECT person, COUNT(*) FROM visits GROUP BY person ORDER BY 2 LIMIT 3)",
        "LIMIT and OFFSET",
    ),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits LIMIT 1)", "COUNT(DISTINCT x)"),
    (
        "SELECT COUNT(*) FROM (SELECT x, COUNT(*) n FROM events GROUP BY x HAVING COUNT(*) > 3) JOIN events ON true",
        "rel",
    ),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY x ORDER BY x) FROM events)", "protected by itself"),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY day) AS i FROM visits)", "add 'person'"),
    ("SELECT COUNT(*) FROM (SELECT LAG(cost) OVER (PARTITION BY ward ORDER BY day) AS i FROM visits)", "add 'person'"),
    ("SELECT COUNT(*) FROM (SELECT LAG(cost) OVER (PARTITION BY person) AS i FROM visits)", "needs an ORDER BY"),
    ("SELECT COUNT(*) FROM (SELECT LAG(cost, 0) OVER (PARTITION BY person ORDER BY day) AS i FROM visits)", "from 1"),
    (
        "SELECT COUNT(*) FROM (SELECT LAG(cost, id) OVER (PARTITION BY person ORDER BY day) AS i FROM visits)",
        "constant",
    ),
    ("SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY ward) AS i FROM visits)", "add 'person'"),
    ("SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (ORDER BY day) AS i FROM visits)", "add 'person'"),
    ("SELECT COUNT(*) FROM (SELECT STDDEV(cost) OVER (PARTITION BY person) AS i FROM visits)", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM (SELECT SUM(x) OVER (PARTITION BY zip) AS i FROM events)", "protected by itself"),
    ("SELECT COUNT(*) FROM (SELECT SUM(weight) OVER (PARTITION BY person) AS i FROM people)", "no public bounds"),
    (
        "SELECT COUNT(*) FROM (SELECT FIRST_VALUE(cost) OVER (PARTITION BY person ORDER BY day) i FROM visits)",
        "within one person",
    ),
    ("SELECT ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) FROM visits", "stand in a sub-query"),
    ("SELECT COUNT(*) FROM visits WHERE ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) = 1", "window"),
    ("SELECT COUNT(*), ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) FROM visits", "is neither grouped by"),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() FROM visits)", "needs OVER"),
    ("SELECT COUNT(*) FROM (SELECT rowid FROM visits)", "'rowid'"),
    # set operations
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION SELECT sex FROM people)", "UNION would merge"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits INTERSECT SELECT ward FROM visits)", "INTERSECT would merge"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits EXCEPT SELECT ward FROM visits)", "EXCEPT would merge"),
    ("SELECT COUNT(*) FROM (SELECT person, id FROM visits EXCEPT SELECT id, person FROM visits)", "EXCEPT would merge"),
    (
        "SELECT COUNT(*) FROM (SELECT person FROM visits INTERSECT ALL SELECT person FROM visits)",
        "ALL is not supported",
    ),
    ("SELECT COUNT(*) FROM (SELECT person FROM visits EXCEPT SELECT badge FROM staff)", "two owners"),
    ("SELECT COUNT(*) FROM (SELECT zip FROM zips EXCEPT SELECT zip FROM people)", "without an owner"),
    ("SELECT COUNT(*) FROM people p FULL JOIN zips z ON p.zip = z.zip", "cannot be kept whole"),
    ("SELECT COUNT(*) FROM visits v FULL JOIN visits w ON v.ward = w.ward", "same person"),
    ("SELECT COUNT(*) FROM visits v FULL JOIN staff s ON v.person = s.person", "two owners"),
    ("SELECT COUNT(*) FROM visits v ANTI JOIN visits w ON v.ward = w.ward", "the same person's rows"),
    ("SELECT COUNT(*) FROM zips z SEMI JOIN people p ON p.zip = z.zip", "public"),
    ("SELECT COUNT(*) FROM events e SEMI JOIN events f ON e.zip = f.zip", "protected by itself"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT badge FROM staff)", "two owners"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT region FROM zips)", "without an owner"),
    ("SELECT COUNT(*) FROM (SELECT x FROM events UNION ALL SELECT x FROM events)", "protected by itself"),
    ("SELECT COUNT(*) FROM (SELECT x FROM events UNION ALL SELECT least FROM codes)", "without an owner"),
    ("SELECT COUNT(*) FROM (SELECT x FROM events UNION ALL SELECT id FROM visits)", "protected"),
    ("SELECT COUNT(*) FROM (SELECT x FROM events UNION SELECT x FROM events)", "protected by itself"),
    ("SELECT COUNT(*) FROM (SELECT ward, cost FROM visits UNION ALL SELECT ward FROM visits)", "numbers of columns"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT cost FROM visits)", "one kind"),
    ("SELECT ward FROM visits UNION ALL SELECT ward FROM visits", "lists single rows"),
    ("SELECT COUNT(*) FROM visits UNION ALL SELECT cost FROM visits", "show the latter"),
    # sub-queries in expressions
    ("SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits)", "the same person's rows"),
    ("SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM visits)", "the same person's rows"),
    ("SELECT COUNT(*) FROM visits WHERE person IN (SELECT id FROM visits)", "the same person's rows"),
    ("SELECT COUNT(*) FROM visits WHERE person IN (SELECT badge FROM staff)", "two owners"),
    ("SELECT COUNT(*) FROM visits WHERE person NOT IN (SELECT badge FROM staff)", "two owners"),
    ("SELECT COUNT(*) FROM visits WHERE person IN (SELECT COUNT(*) FROM people)", "over all people's rows"),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", "over all people's rows"),
    (
        "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.ward = v.ward)",
        "same person",
    ),
    ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM people)", "the same person's rows"),
    ("SELECT COUNT(*) FROM visits WHERE NOT EXISTS (SELECT 1 FROM people WHERE sex = 'f')", "the same person's rows"),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.ward = v.ward)", "same person's rows"),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person <> v.person AND w.id = 3)",
        "same person's rows",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person OR w.ward = 'a')",
        "same person's rows",
    ),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM staff s WHERE s.person = v.person)", "two owners"),
    ("SELECT COUNT(*) FROM events e WHERE EXISTS (SELECT 1 FROM events f WHERE f.zip = e.zip)", "protected by itself"),
    ("SELECT COUNT(*) FROM events e WHERE x > (SELECT MAX(f.x) FROM events f WHERE f.zip = e.zip)", "protected by it"),
    ("SELECT COUNT(*) FROM events e WHERE EXISTS (SELECT 1 FROM people p WHERE p.zip = e.zip)", "protected by itself"),
    (
        "SELECT COUNT(*) FROM events e WHERE EXISTS (SELECT 1 FROM codes WHERE code = zip AND least + x > 3)",
        "MIN or MAX",
    ),
    ("SELECT COUNT(*) FROM visits v WHERE ward = (SELECT p.sex FROM people p WHERE p.person = v.person)", "MAX(x)"),
    ("SELECT COUNT(*) FROM people WHERE zip = (SELECT code FROM codes)", "must return one"),
    ("SELECT COUNT(*) FROM people WHERE zip IN (SELECT zip, region FROM zips)", "list as many"),
    ("SELECT COUNT(*) FROM people p WHERE zip IN (SELECT p.zip FROM zips)", "compute with them outside"),
    ("SELECT COUNT(*) FROM visits WHERE day IN (SELECT least FROM codes)", "one kind"),
    ("SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits LIMIT 1)", "LIMIT"),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT MEDIAN(least) FROM codes)", "COUNT, SUM, AVG, MIN or MAX"),
    ("SELECT COUNT(*) FROM (SELECT zip FROM zips WHERE zip IN (SELECT zip FROM people))", "which of them are met"),
    ("SELECT COUNT(*) FROM visits GROUP BY (SELECT MAX(cost) FROM visits)", "over all people's rows"),
    ("SELECT COUNT(*) FROM visits v LEFT JOIN people p ON EXISTS (SELECT 1 FROM zips)", "a sub-query can stand"),
    ("SELECT COUNT(*) FROM visits ORDER BY (SELECT 1 FROM nothing)", "'nothing'"),
    (
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND EXISTS "
        "(SELECT 1 FROM drugs d WHERE d.visit = v.id AND d.code = p.zip))",
        "not further out",
    ),
    # the clock
    ("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person AND v.day < CURRENT_DATE", "CURRENT_DATE"),
]


@pytest.mark.parametrize(("sql", "told"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_what_crosses_people_before_the_aggregate_is_refused_with_the_reason(sql: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        ask(sql)
    assert told in str(caught.value)


def test_rows_that_are_units_join_public_tables_by_their_key() -> None:
    asked = ask("SELECT region, COUNT(*) FROM events e LEFT JOIN zips z ON z.zip = e.zip AND e.x > 3 GROUP BY region")
    assert schema_of(asked.table, TABLES).unit == Rows()
    assert schema_of(asked.table, TABLES).rows == TABLES["events"].rows


def test_public_rows_may_be_grouped_and_joined_as_one_likes() -> None:
    asked = ask(
        "WITH r AS (SELECT region, COUNT(*) AS n, MIN(zip_code) AS z FROM (SELECT region, LENGTH(zip) AS zip_code FROM "
        "zips) GROUP BY region) SELECT COUNT(*) FROM visits v JOIN r ON v.cost > r.n"
    )
    assert tables_of(asked.table) == ("visits", "zips")


def test_a_tree_that_doubles_is_refused_before_it_is_walked() -> None:
    ctes = ["a0 AS (SELECT v.person FROM visits v JOIN people p USING (person))"]
    ctes += [f"a{i} AS (SELECT x.person FROM a{i - 1} x JOIN a{i - 1} y USING (person))" for i in range(1, 40)]
    with pytest.raises(Unsupported, match="more than 60 tables and steps"):
        ask(f"WITH {', '.join(ctes)} SELECT COUNT(*) FROM a39")


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT COUNT(*) FROM drugs d JOIN visits v ON d.visit = v.id", [None]),  # one visit each
        ("SELECT COUNT(*) FROM visits v JOIN drugs d ON d.visit = v.id", [None]),
        ("SELECT COUNT(*) FROM people p JOIN (SELECT person FROM visits GROUP BY person) v USING (person)", [None]),
        ("SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits)", [None]),
        ("SELECT COUNT(*) FROM people JOIN zips USING (zip) JOIN visits USING (person)", [None, 10**5]),
        ("SELECT COUNT(*) FROM people JOIN visits USING (person) JOIN drugs USING (person)", [50_000, 50_000]),
        ("SELECT COUNT(*) FROM people JOIN codes ON code = zip JOIN visits USING (person)", [50_000, 50_000]),
        ("SELECT COUNT(*) FROM people JOIN codes ON code > zip", [10**5]),
        (
            "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits JOIN codes ON code = ward GROUP BY person) "
            "JOIN (SELECT a.person FROM visits a JOIN visits b USING (person)) USING (person)",
            [50_000, 50_000, None],
        ),  # sub-queries count too
    ],
)
def test_no_join_pairs_more_of_a_persons_rows_than_it_says(sql: str, most: list[int | None]) -> None:
    assert [one.most for one in joins_of(ask(sql).table)] == most


def test_joins_that_could_multiply_a_row_without_end_are_refused_before_anything_is_charged() -> None:
    chain = " ".join(f"JOIN visits v{i} ON v{i}.person = v0.person" for i in range(1, 25))
    for sql in (
        "SELECT COUNT(*) FROM visits, codes a, codes b WHERE person = 42",
        f"SELECT COUNT(*) FROM visits v0 {chain}",
    ):
        with pytest.raises(Unsupported, match=r"could make more than [0-9,]+ rows of one or two rows of a person"):
            ask(sql)
    asked = ask("SELECT COUNT(*) FROM people JOIN visits USING (person)")
    for most in (None, 10**5 + 1):
        with pytest.raises(InvariantError):
            check_fanout(replace(asked.table, most=most), TABLES)
    twice = Join(
        asked.table, "people", "inner", tuple((f"{name}_x", name) for name in PEOPLE.columns), most=10**5
    )  # twice as many in all
    spread = Join(asked.table, "codes", "inner", (("code", "code"), ("least", "least")))
    for made in (twice, spread):
        with pytest.raises(InvariantError):
            check_fanout(made, TABLES)


def dear(function: str, times: int) -> str:
    listed = " OR ".join(function.format(i) for i in range(times))
    return f"SELECT COUNT(*) FROM visits a JOIN visits b USING (person) WHERE {listed}"


def test_the_dearer_a_question_is_for_a_row_the_fewer_rows_a_join_makes() -> None:
    """What is done for one person's joined rows is bounded as a whole, whatever functions there are."""
    few, many = ("CONTAINS(CONCAT(a.ward, b.ward), 'x{}')", 2), ("CONTAINS(CONCAT(a.ward, b.ward), 'x{}')", 100)
    pattern = "CONCAT(a.ward, b.ward) LIKE '%" + "a_" * 40 + "{}'"
    numbers = ("CAST(CONCAT(a.ward, b.ward) AS DOUBLE) > {}", 30)
    plain = ask("SELECT COUNT(*) FROM visits a JOIN visits b USING (person) WHERE a.cost < b.cost").table
    assert plain.most == ask(dear(*few)).table.most == 10**5
    for sql in (dear(*many), dear(pattern, 10), dear(*numbers)):
        asked = ask(sql)
        done = asked.table.most * effort(asked.table, TABLES, [asked.where])
        assert asked.table.most < 10**4
        assert WORK / 2 < done <= WORK
    in_sub_query = dear(*few).replace("visits b", "(SELECT person, LOWER(UPPER(TRIM(ward))) AS ward FROM visits) b")
    assert ask(in_sub_query).table.most < 10**5
    in_aggregates = "SELECT {} FROM visits a JOIN visits b USING (person)"
    sums = ", ".join(f"SUM(LENGTH(CONCAT(a.ward, b.ward, 'x{i}')) % 9) AS s{i}" for i in range(20))
    assert ask(in_aggregates.format(sums)).table.most < 10**5


def test_a_text_constant_is_no_longer_than_a_text_is_read() -> None:
    ask(f"SELECT COUNT(*) FROM visits WHERE ward = '{'x' * 2000}'")
    with pytest.raises(Unsupported, match="at most 2,000 characters"):
        ask(f"SELECT COUNT(*) FROM visits WHERE ward = '{'x' * 2001}'")


def test_a_key_says_that_there_is_one_row_to_meet() -> None:
    keyed = {**TABLES, "people": replace(PEOPLE, key="person", contribution=Contribution(groups=5, rows=5))}
    for sql in (
        "SELECT COUNT(*) FROM visits JOIN people USING (person)",
        "SELECT COUNT(*) FROM people JOIN visits USING (person)",
        "SELECT COUNT(*) FROM visits v LEFT JOIN people p ON p.person = v.person AND v.cost > p.weight",
    ):
        asked = parse(sql, keyed)
        assert asked.table.most is None
        check_fanout(asked.table, keyed)
        assert schema_of(asked.table, keyed).contribution == VISITS.contribution


def test_views_are_relations_that_belong_to_people() -> None:
    made: dict[str, PrivateRows] = {}
    made["women"] = parse_view("SELECT * FROM people WHERE sex = 'f'", TABLES, made)
    made["often"] = parse_view("SELECT person FROM visits GROUP BY person HAVING COUNT(*) > 2", TABLES, made)
    named = parse("SELECT COUNT(*) FROM women JOIN often USING (person)", TABLES, made)
    written = ask(
        "SELECT COUNT(*) FROM (SELECT * FROM people WHERE sex = 'f') w JOIN (SELECT person FROM visits GROUP BY person "
        "HAVING COUNT(*) > 2) o USING (person)"
    )
    assert named == written
    with pytest.raises(Unsupported, match="aggregates across them"):
        parse_view("SELECT ward, COUNT(*) FROM visits GROUP BY ward", TABLES, made)
    with pytest.raises(UnknownName):
        parse_view("SELECT * FROM never", TABLES, made)


def on(name: str) -> Frame:
    return table(name, TABLES[name], TABLES)


def test_a_join_in_python_is_the_join_in_sql() -> None:
    pairs = [
        (
            on("visits").join(on("people"), "person").where(col("cost") > 3).group_by("sex").agg(n=count()),
            "SELECT sex, COUNT(*) AS n FROM visits JOIN people USING (person) WHERE cost > 3 GROUP BY sex",
        ),
        (
            on("drugs").join(on("visits"), {"visit": "id"}, how="left").group_by("ward").agg(dose=sum("dose")),
            "SELECT ward, SUM(dose) AS dose FROM drugs d LEFT JOIN visits v ON d.visit = v.id GROUP BY ward",
        ),
        (
            on("people").join(on("zips"), ["zip"], where=col("region") == "n").agg(n=count()),
            "SELECT COUNT(*) AS n FROM people p JOIN zips z ON p.zip = z.zip AND z.region = 'n'",
        ),
        (
            on("visits").per_unit(n=count()).where(col("n") >= 3).agg(people=count()),
            "SELECT COUNT(*) AS people FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) WHERE n >= 3",
        ),
        (
            on("visits").where(col("cost") > 1).select("person", "ward").distinct().group_by("ward").agg(n=count()),
            "SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT person, ward FROM visits WHERE cost > 1) GROUP BY ward",
        ),
        (
            on("visits").select(x="cost").union_all(on("drugs").select(x="dose")).agg(s=sum("x")),
            "SELECT SUM(x) AS s FROM (SELECT cost AS x FROM visits UNION ALL SELECT dose AS x FROM drugs)",
        ),
    ]
    for built, sql in pairs:
        assert built.query() == ask(sql)


def test_columns_of_both_sides_get_names_of_their_own() -> None:
    joined = on("visits").join(on("visits"), "person", where=col("day") < col("day_right"))
    assert joined.agg(n=count(where=col("ward") == col("ward_right"))).query().aggregates


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: on("visits").join(on("people"), "sex"),
        lambda: on("visits").join(on("people"), "nothing"),
        lambda: on("visits").join(on("people"), 3),
        lambda: on("visits").join(on("people"), "person", how="full"),
        lambda: on("visits").join("people", "person"),
        lambda: on("visits").group_by("ward").per_unit(n=count()),
        lambda: on("visits").select("ward").distinct(),
        lambda: on("visits").union_all(on("people")),
        lambda: on("visits").union_all("people"),
    ],
)
def test_what_makes_no_sense_in_python_is_refused(wrong: object) -> None:
    with pytest.raises(RequestError):
        wrong()  # type: ignore[operator]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v.ward, AVG(v.cost) AS c FROM visits AS v JOIN people AS p ON v.person = p.person GROUP BY v.ward",
        "SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zip WHERE weight > 5",
        "SELECT COUNT(*) FROM (SELECT person, SUM(cost) AS s FROM visits GROUP BY person) AS t WHERE s > 5",
        "SELECT SUM(dose) FROM drugs JOIN visits AS v ON drugs.visit = v.id JOIN people AS p ON v.person = p.person",
    ],
)
def test_the_facts_that_were_computed_while_reading_are_those_of_what_a_question_stands_on(sql: str) -> None:
    query = ask(sql)
    known = query.facts_known(TABLES)
    assert known in (None, schema_of(query.table, TABLES))
    assert check_categories(query, TABLES) == schema_of(query.table, TABLES)


def test_facts_that_were_computed_while_reading_are_of_no_other_relation_and_of_no_other_tables() -> None:
    query = ask("SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zip")
    assert query.facts_known(TABLES) == schema_of(query.table, TABLES)
    columns = tuple((name, ColumnRef(name)) for name in ("person", "sex"))
    other = replace(query, table=Derive(query.table, columns, None))
    assert other.facts_known(TABLES) is None
    assert set(check_categories(other, TABLES).columns) == {"person", "sex"}
    assert query.facts_known(dict(TABLES)) is None
    assert replace(query, table="visits").facts_known(TABLES) is None
