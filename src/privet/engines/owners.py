"""Whose row it is, as SQL over a stored table: the unit of a row, and the test that it has one."""

from __future__ import annotations

from privet.core.errors import InvariantError
from privet.core.schema import Schema
from privet.core.unit import Person

from .values import physical


def owner_of(schema: Schema, prefix: str = "") -> tuple[str, str]:
    """Return the unit of a row, as it is stored and not clamped, and the condition under which it has one.

    Clamping would make one person of several.
    """
    if not isinstance(schema.unit, Person):
        raise InvariantError("contributions are bounded only where units own several rows")
    owner = f"{prefix}{physical(schema)[schema.unit.column]}"
    known = f"{owner} IS NOT NULL"
    if schema.columns[schema.unit.column].kind == "number":
        known += f" AND NOT isnan({owner})"
    return owner, known
