"""Public groups by text: a row is in the group of its text, cut or not, and in no other, however long the text is."""

from __future__ import annotations

import duckdb
import pytest

from privet.core.relation import ColumnRef
from privet.core.scan import Bounding, GroupKey, Norm, Once, Scan, Sum, Truncate
from privet.core.schema import Schema, integer, text
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.query.typed import LONGEST

LONG = "ü" * LONGEST
TEXTS = ["a", "b", "ab", "ü" * 7, "a" * 2 * LONGEST, LONG, LONG + "x", "ü" * (LONGEST - 1), None, ""]
LISTED = [("a", "ü" * 7), ("a", LONG), ("", "ab"), (LONG,), ("ü" * (LONGEST - 1),), ("a", "none")]


@pytest.mark.parametrize("listed", LISTED, ids=lambda listed: str([len(one) for one in listed]))
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("bounding", [Once(), Norm(1, 1, 0), Norm(2, 1, 0), Truncate(1, 1)], ids=str)
def test_a_row_is_in_the_group_of_its_text(listed: tuple[str, ...], nullable: bool, bounding: Bounding) -> None:
    unit = Rows() if isinstance(bounding, Once) else Person("p")
    schema = Schema(unit=unit, columns={"p": integer(), "t": text(nullable=True)})
    values = (*listed, None) if nullable else listed
    scan = Scan("d", schema, None, (GroupKey(ColumnRef("t"), values, nullable),), (Sum(None, 1, 1),), bounding)
    asked = statement(scan, "d", 7, DUCKDB)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE d(c0 BIGINT, c1 VARCHAR)")
        connection.executemany("INSERT INTO d VALUES (?, ?)", list(enumerate(TEXTS)))
        found = dict(connection.execute(asked.sql, asked.parameters or None).fetchall())
    cut = [None if one is None else one[:LONGEST] for one in TEXTS]
    assert found == {value: cut.count(value) for value in values if value in cut}
