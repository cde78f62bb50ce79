"""Answers as JSON, CSV and Arrow."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from privet.answer import Answer
from privet.core.errors import BadParameter, Unsupported
from privet.core.given import optional_package

from .operations import OPERATIONS, plain

FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_format(value: str | None) -> str:
    """Return the name of a format, JSON where none is given."""
    if value is None:
        return "json"
    if value not in FORMATS:
        raise BadParameter("format", value, "one of " + ", ".join(FORMATS))
    return value


def render(result: Any, operation: str, form: str) -> bytes:
    """Return a result in a format."""
    if form == "json":
        return dump(OPERATIONS[operation].write(result))
    if not isinstance(result, Answer):
        raise Unsupported(f"{form} is for the answers of ask; take json")
    if form == "csv":
        return _csv(result.to_dict()).encode()
    arrow = optional_package("pyarrow", "Arrow answers need")
    table, sink = result.to_arrow(), io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def dump(data: Any) -> bytes:
    """Return plain data as JSON."""
    return json.dumps(plain(data), allow_nan=False, separators=(",", ":")).encode()


def _csv(columns: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for a cell: text that a spreadsheet would compute is quoted by an apostrophe."""
    value = plain(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
