"""Whether a scan can be asked at all, from declared facts alone: found before it is charged, and not after."""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.scan import Scan
from privet.core.schema import Schema

from .counts import counting
from .relations import relation_sql
from .statement import statement


def check_scan(scan: Scan, tables: Mapping[str, Schema]) -> None:
    """Raise a `RequestError` where the numbers of a scan might not fit what engines compute in. Reads nothing.

    The text that an engine would run is made, and thrown away: whatever may be refused is refused on the way.
    """
    relation = relation_sql(scan.table, tables, {name: name for name in tables}, 0)
    (statement if scan.places is None else counting)(scan, relation, 0)
