"""Where the rows of a table are for Spark: tables of its catalogues, files, frames. Only custodians meet this module.

Values are never sniffed, and nothing is read here but names and types.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privet.core import given
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.numbers import whole
from privet.core.schema import Kind, Schema
from privet.core.unit import person_column
from privet.engines.dialects.spark import TYPES, quoted_name, text_literal
from privet.engines.duckdb.sources import verify_plain_files
from privet.engines.scan_sql.row_values import physical

SUPPORTED = "a SparkTable, a Parquet path, a Spark DataFrame, or an Arrow table"
"""What a source can be, in words."""

_MOST_VERSION = 2**63 - 1
_JDBC = re.compile(r"JDBCRelation|JDBCTable|JDBCScan|jdbc:", re.IGNORECASE)
_WHOLE = {"tinyint", "smallint", "int", "bigint"}
_DOUBLES = {"float", "double"}
_ADVICE = {
    "timestamp": "holds points in time with a local time zone, whose dates depend on who reads them; read it through a "
    "view with CAST(... AS TIMESTAMP_NTZ)",
    "collated": "has a collation under which different texts are equal; read it through a view with "
    "CAST(... AS STRING COLLATE UTF8_BINARY)",
    "char": "identifies the person and pads its texts with spaces, so that one person could be two; read it through a "
    "view with RTRIM(...)",
}


@dataclass(frozen=True)
class SparkTable:
    """A table of one of Spark's catalogues, by its name; of Delta and Iceberg at one version, if that is given.

    Args:
        name: the name, with its catalogue and schema: `"lake.clinic.visits"`.
        version: the version or snapshot that is read, also when the table changes; left out for the latest.

    Example:
        >>> from privet.engines.spark import SparkTable
        >>> SparkTable("lake.clinic.visits", version=12).version
        12
    """

    name: str
    version: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", given.plain_text(self.name, "name", "the name of a table", least=1, most=1000))
        if not all(self.parts):
            raise BadParameter("name", self.name, "names with dots between them, such as 'lake.clinic.visits'")
        if self.version is not None:
            object.__setattr__(self, "version", whole(self.version, "version", most=_MOST_VERSION))

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the catalogue, the schema and the table, as far as they are given."""
        return tuple(self.name.split("."))

    @property
    def relation(self) -> str:
        """What stands after FROM."""
        pinned = "" if self.version is None else f" VERSION AS OF {self.version}"
        return ".".join(map(quoted_name, self.parts)) + pinned


def open_frame(session: Any, name: str, source: object) -> Any:
    """Return a frame over the source of a table; raise a `RequestError` that quotes nothing of it."""
    try:
        frame = _frame(session, name, source)
        columns = frame.schema
        plan = _plan(frame)
    except RequestError:
        raise
    except Exception as error:  # Spark's message may quote a value
        missing = _named(error)
    else:
        if _JDBC.search(plan):
            raise RequestError(
                f"table {name!r}: its rows come from a database by JDBC, into which Spark would push conditions that "
                f"mean something else there; use an engine of that database, or copy the rows into a table of Spark's"
            )
        if not columns.fields:
            raise RequestError(f"table {name!r}: its source has no columns")
        return frame
    words = {
        "missing": f"table {name!r}: Spark has no such table, catalogue, schema or version",
        "versions": f"table {name!r}: its source keeps no versions, as Delta and Iceberg do; leave version out",
    }
    return raise_alone(RequestError(words.get(missing, f"the source of table {name!r} cannot be read")))


def _frame(session: Any, name: str, source: object) -> Any:
    if isinstance(source, SparkTable):
        return session.sql(f"SELECT * FROM {source.relation}")
    if isinstance(source, (str, os.PathLike)):
        return _files(session, name, [os.fspath(source)])
    if isinstance(source, (list, tuple)) and source and all(isinstance(path, (str, os.PathLike)) for path in source):
        return _files(session, name, [os.fspath(path) for path in source])
    package, kind = type(source).__module__.split(".")[0], type(source).__name__
    if package == "pyspark" and kind == "DataFrame":
        return source
    if package == "pyarrow" and kind == "Table":
        return session.createDataFrame(source)
    raise BadParameter(f"source of table {name!r}", kind, SUPPORTED)


def _files(session: Any, name: str, paths: list[str]) -> Any:
    """Return a frame over Parquet files: those here by their own names, others by their addresses."""
    addresses: list[str] = []
    for path in paths:
        if "://" in path:
            addresses.append(path)
            continue
        here = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not here:
            raise RequestError(f"table {name!r}: there is no file at the path that is declared for it")
        addresses += [f"file://{os.path.abspath(file)}" for file in here]
    if not all(
        address.lower().endswith((".parquet", ".pq", "/")) or os.path.isdir(address[7:]) for address in addresses
    ):
        raise RequestError(f"table {name!r}: Spark reads {SUPPORTED}; write other files as Parquet")
    verify_plain_files(name, (address[7:] for address in addresses if address.startswith("file://")))
    return session.read.parquet(*addresses)


def _plan(frame: Any) -> str:
    """Return Spark's plan of a frame, as text: it names the kinds of sources."""
    caught = io.StringIO()
    with contextlib.redirect_stdout(caught):
        frame.explain(mode="extended")
    return caught.getvalue()


def _named(error: Exception) -> str:
    """Return what Spark reports missing, something of that name or its versions: its error's class, never its text."""
    condition = ""
    with contextlib.suppress(Exception):
        condition = str(error.getCondition())  # type: ignore[attr-defined]
    if "TIME_TRAVEL" in condition:
        return "versions"
    return "missing" if re.search("NOT_FOUND|CATALOG|NAMESPACE|NO_SUCH|VERSION", condition) else "unreadable"


def columns_of(frame: Any, name: str, schema: Schema) -> list[str]:
    """Return the columns of a view that reads each declared column under its generated name, as its kind's type.

    Guarantee: people who are told apart by what is stored are told apart by what is read, and one person is one unit:
    texts are compared byte by byte, 0 and -0 are one number, whole numbers are read as such.
    """
    fields = list(frame.schema.fields)
    read, folded = [], set[str]()
    for column, generated in physical(schema).items():
        if column.casefold() in folded:
            raise RequestError(f"table {name!r} declares two columns called {column!r}, apart from their case")
        folded.add(column.casefold())
        stored = [field for field in fields if field.name == column]
        stored = stored or [field for field in fields if field.name.casefold() == column.casefold()]
        if not stored:
            raise RequestError(f"table {name!r} declares a column {column!r} that its source does not have")
        if len(stored) > 1:
            raise RequestError(f"table {name!r} has several columns called {column!r} in its source")
        facts, owner = schema.columns[column], column == person_column(schema.unit)
        kind = stored[0].dataType.simpleString()
        trouble = _trouble(stored[0], kind, facts.kind, owner=owner)
        if trouble is not None:
            raise RequestError(f"column {column!r} of table {name!r} {trouble}")
        sql = _cast(quoted_name(stored[0].name), kind, facts.kind)
        if sql is None:
            raise RequestError(
                f"column {column!r} of table {name!r} is declared {facts.kind}, and its source has another type"
            )
        read.append(f"{sql} AS {generated}")
    return read


def kind_of_field(field: Any) -> Kind | None:
    """Return the natural kind of a stored column; None for types that are not read."""
    stored = field.dataType.simpleString()
    kinds: Sequence[tuple[bool, Kind]] = (
        (stored in _WHOLE or bool(re.fullmatch(r"decimal\(\d+,0\)", stored)), "integer"),
        (stored in _DOUBLES or stored.startswith("decimal("), "number"),
        (stored == "boolean", "boolean"),
        (_is_text(stored), "text"),
        (stored == "date", "date"),
        (stored in {"timestamp_ntz", "timestamp"}, "timestamp"),
    )
    return next((kind for holds, kind in kinds if holds), None)


def _is_text(stored: str) -> bool:
    return stored == "string" or stored.startswith(("string collate ", "varchar(", "char("))


def _trouble(field: Any, stored: str, kind: Kind, *, owner: bool) -> str | None:
    """Return the fault of a stored column, whatever its values."""
    if stored == "timestamp" and kind in ("date", "timestamp", "text"):
        return _ADVICE["timestamp"]
    if stored.startswith("string collate ") and stored.split()[-1].upper() != "UTF8_BINARY":
        return _ADVICE["collated"]
    padded = str((field.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING", stored))
    if owner and padded.startswith("char("):
        return _ADVICE["char"]
    if owner and kind == "number" and stored not in _DOUBLES:
        return (
            "identifies the person and is declared number, and its source has another type, of which large ones "
            "would become one person; declare it as integer() or text()"
        )
    return None


def _cast(sql: str, stored: str, kind: Kind) -> str | None:
    """Return a stored column as the one type of its kind; None if no reading makes sense."""
    text, decimal = _is_text(stored), stored.startswith("decimal(")
    number = stored in _WHOLE | _DOUBLES or decimal
    match kind:
        case "integer" if stored in _WHOLE:
            return f"CAST({sql} AS BIGINT)"
        case "integer" if stored in _DOUBLES:
            return f"try_cast({_whole_double(sql)} AS BIGINT)"
        case "integer" if decimal:
            return f"try_cast(round({sql}, 0) AS BIGINT)"
        case "integer" if stored == "boolean":
            return f"CAST({sql} AS BIGINT)"
        case "integer" if text:
            form = text_literal(r"\A *([+-]?[0-9]+) *\z")
            return f"try_cast(regexp_extract({sql}, {form}, 1) AS BIGINT)"
        case "number" if number:
            return f"(CAST({sql} AS DOUBLE) + 0D)"  # 0 and -0 are one value, and one person
        case "number" if text:
            form = text_literal(r"\A *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *\z")
            return f"(try_cast(regexp_extract({sql}, {form}, 1) AS DOUBLE) + 0D)"
        case "boolean" if stored == "boolean":
            return sql
        case "boolean" if stored in _WHOLE:
            return f"({sql} <> 0)"
        case "text" if text:
            # bytes that are no text would make Python fail where they come back as a key
            return f"try_validate_utf8(CAST({sql} AS STRING))"
        case "text" if stored in _WHOLE | {"boolean", "date", "timestamp_ntz"}:
            return f"CAST({sql} AS STRING)"
        case "date" | "timestamp" if stored in {"date", "timestamp_ntz"}:
            return f"CAST({sql} AS {TYPES[kind]})"
        case "date" | "timestamp" if text:
            return f"try_cast({sql} AS {TYPES[kind]})"
    return None


def _whole_double(sql: str) -> str:
    low, high = f"{-(2.0**63)!r}D", f"{2.0**63!r}D"
    value = f"CAST({sql} AS DOUBLE) + 0.5D"
    return f"CASE WHEN {value} >= {low} AND {value} < {high} THEN floor({value}) END"
