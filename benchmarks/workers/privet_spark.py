"""Privet's side of tables on Spark: a Spark of its own, in the environment that has PySpark and Privet."""

from __future__ import annotations

import atexit
import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from serve import Task, processor_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from visits_table import BUDGET, QUESTION, visits_table

_prices = itertools.count(1)


@cache
def _spark() -> Any:
    from systems import SYSTEMS, Worker

    worker = Worker(SYSTEMS["spark"])
    atexit.register(worker.close)
    return worker


def on_spark(**parameters: Any) -> Callable[[], Any]:
    """Return a question that is asked there, and timed there."""
    worker = _spark()
    return lambda: worker.ask("by_privet", parameters)


def on_one_machine(rows: int) -> Callable[[], Any]:
    """Return the same question on DuckDB, in processor seconds."""
    opened, price = _on_duckdb(rows), 1 + Fraction(next(_prices), 1000)
    return lambda: processor_time(lambda: opened.ask(QUESTION, epsilon=price))


@cache
def _on_duckdb(rows: int) -> Any:
    import privet

    return privet.Session({"visits": visits_table(rows)}, budget=BUDGET)


ON_SPARK: dict[str, Task] = {"on_spark": on_spark, "on_one_machine": on_one_machine}
