"""Spark over real sources: a million rows, sources that change between reads, bad input, failures."""

from __future__ import annotations

import contextlib
import datetime
import re
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import privet
from privet.core import schema
from privet.core.errors import EngineError, RequestError
from privet.core.relation import ColumnRef
from privet.core.scan import Discovery, GroupKey, Largest, Near, Norm, Pairs, Products, Scan, Sizes, Sum, Truncate
from privet.core.schema import Contribution, Table
from privet.core.unit import Person
from privet.engines.dialects.spark import bound_list
from privet.engines.duckdb.engine import DuckDB
from privet.engines.spark import Spark, SparkTable

COLUMNS = {
    "who": schema.integer(nullable=True),
    "city": schema.text(nullable=True),
    "age": schema.integer(0, 120, nullable=True),
    "pay": schema.number(-50, 1000, step=Fraction(1, 100), nullable=True),
}
CITIES = tuple(f"city {index}" for index in range(30))
LISTED = GroupKey(ColumnRef("city"), CITIES, False)
FOUND = GroupKey(ColumnRef("city"), None, True)
AGE = GroupKey(ColumnRef("age"), tuple(range(121)), False)
COUNT, PAY = Sum(None, 1, 1), Sum(ColumnRef("pay"), -5000, 100000, step=Fraction(1, 100))
SQUARES = Sum(ColumnRef("pay"), -5000, 100000, step=Fraction(1, 100), power=2)
SHIFT = 20


def people(source: Any, **more: Any) -> Table:
    return Table(source, unit=Person("who"), columns=COLUMNS, contribution=Contribution(groups=3, rows=2), **more)


def scan_of(table: Table, keys: Any, sums: Any, bounding: Any, **more: Any) -> Scan:
    return Scan("t", table.schema, None, keys, sums, bounding, **more)


def scans(table: Table) -> dict[str, Scan]:
    """Return a scan of each kind, none of which drops anything by chance."""
    place = Sum(ColumnRef("age"), 0, 120)
    return {
        "norm 1": scan_of(table, (LISTED,), (COUNT, PAY), Norm(1, 6, SHIFT)),
        "norm 2": scan_of(table, (LISTED,), (COUNT, PAY, SQUARES), Norm(2, 36, SHIFT)),
        "found": scan_of(table, (FOUND,), (COUNT, PAY), Norm(2, 36, SHIFT), discovery=Discovery(10**5, 2, SHIFT)),
        "all": scan_of(table, (), (COUNT, PAY), Norm(1, 6, SHIFT)),
        "distinct": scan_of(table, (LISTED,), (COUNT,), Norm(2, 3, SHIFT), distinct=True),
        "largest": scan_of(table, (LISTED, AGE), (COUNT,), Largest(5, SHIFT)),
        "pairs": scan_of(table, (LISTED,), (COUNT,), Pairs(ColumnRef("age"), 10**6)),
        "truncated": scan_of(table, (LISTED,), (COUNT, PAY), Truncate(10**6, 10**6)),
        "sizes": scan_of(table, (LISTED,), (), Norm(2, 36, SHIFT), sizes=Sizes("norm", (0, 4, 36))),
        "products": scan_of(table, (), (COUNT, PAY), Norm(1, 6, 10), products=Products(((0, 0), (0, 1), (1, 1)))),
        "places": scan_of(table, (LISTED,), (), Norm(1, 6, 10), places=place),
        "near": scan_of(table, (), (), Norm(1, 6, 10), places=place, near=Near(Fraction(1, 2), 99, 99, 2)),
    }


def found(engine: Any, scan: Scan) -> Any:
    told = engine.scan(scan)
    if scan.places is not None:
        return {cell: (list(map(int, at)), list(map(int, n))) for cell, (at, n) in told._places.items()}
    return {cell: sums for cell, sums in told._groups.items() if any(sums)}


def write(path: Path, many: int, sql: str) -> Path:
    duckdb.execute(f"COPY (SELECT {sql} FROM range({many}) AS r(i)) TO '{path}' (FORMAT parquet)")
    return path


MILLION = """
    (hash(i) % 100000)::BIGINT AS who,
    CASE WHEN i % 97 = 0 THEN NULL ELSE 'city ' || (hash(i, 1) % 40) END AS city,
    (hash(i, 2) % 140)::INTEGER - 10 AS age,
    CASE WHEN i % 1000 = 0 THEN 'nan'::DOUBLE WHEN i % 1001 = 0 THEN 1e300
         WHEN i % 1003 = 0 THEN '-inf'::DOUBLE ELSE (hash(i, 3) % 100000) / 97.0 END AS pay
"""


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write(tmp_path_factory.mktemp("rows") / "million.parquet", 10**6, MILLION))


def test_a_million_rows_give_the_integers_of_duckdb(spark: Any, million: str) -> None:
    table = people(million)
    with DuckDB({"t": table}) as duck, Spark(session=spark).over({"t": table}) as cluster:
        for name, scan in scans(table).items():
            assert found(cluster, scan) == found(duck, scan), name


@pytest.mark.parametrize("name", list(scans(people("t.parquet"))))
def test_a_stored_table_is_a_single_leaf_of_the_plan(spark: Any, tmp_path: Path, name: str) -> None:
    table = people(str(write(tmp_path / "few.parquet", 50, MILLION)))
    with Spark(session=spark).over({"t": table}) as cluster:
        asked = cluster._written(scans(table)[name])
        bound = {one: bound_list(values) for one, values in asked.parameters.items()}
        frame = cluster._session.sql(asked.sql, args=bound or None)
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert len(re.findall(r"FileScan parquet", plan)) == 1, plan


GROWING = """
    SELECT CAST(1 AS BIGINT) AS who, 'city 1' AS city, CAST(5 AS INT) AS age, CAST(1 AS DOUBLE) AS pay
    FROM range(2000) WHERE id = 0 OR pmod(CAST(reflect('java.lang.System', 'nanoTime') AS BIGINT) DIV 30000000, 2) = 0
"""
"""One person, who has one row at some times and two thousand at others."""


def test_a_person_whose_rows_change_between_reads_counts_no_more_than_they_may(spark: Any) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW growing AS {GROWING}")
    sizes = {spark.sql("SELECT count(*) FROM growing").collect()[0][0] for _ in range(8)}
    assert len(sizes) > 1, "the source does not change"
    table = people(spark.table("growing"))
    with Spark(session=spark).over({"t": table}) as cluster:
        for _ in range(6):
            for keys in ((LISTED,), (FOUND,)):
                ((count,),) = found(cluster, scan_of(table, keys, (COUNT,), Norm(1, 2, SHIFT))).values()
                assert 0 < count <= 2 * 2**SHIFT
            ((_, weights),) = found(
                cluster, scan_of(table, (), (), Norm(1, 2, SHIFT), places=Sum(ColumnRef("age"), 0, 120))
            ).values()
            assert 0 < sum(weights) <= 2 * 2**SHIFT


def test_files_that_are_replaced_after_they_were_opened_break_no_bound(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = people(str(write(path, 10, "1::BIGINT AS who, 'city 1' AS city, 5 AS age, 1e0 AS pay")))
    with Spark(session=spark).over({"t": table}) as cluster:
        scan = scan_of(table, (LISTED,), (COUNT,), Norm(1, 2, SHIFT))
        assert sum(sum(sums) for sums in found(cluster, scan).values()) <= 2 * 2**SHIFT
        write(path, 50000, "1::BIGINT AS who, 'city ' || i % 30 AS city, 5 AS age, 1e0 AS pay")
        with contextlib.suppress(EngineError):  # Spark may notice, and stop
            assert sum(sum(sums) for sums in found(cluster, scan).values()) <= 2 * 2**SHIFT


def test_no_private_text_is_in_an_error_or_on_any_stream(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    secret = "Ada Lovelace, diagnosis E11"
    frame = spark.sql(
        f"SELECT CAST(1 AS BIGINT) AS who, CAST(raise_error('{secret}') AS STRING) AS city, 1 AS age, 1D AS pay"
    )
    table = people(frame)
    with Spark(session=spark).over({"t": table}) as cluster, pytest.raises(EngineError) as failed:
        cluster.scan(scan_of(table, (LISTED,), (COUNT,), Norm(1, 2, SHIFT)))
    told = capfd.readouterr()
    assert secret not in f"{failed.value}{told.out}{told.err}"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


def test_a_charge_stands_where_the_engine_fails(spark: Any) -> None:
    frame = spark.sql("SELECT CAST(1 AS BIGINT) AS who, CAST(raise_error('x') AS STRING) AS city, 1 AS age, 1D AS pay")
    with privet.Session({"t": people(frame)}, budget=privet.Pure(epsilon=1), engine=Spark(session=spark)) as session:
        before = session.remaining().largest_epsilon
        with pytest.raises(EngineError):
            session.ask("SELECT COUNT(*) FROM t WHERE city = 'a'", epsilon=Fraction(1, 2))
        assert session.remaining().largest_epsilon < before


def test_a_scan_that_takes_too_long_is_interrupted_and_the_next_one_runs(spark: Any) -> None:
    # many parts, each of which ends soon: a task that is told to stop may go on to its end
    endless = spark.range(0, 10**11, 1, 10**5)
    frame = endless.selectExpr("id % 9 AS who", "'city 1' AS city", "CAST(id % 9 AS INT) AS age", "1D AS pay")
    few = people(pa.table({"who": [1], "city": ["city 1"], "age": pa.array([1], pa.int32()), "pay": [1.0]}))
    table = people(frame)
    with Spark(session=spark, timeout=4).over({"t": table, "few": few}) as cluster:
        started = time.monotonic()
        with pytest.raises(EngineError):
            cluster.scan(Scan("t", table.schema, None, (), (COUNT,), Norm(1, 2, 0)))
        assert time.monotonic() - started < 120
        assert found(cluster, Scan("few", few.schema, None, (), (COUNT,), Norm(1, 2, 0))) == {(): (1,)}


def test_a_session_asks_spark_as_it_asks_duckdb(spark: Any, million: str) -> None:
    spark.read.parquet(million).createOrReplaceGlobalTempView("million")
    tables = {"visits": people(SparkTable("global_temp.million"), units=None)}
    asked = "SELECT age, COUNT(*) AS n, AVG(pay) AS pay FROM visits WHERE age < 3 GROUP BY age"
    with privet.Session(tables, budget=privet.Approximate(epsilon=100, delta=1e-6), engine=Spark(session=spark)) as one:
        mine = one.ask(asked, epsilon=50)
    with privet.Session({"visits": people(million)}, budget=privet.Approximate(epsilon=100, delta=1e-6)) as other:
        theirs = other.ask(asked, epsilon=50)
    for row, same in zip(mine, theirs, strict=True):
        assert row["n"] == pytest.approx(same["n"], abs=50)
        assert row["pay"] == pytest.approx(same["pay"], abs=5)


def test_settings_are_ours_and_the_caller_s_session_keeps_its_own(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        table = people(pa.table({"who": [1], "city": ["a"], "age": pa.array([1], pa.int32()), "pay": [1.0]}))
        with Spark(session=spark).over({"t": table}) as cluster:
            assert cluster._session.conf.get("spark.sql.ansi.enabled") == "true"
            assert cluster._session.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.ansi.enabled", "true")


def stored(**columns: Any) -> pa.Table:
    return pa.table({"who": [1], "city": ["a"], "age": pa.array([1], pa.int32()), "pay": [1.0], **columns})


def test_bad_sources_are_clear_errors(spark: Any, tmp_path: Path) -> None:
    engine = Spark(session=spark)
    lake = tmp_path / "lake"
    (lake / "_delta_log").mkdir(parents=True)
    write(lake / "part-0.parquet", 5, MILLION)
    cases: list[tuple[Any, str]] = [
        (SparkTable("absent"), "no such table"),
        (SparkTable("absent.clinic.visits"), "no such table, catalogue"),
        (str(tmp_path / "absent.parquet"), "no file"),
        (str(write(tmp_path / "a.csv", 1, "1 AS who")), "Parquet"),
        (str(lake), "belong to a Delta table"),
        (str(lake / "part-0.parquet"), "belong to a Delta table"),
        ([], "source"),
        (stored(age=[[1]]), "another type"),
        (stored().drop_columns(["city"]), "does not have"),
        (spark.sql("SELECT 1L AS who, 'a' COLLATE UNICODE_CI AS city, 1 AS age, 1D AS pay"), "collation"),
    ]
    for source, told in cases:
        with pytest.raises(RequestError, match=told):
            engine.over({"t": people(source)}).close()


def test_spark_reads_our_text_of_a_version_and_says_that_a_table_has_none(spark: Any) -> None:
    """Delta and Iceberg need jars that are not here: what is tried is Spark's own reading of the statement."""
    spark.sql("CREATE TABLE plain (who BIGINT, city STRING, age INT, pay DOUBLE) USING parquet")
    try:
        for version in (0, 12, 2**63 - 1):
            with pytest.raises(RequestError, match="keeps no versions"):
                Spark(session=spark).over({"t": people(SparkTable("spark_catalog.default.plain", version=version))})
        Spark(session=spark).over({"t": people(SparkTable("spark_catalog.default.plain"))}).close()
    finally:
        spark.sql("DROP TABLE plain")


def test_times_with_a_local_zone_are_refused_by_name(spark: Any) -> None:
    frame = spark.sql("SELECT 1L AS who, TIMESTAMP_LTZ'2024-01-01 00:00:00' AS at")
    table = Table(
        frame,
        unit=Person("who"),
        columns={"who": schema.integer(), "at": schema.timestamp()},
        contribution=Contribution(groups=1, rows=1),
    )
    with pytest.raises(RequestError, match="local time zone"):
        Spark(session=spark).over({"t": table})


def test_rows_by_jdbc_are_refused(spark: Any, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path / 'derby'};create=true"
    rows = spark.sql("SELECT 1L AS who, 'a' AS city, 1 AS age, 1D AS pay")
    options = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    try:
        rows.write.jdbc(url, "visits", properties=options)
        frame = spark.read.jdbc(url, "visits", properties=options)
    except Exception:
        pytest.skip("this Spark has no JDBC driver of its own")
    with pytest.raises(RequestError, match="JDBC"):
        Spark(session=spark).over({"t": people(frame)})


@pytest.mark.parametrize("version", ["3.5.9", "4.0.2", "4"])
def test_an_older_spark_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(type(spark), "version", property(lambda self: version))
    with pytest.raises(RequestError, match=rf"{re.escape(version)} is too old; version 4\.1"):
        Spark(session=spark).over({"t": people(stored())})


def test_texts_with_dollars_reach_no_setting_and_no_environment(spark: Any) -> None:
    held = "${env:HOME} ${spark.app.id}"
    table = Table(
        pa.table({"who": [1], "city": [held]}),
        unit=Person("who"),
        columns={"who": schema.integer(), "city": schema.category([held, "b"])},
        contribution=Contribution(groups=1, rows=1),
    )
    key = GroupKey(ColumnRef("city"), (held, "b"), False)
    with Spark(session=spark).over({"t": table}) as cluster:
        scan = Scan("t", table.schema, None, (key,), (COUNT,), Norm(1, 1, 0))
        assert found(cluster, scan) == {(held,): (1,)}


def test_chance_is_ours_and_fresh(spark: Any) -> None:
    rows = [{"who": 1, "city": f"city {index}", "age": index, "pay": 1.0} for index in range(40)]
    table = people(pa.Table.from_pylist(rows))
    scan = scan_of(table, (LISTED,), (COUNT,), Truncate(3, 1))
    with Spark(session=spark).over({"t": table}) as cluster:
        kept = [frozenset(found(cluster, scan)) for _ in range(6)]
    assert all(len(one) == 3 for one in kept)
    assert len(set(kept)) > 1


TOML = """
[engine]
kind = "spark"

[budget]
epsilon = 20
delta = 1e-6

[tables.visits]
source = "rows.parquet"
unit = "who"
contribution = { groups = 3, rows = 2 }

[tables.visits.columns]
who = { kind = "integer" }
city = { values = ["city 1", "city 2"] }
age = { kind = "integer", low = 0, high = 120 }
"""


def test_a_privet_toml_names_spark_and_is_opened_checked_and_practised(spark: Any, tmp_path: Path) -> None:
    from privet.config.checking import check_sources
    from privet.config.reading import read_config

    write(tmp_path / "rows.parquet", 2000, "i % 500 AS who, 'city ' || (1 + i % 2) AS city, i % 90 AS age")
    path = tmp_path / "privet.toml"
    path.write_text(TOML, encoding="utf-8")
    assert check_sources(read_config(path)).all_problems == ()
    with privet.open(path) as session:
        answer = session.ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", epsilon=10)
        assert [round(row["n"], -2) for row in answer] == [1000, 1000]
    with privet.practice(path) as session:
        assert session.ask("SELECT COUNT(*) FROM visits", epsilon=1).value is not None


def test_dates_and_times_are_read_as_they_are_stored(spark: Any) -> None:
    at = [
        datetime.datetime(2024, 1, 1, 23, 59, 59, 999999),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31),
    ]
    columns = {"who": schema.integer(), "at": schema.timestamp()}
    table = Table(
        pa.table({"who": [1, 2, 3], "at": pa.array(at, pa.timestamp("us"))}),
        unit=Person("who"),
        columns=columns,
        contribution=Contribution(groups=1, rows=1),
    )
    key = GroupKey(ColumnRef("at"), None, False)
    with Spark(session=spark).over({"t": table}) as cluster:
        scan = Scan("t", table.schema, None, (key,), (COUNT,), Norm(1, 1, 0), discovery=Discovery(9, 0, 0))
        assert sorted(cell[0] for cell in found(cluster, scan)) == sorted(at)


def test_parquet_statistics_and_partitions_are_never_keys(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"who": [1, 2], "city": ["a", None]}), path)
    columns = {"who": schema.integer(), "city": schema.category(["b"])}
    table = Table(str(path), unit=Person("who"), columns=columns, contribution=Contribution(groups=1, rows=1))
    with Spark(session=spark).over({"t": table}) as cluster:
        key = GroupKey(ColumnRef("city"), ("b",), False)
        assert found(cluster, Scan("t", table.schema, None, (key,), (COUNT,), Norm(1, 1, 0))) == {}
