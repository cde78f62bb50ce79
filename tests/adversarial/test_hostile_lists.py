"""Lists of questions that tempt to put them together wrongly: each is answered as by itself, or refused for free."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Pure, Zcdp
from privet.core.errors import BudgetExceeded, RequestError
from privet.core.schema import Table, category, integer, number, text
from privet.core.unit import Rows
from privet.session import Session

COLUMNS = {
    "block": category(["x", "y"]),
    "cell": integer(0, 9, nullable=True),
    "pay": number(nullable=True),
    "name": text(nullable=True),
}
ROWS = {
    "block": ["x", "y", "x", "odd", "y"] * 40,
    "cell": [0, 3, None, 9, 400] * 40,  # beyond its bounds: read as 9
    "pay": [float("nan"), float("inf"), -0.0, 2.5, None] * 40,
    "name": ["it's", "", None, "a\\b", "A"] * 40,
}


def opened(budget: Any = None) -> Session:
    return Session({"t": Table(pa.table(ROWS), unit=Rows(), columns=COLUMNS)}, budget=budget or Zcdp(rho=10**6))


LISTS: dict[str, list[tuple[str, int]]] = {
    "columns and aliases called as keys of ours": [
        ("SELECT COUNT(*) AS block FROM t WHERE cell = 0", 40),
        ("SELECT COUNT(*) AS cell FROM t WHERE cell = 3", 40),
        ("SELECT COUNT(*) AS cell_2 FROM t WHERE cell = 9", 80),
    ],
    "conditions that nothing meets": [
        ("SELECT COUNT(*) AS n FROM t WHERE cell < 3 AND cell > 5", 0),
        ("SELECT COUNT(*) AS n FROM t WHERE cell = 3", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE cell = 77", 0),
        ("SELECT COUNT(*) AS n FROM t WHERE cell IS NULL AND cell = 3", 0),
    ],
    "NULL is in no range and no complement": [
        ("SELECT COUNT(*) AS n FROM t WHERE cell <> 3", 120),
        ("SELECT COUNT(*) AS n FROM t WHERE NOT cell <> 3", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE cell IS NULL", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE NOT (cell IS NULL OR cell = 3)", 120),
    ],
    "numbers at which doubles part": [
        ("SELECT COUNT(*) AS n FROM t WHERE pay > 1e299", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE pay = 0", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE pay <= 0", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE pay BETWEEN 2.5 AND 2.5", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE pay IS NULL", 80),
    ],
    "texts with quotes, and undeclared ones": [
        ("SELECT COUNT(*) AS n FROM t WHERE name = 'it''s'", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE name = ''", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE name IN ('A', 'a\\b')", 80),
        ("SELECT COUNT(*) AS n FROM t WHERE name <> 'A'", 120),
        ("SELECT COUNT(*) AS n FROM t", 200),
    ],
    "the same question again and again": [("SELECT COUNT(*) AS n FROM t WHERE cell >= 3", 120)] * 30
    + [("SELECT COUNT(*) AS n FROM t WHERE cell > 2", 120), ("SELECT COUNT(*) AS n FROM t WHERE 3 <= cell", 120)],
    "a value that is undeclared is in no group, and in every total": [
        ("SELECT COUNT(*) AS n FROM t WHERE block = 'x' AND cell IS NULL", 40),
        ("SELECT COUNT(*) AS n FROM t WHERE block = 'y'", 80),
        ("SELECT COUNT(*) AS n FROM t", 200),
    ],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_answered_as_its_questions_are(name: str) -> None:
    """Noise is a hundredth: no number is off by a half but once in e^1000."""
    questions = [sql for sql, _ in LISTS[name]]
    with opened() as session:
        answers = session.ask_all(questions, rho=10**5)
        assert [round(answer.series[0].values[0]) for answer in answers] == [count for _, count in LISTS[name]]
        assert len(session.history()) == 1


def test_a_hundred_ranges_of_long_conditions_are_one_charge_or_a_refusal() -> None:
    wide = ", ".join(map(str, range(500)))
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE cell IN ({wide}) AND pay < {place}.25" for place in range(100)]
    with opened(Pure(epsilon=10)) as session:
        batch = session.plan_all(questions, epsilon=1)
        assert batch.cost()["epsilon"] <= 1
        assert len(session.run_all(batch)) == 100
        assert len(session.history()) == 1


def test_a_list_that_is_refused_costs_nothing() -> None:
    good = [f"SELECT COUNT(*) AS n FROM t WHERE cell = {place}" for place in range(5)]
    with opened(Pure(epsilon=1)) as session:
        for bad in ("SELECT * FROM t", "SELECT SUM(pay) FROM t", "SELECT COUNT(*) FROM t WHERE cell = 'x'"):
            with pytest.raises(RequestError):
                session.ask_all([*good, bad], epsilon=0.5)
        with pytest.raises(BudgetExceeded):
            session.ask_all(good, epsilon=2)
        for within in (b"1", bytearray(b"1"), b""):  # a list of numbers, to who does not look
            with pytest.raises(RequestError):
                session.ask_all(good[:1], within=within)  # type: ignore[arg-type]
        assert not session.history()
