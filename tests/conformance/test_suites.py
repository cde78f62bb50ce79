"""The suites of `privet.testing`: everything in the package passes them, and what is broken is named."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.core.budget import Budget
from privet.core.errors import BudgetError
from privet.core.ports import Engine, Ledger
from privet.core.scan import Norm, Once, Scan, SealedSums, Truncate
from privet.core.schema import Table
from privet.engines.duckdb.engine import DuckDB
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.testing import Memory, arrow_tables, check_aggregate, check_engine, check_ledger, check_mechanism

sys.path.insert(0, str(Path(__file__).parent))

from jsonlines_ledger import JsonLinesLedger
from test_mechanisms import CASES, Case


def duckdb(tables: Mapping[str, Table]) -> DuckDB:
    return DuckDB(arrow_tables(tables), threads=1)


ENGINES: dict[str, Callable[[Mapping[str, Table]], Engine]] = {"DuckDB": duckdb, "Memory": Memory}
LEDGERS = ("memory", "sqlite", "jsonlines")
AGGREGATES: dict[str, Callable[[np.ndarray], float]] = {
    "count": len,
    "sum": lambda values: values.sum(),
    "avg": lambda values: values.mean(),
    "var_pop": lambda values: values.var(),
    "var_samp": lambda values: values.var(ddof=1),
    "stddev_pop": lambda values: values.std(),
    "stddev_samp": lambda values: values.std(ddof=1),
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_passes_its_suite(name: str) -> None:
    assert len(check_engine(ENGINES[name], tables=6).held) == 9


@pytest.mark.parametrize("name", LEDGERS)
def test_every_ledger_passes_its_suite(name: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    def make(budget: Budget) -> Any:
        if name == "memory":
            return MemoryLedger(budget)
        kind = SqliteLedger if name == "sqlite" else JsonLinesLedger
        return kind(tmp_path / f"{next(numbers)}.ledger", budget)

    assert len(check_ledger(make).held) == 10


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_mechanism_passes_its_suite(case: Case) -> None:
    report = check_mechanism(
        case.make, takes=case.takes, refuses=[value for value in case.refuses if value == "secret-77"]
    )
    assert len(report.held) == 8


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_passes_its_suite(name: str) -> None:
    assert len(check_aggregate(name, exact=AGGREGATES[name]).held) == 5


class Unclamped(Memory):
    """Counts a row twice."""

    def scan(self, scan: Scan) -> SealedSums:
        found = super().scan(scan)
        return SealedSums({cell: tuple(2 * one for one in sums) for cell, sums in found._groups.items()}, found._places)


class Unbounded(Memory):
    """Keeps every row of a unit."""

    def scan(self, scan: Scan) -> SealedSums:
        cut = isinstance(scan.bounding, Truncate)
        return super().scan(replace(scan, bounding=Truncate(10**6, 10**6)) if cut else scan)


class Careless(Memory):
    """Refuses nothing beforehand."""

    def check(self, scan: Scan) -> None:
        pass


class Foretold(Memory):
    """Keeps the same rows of a unit every time."""

    kept: dict[Any, SealedSums]

    def scan(self, scan: Scan) -> SealedSums:
        if isinstance(scan.bounding, (Once, Norm)):
            return super().scan(scan)
        self.kept = getattr(self, "kept", {})
        return self.kept.setdefault(repr(scan), super().scan(scan))


@pytest.mark.parametrize(
    ("engine", "law"),
    [
        (Unclamped, "sums are those of the reference"),
        (Unbounded, "a unit counts in no more rows and groups than it may"),
        (Careless, "numbers that may not fit are refused"),
        (Foretold, "which rows are kept changes from scan to scan"),
    ],
)
def test_a_broken_engine_is_told_by_the_law_that_it_breaks(engine: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_engine(engine, tables=3)


class Generous(MemoryLedger):
    """Grants everything."""

    def charge(self, *given: Any, **named: Any) -> Any:
        try:
            return super().charge(*given, **named)
        except BudgetError:
            return self.last
        finally:
            self.last = None


class Forgetful(MemoryLedger):
    """Finds no answer that was stored."""

    def find(self, digest: str, account: str) -> None:
        return None


@pytest.mark.parametrize(
    ("ledger", "law"),
    [(Generous, "exactly what fits is granted"), (Forgetful, "an answer comes back as it was stored")],
)
def test_a_broken_ledger_is_told_by_the_law_that_it_breaks(ledger: Callable[[Budget], Ledger], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_ledger(ledger)


def test_an_aggregate_that_is_another_statistic_is_told() -> None:
    with pytest.raises(AssertionError, match="exact sums are read as the statistic"):
        check_aggregate("avg", exact=lambda values: float(np.median(values)))
