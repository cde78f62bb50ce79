"""A row finds one row at most where it is looked up among others, also where several keys become one: brute force."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from privet.audit import replay
from privet.core.budget import Approximate
from privet.core.errors import Unsupported
from privet.core.schema import Contribution, PublicTable, Table, category, date, integer, text
from privet.core.unit import Rows, Window
from privet.query.typed import longest
from privet.session import Session
from privet.testing.oracle import Memory

CUT = "x" * longest(text())
"""As long as a text is read that nothing lists: what comes after it in a longer one is not seen."""
LISTED = [CUT + "y", CUT + "z"]
PUBLIC = [{"long": LISTED[0], "short": "y", "v": 1}, {"long": LISTED[1], "short": "z", "v": 2}]
PRIVATE = [{"k": CUT, "x": 9}, {"k": CUT, "x": 9}, {"k": "q", "x": 0}]
LIMIT = Contribution(groups=1, rows=3)


def tables_of(*, arrow: bool) -> dict[str, Table | PublicTable]:
    def made(rows: list[dict[str, Any]]) -> Any:
        return pa.Table.from_pylist(rows) if arrow else rows

    columns = {"long": category(LISTED, nullable=True), "short": text(), "v": integer(0, 9)}
    return {
        "t": Table(made(PRIVATE), unit=Rows(), columns={"k": text(), "x": integer(0, 9)}, rows=100),
        "p": PublicTable(made(PUBLIC), columns=columns),
    }


@pytest.mark.parametrize(
    "key", ["COALESCE(p.long, p.short)", "LOWER(p.long)", "CASE WHEN p.v > 0 THEN p.long ELSE p.short END"]
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(t.x) AS s FROM t WHERE EXISTS (SELECT 1 FROM p WHERE {} = t.k)",
        "SELECT SUM(t.x) AS s FROM t WHERE t.k IN (SELECT {} FROM p)",
        "SELECT SUM(t.x + 0 * (SELECT MAX(p.v) FROM p WHERE {} = t.k)) AS s FROM t",
    ],
)
def test_keys_that_become_one_are_found_once(sql: str, key: str) -> None:
    asked = sql.format(key)
    tables = tables_of(arrow=True)
    with Session(tables, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        found = replay(tables, session.plan(asked, epsilon=1))
    assert found.holds, found
    for engine in (None, Memory(tables_of(arrow=False))):
        with Session(tables, budget=Approximate(epsilon=10**13, delta=1e-6), engine=engine) as session:
            assert round(session.ask(asked, epsilon=10**12).value) == 18


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM t a WHERE EXISTS (SELECT 1 FROM w b WHERE b.pid = a.pid)",
        "SELECT SUM((SELECT MAX(b.x) FROM w b WHERE b.pid = a.pid AND b.x > 2)) AS s FROM t a",
        "SELECT COUNT(*) AS n FROM t a SEMI JOIN w b ON b.pid = a.pid",
    ],
)
def test_what_a_window_of_time_protects_is_looked_up_at_its_own_moment(sql: str) -> None:
    days = ["2024-01-01", "2024-01-02", "2024-01-20"]
    rows = pa.table({"pid": [1, 1, 2], "d": pa.array(days).cast(pa.date32()), "x": [1, 5, 7]})
    columns = {"pid": integer(), "d": date("2024-01-01", "2024-01-31"), "x": integer(0, 9)}
    unit = Window("pid", "d", 7)
    tables = {name: Table(rows, unit=unit, columns=columns, contribution=LIMIT, rows=100) for name in "tw"}
    with Session(tables, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        with pytest.raises(Unsupported, match="'pid' and 'd'"):
            session.plan(sql, epsilon=1)
        same = sql.replace("b.pid = a.pid", "b.pid = a.pid AND b.d = a.d")
        assert replay(tables, session.plan(same, epsilon=1)).holds
