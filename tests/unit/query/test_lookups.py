"""What a row finds among others is one more column, and a join that claims to find one row has to prove it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.core.relation import Call, ColumnRef, GroupWithin, Join, Within
from privet.core.schema import Contribution, PublicTable, Schema, category, date, followed, integer, number, text
from privet.core.unit import Link, Person, Rows, Window
from privet.query.frame import count, table
from privet.query.join import check_fanout
from privet.query.shape import schema_of
from privet.query.sql.parse import parse

VISITS = Schema(
    unit=Person("who"),
    columns={
        "id": integer(),
        "who": integer(),
        "city": text(),
        "day": date(),
        "cost": number(0, 9),
        "age": integer(0, 9),
    },
    contribution=Contribution(groups=2, rows=3),
    rows=1000,
)
TABLES = followed(
    {
        "visits": VISITS,
        "drugs": Schema(
            unit=Link("visit", to="visits", column="id"),
            columns={"visit": integer(), "drug": category(["x", "y"]), "dose": integer(0, 9)},
            contribution=Contribution(groups=5, rows=5),
        ),
        "areas": PublicTable(None, columns={"city": text(), "area": category(["n", "s"]), "no": integer()}).schema,
        "events": Schema(unit=Rows(), columns={"city": text(), "x": integer(0, 9)}),
        "weeks": replace(VISITS, unit=Window("who", "day", 7)),
    }
)


def equal(one: str, other: str) -> Call:
    return Call("equal", (ColumnRef(one), ColumnRef(other)))


def found(right: GroupWithin, on: Call | None, left: str = "visits") -> Join:
    names = tuple((f"r_{name}", name) for name in schema_of(right, TABLES).columns)
    return Join(left, right, "left", names, on, one=True)


def grouped(source: str, *keys: str) -> GroupWithin:
    return GroupWithin(source, tuple((key, ColumnRef(key)) for key in keys), (Within("n", "count_rows"),))


def test_rows_and_limits_stay_as_they_were() -> None:
    for asked in (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM drugs d WHERE d.visit = v.id)",
        "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.who = v.who AND w.day > v.day)",
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.who = v.who AND w.day > v.day AND "
        "w.cost < v.cost)",
        "SELECT COUNT(*) FROM visits v WHERE (SELECT SUM(dose) FROM drugs d WHERE visit = v.id AND dose < v.age) > 3",
        "SELECT COUNT(*) FROM visits WHERE city NOT IN (SELECT city FROM areas)",
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT MAX(no) FROM areas) AND id NOT IN (SELECT visit FROM drugs)",
    ):
        table_ = parse(asked, TABLES).table
        facts = schema_of(table_, TABLES)
        assert (facts.contribution, facts.rows, facts.unit) == (VISITS.contribution, VISITS.rows, VISITS.unit)
        check_fanout(table_, TABLES)


@pytest.mark.parametrize(
    ("join", "told"),
    [
        (Join("visits", "drugs", "left", (("r_visit", "visit"),), equal("id", "r_visit"), one=True), "are grouped"),
        (found(grouped("drugs", "who", "visit"), None), "all keys"),
        (found(grouped("drugs", "who", "visit", "drug"), equal("id", "r_visit")), "all keys"),
        (found(grouped("drugs", "who", "visit"), Call("less", (ColumnRef("id"), ColumnRef("r_visit")))), "all keys"),
        (found(grouped("drugs", "who", "visit"), equal("r_visit", "r_visit")), "all keys"),
        (found(grouped("areas", "no"), equal("cost", "r_no")), "all keys"),  # many whole numbers are one double
        (found(grouped("areas", "city", "area"), equal("city", "r_city"), "events"), "all keys"),
        (found(grouped("weeks", "who", "day"), None, "weeks"), "all keys"),  # a bucket holds several days
    ],
)
def test_a_join_that_claims_to_find_one_row_proves_it(join: Join, told: str) -> None:
    with pytest.raises(InvariantError, match=told):
        schema_of(join, TABLES)


def test_what_is_proven_is_allowed() -> None:
    for join in (
        found(grouped("drugs", "who"), None),
        found(grouped("drugs", "who", "visit"), equal("id", "r_visit")),
        found(grouped("areas", "city"), equal("r_city", "city"), "events"),
        found(GroupWithin("areas", (), (Within("n", "count_rows"),)), None, "events"),
        found(grouped("weeks", "who", "day"), equal("day", "r_day"), "weeks"),
    ):
        assert schema_of(join, TABLES).rows == TABLES[str(join.left)].rows
    for wrong in ({"kind": "inner"}, {"most": 3}):
        with pytest.raises(BadParameter, match="one"):
            replace(found(grouped("drugs", "who"), None), **wrong)


def test_sides_of_two_kinds_are_told_apart() -> None:
    asked = parse("SELECT COUNT(*) FROM visits WHERE cost IN (SELECT no FROM areas)", TABLES)
    assert schema_of(asked.table, TABLES).rows == VISITS.rows
    assert asked.table.right.keys[0][1].function == "to_number"


def test_a_builder_joins_what_is_met_or_not() -> None:
    visits, drugs = (table(name, TABLES[name], TABLES) for name in ("visits", "drugs"))
    for how, word in (("semi", "EXISTS"), ("anti", "NOT EXISTS")):
        built = visits.join(drugs, {"id": "visit"}, how=how).agg(n=count()).query()
        sql = f"SELECT COUNT(*) AS n FROM visits v WHERE {word} (SELECT 1 FROM drugs d WHERE d.visit = v.id)"
        assert built == parse(sql, TABLES)
    with pytest.raises(RequestError, match="filter the other table"):
        visits.join(drugs, {"id": "visit"}, how="anti", where=ColumnRef("x"))
