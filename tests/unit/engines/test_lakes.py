"""Which delete files of an Iceberg table are read, and which are refused before anything is charged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

import privet
from privet.core.errors import RequestError
from privet.engines.duckdb.engine import DuckDB
from privet.engines.duckdb.sources import _verify_deletes, verify_plain_files


def scan_with(*formats: str) -> Any:
    """Return a scan of two files, of which the second has delete files in these formats."""
    deletes = [SimpleNamespace(file_format=SimpleNamespace(value=one)) for one in formats]
    tasks = [SimpleNamespace(delete_files=[]), SimpleNamespace(delete_files=deletes)]
    return SimpleNamespace(plan_files=lambda: tasks)


def test_positions_in_parquet_are_read() -> None:
    _verify_deletes("t", scan_with())
    _verify_deletes("t", scan_with("PARQUET", "PARQUET"))


@pytest.mark.parametrize("form", ["AVRO", "ORC", "PUFFIN", "NEW"])
def test_other_formats_are_refused(form: str) -> None:
    with pytest.raises(RequestError, match="'t' keeps deletions in a form that is not read here"):
        _verify_deletes("t", scan_with("PARQUET", form))


def test_what_the_reader_does_not_plan_is_refused_without_its_words() -> None:
    def planned() -> Iterator[Any]:
        raise ValueError("deletes by value in /lake/Ada Lovelace.parquet")

    with pytest.raises(RequestError, match="keeps deletions") as refused:
        _verify_deletes("t", SimpleNamespace(plan_files=planned))
    assert "Ada" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    ("kept", "kind"), [("_delta_log/0.json", "a Delta table"), ("metadata/00001-a.metadata.json", "an Iceberg table")]
)
def test_files_of_a_lake_are_not_read_one_by_one(tmp_path: Path, kept: str, kind: str) -> None:
    """A list of its files would bring back rows that were deleted from the table."""
    file = tmp_path / "visits" / "data" / "city=Ulm" / "part-0.parquet"
    file.parent.mkdir(parents=True)
    duckdb.execute(f"COPY (SELECT 1 AS who) TO '{file}' (FORMAT parquet)")
    table = privet.Table(
        str(tmp_path / "visits" / "**" / "*.parquet"), unit=privet.Rows(), columns={"who": privet.integer()}
    )
    DuckDB({"t": table}).close()
    (tmp_path / "visits" / kept).parent.mkdir()
    (tmp_path / "visits" / kept).write_text("{}")
    with pytest.raises(RequestError, match=f"'t': its files belong to {kind}"):
        DuckDB({"t": table})
    with pytest.raises(RequestError, match=kind):
        verify_plain_files("t", [str(tmp_path / "visits")])
