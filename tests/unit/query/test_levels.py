"""GROUPING SETS, ROLLUP and CUBE in SQL and in Python: which levels they mean, what is refused, and one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded, RequestError
from privet.core.schema import Contribution, Table, category, integer, number
from privet.core.unit import Person, Rows
from privet.ledger.sqlite.store import SqliteLedger
from privet.planner.groupings import Levels
from privet.query.frame import count, grouping, mean
from privet.query.sql.parse import parse
from privet.session import Session

NAMES = ["a", "b", "c", "d", "e", "f", "g"]
COLUMNS = {"u": integer(), "x": number(0, 10), **{name: category(["p", "q"]) for name in NAMES}}


def table() -> Table:
    rows = {"u": list(range(200)), "x": [1.0] * 200, **{name: ["p", "q"] * 100 for name in NAMES}}
    return Table(pa.table(rows), unit=Person("u"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1))


def opened(**options: Any) -> Session:
    return Session({"d": table()}, **({"budget": Pure(epsilon=10)} | options))


def levels_of(by: str) -> list[str]:
    query = parse(f"SELECT COUNT(*) AS n FROM d GROUP BY {by}", {"d": table().schema})
    return ["".join(query.keys[place].name for place in level) for level in query.levels]


@pytest.mark.parametrize(
    ("by", "levels"),
    [
        ("ROLLUP (a, b)", ["ab", "a", ""]),
        ("ROLLUP (a, (b, c))", ["abc", "a", ""]),
        ("CUBE (a, b)", ["ab", "a", "b", ""]),
        ("GROUPING SETS ((a, b), a, ())", ["ab", "a", ""]),
        ("GROUPING SETS ((b), ROLLUP (a))", ["b", "a", ""]),
        ("c, ROLLUP (a)", ["ca", "c"]),
        ("ROLLUP (a), CUBE (b)", ["ab", "a", "b", ""]),
        ("GROUPING SETS ((a))", []),  # one level is a plain GROUP BY
        ("(a, b)", []),
    ],
)
def test_the_levels_are_those_of_sql(by: str, levels: list[str]) -> None:
    assert levels_of(by) == levels


def test_sql_and_python_ask_the_same() -> None:
    with opened() as session:
        rows = session.table("d")
        pairs = [
            ("ROLLUP (a, b)", rows.rollup("a", "b")),
            ("CUBE (a, b)", rows.cube("a", "b")),
            ("c, ROLLUP (a, b)", rows.group_by("c").rollup("a", "b")),
            ("GROUPING SETS ((a, b), (a), ())", rows.grouping_sets(["a", "b"], ["a"], [])),
        ]
        for by, frame in pairs:
            keys = ", ".join(dict.fromkeys(letter for letter in by if letter in "abc"))
            sql = f"SELECT {keys}, COUNT(*) AS n, AVG(x) AS m, GROUPING(a) AS g FROM d GROUP BY {by}"
            built = frame.agg(n=count(), m=mean("x"), g=grouping("a")).query()
            assert built == parse(sql, {"d": table().schema}), by


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) FROM d GROUP BY CUBE (a, b, c, d, e, f, g)", "CUBE of 7 columns makes 128 groupings"),
        ("SELECT COUNT(*) FROM d GROUP BY ROLLUP (a, b, c), CUBE (d, e, f, g), ROLLUP (d)", "the most is 64"),
        ("SELECT COUNT(*) FROM d GROUP BY GROUPING SETS ((a), (a))", "comes twice"),
        ("SELECT COUNT(*) FROM d GROUP BY GROUPING SETS ((a, b), (b, a))", "comes twice"),
        ("SELECT GROUPING(b), COUNT(*) FROM d GROUP BY ROLLUP (a)", "needs a grouping column"),
        ("SELECT HISTOGRAM(x, 5) FROM d GROUP BY ROLLUP (a)", "HISTOGRAM has one grouping"),
        (
            "SELECT COUNT(*) FROM (SELECT u, COUNT(*) AS k FROM d GROUP BY ROLLUP (u)) WHERE k > 1",
            "tell people apart|outer",
        ),
        ("SELECT COUNT(*) FROM d GROUP BY ROLLUP (a) WITHIN 5", "one grouping"),
        ("SELECT x, COUNT(*) FROM d GROUP BY ROLLUP (a)", "neither grouped by"),
    ],
)
def test_what_cannot_be_answered_is_refused_for_free_and_says_what_to_do(sql: str, words: str) -> None:
    with opened() as session:
        with pytest.raises(RequestError, match=words):
            session.ask(sql, epsilon=None if "WITHIN" in sql else 1)
        assert session.history() == ()


def test_all_levels_are_one_charge_of_no_more_than_was_said_and_the_same_again_is_free(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    sql = "SELECT a, b, COUNT(*) AS n, AVG(x) AS m FROM d GROUP BY CUBE (a, b)"
    ledger = SqliteLedger(place, Pure(epsilon=3))
    with opened(budget=None, ledger=ledger) as session:
        plan = session.plan(sql, epsilon=2)
        assert isinstance(plan, Levels)
        assert plan.price["epsilon"] == pytest.approx(2)
        assert plan.event.pure() <= 2
        assert "4 levels" in plan.explain()
        assert "least squares" in plan.explain()
        first = session.run(plan)
        assert len(session.history()) == 1
        with pytest.raises(BudgetExceeded):
            session.ask(sql, epsilon=2.5)
        assert len(session.history()) == 1
    ledger.close()
    ledger = SqliteLedger(place)
    with opened(budget=None, ledger=ledger) as session:
        again = session.ask(sql, epsilon=2)
        assert again.to_dict() == first.to_dict()
        assert len(session.history()) == 1
        assert ledger.certificate(first.receipt.entry)["cost"]["epsilon"] <= 2
        assert first.certificate()["levels"] == ["(a, b)", "(a)", "(b)", "()"]
        ledger.verify()


def test_a_level_that_was_asked_beside_it_is_released_once() -> None:
    with opened() as session:
        batch = session.plan_all(
            ["SELECT a, COUNT(*) AS n FROM d GROUP BY ROLLUP (a)", "SELECT a, COUNT(*) AS n FROM d GROUP BY a"],
            epsilon=1,
        )
        assert len(batch.releases) == 1  # of a strategy over both
        assert len(batch.before.releases) == 2
        rolled, plain = session.run_all(batch.before)
    assert len(rolled) == 3
    assert rolled["n"].values[0] != plain["n"].values[0]  # a level alone is as it was released, and whole
    assert abs(rolled["n"].values[0] - plain["n"].values[0]) < 40


def test_later_steps_see_all_levels_and_group_bits() -> None:
    with opened(budget=Pure(epsilon=10**9)) as session:
        sql = (
            "SELECT COALESCE(a, 'all') AS a, n FROM (SELECT a, GROUPING(a) AS g, COUNT(*) AS n FROM d "
            "GROUP BY ROLLUP (a)) WHERE g = 1 OR n > 150 ORDER BY n DESC"
        )
        answer = session.ask(sql, epsilon=10**6)
    assert answer["a"].values == ("all",)
    assert answer["n"].values == pytest.approx((200,), abs=0.01)


def test_a_plan_of_levels_is_plain_data_and_words() -> None:
    with opened() as session:
        plan = session.plan("SELECT a, COUNT(*) AS n FROM d GROUP BY ROLLUP (a)", epsilon=1)
    told = plan.to_dict()
    assert told["levels"] == ["(a)", "()"]
    assert [one["level"] for one in told["columns"]] == ["(a)", "(a)", "()", "()"]
    assert plan.explain().splitlines()[0][:60] in repr(plan)
    assert "least squares" in plan._repr_html_()


def test_an_answer_says_that_totals_leave_out_rows_with_undeclared_values() -> None:
    rows = pa.table({"ward": ["a", "b", "x", None], "band": [1, 2, 3, 1]})
    columns = {"ward": category(["a", "b"]), "band": integer(1, 3)}
    table = Table(rows, unit=Rows(), columns=columns)
    with Session({"t": table}, budget=Pure(epsilon=10**9)) as session:
        some = session.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP(ward)", epsilon=10**6)
        alone = session.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=10**6)
    assert some.to_dict()["n"][-1] == 2  # of four rows, two have a ward that is declared
    assert sum("in no total" in note for note in some.notes) == 1
    assert not any("in no total" in note for note in alone.notes)
