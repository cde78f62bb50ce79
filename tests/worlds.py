"""What several tests share: small tables and sessions, a declared folder, scripted sources, pairs as events."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.event import Atom, Pair
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person, Rows, Unit
from privet.session import Session

PURE, BOTH, RHO = Pure(epsilon=500), Approximate(epsilon=500, delta=Fraction(1, 10**6)), Zcdp(rho=500)
"""Budgets that do not run out, of each kind."""

COLUMNS = {
    "person": integer(),
    "age": integer(0, 120),
    "cost": number(0, 1000, nullable=True),
    "ward": category(["a", "b", "c"]),
    "name": text(),
}
"""The columns of visits to a hospital."""


def as_table(rows: Sequence[Sequence[Any]], columns: Mapping[str, Any] = COLUMNS) -> pa.Table:
    """Return rows, whose values are in the order of some columns, as a table."""
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(columns)})


def visits_session(budget: Budget = PURE, unit: Unit | None = None, size: int = 30, **options: Any) -> Session:
    """Return a session over a table `t` of visits by ten people."""
    rows = [(i % 10, 20 + i % 50, float(i), "abc"[i % 3], f"name {i % 2}") for i in range(size)]
    limit = Contribution(groups=2, rows=2) if isinstance(unit, Person) else None
    table = Table(as_table(rows), unit=unit or Rows(), columns=COLUMNS, contribution=limit, **options)
    return Session({"t": table}, budget=budget)


DECLARED = """
[budget]
epsilon = 2
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 2, rows = 2 }
version = "2025"

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 110 }
ward = { values = ["heart", "lung"] }
name = "text"

[analysts.ana]
epsilon = 1
delta = 1e-7

[analysts.ben]
epsilon = 1
delta = 1e-7
tables = ["visits"]
"""
"""A privet.toml for the rows of `write_visits`."""

QUESTION = "SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM visits WHERE age >= 18 GROUP BY ward"


def write_visits(folder: Path) -> Path:
    """Write 4,000 visits and their privet.toml to a folder, and return it."""
    rows = "".join(f"{i // 2},{i % 90},{('heart', 'lung')[i % 2]},secret name {i}\n" for i in range(4000))
    (folder / "visits.csv").write_text(f"patient,age,ward,name\n{rows}")
    (folder / "privet.toml").write_text(DECLARED)
    return folder


class WorldTables:
    """One connection with every world of some tables: each row beside the number of its world."""

    def __init__(self, kinds: Mapping[str, Mapping[str, str]]) -> None:
        self.kinds = kinds
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        for name, own in kinds.items():
            columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(own.values()))
            self.connection.execute(f"CREATE TABLE {name}(world BIGINT, {columns})")

    def load(self, worlds: Sequence[Mapping[str, Sequence[Mapping[str, Any]]]]) -> None:
        """Replace all rows by those of some worlds."""
        for name, kinds in self.kinds.items():
            self.connection.execute(f"DELETE FROM {name}")
            columns: list[list[Any]] = [[] for _ in range(len(kinds) + 1)]
            for index, world in enumerate(worlds):
                for row in world[name]:
                    for column, value in zip(columns, (index, *(row[one] for one in kinds)), strict=True):
                        column.append(value)
            types = ("BIGINT", *kinds.values())
            unnested = ", ".join(f"unnest(${i}::{kind}[])" for i, kind in enumerate(types, start=1))
            self.connection.execute(f"INSERT INTO {name} SELECT {unnested}", columns)


class Stream:
    """A source that returns the words of an array, in order, and counts them."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = words
        self.used = 0

    def words(self, count: int) -> np.ndarray:
        self.used += count
        return self._words[self.used - count : self.used]

    def word(self) -> int:
        return int(self.words(1)[0])


class Script:
    """A source that returns the words of a script, and then the system's."""

    def __init__(self, *words: int) -> None:
        self.told = list(words)

    def word(self) -> int:
        return self.told.pop(0) if self.told else int.from_bytes(os.urandom(8), "little")

    def words(self, count: int) -> Any:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


def fresh(count: int) -> np.ndarray:
    """Return words of the system's source."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class PairEvent(Atom):
    """An event that is nothing but its pair."""

    inner: Pair

    def pure(self) -> Any:
        return math.inf

    def rho(self) -> Any:
        return math.inf

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return math.inf

    def pair(self) -> Pair:
        return self.inner


@dataclass(frozen=True)
class BoundedPairEvent(PairEvent):
    """An event that is nothing but its pair, with the largest loss that the pair has."""

    def pure(self) -> Any:
        largest = max(self.inner.reach())
        return largest if math.isinf(largest) else Fraction(largest)
