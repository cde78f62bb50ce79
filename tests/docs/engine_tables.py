"""What each engine runs, as tables for the docs: scalar functions, and kinds of scans. Read from the dialects.

Written into docs/postgres.md by `.venv/bin/python tests/docs/engine_tables.py`.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from privet.core import schema
from privet.core.errors import RequestError, Unsupported
from privet.core.relation import ColumnRef
from privet.core.scan import (
    Discovery,
    GroupKey,
    Largest,
    Near,
    Norm,
    Once,
    Pairs,
    Products,
    RowNorm,
    Scan,
    Sizes,
    Sum,
    Truncate,
)
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.dialects.postgres import POSTGRES
from privet.engines.dialects.spark import SPARK
from privet.engines.scan_sql.dialect import Dialect
from privet.engines.scan_sql.statement import write_scan
from privet.query.functions import FUNCTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "postgres.md"
START, END = "<!-- what engines run: generated -->", "<!-- end -->"
DIALECTS: tuple[Dialect, ...] = (DUCKDB, POSTGRES, SPARK)

COLUMNS = {
    "who": schema.integer(),
    "city": schema.category(["Ulm", "Bonn"]),
    "shop": schema.text(),
    "pay": schema.number(0, 10, step=Fraction(1, 100)),
}
_COUNT, _PAY = Sum(None, 1, 1), Sum(ColumnRef("pay"), 0, 1000, step=Fraction(1, 100))
_CITY = GroupKey(ColumnRef("city"), ("Ulm", "Bonn"), False)
_SHOP = GroupKey(ColumnRef("shop"), None, True)
_FACTORS = Products(((0, 0), (0, 1), (1, 1)), None)


def _of(person: bool, keys: tuple[GroupKey, ...], sums: tuple[Sum, ...], bounding: object, **more: object) -> Scan:
    facts = schema.Schema(unit=Person("who") if person else Rows(), columns=COLUMNS)
    return Scan("t", facts, None, keys, sums, bounding, **more)  # type: ignore[arg-type]


SCANS = {
    "counts and sums of rows": _of(False, (_CITY,), (_COUNT, _PAY), Once()),
    "counts and sums of people, scaled to a norm (L1)": _of(True, (_CITY,), (_COUNT, _PAY), Norm(1, 5, 20)),
    "counts and sums of people, scaled to a norm (L2)": _of(True, (_CITY,), (_COUNT, _PAY), Norm(2, 5, 20)),
    "counts and sums of people, truncated": _of(True, (_CITY,), (_COUNT, _PAY), Truncate(2, 3)),
    "the largest cells of a person": _of(True, (_SHOP, _CITY), (_COUNT,), Largest(5, 20)),
    "groups that are found in the data": _of(True, (_SHOP,), (_COUNT,), Norm(2, 5, 20), discovery=Discovery(4, 2, 20)),
    "cells of a strategy": _of(False, (_CITY,), (_COUNT,), Once(), cells=(("Ulm",), ("Bonn",))),
    "counts by place, for quantiles": _of(True, (_CITY,), (), Norm(1, 5, 20), places=_PAY),
    "counts by place near a rank": _of(False, (), (), Once(), places=_PAY, near=Near(Fraction(1, 2), 8, 8, 4)),
    "different values": _of(True, (_CITY,), (_COUNT,), Pairs(ColumnRef("shop"), 4)),
    "people by size": _of(True, (), (), Norm(1, 5, 20), sizes=Sizes("norm", (0, 1, 2, 4))),
    "products, for regressions": _of(False, (), (_COUNT, _PAY), Once(), products=_FACTORS),
    "products of rows scaled to a norm": _of(
        True, (), (_COUNT, _PAY), Norm(1, 5, 20), products=Products(_FACTORS.pairs, RowNorm(2, 900, 2, 8))
    ),
}
"""One scan of each kind that plans have."""


def runs(scan: Scan, dialect: Dialect) -> bool:
    """Return whether a dialect writes a scan."""
    try:
        write_scan(scan, {"t": scan.schema}, {"t": "t"}, 1, dialect)
    except (Unsupported, RequestError):
        return False
    return True


def tables() -> str:
    """Return both tables as Markdown."""
    head = ["| {} | " + " | ".join(dialect.name for dialect in DIALECTS) + " |", "|---|" + "---|" * len(DIALECTS)]
    lines = [head[0].format("scan"), head[1]]
    lines += [f"| {name} | {_marks([runs(scan, one) for one in DIALECTS])} |" for name, scan in SCANS.items()]
    lines += ["", head[0].format("function"), head[1]]
    lines += [f"| `{name}` | {_marks([name in one.forms for one in DIALECTS])} |" for name in sorted(FUNCTIONS)]
    return "\n".join(lines)


def _marks(several: list[bool]) -> str:
    return " | ".join("yes" if one else "no" for one in several)


def with_tables(page: str) -> str:
    """Return the text of a page with the tables written anew."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{tables()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
