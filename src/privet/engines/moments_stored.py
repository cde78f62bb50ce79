"""Points in time as they are stored, where an engine would convert them while it reads them.

DuckDB reads times with a zone, of Arrow and pandas, and all times of Parquet files, as microseconds. One in seconds or
milliseconds that is too far off, such as a "never expires" of the year 292278994, makes it fail, and with it every
question about the table. Read as the integers that they are, without their zone, they are converted one by one later,
and what does not fit is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privet.core.schema import Schema

_COARSE = ("s", "ms")
_BATCH = 100_000


class Scanned:
    """An Arrow dataset, scanned again for each question and read in batches, never held as a whole."""

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

    found = dataset.dataset(list(paths), format="parquet")
    plain = [
        field.with_type(pyarrow.timestamp(field.type.unit)) if _coarse(field.type) else field
        for field in _declared(found.schema, schema)
    ]
    return dataset.dataset(list(paths), format="parquet", schema=pyarrow.schema(plain))


def moments_as_stored(frame: Any, schema: Schema) -> Any:
    """Return a table or dataset of Arrow or pandas without the zones of its coarse points in time; all else as it is.

    A zone only says how a point in time is shown: stored is the number of seconds or milliseconds since 1970 in UTC.
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


def _scanned(found: Any, schema: Schema) -> Scanned:
    import pyarrow
    from pyarrow import compute

    columns = {}
    for field in _declared(found.schema, schema):
        column = compute.field(field.name)
        if _coarse(field.type):
            column = column.cast(pyarrow.int64()).cast(pyarrow.timestamp(field.type.unit))
        columns[field.name] = column
    return Scanned(found, columns)


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


def _declared(found: Any, schema: Schema) -> list[Any]:
    """Return the fields of an Arrow schema that are declared, each name once: the first of several counts."""
    declared = {column.casefold() for column in schema.columns}
    fields: dict[str, Any] = {}
    for field in found:
        if field.name.casefold() in declared:
            fields.setdefault(field.name, field)
    return list(fields.values())


def _coarse(kind: Any) -> bool:
    """Return whether an Arrow type is of points in time that have a zone and are not in microseconds or finer."""
    import pyarrow

    return bool(pyarrow.types.is_timestamp(kind)) and kind.tz is not None and kind.unit in _COARSE
