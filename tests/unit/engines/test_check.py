"""An engine refuses what it cannot run before it is charged, and writes each scan as SQL once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core import schema
from privet.core.errors import RequestError, Unsupported
from privet.core.ports import Engine
from privet.core.relation import ColumnRef
from privet.core.scan import Norm, Once, Scan, Sum
from privet.core.unit import Person, Rows
from privet.engines.duckdb import engine as engine_module
from privet.engines.duckdb.engine import DuckDB
from privet.ledger.memory import MemoryLedger
from privet.testing.oracle import Memory

COLUMNS = {"who": schema.integer(), "x": schema.integer(0, 9), "g": schema.category(["a", "b"])}
ROWS = [{"who": index % 7, "x": index % 10, "g": "ab"[index % 2]} for index in range(50)]


def tables(source: Any = None) -> dict[str, privet.Table]:
    return {
        "t": privet.Table(
            pa.Table.from_pylist(ROWS) if source is None else source,
            unit=Person("who"),
            columns=COLUMNS,
            contribution=privet.Contribution(groups=1, rows=1),
        )
    }


def too_wide() -> Scan:
    facts = schema.Schema(unit=Rows(), columns=COLUMNS, rows=2**50)
    return Scan("t", facts, None, (), (Sum(ColumnRef("x"), 0, 2**80, step=Fraction(1, 2**76)),), Once())


def plain() -> Scan:
    return Scan("t", schema.Schema(unit=Person("who"), columns=COLUMNS), None, (), (Sum(None, 1, 1),), Norm(1, 3, 7))


def engines() -> list[Engine]:
    return [DuckDB(tables()), Memory(tables(ROWS))]


def test_every_engine_is_one_by_the_port() -> None:
    assert all(isinstance(one, Engine) for one in engines())


@pytest.mark.parametrize("engine", engines(), ids=lambda one: type(one).__name__)
def test_an_engine_refuses_numbers_that_may_not_fit(engine: Engine) -> None:
    with pytest.raises(Unsupported, match="128 bits"):
        engine.check(too_wide())
    engine.check(plain())


def test_a_scan_is_written_once_for_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    original = engine_module.write_scan
    monkeypatch.setattr(
        engine_module,
        "write_scan",
        lambda scan, *rest, **more: (written.append(scan), original(scan, *rest, **more))[1],
    )
    with privet.Session(tables(), budget=privet.Pure(epsilon=10)) as session:
        plan = session.plan("SELECT g, COUNT(*), AVG(x) FROM t GROUP BY g", epsilon=1)
        session.run(plan)
        assert written == [one.scan for one in plan.passes]


def test_a_scan_that_is_run_again_has_a_fresh_key_for_its_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    original = engine_module.write_scan
    monkeypatch.setattr(
        engine_module, "write_scan", lambda *given, **more: (drawn.append(given[3]), original(*given, **more))[1]
    )
    with DuckDB(tables()) as engine:
        scan = plain()
        engine.check(scan)
        engine.scan(scan)
        engine.scan(scan)
    assert len(drawn) == len(set(drawn)) == 2


def test_what_was_checked_and_never_run_is_let_go_of() -> None:
    with DuckDB(tables()) as engine:
        for _ in range(1000):
            engine.check(plain())
        assert len(engine._checked) <= engine_module._MOST_CHECKED


class Refusing(Memory):
    def check(self, scan: Scan) -> None:
        raise Unsupported("this engine has no function SQRT")


def test_what_an_engine_refuses_is_never_charged() -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=10))
    with privet.Session(tables(ROWS), ledger=ledger, engine=Refusing(tables(ROWS))) as session:
        for ask in (
            lambda: session.ask("SELECT COUNT(*) FROM t", epsilon=1),
            lambda: session.ask_all(["SELECT COUNT(*) FROM t", "SELECT AVG(x) FROM t"], epsilon=1),
        ):
            with pytest.raises(RequestError, match="no function SQRT"):
                ask()
    assert ledger.history() == ()
