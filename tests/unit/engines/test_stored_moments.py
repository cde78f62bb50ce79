"""One stored point in time that does not fit makes no question fail: it is NULL, wherever the table comes from."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import privet
from privet.core.schema import Contribution, Table, date, integer, text, timestamp
from privet.core.unit import Person, Rows, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.duckdb.sources import DatabaseTable
from privet.engines.inspection import inspect
from privet.engines.scan_sql.row_values import clamped
from privet.session import Session

EPOCH = datetime.datetime(1970, 1, 1)
STEPS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
FAR = (2**63 - 1, 2**63 - 2, -(2**63) + 1, -(2**63) + 2, 2**62, -(2**62), 2**55, -(2**55), 9_224_318_015_999_999)
"""Stored numbers that stand for no point in time that fits, in some unit or in all; the last is the year 294247."""

GOOD = (0, 86_400, -1, 1_700_000_000)
"""Seconds since 1970 that fit."""


def stored(unit: str, zone: str | None, far: bool = True) -> tuple[pa.Table, list[datetime.datetime | None]]:
    """Return rows with points in time, and those that can be read, as they are to be read."""
    step = STEPS[unit]
    numbers = [second * step for second in GOOD] + [number for number in FAR if far]
    values = pa.array([*numbers, None], pa.int64()).cast(pa.timestamp(unit, zone))
    rows = {"who": pa.array(range(len(values)), pa.int64()), "at": values}
    return pa.table(rows), [EPOCH + datetime.timedelta(seconds=second) for second in GOOD]


def read(source: object, kind: Any) -> list[Any]:
    columns = {"who": integer(), "at": kind}
    with DuckDB(
        {"t": Table(source, unit=Person("who"), columns=columns, contribution=Contribution(groups=1, rows=1))}
    ) as engine:
        engine._fetch("SELECT count(*), count(c1), min(c1), max(c1) FROM table0 WHERE c1 > TIMESTAMP '1990-01-01'")
        rows = engine._fetch("SELECT c1 FROM table0 WHERE c0 < 4 ORDER BY c0")
        # as scans read it: what is no date of a calendar is NULL
        read = f"SELECT {clamped('c1', kind, DUCKDB)} AS c FROM table0"
        held = f"SELECT strftime(c, '%Y'), date_trunc('month', c) FROM ({read})"
        assert len(engine._fetch(held)) == engine._fetch("SELECT count(*) FROM table0")[0][0]
    return [value for (value,) in rows]


def parquet(table: pa.Table, place: Path, **options: Any) -> str:
    path = place / "rows.parquet"
    pq.write_table(table, path, **options)
    return str(path)


def written(table: pa.Table, place: Path) -> ds.Dataset:
    return ds.dataset(parquet(table, place), format="parquet")


SOURCES: dict[str, Callable[[pa.Table, Path], object]] = {
    "arrow": lambda table, place: table,
    "batch": lambda table, place: table.to_batches()[0],
    "memory dataset": lambda table, place: ds.dataset(table),
    "dataset": written,
    "parquet": parquet,
    "two files": lambda table, place: [parquet(table, place)],
    "old parquet": lambda table, place: parquet(table, place, version="1.0", store_schema=False),
    "polars": lambda table, place: pl.from_arrow(table),
    "pandas": lambda table, place: pd.DataFrame({"who": table["who"].to_numpy(), "at": series(table["at"])}),
    "pandas of arrow": lambda table, place: table.to_pandas(types_mapper=pd.ArrowDtype),
    "relation": lambda table, place: duckdb.connect().from_arrow(table),
}


def series(column: pa.ChunkedArray) -> pd.Series:
    kind = column.type
    plain = pd.Series(column.cast(pa.int64()).fill_null(-(2**63)).to_numpy().view(f"datetime64[{kind.unit}]"))
    return plain if kind.tz is None else plain.dt.tz_localize("UTC").dt.tz_convert(kind.tz)


@pytest.mark.parametrize("kind", ["timestamp", "date"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("source", SOURCES)
def test_points_in_time_are_read_and_what_does_not_fit_fails_nothing(
    source: str, unit: str, zone: str | None, kind: str, tmp_path: Path
) -> None:
    # some makers of tables refuse what does not fit; then there is nothing to read
    held = unit in ("us", "ns") or source not in ("polars", "pandas of arrow", "relation") or zone is None
    table, moments = stored(unit, zone, far=held)
    try:
        made = SOURCES[source](table, tmp_path)
    except (pa.ArrowInvalid, duckdb.Error, OverflowError, ValueError):
        table, moments = stored(unit, zone, far=False)
        made = SOURCES[source](table, tmp_path)
    found = read(made, {"timestamp": timestamp(), "date": date()}[kind])
    assert found == (moments if kind == "timestamp" else [moment.date() for moment in moments])


@pytest.mark.parametrize("bounds", [(), (datetime.datetime(2020, 1, 1), datetime.datetime(2030, 1, 1))])
@pytest.mark.parametrize("source", ["arrow", "parquet", "pandas"])
@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_a_stored_never_expires_neither_fails_a_question_nor_freezes_the_account(
    unit: str, source: str, bounds: tuple[Any, ...], tmp_path: Path
) -> None:
    table, _ = stored(unit, "UTC")
    try:
        made = SOURCES[source](table, tmp_path)
    except pa.ArrowInvalid:  # Parquet has no seconds
        made = SOURCES[source](stored("ms", "UTC")[0], tmp_path)
    columns = {"who": integer(), "at": timestamp(*bounds, nullable=True)}
    budget = privet.Approximate(epsilon=100, delta=1e-6)
    for who in (Person("who"), Window("who", "at", 7)):
        with Session(
            {"t": Table(made, unit=who, columns=columns, contribution=Contribution(groups=1, rows=1))}, budget=budget
        ) as session:
            for sql in (
                "SELECT COUNT(*) FROM t",
                "SELECT COUNT(at) FROM t WHERE at > TIMESTAMP '2021-01-01'",
                "SELECT COUNT(*) FROM t WHERE YEAR(at) > 2020",
                "SELECT COUNT(*) FROM t WHERE DATE_TRUNC('month', at) = TIMESTAMP '2023-11-01'",
            ):
                session.ask(sql, epsilon=1)


@pytest.mark.parametrize("days", [2**31 - 1, -(2**31), 2**31 - 2, 10**7])
@pytest.mark.parametrize("kind", [date(), timestamp(), date(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))])
def test_a_date_that_is_too_far_off_fails_nothing(days: int, kind: Any, tmp_path: Path) -> None:
    for made in (
        pa.array([0, days], pa.int32()).cast(pa.date32()),
        pa.array([0, days * 86_400_000], pa.int64()).cast(pa.date64(), safe=False),
    ):
        table = pa.table({"who": pa.array([1, 2], pa.int64()), "at": made})
        for source in (table, parquet(table, tmp_path)):
            columns = {"who": integer(), "at": kind}
            budget = privet.Pure(epsilon=100)
            with Session({"t": Table(source, unit=Rows(), columns=columns)}, budget=budget) as session:
                session.ask("SELECT COUNT(at) FROM t WHERE at > DATE '1960-01-01'", epsilon=1)


def test_columns_of_a_file_with_milliseconds_are_found_by_name_in_any_case(tmp_path: Path) -> None:
    table, moments = stored("ms", None)
    path = parquet(table.rename_columns(["WHO", "At"]).append_column("other", table["who"]), tmp_path)
    assert read(path, timestamp()) == moments
    declared = {"who": integer(), "at": timestamp()}
    assert (
        inspect(
            "t", Table(path, unit=Person("who"), columns=declared, contribution=Contribution(groups=1, rows=1))
        ).problems
        == ()
    )
    assert (
        inspect(
            "t",
            Table(path, unit=Person("who"), columns={"who": integer()}, contribution=Contribution(groups=1, rows=1)),
        ).undeclared
        == 2
    )


def test_a_database_file_with_coarse_times_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(path) as connection:
        for unit, name in (("s", "TIMESTAMP_S"), ("ms", "TIMESTAMP_MS"), ("ns", "TIMESTAMP_NS")):
            table, _ = stored(unit, None)
            connection.register("held", table)
            connection.execute(f'CREATE TABLE t{unit} AS SELECT who, CAST("at" AS {name}) AS "at" FROM held')
    for unit in ("s", "ms", "ns"):
        assert read(DatabaseTable(path, f"t{unit}"), timestamp()) == stored(unit, None)[1]


def test_a_frame_is_not_changed_by_being_read() -> None:
    table, moments = stored("s", "UTC")
    frame = pd.DataFrame({"who": table["who"].to_numpy(), "at": series(table["at"])})
    before = frame.dtypes.to_dict()
    assert read(frame, timestamp()) == moments
    assert frame.dtypes.to_dict() == before
    assert np.array_equal(frame["at"].to_numpy("datetime64[s]"), series(table["at"]).to_numpy("datetime64[s]"), True)


def test_a_time_with_a_zone_is_still_text_to_nobody(tmp_path: Path) -> None:
    table, _ = stored("us", "UTC", far=False)
    with pytest.raises(privet.RequestError, match="another type"):
        read(table, text())
