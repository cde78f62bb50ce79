"""SQL text for constants and names. No text of an analyst's passes through here unquoted."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.core.expression import Value
from privet.core.schema import Kind

INT64 = (-(2**63), 2**63 - 1)
TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
"""The one engine type that holds each kind; everything is read as these."""


def quoted(text: str) -> str:
    """Return a text as an SQL string."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise_alone(Unsupported("a text constant must be valid Unicode, without lone surrogates"))
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a declared name as a quoted SQL identifier."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise_alone(Unsupported("a name must be valid Unicode, without lone surrogates"))
    return '"' + name.replace('"', '""') + '"'


def whole(value: int) -> str:
    """Return a whole number as SQL: BIGINT, or HUGEINT where that is too small."""
    if INT64[0] <= value <= INT64[1]:
        return f"'{value}'::BIGINT" if value < 0 else f"{value}::BIGINT"  # -2**63 is no negated constant
    if -(2**127) < value < 2**127:
        return f"'{value}'::HUGEINT"
    raise InvariantError("a constant does not fit into 128 bits")


def double(value: Fraction | int | float) -> str:
    """Return the double that is nearest to a number, as SQL."""
    try:
        found = float(value)
    except OverflowError:
        raise_alone(Unsupported("a constant is too large for a double"))
    if found in (float("inf"), float("-inf")):
        return f"'{found}'::DOUBLE"
    text = repr(found)
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if found < 0 else text


def constant(value: Value) -> str:
    """Return a constant of the closed list of kinds; a number as the nearest double."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return whole(value) if INT64[0] <= value <= INT64[1] else "NULL::BIGINT"
    if isinstance(value, Fraction):
        found = value if abs(value) < Fraction(2) ** 1024 else None
        try:
            return "NULL::DOUBLE" if found is None else double(found)
        except OverflowError:  # it rounds up to 2**1024
            return "NULL::DOUBLE"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return quoted(value)


def keyed_hash(columns: Sequence[str], secret: int) -> str:
    """Return a hash of columns under a key of 128 bits, by which rows are chosen: unpredictable without the key."""
    first, second = (f"{(secret >> shift) & (2**64 - 1)}::UBIGINT" for shift in (0, 64))
    return f"hash(xor(hash({', '.join([*columns, first])}), {second}))"
