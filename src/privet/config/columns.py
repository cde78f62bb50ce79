"""Columns as privet.toml writes them: a kind alone, or with bounds, values, a step, and whether it may be NULL."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from privet.core import schema
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.numbers import written_decimal, written_whole
from privet.core.schema import ColumnFacts

from .draft import toml_list
from .problems import Section, nearest

KINDS = ("integer", "number", "boolean", "category", "date", "timestamp", "text")

EXAMPLES = {
    "integer": '{ kind = "integer", low = 0, high = 120 }',
    "number": '{ kind = "number", low = 0, high = 2000.0, step = 0.01 }',
    "boolean": '"boolean"',
    "category": '{ kind = "category", values = ["A", "B"] }',
    "date": '{ kind = "date", low = 2025-01-01, high = 2025-12-31 }',
    "timestamp": '{ kind = "timestamp", low = 2025-01-01T00:00:00, high = 2025-12-31T23:59:59 }',
    "text": '"text"',
}

_BOUNDED = ("integer", "number", "date", "timestamp")
_INT64 = 2**63


def read_columns(table: Section) -> dict[str, ColumnFacts]:
    """Return the columns of a table that are declared well, and note what is wrong with the others."""
    section = table.section("columns", '[tables.visits.columns] with lines such as age = { kind = "integer" }')
    if section is None:
        if not table.has("columns"):
            table.problem(None, f"columns is missing; write a table of names and kinds, such as age = {_example()}")
        return {}
    columns = {name: read_column(section, name) for name in section.data}
    if not columns:
        section.problem(None, f"has no column; write one or more, such as age = {_example()}")
    folded: dict[str, str] = {}
    for name in columns:
        if not name.strip() or "\x00" in name:
            section.problem(name, "must be the name of a column")
        if name.casefold() in folded:
            section.problem(name, f"is the same name as {folded[name.casefold()]!r}, apart from case; keep one")
        folded.setdefault(name.casefold(), name)
    return {name: column for name, column in columns.items() if column is not None}


def read_column(columns: Section, name: str) -> ColumnFacts | None:
    """Return one column, or None where it is not declared well, which is noted."""
    written = columns.data[name]
    columns.has(name)
    if isinstance(written, str):
        if written not in KINDS:
            columns.problem(name, f"{written!r} is not a kind; {nearest(written, KINDS)}")
            return None
        if written == "category":
            columns.problem(name, f"a category needs its public values; write {EXAMPLES['category']}")
            return None
        written = {"kind": written}
    if not isinstance(written, dict):
        columns.problem(name, f'must be a kind, such as "text", or a table, such as {_example()}')
        return None
    section = Section(written, (*columns.path, name), columns.problems)
    kind = _kind(section)
    nullable = section.read("nullable", _truth, False)
    made = None if kind is None else _make(section, kind, nullable)
    for key in ("low", "high", "step", "values"):
        section.has(key)
    section.finish()
    return made


def _kind(section: Section) -> str | None:
    if not section.has("kind"):
        if section.has("values"):
            return "category"
        section.problem(None, f"kind is missing; write one of {', '.join(KINDS)}")
        return None
    kind = section.data["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        section.problem("kind", f"{kind!r} is not a kind; {nearest(str(kind), KINDS)}")
        return None
    return kind


def _make(section: Section, kind: str, nullable: bool) -> ColumnFacts | None:
    allowed = {"category": ("values",), "number": ("low", "high", "step")}.get(
        kind, ("low", "high") if kind in _BOUNDED else ()
    )
    well = True
    for key in ("low", "high", "step", "values"):
        if section.has(key) and key not in allowed:
            well = False
            section.problem(key, f"{kind} takes no {key}; leave it out, or write {_instead(kind, key)}")
    given = {key: section.data[key] for key in allowed if key in section.data}
    for key, other in (("low", "high"), ("high", "low")):
        if key in given and other not in given:
            well = False
            section.problem(key, f"is given without {other}; write both, as in {EXAMPLES[kind]}")
    if "step" in given and "low" not in given:
        well = False
        section.problem("step", f"is declared without bounds; write them too, as in {EXAMPLES['number']}")
    if kind == "category" and "values" not in given:
        well = False
        section.problem(None, f"a category needs its public values; write {EXAMPLES['category']}")
    if not well:
        return None
    return _attempt(section, lambda: _column(kind, given, nullable))


def _column(kind: str, given: dict[str, Any], nullable: bool) -> ColumnFacts:
    match kind:
        case "category":
            values = given["values"]
            if isinstance(values, list):
                for value in values:
                    if isinstance(value, int) and not -_INT64 <= value < _INT64:
                        raise BadParameter("values", value, "whole numbers of 64 bits")
            return schema.category(values, nullable=nullable)
        case "number":
            for key, value in given.items():
                if isinstance(value, str):
                    raise BadParameter(key, value, "a number, written without quotes")
            return schema.number(given.get("low"), given.get("high"), step=given.get("step"), nullable=nullable)
        case "integer":
            return schema.integer(given.get("low"), given.get("high"), nullable=nullable)
        case "date":
            _not_text(given, "a date, written without quotes, such as 2025-12-31")
            return schema.date(given.get("low"), given.get("high"), nullable=nullable)
        case "timestamp":
            _not_text(given, "a time in UTC, written without quotes and without a zone, such as 2025-12-31T23:59:59")
            return schema.timestamp(given.get("low"), given.get("high"), nullable=nullable)
        case "boolean":
            return schema.boolean(nullable=nullable)
    return schema.text(nullable=nullable)


def _attempt(section: Section, make: Callable[[], ColumnFacts]) -> ColumnFacts | None:
    try:
        return make()
    except BadParameter as error:
        section.problem(error.parameter, f"must be {error.allowed}; got {error.value}")
    except RequestError as error:
        section.problem(None, str(error))
    return None


def _not_text(given: dict[str, Any], allowed: str) -> None:
    for key, value in given.items():
        if isinstance(value, str):
            raise BadParameter(key, value, allowed)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadParameter("nullable", value, "true or false")
    return value


def _instead(kind: str, key: str) -> str:
    if key == "values":
        return EXAMPLES["category"]
    return EXAMPLES["number"] if key == "step" or kind not in _BOUNDED else EXAMPLES[kind]


def _example() -> str:
    return EXAMPLES["integer"]


# What a custodian says in a few signs on a command line, as TOML: `integer:0:120`, `epsilon=1,delta=1e-6`.


_TOML_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

FORMS = (
    "KIND, KIND:LOW:HIGH, number:LOW:HIGH:STEP or category:A,B,C, each with :nullable behind it if it may be NULL; "
    "between the ends of a timestamp write .."
)


def column_from_spec(spec: str, *, stored: str | None) -> str:
    """Return a column as TOML, from a few signs; `stored` is the kind of the source's own column, if it has one."""
    kind, _, rest = spec.strip().partition(":")
    if kind not in KINDS:
        raise RequestError(f"{spec!r}: {kind!r} is not a kind of column; {nearest(kind, KINDS)}; write {FORMS}")
    nullable = rest == "nullable" or rest.endswith(":nullable")
    rest = rest.removesuffix("nullable").removesuffix(":") if nullable else rest
    said = [f'kind = "{kind}"']
    if kind == "category":
        said.append(f"values = {_values(rest, stored)}")
    elif rest:
        said += _bounds(spec, kind, rest)
    if nullable:
        said.append("nullable = true")
    return f'"{kind}"' if len(said) == 1 else f"{{ {', '.join(said)} }}"


def budget_from_spec(spec: str) -> str:
    """Return a budget as lines of TOML, from `epsilon=1,delta=1e-6` or `rho=0.1`."""
    said = []
    for part in spec.split(","):
        key, _, value = (one.strip() for one in part.partition("="))
        if key not in ("epsilon", "delta", "rho"):
            raise RequestError(f"{spec!r} is not a budget; write epsilon=1, epsilon=1,delta=1e-6 or rho=0.1")
        said.append(f"{key} = {number_as_toml(value)}")
    return "\n".join(said)


def contribution_from_spec(spec: str) -> str:
    """Return a contribution as TOML, from `groups=3,rows=2`."""
    found = re.fullmatch(r"\s*groups\s*=\s*([0-9]{1,9})\s*,\s*rows\s*=\s*([0-9]{1,9})\s*", spec)
    if found is None:
        raise RequestError(f"{spec!r} is not a contribution; write groups=3,rows=2")
    return f"{{ groups = {int(found[1])}, rows = {int(found[2])} }}"


def number_as_toml(text: str) -> str:
    """Return a decimal number as TOML writes it, exactly."""
    value = written_decimal(text)
    if value is None or (value and abs(value.adjusted()) > 300):
        raise RequestError(f"{text!r} is not a number such as 3, 0.5 or 1e-6")
    return text.strip() if _TOML_NUMBER.fullmatch(text.strip()) else format(value, "f")


def _bounds(spec: str, kind: str, rest: str) -> list[str]:
    parts = rest.split("..") if ".." in rest or kind == "timestamp" else rest.split(":")
    readers: dict[str, Callable[[str], str]] = {
        "integer": _whole,
        "number": number_as_toml,
        "date": lambda text: datetime.date.fromisoformat(text.strip()).isoformat(),
        "timestamp": lambda text: datetime.datetime.fromisoformat(text.strip()).isoformat(),
    }
    if kind not in readers or not 2 <= len(parts) <= (3 if kind == "number" else 2):
        raise RequestError(f"{spec!r} is not understood; write {FORMS}")
    names = ("low", "high", "step")
    try:
        return [f"{name} = {readers[kind](part)}" for name, part in zip(names, parts, strict=False)]
    except ValueError:
        raise_alone(RequestError(f"{spec!r}: {rest!r} are not the ends of a {kind}; write {FORMS}"))


def _whole(text: str) -> str:
    found = written_whole(text) if len(text) <= 40 else None
    if found is None:
        raise ValueError(text)
    return str(found)


def _values(rest: str, stored: str | None) -> str:
    values = tuple(value.strip() for value in rest.split(",")) if rest.strip() else ()
    if not values or not all(values):
        raise RequestError(f"a category needs its public values, such as category:A,B,C; got {rest!r}")
    if stored != "integer":
        return toml_list(values)
    try:
        return f"[{', '.join(_whole(value) for value in values)}]"
    except ValueError:
        raise_alone(RequestError(f"{rest!r}: the column holds whole numbers, and these are not"))
