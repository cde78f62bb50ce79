"""What a question is given when it is asked: values for its parameters, and the time. Both become constants.

A parameter is a value and never text of the query: it is put into the tree, where a constant stands. The time is fixed
when the question is read, so that a plan, its digest and its answer are about one moment.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.expression import Expression, Literal
from privet.query.terms import Constant, constant

from .clauses import Node, blame, parts

MARKS = frozenset(("?", "$", ":"))
"""What a parameter is called in the tree: no function can be called so in a text."""

FIXED = "fixed"
"""The argument of a node that stands for a value."""

_DAYS = frozenset(("CURRENT_DATE", "CURDATE", "TODAY", "UTC_DATE"))
_MOMENTS = frozenset(
    ("NOW", "GETDATE", "GETUTCDATE", "SYSDATE", "SYSDATETIME", "SYSUTCDATETIME", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")
) | {"CURRENT_DATETIME", "UTC_TIMESTAMP", "TRANSACTION_TIMESTAMP", "STATEMENT_TIMESTAMP", "GET_CURRENT_TIMESTAMP"}
CLOCK = _DAYS | _MOMENTS
"""Functions that are the day or the moment at which a question is asked, in UTC."""

_MOST = 1_000

Parameters = Sequence[Constant] | Mapping[str, Constant]
"""Values for ? and $1 in their order, or for :name and $name by their names."""


@dataclass(frozen=True)
class GivenValues:
    """Values for parameters, as constants, and the moment of asking, if it may be used."""

    values: Mapping[str, Literal] = field(default_factory=dict)
    now: datetime.datetime | None = None


NOTHING = GivenValues()


def read_parameters(parameters: object) -> dict[str, Literal]:
    """Return values by the names of their parameters; those of a list by their places, from 1."""
    if parameters is None:
        return {}
    if isinstance(parameters, Mapping):
        named = dict(parameters)
        if not all(isinstance(name, str) and name.isidentifier() for name in named):
            raise BadParameter("parameters", list(named)[:3], "named as in the question: {'ward': 'A'} for :ward")
    elif isinstance(parameters, Sequence) and not isinstance(parameters, (str, bytes)):
        named = {str(place): value for place, value in enumerate(islice(parameters, _MOST + 1), 1)}
    else:
        raise BadParameter(
            "parameters", type(parameters).__name__, "a list for ? and $1, or a mapping for :name and $name"
        )
    if len(named) > _MOST:
        raise BadParameter("parameters", "more", f"at most {_MOST:,} values")
    return {name: _value(name, value) for name, value in named.items()}


def _value(name: str, value: object) -> Literal:
    found = constant(value, f"parameter {name}")  # type: ignore[arg-type]
    if not isinstance(found, Literal):
        raise BadParameter(f"parameter {name}", type(value).__name__, "a value: a number, a text, a date, or None")
    return found


def settle_given(nodes: Sequence[Node], given: GivenValues) -> None:
    """Give each parameter of a tree its value, and each name of the clock the moment of asking."""
    used: set[str] = set()
    for node in nodes:
        if node.key != "anonymous":
            continue
        name = str(node.args["this"])
        if name in MARKS:
            try:
                node.args[FIXED] = _found(node, given.values, used)
            except RequestError as error:
                blame(error, node)
                raise
        elif name.upper() in CLOCK and given.now is not None and not parts(node, "expressions"):
            node.args[FIXED] = Literal(given.now.date() if name.upper() in _DAYS else given.now)
    unused = sorted(given.values.keys() - used)
    if unused:
        raise RequestError(f"the question has no parameter {unused[0]!r}; leave its value out")


def _found(node: Node, values: Mapping[str, Literal], used: set[str]) -> Literal:
    name = str(parts(node, "expressions")[0].args["this"])
    if name not in values:
        shown = "?" if str(node.args["this"]) == "?" else f"{node.args['this']}{name}"
        how = "a list, parameters=[5]" if name.isdigit() else f"by name, parameters={{{name!r}: 5}}"
        raise Unsupported(f"there is no value for the parameter {shown}; pass it beside the question: in {how}")
    used.add(name)
    return values[name]


def fixed_value(node: Node) -> Expression | None:
    """Return the value that a node stands for, if it was given one."""
    found = node.args.get(FIXED)
    return found if isinstance(found, Literal) else None
