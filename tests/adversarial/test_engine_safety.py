"""The engine reads what was declared and nothing else, says one constant thing when it fails, leaves nothing behind."""

from __future__ import annotations

import datetime
import os
import pathlib
import stat

import pytest

from privet.core import schema
from privet.core.errors import EngineError, RequestError, Unsupported
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import GroupKey, Norm, Once, Scan, SealedSums, Sum
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.duckdb.sources import DatabaseTable
from privet.engines.scan_sql.statement import statement

pa = pytest.importorskip("pyarrow")

COUNT = Sum(None, 1, 1)
COLUMNS = {"name": schema.text(), "age": schema.integer(0, 99)}


def table(source: object, **facts: object) -> schema.Table:
    return schema.Table(source, **{"unit": Rows(), "columns": COLUMNS, **facts})


def count(engine: DuckDB, of: schema.Table, *keys: GroupKey) -> dict:
    return engine.scan(Scan("t", of.schema, None, keys, (COUNT,), Once()))._groups


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "people.csv"
    path.write_text("name,age\nAda,36\nBob,n/a\nEve,200\n")
    return path


FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "COPY (SELECT 1) TO '{stolen}.csv'",
    "ATTACH '{stolen}.db'",
    "EXPORT DATABASE '{stolen}'",
    "INSTALL httpfs",
    "SET memory_limit = '900GB'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET allowed_paths",
    "SELECT * FROM rows",
    "PRAGMA enable_profiling",
    "SELECT * FROM read_parquet('https://example.org/x.parquet')",
]


@pytest.mark.parametrize("attack", FORBIDDEN)
def test_a_locked_engine_reads_and_writes_nothing_else(people, attack):
    stolen = people.with_name("stolen")
    rows = [{"name": "not declared"}]  # a Python variable must not be readable as a table
    assert rows
    with DuckDB({"t": table(str(people))}) as engine:
        with pytest.raises(EngineError):
            engine._fetch(attack.format(stolen=stolen))
        assert count(engine, table(str(people))) == {(): (3,)}
    assert list(people.parent.iterdir()) == [people]


def test_two_failures_say_the_same(people):
    with DuckDB({"t": table(str(people))}) as engine:
        messages = set()
        for broken in (
            "SELECT CAST(upper(c0) AS BIGINT) FROM table0",
            "SELECT error(c0) FROM table0",
            "SELECT nothing",
        ):
            with pytest.raises(EngineError) as caught:
                engine._fetch(broken)
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__
            messages.add(repr(caught.value.to_dict()))
        assert len(messages) == 1
        assert "Ada" not in messages.pop()


def test_a_scan_that_takes_too_long_is_stopped_and_the_engine_lives_on(people):
    with DuckDB({"t": table(str(people))}, timeout=0.2) as engine:
        with pytest.raises(EngineError):
            engine._fetch("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = 7")
        assert count(engine, table(str(people))) == {(): (3,)}


def test_a_scan_that_takes_too_much_memory_is_stopped(people):
    with DuckDB({"t": table(str(people))}, memory_limit="30MB") as engine, pytest.raises(EngineError):
        engine._fetch("SELECT list(a.range) FROM range(50000000) a")


def test_spill_files_are_private_and_removed(people):
    engine = DuckDB({"t": table(str(people))})
    directory = engine._spill
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    engine.close()
    assert not os.path.exists(directory)
    with pytest.raises(EngineError):
        count(engine, table(str(people)))


HOSTILE = [
    "'; DROP VIEW table0; --",
    '"',
    "a\x00b",
    "\\'",
    "$k0",
    "?",
    "%s",
    "{0}",
    "\u202e",
    "é" * 1000,
    "''",
    "*/ /*",
]


def test_constants_and_names_are_only_ever_data():
    rows = [{'it\'s "quoted"': text, "n": 1} for text in HOSTILE]
    columns = {'it\'s "quoted"': schema.category(HOSTILE), "n": schema.integer(0, 1)}
    many = [*HOSTILE, *(f"v{index}" for index in range(100))]
    facts = {"unit": Rows(), "columns": columns}
    asked = table(pa.Table.from_pylist(rows), **facts)
    name = ColumnRef('it\'s "quoted"')
    with DuckDB({"t": asked}) as engine:
        for values in (tuple(HOSTILE), tuple(many)):
            found = count(engine, asked, GroupKey(name, values, False))
            assert found == {(text,): (1,) for text in HOSTILE}
        for text in HOSTILE:
            where = Call("equal", (name, Literal(text)))
            scan = Scan("t", asked.schema, where, (), (COUNT,), Once())
            assert engine.scan(scan)._groups == {(): (1,)}
            assert "quoted" not in statement(scan, "table0", 1, DUCKDB).sql


def test_a_lone_surrogate_is_refused_before_the_engine(people):
    asked = table(str(people))
    with DuckDB({"t": asked}) as engine, pytest.raises(Unsupported):
        engine.scan(
            Scan("t", asked.schema, Call("equal", (ColumnRef("name"), Literal("\ud800"))), (), (COUNT,), Once())
        )


def test_csv_values_are_cast_to_what_is_declared_and_never_sniffed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('name,age\n1,36\n"x, y",oops\n,\n3,4.0\n')
    asked = table(str(path), columns={"name": schema.text(nullable=True), "age": schema.integer(0, 99, nullable=True)})
    with DuckDB({"t": asked}) as engine:
        names = count(engine, asked, GroupKey(ColumnRef("name"), None, True))
        assert names == {("1",): (1,), ("x, y",): (1,), (None,): (1,), ("3",): (1,)}
        ages = count(engine, asked, GroupKey(ColumnRef("age"), None, True))
        assert ages == {(36,): (1,), (4,): (1,), (None,): (2,)}


def test_globs_are_expanded_when_the_tables_are_opened(tmp_path):
    for index in range(2):
        (tmp_path / f"part{index}.csv").write_text(f"name,age\nA{index},1\n")
    asked = table(str(tmp_path / "part*.csv"))
    with DuckDB({"t": asked}) as engine:
        (tmp_path / "part9.csv").write_text("name,age\nlate,1\n")
        assert count(engine, asked) == {(): (2,)}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/nowhere/at-all.parquet", "no file"),
        (__file__, "must be of one kind that is read"),
        (object(), "must be a path"),
        ([{"name": "secret row"}], "must be a Parquet or CSV path"),
        (pa.table({"name": ["secret row"]}), "declares a column 'age'"),
        (pa.table({"name": ["secret row"], "age": [["list"]]}), "has another type"),
        (pa.table({"name": ["secret row"], "age": [datetime.date(2024, 1, 1)]}), "has another type"),
    ],
)
def test_a_source_that_does_not_fit_is_refused_in_declared_words(source, said):
    with pytest.raises(RequestError) as caught:
        DuckDB({"t": table(source)})
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_columns_that_differ_only_in_case_are_refused():
    with pytest.raises(RequestError, match="case"):
        DuckDB({"t": table(pa.table({"a": [1], "A": [2]}), columns={"a": schema.integer(), "A": schema.integer()})})


def test_database_tables_are_read_in_place(tmp_path):
    import duckdb

    path = tmp_path / "own.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE \"my people\" AS SELECT 'Ada' AS name, 36::UTINYINT AS age").fetchall()
    asked = table(DatabaseTable(path, "my people"))
    with DuckDB({"t": asked}) as engine:
        assert count(engine, asked, GroupKey(ColumnRef("age"), None, False)) == {(36,): (1,)}
        with pytest.raises(EngineError):
            engine._fetch('DROP TABLE database0.main."my people"')


def test_a_relation_of_another_connection_is_read_anew_for_each_scan_and_never_copied():
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people AS SELECT 'Ada' AS name, 36 AS age, 'x' AS undeclared")
        asked = table(connection.table("people"))
        with DuckDB({"t": asked}) as engine:
            assert count(engine, asked) == {(): (1,)}
            connection.execute("INSERT INTO people SELECT 'Bob', i, NULL FROM range(250000) t(i)")
            assert count(engine, asked) == {(): (250_001,)}
            connection.execute("DROP TABLE people")
            with pytest.raises(EngineError) as refused:
                count(engine, asked)
            assert "people" not in str(refused.value)
            assert refused.value.__cause__ is None


def test_frames_are_read_in_place_with_all_their_types():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    moments = ["2024-01-01 00:30", "2024-06-01 12:00", None]
    frame = pandas.DataFrame(
        {
            "city": pandas.Categorical(["Ulm", "Bonn", None]),
            "n": pandas.array([1, None, 300], dtype="Int64"),
            "x": [1.5, float("nan"), float("inf")],
            "ok": pandas.array([True, None, False], dtype="boolean"),
            "mixed": pandas.array(["7", 8, None], dtype=object),
            "at": pandas.to_datetime(moments).tz_localize("Europe/Berlin"),
            "late": pandas.to_datetime(moments),
        },
        index=pandas.Index([10, 20, 30], name="who"),
    )
    columns = {
        "who": schema.integer(),
        "city": schema.category(["Ulm", "Bonn"], nullable=True),
        "n": schema.integer(0, 100, nullable=True),
        "x": schema.number(0, 2, nullable=True),
        "ok": schema.boolean(nullable=True),
        "mixed": schema.integer(0, 9, nullable=True),
        "at": schema.timestamp(nullable=True),
        "late": schema.date(nullable=True),
    }
    expected = {
        "who": {10, 20, 30},
        "city": {"Ulm", "Bonn", None},
        "n": {1, None, 100},
        "x": {1.5, None, 2.0},
        "ok": {True, False, None},
        "mixed": {7, 8, None},
        "at": {datetime.datetime(2023, 12, 31, 23, 30), datetime.datetime(2024, 6, 1, 10), None},
        "late": {datetime.date(2024, 1, 1), datetime.date(2024, 6, 1), None},
    }
    arrow = pa.Table.from_pandas(frame.drop(columns="mixed")).append_column("mixed", pa.array(["7", "8", None]))
    for source in (frame, arrow, polars.from_arrow(arrow)):
        asked = table(source, columns=columns, unit=Person("who"), contribution=schema.Contribution(groups=1, rows=1))
        with DuckDB({"t": asked}) as engine:
            for name, values in expected.items():
                keys = (GroupKey(ColumnRef(name), None, True),)
                found = engine.scan(Scan("t", asked.schema, None, keys, (COUNT,), Norm(2, 1, 0)))._groups
                assert {key[0] for key in found} == values, name


def test_an_unnamed_index_is_no_column():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(RequestError, match="'index'"):
        DuckDB({"t": table(pandas.DataFrame({"age": [1]}), columns={"index": schema.integer()})})


def test_sums_that_may_not_fit_are_refused_before_the_engine():
    asked = table(pa.table({"name": ["a"], "age": [1]}), rows=2**50)
    with DuckDB({"t": asked}) as engine, pytest.raises(Unsupported, match="128 bits"):
        engine.scan(Scan("t", asked.schema, None, (), (Sum(ColumnRef("age"), 0, 2**63 - 1, power=2),), Once()))


def test_wide_sums_come_back_exactly():
    biggest = 2**63 - 1
    asked = table(
        pa.table({"name": ["a"] * 5, "age": [biggest] * 5}), columns={**COLUMNS, "age": schema.integer(0, biggest)}
    )
    with DuckDB({"t": asked}) as engine:
        scan = Scan("t", asked.schema, None, (), (Sum(ColumnRef("age"), 0, biggest),), Once())
        assert engine.scan(scan)._groups == {(): (5 * biggest,)}


def test_exact_sums_stay_sealed(people):
    with DuckDB({"t": table(str(people))}) as engine:
        found = engine.scan(Scan("t", table(str(people)).schema, None, (), (COUNT,), Once()))
    assert isinstance(found, SealedSums)
    assert repr(found) == "Exact(sealed)"
    with pytest.raises(TypeError):
        iter(found)


def test_whole_numbers_wider_than_ours_are_null_and_never_an_error(tmp_path):
    import duckdb

    path = tmp_path / "wide.duckdb"
    wide = "(VALUES (1), (170141183460469231731687303715884105727), (-170141183460469231731687303715884105727))"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE h AS SELECT v::HUGEINT AS age, 'x' AS name FROM {wide} t(v)")
        connection.execute(
            "CREATE TABLE u AS SELECT v::UBIGINT AS age, 'x' AS name FROM (VALUES (1), (2^64 - 2048)) t(v)"
        )
    for name, rows in (("h", 2), ("u", 1)):
        asked = table(DatabaseTable(path, name), columns={**COLUMNS, "age": schema.integer(0, 99, nullable=True)})
        with DuckDB({"t": asked}) as engine:
            assert count(engine, asked, GroupKey(ColumnRef("age"), None, True)) == {(1,): (1,), (None,): (rows,)}
            total = Scan("t", asked.schema, None, (), (Sum(ColumnRef("age"), 0, 99),), Once())
            assert engine.scan(total)._groups == {(): (1,)}
