"""One person with far more rows than a table is said to have makes no question fail: that would tell of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from privet.core.budget import Approximate
from privet.core.schema import Contribution, Table, integer
from privet.core.unit import Person
from privet.session import Session

FAR = 2**50
COLUMNS = {"pid": integer(), "a": integer(-FAR, FAR), "b": integer(-FAR, FAR), "c": integer(0, FAR)}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT VAR_POP(a) AS v, SUM(b) AS b, SUM(c) AS c FROM t",
        "SELECT VAR_POP(a) AS v, VAR_POP(c) AS w FROM t",
        "SELECT SUM(a) AS a, SUM(b) AS b, SUM(c) AS c FROM t",
        "SELECT SUM(s) AS s FROM (SELECT pid, SUM(a) OVER (PARTITION BY pid) AS s FROM t)",
        "SELECT SUM(a, contribution_bounds_per_group => (0, 100)) AS s FROM t",
    ],
)
@pytest.mark.parametrize("many", [1, 100_000])
def test_the_rows_of_one_person_make_no_question_fail(sql: str, many: int) -> None:
    far = [FAR] * many
    rows = pa.table({"pid": [1] * many + [2], "a": [*far, 1], "b": [*far, 2], "c": [*far, 3]})
    table = Table(rows, unit=Person("pid"), columns=COLUMNS, contribution=Contribution(groups=1, rows=2), rows=30)
    with Session({"t": table}, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        assert len(session.ask(sql, epsilon=1)) == 1
