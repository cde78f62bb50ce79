"""The suites of `privet.testing`: what is broken is named by the law that it breaks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.core.budget import Budget, Pure
from privet.core.errors import BadParameter, BudgetError
from privet.core.ports import Ledger
from privet.core.scan import Norm, Once, Scan, SealedSums, Truncate
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import Laplace
from privet.testing import Memory, check_aggregate, check_engine, check_ledger, check_mechanism

sys.path.insert(0, str(Path(__file__).parent))


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


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: check_engine(Memory({})), "make_engine"),
        (lambda: check_ledger(MemoryLedger(Pure(epsilon=1))), "make_ledger"),
        (lambda: check_mechanism(Laplace(sensitivity=1, epsilon=1), takes=[1]), "make"),
        (lambda: check_mechanism(lambda: Laplace(sensitivity=1, epsilon=1), takes=[]), "takes"),
        (lambda: check_mechanism(lambda: Laplace(sensitivity=1, epsilon=1), takes=3), "takes"),
    ],
)
def test_a_suite_refuses_an_object_in_place_of_what_makes_it(call: Any, parameter: str) -> None:
    with pytest.raises(BadParameter, match=f"^{parameter} must be"):
        call()


def test_an_aggregate_that_is_another_statistic_is_told() -> None:
    with pytest.raises(AssertionError, match="exact sums are read as the statistic"):
        check_aggregate("avg", exact=lambda values: float(np.median(values)))
