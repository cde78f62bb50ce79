"""Delta and Iceberg tables on this machine, at one version, as sources of DuckDB, read through Arrow.

A list of files would bring deleted people back: deletions may be kept beside the files that hold their rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.core import given
from privet.core.errors import RequestError, raise_alone
from privet.core.numbers import whole

_MOST_VERSION = 2**63 - 1


class PinnedRows:
    """Rows of one version of a table, read again for each scan and in batches, never held as a whole."""

    def __init__(self, read: Callable[[], Any], schema: Any) -> None:
        self._read, self._schema = read, schema

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._read().__arrow_c_stream__(schema)


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table in a folder, at one version: the latest when it is opened, if none is given.

    Args:
        path: the folder.
        version: the version that is read, also when the table changes.

    Example:
        >>> from privet.engines.duckdb.lakes import DeltaTable
        >>> DeltaTable("lake/visits", version=3).version
        3
    """

    path: str | os.PathLike[str]
    version: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", given.path(self.path, "path", "the folder of a Delta table"))
        if self.version is not None:
            object.__setattr__(self, "version", whole(self.version, "version", most=_MOST_VERSION))

    def rows(self, name: str) -> PinnedRows:
        """Return the rows of this version; refuse a table whose deletions the reader does not know."""
        package = given.optional_package("deltalake", "Delta tables need")
        try:
            opened = package.DeltaTable(os.fspath(self.path), version=self.version)
            features = set(opened.protocol().reader_features or ())
        except Exception:  # what the reader says may quote a value
            raise_alone(RequestError(f"table {name!r}: no Delta table is at its path, or not this version of it"))
        if "deletionVectors" in features:
            raise RequestError(
                f"table {name!r} keeps deletions beside its files (deletion vectors), and rows that were deleted would "
                f"come back; rewrite it without them (REORG TABLE ... APPLY (PURGE)), or read it with Spark"
            )
        return _pinned(name, lambda: _batches(opened.to_pyarrow_dataset()))


@dataclass(frozen=True)
class IcebergTable:
    """An Iceberg table by its metadata file, at one snapshot: the current one of that file, if none is given.

    Args:
        metadata: the path of a metadata file, such as `"lake/visits/metadata/00003-....metadata.json"`.
        snapshot: the snapshot that is read.

    Example:
        >>> from privet.engines.duckdb.lakes import IcebergTable
        >>> IcebergTable("lake/visits/metadata/v3.metadata.json").snapshot is None
        True
    """

    metadata: str | os.PathLike[str]
    snapshot: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", given.path(self.metadata, "metadata", "the path of a metadata file"))
        if self.snapshot is not None:
            object.__setattr__(self, "snapshot", whole(self.snapshot, "snapshot", most=_MOST_VERSION))

    def rows(self, name: str) -> PinnedRows:
        """Return the rows of this snapshot, without those that its delete files delete."""
        package = given.optional_package("pyiceberg", "Iceberg tables need")
        del package
        try:
            from pyiceberg.table import StaticTable

            opened = StaticTable.from_metadata(os.fspath(self.metadata))
            current = opened.current_snapshot()
            pinned = self.snapshot if self.snapshot is not None or current is None else current.snapshot_id
            if pinned is not None and opened.snapshot_by_id(pinned) is None:
                raise LookupError
        except Exception:  # what the reader says may quote a value
            raise_alone(RequestError(f"table {name!r}: no Iceberg table is at its path, or not this snapshot of it"))
        _verify_deletes(name, opened.scan(snapshot_id=pinned))
        return _pinned(name, lambda: opened.scan(snapshot_id=pinned).to_arrow_batch_reader())


def _verify_deletes(name: str, scan: Any) -> None:
    """Refuse a table unless all its delete files list positions, in Parquet: with these the reader is tested."""
    try:
        deletes = [one for task in scan.plan_files() for one in task.delete_files]  # raises for deletes by value
        known = all(one.file_format.value == "PARQUET" for one in deletes)
    except Exception:  # what the reader says may quote a path
        known = False
    if not known:
        raise_alone(
            RequestError(
                f"table {name!r} keeps deletions in a form that is not read here, and rows that were deleted would "
                f"come back; rewrite its files (CALL system.rewrite_data_files), or read it with Spark"
            )
        )


def verify_plain_files(name: str, paths: Iterable[str]) -> None:
    """Refuse files that belong to a Delta or Iceberg table: some of them hold rows that were deleted."""
    folders = {folder for path in paths for folder in (Path(path).absolute(), *Path(path).absolute().parents)}
    for folder in folders:
        delta = (folder / "_delta_log").is_dir()
        if delta or any((folder / "metadata").glob("*.metadata.json")):
            kind, way = ("a Delta", "DeltaTable") if delta else ("an Iceberg", "IcebergTable")
            raise RequestError(
                f"table {name!r}: its files belong to {kind} table, and rows that were deleted from it would come "
                f"back; read it as {way} of privet.engines.duckdb.lakes, or as a SparkTable, or copy its rows first"
            )


LakeTable = DeltaTable | IcebergTable
"""A table of a lake on this machine."""


def _batches(dataset: Any) -> Any:
    return dataset.scanner(batch_size=100_000).to_reader()


def _pinned(name: str, read: Callable[[], Any]) -> PinnedRows:
    try:
        return PinnedRows(read, read().schema)
    except Exception:  # what the reader says may quote a value
        raise_alone(
            RequestError(f"the source of table {name!r} cannot be read; perhaps its deletions are of an unknown kind")
        )
