"""What a custodian says in a few signs on a command line, as TOML: `integer:0:120`, `epsilon=1,delta=1e-6`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

from privet.core.errors import RequestError, raise_alone
from privet.core.exact import written_decimal, written_whole

from .columns import KINDS
from .draft import toml_list
from .problems import nearest

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
    said = []
    for part in spec.split(","):
        key, _, value = (one.strip() for one in part.partition("="))
        if key not in ("groups", "rows") or not value.isascii() or not value.isdigit() or len(value) > 9:
            raise RequestError(f"{spec!r} is not a contribution; write groups=3,rows=2")
        said.append(f"{key} = {int(value)}")
    return f"{{ {', '.join(said)} }}"


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
