"""What the role that uses a ledger in PostgreSQL can do to it, and which servers are trusted with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import postgres_server
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import LedgerError
from privet.ledger.postgres import PostgresLedger
from privet.ledger.postgres.postgres_ledger import Found, check_server, lock_id

TENTH = PureEvent(Fraction(1, 10))


@pytest.fixture
def address(ledger_address: Callable[[], str]) -> str:
    """The address of a ledger with two charges, one of them answered, and a text that it keeps."""
    place = ledger_address()
    with PostgresLedger(place, Pure(epsilon=1)) as ledger:
        receipt = ledger.charge(TENTH, "first", account="ana")
        ledger.store(receipt, (7,))
        other = ledger.charge(TENTH, "second", account="ana")
        ledger.begin_steps(other, state="0" * 64, kept="a secret")
    return place


@pytest.fixture
def role(address: str) -> Iterator[Any]:
    """A connection as the role that uses the ledger, to try what it is not meant to do."""
    psycopg = pytest.importorskip("psycopg")
    place, _, schema = address.partition("#")
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}")
        yield connection


FORBIDDEN = (
    "UPDATE entries SET body = '{}'",
    "UPDATE entries SET body = body WHERE false",
    "DELETE FROM entries",
    "DELETE FROM entries WHERE number = 5",
    "TRUNCATE entries",
    "DROP TABLE entries",
    "DROP SCHEMA {schema} CASCADE",
    "DROP INDEX keys",
    "ALTER TABLE entries DISABLE TRIGGER ALL",
    "ALTER TABLE entries DISABLE TRIGGER entries_stay",
    "DROP TRIGGER entries_stay ON entries",
    "CREATE TRIGGER mine BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_stay()",
    "CREATE OR REPLACE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
    "ALTER FUNCTION entries_stay() RENAME TO gone",
    "CREATE RULE mine AS ON INSERT TO entries DO INSTEAD NOTHING",
    "ALTER TABLE entries ADD COLUMN mine integer",
    "ALTER TABLE entries ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE entries SET UNLOGGED",
    "ALTER TABLE entries OWNER TO CURRENT_USER",
    "ALTER TABLE entries RENAME TO gone",
    "CREATE TABLE mine (a integer)",
    "CREATE TABLE pg_temp.mine (a integer) INHERITS (entries)",
    "LOCK TABLE entries IN ACCESS EXCLUSIVE MODE",
    "UPDATE ledger SET id = 'other'",
    "DELETE FROM ledger",
    "INSERT INTO ledger (id, version) VALUES ('other', 1)",
    "INSERT INTO servers (number, system, timeline, head) VALUES (2, 'x', 9, '')",
    "UPDATE servers SET timeline = 9",
    "DELETE FROM servers",
    "DELETE FROM kept",
    "TRUNCATE kept",
    "UPDATE kept SET charge = 99",
    "DELETE FROM balances",
    "SET session_replication_role = replica",
    "SET fsync = off",
    "SET full_page_writes = off",
    "ALTER SYSTEM SET fsync = off",
    "SET ROLE custodian",
    "SET SESSION AUTHORIZATION custodian",
    "INSERT INTO entries VALUES (9, 'charge', 'ana', 'd', NULL, '{{}}', '')",
    "INSERT INTO entries VALUES (1, 'charge', 'ana', 'd', NULL, '{{}}', '')",
    "INSERT INTO entries VALUES (NULL, 'charge', 'ana', 'd', NULL, '{{}}', '')",
    "INSERT INTO entries VALUES (5, 'charge', 'ana', 'd', NULL, '{{}}', '') ON CONFLICT (number) DO UPDATE SET body=''",
    "SET synchronous_commit = off; INSERT INTO entries VALUES (6, 'charge', 'ana', 'd', NULL, '{{}}', '')",
    "SET synchronous_commit = local; INSERT INTO entries VALUES (6, 'charge', 'ana', 'd', NULL, '{{}}', '')",
)


def test_the_role_can_neither_change_nor_remove_an_entry_nor_what_guards_it(address: str, role: Any) -> None:
    import psycopg

    schema = address.partition("#")[2]
    with PostgresLedger(address) as ledger:
        before = list(ledger.export())
    role.execute("GRANT ALL ON entries TO CURRENT_USER")  # a warning, and nothing is granted
    for statement in FORBIDDEN:
        with pytest.raises(psycopg.Error):
            role.execute(statement.replace("{schema}", schema).replace("{{}}", "{}"))
        role.execute("RESET synchronous_commit")
    with PostgresLedger(address) as ledger:
        ledger.verify()
        assert list(ledger.export()) == before


def test_settings_that_the_role_changes_for_itself_do_not_make_charges_less_durable(address: str) -> None:
    name = postgres_server.APP
    server = postgres_server.shared_durable_server()
    server.execute(f"ALTER ROLE {name} SET synchronous_commit = off", database="postgres")
    try:
        with PostgresLedger(address) as ledger:
            ledger.charge(TENTH, "third", account="ana")
            with ledger._postgres.writing() as rows:
                (set_to,) = rows._connection.execute("SHOW synchronous_commit").fetchone()  # type: ignore[misc]
            assert set_to == "on"
    finally:
        server.execute(f"ALTER ROLE {name} RESET synchronous_commit", database="postgres")


def test_even_the_owner_changes_no_entry_while_the_triggers_are_on(address: str) -> None:
    import psycopg

    place, _, schema = postgres_server.as_owner(address).partition("#")
    with psycopg.connect(place, autocommit=True) as owner:
        owner.execute(f"SET search_path = {schema}")  # type: ignore[call-overload]
        owner.execute("SET session_replication_role = replica")  # which switches ordinary triggers off
        for statement in (
            "UPDATE entries SET body = ''",
            "DELETE FROM entries",
            "TRUNCATE entries",
            "UPDATE ledger SET id = 'x'",
            "TRUNCATE ledger",
            "DELETE FROM servers",
        ):
            with pytest.raises(psycopg.errors.RaiseException):
                owner.execute(statement)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE entries DISABLE TRIGGER entries_stay",
        "ALTER TABLE entries ENABLE TRIGGER entries_follow",
        "DROP TRIGGER entries_stay_whole ON entries",
        "CREATE OR REPLACE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
        "DROP INDEX answers",
        "ALTER TABLE entries ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE entries SET UNLOGGED",
        "ALTER TABLE entries ADD COLUMN more integer",
        "CREATE RULE quiet AS ON INSERT TO kept DO INSTEAD NOTHING",
        "CREATE VIEW more AS SELECT 1 AS a",
        "CREATE TABLE below () INHERITS (entries)",
    ],
)
def test_tables_that_are_not_as_they_were_made_are_refused(address: str, change: str) -> None:
    import psycopg

    with PostgresLedger(address) as running:
        place, _, schema = postgres_server.as_owner(address).partition("#")
        with psycopg.connect(place, autocommit=True) as owner:
            owner.execute(f"SET search_path = {schema}")  # type: ignore[call-overload]
            owner.execute(change)  # type: ignore[call-overload]
        with pytest.raises(LedgerError, match="not as Privet makes them"):
            PostgresLedger(address)
        with pytest.raises(LedgerError):
            running.verify()


def test_a_role_that_could_change_entries_is_refused(address: str) -> None:
    with pytest.raises(LedgerError, match="could change or remove"):
        PostgresLedger(postgres_server.as_owner(address))
    schema, name = address.partition("#")[2], "with_more"
    server = postgres_server.shared_durable_server()
    server.execute(
        f"DROP ROLE IF EXISTS {name}",
        f"CREATE ROLE {name} LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {name}",
        f"GRANT SELECT, INSERT, DELETE ON {schema}.entries TO {name}",
        f"GRANT SELECT ON {schema}.ledger, {schema}.servers TO {name}",
        database="postgres",
    )
    try:
        mine = address.replace(postgres_server.APP, name)
        with pytest.raises(LedgerError, match="could change or remove"):
            PostgresLedger(mine)
        server.execute(f"REVOKE INSERT, DELETE ON {schema}.entries FROM {name}", database="postgres")
        with pytest.raises(LedgerError, match="may not add entries"):
            PostgresLedger(mine)
    finally:
        server.execute(f"DROP OWNED BY {name}", f"DROP ROLE {name}", database="postgres")


# What a server must be like


GOOD = Found(False, "on", "on", "on", "7", 1, "7", 1)


def test_a_server_that_keeps_what_it_commits_is_accepted() -> None:
    check_server(GOOD)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"standby": True}, "standby"),
        ({"fsync": "off"}, "fsync"),
        ({"full_page_writes": "off"}, "full_page_writes"),
        ({"synchronous_commit": "local"}, "synchronous_commit"),
        ({"system": "8"}, "another server's"),
        ({"timeline": 2}, "timeline is 2, and was 1"),
        ({"known_system": None, "known_timeline": None}, "another server's"),
    ],
)
def test_a_server_that_may_lose_entries_or_has_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(LedgerError, match=why):
        check_server(GOOD._replace(**change))


def test_a_server_without_fsync_is_refused(postgres: postgres_server.PostgresServer) -> None:
    with postgres.database() as database:
        address = postgres_server.new_ledger(postgres, database)
        with pytest.raises(LedgerError, match="fsync = off"):
            PostgresLedger(address, Pure(epsilon=1))


def test_two_ledgers_of_one_database_do_not_wait_for_each_other(ledger_address: Callable[[], str]) -> None:
    with (
        PostgresLedger(ledger_address(), Pure(epsilon=1)) as one,
        PostgresLedger(ledger_address(), Pure(epsilon=1), timeout=1) as other,
        one._postgres.writing(),
    ):
        assert one._postgres.ledger_id() != other._postgres.ledger_id()
        assert other.charge(TENTH, "plan", account="ana").entry == 2


def test_the_lock_is_derived_from_the_ledgers_own_name(address: str) -> None:
    import psycopg

    with PostgresLedger(address) as ledger:
        name = ledger._postgres.ledger_id()
        assert ledger.entry(1).to_dict()["ledger"] == name
        with psycopg.connect(address.partition("#")[0]) as other, ledger._postgres.writing():
            free = other.execute("SELECT pg_try_advisory_xact_lock(%s)", (lock_id(name),)).fetchone()
            assert free == (False,)


def test_a_charge_that_waits_too_long_for_another_is_refused(address: str) -> None:
    with (
        PostgresLedger(address) as one,
        PostgresLedger(address, timeout=Fraction(1, 5)) as other,
        one._postgres.writing(),
        pytest.raises(LedgerError, match="locked by another process"),
    ):
        other.charge(TENTH, "plan", account="ana")
