"""`privet init`, `check`, `practice` and `demo` over tables in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import privet
from postgres_server import PostgresServer
from postgres_world import READER, PostgresWorld
from privet.cli import main
from privet.core.errors import RequestError, Unsupported


@pytest.fixture(scope="module")
def world(postgres: PostgresServer) -> Iterator[PostgresWorld]:
    made = PostgresWorld(postgres)
    made.run(
        "CREATE SCHEMA clinic",
        f"GRANT USAGE ON SCHEMA clinic TO {READER}",
        "CREATE TABLE clinic.visits (patient bigint, ward text, cost float8, note json)",
        "INSERT INTO clinic.visits SELECT i % 100, CASE WHEN i % 2 = 0 THEN 'A' ELSE 'B' END, i % 10, NULL "
        "FROM generate_series(1, 500) i",
        f"GRANT SELECT ON clinic.visits TO {READER}",
    )
    yield made
    made.close()


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(arguments), catch_exceptions=True)
    return done.exit_code, done.output


@pytest.fixture
def declared(world: PostgresWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    options = ["--unit", "patient", "--column", "ward=category:A,B", "--column", "cost=number:0:10"]
    options += ["--contribution", "groups=2,rows=5", "--budget", "epsilon=100,delta=1e-6", "--yes"]
    code, told = run("init", "--url", world.url, "clinic.visits", *options)
    assert code == 0, told
    return tmp_path / "privet.toml"


def test_init_writes_a_file_that_check_accepts_and_that_answers(declared):
    text = declared.read_text()
    assert 'kind = "postgres"' in text
    assert 'source = { table = "clinic.visits" }' in text
    code, told = run("check")
    assert code == 0, told
    with privet.open(declared) as session:
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=50).value == pytest.approx(500, abs=9)


def test_check_names_what_is_wrong_in_the_server(declared, world):
    world.run("ALTER TABLE clinic.visits ENABLE ROW LEVEL SECURITY", f"GRANT UPDATE ON clinic.visits TO {READER}")
    try:
        code, told = run("check")
    finally:
        world.run(
            "ALTER TABLE clinic.visits DISABLE ROW LEVEL SECURITY", f"REVOKE UPDATE ON clinic.visits FROM {READER}"
        )
    assert code != 0
    assert "row security" in told
    assert "may be written" in told


def test_practice_needs_no_server_and_refuses_what_postgres_lacks(declared):
    text = declared.read_text()
    declared.write_text(text.replace(text.split('url = "')[1].split('"')[0], "postgresql://nobody@127.0.0.1:1/nowhere"))
    with privet.practice(declared) as session:
        assert session.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
        with pytest.raises(Unsupported, match="PostgreSQL has no POWER"):
            session.ask("SELECT SUM(POWER(cost, 2)) AS s FROM visits", epsilon=1)
    with privet.open(declared) as session, pytest.raises(RequestError, match="cannot be connected to at nobody@127"):
        session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)


@pytest.mark.parametrize(
    ("engine", "problem"),
    [
        ('kind = "postgres"', "url"),
        ('kind = "postgres"\nurl = "postgresql://a:hunter2@db/x"', "without a password"),
        ('kind = "postgres"\nurl = "mysql://a:hunter2@db/x"', "an address such as"),
        ('kind = "postgres"\nurl = "postgresql://a@db/x"\nmemory_limit = "1GB"', "no setting"),
        ('url = "postgresql://a@db/x"', "no setting"),
        ('kind = "postgres"\nurl = "postgresql://a@db/x"\nwork_mem = "lots"', "a size such as"),
    ],
)
def test_an_engine_that_is_declared_wrongly_is_refused_without_its_password(declared, engine, problem):
    text = declared.read_text()
    before, _, after = text.partition("[engine]\n")
    declared.write_text(f"{before}[engine]\n{engine}\n\n{after.partition(chr(10) * 2)[2]}")
    with pytest.raises(RequestError) as refused:
        privet.open(declared)
    assert problem in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_init_refuses_a_password_and_a_table_that_is_not_there(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, told = run("init", "--url", "postgresql://a:hunter2@127.0.0.1/x", "t", "--yes")
    assert code
    assert "hunter2" not in told
    code, told = run("init", "--url", world.url, "clinic.nowhere", "--yes")
    assert code
    assert "there is no table" in told


def test_the_demo_runs_in_a_server_and_leaves_nothing_there(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, told = run("demo", "--engine", "postgres", "--url", postgres.url("postgres"), "--json")
    assert code == 0, told
    answered = [one for one in json.loads(told)["questions"] if one.get("error") is None]
    assert len(answered) >= 5
    import psycopg

    with psycopg.connect(postgres.url("postgres")) as connection:
        left = "SELECT count(*) FROM pg_database WHERE datname LIKE 'privet_demo%'"
        assert connection.execute(left).fetchone() == (0,)
    assert run("demo", "--engine", "postgres")[0] != 0
    assert run("demo", "--url", "postgresql://a@b/c")[0] != 0
