"""People whose stored numbers differ stay different people, however their column is stored; or the table is refused."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest

import privet
from privet.core.errors import RequestError

pa = pytest.importorskip("pyarrow")

LARGE = [2**53 + place for place in range(4)]
"""As doubles, two of these are one."""

EXACT = {
    "decimals": pa.array(list(map(Decimal, LARGE)), pa.decimal128(38, 0)),
    "decimals with places": pa.array(list(map(Decimal, LARGE)), pa.decimal128(38, 2)),
    "whole numbers": pa.array(LARGE),
    "without a sign": pa.array(LARGE, pa.uint64()),
    "texts": pa.array(list(map(str, LARGE))),
}


def table(ids: object, kind: object) -> privet.Table:
    columns = {"p": kind, "x": privet.number(0, 1)}
    return privet.Table(
        pa.table({"p": ids, "x": [1.0] * 4}),
        unit=privet.Person("p"),
        columns=columns,
        contribution=privet.Contribution(groups=1, rows=1),
        rows=100,
    )


@pytest.mark.parametrize("stored", EXACT)
def test_whole_numbers_are_read_as_they_are_stored(stored):
    with privet.Session({"v": table(EXACT[stored], privet.integer())}, budget=privet.Pure(epsilon=10**9)) as session:
        assert session.ask("SELECT COUNT(DISTINCT p) AS n FROM v", epsilon=10**4)["n"].values == (4,)


def test_nobody_is_scaled_with_somebody_else():
    # as one person, the second would be scaled down with the first, and come back in full when the first leaves
    rows = {"p": [LARGE[0]] * 100 + [LARGE[1]], "g": ["a"] * 100 + ["b"]}
    found = []
    for start in (0, 100):
        ids = pa.array(list(map(Decimal, rows["p"][start:])), pa.decimal128(38, 0))
        data = pa.table({"p": ids, "g": rows["g"][start:]})
        columns = {"p": privet.integer(), "g": privet.category(["a", "b"])}
        held = privet.Table(
            data,
            unit=privet.Person("p"),
            columns=columns,
            contribution=privet.Contribution(groups=1, rows=1),
            rows=1000,
        )
        with privet.Session({"v": held}, budget=privet.Pure(epsilon=10**9)) as session:
            found.append(session.ask("SELECT g, COUNT(*) AS n FROM v GROUP BY g", epsilon=10**5)["n"].values)
    assert found == [(1, 1), (0, 1)]


@pytest.mark.parametrize("stored", EXACT)
def test_a_person_that_is_declared_a_number_is_stored_as_doubles(stored):
    held = table(EXACT[stored], privet.number())
    with pytest.raises(RequestError, match="declare it as integer"):
        privet.Session({"v": held}, budget=privet.Pure(epsilon=1))
    with privet.Session({"v": table(pa.array([1.0, 2.0, 3.0, 4.0]), privet.number())}, budget=privet.Pure(epsilon=1)):
        pass


@pytest.mark.parametrize("ids", [[1.0, 2.0], [1, 2], LARGE[:2]])
def test_nothing_links_by_numbers_that_may_be_equal_where_they_were_not(ids):
    columns = {"id": privet.number(), "p": privet.integer()}
    owners = privet.Table(
        pa.table({"id": ids, "p": [1, 2]}),
        unit=privet.Person("p"),
        columns=columns,
        contribution=privet.Contribution(groups=1, rows=1),
    )
    link = privet.Link("visit", to="o", column="id")
    linked = privet.Table(
        pa.table({"visit": ids}),
        unit=link,
        columns={"visit": privet.number()},
        contribution=privet.Contribution(groups=1, rows=1),
    )
    with pytest.raises(RequestError, match="two owners"):
        privet.Session({"o": owners, "v": linked}, budget=privet.Pure(epsilon=1))


def test_nobody_can_be_called_like_the_fingerprint_of_a_long_name():
    """A name of more than 2,000 bytes stands as its fingerprint, which anybody could take for a name of their own."""
    long = "a" * 2_500
    mark = hashlib.sha256(long.encode()).hexdigest()
    names = [mark, mark.upper(), mark + "." * 1_936, mark + "." * 1_937, mark + "." * 1_938, "."]
    data = pa.table({"p": [long] * 50 + names, "x": [1] * (50 + len(names))})
    columns = {"p": privet.text(), "x": privet.integer(0, 1)}
    held = privet.Table(
        data, unit=privet.Person("p"), columns=columns, contribution=privet.Contribution(groups=1, rows=1), rows=1000
    )
    with privet.Session({"v": held}, budget=privet.Pure(epsilon=10**9)) as session:
        for sql in (
            "SELECT COUNT(DISTINCT p) AS n FROM v",
            "SELECT COUNT(*) AS n FROM (SELECT p, SUM(x) AS s FROM v GROUP BY p)",
            "SELECT COUNT(*) AS n FROM v",  # many rows of one weigh as one; rows without a person are left out
        ):
            assert session.ask(sql, epsilon=10**5)["n"].values == (1 + len(names),)
