"""Windows stay within the unit by the text that the engine runs, whatever a question partitions by."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privet.core.relation import By, ColumnRef, Rank, RowSpan
from privet.core.schema import Schema, integer
from privet.core.unit import Person
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import rank_sql
from privet.query.shape import schema_of

VISITS = Schema(unit=Person("who"), columns={"who": integer(), "ward": integer(0, 3), "cost": integer(0, 9)})


@pytest.mark.parametrize("function", ["row_number", "sum"])
def test_a_window_is_partitioned_by_the_unit_first_and_ties_are_broken_by_all_columns(function: str) -> None:
    span = RowSpan(rows=True, start=-1, end=0)
    summed: dict[str, Any] = {"argument": ColumnRef("cost"), "step": Fraction(1), "span": span}
    more = summed if function == "sum" else {}
    by = (ColumnRef("who"), ColumnRef("ward"))
    made = Rank("visits", "made", function, by, (By(ColumnRef("cost")),), **more)
    schema = schema_of(made, {"visits": VISITS})
    written = rank_sql(made, VISITS, schema, "SELECT u, c0, c1, c2 FROM visits", DUCKDB, owner=["u"])
    window = written[written.index("PARTITION BY") :]
    assert window.startswith("PARTITION BY u, p0, p1 ORDER BY ")
    assert "c0, c1, c2" in window[: window.index(")")]
