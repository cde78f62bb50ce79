"""A plan is replayed without each unit: claims hold, some come close, and one that is too low is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner

import privet
from privet.audit import replay
from privet.cli import main
from privet.core.errors import RequestError
from privet.planner.plan import Plan

ROWS = {
    "p": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, None],
    "x": [5.0, 200.0, 3.0, 1.0, None, -9.0, 10.0, 10.0, 10.0, 10.0, 7.0],
    "g": ["a", "b", "a", "a", "b", "b", "a", "b", "c", "a", "a"],
}
COLUMNS = {
    "p": privet.integer(nullable=True),
    "x": privet.number(0, 10, step=0.5, nullable=True),
    "g": privet.text(),
}
BUDGET = privet.Approximate(epsilon=100, delta=1e-3)


def table(unit: Any, neighbors: Any = "add-remove") -> dict[str, privet.Table]:
    contribution = privet.Contribution(groups=2, rows=2)
    made = privet.Table(pyarrow.table(ROWS), unit=unit, columns=COLUMNS, neighbors=neighbors, contribution=contribution)
    return {"t": made}


def planned(tables: dict[str, privet.Table], sql: str) -> Plan:
    with privet.Session(tables, budget=BUDGET) as session:
        return session.plan(sql, epsilon=1)


QUESTIONS = [
    "SELECT COUNT(*), SUM(x), AVG(x) FROM t",
    "SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g",
    "SELECT MEDIAN(x) FROM t",
    "SELECT SUM(n) FROM (SELECT p, COUNT(*) AS n FROM t GROUP BY p) AS s",
]


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_every_claim_holds_and_some_unit_comes_close(sql: str, neighbors: Any) -> None:
    tables = table(privet.Person("p"), neighbors)
    found = replay(tables, planned(tables, sql))
    assert found.holds
    assert found.units == 4
    assert found.worlds == (4 if neighbors == "add-remove" else 16)
    assert 0.5 < found.worst.share <= 1


def test_rows_are_units_of_their_own() -> None:
    tables = table(privet.Rows())
    found = replay(tables, planned(tables, "SELECT SUM(x) FROM t"))
    assert (found.units, found.worlds) == (11, 11)
    assert found.worst.moved == found.worst.claimed == 10
    assert found.worst.unit == ("t", 2)  # 200, held to 10
    assert replay(tables, planned(tables, "SELECT SUM(x) FROM t"), most=1).worlds == 1


@pytest.mark.parametrize("unit", [privet.Rows(), privet.Person("p")])
def test_noise_for_too_small_a_sensitivity_is_seen(unit: Any) -> None:
    tables = table(unit)
    plan = planned(tables, "SELECT COUNT(*), SUM(x) FROM t")
    (one,) = plan.passes
    for place, measure in enumerate(one.measures):
        lax = privet.Laplace(sensitivity=measure.sensitivity.l1 / 3, scale=1, grid="fine")
        measures = (*one.measures[:place], replace(measure, mechanism=lax), *one.measures[place + 1 :])
        found = replay(tables, replace(plan, passes=(one.with_noise(measures),)))
        assert not found.holds
        assert [move.holds for move in found.moves].count(False) == 1
        assert not found.worst.holds
        assert "FAILS" in str(found)


def test_people_are_followed_through_links() -> None:
    visits = privet.Table(
        pyarrow.table({"id": [1, 2, 3], "p": [7, 7, 8]}),
        unit=privet.Person("p"),
        columns={"id": privet.integer(), "p": privet.integer()},
        contribution=privet.Contribution(groups=1, rows=6),
    )
    drugs = privet.Table(
        pyarrow.table({"visit": [1, 1, 2, 3], "n": [4, 4, 4, 1]}),
        unit=privet.Link("visit", to="visits", column="id"),
        columns={"visit": privet.integer(), "n": privet.integer(0, 4)},
        contribution=privet.Contribution(groups=1, rows=6),
    )
    tables = {"visits": visits, "drugs": drugs}
    found = replay(tables, planned(tables, "SELECT SUM(n) FROM drugs"))
    assert found.holds
    assert (found.units, found.worst.unit, found.worst.moved) == (2, 7, 12)


def test_what_is_shown_says_that_it_is_private() -> None:
    tables = table(privet.Rows())
    assert str(replay(tables, planned(tables, "SELECT COUNT(*) FROM t"))).startswith("PRIVATE")


def test_nobody_to_drop_is_an_error() -> None:
    empty = privet.Table(
        pyarrow.table({"x": pyarrow.array([], type=pyarrow.int64())}),
        unit=privet.Rows(),
        columns={"x": privet.integer(0, 1)},
    )
    with pytest.raises(RequestError):
        replay({"t": empty}, planned({"t": empty}, "SELECT SUM(x) FROM t"))


def test_the_custodian_replays_a_question_at_a_shell(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("p,x\n1,5\n1,9\n2,3\n", encoding="utf-8")
    (tmp_path / "privet.toml").write_text(
        '[budget]\nepsilon = 1\n\n[tables.visits]\nsource = "visits.csv"\nunit = { person = "p" }\n'
        "contribution = { groups = 1, rows = 2 }\n\n[tables.visits.columns]\n"
        'p = { kind = "integer" }\nx = { kind = "integer", low = 0, high = 10 }\n',
        encoding="utf-8",
    )
    asked = ["audit", "--replay", "SELECT SUM(x) FROM visits", "--epsilon", "0.5"]
    result = CliRunner().invoke(main, [*asked, "--config", str(tmp_path / "privet.toml")])
    assert result.exit_code == 0, result.output
    assert "PRIVATE" in result.output
    assert "moved by 14 of 20 in L1, holds" in result.output
    assert not list(tmp_path.glob("*.db"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["privet.toml", "visits.csv"]  # no ledger was made
