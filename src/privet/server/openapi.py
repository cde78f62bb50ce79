"""The OpenAPI description of a listener, generated from its route table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import privet

from .http_call import ApiRoute

_PARAMETER = re.compile(r"\{(\w+)\}")
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
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
            "schemas": {"Error": _ERROR},
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
            "default": {
                "description": "What is wrong, and what to do.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
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
                        "properties": {name: {} for name in route.fields},
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
    return {"type": "integer", "minimum": 0} if name in _NUMBER else {"type": "string"}


def _content(route: ApiRoute) -> dict[str, Any]:
    schema = {"type": "object"} if route.produces == "application/json" else {}
    return {"description": route.summary, "content": {route.produces: {"schema": schema}}}
