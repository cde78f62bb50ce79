"""The types of the API: what each field of a request may hold, and what each route returns, as JSON Schema.

Values are checked by the session that they are passed to, which refuses what the types alone would allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privet import study

from .operations import LONGEST_TEXT

Schema = dict[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "required": sorted(required), "properties": {**required, **(more or {})}}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


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
"""What a field of a request may hold, by its name. A field that is not needed may also be null."""

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
        {"kind": {"enum": sorted(one for one in study.__all__ if one not in ("Family", "Hypothesis"))}}
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
"""What is returned, and what fields share, by name."""


def field_schema(name: str, needed: bool) -> Schema:
    """Return what a field of a request may hold."""
    known = FIELDS.get(name, {})
    return known if needed else _or_null(known)
