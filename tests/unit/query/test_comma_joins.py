"""FROM a, b WHERE a.x = b.x: the same tree as JOIN ... ON, in whatever order tables and conditions stand."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest

from privet.core.errors import RequestError
from privet.core.relation import Call, ColumnRef
from privet.core.schema import Contribution, PublicTable, Schema, category, followed, integer, number, text
from privet.core.unit import Link, Person
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import relation_sql
from privet.query.nodes import Query
from privet.query.shape import schema_of
from privet.query.sql.parse import parse

TABLES = followed(
    {
        "buyers": Schema(
            unit=Person("buyer"),
            columns={"buyer": integer(), "segment": category(["a", "b"]), "home": integer(0, 3)},
            key="buyer",
        ),
        "orders": Schema(
            unit=Link("o_buyer", to="buyers", column="buyer"),
            columns={"o_id": integer(), "o_buyer": integer(), "price": number(0, 10)},
            contribution=Contribution(groups=2, rows=3),
        ),
        "items": Schema(
            unit=Link("i_order", to="orders", column="o_id"),
            columns={"i_order": integer(), "part": integer(0, 9), "amount": number(0, 5)},
            contribution=Contribution(groups=4, rows=5),
        ),
        "parts": PublicTable(None, columns={"no": integer(0, 9), "kind": category(["x", "y"])}, key="no").schema,
        "places": PublicTable(None, columns={"place": integer(0, 3), "name": text()}, key="place").schema,
        "ratings": Schema(
            unit=Person("buyer"), columns={"buyer": integer(), "of_order": integer(), "stars": integer(1, 5)}
        ),
    }
)


def ask(sql: str) -> Query:
    return parse(sql, TABLES)


@pytest.mark.parametrize(
    ("comma", "joined"),
    [
        (
            "SELECT segment, COUNT(*) FROM orders, buyers WHERE o_buyer = buyer GROUP BY segment",
            "SELECT segment, COUNT(*) FROM orders JOIN buyers ON o_buyer = buyers.buyer GROUP BY segment",
        ),
        (
            "SELECT COUNT(*) FROM orders CROSS JOIN buyers WHERE buyers.buyer = o_buyer AND price > 3",
            "SELECT COUNT(*) FROM orders JOIN buyers ON o_buyer = buyers.buyer WHERE price > 3",
        ),
        (
            "SELECT COUNT(*) FROM orders JOIN buyers WHERE buyers.buyer = o_buyer AND price > 3",
            "SELECT COUNT(*) FROM orders JOIN buyers ON o_buyer = buyers.buyer WHERE price > 3",
        ),
        (
            "SELECT kind, SUM(amount) FROM parts, items WHERE no = part AND amount > 1 GROUP BY kind",
            "SELECT kind, SUM(amount) FROM items JOIN parts ON part = no WHERE amount > 1 GROUP BY kind",
        ),
        (
            "SELECT name, SUM(amount) FROM buyers, items, orders, places "
            "WHERE buyer = o_buyer AND o_id = i_order AND home = place GROUP BY name",
            "SELECT name, SUM(amount) FROM items JOIN orders ON i_order = o_id JOIN buyers b ON o_buyer = b.buyer "
            "JOIN places ON home = place GROUP BY name",
        ),
        (
            "SELECT COUNT(*) FROM items, parts WHERE (no = part AND kind = 'x') OR (parts.no = part AND amount > 2)",
            "SELECT COUNT(*) FROM items JOIN parts ON no = part WHERE kind = 'x' OR amount > 2",
        ),
        (
            "SELECT COUNT(*) FROM items i, orders o LEFT JOIN parts ON no = 3 WHERE i.i_order = o.o_id",
            "SELECT COUNT(*) FROM items i JOIN orders o ON i.i_order = o.o_id LEFT JOIN parts ON no = 3",
        ),
    ],
)
def test_a_comma_and_where_are_a_join(comma: str, joined: str) -> None:
    one, other = ask(comma), ask(joined)
    assert (one.table, one.keys, one.aggregates) == (other.table, other.keys, other.aggregates)
    if " OR " not in comma:
        assert one.where == other.where


FROM = ("buyers", "orders", "items", "parts", "places")
CONDITIONS = ("buyer = o_buyer", "i_order = o_id", "part = no", "home = place")


@pytest.mark.parametrize("tables", list(permutations(FROM)))
def test_the_order_of_tables_and_conditions_changes_neither_limits_nor_rows(tables: tuple[str, ...]) -> None:
    where = " AND ".join(random.Random(FROM.index(tables[0])).sample(CONDITIONS, len(CONDITIONS)))
    asked = ask(f"SELECT kind, name, COUNT(*) FROM {', '.join(tables)} WHERE {where} GROUP BY kind, name")
    found = schema_of(asked.table, TABLES)
    assert (found.contribution, asked.where) == (TABLES["items"].contribution, None)
    assert found.rows == TABLES["items"].rows  # on keys and links, no row of items becomes two


def test_a_column_that_a_link_added_is_not_taken_for_a_tables_own() -> None:
    """Orders have the column buyer only because a link says whose they are."""
    for sql in (
        "SELECT COUNT(*) FROM orders JOIN buyers ON o_buyer = buyer",
        "SELECT COUNT(*) FROM buyers LEFT JOIN orders ON o_buyer = buyer",
        "SELECT COUNT(DISTINCT buyer) FROM items, orders, buyers WHERE i_order = o_id AND o_buyer = buyer",
    ):
        assert schema_of(ask(sql).table, TABLES).unit == Person("buyer")
    with pytest.raises(RequestError, match=r"b\.segment or c\.segment"):
        ask("SELECT COUNT(*) FROM buyers b LEFT JOIN buyers c ON b.buyer = c.buyer WHERE segment = 'a'")


def test_a_key_of_a_table_of_people_joins_another_and_people_are_held_equal() -> None:
    keyed = {**TABLES, "orders": replace(TABLES["orders"], key="o_id")}
    asked = parse("SELECT COUNT(*) FROM ratings r JOIN orders o ON r.of_order = o.o_id", keyed)
    assert asked.table.on == Call("equal", (ColumnRef("o_id"), ColumnRef("of_order")))
    assert relation_sql(asked.table, keyed, {name: name for name in keyed}, 1, DUCKDB).count("u = v") == 1
    for apart in ("r.stars = o.price", "r.of_order = o.price"):
        with pytest.raises(RequestError, match="same person"):
            parse(f"SELECT COUNT(*) FROM ratings r JOIN orders o ON {apart}", keyed)
    public = "(SELECT * FROM items JOIN parts ON part = no) i JOIN ratings r ON i.no = r.stars"
    with pytest.raises(RequestError, match="same person"):
        ask(f"SELECT COUNT(*) FROM {public}")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT COUNT(*) FROM orders, buyers", "same person"),
        ("SELECT COUNT(*) FROM orders, buyers WHERE price > 3", "same person"),
        ("SELECT COUNT(*) FROM orders, buyers WHERE price = home", "same person"),
        ("SELECT COUNT(*) FROM orders, buyers WHERE o_buyer = buyer OR price > 3", "same person"),
        (
            "SELECT COUNT(*) FROM orders, buyers WHERE price = 3 AND (o_buyer = buyer AND price > 1 OR price < 0)",
            "same",
        ),
        ("SELECT COUNT(*) FROM orders, buyers WHERE NOT o_buyer = buyer", "same person"),
        ("SELECT COUNT(*) FROM orders, buyers WHERE (o_buyer = buyer) IS NOT TRUE", "same person"),
        ("SELECT COUNT(*) FROM orders o, orders o WHERE o_buyer = buyer", "two tables in FROM"),
        ("SELECT name FROM places WHERE place IN (SELECT o_id FROM orders)", "put the private table into FROM"),
        ("SELECT o_id, SUM(amount) FROM items, orders WHERE i_order = o_id GROUP BY o_id", "tell people apart"),
        ("SELECT i_order, SUM(amount) FROM items GROUP BY i_order", "tell people apart"),
    ],
)
def test_tables_that_no_equality_joins_are_refused(sql: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        ask(sql)
    assert told in str(caught.value)
