"""Operations over HTTP: each reads a JSON object, calls one method of a session, and writes JSON.

A field that is not listed is refused by name. The values of fields are checked by the session itself, which refuses
hostile values by name before anything is charged. Answers are written as CSV and as Arrow too.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError, Unsupported, raise_alone
from privet.core.given import optional_package
from privet.core.numbers import written_ratio
from privet.core.schema import Contribution
from privet.query.frame import Frame
from privet.query.sql.parse import parse_view
from privet.session import Session

LONGEST_TEXT = 100_000
"""The most characters of one text in a request: questions are written by people."""

Body = Mapping[str, Any]


# Fields: what JSON has no word for is an object of one key.


def _number_or_text(value: Any, name: str) -> Any:
    """Return a scalar; {"ratio": "1/3"}, {"date": "2025-01-31"} and {"timestamp": ...} stand for types JSON lacks."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise BadParameter(name, f"{len(value):,} characters", f"text of at most {LONGEST_TEXT:,} characters")
    if isinstance(value, Mapping):
        tagged = dict(value)
        if len(tagged) == 1 and isinstance(text := next(iter(tagged.values())), str) and len(text) <= 100:
            try:
                match next(iter(tagged)):
                    case "ratio":
                        ratio = written_ratio(text)
                        if ratio is not None:
                            return ratio
                    case "date":
                        return datetime.date.fromisoformat(text)
                    case "timestamp":
                        return datetime.datetime.fromisoformat(text)
            except ValueError:
                pass
        raise BadParameter(
            name, value, 'a number, text, true, false, null, or {"ratio": "1/3"}, {"date": "2025-01-31"}'
        )
    if isinstance(value, list):
        raise BadParameter(name, value, "one value, not a list")
    return value


def _scalars(value: Any, name: str) -> Any:
    """Return a scalar, or a list or an object of scalars."""
    if isinstance(value, list):
        return [_number_or_text(item, name) for item in value]
    if isinstance(value, Mapping) and not (len(value) == 1 and next(iter(value)) in ("ratio", "date", "timestamp")):
        return {key: _number_or_text(item, name) for key, item in value.items()}
    return _number_or_text(value, name)


def _widths(value: Any, name: str) -> Any:
    return [_scalars(item, name) for item in value] if isinstance(value, list) else _scalars(value, name)


def _contribution(value: Any, name: str) -> Any:
    if value is None or value == "auto":
        return value
    if not isinstance(value, Mapping) or {*value} != {"groups", "rows"}:
        raise BadParameter(name, value, 'an object such as {"groups": 3, "rows": 2}, or "auto"')
    return Contribution(**value)


def _sets(value: Any, name: str) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, list) for item in value):
        raise BadParameter(name, value, 'a list of lists of columns, such as [["ward", "sex"], ["ward"]]')
    return [_scalars(columns, name) for columns in value]


def _weights(value: Any, name: str) -> Any:
    """Return weights of sets of columns: [[["ward", "sex"], 2]]."""
    wrong = BadParameter(name, value, 'a list such as [[["ward", "sex"], 2]]')
    if not isinstance(value, list):
        raise wrong
    weights = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], list):
            raise wrong
        columns = tuple(_scalars(pair[0], name))
        if not all(isinstance(column, str) for column in columns) or columns in weights:
            raise wrong
        weights[columns] = _number_or_text(pair[1], name)
    return weights


def _names(value: Any, name: str) -> Any:
    """Return an object of texts, whatever its keys are."""
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise BadParameter(name, value, 'an object such as {"age": "ranges"}')
    return dict(value)


def _norm(value: Any, name: str) -> Any:
    return tuple(_scalars(value, name)) if isinstance(value, list) else _number_or_text(value, name)


def _hypothesis(value: Any, name: str) -> Any:
    """Return a hypothesis of `privet.study` from its kind and its fields."""
    from privet import study

    kinds = {export: getattr(study, export) for export in study.__all__ if export not in ("Family", "Hypothesis")}
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str) or value["kind"] not in kinds:
        raise BadParameter(name, value, f'an object with "kind", one of {", ".join(sorted(kinds))}')
    kind = kinds[value["kind"]]
    known = {field.name for field in fields(kind) if field.init}
    given = {key: item for key, item in value.items() if key != "kind"}
    for key in given.keys() - known:
        raise RequestError(f"{value['kind']} has no field {key[:60]!r}; it has {', '.join(sorted(known))}")
    read = {key: _scalars(item, key) for key, item in given.items()}
    try:
        return kind(**{key: tuple(item) if isinstance(item, list) else item for key, item in read.items()})
    except TypeError:
        missing = sorted(known - given.keys())
        raise_alone(RequestError(f"{value['kind']} needs more fields, of {', '.join(missing)}"))


def _hypotheses(value: Any, name: str) -> Any:
    from privet.study import Family

    if not isinstance(value, Mapping) or not {*value} <= {"hypotheses", "weights", "method", "level", "shares"}:
        raise BadParameter(name, value, 'an object such as {"hypotheses": [...]}')
    listed = value.get("hypotheses")
    if not isinstance(listed, list):
        raise BadParameter(name, value, 'an object such as {"hypotheses": [...]}')
    rest = {key: _scalars(item, key) for key, item in value.items() if key != "hypotheses"}
    try:
        return Family(tuple(_hypothesis(hypothesis, "hypotheses") for hypothesis in listed), **rest)
    except TypeError:
        raise_alone(RequestError(f"a family has {', '.join(field.name for field in fields(Family) if field.init)}"))


Reader = Callable[[Any, str], Any]

_COST: dict[str, Reader] = {"epsilon": _number_or_text, "rho": _number_or_text}
_BOUND: dict[str, Reader] = {"bound": _number_or_text, "contribution": _contribution}
_WITHIN: dict[str, Reader] = {"within": _widths, "confidence": _number_or_text, "at_most": _number_or_text}
_ROWS: dict[str, Reader] = {"table": _number_or_text, "where": _number_or_text, "rows": _number_or_text}
_ASK: dict[str, Reader] = {
    "question": _number_or_text,
    **_COST,
    **_BOUND,
    **_WITHIN,
    "other": _number_or_text,
    "find_groups": _number_or_text,
    "covers": _number_or_text,
    "parameters": _scalars,
}
_SHOWN: dict[str, Reader] = {"nonnegative": _number_or_text, "whole": _number_or_text}


@dataclass(frozen=True)
class Operation:
    """One method of a session as an operation: its fields, those that must be there, and how its result is written."""

    method: str
    plans: str | None
    fields: Mapping[str, Reader]
    needed: tuple[str, ...]
    write: Callable[[Any], dict[str, Any]]
    summary: str
    only_run: frozenset[str] = frozenset({"confidence", "nonnegative", "whole", "ridge"})
    """Fields on how a result is shown: a plan does not take them."""

    def arguments(self, body: Body, session: Session, *, plan: bool = False) -> dict[str, Any]:
        """Return the keywords of the session's method, or refuse the body by name."""
        if not isinstance(body, Mapping):
            raise RequestError('the body must be a JSON object, such as {"question": "SELECT ..."}')
        for name in body.keys() - self.fields.keys():
            raise RequestError(f"{self.method} has no field {name[:60]!r}; it has {', '.join(self.fields)}")
        read = {name: self.fields[name](value, name) for name, value in body.items() if value is not None}
        if "table" in self.fields:
            read["table"] = _table(read, session)
        for name in self.needed:
            if name not in read:
                raise RequestError(f"{self.method} needs the field {name!r}")
        if "question" in read and not isinstance(read["question"], str):
            raise BadParameter("question", read["question"], "SQL text")
        if plan and self.method != "ask":
            read = {name: value for name, value in read.items() if name not in self.only_run}
        return read

    def run(self, session: Session, body: Body, key: str | None) -> Any:
        """Return the result of the session's method for a body."""
        arguments = self.arguments(body, session)
        return getattr(session, self.method)(**arguments, key=key)

    def plan(self, session: Session, body: Body) -> Any:
        """Return the plan of a body; free."""
        if self.plans is None:
            raise Unsupported(f"{self.method} has no plan of its own; its price is its epsilon")
        return getattr(session, self.plans)(**self.arguments(body, session, plan=True))


def _table(read: dict[str, Any], session: Session) -> Frame:
    """Return the rows that an operation reads: a table, some of its rows, or a SELECT over several tables."""
    name, where, rows = read.pop("table", None), read.pop("where", None), read.pop("rows", None)
    if (name is None) == (rows is None) or (where is not None and name is None):
        raise RequestError('pass "table" (and "where", a condition), or "rows", a SELECT of private rows; not both')
    if not all(text is None or isinstance(text, str) for text in (name, where, rows)):
        raise RequestError('"table", "where" and "rows" are text')
    if rows is None:
        if where is None:
            return session.table(name)
        session.table(name)  # refuses an unknown table by name
        named = name if "." in name else '"' + name.replace('"', '""') + '"'
        rows = f"SELECT * FROM {named} WHERE ({where})"
    known = session._catalog
    return Frame(parse_view(rows, known.schemas, known.views, schema=known.schema))


# Results as JSON.


def plain(value: Any) -> Any:
    """Return a value as JSON: null for numbers that are not finite, text for dates and ratios."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Fraction():
            return float(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case datetime.date():
            return value.isoformat()
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    return str(value)


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data: rows, columns with their intervals, notes and the certificate."""
    return {
        "rows": plain(list(answer)),
        "columns": plain(answer.to_dict()),
        "confidence": answer.confidence,
        "notes": list(answer.notes),
        "certificate": plain(answer.certificate()),
    }


def _answers_json(answers: Sequence[Answer]) -> dict[str, Any]:
    return {"answers": [answer_json(answer) for answer in answers]}


def _marginals_json(result: Any) -> dict[str, Any]:
    tables = [{"columns": list(names), "counts": plain(result.counts(*names).to_dict())} for names in result.asked]
    return {"tables": tables, "cost": plain(result.price)}


def _counts_json(counts: Any) -> dict[str, Any]:
    return {"counts": plain(counts.to_dict()), "cost": plain(counts.price)}


def _facts_json(result: Any) -> dict[str, Any]:
    facts: dict[str, Any] = plain(result.to_dict())
    return facts


def _clipping_json(clipping: Any) -> dict[str, Any]:
    return {"report": repr(clipping)}


OPERATIONS: Mapping[str, Operation] = {
    "ask": Operation("ask", "plan", _ASK, ("question",), answer_json, "Ask a question."),
    "ask-all": Operation(
        "ask_all",
        "plan_all",
        {"questions": _scalars, **_COST, "weights": _scalars, **_BOUND, **_WITHIN},
        ("questions",),
        _answers_json,
        "Ask several questions for one charge.",
        frozenset(),
    ),
    "choose": Operation(
        "choose",
        "plan_choice",
        {"options": _scalars, "score": _number_or_text, **_COST, "mechanism": _number_or_text, **_BOUND}
        | {"parameters": _scalars},
        ("options", "score"),
        _facts_json,
        "Choose one of several options by a private score.",
    ),
    "marginals": Operation(
        "marginals",
        "plan_marginals",
        {**_ROWS, "columns": _scalars, "ways": _number_or_text, **_COST, "subsets": _sets, "weights": _weights}
        | {"ordered": _names}
        | {**_BOUND, **_SHOWN},
        ("table", "columns"),
        _marginals_json,
        "Count by every set of some columns, for one charge.",
    ),
    "ranges": Operation(
        "ranges",
        "plan_ranges",
        {**_ROWS, "column": _number_or_text, **_COST, "bins": _number_or_text, **_BOUND, **_SHOWN},
        ("table", "column"),
        _counts_json,
        "Count one column so that any range of it is free.",
    ),
    "running": Operation(
        "running",
        "plan_running",
        {**_ROWS, "by": _number_or_text, "of": _number_or_text, "groups": _scalars, **_COST, **_BOUND}
        | {"nonnegative": _number_or_text},
        ("table", "by"),
        _counts_json,
        "Release the running counts or sums of a history.",
    ),
    "test": Operation(
        "test",
        "plan_test",
        {**_ROWS, "hypothesis": _hypothesis, **_COST, **_BOUND, "confidence": _number_or_text},
        ("table", "hypothesis"),
        _facts_json,
        "Test a hypothesis about private rows.",
    ),
    "test-all": Operation(
        "test_all",
        None,
        {**_ROWS, "family": _hypotheses, **_COST, "confidence": _number_or_text},
        ("table", "family"),
        _facts_json,
        "Test several hypotheses at one error level.",
    ),
    "regress": Operation(
        "regress",
        "plan_regress",
        {**_ROWS, "formula": _number_or_text, **_COST, "norm": _norm, "intervals": _number_or_text}
        | {"ridge": _number_or_text, "contribution": _contribution, "confidence": _number_or_text},
        ("table", "formula"),
        _facts_json,
        "Fit a linear regression.",
    ),
    "clipping": Operation(
        "clipping",
        None,
        {"question": _number_or_text, **_COST, **_BOUND, "confidence": _number_or_text},
        ("question",),
        _clipping_json,
        "Estimate what clamping and contribution bounding remove.",
    ),
}
"""Every operation, by its name in the API."""


FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_format(value: str | None) -> str:
    """Return the name of a format, JSON where none is given."""
    if value is None:
        return "json"
    if value not in FORMATS:
        raise BadParameter("format", value, "one of " + ", ".join(FORMATS))
    return value


def render(result: Any, operation: str, form: str) -> bytes:
    """Return a result in a format."""
    if form == "json":
        return dump(OPERATIONS[operation].write(result))
    if not isinstance(result, Answer):
        raise Unsupported(f"{form} is for the answers of ask; take json")
    if form == "csv":
        return _csv(result.to_dict()).encode()
    arrow = optional_package("pyarrow", "Arrow answers need")
    table, sink = result.to_arrow(), io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def dump(data: Any) -> bytes:
    """Return plain data as JSON."""
    return json.dumps(plain(data), allow_nan=False, separators=(",", ":")).encode()


def _csv(columns: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for a cell: text that a spreadsheet would compute is quoted by an apostrophe."""
    value = plain(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
