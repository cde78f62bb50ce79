"""Nothing of what a foreign error said, or held in its frames, can be reached from what a caller catches."""

from __future__ import annotations

import ast
import gc
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet.core.errors import EngineError, InvariantError, PrivetError, RequestError, raise_alone
from privet.core.scan import Scan, SealedSums
from privet.core.schema import Contribution, PublicTable, Table, integer, number, text, timestamp
from privet.core.unit import Person, Rows
from privet.engines.duckdb.engine import DuckDB
from privet.engines.duckdb.sources import DatabaseTable
from privet.engines.inspection import columns_at, inspect
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger

SOURCE = Path(privet.__file__).parent
PUBLIC = ("accounting", "cli", "plots", "query")
"""Packages that see no rows, no files of rows and no ledger: what they are given is public."""

SECRET = "Zaphod Beeblebrox, 42 Betelgeuse"
COLUMNS = {"who": integer(), "age": integer(0, 120), "cost": number(0, 10), "name": text()}


class Foreign(Exception):
    """What a database may raise: it quotes a row, and holds it."""


FAILURES: tuple[Callable[[], BaseException], ...] = (
    lambda: Foreign(SECRET),
    lambda: duckdb.ConversionException(SECRET),
    lambda: duckdb.OutOfRangeException(SECRET),
    lambda: sqlite3.OperationalError(SECRET),
    lambda: ValueError(SECRET),
    lambda: MemoryError(SECRET),
    lambda: OverflowError(SECRET),
    lambda: RuntimeError(SECRET),
    lambda: KeyError(SECRET),
    lambda: RecursionError(SECRET),
    lambda: UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET),
    lambda: ExceptionGroup(SECRET, [ValueError(SECRET)]),
    lambda: noted(EngineError()),
    lambda: chained(EngineError()),
    lambda: chained(InvariantError("the engine is wrong")),
    lambda: chained(RequestError("this is not for this engine")),
)


def noted(error: BaseException) -> BaseException:
    error.add_note(SECRET)
    return error


def chained(error: BaseException) -> BaseException:
    error.__context__, error.__cause__ = Foreign(SECRET), Foreign(SECRET)
    return error


def broken(failure: BaseException) -> None:
    """Raise a failure from a frame that holds a row, while another one is handled."""
    row = (SECRET, 42)
    try:
        raise Foreign(row)
    except Foreign:
        raise failure  # noqa: B904


def reached(error: BaseException) -> Iterator[object]:
    """Yield all that can be reached from an error: others, their text, notes and fields, and the locals of frames."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseException):
            waiting += [one.__context__, one.__cause__, one.__traceback__, *one.args, *vars(one).values()]
            waiting += [item for item in gc.get_referents(one) if isinstance(item, BaseException)]
        elif isinstance(one, TracebackType):
            waiting += [one.tb_next, one.tb_frame]
        elif isinstance(one, FrameType) and "/privet/" in one.f_code.co_filename:
            waiting += list(one.f_locals.values())
        elif isinstance(one, (list, tuple, set)):
            waiting += list(one)
        elif isinstance(one, dict):
            waiting += list(one.values())


def leaks(error: BaseException) -> list[str]:
    """Return what of a foreign error can be reached from one that is caught."""
    found = []
    for one in reached(error):
        if isinstance(one, BaseException) and not isinstance(one, PrivetError):
            found.append(f"an error: {type(one).__name__}")
        if isinstance(one, SealedSums):
            found.append("exact sums")
        if isinstance(one, str) and SECRET in one:
            found.append(f"a text: {one[:40]}")
    if error.__context__ is not None or error.__cause__ is not None:
        found.append("another error")
    return found


class Failing:
    """An engine that fails as it is told to."""

    def __init__(self, failure: Callable[[], BaseException]) -> None:
        self.failure = failure

    def check(self, scan: Scan) -> None:
        """Refuse nothing."""

    def scan(self, scan: Scan) -> SealedSums:
        broken(self.failure())
        raise AssertionError

    def close(self) -> None:
        """Close nothing."""


def tables() -> dict[str, Table]:
    rows = {"who": [1, 2], "age": [30, 40], "cost": [1.0, 2.0], "name": [SECRET, "b"]}
    return {
        "t": Table(pa.table(rows), unit=Person("who"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1))
    }


ASKED = (
    "SELECT COUNT(*) FROM t",
    "SELECT name, SUM(age) FROM t GROUP BY name",
    "SELECT MEDIAN(cost) FROM t",
)


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("failure", FAILURES)
def test_nothing_of_what_an_engine_raises_can_be_reached(failure: Callable[[], BaseException], sql: str) -> None:
    budget = privet.Approximate(epsilon=5, delta=1e-6)
    for ask in (lambda s: s.ask(sql, epsilon=1), lambda s: s.ask_all([sql], epsilon=1)):
        with privet.Session(tables(), budget=budget, engine=Failing(failure)) as session:  # type: ignore[arg-type]
            with pytest.raises(PrivetError) as caught:
                ask(session)
            assert leaks(caught.value) == []


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("entry", ["release", "release_all", "found_first"])
def test_nothing_can_be_reached_where_noise_cannot_be_drawn(
    failure: Callable[[], BaseException], sql: str, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"privet.execution.executor.{entry}", lambda *given: broken(failure()))
    grouped = "SELECT name, COUNT(*) FROM t GROUP BY name"
    asks: dict[str, Callable[[privet.Session], object]] = {
        "release": lambda session: session.ask(sql, epsilon=1),
        "release_all": lambda session: session.ask_all([sql], epsilon=1),
        "found_first": lambda session: session.ask(grouped, epsilon=1, other="all others"),
    }
    budget = privet.Approximate(epsilon=5, delta=1e-6)
    with privet.Session(tables(), budget=budget) as session:
        with pytest.raises(PrivetError) as caught:
            asks[entry](session)
        assert leaks(caught.value) == []


def test_nothing_of_what_duckdb_says_can_be_reached() -> None:
    with DuckDB(tables()) as engine:
        for sql in ("SELECT error(c3) FROM table0", "SELECT CAST(c3 AS INTEGER) FROM table0", "nonsense"):
            with pytest.raises(EngineError) as caught:
                engine._fetch(sql)
            assert leaks(caught.value) == []


def test_nothing_of_what_a_source_says_can_be_reached(tmp_path: Path) -> None:
    damaged = tmp_path / "rows.parquet"
    damaged.write_bytes(b"PAR1" + SECRET.encode() * 9 + b"PAR1")
    text_file = tmp_path / "rows.csv"
    text_file.write_bytes(b"\xff\xfe" + SECRET.encode())
    database = tmp_path / "rows.duckdb"
    database.write_bytes(SECRET.encode() * 100)
    sources: tuple[Any, ...] = (str(damaged), str(text_file), DatabaseTable(database, "t"), object(), 1)
    for source in sources:
        for made in (
            lambda one: Table(one, unit=Rows(), columns={"name": text(), "at": timestamp()}),
            lambda one: PublicTable(one, columns={"name": text()}),
        ):
            with pytest.raises(PrivetError) as caught:
                DuckDB({"t": made(source)})
            assert leaks(caught.value) == []
    for path in (damaged, text_file):
        assert SECRET not in str(inspect("t", Table(str(path), unit=Rows(), columns={"name": text()})))
    with pytest.raises(RequestError) as caught:
        columns_at("t", [str(damaged)])
    assert leaks(caught.value) == []


def test_nothing_of_what_sqlite_says_can_be_reached(tmp_path: Path) -> None:
    damaged = tmp_path / "ledger.db"
    damaged.write_bytes(SECRET.encode() * 100)
    damaged.chmod(0o600)
    with pytest.raises(PrivetError) as caught:
        SqliteLedger(damaged)
    assert leaks(caught.value) == []


def test_a_refusal_of_the_budget_carries_no_other() -> None:
    session = privet.Session(tables(), ledger=MemoryLedger(privet.Pure(epsilon=1)))
    with pytest.raises(privet.BudgetExceeded) as caught:
        session.ask("SELECT COUNT(*) FROM t", epsilon=2)
    assert leaks(caught.value) == []


def handling() -> None:
    try:
        raise Foreign(SECRET)
    except Foreign:
        raise_alone(EngineError())


@pytest.mark.parametrize("work", [handling, lambda: raise_alone(EngineError())])
def test_an_error_is_raised_alone_wherever_that_is_done(work: Callable[[], None]) -> None:
    with pytest.raises(EngineError) as caught:
        work()
    assert leaks(caught.value) == []


def raised_in_handlers(tree: ast.AST, handler: ast.ExceptHandler | None = None) -> Iterator[ast.Raise]:
    """Yield what is raised, in the text of an except block, anew: it would carry what is handled."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from raised_in_handlers(child)
        elif isinstance(child, ast.ExceptHandler):
            yield from raised_in_handlers(child, child)
        else:
            if isinstance(child, ast.Raise) and handler is not None and child.exc is not None:
                yield child
            yield from raised_in_handlers(child, handler)


def test_no_module_that_sees_rows_raises_while_it_handles_another_error() -> None:
    found, modules = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if (
            place.parts[0] in PUBLIC or str(place) == "audit/releases.py"
        ):  # a mechanism's author looks at what it raised
            continue
        modules += 1
        found += [f"{place}:{one.lineno}" for one in raised_in_handlers(ast.parse(path.read_text(encoding="utf-8")))]
    assert modules > 150
    assert found == []


def test_the_search_for_such_modules_finds_one() -> None:
    text = "try:\n    f()\nexcept OSError:\n    if x:\n        raise E from None\n"
    assert len(list(raised_in_handlers(ast.parse(text)))) == 1
    assert list(raised_in_handlers(ast.parse("try:\n    f()\nexcept E:\n    raise\n"))) == []
