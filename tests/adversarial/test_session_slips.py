"""Slips cost nothing: a closed session, a value that a category does not have, a figure that is no longer left."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import BudgetError, BudgetExceeded, RequestError, UnknownName
from privet.core.numbers import float_down
from privet.core.schema import Contribution, PublicTable, Table, category, integer, text
from privet.core.unit import Person
from privet.ledger.sqlite.store import SqliteLedger
from privet.query.frame import col, count

WARDS = ["births", "heart", "surgery"]
COLUMNS = {
    "who": integer(),
    "age": integer(0, 120),
    "ward": category(WARDS, nullable=True),
    "level": category([1, 2, 3]),
    "note": text(),
}
ROWS = {
    "who": [1, 2, 3],
    "age": [30, 40, 50],
    "ward": ["heart", "hart", None],
    "level": [1, 2, 9],
    "note": ["a", "b", "c"],
}


def session(budget: Any = None, **options: Any) -> privet.Session:
    wards = PublicTable(
        pa.table({"name": WARDS, "beds": [1, 2, 3]}),
        columns={"name": category(WARDS), "beds": integer(0, 9)},
        key="name",
    )
    tables = {
        "visits": Table(
            pa.table(ROWS), unit=Person("who"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1)
        ),
        "wards": wards,
    }
    return privet.Session(tables, budget=budget or privet.Approximate(epsilon=100, delta=1e-6), **options)


# --- closed -----------------------------------------------------------------------------------------------------------

ASKS: dict[str, Callable[[privet.Session], object]] = {
    "ask": lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1),
    "run": lambda s: s.run(s.plan("SELECT SUM(age) FROM visits", epsilon=1)),
    "all": lambda s: s.ask_all(["SELECT COUNT(*) FROM visits", "SELECT SUM(age) FROM visits"], epsilon=1),
    "levels": lambda s: s.ask("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", epsilon=1),
    "rounds": lambda s: s.ask("SELECT AVG(age) FROM visits", within=5, at_most=3),
    "builder": lambda s: s.ask(s.table("visits").agg(n=count()), epsilon=1),
    "key": lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1, key="again"),
}


@pytest.mark.parametrize("ask", ASKS)
def test_a_closed_session_refuses_before_it_charges(ask: str, tmp_path: Path) -> None:
    for ledger in (None, SqliteLedger(tmp_path / f"{ask}.ledger", privet.Pure(epsilon=10))):
        made = session(ledger=ledger) if ledger is None else session(budget=privet.Pure(epsilon=10), ledger=ledger)
        made.ask("SELECT COUNT(*) FROM visits", epsilon=1)
        before = made.history()
        made.close()
        for _ in range(4):
            with pytest.raises(RequestError, match="closed"):
                ASKS[ask](made)
        assert made.history() == before
        made.close()


def test_a_session_that_is_closed_while_it_is_asked_charges_nothing_that_it_cannot_answer() -> None:
    made = session(privet.Pure(epsilon=10**6))
    told: list[str] = []

    def ask(first: int) -> None:
        for number in range(first, first + 200):
            try:
                made.ask(f"SELECT COUNT(*) FROM visits WHERE age < {number % 120}", epsilon=1 + number)
            except RequestError:
                told.append("refused")
            except privet.PrivetError as error:
                told.append(str(error))

    threads = [threading.Thread(target=ask, args=(1000 * index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    made.close()
    for thread in threads:
        thread.join()
    assert set(told) == {"refused"}


# --- categories -------------------------------------------------------------------------------------------------------

SLIPS = (
    "SELECT COUNT(*) FROM visits WHERE ward = 'hart'",
    "SELECT COUNT(*) FROM visits WHERE 'hart' = ward",
    "SELECT COUNT(*) FROM visits WHERE ward <> 'hart'",
    "SELECT COUNT(*) FROM visits WHERE NOT (ward = 'hart')",
    "SELECT COUNT(*) FROM visits WHERE ward IN ('heart', 'hart')",
    "SELECT COUNT(*) FROM visits WHERE ward NOT IN ('hart')",
    "SELECT COUNT(*) FROM visits WHERE ward IS NOT NULL AND (age > 3 OR ward = 'hart')",
    "SELECT SUM(CASE WHEN ward = 'hart' THEN age ELSE 0 END) FROM visits",
    "SELECT SUM(CASE ward WHEN 'hart' THEN age ELSE 0 END) FROM visits",
    "SELECT COUNT(*) FILTER (WHERE ward = 'hart') FROM visits",
    "SELECT COUNT(NULLIF(ward, 'hart')) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward = 'hart'",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 3 AND ward IN ('hart')",
    "SELECT w FROM (SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward) AS s WHERE w = 'hart'",
    "SELECT ward, CASE WHEN ward = 'hart' THEN 1 ELSE 0 END, COUNT(*) FROM visits GROUP BY ward",
    "SELECT COUNT(*) FROM (SELECT who, age FROM visits WHERE ward = 'hart') AS s",
    "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM visits WHERE ward = 'hart' GROUP BY who) AS s",
    "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.name AND wards.name = 'hart'",
    "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.name WHERE wards.name = 'hart'",
    "WITH s AS (SELECT * FROM visits WHERE ward = 'hart') SELECT COUNT(*) FROM s",
    "SELECT ward = 'hart', COUNT(*) FROM visits GROUP BY ward = 'hart'",
    "SELECT MEDIAN(age) FROM visits WHERE ward = 'hart'",
    "SELECT COUNT(*) FROM visits WHERE level = 4",
    "SELECT COUNT(*) FROM visits WHERE level IN (1, 2, 4)",
)


@pytest.mark.parametrize("sql", SLIPS)
def test_a_value_that_a_category_does_not_have_is_refused_free_with_the_nearest(sql: str) -> None:
    with session() as made:
        for ask in (made.ask, made.plan):
            with pytest.raises(UnknownName) as refused:
                ask(sql, epsilon=1)
            if "hart" in sql:
                assert refused.value.nearest == "heart"
            assert "known: " in str(refused.value) or "did you mean 'heart'?" in str(refused.value)
        with pytest.raises(UnknownName):
            made.ask_all([sql, "SELECT COUNT(*) FROM visits"], epsilon=1)
        assert made.history() == ()


def test_the_builder_refuses_it_too() -> None:
    with session() as made:
        visits = made.table("visits")
        for asked in (
            visits.where(col("ward") == "hart").agg(n=count()),
            visits.where(col("ward") != "hart").agg(n=count()),
            visits.where(col("ward").is_in(["heart", "hart"])).agg(n=count()),
            visits.where(~col("ward").is_in(["hart"])).agg(n=count()),
            visits.group_by("ward").agg(n=count()).having(col("ward") == "hart"),
            visits.group_by("ward").agg(n=count()).where(col("ward") == "hart"),
            visits.group_by(col("ward") == "hart").agg(n=count()),
            visits.agg(n=count(where=col("ward") == "hart")),
        ):
            with pytest.raises(UnknownName):
                made.ask(asked, epsilon=1)
        assert made.history() == ()


def test_a_view_that_compares_so_is_refused_when_it_is_opened() -> None:
    with pytest.raises(UnknownName, match="heart"):
        session(views={"some": "SELECT * FROM visits WHERE ward = 'hart'"})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE ward = 'heart' OR ward IS NULL",
        "SELECT COUNT(*) FROM visits WHERE ward IN ('heart', 'births')",
        "SELECT COUNT(*) FROM visits WHERE ward < 'hart'",
        "SELECT COUNT(*) FROM visits WHERE ward LIKE 'hart%'",
        "SELECT COUNT(*) FROM visits WHERE note = 'hart'",
        "SELECT COUNT(*) FROM visits WHERE UPPER(ward) = 'HEART'",
        "SELECT COUNT(*) FROM visits WHERE COALESCE(ward, 'none') = 'none'",
        "SELECT COUNT(*) FROM visits WHERE level = 3 AND age = 119",
        "SELECT COUNT(*) FROM visits WHERE ward = note",
        "SELECT COUNT(*) FROM visits WHERE ward = NULL",
        "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward HAVING ward = 'heart' ORDER BY w = 'births'",
    ],
)
def test_what_may_be_compared_is_answered(sql: str) -> None:
    with session() as made:
        made.ask(sql, epsilon=1)


# --- what is left -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget", [privet.Pure(epsilon=1), privet.Approximate(epsilon=1, delta=1e-6), privet.Zcdp(rho=1)]
)
def test_a_refusal_says_what_remaining_says_and_that_can_be_asked_for(budget: Any) -> None:
    rng = random.Random(5)
    name = "rho" if isinstance(budget, privet.Zcdp) else "epsilon"
    for _ in range(5):
        made = session(budget)
        for number in range(4):
            made.ask(
                f"SELECT SUM(age) FROM visits WHERE age > {number}", **{name: rng.choice([0.1, 0.2, 1 / 7, 0.0001])}
            )
            left = made.remaining()
            most = float_down(Fraction(left.amount)) if name == "rho" else left.largest_epsilon
            with pytest.raises(BudgetExceeded) as refused:
                made.ask("SELECT COUNT(*) FROM visits", **{name: 5})
            told = refused.value.largest_rho if name == "rho" else refused.value.largest_epsilon
            assert told is not None
            assert told >= most
            if not isinstance(budget, privet.Approximate):
                assert told == most
                assert refused.value.remaining == float_down(Fraction(left.amount))
            shown = re.search(r"still fits is ([0-9.e-]+)", str(refused.value))
            assert shown is not None
            assert float(shown[1]) <= told < float(shown[1]) * (1 + 1e-4)
        made.ask("SELECT COUNT(*) FROM visits", **{name: float(shown[1])})


def test_nothing_left_is_shown_without_a_sign() -> None:
    made = session(privet.Pure(epsilon=1))
    made.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    with pytest.raises(BudgetExceeded) as refused:
        made.ask("SELECT SUM(age) FROM visits", epsilon=1)
    assert "and 0 is left" in str(refused.value)
    assert "-0" not in str(refused.value)
    assert str(refused.value.remaining) == "0.0"
    assert "-0" not in repr(made.remaining())


def test_what_the_docs_catch_can_be_caught() -> None:
    assert privet.BudgetError is BudgetError
    assert "BudgetError" in privet.__all__
