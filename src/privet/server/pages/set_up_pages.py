"""Guided set-up: a privet.toml from a schema and what a custodian types, tried on made-up rows before it is used.

No source is opened here: columns come from a schema that is pasted, bounds and limits from a person.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response

from privet.config.draft import Draft, DraftColumn, DraftTable, toml_list, toml_text, write_draft
from privet.config.sessions import practice
from privet.core.errors import PrivetError, RequestError, raise_alone
from privet.server.custodian_api import CUSTODIAN
from privet.server.http_call import ApiRoute, HttpCall

from .page_serving import fragment
from .page_serving import page as whole_page

KINDS = ("integer", "number", "boolean", "text", "date", "timestamp")
_TYPES = {
    "integer": r"(small|big|tiny|huge)?int(eger|[248])?|serial|bigserial",
    "number": r"real|float[48]?|double( precision)?|numeric|decimal",
    "boolean": r"bool(ean)?",
    "date": r"date",
    "timestamp": r"timestamp|datetime|timestamptz",
}
_NOT_COLUMNS = re.compile(r"(primary|foreign|unique|constraint|check|key|index)\b", re.I)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?(e-?\d{1,3})?", re.I | re.ASCII)
_MOST = 100


def set_up_page(call: HttpCall) -> Response:
    """Return the first step: a schema."""
    return whole_page(call, "set_up.html", title="Set-up", name="")


def read_schema_text(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the name of a table and its columns with their kinds, from CREATE TABLE or lines of names and types."""
    found = re.search(r"create\s+table\s+(?:if\s+not\s+exists\s+)?([\w\".]+)\s*\((.*)\)", text, re.I | re.S)
    name = found[1].split(".")[-1].strip('"') if found else ""
    inside = found[2] if found else text
    parts = re.split(r",(?![^(]*\))|\n(?!\s*,)", inside)
    columns = []
    for part in parts:
        words = part.strip().rstrip(",;").split(None, 1)
        if not words or _NOT_COLUMNS.match(part.strip()):
            continue
        kind = words[1].split("(")[0].strip().lower() if len(words) > 1 else "text"
        kind = re.sub(r"\s+(not null|primary key|null|default.*|references.*)+", "", kind).strip()
        known = next((one for one, types in _TYPES.items() if re.fullmatch(types, kind)), "text")
        columns.append((words[0].strip('"`[]'), known))
    if not columns or len(columns) > _MOST:
        raise RequestError(f"paste CREATE TABLE, or lines such as: age integer. At most {_MOST} columns")
    if len({column.casefold() for column, _ in columns}) < len(columns):
        raise RequestError("two columns have the same name")
    return name or "table1", columns


def columns_part(call: HttpCall) -> Response:
    """Return the second step: what each column holds, and who is protected."""
    body = call.take("schema")
    try:
        name, columns = read_schema_text(str(body["schema"])[:20_000])
    except PrivetError as error:
        return fragment("error_part.html", error=error)
    likely = next(
        (one for one, _ in columns if re.search(r"(patient|person|user|customer|client|member)", one, re.I)), ""
    )
    return fragment("set_up_columns.html", table=name, columns=columns, kinds=KINDS, likely=likely)


def draft_of(body: Mapping[str, Any]) -> str:
    """Return the privet.toml that a form says."""
    columns = []
    for place in range(_MOST):
        name = str(body.get(f"name{place}") or "")
        if not name:
            break
        columns.append(DraftColumn(name, _kind(body, place), _declared(body, place)))
    unit = str(body.get("unit") or "rows")
    limits = [_whole(body, one) for one in ("groups", "rows")]
    contribution = None if unit == "rows" else f"{{ groups = {limits[0]}, rows = {limits[1]} }}"
    table = DraftTable(
        name=str(body.get("table") or "table1"),
        source=str(body.get("source") or "data.csv"),
        columns=tuple(columns),
        unit=unit,
        contribution=contribution,
    )
    budget = f"epsilon = {_number(body, 'epsilon')}"
    budget += f"\ndelta = {_number(body, 'delta')}" if body.get("delta") else ""
    return write_draft(Draft(tables=(table,), budget=budget))


def _kind(body: Mapping[str, Any], place: int) -> str:
    kind = str(body.get(f"kind{place}") or "text")
    if kind not in KINDS:
        raise RequestError(f"{kind[:40]!r} is not a kind of column; choose one of {', '.join(KINDS)}")
    return kind


def _declared(body: Mapping[str, Any], place: int) -> str | None:
    """Return what a person typed about a column, as TOML: bounds, or its public values."""
    kind, name = _kind(body, place), body.get(f"name{place}")
    low, high, values = (str(body.get(f"{one}{place}") or "").strip() for one in ("low", "high", "values"))
    if values and kind == "text":
        listed = tuple(one.strip() for one in values.split(",") if one.strip())
        return f"{{ values = {toml_list(listed)} }}"
    if not low and not high:
        return None
    if not low or not high:
        raise RequestError(f"{name}: give both bounds, or neither")
    if kind in ("integer", "number"):
        if not _NUMBER.fullmatch(low) or not _NUMBER.fullmatch(high):
            raise RequestError(f"{name}: bounds are numbers, such as 0 and 120")
    elif kind in ("date", "timestamp"):
        try:
            low, high = (datetime.datetime.fromisoformat(one).isoformat() for one in (low, high))
        except ValueError:
            raise_alone(RequestError(f"{name}: bounds are dates, such as 2025-01-01 and 2025-12-31"))
        low, high = (low[:10], high[:10]) if kind == "date" else (low, high)
    else:
        raise RequestError(f"{name}: {kind} takes no bounds; for text, list its public values")
    return f"{{ kind = {toml_text(kind)}, low = {low}, high = {high} }}"


def _whole(body: Mapping[str, Any], name: str) -> int:
    text = str(body.get(name) or "1")
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise RequestError(f"{name}: a whole number from 1")
    return int(text)


def _number(body: Mapping[str, Any], name: str) -> str:
    text = str(body.get(name) or "").strip()
    if not _NUMBER.fullmatch(text):
        raise RequestError(f"{name}: a number, such as 1 or 1e-6")
    return text


def draft_part(call: HttpCall) -> Response:
    """Return the third step: the privet.toml, what is wrong with it, and an answer over made-up rows."""
    try:
        text = draft_of(call.body)
        with tempfile.TemporaryDirectory(prefix="privet-set-up-") as folder:
            place = Path(folder) / "privet.toml"
            place.write_text(text, encoding="utf-8")
            with practice(place) as session:
                name = next(iter(session.tables))
                examples = session.describe(name).examples
                sql = next((one for one in examples if "GROUP BY" in one), examples[0])
                answer = session.ask(sql)
    except PrivetError as error:
        told = str(error).replace(str(Path(tempfile.gettempdir())), "")
        return fragment("set_up_error.html", told=told)
    return fragment("set_up_draft.html", text=text, sql=sql, answer=repr(answer))


SET_UP_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/set-up", CUSTODIAN, set_up_page, "Guided set-up."),
    ApiRoute("POST", "/set-up/columns", CUSTODIAN, columns_part, "Its columns."),
    ApiRoute("POST", "/set-up/draft", CUSTODIAN, draft_part, "Its privet.toml."),
)
