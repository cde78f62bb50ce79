"""Facts about an expression hold for what the engine computes, in its own arithmetic, and it never fails.

`PRIVET_SOAK` says how many more batches are tried: `make soak`.
"""

from __future__ import annotations

import os
import random
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from privet.core.errors import RequestError
from privet.core.relation import Expression
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.unit import Rows
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.scan_sql.dialect import Renderer
from privet.engines.scan_sql.row_values import clamped, physical, sources
from privet.query import intervals
from privet.query import typed as typed_module
from privet.query.expressions import typed

sys.path.insert(0, str(Path(__file__).parent))

from random_expressions import COLUMNS, Writer, rows

SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
BATCH = 40
SCHEMA = Schema(unit=Rows(), columns=COLUMNS)


class Table:
    """Hostile rows, read as a scan reads them: held to the declared facts."""

    def __init__(self, draw: random.Random, many: int = 60) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        kinds = ", ".join(f"c{place} {TYPES[facts.kind]}" for place, facts in enumerate(COLUMNS.values()))
        self.connection.execute(f"CREATE TABLE t({kinds})")
        marks = ", ".join("?" for _ in COLUMNS)
        self.connection.executemany(f"INSERT INTO t VALUES ({marks})", rows(draw, many))
        names = physical(SCHEMA)
        held = ", ".join(f"{clamped(f'r.{name}', COLUMNS[column], DUCKDB)} AS {name}" for column, name in names.items())
        self.rows = f"SELECT {held} FROM t AS r"

    def ends(self, expressions: list[Expression]) -> list[tuple[object, object, int, bool]]:
        """Return the least and the greatest value of each, how many are NULL, and whether one is not a number."""
        renderer = Renderer(sources(SCHEMA), DUCKDB)
        made = [renderer.render(one) for one in expressions]
        columns = ", ".join(f"{one.sql} AS e{place}" for place, one in enumerate(made))
        found = []
        for place, one in enumerate(made):
            wild = f"bool_or(NOT isfinite(e{place}))" if one.kind == "number" else "false"
            found.append(f"min(e{place}), max(e{place}), count(*) - count(e{place}), coalesce({wild}, false)")
        row = self.connection.execute(
            f"SELECT {', '.join(found)} FROM (SELECT {columns} FROM ({self.rows}))"
        ).fetchone()
        assert row is not None
        return [tuple(row[4 * place : 4 * place + 4]) for place in range(len(made))]  # type: ignore[misc]


def expressions(draw: random.Random, many: int) -> list[Expression]:
    writer, found = Writer(draw), []
    while len(found) < many:
        one = writer.numeric(draw.randint(1, 4))
        try:
            typed(one, COLUMNS)
            Renderer(sources(SCHEMA), DUCKDB).render(one)
        except RequestError:
            continue
        found.append(one)
    return found


def broken(table: Table, several: list[Expression]) -> list[str]:
    """Return what the engine computed that facts rule out."""
    found = []
    for one, (least, greatest, nulls, wild) in zip(several, table.ends(several), strict=True):
        facts = typed(one, COLUMNS)
        low, high = facts.ends
        if wild:
            found.append(f"{one}: not finite")
        if nulls and not facts.nullable:
            found.append(f"{one}: NULL")
        if least is None or wild:
            continue
        if (low is not None and Fraction(least) < low) or (high is not None and Fraction(greatest) > high):
            found.append(f"{one}: {least!r} to {greatest!r}, not within {low} to {high}")
        if facts.values is not None and facts.kind == "integer" and not {least, greatest} <= set(facts.values):
            found.append(f"{one}: {least} and {greatest}, not among {facts.values}")
        if facts.kind == "integer" and facts.step > 1 and low is not None and (least - low) % facts.step:
            found.append(f"{one}: {least} is not {low} and some steps of {facts.step}")
    return found


@pytest.mark.parametrize("seed", range(12 + SOAK))
def test_what_the_engine_computes_lies_within_the_facts(seed):
    draw = random.Random(seed)
    table = Table(draw)
    for _ in range(5):
        assert broken(table, expressions(draw, BATCH)) == []


@pytest.mark.parametrize(
    "fault",
    [
        (typed_module, "outward", lambda x: x),
        (intervals, "rounded", lambda x: intervals.rising(x, intervals.half_up)),
        (intervals, "outward", lambda x: x),
    ],
    ids=["exact ends", "exact halves", "exact steps"],
)
def test_facts_in_exact_arithmetic_are_refuted_within_seconds(monkeypatch, fault):
    monkeypatch.setattr(*fault)
    draw = random.Random(1)
    table = Table(draw)
    found = 0
    for _ in range(40):
        found += len(broken(table, expressions(draw, BATCH)))
        if found:
            return
    raise AssertionError("1,600 expressions refute nothing")


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_within_its_facts(name):
    from privet.core.relation import ColumnRef

    facts: Facts = COLUMNS[name]
    if facts.kind in ("integer", "number"):
        assert broken(Table(random.Random(3), 400), [ColumnRef(name)]) == []
