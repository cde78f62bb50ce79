"""The OpenAPI description of a listener, generated from its route table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import privet

from .api_schemas import COMPONENTS, field_schema
from .http_call import ApiRoute
from .results_formats import FORMATS

_PARAMETER = re.compile(r"\{(\w+)\}")
_ERRORS = {
    400: "The request is not one that can be answered; nothing is charged.",
    401: "There is no valid token.",
    403: "The token's role may not do this, or a browser's request lacks its page's token.",
    404: "There is no such thing for this account.",
    409: "The budget does not allow it; nothing is charged.",
    429: "Too many requests of this account; try again after Retry-After.",
    500: "Privet is wrong; please report it.",
    502: "The database could not answer; the charge stands.",
    503: "The server is busy or the ledger cannot be reached; try again.",
}
_NUMBER = {"after", "limit", "wait", "entry", "request", "token"}


def describe_api(routes: Iterable[ApiRoute]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of some routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Privet", "version": privet.__version__},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(COMPONENTS),
        },
    }


def _operation(route: ApiRoute) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()} {route.path}",
        "x-roles": sorted(route.roles),
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _type(name)} for name in _named(route.path)),
            *({"name": name, "in": "query", "required": False, "schema": _type(name)} for name in route.query),
        ],
        "responses": {
            **{str(status): _content(route) for status in route.statuses},
            **{str(status): _failure(status) for status in _errors_of(route)},
        },
        "security": [{"token": []}] if route.roles else [],
    }
    if route.method == "POST":
        told["requestBody"] = {
            "required": any(route.fields.values()),
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {name: field_schema(name, needed) for name, needed in route.fields.items()},
                        "required": [name for name, needed in route.fields.items() if needed],
                        "additionalProperties": False,
                    }
                }
            },
        }
    return told


def _named(path: str) -> list[str]:
    return _PARAMETER.findall(path)


def _type(name: str) -> dict[str, Any]:
    if name in _NUMBER:
        return {"type": "integer", "minimum": 0}
    return {"enum": [*FORMATS]} if name == "format" else {"type": "string", "minLength": 1}


def _content(route: ApiRoute) -> dict[str, Any]:
    described: dict[str, Any] = {"description": route.summary}
    if route.produces != "application/json":
        return {**described, "content": {route.produces: {"schema": {"type": "string"}}}}
    forms = {"application/json": {"schema": {"$ref": f"#/components/schemas/{route.returns}"}}}
    if "format" in route.query:
        forms |= {FORMATS[one].partition(";")[0]: {"schema": {}} for one in FORMATS if one != "json"}
    return {**described, "content": forms}


def _errors_of(route: ApiRoute) -> list[int]:
    """Return the statuses of the errors that a route can end with."""
    found = {400, 429, 500, 503, *({401, 403} if route.roles else ())}
    found |= {401} if route.path == "/v1/login" else set()
    found |= {404} if "{" in route.path else set()
    found |= {409, 502} if 202 in route.statuses else set()
    found |= {409} if route.method == "POST" and "{dataset}" in route.path else set()
    return sorted(found)


def _failure(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    if status == 502:  # a job that failed also has its id
        schema = {"anyOf": [schema, {"$ref": "#/components/schemas/Job"}]}  # type: ignore[dict-item]
    return {"description": _ERRORS[status], "content": {"application/json": {"schema": schema}}}
