"""A ledger in PostgreSQL: its address, encryption and secrets, copies from and to SQLite, commands and privet.toml."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import postgres_server
import privet
from privet.accounting.events import PureEvent
from privet.cli import main
from privet.config import read_config
from privet.core.budget import Pure
from privet.core.errors import BadParameter, LedgerError, RequestError
from privet.core.ports import CountsBlocks, KeepsSecrets, KeepsSteps, LedgerAdmin, OpensPromises
from privet.ledger.postgres import PostgresLedger
from privet.ledger.postgres.postgres_rows import set_up_statements
from privet.ledger.postgres.server_address import read_address, shown_place
from privet.ledger.sqlite.store import SqliteLedger

pytest.importorskip("psycopg")

TENTH = PureEvent(Fraction(1, 10))
SECRET = "correct-horse"
STATE = "0" * 64


# Addresses


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGPASSWORD", "PGDATABASE", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://app@db.example.org/hospital", "verify-full"),
        ("postgres://app@10.0.0.7:5433/hospital", "verify-full"),
        ("postgresql://app@localhost,db.example.org/hospital", "verify-full"),
        ("postgresql://app@/hospital?host=/var/run&hostaddr=10.0.0.7", "verify-full"),
        ("postgresql://app@/hospital?service=away", "verify-full"),
        ("postgresql://app@localhost.example.org/hospital", "verify-full"),
        ("postgresql://app@db.example.org/hospital?sslmode=require", "require"),
        ("postgresql://app@localhost/hospital", None),
        ("postgresql://app@127.0.0.1/hospital", None),
        ("postgresql://app@[::1]/hospital", None),
        ("postgresql://app@/hospital?host=/var/run/postgresql", None),
        ("postgresql:///hospital", None),
    ],
)
def test_a_connection_that_leaves_the_machine_is_encrypted_and_checked(url: str, mode: str | None) -> None:
    assert read_address(url)._options.get("sslmode") == mode


def test_a_host_from_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert read_address("postgresql://app@/hospital")._options["sslmode"] == "verify-full"
    monkeypatch.setenv("PGHOST", "localhost")
    assert "sslmode" not in read_address("postgresql://app@/hospital")._options
    monkeypatch.setenv("PGSERVICE", "away")
    assert read_address("postgresql://app@/hospital")._options["sslmode"] == "verify-full"


def test_the_word_after_the_number_sign_is_the_schema() -> None:
    assert read_address("postgresql:///hospital").schema == "privet"
    assert read_address("postgresql:///hospital#second").schema == "second"


def test_of_several_servers_the_one_that_takes_changes_is_used() -> None:
    options = read_address("postgresql://app@one.example.org,two.example.org/hospital")._options
    assert options["target_session_attrs"] == "read-write"


BAD = (
    f"postgresql://app:{SECRET}@db.example.org/hospital#No Schema",
    f"postgresql://app:{SECRET}@db.example.org/hospital#a;drop",
    f"postgresql://app:{SECRET}@db.example.org/hospital?nonsense=1",
    f"postgresql://app:{SECRET}@db.example.org:port/hospital?connect_timeout=%zz",
    f"postgresql://app:{SECRET}#@db.example.org/hospital",
    f"postgresql://app:{SECRET}@db.example.org/\x00",
    f"mysql://app:{SECRET}@db.example.org/hospital",
    f"host=db.example.org password={SECRET}",
    "hospital.ledger",
    "",
    None,
    7,
    b"postgresql:///hospital",
)


@pytest.mark.parametrize("url", BAD, ids=range(len(BAD)))
def test_an_address_that_makes_no_sense_is_refused_without_being_quoted(url: Any) -> None:
    with pytest.raises(BadParameter) as refused:
        PostgresLedger(url, Pure(epsilon=1))
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert SECRET not in repr(refused.value.to_dict())


def test_a_password_is_never_shown(ledger_address: Callable[[], str], tmp_path: Path) -> None:
    server = postgres_server.shared_durable_server()
    place = ledger_address()
    schema = place.partition("#")[2]
    name = f"careful_{schema}"
    server.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}' IN ROLE with_password", database="postgres")
    server.execute(f"GRANT {postgres_server.APP} TO {name}", database="postgres")
    try:
        right = f"{server.url('postgres', name, SECRET)}#{schema}"
        with PostgresLedger(right, Pure(epsilon=1)) as ledger:
            assert SECRET not in repr(ledger) + repr(vars(ledger._postgres)) + ledger.place + str(
                ledger._postgres.address
            )
            assert SECRET not in shown_place(right)
            ledger._postgres._let_go()
            server.execute(f"ALTER ROLE {name} PASSWORD 'other'", database="postgres")
            with pytest.raises(LedgerError) as refused:
                ledger.charge(TENTH, "plan", account="ana")
        assert SECRET not in "".join(traceback.format_exception(refused.value))
        result = CliRunner().invoke(main, ["ledger", "verify", "--ledger", right])
        assert result.exit_code == 5
        assert SECRET not in result.output + result.stderr
    finally:
        server.execute(f"DROP ROLE {name}", database="postgres")
    for opened in (SqliteLedger, lambda path: SqliteLedger.restore(path, [])):
        with pytest.raises(BadParameter) as refused_path:
            opened(right)  # type: ignore[operator]
        assert SECRET not in str(refused_path.value)


def test_a_server_that_is_not_there_is_told_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as refused:
        PostgresLedger(f"postgresql://app:{SECRET}@/hospital?host={tmp_path}", Pure(epsilon=1), timeout=1)
    assert refused.value.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_schema_without_a_ledger_and_a_ledger_without_a_budget_are_told(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    with pytest.raises(LedgerError, match="privet ledger init"):
        PostgresLedger(place + "x", Pure(epsilon=1))
    with pytest.raises(LedgerError, match="no entries"):
        PostgresLedger(place)
    with pytest.raises(LedgerError, match="no entries"):
        PostgresLedger(place, Pure(epsilon=1), head=f"1:{STATE}")


def test_a_ledger_that_has_lost_every_entry_is_not_begun_again(
    ledger_address: Callable[[], str], tmp_path: Path
) -> None:
    place, copied = ledger_address(), ledger_address()
    with PostgresLedger(place, Pure(epsilon=1)) as ledger:
        ledger.charge(TENTH, "plan", account="ana")
        ledger.backup(copied)
        lines = list(ledger.export())
    for one in (place, copied):
        postgres_server.write_behind(one, ("DELETE FROM entries", ()))
        with pytest.raises(LedgerError, match="lost all of its entries"):
            PostgresLedger(one, Pure(epsilon=1))
        with pytest.raises(LedgerError, match="lost all of its entries"):
            PostgresLedger.restore(one, lines)


def test_rules_are_held_to_as_in_every_ledger(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    PostgresLedger(place, Pure(epsilon=1), analysts={"ana": Pure(epsilon=Fraction(1, 2))}).close()
    with pytest.raises(BadParameter, match="budget"):
        PostgresLedger(place, Pure(epsilon=2))
    with PostgresLedger(place, Pure(epsilon=1)) as ledger:
        assert ledger.accounts() == ("ana",)
        assert isinstance(ledger, LedgerAdmin)
        for port in (KeepsSteps, KeepsSecrets, OpensPromises, CountsBlocks):
            assert isinstance(ledger, port)


@pytest.mark.parametrize("role", ["", "a" * 64, "a$privet$", "a\\b", "a\nb", None, 7])
def test_a_role_that_is_no_name_is_refused(role: Any) -> None:
    with pytest.raises(BadParameter):
        set_up_statements("privet", role)


def test_an_odd_role_is_quoted() -> None:
    statements = set_up_statements("privet", 'it\'s "odd"')
    assert any("'it''s \"odd\"'" in one for one in statements)
    assert statements[-1].endswith('TO "it\'s ""odd"""')


def test_what_an_owner_makes_is_made_whole_or_not_at_all(ledger_address: Callable[[], str]) -> None:
    owner = postgres_server.as_owner(ledger_address())
    with pytest.raises(LedgerError):
        PostgresLedger.set_up(owner, role=postgres_server.APP)  # the schema is there already
    PostgresLedger(owner.replace("custodian", postgres_server.APP), Pure(epsilon=1)).close()


# Copies


def fill(ledger: Any) -> None:
    """Write entries of several kinds, and a secret text."""
    ledger.store(ledger.charge(TENTH, "first", account="ana", key="k"), ("é", 2**70, None))
    steps = ledger.charge(TENTH, "steps", account="ana")
    ledger.begin_steps(steps, state=STATE, kept="a secret")
    ledger.top_up(Pure(epsilon=1), reason="more")
    for index in range(20):  # so that a balance is cached
        ledger.charge(PureEvent(Fraction(1, 1000)), f"plan {index}", account="ana")


def test_a_backup_from_either_store_to_the_other_keeps_the_chain_and_the_secrets(
    ledger_address: Callable[[], str], tmp_path: Path
) -> None:
    place, second = ledger_address(), ledger_address()
    with SqliteLedger(tmp_path / "file", Pure(epsilon=1)) as ledger:
        fill(ledger)
        ledger.backup(place)
        head, lines = ledger.head(), list(ledger.export())
    with PostgresLedger(place, head=head) as shared:
        shared.verify()
        assert (shared.head(), list(shared.export())) == (head, lines)
        receipt = shared.charge(TENTH, "steps", account="ana")
        assert (receipt.entry, shared.kept_text(receipt)) == (4, "a secret")
        assert shared.find("first", "ana")[1] == ("é", 2**70, None)  # type: ignore[index]
        with pytest.raises(LedgerError, match="already"):
            shared.backup(place)
        shared.backup(second)
        shared.backup(tmp_path / "back")
    with SqliteLedger(tmp_path / "back", head=head) as back, PostgresLedger(second, head=head) as other:
        for copy in (back, other):
            copy.verify()
            assert (copy.head(), list(copy.export())) == (head, lines)
            assert copy.kept_text(receipt) == "a secret"


def test_lines_that_were_changed_are_not_restored(ledger_address: Callable[[], str], tmp_path: Path) -> None:
    place = ledger_address()
    with SqliteLedger(tmp_path / "file", Pure(epsilon=1)) as ledger:
        fill(ledger)
        lines = list(ledger.export())
    with pytest.raises(LedgerError):
        PostgresLedger.restore(place, [lines[0], lines[1].replace("1/10", "1/99"), *lines[2:]])
    with pytest.raises(LedgerError, match="no entries"):
        PostgresLedger(place)
    with pytest.raises(LedgerError, match="pinned"):
        PostgresLedger.restore(place, lines[:5], head=f"7:{STATE}")
    with PostgresLedger.restore(place, lines) as whole:
        assert list(whole.export()) == lines


# privet.toml and commands


TOML = """
[budget]
epsilon = 1
[ledger]
url = "{url}"
[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = {{ groups = 1, rows = 2 }}
[tables.visits.columns]
patient = "integer"
cost = {{ kind = "number", low = 0, high = 50 }}
"""


def declare(folder: Path, url: str, more: str = "") -> str:
    (folder / "visits.csv").write_text("patient,cost\n1,10\n2,20\n")
    (folder / "privet.toml").write_text(TOML.format(url=url).replace("[tables.visits]", f"{more}[tables.visits]", 1))
    return str(folder / "privet.toml")


def test_every_command_works_on_a_ledger_in_postgres(ledger_address: Callable[[], str], tmp_path: Path) -> None:
    place, empty = ledger_address(), ledger_address()
    config = declare(tmp_path, place)

    def run(*command: str, code: int = 0) -> Any:
        result = CliRunner().invoke(main, [*command, "--config", config, "--json"])
        assert result.exit_code == code, result.output + result.stderr
        return json.loads(result.stdout) if code == 0 else result.stderr

    assert "yet" in run("ledger", "list", code=2)
    assert run("plan", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.25")
    answer = run("ask", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.25")
    assert run("ask", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.25")["rows"] == answer["rows"]
    assert [one["kind"] for one in run("ledger", "list")["entries"]] == ["open", "charge", "answer"]
    assert run("ledger", "show", "2")["kind"] == "charge"
    assert run("certificate", "2")["entry"] == 2
    run("ledger", "top-up", "--epsilon", "1", "--reason", "more")
    run("ledger", "limit", "--epsilon", "0.5", "--reason", "less")
    run("ledger", "limit", "--none", "--reason", "more again")
    run("ledger", "reschedule", "2099-01-01T00:00:00Z", "--reason", "an end")
    run("ledger", "reschedule", "never", "--reason", "no end")
    assert "failed to answer" in run("ledger", "clear", "everybody", "--reason", "nothing", code=2)
    assert run("ledger", "review")["releases"] == []
    assert run("budget")
    head = run("ledger", "verify")["head"]
    assert run("ledger", "verify", "--head", head)["valid"]
    assert run("ledger", "backup", str(tmp_path / "copy"))["head"] == head
    assert run("ledger", "export", "--output", str(tmp_path / "lines"))["head"] == head
    result = CliRunner().invoke(main, ["ledger", "import", str(tmp_path / "lines"), "--ledger", empty, "--head", head])
    assert result.exit_code == 0, result.output
    assert head in result.output
    for copy in (str(tmp_path / "copy"), empty):
        result = CliRunner().invoke(main, ["ledger", "verify", "--ledger", copy, "--json"])
        assert json.loads(result.stdout)["head"] == head
    with privet.open(config) as session:
        assert len(session.history()) == 1


def test_the_set_up_is_printed_or_run(ledger_address: Callable[[], str]) -> None:
    import psycopg

    server = postgres_server.shared_durable_server()
    with server.database() as database:
        owner = server.url(database)
        for schema, options in (("printed", ()), ("by_command", ("--run",))):
            command = ["ledger", "init", f"{owner}#{schema}", "--role", postgres_server.APP, *options]
            result = CliRunner().invoke(main, command)
            assert result.exit_code == 0, result.output
            if not options:
                with psycopg.connect(owner, autocommit=True) as connection:
                    connection.execute(result.stdout)  # type: ignore[call-overload]
            app = f"{server.url(database, postgres_server.APP)}#{schema}"
            with PostgresLedger(app, Pure(epsilon=1)) as ledger:
                ledger.charge(TENTH, "plan", account="ana")
                head = ledger.head()
            adopted = CliRunner().invoke(main, ["ledger", "adopt", f"{owner}#{schema}", "--head", head, "--json"])
            assert json.loads(adopted.stdout)["head"] == head
            PostgresLedger(app, head=head).close()


def test_a_file_that_many_read_contains_no_password(tmp_path: Path) -> None:
    config = declare(tmp_path, f"postgresql://app:{SECRET}@db.example.org/hospital")
    with pytest.raises(RequestError) as refused:
        read_config(config)
    assert "PGPASSWORD" in str(refused.value)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_ledger_is_in_a_file_or_in_a_server(tmp_path: Path) -> None:
    config = declare(tmp_path, "postgresql://app@db.example.org/hospital")
    assert SECRET not in repr(read_config(config).ledger)
    assert read_config(config).ledger.where == "postgresql://app@db.example.org/hospital"
    text = Path(config).read_text().replace("[ledger]\n", '[ledger]\npath = "privet.ledger"\n')
    Path(config).write_text(text)
    with pytest.raises(RequestError, match="both given"):
        read_config(config)
    Path(config).write_text(TOML.format(url="hospital.ledger"))
    with pytest.raises(RequestError, match="postgresql://"):
        read_config(config)
