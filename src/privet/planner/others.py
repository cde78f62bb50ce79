"""An extra group for everything whose key is not shown: values are found first, and then all rows are grouped anew.

Both readings are charged together, before the first: what the second costs does not depend on what the first finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privet.core.errors import BadParameter, RequestError
from privet.core.exact import is_unicode
from privet.core.expression import Call, Expression, Literal
from privet.core.scan import GroupKey, Scan
from privet.core.schema import Key, Schema
from privet.query.functions import typed
from privet.query.nodes import Query
from privet.query.normal import call, text

_LONGEST = 100


def with_other(keys: tuple[GroupKey, ...], query: Query, schema: Schema) -> tuple[GroupKey, ...]:
    """Return the keys of a query, the one that is not public with the name of the group for what is not found.

    Guarantee: decided by declared facts and by what is asked.
    """
    label = query.other
    if label is None:
        return keys
    if not isinstance(label, str) or not label.strip() or len(label) > _LONGEST or not _writable(label):
        raise BadParameter("other", label, f"a name for the group of all that is left, of up to {_LONGEST} characters")
    hidden = [key for key in keys if key.values is None]
    if not hidden:
        raise RequestError("all groups of this question are declared and shown, so nothing is left for other=")
    if len(hidden) > 1:
        listed = " and ".join(text(key.expression) for key in hidden)
        raise RequestError(f"other= is for one key whose values are not declared, and here there are {listed}")
    (key,) = hidden
    kind = typed(key.expression, schema.columns).kind
    if kind != "text":
        shown = text(key.expression)
        raise RequestError(
            f"{shown} is of kind {kind}, which cannot hold {label!r}; group by CAST({shown} AS VARCHAR), or declare "
            f"its bounds"
        )
    return tuple(replace(one, other=label) if one is key else one for one in keys)


def _writable(label: str) -> bool:
    """Return whether an engine can write a name: or it would be refused only when it is read, after the charge."""
    return "\0" not in label and is_unicode(label)


def with_found(scan: Scan, found: Sequence[Key]) -> Scan:
    """Return a scan over the values that were found and one group of all others, which are public keys by now.

    Guarantee: rows are grouped before contributions are bounded, so that the norm of what one unit gives is that of
    the groups that are released. It is bounded as for any keys, whatever was found.
    """
    return replace(
        scan, keys=tuple(_mapped(key, key.other, found) if key.other is not None else key for key in scan.keys)
    )


def _mapped(key: GroupKey, label: str, found: Sequence[Key]) -> GroupKey:
    kept = [value for value in found if value is not None and value != label]
    rest: Expression = Literal(label)
    if None in found:
        rest = Call("case", (Call("is_null", (key.expression,)), Literal(None), rest))
    if kept:
        among = call("in", key.expression, *(Literal(value) for value in kept))
        rest = Call("case", (among, key.expression, rest))
    nulls: tuple[Key, ...] = (None,) if None in found else ()
    return GroupKey(rest, (*kept, *nulls, label), bool(nulls))
