"""Texts, and conversions from one kind to another, as DuckDB SQL: what cannot be converted is NULL."""

from __future__ import annotations

from collections.abc import Mapping

from privet.query.functions import LONGEST

from .rendered import Bind, Method, Several, as_kind, finite, fit
from .text import quoted


def _texts(form: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        return form.format(*(as_kind(rendered, "text") for rendered in several))

    return method


def _substring(bind: Bind, name: str, several: Several, safe: bool) -> str:
    return f"substring({as_kind(several[0], 'text')}, {several[1].sql}, {several[2].sql})"


def _concat(bind: Bind, name: str, several: Several, safe: bool) -> str:
    """Return texts put together, each and all of them cut: no row may become so large that it exhausts the engine."""
    return _cut(" || ".join(_cut(as_kind(rendered, "text")) for rendered in several))


def _cut(sql: str) -> str:
    return f"substring({sql}, 1, {LONGEST})"


_WHOLE_TEXT = quoted("^ *([+-]?[0-9]+) *$")
_NUMBER_TEXT = quoted(r"^ *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *$")


def _to_integer(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    match several[0].kind:
        case "text":
            return fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")
        case "boolean":
            return f"CAST({x} AS BIGINT)"
        case "number":
            return fit(f"floor({x} + 0.5e0)")
    return as_kind(several[0], "integer")


def _to_number(bind: Bind, name: str, several: Several, safe: bool) -> str:
    if several[0].kind == "text":
        return finite(bind, f"TRY_CAST(regexp_extract({several[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)")
    return as_kind(several[0], "number")


def _to_text(bind: Bind, name: str, several: Several, safe: bool) -> str:
    return as_kind(several[0], "text")


_TRUTHS = "['false', 'f', '0', 'true', 't', '1']"


def _to_boolean(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    match several[0].kind:
        case "text":
            return f"(list_position({_TRUTHS}, lower({x})) > 3)"
        case "integer":
            return f"({x} <> 0)"
    return as_kind(several[0], "boolean")


METHODS: Mapping[str, Method] = {
    "lower": _texts("lower({})"),
    "upper": _texts("upper({})"),
    "length": _texts("length({})"),
    "trim": _texts("trim({}, ' ')"),
    "substring": _substring,
    "starts_with": _texts("starts_with({}, {})"),
    "contains": _texts("contains({}, {})"),
    "concat": _concat,
    "to_integer": _to_integer,
    "to_number": _to_number,
    "to_text": _to_text,
    "to_boolean": _to_boolean,
}
