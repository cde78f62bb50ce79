"""Where the rows of a table are, made readable under generated names and as one engine type per kind.

Only the custodian meets this module: it runs when tables are opened. Values are never sniffed: files without types
are read as text and cast, and what cannot be cast is NULL.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.core import given
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.numbers import whole
from privet.core.schema import Kind, Schema, Table
from privet.core.unit import person_column
from privet.engines.dialects.duckdb import TYPES
from privet.engines.scan_sql.dialect import identifier, quoted
from privet.engines.scan_sql.row_values import physical

if TYPE_CHECKING:
    import duckdb


# Points in time as they are stored, where an engine would convert them while it reads them.
#
# DuckDB reads times with a zone, of Arrow and pandas, and all times of Parquet files, as microseconds. One in seconds
# or milliseconds that is too far off, such as a "never expires" of the year 292278994, makes it fail, and with it
# every question about the table. Read as the integers that they are, without their zone, they are converted one by
# one later, and what does not fit is NULL.


_COARSE = ("s", "ms")
_BATCH = 100_000


class Scanned:
    """An Arrow dataset, scanned again for each question and read in batches, never kept as a whole."""

    def __init__(self, dataset: Any, columns: dict[str, Any]) -> None:
        self._dataset, self._columns = dataset, columns

    def __arrow_c_schema__(self) -> object:
        return self._scanner().projected_schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._scanner().to_reader().__arrow_c_stream__(schema)

    def _scanner(self) -> Any:
        return self._dataset.scanner(columns=self._columns, batch_size=_BATCH)


def stored_moments(paths: Sequence[str], schema: Schema) -> Any:
    """Return the columns of Parquet files, with points in time as they are stored; only those in use are read."""
    import pyarrow
    from pyarrow import dataset

    files = dataset.dataset(list(paths), format="parquet")
    plain = [
        field.with_type(pyarrow.timestamp(field.type.unit)) if _coarse(field.type) else field
        for field in _declared(files.schema, schema)
    ]
    return dataset.dataset(list(paths), format="parquet", schema=pyarrow.schema(plain))


def moments_as_stored(frame: Any, schema: Schema) -> Any:
    """Return a table or dataset of Arrow or pandas without the zones of its coarse points in time; all else as it is.

    A zone only states how a point in time is shown: the stored value is the number of seconds or milliseconds since
    1970 in UTC.
    """
    package, kind = type(frame).__module__.split(".")[0], type(frame).__name__
    if package == "pandas":
        return _pandas(frame, schema)
    if package != "pyarrow" or not any(_coarse(field.type) for field in _declared(frame.schema, schema)):
        return frame
    if kind.endswith("Dataset"):
        return _scanned(frame, schema)
    import pyarrow

    made = pyarrow.Table.from_batches([frame]) if kind == "RecordBatch" else frame
    for place, field in enumerate(made.schema):
        if _coarse(field.type):
            # both are the same 64 bits, so that nothing is copied, and nothing can fail
            plain = made.column(place).cast(pyarrow.int64()).cast(pyarrow.timestamp(field.type.unit))
            made = made.set_column(place, field.name, plain)
    return made


def _scanned(data: Any, schema: Schema) -> Scanned:
    import pyarrow
    from pyarrow import compute

    columns = {}
    for field in _declared(data.schema, schema):
        column = compute.field(field.name)
        if _coarse(field.type):
            column = column.cast(pyarrow.int64()).cast(pyarrow.timestamp(field.type.unit))
        columns[field.name] = column
    return Scanned(data, columns)


def _pandas(frame: Any, schema: Schema) -> Any:
    made = frame
    declared = {column.casefold() for column in schema.columns}
    for place, (name, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        zoned = getattr(kind, "tz", None) is not None and getattr(kind, "unit", None) in _COARSE
        arrow = getattr(kind, "pyarrow_dtype", None)
        if str(name).casefold() not in declared:
            continue
        if not (zoned or (arrow is not None and _coarse(arrow))):
            continue
        made = made.copy(deep=False) if made is frame else made
        column = made.iloc[:, place]
        made.isetitem(place, column.dt.tz_convert("UTC").dt.tz_localize(None))
    return made


def _declared(arrow: Any, schema: Schema) -> list[Any]:
    """Return the fields of an Arrow schema that are declared, each name once: the first of several counts."""
    declared = {column.casefold() for column in schema.columns}
    fields: dict[str, Any] = {}
    for field in arrow:
        if field.name.casefold() in declared:
            fields.setdefault(field.name, field)
    return list(fields.values())


def _coarse(kind: Any) -> bool:
    """Return whether an Arrow type is of points in time that have a zone and are not in microseconds or finer."""
    import pyarrow

    return bool(pyarrow.types.is_timestamp(kind)) and kind.tz is not None and kind.unit in _COARSE


# The sources.


_LONGEST_LINE = 2**25
"""The most bytes that a line of a CSV file may have; a longer one is left out."""

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SUPPORTED = (
    f"Parquet ({', '.join(_PARQUET)}) or CSV ({', '.join(_CSV)}), or a table of a DuckDB file; export others, such as "
    f"JSON or Excel, to one of these"
)
"""What a source can be, in words."""

_WHOLE = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
}
_DOUBLES = {"FLOAT", "DOUBLE"}
_REAL = {*_DOUBLES, "DECIMAL"}
_FINE = "TIMESTAMPTZ_NS"
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", _FINE}
_MOMENTS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"}
_TEXT = {"VARCHAR", "ENUM", "UUID"}


@dataclass(frozen=True)
class DatabaseTable:
    """A table in a DuckDB database file, opened for reading only.

    Args:
        path: the database file.
        table: the name of the table.
        schema: the schema that it is in.

    Example:
        >>> privet.DatabaseTable("hospital.duckdb", "visits").table
        'visits'
    """

    path: str | os.PathLike[str]
    table: str
    schema: str = "main"

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", given.path(self.path, "path", "the path of a DuckDB database"))
        for name in ("table", "schema"):
            object.__setattr__(self, name, given.plain_text(getattr(self, name), name, "a name", least=1, most=1000))


@dataclass(frozen=True)
class OpenedSource:
    """A source that the engine can read: what stands after FROM, the files it needs, and the object that is registered.

    An object is registered under the name of the relation, for one connection; others need to register it as well.
    """

    relation: str
    paths: tuple[str, ...] = ()
    frame: Any = None


def open_source(connection: duckdb.DuckDBPyConnection, name: str, table: Table, index: int) -> OpenedSource:
    """Return a relation over the table's source, registering an object where needed."""
    source = table.source
    if isinstance(source, DatabaseTable):
        return _attach(connection, source, index)
    if isinstance(source, (str, os.PathLike)):
        return _files(connection, name, [os.fspath(source)], table.schema, index)
    if isinstance(source, (list, tuple)) and source and all(isinstance(path, (str, os.PathLike)) for path in source):
        return _files(connection, name, [os.fspath(path) for path in source], table.schema, index)
    try:
        frame = moments_as_stored(_frame(name, source, table.schema), table.schema)
        connection.register(f"source{index}", frame)
    except RequestError:
        raise
    except Exception:  # the engine's message may quote a value
        raise_alone(_unreadable(name))
    return OpenedSource(f"source{index}", frame=frame)


def _files(
    connection: duckdb.DuckDBPyConnection, name: str, patterns: list[str], schema: Schema, index: int
) -> OpenedSource:
    """Return a relation over files; Parquet files with declared points in time in milliseconds are read by Arrow.

    The engine would convert these while it reads them, and one that does not fit would make every question fail.
    """
    opened = files_of(name, patterns)
    if not all(path.lower().endswith(_PARQUET) for path in opened.paths):
        return opened
    listed = "[" + ", ".join(quoted(path) for path in opened.paths) + "]"
    described = f"SELECT name FROM parquet_schema({listed}) WHERE converted_type = 'TIMESTAMP_MILLIS'"
    described += " OR logical_type LIKE '%MILLIS=Milli%'"
    try:
        coarse = {str(row[0]).casefold() for row in connection.execute(described).fetchall()}
        if not coarse & {column.casefold() for column in schema.columns}:
            return opened
        frame = stored_moments(opened.paths, schema)
        connection.register(f"source{index}", frame)
    except ImportError:
        raise_alone(
            RequestError(
                f"table {name!r} holds points in time in milliseconds, and reading these needs PyArrow: "
                f"{given.install_hint('pyarrow')}, or write the files with microseconds"
            )
        )
    except Exception:  # a message of the engine or the file may quote a value
        raise_alone(_unreadable(name))
    return OpenedSource(f"source{index}", opened.paths, frame)


def view_of(described: Iterable[tuple[str, str]], name: str, schema: Schema, *, collated: bool = False) -> str:
    """Return the columns of a view that reads each declared column under its generated name, as its kind's type.

    A declared column that the source does not have is refused; the message names declared columns only. Texts of a
    source whose columns may be `collated` are read without that, so that they are compared byte by byte.

    Guarantee: people who are told apart by what is stored, as their column is declared, are told apart by what is read:
    whole numbers are read as such, and what identifies the person, where it is declared a number, is stored as doubles.
    """
    by_name: dict[str, tuple[str, str]] = {}
    for column, kind in described:
        by_name.setdefault(column.casefold(), (column, kind))
    exact = {column: (column, kind) for column, kind in described}
    folded: set[str] = set()
    read = []
    for column, generated in physical(schema).items():
        if column.casefold() in folded:
            raise RequestError(f"table {name!r} declares two columns called {column!r}, apart from their case")
        folded.add(column.casefold())
        stored = exact.get(column) or by_name.get(column.casefold())
        if stored is None:
            raise RequestError(f"table {name!r} declares a column {column!r} that its source does not have")
        sql = _cast(identifier(stored[0]), stored[1], schema.columns[column].kind)
        if sql is None:
            kind = schema.columns[column].kind
            raise RequestError(
                f"column {column!r} of table {name!r} is declared {kind}, and its source has another type"
            )
        facts = schema.columns[column]
        if collated and facts.kind == "text":
            # GROUP BY would take texts for one that a hash or another program distinguishes
            sql = f'{sql} COLLATE "binary"'
        if column == person_column(schema.unit) and facts.kind == "number" and _plain(stored[1]) not in _DOUBLES:
            raise RequestError(
                f"column {column!r} of table {name!r} identifies the person and is declared number, and its source "
                f"has another type, of which large ones would become one person; declare it as integer() or text()"
            )
        read.append(f"{sql} AS {generated}")
    return ", ".join(read)


def kind_of(stored: str) -> Kind | None:
    """Return the natural kind of a stored type; None for types that are not read."""
    plain = _plain(stored)
    if "[" in stored:
        return None
    kinds: tuple[tuple[set[str], Kind], ...] = (
        (_WHOLE, "integer"),
        (_REAL, "number"),
        ({"BOOLEAN"}, "boolean"),
        (_TEXT, "text"),
        ({"DATE"}, "date"),
        (_MOMENTS | _ZONED, "timestamp"),
    )
    return next((kind for types, kind in kinds if plain in types), None)


def _plain(stored: str) -> str:
    """Return the name of a stored type without what stands in brackets."""
    return stored.split("(")[0].strip().upper()


def _cast(sql: str, stored: str, kind: Kind) -> str | None:
    """Return a stored column as the one type of its kind; None if no reading makes sense."""
    plain = _plain(stored)
    if plain == TYPES[kind]:
        return sql
    if "[" in stored:
        return None
    text = plain in _TEXT
    if text and kind != "text":
        # a bare cast may be moved into the reader of a file, which then raises where the cast would yield NULL
        sql = f"trim(CAST({sql} AS VARCHAR))"
    rules: dict[Kind, Callable[[], str | None]] = {
        "integer": lambda: _whole(sql, plain) if plain in _WHOLE | _REAL | {"BOOLEAN"} or text else None,
        "number": lambda: sql if plain in _WHOLE | _REAL or text else None,
        "boolean": lambda: sql if plain in _WHOLE or text else None,
        "text": lambda: sql if text or plain in _WHOLE | _MOMENTS | {"BOOLEAN"} else None,
        "date": lambda: _moment(sql, plain) if plain in _MOMENTS | _ZONED or text else None,
        "timestamp": lambda: _moment(sql, plain) if plain in _MOMENTS | _ZONED or text else None,
    }
    form = rules[kind]()
    return None if form is None else f"TRY_CAST({form} AS {TYPES[kind]})"


def _whole(sql: str, plain: str) -> str:
    # decimals are exact, and doubles are not: two whole numbers beyond 2**53 would become one
    return f"floor(TRY_CAST({sql} AS DOUBLE) + 0.5e0)" if plain in _DOUBLES else sql


def _moment(sql: str, plain: str) -> str:
    # a point in time with a zone is read in UTC; casts would ask for the session's zone
    if plain == _FINE:
        return f"CASE WHEN epoch_ns({sql}) IS NOT NULL THEN TRY_CAST({sql} AS TIMESTAMP_NS) END"
    return f"CASE WHEN isfinite({sql}) THEN make_timestamp(epoch_us({sql})) END" if plain in _ZONED else sql


def paths_at(pattern: str) -> list[str]:
    """Return the files at a path, or at the paths that a pattern with *, ? or [...] stands for, in order."""
    paths = [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern, recursive=True))
    return [os.path.abspath(path) for path in paths if os.path.isfile(path)]


def files_of(name: str, patterns: list[str]) -> OpenedSource:
    """Return a relation over Parquet or CSV files, the latter as text; refuse files of other kinds, or of both."""
    paths = [path for pattern in patterns for path in paths_at(pattern)]
    if not paths:
        if any("://" in pattern for pattern in patterns):
            raise RequestError(f"table {name!r}: its source is an address, and only files here are read: {SUPPORTED}")
        if any(os.path.isdir(pattern) for pattern in patterns):
            raise RequestError(f"table {name!r}: its source is a folder; name its files, as in 'data/*.parquet'")
        raise RequestError(f"table {name!r}: there is no file at the path that is declared for it")
    listed = "[" + ", ".join(quoted(path) for path in paths) + "]"
    lower = [path.lower() for path in paths]
    if all(path.endswith(_PARQUET) for path in lower):
        verify_plain_files(name, paths)
        return OpenedSource(f"read_parquet({listed}, hive_partitioning = false, union_by_name = false)", tuple(paths))
    if all(path.endswith(_CSV) for path in lower):
        separator = "\t" if all(".tsv" in path for path in lower) else ","
        columns = ", ".join(f"{quoted(column)}: 'VARCHAR'" for column in _header(name, paths, separator))
        options = (
            f"header = true, auto_detect = false, delim = {quoted(separator)}, quote = '\"', escape = '\"', "
            f"columns = {{{columns}}}, null_padding = true, strict_mode = false, "
            # what cannot be read is left out, line by line
            f"ignore_errors = true, max_line_size = {_LONGEST_LINE}, buffer_size = {2 * _LONGEST_LINE}"
        )
        return OpenedSource(f"read_csv({listed}, {options})", tuple(paths))
    raise RequestError(f"table {name!r}: its files must be of one kind that is read: {SUPPORTED}")


def _header(name: str, paths: list[str], separator: str) -> list[str]:
    """Return the names in the first line of CSV files, which must be the same in all of them."""
    import csv
    import zlib

    headers = []
    for path in paths:
        read: list[str] | None = None
        with contextlib.suppress(OSError, EOFError, UnicodeError, csv.Error, zlib.error), _open_text(path) as lines:
            first = next(csv.reader(lines, delimiter=separator), [])
            "".join(first).encode()  # names are text; rows need not be
            read = first
        if read is None:  # raised here and not where the file failed, or the error would carry what it quotes
            raise _unreadable(name)
        headers.append(read)
    if any(header != headers[0] for header in headers) or not headers[0]:
        raise RequestError(f"table {name!r}: its CSV files must all start with the same line of column names")
    if len({column.casefold() for column in headers[0]}) != len(headers[0]):
        raise RequestError(f"table {name!r}: its CSV files name a column twice")
    return headers[0]


def _open_text(path: str) -> Any:
    import gzip

    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return open(path, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _attach(connection: duckdb.DuckDBPyConnection, source: DatabaseTable, index: int) -> OpenedSource:
    path = os.path.abspath(os.fspath(source.path))
    if not os.path.isfile(path):
        raise BadParameter("path", source.path, "the path of a DuckDB database file")
    try:
        connection.execute(f"ATTACH {quoted(path)} AS database{index} (READ_ONLY)").fetchall()
    except Exception:  # the engine's message may quote the file
        raise_alone(RequestError(f"the database of table {source.table!r} cannot be opened for reading"))
    relation = f"database{index}.{identifier(source.schema)}.{identifier(source.table)}"
    return OpenedSource(relation, (path,))


class Streamed:
    """A DuckDB relation of another connection, run again for each scan and read in batches, never kept as a whole."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def __arrow_c_schema__(self) -> object:
        return self._relation.limit(0).to_arrow_table().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._relation.to_arrow_reader(_BATCH).__arrow_c_stream__(schema)


class Collected:
    """A Polars lazy frame, collected again for each scan; only declared columns are read."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        import polars

        declared = {column.casefold() for column in schema.columns}
        wanted = []
        for name, kind in frame.collect_schema().items():
            column = polars.col(name)
            if isinstance(kind, polars.Datetime) and kind.time_zone is not None and kind.time_unit in _COARSE:
                column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            wanted += [column] if name.casefold() in declared else []
        self._frame = frame.select(wanted)
        self._level = polars.CompatLevel.newest()

    def __arrow_c_schema__(self) -> object:
        return self._frame.head(0).collect().to_arrow(compat_level=self._level).schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._frame.collect().to_arrow(compat_level=self._level).__arrow_c_stream__(schema)


def _frame(name: str, source: object, schema: Schema) -> Any:
    """Return an object that the engine can read in place: an Arrow table or stream, or a pandas frame."""
    package = type(source).__module__.split(".")[0]
    kind = type(source).__name__
    frame: Any = source
    if isinstance(source, (DeltaTable, IcebergTable)):
        return source.rows(name)
    if kind == "SparkTable" or package == "pyspark":
        raise RequestError(f"table {name!r} is in Spark, and this session's engine is DuckDB; pass engine=Spark(...)")
    if kind == "PostgresTable":
        raise RequestError(
            f"table {name!r} is in PostgreSQL, and this session's engine is DuckDB: all tables of a session have one "
            f"engine; pass engine=Postgres(url), and name every table by PostgresTable"
        )
    if package == "pandas" and kind == "DataFrame":
        named = [level for level in frame.index.names if level is not None]
        return frame.reset_index() if named else frame  # the engine does not look at an index
    if package == "polars" and kind == "DataFrame":
        from polars import CompatLevel

        return frame.to_arrow(compat_level=CompatLevel.newest())  # the oldest level would copy every text
    if package == "polars" and kind == "LazyFrame":
        return Collected(frame, schema)
    if package == "pyarrow" and kind in {
        "Table",
        "RecordBatch",
        "FileSystemDataset",
        "InMemoryDataset",
        "UnionDataset",
    }:
        return frame
    if package in {"duckdb", "_duckdb"} and kind == "DuckDBPyRelation":
        declared = {column.casefold() for column in schema.columns}
        wanted = [identifier(column) for column in frame.columns if column.casefold() in declared]
        return Streamed(frame.project(", ".join(wanted)) if wanted else frame)
    raise BadParameter(
        f"source of table {name!r}",
        kind,
        "a Parquet or CSV path, a DatabaseTable, a DuckDB relation, or an Arrow, pandas or Polars table",
    )


def _unreadable(name: str) -> RequestError:
    return RequestError(f"the source of table {name!r} cannot be read")


# Delta and Iceberg tables on this machine, at one version, as sources of DuckDB, read through Arrow.
#
# A list of files would bring deleted people back: deletions may be kept beside the files that contain their rows.


_MOST_VERSION = 2**63 - 1


class PinnedRows:
    """Rows of one version of a table, read again for each scan and in batches, never kept as a whole."""

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
        >>> from privet.engines.duckdb.sources import DeltaTable
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
        except Exception:  # the reader's message may quote a value
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
        >>> from privet.engines.duckdb.sources import IcebergTable
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
        except Exception:  # the reader's message may quote a value
            raise_alone(RequestError(f"table {name!r}: no Iceberg table is at its path, or not this snapshot of it"))
        _verify_deletes(name, opened.scan(snapshot_id=pinned))
        return _pinned(name, lambda: opened.scan(snapshot_id=pinned).to_arrow_batch_reader())


def _verify_deletes(name: str, scan: Any) -> None:
    """Refuse a table unless all its delete files list positions, in Parquet: with these the reader is tested."""
    try:
        deletes = [file for task in scan.plan_files() for file in task.delete_files]  # raises for deletes by value
        known = all(file.file_format.value == "PARQUET" for file in deletes)
    except Exception:  # the reader's message may quote a path
        known = False
    if not known:
        raise_alone(
            RequestError(
                f"table {name!r} keeps deletions in a form that is not read here, and rows that were deleted would "
                f"come back; rewrite its files (CALL system.rewrite_data_files), or read it with Spark"
            )
        )


def verify_plain_files(name: str, paths: Iterable[str]) -> None:
    """Refuse files that belong to a Delta or Iceberg table: some of them contain rows that were deleted."""
    folders = {folder for path in paths for folder in (Path(path).absolute(), *Path(path).absolute().parents)}
    for folder in folders:
        delta = (folder / "_delta_log").is_dir()
        if delta or any((folder / "metadata").glob("*.metadata.json")):
            kind, way = ("a Delta", "DeltaTable") if delta else ("an Iceberg", "IcebergTable")
            raise RequestError(
                f"table {name!r}: its files belong to {kind} table, and rows that were deleted from it would come "
                f"back; read it as {way} of privet.engines.duckdb.sources, or as a SparkTable, or copy its rows first"
            )


LakeTable = DeltaTable | IcebergTable
"""A table of a lake on this machine."""


def _batches(dataset: Any) -> Any:
    return dataset.scanner(batch_size=100_000).to_reader()


def _pinned(name: str, read: Callable[[], Any]) -> PinnedRows:
    try:
        return PinnedRows(read, read().schema)
    except Exception:  # the reader's message may quote a value
        raise_alone(
            RequestError(f"the source of table {name!r} cannot be read; perhaps its deletions are of an unknown kind")
        )
