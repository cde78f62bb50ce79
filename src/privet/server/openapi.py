"""The OpenAPI description of a listener, from its route table and the types of what routes take and return.

Values are checked by the session that they are passed to, which refuses some that the types alone would allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import privet
from privet import study

from .http_call import ApiRoute
from .operations import FORMATS, LONGEST_TEXT

Schema = dict[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "required": sorted(required), "properties": {**required, **(more or {})}}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TRUTH: Schema = {"type": "boolean"}
_ANY_OBJECT: Schema = {"type": "object"}
_LONG: Schema = {"type": "string", "maxLength": LONGEST_TEXT}
_AMOUNT: Schema = {"anyOf": [_NUMBER, _ref("Ratio")]}
_SCALAR: Schema = {"anyOf": [{"type": ["number", "string", "boolean", "null"]}, _ref("Ratio"), _ref("Moment")]}
_SCALARS: Schema = {"anyOf": [_SCALAR, _list(_SCALAR), {"type": "object", "additionalProperties": _SCALAR}]}
_ROLE: Schema = {"enum": ["analyst", "auditor", "custodian"]}

FIELDS: Mapping[str, Schema] = {
    "question": _LONG,
    "questions": _list(_LONG),
    "epsilon": _AMOUNT,
    "rho": _AMOUNT,
    "bound": {"enum": ["norm", "groups"]},
    "contribution": {"anyOf": [{"const": "auto"}, _ref("Contribution")]},
    "within": {"anyOf": [_SCALARS, _list(_SCALARS)]},
    "confidence": _AMOUNT,
    "at_most": _AMOUNT,
    "other": _LONG,
    "find_groups": _TRUTH,
    "covers": {"enum": ["noise", "bounding", "population"]},
    "parameters": {"anyOf": [_list(_SCALAR), {"type": "object", "additionalProperties": _SCALAR}]},
    "weights": {"type": ["array", "object"]},
    "options": _list(_SCALAR),
    "score": _LONG,
    "mechanism": _TEXT,
    "table": _LONG,
    "where": _LONG,
    "rows": _LONG,
    "columns": _list(_TEXT),
    "column": _TEXT,
    "ways": _WHOLE,
    "subsets": _list(_list(_TEXT)),
    "ordered": {"type": "object", "additionalProperties": {"enum": ["ranges", "prefixes"]}},
    "bins": _AMOUNT,
    "by": _TEXT,
    "of": _TEXT,
    "groups": _SCALARS,
    "hypothesis": _ref("Hypothesis"),
    "family": _object(
        {"hypotheses": _list(_ref("Hypothesis"))},
        {"weights": _SCALARS, "method": _TEXT, "level": _AMOUNT, "shares": _SCALARS},
    ),
    "formula": _LONG,
    "norm": _SCALARS,
    "intervals": _SCALAR,
    "ridge": _AMOUNT,
    "nonnegative": _TRUTH,
    "whole": _TRUTH,
    "token": _TEXT,
    "budget": _ref("Budget"),
    "reason": _TEXT,
    "answer": _TEXT,
    "account": _TEXT,
    "name": _TEXT,
    "role": _ROLE,
    "datasets": _list(_TEXT),
    "tables": _list(_TEXT),
    "withheld": _list(_TEXT),
    "expires": {"type": "string", "format": "date-time"},
    "note": _TEXT,
}
"""The values of each field of a request, by its name. An optional field may also be null."""

_IDENTITY = {
    "name": _TEXT,
    "role": _ROLE,
    "datasets": _or_null(_list(_TEXT)),
    "tables": _or_null(_list(_TEXT)),
    "withheld": _list(_TEXT),
    "expires": _or_null(_TEXT),
}
_TOKEN = {"id": _WHOLE, "created": _TEXT, "last_use": _or_null(_TEXT), "revoked": _or_null(_TEXT), "state": _TEXT}
_ANSWER = _object(
    {
        "rows": _list(_ANY_OBJECT),
        "columns": {"type": "object", "additionalProperties": {"type": "array"}},
        "confidence": _NUMBER,
        "notes": _list(_TEXT),
        "certificate": _ANY_OBJECT,
    }
)

COMPONENTS: Mapping[str, Schema] = {
    "Reply": _ANY_OBJECT,
    "SavedName": _object(
        {"id": _WHOLE, "name": _TEXT, "question": _TEXT, "answer": _or_null(_TEXT), "created": _TEXT},
    ),
    "Saved": _object({"saved": _list(_ref("SavedName"))}),
    "Error": _object({"error": _object({"code": _TEXT, "message": _TEXT})}),
    "Ratio": {**_object({"ratio": {"type": "string", "maxLength": 100}}), "additionalProperties": False},
    "Moment": {
        "type": "object",
        "properties": {"date": _TEXT, "timestamp": _TEXT},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    },
    "Contribution": {
        **_object({"groups": {"type": "integer", "minimum": 1}, "rows": {"type": "integer", "minimum": 1}}),
        "additionalProperties": False,
    },
    "Hypothesis": _object(
        {"kind": {"enum": sorted(kind for kind in study.__all__ if kind not in ("Family", "Hypothesis"))}}
    ),
    "Budget": {
        "type": "object",
        "properties": {name: {"type": ["number", "string"]} for name in ("epsilon", "delta", "rho")},
        "minProperties": 1,
        "additionalProperties": False,
    },
    "Status": _object({"status": _TEXT}, {"version": _TEXT, "account": _TEXT, "head": _TEXT, "name": _TEXT}),
    "Identity": _object(_IDENTITY, {"csrf_token": _TEXT}),
    "DataSets": _object({"datasets": _list(_object({"name": _TEXT}, {"budget": _ref("Budget"), "head": _TEXT}))}),
    "Catalog": _object({"account": _TEXT, "version": _TEXT, "schemas": {"type": "array"}, "budget": _ANY_OBJECT}),
    "Table": _object({"protects": _TEXT, "columns": _ANY_OBJECT, "examples": _list(_TEXT)}, {"name": _TEXT}),
    "Tables": _object({"tables": _list(_ref("Table"))}),
    "PublicRows": _object({"rows": _or_null({"type": "array"})}),
    "Left": _object(
        {
            "measure": _TEXT,
            "amount": _or_null(_NUMBER),
            "exact_amount": _TEXT,
            "delta": _TEXT,
            "largest_epsilon": _or_null(_NUMBER),
            "state": {"enum": ["open", "frozen"]},
        }
    ),
    "Plan": _object(
        {
            "plan": _ANY_OBJECT,
            "price": _or_null(_ANY_OBJECT),
            "fits": _or_null(_TRUTH),
            "text": _TEXT,
            "left": _ref("Left"),
        }
    ),
    "Answer": _ANSWER,
    "Job": _object(
        {"id": _TEXT, "state": {"enum": ["reading", "released", "failed", "interrupted"]}},
        {"operation": _TEXT, "elapsed": _NUMBER, "result": _ANY_OBJECT, "message": _TEXT},
    ),
    "Asked": _object(
        {"answers": _list(_object({"id": _TEXT, "operation": _TEXT, "body": _ANY_OBJECT, "created": _TEXT}))}
    ),
    "Release": _object({"receipt": _ANY_OBJECT, "released": {}}),
    "Balance": _object({"budget": _ref("Budget"), "text": _TEXT, "left": _ref("Left")}),
    "Balances": _object({"balances": _list(_object({"account": _or_null(_TEXT), "state": _TEXT}))}),
    "History": _object(
        {"charges": _list(_object({"number": _WHOLE, "time": _TEXT, "digest": _TEXT})), "next": _or_null(_WHOLE)}
    ),
    "Entries": _object({"entries": _list(_object({"number": _WHOLE, "kind": _TEXT})), "next": _or_null(_WHOLE)}),
    "Certificate": _object({"entry": _WHOLE, "account": _TEXT, "digest": _TEXT, "event": _ANY_OBJECT}),
    "Request": _object(
        {
            "id": _WHOLE,
            "dataset": _TEXT,
            "account": _TEXT,
            "budget": _ref("Budget"),
            "reason": _TEXT,
            "created": _TEXT,
            "state": {"enum": ["open", "granted", "declined"]},
            "decided": _or_null(_TEXT),
            "decided_by": _or_null(_TEXT),
            "note": _or_null(_TEXT),
        }
    ),
    "Requests": _object({"requests": _list(_ref("Request"))}),
    "Shared": _object({"shared": _list(_object({"id": _WHOLE, "by": _TEXT, "operation": _TEXT}))}),
    "Token": _object({**_TOKEN, **_IDENTITY}, {"token": _TEXT}),
    "Tokens": _object({"tokens": _list(_ref("Token"))}),
    "Suspects": _object({"suspects": _list(_ANY_OBJECT)}),
    "Problems": _object({"problems": _list(_TEXT)}),
    "Description": _object({"openapi": _TEXT, "info": _ANY_OBJECT, "paths": _ANY_OBJECT}),
}
"""The results, and the schemas that fields share, by name."""


def field_schema(name: str, needed: bool) -> Schema:
    """Return the schema of a field of a request."""
    known = FIELDS.get(name, {})
    return known if needed else _or_null(known)


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
_NUMBERED = {"after", "limit", "wait", "entry", "request", "token"}


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
    operation: dict[str, Any] = {
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
        operation["requestBody"] = {
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
    return operation


def _named(path: str) -> list[str]:
    return _PARAMETER.findall(path)


def _type(name: str) -> dict[str, Any]:
    if name in _NUMBERED:
        return {"type": "integer", "minimum": 0}
    return {"enum": [*FORMATS]} if name == "format" else {"type": "string", "minLength": 1}


def _content(route: ApiRoute) -> dict[str, Any]:
    described: dict[str, Any] = {"description": route.summary}
    if route.produces != "application/json":
        return {**described, "content": {route.produces: {"schema": {"type": "string"}}}}
    forms = {"application/json": {"schema": {"$ref": f"#/components/schemas/{route.returns}"}}}
    if "format" in route.query:
        forms |= {FORMATS[form].partition(";")[0]: {"schema": {}} for form in FORMATS if form != "json"}
    return {**described, "content": forms}


def _errors_of(route: ApiRoute) -> list[int]:
    """Return the statuses of the errors that a route can end with."""
    statuses = {400, 429, 500, 503, *({401, 403} if route.roles else ())}
    statuses |= {401} if route.path == "/v1/login" else set()
    statuses |= {404} if "{" in route.path else set()
    statuses |= {409, 502} if 202 in route.statuses else set()
    statuses |= {409} if route.method == "POST" and "{dataset}" in route.path else set()
    return sorted(statuses)


def _failure(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    if status == 502:  # a job that failed also has its id
        schema = {"anyOf": [schema, {"$ref": "#/components/schemas/Job"}]}  # type: ignore[dict-item]
    return {"description": _ERRORS[status], "content": {"application/json": {"schema": schema}}}
