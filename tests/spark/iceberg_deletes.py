"""Delete files of Iceberg tables, which PyIceberg reads and does not write: made here by its own manifest writers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.typedef import Record

_numbers = itertools.count(10**6)


class DeleteManifest(ManifestWriterV2):
    """A manifest of delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def data_files(table: Any) -> list[str]:
    """Return the files that hold the rows of a table."""
    return [task.file.file_path for task in table.scan().plan_files()]


def with_deletes(
    table: Any,
    rows: pa.Table,
    *,
    content: DataFileContent = DataFileContent.POSITION_DELETES,
    form: FileFormat = FileFormat.PARQUET,
    equal: list[int] | None = None,
) -> str:
    """Return the metadata file of a next snapshot of a table, with one delete file more, that holds some rows."""
    number, io = next(_numbers), PyArrowFileIO()
    folder = Path(table.location().removeprefix("file://"))
    written = folder / "data" / f"delete-{number}.{form.value.lower()}"
    parquet.write_table(rows, written)
    known = table.metadata
    sequence = known.last_sequence_number + 1
    before = table.current_snapshot()
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{written}",
        file_format=form,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=written.stat().st_size,
        equality_ids=equal,
        sort_order_id=None,
        spec_id=known.default_spec_id,
    )
    manifest = folder / "metadata" / f"deletes-{number}.avro"
    entry = ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=file)
    with DeleteManifest(known.spec(), known.schema(), io.new_output(f"file://{manifest}"), number, "null") as writer:
        writer.add_entry(entry)
    listed = f"file://{folder}/metadata/snap-{number}.avro"
    with write_manifest_list(2, io.new_output(listed), number, before.snapshot_id, sequence, "null") as several:
        several.add_manifests([*before.manifests(io), writer.to_manifest_file()])
    snapshot = Snapshot(
        snapshot_id=number,
        parent_snapshot_id=before.snapshot_id,
        sequence_number=sequence,
        manifest_list=listed,
        summary=Summary(Operation.DELETE),
        schema_id=known.current_schema_id,
    )
    changed = known.model_copy(
        update={
            "snapshots": [*known.snapshots, snapshot],
            "current_snapshot_id": number,
            "last_sequence_number": sequence,
            "refs": {},
        }
    )
    place = folder / "metadata" / f"{number}.metadata.json"
    ToOutputFile.table_metadata(changed, io.new_output(f"file://{place}"))
    return str(place)
