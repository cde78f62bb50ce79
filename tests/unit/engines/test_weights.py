"""The weight of a unit is the largest that keeps what it gives within the limit: none at all, if it gives too much."""

from __future__ import annotations

import duckdb
import pytest

from privet.core.scan import Norm
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.row_values import with_weight


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("limit", "shift"), [(1, 0), (3, 2), (5, 4), (2**20, 10), (2**50, 30)])
def test_a_weight_is_the_largest_within_the_limit_however_much_a_unit_gives(order: int, limit: int, shift: int) -> None:
    norm = Norm(order=order, limit=limit, shift=shift)  # type: ignore[arg-type]
    most = limit * (2**shift) ** order
    sizes = sorted({1, 2, 3, limit, limit + 1, 4 * limit, most // 2, most - 1, most, most + 1, 2 * most, 2**120} - {0})
    units = " UNION ALL ".join(f"SELECT {size}::HUGEINT AS q" for size in sizes)
    with duckdb.connect() as engine:
        found = dict(engine.sql(f"SELECT q, w FROM ({with_weight(units, norm, DUCKDB)})").fetchall())
    assert sorted(found) == sizes
    for size, weight in found.items():
        assert weight**order * size <= most
        assert weight == 2**shift or (weight + 1) ** order * size > most
    assert found[2**120] == 0
