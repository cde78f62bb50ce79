"""Delta and Iceberg tables as sources of DuckDB: at a pinned version, without people who were deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from iceberg_deletes import DataFileContent, FileFormat, data_files, with_deletes
from pyarrow import parquet

import privet
from privet.core import schema
from privet.core.errors import RequestError
from privet.core.relation import ColumnRef
from privet.core.scan import GroupKey, Norm, Scan, Sum
from privet.core.schema import Contribution, Table
from privet.core.unit import Person
from privet.engines.duckdb.engine import DuckDB
from privet.engines.duckdb.sources import DeltaTable, IcebergTable
from privet.engines.inspection import inspect

COLUMNS = {"who": schema.integer(), "city": schema.category(["a", "b"])}


def people(source: Any) -> Table:
    return Table(source, unit=Person("who"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1))


def rows(first: int, last: int) -> pa.Table:
    return pa.table({"who": pa.array(range(first, last), pa.int64()), "city": ["a"] * (last - first)})


def counted(source: Any) -> int:
    table = people(source)
    with DuckDB({"t": table}) as engine:
        scan = Scan("t", table.schema, None, (), (Sum(None, 1, 1),), Norm(1, 5, 0))
        engine.check(scan)
        ((count,),) = engine.scan(scan)._groups.values()
        return count


@pytest.fixture
def delta(tmp_path: Path) -> str:
    path = str(tmp_path / "visits")
    deltalake.write_deltalake(path, rows(0, 100))
    deltalake.write_deltalake(path, rows(100, 150), mode="append")
    deltalake.DeltaTable(path).delete("who < 30")
    return path


def test_a_delta_table_is_read_at_its_version(delta: str) -> None:
    assert [counted(DeltaTable(delta, version=one)) for one in range(3)] == [100, 150, 120]
    assert counted(DeltaTable(delta)) == 120


def test_an_opened_delta_table_stays_at_its_version(delta: str) -> None:
    table = people(DeltaTable(delta))
    scan = Scan("t", table.schema, None, (), (Sum(None, 1, 1),), Norm(1, 5, 0))
    with DuckDB({"t": table}) as engine:
        assert engine.scan(scan)._groups == {(): (120,)}
        deltalake.write_deltalake(delta, rows(500, 600), mode="append")
        assert engine.scan(scan)._groups == {(): (120,)}


def test_a_delta_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "visits")
    deltalake.write_deltalake(path, rows(0, 10))
    opened = deltalake.DeltaTable(path)
    opened.alter.add_feature(deltalake.TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    with pytest.raises(RequestError, match="deletion vectors"):
        counted(DeltaTable(path))
    assert "deletion vectors" in str(inspect("t", people(DeltaTable(path))).problems)


def iceberg(tmp_path: Path, **properties: str) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    place = tmp_path / "lake"
    place.mkdir()
    catalog = SqlCatalog("here", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{place}")
    catalog.create_namespace("clinic")
    made = catalog.create_table("clinic.visits", schema=rows(0, 1).schema, properties=properties)
    made.append(rows(0, 100))
    return made


def test_an_iceberg_table_is_read_at_its_snapshot_without_who_was_deleted(tmp_path: Path) -> None:
    made = iceberg(tmp_path)
    first = made.current_snapshot().snapshot_id
    made.delete("who < 30")
    assert counted(IcebergTable(made.metadata_location.removeprefix("file://"))) == 70
    assert counted(IcebergTable(made.metadata_location.removeprefix("file://"), snapshot=first)) == 100


def positions(*places: tuple[str, int]) -> pa.Table:
    return pa.table({"file_path": [file for file, _ in places], "pos": pa.array([at for _, at in places], pa.int64())})


def test_position_deletes_of_an_iceberg_table_take_their_people_away(tmp_path: Path) -> None:
    made = iceberg(tmp_path, **{"write.parquet.row-group-limit": "16"})
    made.append(rows(100, 150))
    first = next(
        file for file in data_files(made) if parquet.read_metadata(file.removeprefix("file://")).num_rows == 100
    )
    assert parquet.read_metadata(first.removeprefix("file://")).num_row_groups > 5
    metadata = with_deletes(made, positions(*((first, place) for place in (0, 15, 16, 17, 50, 99))))
    before = made.current_snapshot().snapshot_id
    assert counted(IcebergTable(made.metadata_location.removeprefix("file://"))) == 150
    assert counted(IcebergTable(metadata)) == 144
    assert counted(IcebergTable(metadata, snapshot=before)) == 150
    assert left(IcebergTable(metadata)) == set(range(150)) - {0, 15, 16, 17, 50, 99}


def left(source: Any) -> set[int]:
    """Return whose rows are read: who is found by a question for each."""
    table = Table(source, unit=Person("who"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1))
    key = GroupKey(ColumnRef("who"), tuple(range(150)), False)
    with DuckDB({"t": table}) as engine:
        found = engine.scan(Scan("t", table.schema, None, (key,), (Sum(None, 1, 1),), Norm(1, 5, 0)))
        return {who for (who,), (count,) in found._groups.items() if count}


@pytest.mark.parametrize(
    ("content", "form", "equal"),
    [
        (DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, [1]),
        (DataFileContent.POSITION_DELETES, FileFormat.AVRO, None),
        (DataFileContent.POSITION_DELETES, FileFormat.ORC, None),
        (DataFileContent.POSITION_DELETES, FileFormat.PUFFIN, None),
    ],
    ids=["by value", "in Avro", "in ORC", "as vectors"],
)
def test_deletes_of_other_kinds_are_refused_when_the_table_is_opened(
    tmp_path: Path, content: DataFileContent, form: FileFormat, equal: list[int] | None
) -> None:
    made = iceberg(tmp_path)
    gone = rows(0, 30).select(["who"]) if equal else positions((data_files(made)[0], 3))
    source = IcebergTable(with_deletes(made, gone, content=content, form=form, equal=equal))
    with pytest.raises(RequestError, match="keeps deletions in a form"):
        DuckDB({"t": people(source)})
    assert "keeps deletions" in str(inspect("t", people(source)).problems)
    with pytest.raises(RequestError, match="keeps deletions"):
        privet.Session({"t": people(source)}, budget=privet.Pure(epsilon=1))


@pytest.mark.parametrize("source", [DeltaTable("absent"), IcebergTable("absent.json"), DeltaTable("absent", version=3)])
def test_a_lake_that_is_not_there_is_a_clear_error(source: Any) -> None:
    with pytest.raises(RequestError, match="table is at its path"):
        counted(source)


def test_a_version_that_is_not_there_is_a_clear_error(delta: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="not this version"):
        counted(DeltaTable(delta, version=99))
    other = tmp_path / "other"
    other.mkdir()
    place = iceberg(other)
    with pytest.raises(RequestError, match="not this snapshot"):
        counted(IcebergTable(place.metadata_location.removeprefix("file://"), snapshot=7))


def test_a_privet_toml_names_a_lake(delta: str, tmp_path: Path) -> None:
    path = tmp_path / "privet.toml"
    path.write_text(
        """
[budget]
epsilon = 20
delta = 1e-6

[tables.visits]
source = { delta = "visits", version = 1 }
unit = "who"
contribution = { groups = 1, rows = 1 }

[tables.visits.columns]
who = { kind = "integer" }
city = { values = ["a", "b"] }
""",
        encoding="utf-8",
    )
    with privet.open(path) as session:
        assert session.ask("SELECT COUNT(*) FROM visits", epsilon=10).value == pytest.approx(150, abs=10)
