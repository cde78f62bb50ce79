"""Releases of earlier versions that may have leaked are listed: some too many, none too few."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import privet
from privet import cli
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.ledger.certificate import MENDED
from privet.ledger.sqlite.store import SqliteLedger
from privet.planner import explain

STEP = PureEvent(Fraction(1, 1000))


def tables() -> dict[str, Any]:
    rows = pd.DataFrame({"uid": [1, 2] * 5, "ward": ["h", "l"] * 5, "age": range(10), "x": [0.5] * 10})
    columns = {
        "uid": privet.integer(0, 1000),
        "ward": privet.category(["h", "l"]),
        "age": privet.integer(0, 120),
        "x": privet.number(0, 1),
    }
    people = privet.Table(
        rows, unit=privet.Person("uid"), columns=columns, contribution=privet.Contribution(groups=1, rows=1)
    )
    return {"v": people}


NAMED = [
    "SELECT COUNT(*) FROM v WHERE FLOOR(x * 10) = 3",
    "SELECT COUNT(*) FROM v WHERE NOT (CEIL(x * 10) > 3)",
    "SELECT COUNT(*) FROM v WHERE CAST(x AS INTEGER) > 0 AND age > 3",
    "SELECT FLOOR(x * 2) AS k, COUNT(*) FROM v GROUP BY FLOOR(x * 2)",
    "SELECT ROUND(x) AS k, COUNT(*) FROM v GROUP BY ROUND(x)",
    "SELECT HISTOGRAM(x, 10) FROM v",
    "SELECT sg, COUNT(*) FROM (SELECT uid, SIGN(x - 0.5) AS sg FROM v) AS q GROUP BY sg",
    "SELECT COUNT(DISTINCT FLOOR(x * 10)) FROM v",
    "SELECT COUNT(*) FROM v AS a JOIN v AS b ON a.uid = b.uid",
]
HIDDEN = [
    "SELECT SUM(FLOOR(x * 10) * age) FROM v",
    "SELECT AVG(CASE WHEN ROUND(x) > 0 THEN age ELSE 0 END) FROM v",
    "SELECT MEDIAN(FLOOR(x * 10)) FROM v",
    "SELECT SUM(n) FROM (SELECT uid, CAST(SUM(x) AS INTEGER) AS n FROM v GROUP BY uid) AS q",
    "SELECT COUNT(*) FROM (SELECT uid, SUM(FLOOR(x * 3)) AS n FROM v GROUP BY uid) AS q WHERE n > 1",
    "SELECT COUNT(*) FROM v WHERE x * 3 > 1",
    "SELECT f, COUNT(*) FROM (SELECT DISTINCT uid, FLOOR(x * 2) AS f FROM v) AS q GROUP BY f",
    "SELECT age, COUNT(*) FROM (SELECT DISTINCT uid, FLOOR(x * 2) AS age FROM v) AS q GROUP BY age",
    "SELECT COUNT(*) FROM (SELECT uid, FLOOR(x) AS n FROM v UNION ALL SELECT uid, age AS n FROM v) AS q WHERE n > 1",
    "SELECT ward, COUNT(*) FROM v WHERE age >= 18 AND NOT (ward = 'h') GROUP BY ward",
]
HARMLESS = [
    "SELECT COUNT(*) FROM v",
]


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have plans told as the version with the fault told them."""
    monkeypatch.setattr(explain, "_RULES", None)


def ask(path: Path, questions: list[str]) -> SqliteLedger:
    ledger = SqliteLedger(path, Pure(epsilon=1000))
    with privet.Session(tables(), ledger=ledger, account="ana") as session:
        for question in questions:
            session.ask(question, epsilon=1)
    return ledger


@pytest.mark.usefixtures("earlier")
def test_what_names_or_hides_such_a_form_is_listed_and_a_plain_count_is_not(tmp_path: Path) -> None:
    with ask(tmp_path / "ledger", [*NAMED, *HIDDEN, *HARMLESS]) as ledger:
        asked = [entry.number for entry in ledger.history()]
        found = {one.entry: one for one in ledger.review()}
        before = ledger.head()
    sure = [number in found and found[number].sure for number in asked]
    assert sure[: len(NAMED)] == [True] * len(NAMED), [q for q, s in zip(NAMED, sure, strict=False) if not s]
    listed = [number in found for number in asked]
    assert listed == [True] * (len(NAMED) + len(HIDDEN)) + [False] * len(HARMLESS)
    shown = CliRunner().invoke(cli.main, ["ledger", "review", "--ledger", str(tmp_path / "ledger")])
    assert shown.exit_code == 0
    assert "its plan names FLOOR" in shown.stdout
    assert f"{len(found)} releases to look at" in shown.stdout
    told = json.loads(
        CliRunner().invoke(cli.main, ["ledger", "review", "--json", "--ledger", str(tmp_path / "ledger")]).stdout
    )
    assert [one["entry"] for one in told["releases"]] == sorted(found)
    assert told["head"] == before


def test_what_this_version_releases_is_not_listed(tmp_path: Path) -> None:
    assert int(explain._RULES) >= MENDED
    with ask(tmp_path / "ledger", [NAMED[0], HIDDEN[0]]) as ledger:
        assert ledger.review() == ()
        with privet.Session(tables(), ledger=ledger, account="ana") as session:
            session.ask_all([NAMED[1], HARMLESS[0]], epsilon=1)
        assert ledger.review() == ()
    shown = CliRunner().invoke(cli.main, ["ledger", "review", "--ledger", str(tmp_path / "ledger")])
    assert (shown.exit_code, shown.stdout.startswith("No release")) == (0, True)


@pytest.mark.usefixtures("earlier")
def test_several_questions_of_an_earlier_version_are_listed(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1000)) as ledger:
        with privet.Session(tables(), ledger=ledger, account="ana") as session:
            session.ask_all([HARMLESS[0], NAMED[0]], epsilon=1)
        assert [one.sure for one in ledger.review()] == [True]


COUNT = {"table": "v", "releases": [{"sum": "the count of rows"}], "group_by": [], "where": None}


def test_a_charge_that_tells_nothing_or_failed_is_listed_once_and_a_repeat_of_it_is_not(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        first = ledger.charge(STEP, "nothing told", account="ana")
        ledger.store(first, (1,))
        failed = ledger.charge(STEP, "failed", account="ana", facts=COUNT)
        ledger.charge(STEP, "plain", account="ana", facts=COUNT)
        assert [one.entry for one in ledger.review()] == [first.entry]
        ledger.fail(failed)
        again = ledger.charge(STEP, "mended", account="ana", facts={**COUNT, "rules": str(MENDED)})
        ledger.fail(again)
        assert [(one.entry, one.sure) for one in ledger.review()] == [(first.entry, False), (failed.entry, False)]


@pytest.mark.parametrize(
    "facts", [{"releases": 3}, {"where": 7, "releases": [None]}, {"rules": ["2"]}, {"group_by": 5}]
)
def test_a_plan_that_is_told_in_another_form_is_listed(tmp_path: Path, facts: dict[str, Any]) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        ledger.charge(STEP, "odd", account="ana", facts=facts)
        assert len(ledger.review()) == 1


@pytest.mark.parametrize(
    ("rules", "listed"),
    [("2", False), ("3", False), ("10", False), ("1", True), (2, True), ("", True), ("²", True), ("-2", True)],
)
def test_a_release_by_the_rules_of_a_later_version_is_not_listed(tmp_path: Path, rules: object, listed: bool) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        failed = ledger.charge(STEP, "failed", account="ana", facts={**COUNT, "rules": rules})
        ledger.fail(failed)
        assert [one.entry for one in ledger.review()] == ([failed.entry] if listed else [])
