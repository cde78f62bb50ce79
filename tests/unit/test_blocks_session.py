"""Blocks through a session: the poll of the lecture, partitions, growing data, rolling reports, refusals, the shell."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.core.errors import BudgetExceeded
from privet.inference.levels import mixed
from privet.ledger.memory import MemoryLedger

pa = pytest.importorskip("pyarrow")

PARTIES = ("dem", "rep", "ind")
DAYS = [datetime.date(2025, 1, 1) + datetime.timedelta(days=number % 150) for number in range(1500)]
VISITS = pa.table({"day": DAYS, "who": [number % 100 for number in range(1500)], "cost": [7] * 1500})
COLUMNS = {"day": privet.date("2025-01-01", "2025-12-31"), "who": privet.integer(), "cost": privet.integer(0, 50)}
HUGE = 10**6


def poll(neighbors: Any = "add-remove", budget: Any = None, **more: Any) -> privet.Session:
    """Return a session over 900 answers to a poll, 300 of each party; every second is yes."""
    rows = pa.table({"party": PARTIES * 300, "vote": [number % 2 == 0 for number in range(900)]})
    columns = {"party": privet.category(PARTIES), "vote": privet.boolean()}
    table = privet.Table(
        rows, unit=privet.Rows(), columns=columns, neighbors=neighbors, blocks=privet.Blocks("party"), **more
    )
    return privet.Session({"poll": table}, budget=budget or privet.Pure(epsilon=2))


def visits(through: str, ledger: Any = None, unit: Any = None, version: str = "", **more: Any) -> privet.Session:
    """Return a session over visits that are divided by month."""
    blocks = privet.Blocks("day", length="1 month", origin="2025-01-01", through=through, **more)
    limit = None if unit is None else privet.Contribution(groups=1, rows=20)
    table = privet.Table(
        VISITS, unit=unit or privet.Rows(), columns=COLUMNS, blocks=blocks, version=version, contribution=limit
    )
    return privet.Session({"visits": table}, ledger=ledger or MemoryLedger(privet.Pure(epsilon=4 * HUGE)))


@pytest.mark.parametrize(("neighbors", "left"), [("add-remove", 1.25), ("change-one", 1.0)])
def test_the_poll_costs_what_the_lecture_says(neighbors: str, left: float) -> None:
    with poll(neighbors) as session:
        session.ask("SELECT COUNT(*) AS n FROM poll WHERE vote", epsilon=0.5)
        for party in ("dem", "rep"):
            session.ask(f"SELECT COUNT(*) AS n FROM poll WHERE vote AND party = '{party}'", epsilon=0.25)
        assert session.remaining().largest_epsilon == left
        parts = session.table("poll").partition("party")
        assert list(parts) == list(PARTIES)
        assert parts["dem"].remaining().largest_epsilon == left
        assert parts["ind"].remaining().largest_epsilon == left + 0.25
        assert session.history()[-1].facts["blocks"] == {"table": "poll", "names": ["rep"]}
        session.ledger.verify()


def test_a_partition_is_asked_like_any_rows() -> None:
    with poll(budget=privet.Pure(epsilon=HUGE)) as session:
        parts = session.table("poll").partition("party")
        question = parts["rep"].where("vote").agg(n=privet.count())
        plan = session.plan(question, epsilon=100)
        assert "Reads these blocks of poll: rep" in plan.explain()
        answer = session.ask(question, epsilon=100)
        # at epsilon 100 noise of 1 or more has probability below 1e-40
        assert answer.value == 150
        assert answer.certificate()["digest"] == plan.digest


def test_a_budget_that_is_gone_in_one_block_is_there_in_others() -> None:
    with poll() as session:
        ask = "SELECT COUNT(*) AS n FROM poll WHERE party = '{}'"
        session.ask(ask.format("dem"), epsilon=2)
        with pytest.raises(BudgetExceeded):
            session.ask("SELECT SUM(1) AS n FROM poll WHERE party = 'dem'", epsilon=0.1)
        with pytest.raises(BudgetExceeded):
            session.ask("SELECT COUNT(*) AS n FROM poll", epsilon=0.1)
        session.ask(ask.format("rep"), epsilon=2)
        session.ledger.verify()


def test_closed_blocks_stay_answered_and_new_ones_bring_budget() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=2 * HUGE))
    asked = "SELECT COUNT(*) AS n, SUM(cost) AS c FROM visits"
    with visits("2025-03-20", ledger, version="march") as session:
        first = session.rolling(asked, last=3, epsilon=HUGE)
        charges = len(session.history())
    with visits("2025-04-10", ledger, version="april") as session:
        second = session.rolling(asked, last=3, epsilon=HUGE)
        # February is closed and free; March was still growing, and is charged again; April is new
        assert len(session.history()) == charges + 2
        assert session.table("visits").partition("day")["2025-04-01"].remaining().largest_epsilon == HUGE
        assert session.table("visits").partition("day")["2025-03-01"].remaining().largest_epsilon == 0
        assert session.remaining().largest_epsilon == 0
    assert first["block"].values == ("2025-01-01", "2025-02-01", "2025-03-01", "total")
    # noise is below 1 with overwhelming probability at so large an epsilon
    assert first["n"].values == (310, 280, 310, 900)
    assert second["n"].values == (280, 310, 300, 890)
    assert first.receipts[1] == second.receipts[0]
    total = first.total("c")
    assert total.value == 6300
    assert total.low <= 6300 <= total.high
    assert total.standard_error == pytest.approx(sum(error**2 for error in first["c"].error[:3]) ** 0.5)  # type: ignore[index]


def test_the_interval_of_a_total_is_wider_than_one_and_narrower_than_their_sum() -> None:
    with visits("2025-03-31") as session:
        report = session.rolling("SELECT COUNT(*) AS n FROM visits", last=3, epsilon=0.1)
        halves = [high - value for high, value in zip(report["n"].high, report["n"].values, strict=True)]  # type: ignore[arg-type]
    assert max(halves[:3]) < halves[3] < sum(halves[:3])
    scale = report["n"].error[0] / math.sqrt(2)  # type: ignore[index]
    assert halves[3] == pytest.approx(mixed(((scale, 3),), 0.0).reach(0.05), rel=1e-3)


def test_windows_pay_for_adjacent_blocks_and_people_for_all() -> None:
    january = "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2025-02-01'"
    march = "SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2025-03-01' AND day < DATE '2025-04-01'"
    for unit, left in ((privet.Window("who", "day", 7), 1.5), (privet.Person("who"), 1.0)):
        with visits("2025-04-10", MemoryLedger(privet.Pure(epsilon=2)), unit) as session:
            session.ask(january, epsilon=0.5)
            session.ask(march, epsilon=0.5)
            assert session.remaining().largest_epsilon == left


def test_rows_outside_the_calendar_are_in_no_block() -> None:
    with visits("2025-02-10") as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=HUGE)
        assert answer.value == 590
        assert "Reads all blocks of visits so far" in answer.notes[1]


def test_retired_blocks_are_read_by_nothing() -> None:
    with visits("2025-04-10", since="2025-03-01") as session:
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=HUGE).value == 310 + 300
        refused = [
            lambda: session.ask("SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2025-02-01'", epsilon=1),
            lambda: session.marginals("visits", ["cost"], ways=1, epsilon=1),
            lambda: session.ranges("visits", "cost", epsilon=1),
            lambda: session.running("visits", by="day", epsilon=1),
            lambda: session.choose([1, 2], "SELECT COUNT(*) FROM visits WHERE cost > :option", epsilon=1),
            lambda: session.above(5, limit=1, epsilon=1).ask("SELECT COUNT(*) FROM visits"),
            lambda: session.ask_all(
                ["SELECT COUNT(*) AS n FROM visits", "SELECT SUM(cost) AS n FROM visits"], epsilon=1
            ),
        ]
        for ask in refused:
            with pytest.raises(privet.RequestError):
                ask()


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (lambda: privet.Blocks("nothing"), "listed columns"),
        (lambda: privet.Blocks("who"), "category with declared values"),
        (lambda: privet.Blocks("cost", edges=[1, 1]), "rise"),
        (lambda: privet.Blocks("cost", edges=[3, 1]), "rise"),
        (lambda: privet.Blocks("cost", edges=[1]), "rise"),
        (lambda: privet.Blocks("cost", edges=["2025-01-01", "2025-02-01"]), "values of the column cost"),
        (lambda: privet.Blocks("cost", length="1 month", origin="2025-01-01"), "dates"),
        (lambda: privet.Blocks("day", length="1 month"), "origin"),
        (lambda: privet.Blocks("day", length="1 month", origin="2025-01-02"), "first day of a month"),
        (lambda: privet.Blocks("day", length="a month", origin="2025-01-01"), "1 month"),
        (lambda: privet.Blocks("day", length="1 month", origin="2025-02-01", through="2025-01-01"), "after the origin"),
        (lambda: privet.Blocks("day", origin="2025-02-01"), "beside a length"),
        (lambda: privet.Blocks("maybe"), "not nullable"),
        (lambda: "party", "a division"),
    ],
)
def test_divisions_that_cannot_be_are_refused(blocks: Any, words: str) -> None:
    columns = {**COLUMNS, "maybe": privet.boolean(nullable=True)}
    with pytest.raises(privet.RequestError, match=words):
        privet.Table(None, unit=privet.Rows(), columns=columns, blocks=blocks())


def test_blocks_of_windows_are_no_shorter_than_these() -> None:
    how: Any = {"columns": COLUMNS, "contribution": privet.Contribution(groups=1, rows=1)}
    days = privet.Blocks("day", length="6 days", origin="2025-01-01")
    with pytest.raises(privet.RequestError, match="no shorter than the protected window, 7 days"):
        privet.Table(None, unit=privet.Window("who", "day", 7), blocks=days, **how)
    months = privet.Blocks("day", length="1 month", origin="2025-01-01")
    with pytest.raises(privet.RequestError, match="no shorter"):
        privet.Table(None, unit=privet.Window("who", "day", 29), blocks=months, **how)
    retired = privet.Blocks("day", length="1 month", origin="2025-01-01", since="2025-02-01")
    with pytest.raises(privet.RequestError, match="protected together"):
        privet.Table(None, unit=privet.Person("who"), blocks=retired, **how)


def test_what_cannot_be_reported_or_parted_is_refused_before_the_charge() -> None:
    with visits("2025-03-31") as session:
        for question, words in (
            ("SELECT AVG(cost) AS n FROM visits", "does not add up"),
            ("SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost", "leave out groups"),
        ):
            with pytest.raises(privet.RequestError, match=words):
                session.rolling(question, last=2, epsilon=1)
        with pytest.raises(privet.RequestError, match="last"):
            session.rolling("SELECT COUNT(*) AS n FROM visits", last=4, epsilon=1)
        with pytest.raises(privet.RequestError, match="divided by day"):
            session.table("visits").partition("cost")
        with pytest.raises(privet.RequestError, match=r"session\.remaining"):
            session.table("visits").select("day").remaining()
        assert session.history() == ()
    with poll() as session, pytest.raises(privet.RequestError, match="divided by time"):
        session.rolling("SELECT COUNT(*) AS n FROM poll", last=1, epsilon=1)


def test_a_file_declares_blocks_and_the_shell_shows_them(tmp_path: Path) -> None:
    (tmp_path / "poll.csv").write_text("party,vote\n" + "".join(f"{PARTIES[i % 3]},true\n" for i in range(90)))
    (tmp_path / "privet.toml").write_text(
        """
[budget]
epsilon = 2

[tables.poll]
source = "poll.csv"
unit = "rows"
block = { column = "party" }

[tables.poll.columns]
party = { values = ["dem", "rep", "ind"] }
vote = "boolean"

[analysts.ana]
epsilon = 2
"""
    )

    def run(*words: str) -> Any:
        return CliRunner().invoke(main, [*words, f"--config={tmp_path / 'privet.toml'}"])

    asked = run("ask", "SELECT COUNT(*) AS n FROM poll WHERE party = 'dem'", "--epsilon=0.5", "--analyst=ana")
    assert asked.exit_code == 0, asked.output
    shown = run("budget")
    assert shown.exit_code == 0, shown.output
    assert "block of poll" in shown.output
    assert "25%" in shown.output
    assert "a row is in one block" in " ".join(shown.output.split())
    told = json.loads(run("budget", "--json").output)
    assert told["blocks"]["poll"]["blocks"] == [{"block": "dem", "spent_share": 0.25}]
    wrong = (tmp_path / "privet.toml").read_text().replace('{ column = "party" }', '{ columns = "party" }')
    (tmp_path / "privet.toml").write_text(wrong)
    assert "block" in run("check").output


def far_visits(high: str, through: str, ledger: Any) -> privet.Session:
    """Return a session over visits in February 2026, of a column that is declared up to a date."""
    table = privet.Table(
        pa.table({"day": [datetime.date(2026, 2, 5)] * 100}),
        unit=privet.Rows(),
        columns={"day": privet.date("2025-01-01", high)},
        blocks=privet.Blocks("day", length="1 month", origin="2025-01-01", through=through),
    )
    return privet.Session({"visits": table}, ledger=ledger)


def test_a_row_that_other_bounds_put_into_another_block_pays_in_both() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=3 * HUGE))
    for high, through in (("2025-12-31", "2025-12-31"), ("2026-12-31", "2026-02-28")):
        with far_visits(high, through, ledger) as session:
            report = session.rolling("SELECT COUNT(*) AS n FROM visits", last=1, epsilon=HUGE)
            assert report["n"].values == (100, 100)
            left = session.remaining().largest_epsilon
    assert left == HUGE


def test_people_who_are_others_are_in_other_blocks() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=3 * HUGE))
    rows = pa.table({"who": [1, 2], "home": [1, 1], "ward": ["A", "B"]})
    columns = {"who": privet.integer(), "home": privet.integer(), "ward": privet.category(["A", "B"])}
    for unit, ward in (("who", "B"), ("home", "A")):
        table = privet.Table(
            rows,
            unit=privet.Person(unit),
            columns=columns,
            contribution=privet.Contribution(groups=1, rows=2),
            blocks=privet.Blocks("ward"),
        )
        with privet.Session({"stays": table}, ledger=ledger) as session:
            session.ask(f"SELECT COUNT(*) AS n FROM stays WHERE ward = '{ward}'", epsilon=HUGE)
    assert ledger.remaining().largest_epsilon == HUGE


def ages(column: Any, edges: list[float], values: list[float]) -> privet.Session:
    table = privet.Table(
        pa.table({"age": values}),
        unit=privet.Rows(),
        columns={"age": column},
        blocks=privet.Blocks("age", edges=edges),
    )
    return privet.Session({"d": table}, budget=privet.Pure(epsilon=100 * HUGE))


def test_edges_between_whole_numbers_keep_the_rows_of_their_blocks() -> None:
    with ages(privet.integer(0, 3), [0.5, 1.5, 2.5], [0] * 5 + [1] * 10 + [2] * 20 + [3] * 40) as session:
        counts = {
            name: session.ask(part.agg(n=privet.count()), epsilon=HUGE)["n"].values
            for name, part in session.table("d").partition("age").items()
        }
        assert counts == {"0.5 to 1.5": (10,), "1.5 to 2.5": (20,)}
        assert session.ask("SELECT COUNT(*) AS n FROM d WHERE age = 2", epsilon=HUGE)["n"].values == (20,)
        assert session.history()[-1].facts["blocks"]["names"] == ["1.5 to 2.5"]


def test_conditions_that_reach_beyond_all_ranges_read_the_whole_table() -> None:
    with ages(privet.number(0, 100), [10, 20, 30], [5.0] * 10 + [25.0] * 20 + [50.0] * 40) as session:
        for words, count, blocks in (
            ("age > 22", 60, None),
            ("age > 40", 40, None),
            ("age < 15", 10, None),
            ("age > 22 AND age < 30", 20, {"table": "d", "names": ["20 to 30"]}),
        ):
            answer = session.ask(f"SELECT COUNT(*) AS n FROM d WHERE {words}", epsilon=HUGE)
            assert answer["n"].values == (count,)
            assert session.history()[-1].facts.get("blocks") == blocks


def test_answers_on_several_releases_say_what_is_dropped_or_drop_nothing() -> None:
    rows = pa.table({"who": [1, 1, 2], "ward": ["A", "B", "B"], "old": [True, False, False]})
    columns = {"who": privet.integer(), "ward": privet.category(["A", "B"]), "old": privet.boolean()}
    limit = privet.Contribution(groups=2, rows=2)
    table = privet.Table(
        rows, unit=privet.Person("who"), columns=columns, contribution=limit, blocks=privet.Blocks("ward")
    )
    with privet.Session({"stays": table}, budget=privet.Pure(epsilon=100 * HUGE)) as session:
        levels = session.ask(
            "SELECT old, COUNT(*) AS n FROM stays WHERE ward = 'B' GROUP BY ROLLUP (old)", epsilon=HUGE
        )
        assert any("their other rows are dropped" in note for note in levels.notes)
        both = session.ask(
            "SELECT COUNT(*) AS n FROM stays WHERE ward = 'B' UNION ALL SELECT COUNT(*) FROM stays WHERE ward = 'A'",
            epsilon=HUGE,
        )
        assert [round(value) for value in both["n"].values] == [2, 1]
        assert "blocks" not in session.history()[-1].facts


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2025-04-01'",
        "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 300",
        "SELECT COUNT(*) AS n FROM visits LIMIT 0",
        "SELECT COUNT(*) * COUNT(*) AS n FROM visits",
        "SELECT COUNT(*) AS block FROM visits",
    ],
)
def test_a_report_that_cannot_be_made_of_all_its_blocks_charges_none(question: str) -> None:
    with visits("2025-04-10") as session:
        with pytest.raises(privet.RequestError):
            session.rolling(question, last=3, epsilon=1)
        assert not session.history()


def test_calendars_end_where_dates_do() -> None:
    years = privet.Blocks("day", length="1 year", origin="1970-01-01", through="2026-01-01", since="2015-06-01")
    assert years.name(years.first) == "2015-01-01"
    assert privet.Blocks("day", length="10000 days", origin="2020-01-01", since="2100-01-01").first == 2
    for length in ("1 month", "10000 years", "3 days", "9999 weeks"):
        last = privet.Blocks("day", length=length, origin="9990-01-01", through="9999-12-31")
        assert last.starts[-1] == datetime.date.max


def test_a_closed_block_is_not_answered_by_what_it_was_while_it_grew() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=4 * HUGE))
    question = "SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2025-03-01' AND day < DATE '2025-04-01'"
    for through, charges in (("2025-03-10", 1), ("2025-04-10", 2), ("2025-04-20", 2)):
        with visits(through, ledger) as session:
            session.ask(question, epsilon=HUGE)
            assert len(session.history()) == charges


def test_a_block_of_another_division_is_asked_anew_by_each_account() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=10))
    for name in ("ann", "bob"):
        ledger.open_account(name, privet.Pure(epsilon=5))
    for edges, name in (([0, 18, 65, 100], "ann"), ([0, 18, 70, 100], "bob"), ([0, 18, 65, 100], "bob")):
        table = privet.Table(
            pa.table({"age": [9.0] * 10}),
            unit=privet.Rows(),
            columns={"age": privet.number(0, 99)},
            blocks=privet.Blocks("age", edges=edges),
        )
        with privet.Session({"d": table}, ledger=ledger, account=name) as session:
            session.ask("SELECT COUNT(*) AS n FROM d WHERE age < 18", epsilon=1)
    ledger.verify()
    assert ledger.remaining("bob").largest_epsilon == 3
    assert ledger.remaining().largest_epsilon == 8
