"""A whole scan as SQL: what is made of tables, and what is bounded and summed, or counted by place, over it."""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.scan import Scan
from privet.core.schema import Schema

from .counts import counting
from .dialect import Dialect
from .relations import relation_sql
from .statement import Statement, statement


def write_scan(
    scan: Scan, tables: Mapping[str, Schema], names: Mapping[str, str], secret: int, dialect: Dialect
) -> Statement:
    """Return the SQL of a scan over stored tables, which the engine calls by `names`; reads nothing.

    Raises a `RequestError` where, by declared facts, the numbers of the scan might not fit what engines compute in, or
    where the dialect lacks a function.
    """
    relation = relation_sql(scan.table, tables, names, secret, dialect)
    return (statement if scan.places is None else counting)(scan, relation, secret, dialect)
