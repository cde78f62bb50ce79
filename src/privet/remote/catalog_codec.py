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
        for name, one in vars(module).items():
            if isinstance(one, type) and is_dataclass(one) and one.__module__ == module.__name__:
                yield name, one


KINDS: Mapping[str, type] = MappingProxyType(dict(_kinds()))
"""The frozen values that may stand in a catalog, by name."""


def write_catalog(catalog: Catalog) -> dict[str, Any]:
    """Return a catalog as JSON can hold it; the rows of public tables are not in it."""
    schemas = {name: replace(one, contents=None) for name, one in catalog.schemas.items()}
    views = {name: _view(one) for name, one in catalog.views.items()}
    return {
        "schemas": [[name, write_value(one)] for name, one in schemas.items()],
        "views": [[name, write_value(one)] for name, one in views.items()],
        "budget": write_value(catalog.budget),
        "schema": catalog.schema,
    }


def _view(view: nodes.PrivateRows) -> nodes.PrivateRows:
    return replace(view, tables={}) if any(one.name == "tables" for one in fields(view)) else view


def read_catalog(data: Mapping[str, Any], rows_of: Callable[[str], Any]) -> Catalog:
    """Return the catalog that a server wrote; `rows_of` fetches the rows of a public table when they are needed."""
    try:
        schemas: dict[str, Schema] = {}
        for name, one in data["schemas"]:
            found = read_value(one)
            public = found.unit.public
            schemas[name] = replace(found, contents=Contents(partial(rows_of, name))) if public else found
        views = {name: read_value(one) for name, one in data["views"]}
        for name, view in views.items():
            if any(one.name == "tables" for one in fields(view)):
                views[name] = replace(view, tables=schemas)
        return Catalog(schemas, views, read_value(data["budget"]), data["schema"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise_alone(RequestError("the server describes its tables in a way that this version of Privet does not know"))


def write_value(value: Any) -> Any:
    """Return a value as JSON can hold it: what it has no word for becomes an object of one key."""
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
        return [write_value(one) for one in value]
    if isinstance(value, frozenset):
        return {"set": sorted(map(write_value, value), key=repr)}
    if isinstance(value, Mapping):
        return {"mapping": [[write_value(key), write_value(one)] for key, one in value.items()]}
    if KINDS.get(kind.__name__) is kind:
        return {kind.__name__: {one.name: write_value(getattr(value, one.name)) for one in fields(value)}}
    if isinstance(value, str):
        return str(value)
    raise Unsupported(f"a {kind.__name__} cannot be described to a client")


def read_value(data: Any) -> Any:
    """Return the value that was written."""
    if isinstance(data, list):
        return tuple(read_value(one) for one in data)
    if not isinstance(data, dict):
        return data
    ((kind, told),) = data.items()
    match kind:
        case "float":
            return float.fromhex(told)
        case "ratio":
            return Fraction(told)
        case "span":
            days, seconds, micro = told
            return datetime.timedelta(days, seconds, micro)
        case "timestamp":
            return datetime.datetime.fromisoformat(told)
        case "date":
            return datetime.date.fromisoformat(told)
        case "set":
            return frozenset(read_value(one) for one in told)
        case "mapping":
            return {read_value(key): read_value(one) for key, one in told}
    made = KINDS[kind]
    given = {name: read_value(one) for name, one in told.items()}
    own = [one for one in fields(made) if one.init]
    return made(**{one.name: given[one.name] for one in own if one.name in given})
