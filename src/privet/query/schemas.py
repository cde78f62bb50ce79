"""Checks what questions are read over: declared tables by name, and views of them."""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.errors import BadParameter
from privet.core.schema import Schema


def check_tables(tables: object) -> None:
    """Refuse what is not a mapping of names to the schemas of tables; None stands for none beside the one named."""
    allowed = "a mapping of names to Schemas"
    if tables is None:
        return
    if not isinstance(tables, Mapping):
        raise BadParameter("tables", type(tables).__name__, allowed)
    for name, schema in tables.items():
        if not isinstance(name, str) or not isinstance(schema, Schema):
            raise BadParameter("tables", type(schema).__name__, allowed)
