"""Spark behind a live Connect server: the same integers, time limits, failures without private text, and its death."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from connect_server import ConnectServer
from test_spark_sources import COUNT, LISTED, MILLION, found, people, scan_of, scans, write

import privet
from privet.core.errors import EngineError, RequestError
from privet.core.scan import Norm, Scan
from privet.engines.duckdb.engine import DuckDB
from privet.engines.spark import Spark, SparkTable

SECRET = "Ada Lovelace, diagnosis E11"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    made = ConnectServer(tmp_path_factory.mktemp("server"))
    yield made
    made.kill()


def view(remote: str, name: str, sql: str) -> SparkTable:
    """Return a table that all sessions of a server see."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(remote).create()
    try:
        session.sql(f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW {name} AS {sql}").collect()
    finally:
        session.stop()
    return SparkTable(f"global_temp.{name}")


ENDLESS = """
    SELECT id % 9 AS who, 'city 1' AS city, CAST(id % 9 AS INT) AS age, 1D AS pay
    FROM range(0, 100000000000, 1, 100000)
"""
"""Many parts, each of which ends soon: a task that is told to stop may go on to its end."""


def test_every_kind_of_scan_gives_the_integers_of_duckdb_over_the_network(
    server: ConnectServer, tmp_path: Path
) -> None:
    table = people(str(write(tmp_path / "rows.parquet", 3000, MILLION)))
    with DuckDB({"t": table}) as duck, Spark(remote=server.remote).over({"t": table}) as cluster:
        for name, scan in scans(table).items():
            assert found(cluster, scan) == found(duck, scan), name


def test_a_session_of_a_server_that_exists_is_used_and_left_open(server: ConnectServer, tmp_path: Path) -> None:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(server.remote).create()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    table = people(session.read.parquet(str(write(tmp_path / "rows.parquet", 500, MILLION))))
    with Spark(session=session).over({"t": table}) as cluster:
        ((count,),) = found(cluster, Scan("t", table.schema, None, (), (COUNT,), Norm(1, 9, 0))).values()
        assert 0 < count <= 500
    assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    session.stop()


def test_a_scan_that_takes_too_long_is_interrupted_there_and_the_next_one_runs(
    server: ConnectServer, tmp_path: Path
) -> None:
    endless = people(view(server.remote, "endless", ENDLESS))
    few = people(str(write(tmp_path / "rows.parquet", 10, MILLION)))
    with Spark(remote=server.remote, timeout=5).over({"t": endless, "few": few}) as cluster:
        started = time.monotonic()
        with pytest.raises(EngineError):
            cluster.scan(Scan("t", endless.schema, None, (), (COUNT,), Norm(1, 2, 0)))
        assert time.monotonic() - started < 60
        assert found(cluster, Scan("few", few.schema, None, (), (COUNT,), Norm(1, 2, 0)))


def test_no_private_text_comes_from_a_server(server: ConnectServer, capfd: pytest.CaptureFixture[str]) -> None:
    sql = f"SELECT 1L AS who, CAST(raise_error('{SECRET}') AS STRING) AS city, 1 AS age, 1D AS pay"
    table = people(view(server.remote, "raising", sql))
    with Spark(remote=server.remote).over({"t": table}) as cluster, pytest.raises(EngineError) as failed:
        cluster.scan(scan_of(table, (LISTED,), (COUNT,), Norm(1, 2, 20)))
    told = capfd.readouterr()
    assert SECRET not in f"{failed.value}{told.out}{told.err}"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


def test_a_missing_table_or_catalogue_of_a_server_is_a_clear_error(server: ConnectServer) -> None:
    for name in ("absent", "absent.clinic.visits", "spark_catalog.absent.visits"):
        with pytest.raises(RequestError, match="no such table, catalogue, schema or version"):
            Spark(remote=server.remote).over({"t": people(SparkTable(name))})


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(RequestError, match=f"no Spark Connect server can be reached at '127.0.0.1', port {free}"):
        Spark(remote=f"sc://127.0.0.1:{free}/;token=s3cret").over({"t": people("t.parquet")})
    assert time.monotonic() - started < 30


@contextlib.contextmanager
def another_server(answer: bytes) -> Iterator[int]:
    """Listen on a port, and answer whatever comes with the same bytes, or with nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        over, open_ones = threading.Event(), list[socket.socket]()

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    taken, _ = listener.accept()
                    open_ones.append(taken)
                    if answer:
                        taken.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            over.set()
            thread.join()
            for one in open_ones:
                one.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "another"])
def test_what_listens_and_is_no_spark_is_refused_in_time(answer: bytes) -> None:
    started = time.monotonic()
    with another_server(answer) as port, pytest.raises(RequestError, match="Spark"):
        Spark(remote=f"sc://127.0.0.1:{port}").over({"t": people("t.parquet")})
    assert time.monotonic() - started < 60


def test_a_cluster_that_dies_in_the_middle_of_a_scan_costs_one_charge_and_tells_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    doomed = ConnectServer(tmp_path)
    sql = f"SELECT who, '{SECRET}' AS city, age, pay FROM ({ENDLESS})"
    tables = {"t": people(view(doomed.remote, "endless", sql))}
    engine = Spark(remote=doomed.remote, timeout=200)
    killer = threading.Timer(6, doomed.kill)
    with privet.Session(tables, budget=privet.Pure(epsilon=1), engine=engine) as session:
        killer.start()
        started = time.monotonic()
        with pytest.raises(EngineError) as failed:
            session.ask("SELECT COUNT(*) FROM t", epsilon=Fraction(1, 4))
        assert 2 < time.monotonic() - started < 100, "it did not die in the middle of a scan"
        assert session.remaining().largest_epsilon == Fraction(3, 4)
        with pytest.raises(RequestError, match="no longer answers"):
            session.ask("SELECT COUNT(*) FROM t WHERE age < 3", epsilon=Fraction(1, 4))
        assert session.remaining().largest_epsilon == Fraction(3, 4)
    told = capfd.readouterr()
    assert SECRET not in f"{failed.value}{told.out}{told.err}"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


HERE = """
import threading, time
from fractions import Fraction
import privet
from privet.engines.spark import Spark
from pyspark import SparkContext
from pyspark.sql import SparkSession
import sys
sys.path.insert(0, {folder!r})
from test_spark_connect import ENDLESS, SECRET, people

spark = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF").getOrCreate()
frame = spark.sql(f"SELECT who, '{{SECRET}}' AS city, age, pay FROM ({{ENDLESS}})")
machine = SparkContext._gateway.proc.pid
with privet.Session({{"t": people(frame)}}, budget=privet.Pure(epsilon=1), engine=Spark(session=spark)) as session:
    def kill():
        time.sleep(4)
        import os, signal
        os.kill(machine, signal.SIGKILL)
    threading.Thread(target=kill, daemon=True).start()
    try:
        session.ask("SELECT COUNT(*) FROM t", epsilon=Fraction(1, 4))
    except privet.PrivetError as error:
        print("failed:", type(error).__name__, error)
    print("left:", session.remaining().largest_epsilon)
    try:
        session.ask("SELECT COUNT(*) FROM t WHERE age < 3", epsilon=Fraction(1, 4))
    except privet.PrivetError as error:
        print("then:", type(error).__name__, error)
    print("left:", session.remaining().largest_epsilon)
"""


def test_a_spark_here_that_dies_in_the_middle_of_a_scan_is_as_clear(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HERE.format(folder=str(Path(__file__).parent))],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stderr
    assert lines[0].startswith("failed: EngineError")
    assert lines[1] == "left: 0.75"
    assert lines[2].startswith("then: RequestError Spark no longer answers")
    assert lines[3] == "left: 0.75"
    assert SECRET not in done.stdout + done.stderr
