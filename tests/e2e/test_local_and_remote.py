"""The same questions through a local session and through a server: the same plans, answers, intervals and refusals."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet
from privet import dbapi
from privet.core.errors import AccessError, BudgetExceeded, LedgerError, RequestError, Unsupported
from privet.remote.remote_session import RemoteSession
from privet.session import Session
from privet.study import Family, GoodnessOfFit, MeanTest, Proportion
from served import COUNT, Served, served


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("both") / "clinic") as running:
        yield running


@pytest.fixture(scope="module")
def both(world: Served) -> Iterator[dict[str, Session]]:
    with (
        privet.connect(world.url, token=world.tokens["ana"]) as remote,
        privet.open(world.folder / "privet.toml", analyst="ana") as local,
    ):
        yield {"remote": remote, "local": local}


def counted(session: Session) -> Any:
    rows = session.table("visits").where(privet.col("age") >= 18)
    return rows.group_by("ward").agg(n=privet.count(), cost=privet.mean("cost")).order_by("ward")


ASKED: dict[str, Callable[[Session], Any]] = {
    "a count by groups": lambda one: one.ask(COUNT, epsilon=Fraction(1, 3)),
    "several aggregates": lambda one: one.ask("SELECT AVG(cost) AS a, SUM(age) AS s FROM visits", epsilon=0.25),
    "a median": lambda one: one.ask("SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward", epsilon=0.5),
    "groups that are found": lambda one: one.ask("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", epsilon=0.5),
    "a view": lambda one: one.ask("SELECT COUNT(*) AS n FROM adults", epsilon=0.25),
    "a join with a public table": lambda one: one.ask(
        "SELECT floor, COUNT(*) AS n FROM visits JOIN wards ON ward = name GROUP BY floor", epsilon=0.25
    ),
    "parameters": lambda one: one.ask(
        "SELECT COUNT(*) AS n FROM visits WHERE age > :age AND sex = :sex",
        epsilon=0.25,
        parameters={"age": 40, "sex": "f"},
    ),
    "another limit and another confidence": lambda one: one.ask(
        COUNT, epsilon=0.25, contribution=privet.Contribution(groups=1, rows=2), bound="groups", confidence=0.9
    ),
    "levels": lambda one: one.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)", epsilon=0.5),
    "a width": lambda one: one.ask("SELECT COUNT(*) AS n FROM visits", within=60),
    "rounds": lambda one: one.ask("SELECT AVG(age) AS a FROM visits", within="20%", at_most=1),
    "the present day": lambda one: one.ask(
        "SELECT COUNT(*) AS n FROM visits WHERE age < EXTRACT(YEAR FROM CURRENT_DATE) - 2000", epsilon=0.25
    ),
    "a question built in Python": lambda one: one.ask(counted(one), epsilon=0.5),
    "a plan that is run": lambda one: one.run(one.plan(COUNT, epsilon=0.125), confidence=0.8),
    "another table": lambda one: one.ask("SELECT ward, AVG(salary) AS s FROM staff GROUP BY ward", epsilon=0.25),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_over_a_server_is_the_local_one(both: dict[str, Session], name: str) -> None:
    remote = ASKED[name](both["remote"])
    charged = len(both["local"].history())
    local = ASKED[name](both["local"])
    if name != "the present day":  # each asks at a moment of its own
        assert len(both["local"].history()) == charged  # the answer is the stored one, and free
        assert remote.to_json() == local.to_json()
        assert repr(remote) == repr(local)
    assert remote.plan.digest == local.plan.digest or name in ("rounds", "the present day")


def test_an_answer_over_a_server_plots_pivots_and_estimates(both: dict[str, Session], tmp_path: Path) -> None:
    answer = both["remote"].ask("SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex", epsilon=0.25)
    assert answer.pivot("ward", "sex", "n").to_dict().keys()
    answer.plot(tmp_path / "answer.png")
    assert (tmp_path / "answer.png").stat().st_size > 1000
    assert len(answer.estimates("n", covers="population")) == 4
    assert len(answer.to_pandas()) == 4
    assert answer.certificate()["account"] == "ana"


STUDIES: dict[str, Callable[[Session], Any]] = {
    "marginals": lambda one: one.marginals("visits", ["ward", "sex"], ways=1, weights={"ward": 2}, epsilon=0.25),
    "marginals of some rows": lambda one: one.marginals(
        one.table("visits").where(privet.col("age") > 30), ["ward", "sex"], epsilon=0.25
    ),
    "all rows and a table": lambda one: one.marginals("visits", ["ward"], subsets=[[], ["ward"]], epsilon=0.25),
    "marginals in ranges": lambda one: one.marginals("visits", ["sex", "age"], ordered={"age": "ranges"}, epsilon=0.25),
    "ranges": lambda one: one.ranges("visits", "age", epsilon=0.25),
    "running totals": lambda one: one.running("visits", "age", epsilon=0.25),
    "a test": lambda one: one.test("visits", Proportion("age > 50", equals=0.3), epsilon=0.25),
    "a test of shares": lambda one: one.test(
        "visits", GoodnessOfFit("ward", {"heart": 0.5, "lung": 0.5}), epsilon=0.25
    ),
    "a test of a mean": lambda one: one.test("visits", MeanTest("age", equals=50), epsilon=0.25),
    "tests together": lambda one: one.test_all(
        "visits", Family((Proportion("age > 50", equals=0.3), Proportion("age > 70", equals=0.1))), epsilon=0.25
    ),
    "tests with shares of the level": lambda one: one.test_all(
        "visits",
        Family(
            (Proportion("age > 50", equals=0.3), Proportion("age > 70", equals=0.1)),
            method="spending",
            shares=(0.7, 0.3),
        ),
        epsilon=0.25,
    ),
    "a regression": lambda one: one.regress("visits", "cost ~ age + ward", epsilon=0.5),
    "a choice": lambda one: one.choose([20, 40, 60], "SELECT COUNT(*) FROM visits WHERE age > :option", epsilon=0.25),
    "what clipping removes": lambda one: one.clipping("SELECT SUM(cost) AS s FROM visits", epsilon=0.25),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_over_a_server_is_the_local_one(both: dict[str, Session], name: str) -> None:
    remote = STUDIES[name](both["remote"])
    charged = len(both["local"].history())
    local = STUDIES[name](both["local"])
    assert len(both["local"].history()) == charged
    assert repr(remote) == repr(local)


def test_several_questions_are_one_charge(both: dict[str, Session]) -> None:
    before = len(both["remote"].history())
    asked = [COUNT, "SELECT SUM(cost) AS s FROM visits"]
    remote = both["remote"].ask_all(asked, epsilon=0.25)
    assert len(both["remote"].history()) == before + 1
    assert [one.to_json() for one in remote] == [one.to_json() for one in both["local"].ask_all(asked, epsilon=0.25)]


def test_plans_tables_and_balances_are_the_same(both: dict[str, Session]) -> None:
    remote, local = both["remote"], both["local"]
    assert remote.plan(COUNT, epsilon=0.7).to_dict() == local.plan(COUNT, epsilon=0.7).to_dict()
    assert repr(remote.tables) == repr(local.tables)
    assert repr(remote.describe("visits")) == repr(local.describe("visits"))
    assert remote.remaining() == local.remaining()
    assert remote.account == local.account == "ana"
    assert [one.digest for one in remote.history()] == [one.digest for one in local.history() if one.account == "ana"]
    assert remote.plan_marginals("visits", ["ward"], epsilon=1).to_dict() == (
        local.plan_marginals("visits", ["ward"], epsilon=1).to_dict()
    )


REFUSED: dict[str, Callable[[Session], Any]] = {
    "no such table": lambda one: one.ask("SELECT COUNT(*) FROM patients", epsilon=0.1),
    "no bounds": lambda one: one.ask("SELECT SUM(patient) FROM visits", epsilon=0.1),
    "no SQL": lambda one: one.ask("SELEC", epsilon=0.1),
    "a negative epsilon": lambda one: one.ask(COUNT, epsilon=-1),
    "two costs": lambda one: one.ask(COUNT, epsilon=1, rho=1),
    "over budget": lambda one: one.ask(COUNT, epsilon=1000),
    "no such column": lambda one: one.marginals("visits", ["nothing"], epsilon=0.1),
    "weights in a list": lambda one: one.marginals("visits", ["ward"], weights=[1], epsilon=0.1),  # type: ignore[arg-type]
    "a weight of a number": lambda one: one.marginals("visits", ["ward"], weights={1: 2}, epsilon=0.1),  # type: ignore[dict-item]
    "ranges of no order": lambda one: one.marginals("visits", ["ward"], ordered={"ward": "ranges"}, epsilon=0.1),
    "no such formula": lambda one: one.regress("visits", "nothing ~ age", epsilon=0.1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_over_a_server_is_the_local_one(both: dict[str, Session], name: str) -> None:
    told = {}
    for place, session in both.items():
        before = session.remaining()
        with pytest.raises(privet.PrivetError) as refused:
            REFUSED[name](session)
        assert session.remaining() == before
        told[place] = type(refused.value), refused.value.to_dict()
    assert told["remote"] == told["local"]


def test_errors_of_the_database_api_do_not_stand_in_for_those_of_a_server(both: dict[str, Session]) -> None:
    with pytest.raises(dbapi.Error) as joined:
        dbapi.connect(both["local"]).cursor().execute(COUNT, epsilon=1000)
    assert isinstance(joined.value, BudgetExceeded)
    with pytest.raises(BudgetExceeded) as refused:
        both["remote"].ask(COUNT, epsilon=1000)
    assert type(refused.value) is BudgetExceeded


def test_over_budget_over_a_server_says_what_fits(both: dict[str, Session]) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        both["remote"].ask(COUNT, epsilon=1000)
    assert 0 < refused.value.largest_epsilon < 20


def test_what_is_not_possible_over_a_server_is_refused_by_name(both: dict[str, Session]) -> None:
    remote = both["remote"]
    with pytest.raises(Unsupported, match="above is not possible over a server"):
        remote.above(10, limit=1, epsilon=0.1)
    with pytest.raises(Unsupported, match="score= is a function"):
        remote.choose([1, 2], lambda option: remote.table("visits").agg(n=privet.count()), epsilon=0.1)
    with pytest.raises(Unsupported, match="expression built in Python"):
        remote.marginals("visits", [privet.col("age") + 1], epsilon=0.1)
    with pytest.raises(RequestError, match="what this session planned"):
        remote.run(both["local"].plan(COUNT, epsilon=0.5))
    with pytest.raises(Unsupported):
        remote.ledger.verify()


def test_a_key_is_charged_once_over_a_server(both: dict[str, Session]) -> None:
    remote = both["remote"]
    first = remote.ask("SELECT COUNT(*) AS n FROM visits WHERE age > 61", epsilon=0.125, key="mine")
    before = remote.remaining()
    assert remote.ask("SELECT COUNT(*) AS n FROM visits WHERE age > 61", epsilon=0.125, key="mine").value == first.value
    assert remote.remaining() == before
    with pytest.raises(RequestError, match="used for another question"):
        remote.ask("SELECT COUNT(*) AS n FROM visits WHERE age > 62", epsilon=0.125, key="mine")


def test_an_analyst_sees_only_the_tables_of_the_account(world: Served) -> None:
    with privet.connect(world.url, token=world.tokens["ben"], dataset="clinic") as ben:
        assert set(ben.tables) == {"visits", "wards", "adults"}
        with pytest.raises(RequestError, match="no table 'staff'"):
            ben.ask("SELECT COUNT(*) FROM staff", epsilon=0.1)


def test_a_wrong_token_address_or_data_set_is_refused(world: Served) -> None:
    with pytest.raises(AccessError, match="valid token"):
        privet.connect(world.url, token="privet_wrong")
    with pytest.raises(RequestError, match="clear text"):
        privet.connect("http://example.org", token="privet_x")
    with pytest.raises(RequestError, match="dataset"):
        privet.connect(world.url, token=world.tokens["ana"], dataset="other")
    with pytest.raises(LedgerError, match="cannot be reached"):
        privet.connect("http://127.0.0.1:9", token="privet_x")
    for address in ("ftp://127.0.0.1", "127.0.0.1", "http://user:pass@127.0.0.1"):
        with pytest.raises(RequestError):
            privet.connect(address, token="privet_x")


def test_a_closed_session_asks_nothing(world: Served) -> None:
    session = privet.connect(world.url, token=world.tokens["ben"])
    session.close()
    with pytest.raises(RequestError, match="closed"):
        session.ask(COUNT, epsilon=0.1)


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_the_database_api_asks_a_server_too(world: Served, both: dict[str, Session]) -> None:
    import pandas

    with privet.dbapi.connect(world.url, token=world.tokens["ana"], epsilon=0.25) as connection:
        frame = pandas.read_sql("SELECT ward, COUNT(*) AS n FROM adults GROUP BY ward ORDER BY ward", connection)
        assert list(frame["ward"]) == ["heart", "lung"]
        cursor = connection.cursor()
        cursor.execute("SELECT COUNT(*) AS n FROM visits WHERE age > ?", (33,), epsilon=0.125)
        (row,) = cursor.fetchall()
        assert row[0] == cursor.answer.value
    again = both["local"].ask("SELECT ward, COUNT(*) AS n FROM adults GROUP BY ward ORDER BY ward", epsilon=0.25)
    assert list(frame["n"]) == list(again["n"].values)


def test_practice_needs_no_server_and_charges_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as running:
        remote = privet.connect(running.url, token=running.tokens["ana"])
    assert isinstance(remote, RemoteSession)
    with remote.practice() as session:  # the server is gone
        answer = session.ask(COUNT, epsilon=0.5)
        assert [row["ward"] for row in answer] == ["heart", "lung"]
        assert answer.certificate()["version"] == "practice: made up"
        assert session.ask(
            "SELECT floor, COUNT(*) AS n FROM visits JOIN wards ON ward = name GROUP BY floor", epsilon=1
        )
    with pytest.raises(LedgerError, match="cannot be reached"):
        remote.ask(COUNT, epsilon=0.5)


def test_dates_and_ratios_arrive_as_they_are(both: dict[str, Session]) -> None:
    from privet.remote.remote_session import sent_value
    from privet.server.operations import _number_or_text

    for value in (Fraction(1, 3), datetime.date(2025, 1, 31), datetime.datetime(2025, 1, 31, 12), 0.1, 7, "x", True):
        assert _number_or_text(sent_value(value, "x"), "x") == value
