"""What a session is asked, as the JSON of the server's API. A server takes text: no tree and no plan is sent.

A question that was built in Python is sent as the SQL that asks the same, which is checked before; what cannot be
written so is refused by name.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from privet.core.errors import BadParameter, PrivetError, Unsupported
from privet.core.numbers import read_rational
from privet.core.schema import ChosenContribution, Contribution
from privet.execution.request import Catalog, read_question
from privet.query.frame import Frame, Result, count
from privet.query.sql.parse import parse_view
from privet.query.terms import Term

_UNSENT = "cannot be sent to a server; write it in SQL"


def sent_value(value: Any, name: str) -> Any:
    """Return a value as JSON: numbers exactly, dates as objects of one key."""
    if value is None or type(value) in (bool, int, str, float):
        return value
    match value:
        case Contribution(groups=groups, rows=rows):
            return {"groups": groups, "rows": rows}
        case ChosenContribution():
            return "auto"
        case datetime.datetime():
            return {"timestamp": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case str():
            return str(value)
        case Mapping():
            return {str(key): sent_value(one, name) for key, one in value.items()}
        case list() | tuple():
            return [sent_value(one, name) for one in value]
        case Term():
            raise Unsupported(f"{name}= is an expression built in Python, which {_UNSENT}, or select it in the rows")
    ratio = read_rational(value)
    if ratio is None:
        raise BadParameter(name, value, "numbers, texts, dates, true, false, and lists of them")
    return {"ratio": f"{ratio.numerator}/{ratio.denominator}"}


def sent_question(question: Any, catalog: Catalog) -> tuple[str, dict[str, Any]]:
    """Return a question as SQL, and what it says itself about its answer."""
    if isinstance(question, str):
        return question, {}
    if not isinstance(question, Result):
        raise Unsupported(f"a {type(question).__name__} {_UNSENT}")
    text, wish = repr(question), question.wish
    try:
        same = read_question(text, catalog)[0] == question.query()
    except PrivetError:
        same = False
    if not same:
        raise Unsupported(f"this question, built in Python, {_UNSENT}: {text[:200]}")
    said = {"within": wish.within, "confidence": wish.confidence, "covers": wish.covers}
    said["contribution"] = "auto" if wish.auto else None
    said["find_groups"] = True if wish.find else None
    return text, {name: sent_value(_width(one), name) for name, one in said.items() if one is not None}


def _width(value: Any) -> Any:
    """Return a width of a question as a session's own argument has it: by column, where it is by column."""
    return dict(value) if isinstance(value, tuple) else value


def sent_rows(table: Any, catalog: Catalog) -> tuple[dict[str, str], Any]:
    """Return the rows that an operation is about, as JSON, and as what the server makes of that."""
    if not isinstance(table, Frame):
        return {"table": table}, table
    text = repr(table)
    try:
        made = Frame(parse_view(text, catalog.schemas, catalog.views, schema=catalog.schema))
        same = not table._keys and made.agg(n=count()).query() == table.agg(n=count()).query()
        same = same and [*made._source.columns] == [*table._source.columns]
    except PrivetError:
        same = False
    if not same:
        raise Unsupported(f"these rows, built in Python, {_UNSENT}: {text[:200]}")
    return {"rows": text}, made


def sent_hypothesis(given: Any) -> dict[str, Any]:
    """Return a hypothesis of `privet.study` by its kind and its fields."""
    from privet import study

    kind = type(given).__name__
    if getattr(study, kind, None) is not type(given):
        raise Unsupported(f"a {kind} is not a hypothesis of privet.study, and cannot be sent to a server")
    told = {one.name: sent_value(getattr(given, one.name), one.name) for one in fields(given) if one.init}
    return {"kind": kind, **{name: one for name, one in told.items() if one is not None}}


def sent_family(given: Any) -> dict[str, Any]:
    """Return a family of hypotheses."""
    rest = {name: sent_value(getattr(given, name), name) for name in ("weights", "method", "level", "shares")}
    told = {"hypotheses": [sent_hypothesis(one) for one in given.hypotheses]}
    return {**told, **{name: one for name, one in rest.items() if one is not None}}
