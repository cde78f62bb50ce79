"""The PostgreSQL that tests run on: its own data, killed and started again."""

from __future__ import annotations

import psycopg


def test_what_was_committed_survives_a_kill(durable_postgres):
    server = durable_postgres
    server.execute("CREATE TABLE t AS SELECT 1 AS x", database="postgres")
    server.kill()
    assert not server.running
    server.start()
    with psycopg.connect(server.url("postgres")) as connection:
        assert connection.execute("SELECT x, current_setting('fsync') FROM t").fetchall() == [(1, "on")]


def test_databases_are_separate_and_go(postgres):
    with postgres.database() as name, psycopg.connect(postgres.url(name)) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == (name,)
    with psycopg.connect(postgres.url("postgres")) as connection:
        assert connection.execute("SELECT count(*) FROM pg_database WHERE datname = %s", [name]).fetchone() == (0,)
