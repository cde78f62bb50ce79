"""What goes wrong with tables in PostgreSQL: clear errors, no private text, no password, and charges that stand."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import privet
from postgres_server import PostgresServer, missing
from postgres_world import READER, PostgresWorld
from privet.core.errors import BadParameter, EngineError, PrivetError, RequestError
from privet.core.schema import Table
from privet.core.unit import Person, Rows
from privet.testing import Memory

COLUMNS = {
    "who": privet.integer(),
    "city": privet.category(["Ulm", "Bonn"]),
    "pay": privet.number(0, 100),
}
ROWS = [{"who": n % 50, "city": ("Ulm", "Bonn")[n % 2], "pay": n % 101} for n in range(400)]
KEPT: Any = {"unit": Person("who"), "columns": COLUMNS, "contribution": privet.Contribution(groups=2, rows=10)}
QUESTION = "SELECT city, COUNT(*) AS n, AVG(pay) AS pay FROM visits GROUP BY city"


@pytest.fixture(scope="module")
def world(postgres) -> Iterator[PostgresWorld]:
    made = PostgresWorld(postgres)
    yield made
    made.close()


@pytest.fixture(scope="module")
def visits(world: PostgresWorld) -> Table:
    return world.load("visits", Table(ROWS, **KEPT))


def session_of(world: PostgresWorld, table: Table, **options: Any) -> privet.Session:
    engine = privet.Postgres(world.url, **options)
    return privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000), engine=engine)


def test_a_session_answers_from_the_server(world, visits):
    with session_of(world, visits) as session:
        answer = session.ask(QUESTION, epsilon=500)
        assert [row["city"] for row in answer] == ["Ulm", "Bonn"]
        assert all(abs(row["n"] - 200) < 5 for row in answer)
        before = session.remaining().largest_epsilon
        assert list(session.ask(QUESTION, epsilon=500)) == list(answer)
        assert session.remaining().largest_epsilon == before
        assert session.ask("SELECT MEDIAN(pay) AS m FROM visits", epsilon=50)["m"].values[0] == pytest.approx(50, abs=9)


# --- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://a:hunter2@b/c",
        "postgresql://a:hunter2@b/c?nonsense=1",
        "host=b password=hunter2",
        "postgresql://a:hunter2@[::1/c",
        "postgresql://\0hunter2",
        None,
        b"postgresql://a:hunter2@b/c",
        7,
    ],
)
def test_what_is_no_address_is_refused_and_not_quoted(url):
    with pytest.raises(BadParameter) as refused:
        privet.Postgres(url)
    assert "hunter2" not in str(refused.value) + repr(vars(refused.value))
    assert "postgresql://reader@" in str(refused.value)


def test_a_password_is_never_shown(world, visits, tmp_path):
    address = privet.Postgres("postgresql://who:hunter2@127.0.0.1:1/nowhere?connect_timeout=2")
    assert "hunter2" not in f"{address!r} {address}"
    with pytest.raises(RequestError, match="cannot be connected to at who@127") as refused:
        address.over({"visits": visits})
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    assert "hunter2" not in repr(privet.Postgres("postgresql://who@127.0.0.1/x", password_file=file))


def test_a_password_comes_from_a_file_or_the_environment(postgres, world, visits, tmp_path, monkeypatch):
    world.run(
        "CREATE ROLE locked LOGIN PASSWORD 'hunter2'",
        "GRANT with_password TO locked",
        f"GRANT {READER} TO locked",
    )
    try:
        url = postgres.url(world.database, "locked")
        with pytest.raises(RequestError, match="cannot be connected"):
            privet.Postgres(url).over({"visits": visits})
        file = tmp_path / "password"
        file.write_text("hunter2\n")
        privet.Postgres(url, password_file=file).over({"visits": visits}).close()
        monkeypatch.setenv("PGPASSWORD", "hunter2")
        privet.Postgres(url).over({"visits": visits}).close()
        with pytest.raises(RequestError, match="password_file") as refused:
            privet.Postgres(url, password_file=tmp_path / "absent").over({"visits": visits})
        assert "hunter2" not in str(refused.value)
    finally:
        world.run("DROP ROLE locked")


@pytest.mark.parametrize(
    ("url", "sslmode"),
    [
        ("postgresql://a@db.example.org/x", "verify-full"),
        ("postgresql://a@db.example.org/x?sslmode=require", "require"),
        ("postgresql://a@127.0.0.1,db.example.org/x", "verify-full"),
        ("postgresql://a@127.0.0.1/x", None),
        ("postgresql://a@localhost/x", None),
        ("postgresql://a@[::1]/x", None),
        ("postgresql:///x?host=/var/run/postgresql", None),
        ("postgresql:///x?service=far", "verify-full"),
        ("postgresql://a@10.0.0.1/x", "verify-full"),
    ],
)
def test_a_connection_that_leaves_the_machine_is_encrypted_and_checked(url, sslmode, monkeypatch):
    from privet.engines.postgres.reader_address import read_options

    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    assert read_options(url).get("sslmode") == sslmode


# --- rights and tables --------------------------------------------------------------------------------------------


def refusal(world: PostgresWorld, url: str | None = None, **table: Any) -> str:
    with pytest.raises(RequestError) as refused:
        privet.Postgres(url or world.url).over({"visits": Table(**(KEPT | table))})
    assert isinstance(refused.value, PrivetError)
    return str(refused.value)


def test_a_missing_table_or_column_is_named(world, visits):
    assert "there is no table 'nowhere'" in refusal(world, source=privet.PostgresTable("nowhere"))
    assert "there is no table 'no.where'" in refusal(world, source=privet.PostgresTable("no.where"))
    columns = COLUMNS | {"shoe": privet.integer()}
    assert "declares a column 'shoe'" in refusal(world, source=visits.source, columns=columns)


def test_a_role_that_may_not_read_or_may_write_is_refused(world, visits, postgres):
    world.run("CREATE TABLE closed (who bigint, city text, pay float8)", f"REVOKE ALL ON closed FROM {READER}")
    assert "may not read 'closed'" in refusal(world, source=privet.PostgresTable("closed"))
    world.run("CREATE TABLE loose (who bigint, city text, pay float8)", f"GRANT INSERT ON loose TO {READER}")
    assert "may be written" in refusal(world, source=privet.PostgresTable("loose"))
    world.run(f"REVOKE INSERT ON loose FROM {READER}", f"GRANT UPDATE (pay) ON loose TO {READER}")
    assert "may be written" in refusal(world, source=privet.PostgresTable("loose"))
    assert "more rights than to read" in refusal(world, postgres.url(world.database), source=visits.source)
    world.run(f'GRANT TEMPORARY ON DATABASE "{world.database}" TO {READER}')
    try:
        assert "temporary tables" in refusal(world, source=visits.source)
    finally:
        world.run(f'REVOKE TEMPORARY ON DATABASE "{world.database}" FROM {READER}')


UNSOUND = {
    "a view": ("CREATE VIEW unsound AS SELECT * FROM sound", "is a view"),
    "materialized": ("CREATE MATERIALIZED VIEW unsound AS SELECT * FROM sound", "is a materialized view"),
    "unlogged": ("CREATE UNLOGGED TABLE unsound (LIKE sound)", "unlogged"),
    "row security": (
        "CREATE TABLE unsound (LIKE sound); ALTER TABLE unsound ENABLE ROW LEVEL SECURITY",
        "row security",
    ),
    "inherited": ("CREATE TABLE unsound (LIKE sound); CREATE TABLE child () INHERITS (unsound)", "is inherited from"),
    "foreign": (
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; "
        "CREATE FOREIGN TABLE unsound (who bigint, city text, pay float8) SERVER s",
        "a foreign table",
    ),
    "foreign partition": (
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; "
        "CREATE TABLE unsound (who bigint, city text, pay float8) PARTITION BY LIST (city); "
        "CREATE FOREIGN TABLE part PARTITION OF unsound DEFAULT SERVER s",
        "foreign table",
    ),
    "char(n)": ("CREATE TABLE unsound (who bigint, city char(5), pay float8)", r"char\(n\)"),
    "citext": (
        "CREATE TYPE citext; CREATE FUNCTION ci(cstring) RETURNS citext LANGUAGE internal IMMUTABLE AS 'textin'; "
        "CREATE FUNCTION co(citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; "
        "CREATE TYPE citext (INPUT = ci, OUTPUT = co, LIKE = text, CATEGORY = 'S'); "
        "CREATE TABLE unsound (who bigint, city citext, pay float8)",
        "citext",
    ),
    "json": ("CREATE TABLE unsound (who bigint, city json, pay float8)", "a type that is not read"),
    "text as a number": ("CREATE TABLE unsound (who bigint, city text, pay text)", "without failing on some row"),
    "numeric people": ("CREATE TABLE unsound (who numeric, city text, pay float8)", "several may become one person"),
    "domain over char(n)": (
        "CREATE DOMAIN place AS char(5); CREATE TABLE unsound (who bigint, city place, pay float8)",
        r"char\(n\)",
    ),
    "collation": (
        "CREATE COLLATION vague (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        "CREATE TABLE unsound (who bigint, city text COLLATE vague, pay float8)",
        "different texts are equal",
    ),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_what_is_not_sound_is_refused_and_named_at_check(world, case):
    from privet.engines.inspection import inspect_tables

    statements, message = UNSOUND[case]
    world.run("CREATE SCHEMA odd", f"GRANT USAGE ON SCHEMA odd TO {READER}")
    try:
        world.run(
            "SET search_path = odd",
            "CREATE TABLE sound (who bigint, city text, pay float8)",
            statements,
            f"GRANT SELECT ON ALL TABLES IN SCHEMA odd TO {READER}",
        )
        source = privet.PostgresTable("odd.unsound")
        import re

        assert re.search(message, refusal(world, source=source))
        found = inspect_tables(privet.Postgres(world.url), {"visits": Table(source, **KEPT)})["visits"]
        assert any(re.search(message, problem) for problem in found.problems)
    finally:
        world.run("RESET search_path", "DROP SCHEMA odd CASCADE", "DROP FOREIGN DATA WRAPPER IF EXISTS w CASCADE")


def test_tables_of_two_engines_in_one_session_are_refused(world, visits, tmp_path):
    elsewhere = Table(str(tmp_path / "x.csv"), unit=Rows(), columns={"a": privet.integer()})
    with pytest.raises(RequestError, match="all tables of a session have one engine"):
        privet.Session(
            {"visits": visits, "other": elsewhere},
            budget=privet.Pure(epsilon=1),
            engine=privet.Postgres(world.url),
        )
    with pytest.raises(RequestError, match=r"pass engine=Postgres"):
        privet.Session({"visits": visits}, budget=privet.Pure(epsilon=1))


# --- failures -----------------------------------------------------------------------------------------------------


class Watched:
    """An engine that calls something before each scan, after its check and the charge."""

    def __init__(self, engine: Any, before: Any) -> None:
        self.engine, self.before = engine, before

    def check(self, scan: Any) -> None:
        self.engine.check(scan)

    def scan(self, scan: Any) -> Any:
        self.before()
        return self.engine.scan(scan)

    def snapshot(self) -> Any:
        return self.engine.snapshot()

    def close(self) -> None:
        self.engine.close()


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_server_that_dies_while_it_scans_leaves_one_constant_message_and_the_charge():
    server = PostgresServer()
    try:
        world = PostgresWorld(server)
        table = world.load("visits", Table(ROWS, **KEPT))
        killer = threading.Thread(target=_kill_when_scanning, args=(server, world))

        def lock() -> None:
            if server.running and not killer.is_alive() and killer.ident is None:
                world.owner.execute(f'BEGIN; LOCK TABLE "{table.source.name}" IN ACCESS EXCLUSIVE MODE')
                killer.start()

        engine = Watched(privet.Postgres(world.url).over({"visits": table}), lock)
        with privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000), engine=engine) as session:
            with pytest.raises(EngineError) as failed:
                session.ask(QUESTION, epsilon=10)
            killer.join()
            assert str(failed.value) == str(EngineError())
            assert failed.value.__context__ is failed.value.__cause__ is None
            assert session.remaining().largest_epsilon == pytest.approx(990)
            with pytest.raises(PrivetError):
                session.ask(QUESTION, epsilon=20)
            assert session.remaining().largest_epsilon == pytest.approx(990)  # found out before the charge
            world.owner.close()
            server.start()
            assert session.ask(QUESTION, epsilon=500)["n"].values[0] == pytest.approx(200, abs=5)
        engine.close()
    finally:
        server.remove()


def _kill_when_scanning(server: PostgresServer, world: PostgresWorld) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'reader'"
    for _ in range(600):
        if world.owner.execute(waiting).fetchone()[0]:
            break
        time.sleep(0.05)
    server.kill()


def test_a_scan_that_takes_too_long_says_nothing_of_its_rows(world, visits):
    with session_of(world, visits, timeout=3) as session:
        world.owner.execute(f'BEGIN; LOCK TABLE "{visits.source.name}" IN ACCESS EXCLUSIVE MODE')
        try:
            with pytest.raises(EngineError) as failed:
                session.ask(QUESTION, epsilon=10)
        finally:
            world.owner.execute("ROLLBACK")
        assert str(failed.value) == str(EngineError())
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=400).value == pytest.approx(400, abs=6)


class Growing:
    """An engine whose table grows after each scan: what later passes read is not what the first one read."""

    def __init__(self, engine: Any, grow: Any) -> None:
        self.engine, self.grow, self.counts = engine, grow, []

    def check(self, scan: Any) -> None:
        self.engine.check(scan)

    def scan(self, scan: Any) -> Any:
        found = self.engine.scan(scan)
        self.counts.append(found)
        self.grow()
        return found

    def snapshot(self) -> Any:
        return self.engine.snapshot()

    def close(self) -> None:
        self.engine.close()


def test_all_passes_of_a_plan_read_one_snapshot_of_a_table_that_grows(world):
    facts: Any = {"unit": Rows(), "columns": {"pay": privet.number(0, 100, step=1)}}
    table = world.load("growing", Table([{"pay": 1.0}] * 10, **facts))
    grow = f'INSERT INTO "{table.source.name}" SELECT 99 FROM generate_series(1, 1000)'
    engine = Growing(privet.Postgres(world.url).over({"t": table}), lambda: world.run(grow))
    # a median and a sum are read by two passes
    question = "SELECT MEDIAN(pay) AS m, SUM(pay) AS s, COUNT(*) AS n FROM t"
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=10**5), engine=engine) as session:
        plan = session.plan(question, epsilon=3000)
        assert len(plan.passes) > 1
        (row,) = session.ask(question, epsilon=3000)
        assert len(engine.counts) > 1
        assert row["m"] == pytest.approx(1, abs=1)
        assert row["s"] == pytest.approx(10, abs=2)
        assert row["n"] == pytest.approx(10, abs=2)
        later = session.ask("SELECT COUNT(*) AS n FROM t", epsilon=3000)
        assert later.value == pytest.approx(10 + 1000 * (len(engine.counts) - 1), abs=2)
    engine.close()


def test_transactions_read_only_and_change_no_setting_for_good(world, visits):
    engine = privet.Postgres(world.url).over({"visits": visits})
    with engine.snapshot():
        settings = [
            engine.catalog(f"SELECT current_setting('{name}')", [])[0][0]
            for name in ("transaction_read_only", "transaction_isolation", "search_path", "TimeZone", "row_security")
        ]
        assert settings == ["on", "repeatable read", "pg_catalog, pg_temp", "UTC", "off"]
        with pytest.raises(EngineError):
            engine.catalog(f"INSERT INTO public.\"{visits.source.name}\" VALUES (1, 'Ulm', 1)", [])
        with pytest.raises(EngineError):  # what comes after a failure would be another snapshot
            engine.catalog("SELECT 1", [])
    assert engine.catalog("SELECT 1", []) == [(1,)]
    engine.close()
    with pytest.raises(EngineError):
        engine.catalog("SELECT 1", [])


def test_a_forked_child_connects_anew(world, visits):
    with session_of(world, visits) as session:
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=400).value == pytest.approx(400, abs=6)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                value = session.ask(QUESTION, epsilon=300)["n"].values[0]
                code = 0 if abs(value - 200) < 6 else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert session.ask("SELECT SUM(pay) AS s FROM visits", epsilon=100)["s"].values[0] > 0


def test_what_the_memory_engine_sums_is_what_the_server_sums_of_linked_and_public_tables(world):
    people = Table(
        [{"who": n, "city": ("Ulm", "Bonn")[n % 2]} for n in range(20)],
        unit=Person("who"),
        columns={"who": privet.integer(), "city": privet.category(["Ulm", "Bonn"])},
        contribution=privet.Contribution(groups=1, rows=1),
        key="who",
    )
    stays = Table(
        [{"patient": n % 20, "cost": float(n % 7)} for n in range(90)],
        unit=privet.Link("patient", "people", "who"),
        columns={"patient": privet.integer(), "cost": privet.number(0, 10, step=1)},
        contribution=privet.Contribution(groups=1, rows=9),
    )
    regions = privet.PublicTable(
        [{"name": "Ulm", "state": "BW"}, {"name": "Bonn", "state": "NW"}],
        columns={"name": privet.text(), "state": privet.category(["BW", "NW"])},
        key="name",
    )
    tables = {"people": people, "stays": stays, "regions": regions}
    question = (
        "SELECT r.state, SUM(s.cost) AS cost, COUNT(*) AS n FROM stays s JOIN people p ON s.patient = p.who "
        "JOIN regions r ON p.city = r.name GROUP BY r.state"
    )
    found = []
    for engine in (Memory(tables), world.engine(tables)):
        with privet.Session(tables, budget=privet.Pure(epsilon=10**6), engine=engine) as session:
            plan = session.plan(question, epsilon=1000)
            found.append([engine.scan(one.scan)._groups for one in plan.passes])
            session.ask(question, epsilon=1000)
        engine.close()
    assert found[0] == found[1]
