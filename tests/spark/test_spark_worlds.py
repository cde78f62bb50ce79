"""Spark gives the integers of the oracle and of DuckDB, over random worlds full of trouble and random questions."""

from __future__ import annotations

import datetime
import os
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from random_sql import Writer
from random_tables import PUBLIC, some_family, some_setting

from privet.core.errors import RequestError
from privet.core.scan import Pairs, Scan, Truncate, asks
from privet.core.schema import PublicTable, Table
from privet.core.wire import canonical
from privet.engines.duckdb.engine import DuckDB
from privet.engines.spark import Spark
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.query.sql.parse import parse
from privet.testing import Memory, arrow_tables, check_engine

ARROW = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
ARROW |= {"date": pa.date32(), "timestamp": pa.timestamp("us")}
WORLDS, QUESTIONS, TRIES = 40, 2 if os.environ.get("PRIVET_SOAK") else 1, 8
FREE = 10**6
SPEND = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
OWN_WAYS = ('"lower"', '"upper"', '"ln"', '"log10"', '"log2"', '"exp"', '"power"')
"""Functions in which engines may differ: letters beyond ASCII, and the last bit of a logarithm."""


def moment(kind: str, value: Any) -> Any:
    if value is None or kind not in {"date", "timestamp"}:
        return value
    try:
        return (datetime.date if kind == "date" else datetime.datetime).fromisoformat(value)
    except ValueError:
        return None


def table_of(facts: Any, source: Any) -> Table:
    if facts.unit.public:
        return PublicTable(source, columns=facts.columns, key=facts.key, rows=facts.rows)
    known = {"contribution": facts.contribution, "key": facts.key, "neighbors": facts.neighbors, "units": facts.units}
    return Table(source, unit=facts.unit, columns=facts.columns, **known)


def free(scan: Scan) -> Scan:
    """Return a scan in which every unit keeps all it has: which rows are dropped is up to chance."""
    bounding = scan.bounding
    if isinstance(bounding, Truncate):
        bounding = Truncate(FREE, FREE)
    if isinstance(bounding, Pairs):
        bounding = replace(bounding, most=1 if scan.schema.unit.rowwise else FREE)
    discovery = None if scan.discovery is None else replace(scan.discovery, most=100)
    return replace(scan, bounding=bounding, discovery=discovery)


def found(engine: Any, scan: Scan) -> Any:
    told = engine.scan(scan)
    if scan.places is not None:
        return {cell: (list(map(int, at)), list(map(int, n))) for cell, (at, n) in told._places.items()}
    groups = told._groups
    return groups if scan.discovery is not None else {cell: sums for cell, sums in groups.items() if any(sums)}


def questions(seed: int) -> tuple[Any, Any, list[Scan]]:
    """Return a random setting, a world of it, and the scans of some questions about it."""
    draw = random.Random(seed)
    setting = some_setting(draw)
    world = some_family(draw, setting, most=0)[0]
    scans: dict[str, Scan] = {}
    answered = 0
    for _ in range(TRIES):
        if answered == QUESTIONS:
            break
        try:
            query = parse(Writer(draw, setting).question(), setting.tables)
            bound = draw.choice(["norm", "groups"])
            plan = make_plan(query, setting.tables, spend=SPEND, bound=bound)
        except RequestError:
            continue
        answered += 1
        scans |= {canonical(free(one.scan)): free(one.scan) for one in plan.passes if asks(one.scan)}
    return setting, world, [scan for text, scan in scans.items() if not any(word in text for word in OWN_WAYS)]


@pytest.mark.parametrize("start", range(0, WORLDS, 10))
def test_spark_gives_the_integers_of_the_oracle_and_of_duckdb(spark: Any, start: int) -> None:
    told: Counter[str] = Counter()
    for seed in range(start, start + 10):
        setting, world, scans = questions(seed)
        rows, frames = {}, {}
        for name, listed in {**world, **PUBLIC}.items():
            facts = setting.declared[name]
            made = [{c: moment(one.kind, row[c]) for c, one in facts.columns.items()} for row in listed]
            kinds = pa.schema([(column, ARROW[one.kind]) for column, one in facts.columns.items()])
            rows[name] = table_of(facts, made)
            frames[name] = table_of(facts, pa.Table.from_pylist(made, schema=kinds))
        oracle = Memory(rows)
        with DuckDB(frames, threads=1) as duck, Spark(session=spark).over(frames) as cluster:
            for scan in scans:
                try:
                    oracle.check(scan)
                    cluster.check(scan)
                except RequestError:
                    told["refused"] += 1
                    continue
                told[type(scan.bounding).__name__] += 1
                told["made"] += not isinstance(scan.table, str)
                expected, got = found(duck, scan), found(cluster, scan)
                assert got == expected, (seed, scan)
                if scan.near is None:
                    assert got == found(oracle, scan), (seed, scan)
    assert told["refused"] <= 4, told
    assert sum(told.values()) >= 8, told


def test_spark_passes_the_suite_of_engines(spark: Any) -> None:
    assert len(check_engine(lambda tables: Spark(session=spark).over(arrow_tables(tables)), tables=4).held) == 10
