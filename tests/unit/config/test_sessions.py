"""Sessions as a privet.toml declares them: whose account, which tables, which rules."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.config import read_config
from privet.config.sessions import LateEngine, open_ledger
from privet.core.budget import Approximate, Pure
from privet.core.errors import BudgetExceeded, EngineError, LedgerError, RequestError, UnknownName
from privet.engines.duckdb.engine import DuckDB

TABLES = """
[budget]
epsilon = 3
delta = 1e-6
per_query = { epsilon = 1, delta = 1e-6 }

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 1, rows = 1 }
columns = { patient = "integer", age = { kind = "integer", low = 0, high = 110 } }

[tables.staff]
source = "staff.csv"
unit = "rows"
columns = { pay = { kind = "number", low = 0, high = 9000 } }
"""
ANALYSTS = """
[analysts.alice]
epsilon = 1.5
delta = 1e-7
tables = ["visits"]

[analysts.bob]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("patient,age\n" + "".join(f"{i},{20 + i % 50}\n" for i in range(300)))
    (tmp_path / "staff.csv").write_text("pay\n" + "".join(f"{1000 + i}\n" for i in range(50)))
    return tmp_path


def declare(folder: Path, text: str) -> Path:
    file = folder / "privet.toml"
    file.write_text(text)
    return file


def test_a_session_is_charged_to_the_analysts_account_in_a_ledger_that_lasts(folder: Path) -> None:
    file = declare(folder, TABLES + ANALYSTS)
    with privet.open(file, analyst="alice") as session:
        first = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    with privet.open(file, analyst="alice") as session:
        again = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
        assert again.to_dict() == first.to_dict()
        assert [entry.account for entry in session.history()] == ["alice"]
    with open_ledger(read_config(file)) as ledger:
        assert ledger.accounts() == ("alice", "bob")
        assert ledger.budget_of("alice") == Approximate(epsilon=Fraction(3, 2), delta=Fraction(1, 10**7))
        assert (
            ledger.budget_of("bob") == ledger.budget_of() == Approximate(epsilon=Fraction(3), delta=Fraction(1, 10**6))
        )


def test_a_table_that_an_analyst_may_not_ask_about_is_refused_as_one_that_does_not_exist(folder: Path) -> None:
    file = declare(folder, TABLES + ANALYSTS)
    told = []
    with privet.open(file, analyst="alice") as session:
        for name in ("staff", "stuff"):
            for ask in (session.plan, session.ask):
                with pytest.raises(UnknownName) as caught:
                    ask(f"SELECT COUNT(*) FROM {name}", epsilon=0.1)
                told.append(str(caught.value).replace(name, "?"))
            with pytest.raises(UnknownName) as caught:
                session.table(name)
            told.append(str(caught.value).replace(name, "?"))
        assert session.history() == ()
    assert told[:3] == told[3:]
    with privet.open(file, analyst="bob") as session:
        session.ask("SELECT COUNT(*) FROM staff", epsilon=0.1)


def test_the_sources_of_other_tables_are_not_even_opened(folder: Path) -> None:
    file = declare(folder, TABLES + ANALYSTS)
    (folder / "staff.csv").unlink()
    with privet.open(file, analyst="alice") as session:
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)


def test_an_analyst_must_be_named_where_the_file_names_any_and_only_there(folder: Path) -> None:
    file = declare(folder, TABLES + ANALYSTS)
    with pytest.raises(RequestError, match="pass the one who asks"):
        privet.open(file)
    with pytest.raises(UnknownName, match="no analyst 'alicia'") as caught:
        privet.open(file, analyst="alicia")
    assert "bob" not in str(caught.value.to_dict())
    assert not (folder / "privet.ledger").exists()
    declare(folder, TABLES)
    with pytest.raises(UnknownName, match="leave it out"):
        privet.open(file, analyst="alice")
    with privet.open(file) as session:
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)


def test_a_query_above_the_cap_for_one_is_refused(folder: Path) -> None:
    with privet.open(declare(folder, TABLES)) as session, pytest.raises(BudgetExceeded, match="one query"):
        session.ask("SELECT COUNT(*) FROM visits", epsilon=1.01)


def test_a_ledger_keeps_its_rules_when_the_file_says_otherwise(folder: Path) -> None:
    privet.open(declare(folder, TABLES + ANALYSTS), analyst="bob").close()
    for old, new in (
        ("epsilon = 3\n", "epsilon = 4\n"),
        ("epsilon = 1.5", "epsilon = 2"),
        ("{ epsilon = 1,", "{ epsilon = 2,"),
    ):
        with pytest.raises(RequestError, match="what the ledger has"):
            privet.open(declare(folder, (TABLES + ANALYSTS).replace(old, new)), analyst="bob")


def test_a_pinned_head_refuses_an_old_copy_of_the_ledger(folder: Path) -> None:
    file = declare(folder, TABLES)
    with privet.open(file) as session:
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)
    with open_ledger(read_config(file)) as ledger:
        head = ledger.head()
    declare(folder, f'{TABLES}\n[ledger]\nhead = "{head}"\n')
    privet.open(file).close()
    shutil.rmtree(folder / "privet.ledger")
    with pytest.raises(LedgerError):
        privet.open(file)


def test_epsilon_alone_is_a_pure_cap(folder: Path) -> None:
    file = declare(folder, TABLES + "[analysts.eve]\nepsilon = 1\n")
    with open_ledger(read_config(file)) as ledger:
        assert ledger.budget_of("eve") == Pure(epsilon=Fraction(1))


def test_a_linked_table_is_asked_about_without_the_table_that_says_whose_rows_they_are(folder: Path) -> None:
    rows = "".join(f"{i % 300},{i % 7}\n" for i in range(600))
    (folder / "drugs.csv").write_text("visit,dose\n" + rows)
    linked = """
[tables.drugs]
source = "drugs.csv"
link = "visit -> visits.patient"
contribution = { groups = 1, rows = 1 }
columns = { visit = "integer", dose = { kind = "integer", low = 0, high = 9 } }

[public.wards]
source = "staff.csv"
columns = { pay = "number" }

[analysts.carol]
tables = ["drugs"]
"""
    with privet.open(declare(folder, TABLES + linked), analyst="carol") as session:
        plan = session.plan("SELECT SUM(dose) FROM drugs", epsilon=0.5)
        assert "each patient" in plan.explain()
        session.run(plan)
        join = "SELECT COUNT(*) FROM drugs AS d JOIN visits AS v ON d.visit = v.patient"
        for question in (join, "SELECT COUNT(*) FROM visits"):
            with pytest.raises(UnknownName) as caught:
                session.ask(question, epsilon=0.1)
    assert sorted(caught.value.known) == ["drugs", "wards"]


def test_the_engine_keeps_the_limits_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {}
    make = DuckDB.__init__

    def watched(self: DuckDB, tables: object, **options: object) -> None:
        given.update(options)
        make(self, tables, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDB, "__init__", watched)
    limits = '[engine]\nmemory_limit = "512MB"\nthreads = 1\ntimeout = 2.5\nscans = 3\nparts = 5\n'
    with privet.open(declare(folder, TABLES + limits)) as session:
        assert given == {}
        session.ask("SELECT COUNT(*) FROM staff", epsilon=0.1)
    assert given == {"memory_limit": "512MB", "threads": 1, "timeout": Fraction(5, 2), "scans": 3, "parts": 5}


def test_closing_a_session_closes_its_ledger_and_its_engine(folder: Path) -> None:
    session = privet.open(declare(folder, TABLES))
    session.close()
    with pytest.raises(LedgerError, match="closed"):
        session.remaining()


def test_plans_and_descriptions_need_no_data_and_a_missing_source_is_not_charged(folder: Path) -> None:
    file = declare(folder, TABLES)
    with privet.open(file) as session:
        before = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    for source in ("visits.csv", "staff.csv"):
        (folder / source).unlink()
    with privet.open(file) as session:
        assert session.plan("SELECT SUM(age) FROM visits", epsilon=0.5).price["epsilon"] == 0.5
        assert session.describe("visits").examples
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5).value == before.value
        with pytest.raises(RequestError, match="there is no file"):
            session.ask("SELECT SUM(age) FROM visits", epsilon=0.5)
        assert len(session.history()) == 1


def test_planning_on_the_command_line_makes_no_ledger(folder: Path) -> None:
    from click.testing import CliRunner

    from privet.cli import main

    file = declare(folder, TABLES)
    (folder / "visits.csv").unlink()
    for arguments in (["plan", "SELECT COUNT(*) FROM visits", "--epsilon", "0.5"], ["tables"], ["tables", "visits"]):
        made = CliRunner().invoke(main, [*arguments, "--config", str(file)])
        assert made.exit_code == 0, made.output
    assert {one.name for one in folder.iterdir()} == {"privet.toml", "staff.csv"}


def test_a_plan_reads_public_rows_and_leaves_private_sources_closed(folder: Path) -> None:
    public = """
[public.kinds]
source = "kinds.csv"
key = "age"
columns = { age = { kind = "integer", low = 0, high = 110 }, kind = { kind = "category", values = ["a", "b"] } }
"""
    (folder / "kinds.csv").write_text("age,kind\n20,a\n30,b\n")
    (folder / "visits.csv").unlink()
    question = "SELECT k.kind, COUNT(*) AS n FROM visits v JOIN kinds k ON v.age = k.age GROUP BY k.kind"
    with privet.open(declare(folder, TABLES + public)) as session:
        assert session.plan(question, epsilon=0.5).price["epsilon"] == 0.5


def test_sources_are_opened_once_and_all_is_closed() -> None:
    made: list[Any] = []

    class Opened:
        closed = False

        def __init__(self, tables: Any) -> None:
            made.append(self)

        def public_rows(self, name: str) -> list[tuple[Any, ...]]:
            return []

        def close(self) -> None:
            self.closed = True

    engine = LateEngine({}, Opened)  # type: ignore[arg-type]
    assert engine.public_rows("wards") == engine.public_rows("wards") == []
    assert len(made) == 1
    engine.close()
    assert made[0].closed
    with pytest.raises(EngineError):
        engine.public_rows("wards")
