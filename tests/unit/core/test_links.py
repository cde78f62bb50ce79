"""Links lead from a table to the people who own its rows, by declared facts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from privet.core.errors import RequestError
from privet.core.schema import PublicTable, Schema, fetched_columns, followed, integer, number, shown_columns, text
from privet.core.unit import Link, Person, Rows
from privet.core.wire import canonical

VISITS = Schema(unit=Person("patient"), columns={"id": integer(), "patient": text(), "cost": number(0, 9)})
DRUGS = Schema(unit=Link("visit", to="visits", column="id"), columns={"visit": integer(), "drug": integer()})
DOSES = Schema(unit=Link("drug", to="drugs", column="drug"), columns={"drug": integer(), "dose": number(0, 1)})
PEOPLE = Schema(unit=Person("person"), columns={"person": text(), "age": integer(0, 120)})


def test_a_linked_table_is_owned_as_what_it_leads_to() -> None:
    found = followed({"doses": DOSES, "drugs": DRUGS, "visits": VISITS})
    assert found["visits"] == VISITS
    for name, own in (("drugs", DRUGS), ("doses", DOSES)):
        assert found[name].unit == Person("patient")
        assert found[name].columns == {**own.columns, "patient": text()}
        assert found[name].link == own.unit
    assert fetched_columns(found["doses"], found) == ("patient",)


def test_tables_come_after_those_that_they_link_to() -> None:
    assert list(followed({"doses": DOSES, "drugs": DRUGS, "visits": VISITS})) == ["visits", "drugs", "doses"]


def test_a_link_to_the_person_itself_needs_no_further_table() -> None:
    other = Schema(unit=Link("patient", to="people", column="person"), columns={"patient": text()})
    same = Schema(unit=Link("person", to="people", column="person"), columns={"person": text()})
    found = followed({"people": PEOPLE, "other": other, "same": same})
    assert found["other"].unit == found["same"].unit == Person("person")
    assert list(found["other"].columns) == ["patient", "person"]
    assert list(found["same"].columns) == ["person"]
    assert fetched_columns(found["other"], found) == fetched_columns(found["same"], found) == ()


def test_a_linked_tables_version_holds_that_of_what_decides_whose_rows_they_are() -> None:
    found = followed({"visits": replace(VISITS, version="3"), "drugs": replace(DRUGS, version="a")})
    assert found["drugs"].version == "a; visits: 3"


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"drugs": DRUGS}, "no table, to which 'drugs' links, 'visits'"),
        ({"drugs": replace(DRUGS, unit=Link("visit", to="visits", column="no")), "visits": VISITS}, "no column"),
        ({"drugs": DRUGS, "visits": replace(VISITS, unit=Rows())}, "each row is protected by itself"),
        ({"drugs": DRUGS, "visits": PublicTable([], columns=VISITS.columns).schema}, "public"),
        ({"drugs": DRUGS, "visits": replace(VISITS, neighbors="change-one")}, "other neighbours"),
        ({"drugs": DRUGS, "visits": replace(VISITS, columns={**VISITS.columns, "id": text()})}, "same kind"),
        (
            {"drugs": replace(DRUGS, columns={**DRUGS.columns, "Patient": text()}), "visits": VISITS},
            "a row has one owner",
        ),
        (
            {"drugs": DRUGS, "visits": replace(VISITS, unit=Link("id", to="drugs", column="visit"))},
            "drugs -> visits -> drugs lead in a circle",
        ),
    ],
)
def test_a_link_that_leads_to_no_one_owner_is_refused(tables: dict[str, Schema], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        followed(tables)


def test_a_link_and_a_key_stand_on_declared_columns() -> None:
    with pytest.raises(RequestError, match="link from a column"):
        Schema(unit=Link("no", to="visits", column="id"), columns={"visit": integer()})
    with pytest.raises(RequestError, match="a name"):
        Link("", to="visits", column="id")
    with pytest.raises(RequestError, match="a listed column"):
        PublicTable([], columns={"zip": text()}, key="no")
    with pytest.raises(RequestError, match="of people, or of a public one"):
        replace(VISITS, key="id", unit=Rows())


def test_facts_that_are_not_used_leave_the_text_of_a_plan_as_it_was() -> None:
    assert canonical(VISITS).endswith('"add-remove",["Contribution",1,1],1099511627776,null,""]')
    assert canonical(followed({"visits": VISITS, "drugs": DRUGS})["drugs"]).endswith('["Link","visit","visits","id"]]')


USERS = Schema(unit=Person("id"), columns={"id": integer(), "age": integer(0, 120)})
ORDERS = Schema(unit=Link("user", to="users", column="id"), columns={"id": integer(0, 9), "user": integer()}, key="id")
ITEMS = Schema(unit=Link("order", to="orders", column="id"), columns={"order": integer(), "id": number(0, 1)})
PARTS = Schema(unit=Link("id", to="items", column="id"), columns={"id": integer()})


def test_a_linked_table_may_have_a_column_that_is_called_as_its_owner_is_elsewhere() -> None:
    parts = replace(PARTS, unit=Link("id", to="orders", column="id"))
    found = followed({"users": USERS, "orders": ORDERS, "items": ITEMS, "parts": parts})
    assert {name: list(one.columns) for name, one in found.items()} == {
        "users": ["id", "age"],
        "orders": ["orders.id", "user", "id"],
        "items": ["order", "items.id", "id"],
        "parts": ["parts.id", "id"],
    }
    assert all(one.unit == Person("id") for one in found.values())
    assert found["orders"].key == "orders.id"
    assert found["items"].link == Link("order", to="orders", column="orders.id")
    assert found["parts"].link == Link("parts.id", to="orders", column="orders.id")
    assert found["items"].columns["id"] == integer()
    assert found["items"].columns["items.id"] == number(0, 1)


def test_questions_mean_a_tables_own_column_and_its_link_to_the_owner_is_the_owner() -> None:
    found = followed({"users": USERS, "orders": ORDERS, "items": ITEMS})
    assert shown_columns("users", found["users"]) == {"id": "id", "age": "age"}
    assert shown_columns("orders", found["orders"]) == {"id": "orders.id", "user": "id"}
    assert shown_columns("items", found["items"]) == {"order": "order", "id": "items.id"}
    drugs = followed({"visits": VISITS, "drugs": DRUGS})
    assert shown_columns("drugs", drugs["drugs"]) == {name: name for name in ("visit", "drug", "patient")}


def test_names_that_a_link_needs_are_refused_where_a_column_has_them() -> None:
    orders = replace(ORDERS, columns={**ORDERS.columns, "orders.id": integer()})
    with pytest.raises(RequestError, match="rename one of them"):
        followed({"users": USERS, "orders": orders})
