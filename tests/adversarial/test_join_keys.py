"""A row that is protected by itself never becomes several by a join on a public key, however values are compared."""

from __future__ import annotations

import datetime

import pytest

import privet
from privet.core.errors import Unsupported
from privet.core.schema import ColumnFacts

pa = pytest.importorskip("pyarrow")

LARGE = 2**62
"""Around here 1024 whole numbers are one double."""


def session(key: ColumnFacts, keys: list, mine: ColumnFacts, value: object) -> privet.Session:
    rows = privet.Table(pa.table({"k": [value]}), unit=privet.Rows(), columns={"k": mine}, rows=10)
    names = privet.PublicTable(pa.table({"id": keys}), columns={"id": key}, key="id", rows=1000)
    return privet.Session({"v": rows, "names": names}, budget=privet.Pure(epsilon=10**9))


@pytest.mark.parametrize("other", ["v.k * 1.0", "CAST(v.k AS DOUBLE)", "v.k + 0.5", "4611686018427387904.5"])
@pytest.mark.parametrize("key", [privet.integer(), privet.integer(0, 2**63 - 1)])
def test_whole_numbers_that_are_one_double_are_no_key(key, other):
    with session(key, [LARGE + i for i in range(500)], privet.integer(), LARGE) as asked:
        with pytest.raises(Unsupported, match="key"):
            asked.plan(f"SELECT COUNT(*) AS n FROM v JOIN names ON names.id = {other}", epsilon=1)
        found = asked.ask("SELECT COUNT(*) AS n FROM v JOIN names ON names.id = v.k", epsilon=1000)
        assert found["n"].values == (1,)


DAY = datetime.date(2024, 1, 6)
NEXT = datetime.date(2024, 1, 7)


@pytest.mark.parametrize(
    ("key", "keys", "mine", "value"),
    [
        (privet.integer(0, 2**53), [2**53 - 1, 2**53], privet.number(), 2.0**53),
        (privet.category([1, 2]), [1, 2], privet.number(), 2.0),
        (privet.number(), [1.0, 2.0**62], privet.integer(), LARGE + 1),
        (privet.date(), [DAY, NEXT], privet.timestamp(), datetime.datetime(2024, 1, 6)),
        (privet.text(), ["a", "A", "a "], privet.text(), "a"),
    ],
)
def test_values_that_are_told_apart_are_keys_and_a_row_meets_one(key, keys, mine, value):
    with session(key, keys, mine, value) as asked:
        found = asked.ask("SELECT COUNT(*) AS n FROM v JOIN names ON names.id = v.k", epsilon=1000)
        assert found["n"].values == (1,)
