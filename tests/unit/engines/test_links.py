"""Linked tables are read with whose rows they are; public ones are held to what is declared about them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from privet.core.errors import RequestError
from privet.core.scan import Norm, Scan, Sum
from privet.core.schema import Contribution, PublicTable, Table, followed, integer, text
from privet.core.unit import Link, Person
from privet.engines.duckdb.engine import DuckDB
from privet.testing.oracle import Memory

PEOPLE = [{"person": "a"}, {"person": "b"}]
VISITS = [
    {"id": 1, "patient": "a"},
    {"id": 2, "patient": "b"},
    {"id": 3, "patient": None},
    {"id": None, "patient": "b"},
]
DRUGS = [{"visit": v, "drug": d} for v, d in ((1, 10), (1, 11), (2, 12), (3, 13), (4, 14), (None, 15))]
DOSES = [{"drug": d} for d in (10, 10, 11, 12, 13, 14, 15, None, 99)]


def tables(visits: list[dict[str, Any]] = VISITS, *, arrow: bool) -> dict[str, Table]:
    def rows(several: list[dict[str, Any]]) -> object:
        return pa.Table.from_pylist(several) if arrow else several

    return {
        "doses": Table(
            rows(DOSES),
            unit=Link("drug", to="drugs", column="drug"),
            columns={"drug": integer()},
            contribution=Contribution(groups=1, rows=1),
        ),
        "drugs": Table(
            rows(DRUGS),
            unit=Link("visit", to="visits", column="id"),
            columns={"visit": integer(nullable=True), "drug": integer()},
            contribution=Contribution(groups=1, rows=1),
        ),
        "visits": Table(
            rows(visits),
            unit=Link("patient", to="people", column="person"),
            columns={"id": integer(nullable=True), "patient": text(nullable=True)},
            contribution=Contribution(groups=1, rows=1),
        ),
        "people": Table(
            rows(PEOPLE), unit=Person("person"), columns={"person": text()}, contribution=Contribution(groups=1, rows=1)
        ),
    }


@pytest.mark.parametrize(("name", "expected"), [("people", 2), ("visits", 3), ("drugs", 3), ("doses", 4)])
def test_rows_count_for_whoever_owns_them_and_rows_of_nobody_do_not(name: str, expected: int) -> None:
    found = []
    for engine, arrow in ((DuckDB, True), (Memory, False)):
        made = engine(tables(arrow=arrow))
        schema = followed({known: table.schema for known, table in tables(arrow=arrow).items()})[name]
        for limit in (1, 100):
            found.append(made.scan(Scan(name, schema, None, (), (Sum(None, 1, 1),), Norm(1, limit, 0)))._groups[()])
        made.close()
    assert found[1] == found[3] == (expected,)
    assert found[0] == found[2]  # doses: a has three rows, which a limit of 1 makes worth nothing in whole numbers


def test_the_custodian_sees_a_link_that_leads_to_two_owners_and_analysts_see_nothing() -> None:
    with DuckDB(tables(arrow=True)) as engine:
        assert engine.broken_links() == []
    with DuckDB(tables([*VISITS, {"id": 1, "patient": "b"}], arrow=True)) as engine:
        told, _ = engine.broken_links()  # and what links to the rows that now come twice
    assert "'drugs' links to 'visits' by 'id'" in told


def test_the_custodian_sees_a_key_that_is_none() -> None:
    columns, kinds = {"who": integer(), "id": integer()}, pa.schema({"who": "int64", "id": "int64"})
    for ids, expected in (([1, 2], 0), ([1, 1], 1), ([None, None], 0)):
        rows = pa.Table.from_pylist([{"who": 1, "id": one} for one in ids], schema=kinds)
        with DuckDB(
            {
                "t": Table(
                    rows, unit=Person("who"), columns=columns, contribution=Contribution(groups=1, rows=1), key="id"
                )
            }
        ) as engine:
            assert len(engine.broken_links()) == expected


def test_a_public_table_is_held_to_its_key_and_its_number_of_rows() -> None:
    source, columns = pa.Table.from_pylist([{"zip": "1"}, {"zip": "2"}, {"zip": "2"}]), {"zip": text()}
    with pytest.raises(RequestError, match="twice in its key 'zip'"):
        DuckDB({"regions": PublicTable(source, columns=columns, key="zip")})
    with pytest.raises(RequestError, match="more than the 2 rows"):
        DuckDB({"regions": PublicTable(source, columns=columns, rows=2)})
    DuckDB({"regions": PublicTable(source, columns=columns, rows=3)}).close()
    codes = pa.Table.from_pylist([{"code": 11}, {"code": 12}])
    DuckDB({"codes": PublicTable(codes, columns={"code": integer()}, key="code")}).close()
    with pytest.raises(RequestError, match="twice in its key"):  # once they are held to their bounds
        DuckDB({"codes": PublicTable(codes, columns={"code": integer(0, 10)}, key="code")})
