"""All that planning needs, as JSON and back: schemas, views and a budget. A client plans with it as the server does.

Only a client reads it: a server takes questions as text, and never a tree or a plan.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

from privet.core import budget, division, relation, schema, unit
from privet.core.errors import RequestError, Unsupported, raise_alone
from privet.core.schema import Contents, Schema
from privet.execution.request import Catalog
from privet.query import nodes

_MODULES = (budget, division, relation, schema, unit, nodes)


def _kinds() -> Iterator[tuple[str, type]]:
    for module in _MODULES:
        for name, kind in vars(module).items():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__:
                yield name, kind


KINDS: Mapping[str, type] = MappingProxyType(dict(_kinds()))
"""The frozen values that a catalog may contain, by name."""


def write_catalog(catalog: Catalog) -> dict[str, Any]:
    """Return a catalog as JSON, without the rows of public tables."""
    schemas = {name: replace(table, contents=None) for name, table in catalog.schemas.items()}
    views = {name: _view(view) for name, view in catalog.views.items()}
    return {
        "schemas": [[name, write_value(table)] for name, table in schemas.items()],
        "views": [[name, write_value(view)] for name, view in views.items()],
        "budget": write_value(catalog.budget),
        "schema": catalog.schema,
    }


def _view(view: nodes.PrivateRows) -> nodes.PrivateRows:
    return replace(view, tables={}) if any(field.name == "tables" for field in fields(view)) else view


def read_catalog(data: Mapping[str, Any], rows_of: Callable[[str], Any]) -> Catalog:
    """Return the catalog that a server wrote; `rows_of` fetches the rows of a public table when they are needed."""
    try:
        schemas: dict[str, Schema] = {}
        for name, written in data["schemas"]:
            declared = read_value(written)
            public = declared.unit.public
            schemas[name] = replace(declared, contents=Contents(partial(rows_of, name))) if public else declared
        views = {name: read_value(value) for name, value in data["views"]}
        for name, view in views.items():
            if any(field.name == "tables" for field in fields(view)):
                views[name] = replace(view, tables=schemas)
        return Catalog(schemas, views, read_value(data["budget"]), data["schema"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise_alone(RequestError("the server describes its tables in a way that this version of Privet does not know"))


def write_value(value: Any) -> Any:
    """Return a value as JSON: types that JSON lacks become objects of one key."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is Fraction:
        return {"ratio": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, datetime.timedelta):
        return {"span": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, datetime.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, tuple | list):
        return [write_value(item) for item in value]
    if isinstance(value, frozenset):
        return {"set": sorted(map(write_value, value), key=repr)}
    if isinstance(value, Mapping):
        return {"mapping": [[write_value(key), write_value(item)] for key, item in value.items()]}
    if KINDS.get(kind.__name__) is kind:
        return {kind.__name__: {field.name: write_value(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, str):
        return str(value)
    raise Unsupported(f"a {kind.__name__} cannot be described to a client")


def read_value(data: Any) -> Any:
    """Return the value that was written."""
    if isinstance(data, list):
        return tuple(read_value(item) for item in data)
    if not isinstance(data, dict):
        return data
    ((kind, written),) = data.items()
    match kind:
        case "float":
            return float.fromhex(written)
        case "ratio":
            return Fraction(written)
        case "span":
            days, seconds, micro = written
            return datetime.timedelta(days, seconds, micro)
        case "timestamp":
            return datetime.datetime.fromisoformat(written)
        case "date":
            return datetime.date.fromisoformat(written)
        case "set":
            return frozenset(read_value(item) for item in written)
        case "mapping":
            return {read_value(key): read_value(item) for key, item in written}
    made = KINDS[kind]
    given = {name: read_value(item) for name, item in written.items()}
    own = [field for field in fields(made) if field.init]
    return made(**{field.name: given[field.name] for field in own if field.name in given})
