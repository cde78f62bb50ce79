"""Conformance suites that anyone can run over an engine, a ledger, a mechanism or an aggregate of their own.

Each suite is a list of laws. All of them run; what failed is raised together, by name, as one `AssertionError`.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import inspect
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.accounting.events import PureEvent
from privet.aggregates import Aggregate, Argument, NamedAggregate, entry_of
from privet.audit import audit
from privet.core import schema
from privet.core.budget import Approximate, Budget, Pure
from privet.core.division import Touched
from privet.core.errors import BadParameter, BudgetError, LedgerError, PrivetError, RequestError
from privet.core.event import Event, Receipt, Repeated
from privet.core.given import function, optional_package
from privet.core.numbers import float_up
from privet.core.ports import CountsBlocks, Engine, KeepsSecrets, KeepsSteps, Ledger, LedgerAdmin, StepProgress
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Bounding, GroupKey, Norm, Once, Pairs, Products, RowNorm, Scan, Sum, Truncate
from privet.core.schema import Contribution, Table
from privet.core.unit import Person, Rows
from privet.ledger.codec import read_event, write_event
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import Mechanism

from .oracle import Memory, gives

Law = tuple[str, Callable[[], None]]


@dataclass(frozen=True)
class SuiteReport:
    """What a suite found: the laws that hold, and those that were broken, each with how."""

    subject: str
    held: tuple[str, ...]
    broken: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.subject}: {len(self.held)} laws hold, {len(self.broken)} do not"]
        return "\n".join([*lines, *(f"  {law}: {how}" for law, how in self.broken)])


class _Broken(Exception):
    """A law does not hold."""


def _holds(holds: bool, how: str) -> None:
    if not holds:
        raise _Broken(how)


@contextmanager
def _refused(kind: type[Exception], how: str) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise _Broken(how)


def _run(subject: str, laws: Sequence[Law]) -> SuiteReport:
    held, broken = [], []
    for name, law in laws:
        try:
            law()
        except Exception as error:  # whatever a stranger's code raises is a law that does not hold
            how = str(error) if isinstance(error, _Broken) else f"{type(error).__name__}: {error}"
            broken.append((name, how))
        else:
            held.append(name)
    report = SuiteReport(subject, tuple(held), tuple(broken))
    if broken:
        raise AssertionError(str(report))
    return report


# Engines


_COLUMNS = {
    "who": schema.integer(nullable=True),
    "city": schema.category(["Ulm", "Bonn", "O'Hara"], nullable=True),
    "shop": schema.text(nullable=True),
    "age": schema.integer(0, 5, nullable=True),
    "pay": schema.number(Fraction(-1, 2), 10, step=Fraction(1, 100), nullable=True),
    "ok": schema.boolean(nullable=True),
}
_NUMBERS = (None, 0.0, -0.0, 0.005, 0.015, 9.995, -0.5, 10.0, 5e-324, 1e308, math.inf, -math.inf, 3.25, -2.0, 11.0)
_CITY = GroupKey(ColumnRef("city"), ("Ulm", "Bonn", "O'Hara", None), True)
_SHOP = GroupKey(ColumnRef("shop"), None, True)
_LISTED = GroupKey(ColumnRef("shop"), tuple(f"s{index}" for index in range(40)), False)
_AGE = GroupKey(ColumnRef("age"), (0, 1, 2, 3, 4, 5), False)
_COUNT = Sum(None, 1, 1)
_SUMS = (
    _COUNT,
    Sum(None, 1, 1, where=Call("less", (ColumnRef("age"), Literal(3)))),
    Sum(ColumnRef("age"), 0, 5, null_as=0),
    Sum(ColumnRef("age"), -5, 5, origin=Fraction(5, 2), step=Fraction(1, 2), null_as=-5),
    Sum(ColumnRef("pay"), -50, 1000, step=Fraction(1, 100)),
    Sum(ColumnRef("pay"), -200, 5000, step=Fraction(1, 100), null_as=7),
    Sum(ColumnRef("pay"), -525, 525, origin=Fraction(19, 4), step=Fraction(1, 100), power=2, offset=137812),
)
_WHERES = (
    None,
    Call("greater", (ColumnRef("pay"), Literal(Fraction(1, 2)))),
    Call("or", (ColumnRef("ok"), Call("is_null", (ColumnRef("pay"),)))),
)
_ALL = 10**6
"""More rows and groups than a unit has: which of them are kept is then not specified."""

Tables = Mapping[str, Table]


def check_engine(make_engine: Callable[[Tables], Engine], *, tables: int = 12) -> SuiteReport:
    """Run every law of engines over an engine of one's own, and raise those that do not hold.

    Args:
        make_engine: returns a fresh engine over tables whose sources are lists of rows, as `Memory` takes them.
        tables: how many random tables it is compared with the reference over.

    Returns:
        The report; scans that the engine refuses by `check` are counted as refused, not as wrong.

    Raises:
        AssertionError: some law does not hold; the message names each.

    Example:
        >>> print(testing.check_engine(testing.Memory, tables=2))
        Memory: 10 laws hold, 0 do not
    """
    function(make_engine, "make_engine", "a function or class that makes an engine over tables")
    laws: list[Law] = [
        ("it is an engine by the port", lambda: _is_engine(make_engine)),
        ("a count and a sum by group are run", lambda: _runs_the_least(make_engine)),
        ("sums are those of the reference", lambda: _same_sums(make_engine, tables)),
        ("counts by place are those of the reference", lambda: _same_places(make_engine, tables)),
        ("different values are those of the reference", lambda: _same_values(make_engine, tables)),
        ("sums of products are those of the reference", lambda: _same_products(make_engine, tables)),
        ("an empty table takes the ordinary path", lambda: _empty(make_engine)),
        ("a unit counts in no more rows and groups than it may", lambda: _bounded(make_engine)),
        ("which rows are kept changes from scan to scan", lambda: _chosen_anew(make_engine)),
        ("numbers that may not fit are refused before they are read", lambda: _too_wide(make_engine)),
    ]
    return _run(getattr(make_engine, "__name__", "engine"), laws)


def arrow_tables(tables: Tables) -> dict[str, Table]:
    """Return tables of rows as Arrow tables of the declared kinds, for an engine that reads these."""
    pa = optional_package("pyarrow", "Arrow tables need")
    kinds = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
    made = {}
    for name, table in tables.items():
        fields = pa.schema([(column, kinds[facts.kind]) for column, facts in table.schema.columns.items()])
        rows: Any = table.source
        source = pa.Table.from_pylist(list(rows), schema=fields)
        made[name] = Table(
            source, unit=table.schema.unit, columns=table.schema.columns, contribution=table.schema.contribution
        )
    return made


@contextmanager
def _opened(make: Callable[[Tables], Engine], rows: list[Any], unit: Any) -> Iterator[tuple[Engine, Memory, Table]]:
    table = Table(rows, unit=unit, columns=_COLUMNS, contribution=Contribution(groups=1, rows=1))
    engine = make({"t": table})
    try:
        yield engine, Memory({"t": table}), table
    finally:
        engine.close()


def _groups(engine: Engine, scan: Scan) -> dict[Any, Any]:
    """Return the sums of the groups that are not all zero: which others come back is up to the engine."""
    return {cell: sums for cell, sums in engine.scan(scan)._groups.items() if any(sums)}


class _Choices:
    """Choices that look random and are the same in every run, so that what a suite finds can be found again."""

    def __init__(self, seed: int) -> None:
        self.seed, self.drawn = seed, 0

    def randrange(self, low: int, high: int) -> int:
        """Return a whole number from low to high - 1."""
        self.drawn += 1
        digest = hashlib.sha256(f"{self.seed} {self.drawn}".encode()).digest()
        return low + int.from_bytes(digest, "big") % (high - low)

    def choice(self, options: Sequence[Any]) -> Any:
        """Return one of several."""
        return options[self.randrange(0, len(options))]


def _rows(draw: _Choices) -> list[dict[str, Any]]:
    return [
        {
            "who": draw.choice((None, 1, 2, 3, 4, -(2**63))),
            "city": draw.choice((None, "Ulm", "Bonn", "O'Hara", "elsewhere", "")),
            "shop": draw.choice((None, "", "s1", "s2", "S1", "é")),
            "age": draw.choice((None, *range(-3, 10))),
            "pay": draw.choice(_NUMBERS),
            "ok": draw.choice((None, True, False)),
        }
        for _ in range(draw.randrange(0, 25))
    ]


def _is_engine(make: Callable[[Tables], Engine]) -> None:
    with _opened(make, [], Rows()) as (engine, _, _):
        _holds(isinstance(engine, Engine), "it lacks check, scan or close")


def _runs_the_least(make: Callable[[Tables], Engine]) -> None:
    rows = [dict.fromkeys(_COLUMNS) | {"who": 1, "city": "Ulm", "age": 2} for _ in range(3)]
    with _opened(make, rows, Rows()) as (engine, _, table):
        scan = Scan("t", table.schema, None, (_CITY,), (_COUNT, _SUMS[2]), Once())
        engine.check(scan)
        groups = engine.scan(scan)._groups
        _holds(groups.get(("Ulm",)) == (3, 6), f"3 rows of age 2 in Ulm came back as {groups.get(('Ulm',))}")
        whole = all(type(number) is int for sums in groups.values() for number in sums)
        _holds(whole, "a sum is not an integer of Python's")


def _compared(make: Callable[[Tables], Engine], count: int, seed: int, scan_of: Any, read: Any) -> None:
    """Compare an engine with the reference over random tables; what `check` refuses is not run."""
    draw, run = _Choices(seed), 0
    for _ in range(count):
        unit: Any = draw.choice((Rows(), Person("who")))
        with _opened(make, _rows(draw), unit) as (engine, reference, table):
            for _ in range(4):
                scan = scan_of(draw, table, unit)
                try:
                    engine.check(scan)
                except RequestError:
                    continue
                run += 1
                _holds(read(engine, scan) == read(reference, scan), f"another answer than the reference's to {scan}")
    _holds(run > 0 or count == 0, "no scan of this kind is run: all are refused")


def _bounding(draw: _Choices, unit: Any, orders: tuple[int, ...] = (1, 2)) -> Bounding:
    if unit.rowwise:
        return Once()
    norm: Any = Norm(draw.choice(orders), draw.randrange(1, 12), draw.choice((0, 7)))
    chosen: Bounding = draw.choice((norm, Truncate(_ALL, _ALL)))
    return chosen


def _same_sums(make: Callable[[Tables], Engine], count: int) -> None:
    def scan_of(draw: _Choices, table: Table, unit: Any) -> Scan:
        keys = draw.choice(((), (_CITY,), (_SHOP,), (_AGE, _CITY), (_LISTED,)))
        sums = tuple(draw.choice(_SUMS) for _ in range(draw.randrange(1, 5)))
        return Scan("t", table.schema, draw.choice(_WHERES), keys, sums, _bounding(draw, unit))

    _compared(make, count, 1, scan_of, _groups)


def _same_places(make: Callable[[Tables], Engine], count: int) -> None:
    def scan_of(draw: _Choices, table: Table, unit: Any) -> Scan:
        places = draw.choice((Sum(ColumnRef("age"), 0, 5), Sum(ColumnRef("pay"), 0, 900, step=Fraction(1, 100))))
        keys = draw.choice(((), (_CITY,), (_LISTED,)))
        return Scan("t", table.schema, None, keys, (), _bounding(draw, unit, (1,)), places=places)

    def read(engine: Engine, scan: Scan) -> Any:
        counts = engine.scan(scan)._places
        return {cell: (list(map(int, at)), list(map(int, weight))) for cell, (at, weight) in counts.items()}

    _compared(make, count, 2, scan_of, read)


def _same_values(make: Callable[[Tables], Engine], count: int) -> None:
    def scan_of(draw: _Choices, table: Table, unit: Any) -> Scan:
        of, keys = ColumnRef(draw.choice(("shop", "age", "city"))), draw.choice(((), (_CITY,)))
        most = 1 if unit.rowwise else _ALL
        return Scan("t", table.schema, draw.choice(_WHERES), keys, (_COUNT,), Pairs(of, most))

    _compared(make, count, 3, scan_of, _groups)


def _same_products(make: Callable[[Tables], Engine], count: int) -> None:
    def scan_of(draw: _Choices, table: Table, unit: Any) -> Scan:
        factors = (_SUMS[0], _SUMS[1], _SUMS[3], _SUMS[4])
        pairs = tuple((first, second) for second in range(4) for first in range(second + 1))
        norm = draw.choice((None, RowNorm(1, draw.randrange(1, 400), 3, 10), RowNorm(2, draw.randrange(1, 9000), 4, 8)))
        bounding: Bounding = Once() if unit.rowwise else Norm(1, draw.randrange(1, 12), draw.choice((0, 7)))
        return Scan("t", table.schema, draw.choice(_WHERES), (), factors, bounding, products=Products(pairs, norm))

    _compared(make, count, 4, scan_of, _groups)


def _empty(make: Callable[[Tables], Engine]) -> None:
    for bounding, unit in ((Once(), Rows()), (Norm(1, 5, 7), Person("who")), (Truncate(2, 2), Person("who"))):
        with _opened(make, [], unit) as (engine, _, table):
            for keys in ((), (_CITY,)):
                groups = _groups(engine, Scan("t", table.schema, None, keys, (_COUNT, _SUMS[4]), bounding))
                _holds(groups == {}, f"no rows gave {groups} under {bounding}")


def _many_of_one() -> list[dict[str, Any]]:
    people, shops = (1, 2), range(9)
    return [
        dict.fromkeys(_COLUMNS) | {"who": who, "shop": f"s{shop}", "age": shop % 6}
        for who in people
        for shop in shops
        for _ in range(4)
    ]


def _bounded(make: Callable[[Tables], Engine]) -> None:
    with _opened(make, _many_of_one(), Person("who")) as (engine, _, table):
        for keys, most in (((_LISTED,), 3 * 2), ((), 2)):
            groups = _groups(engine, Scan("t", table.schema, None, keys, (_COUNT,), Truncate(3, 2)))
            total = sum(sums[0] for sums in groups.values())
            _holds(total == 2 * most, f"two people who may count {most} times each counted {total} times")
        groups = _groups(engine, Scan("t", table.schema, None, (_LISTED,), (_COUNT,), Norm(1, 5, 7)))
        total = sum(sums[0] for sums in groups.values())
        _holds(total <= 2 * 5 * 2**7, f"the weights of two people exceed their norm: {total}")


def _chosen_anew(make: Callable[[Tables], Engine]) -> None:
    with _opened(make, _many_of_one(), Person("who")) as (engine, _, table):
        scan = Scan("t", table.schema, None, (_LISTED,), (_COUNT,), Truncate(2, 1))
        seen = {repr(sorted(_groups(engine, scan).items())) for _ in range(20)}
        _holds(len(seen) > 1, "20 scans kept the same groups of a person: what is kept can be foretold")


def _too_wide(make: Callable[[Tables], Engine]) -> None:
    with _opened(make, [], Rows()) as (engine, _, table):
        facts = replace(table.schema, rows=2**50)
        scan = Scan("t", facts, None, (), (Sum(ColumnRef("age"), 0, 2**80, step=Fraction(1, 2**76)),), Once())
        with _refused(RequestError, "check lets pass a sum that may not fit into 128 bits"):
            engine.check(scan)


# Ledgers


def check_ledger(make_ledger: Callable[[Budget], Ledger]) -> SuiteReport:
    """Run every law of ledgers over a ledger of one's own, and raise those that do not hold.

    Args:
        make_ledger: returns a fresh ledger of a budget.

    Raises:
        AssertionError: some law does not hold; the message names each.

    Example:
        >>> print(testing.check_ledger(privet.ledger.MemoryLedger))
        MemoryLedger: 14 laws hold, 0 do not
    """
    function(make_ledger, "make_ledger", "a function or class that makes a ledger of a budget")
    laws: list[Law] = [
        (name, lambda law=law: law(make_ledger))  # type: ignore[misc]
        for name, law in (
            ("it is a ledger by the port", _is_ledger),
            ("exactly what fits is granted", _fits),
            ("a refused charge leaves no trace", _no_trace),
            ("an infinite cost is never charged", _infinite),
            ("an answer comes back as it was stored, to who paid", _stored),
            ("the first answer to a plan is kept", _first_kept),
            ("nothing is stored for a forged receipt", _forged),
            ("the same key is charged once", _same_key),
            ("three failures in a row freeze an account", _frozen),
            ("threads get exactly what fits together", _threads),
            ("blocks share a budget, where they are counted", _shared_blocks),
            ("steps are opened once and in order, from the state before", _steps),
            ("who opened steps last is the only one to close them", _steps_raced),
            ("a secret text is kept with its step, and is no part of the record", _secrets),
        )
    ]
    return _run(getattr(make_ledger, "__name__", "ledger"), laws)


def _pure(epsilon: Fraction | int) -> PureEvent:
    return PureEvent(Fraction(epsilon))


_Make = Callable[[Budget], Ledger]


def _is_ledger(make: _Make) -> None:
    _holds(isinstance(make(Pure(epsilon=1)), Ledger), "it lacks a method of the port")


def _fits(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    for index in range(3):
        ledger.charge(_pure(Fraction(1, 3)), f"plan {index}", account="ana")
    with _refused(BudgetError, "a charge beyond the budget is granted, if it is small enough"):
        ledger.charge(_pure(Fraction(1, 10**30)), "one too many", account="ana")
    _holds(ledger.remaining().amount == 0, f"{ledger.remaining().amount} is left of nothing")
    _holds([entry.event for entry in ledger.history()] == [_pure(Fraction(1, 3))] * 3, "the history is another")
    ledger.verify()


def _no_trace(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    with _refused(BudgetError, "twice the budget is granted"):
        ledger.charge(_pure(2), "plan", account="ana")
    _holds(ledger.history() == (), "a refused charge is in the history")
    _holds(not ledger.admits(_pure(2), account="ana") and ledger.admits(_pure(1), account="ana"), "admits is wrong")


def _infinite(make: _Make) -> None:
    from privet.accounting.events import ZcdpEvent

    ledger = make(Pure(epsilon=1))
    with _refused(PrivetError, "an event without a pure epsilon is charged to a pure budget"):
        ledger.charge(ZcdpEvent(Fraction(1, 100)), "plan", account="ana")
    _holds(ledger.history() == (), "it is in the history")


def _stored(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(_pure(Fraction(1, 2)), "plan", account="ana")
    _holds(ledger.find("plan", "ana") is None, "an answer is found that was not stored")
    answer = ((1, "Ulm", None, True), (Fraction(1, 3), -5))
    ledger.store(receipt, answer)
    stored = ledger.find("plan", "ana")
    _holds(stored is not None and stored[1] == answer, "the answer is another")
    _holds(ledger.find("plan", "ben") is None, "another account reads it without a charge")


def _first_kept(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    first = ledger.charge(_pure(Fraction(1, 4)), "plan", account="ana")
    _holds(ledger.store(first, (1,))[1] == (1,), "what is stored is not what comes back")
    _holds(ledger.store(first, (2,))[1] == (1,), "a second draw takes the place of the first")


def _forged(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.charge(_pure(Fraction(1, 4)), "plan", account="ana")
    with _refused(PrivetError, "an answer is stored for a charge that was not made"):
        ledger.store(Receipt(7, "other", "ana"), (1,))


def _same_key(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    charges = [ledger.charge(_pure(Fraction(1, 4)), "plan", account="ana", key="mine") for _ in range(3)]
    _holds(len(ledger.history()) == 1, "a retry is charged again")
    _holds(len({charge.entry for charge in charges}) == 1, "a retry returns another receipt")


def _frozen(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    for index in range(3):
        ledger.fail(ledger.charge(_pure(Fraction(1, 100)), f"plan {index}", account="ana"))
    with _refused(PrivetError, "an account whose last three scans failed may go on"):
        ledger.charge(_pure(Fraction(1, 100)), "next", account="ana")
    if isinstance(ledger, LedgerAdmin):
        ledger.clear("ana", reason="the disk was full")
        ledger.charge(_pure(Fraction(1, 100)), "next", account="ana")


def _stepping(make: _Make) -> tuple[KeepsSteps, Receipt] | None:
    """Return a fresh ledger and a charge whose steps have begun with the hash of zeros, if it counts steps at all."""
    ledger = make(Pure(epsilon=1))
    if not isinstance(ledger, KeepsSteps):
        return None
    receipt = ledger.charge(_pure(Fraction(1, 2)), "stream", account="ana")
    ledger.begin_steps(receipt, state="0" * 64)
    return ledger, receipt


def _steps(make: _Make) -> None:
    if (begun := _stepping(make)) is None:
        return
    ledger, receipt = begun
    with _refused(LedgerError, "one charge begins two streams"):
        ledger.begin_steps(receipt, state="f" * 64)
    with _refused(LedgerError, "steps open from another state"):
        ledger.open_steps(receipt, after=0, upto=1, state="f" * 64)
    opening = ledger.open_steps(receipt, after=0, upto=2, state="0" * 64)
    progress = ledger.progress(receipt)
    _holds(progress is not None and (progress.step, progress.opened) == (0, 2), "an open step is not reported")
    closed = ledger.close_steps(receipt, opening=opening, state="a" * 64)
    _holds((closed.step, closed.state, closed.opened) == (2, "a" * 64, None), "a closed step is not reported")
    for after, state in ((0, "0"), (1, "a"), (2, "0"), (3, "a")):
        with _refused(LedgerError, "a state that was rolled back, or that is not there yet, opens a step"):
            ledger.open_steps(receipt, after=after, upto=after + 1, state=state * 64)
    opening = ledger.open_steps(receipt, after=2, upto=3, state="a" * 64)
    ledger.close_steps(receipt, opening=opening, state="b" * 64, released=(1, "x"), last=True)
    with _refused(LedgerError, "a step opens after the last one"):
        ledger.open_steps(receipt, after=3, upto=4, state="b" * 64)
    with _refused(LedgerError, "steps begin without their charge"):
        ledger.begin_steps(replace(receipt, account="bob"), state="0" * 64)


def _secrets(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    if not isinstance(ledger, KeepsSecrets):
        return  # this ledger keeps none
    receipt = ledger.charge(_pure(Fraction(1, 4)), "vector", account="ana")
    _holds(ledger.kept_text(receipt) is None, "a text is there before one is kept")
    try:
        ledger.begin_steps(receipt, state="0" * 64, kept="secret 0")
    except LedgerError:
        return  # its store keeps none, and raises
    _holds(ledger.kept_text(receipt) == "secret 0", "a text does not come back as it was kept")
    with _refused(LedgerError, "steps open from another state"):
        ledger.open_steps(receipt, after=0, upto=1, state="f" * 64, kept="secret 1")
    _holds(ledger.kept_text(receipt) == "secret 0", "a step that is refused keeps its text")
    opening = ledger.open_steps(receipt, after=0, upto=1, state="0" * 64, kept="secret 2")
    _holds(ledger.kept_text(receipt) == "secret 2", "the text of a step that is open is not kept")
    with _refused(LedgerError, "another opening closes steps"):
        ledger.close_steps(receipt, opening=opening + 1, state="a" * 64, kept="secret 3")
    _holds(ledger.kept_text(receipt) == "secret 2", "a step that is not closed keeps its text")
    ledger.close_steps(receipt, opening=opening, state="a" * 64, kept="secret 4")
    _holds(ledger.kept_text(receipt) == "secret 4", "the text of a step that is closed is not kept")
    asked: list[tuple[int | None, str | None]] = []

    def draw(progress: StepProgress, text: str | None) -> str:
        asked.append((progress.opened, text))
        return f"secret {4 + len(asked)}"

    with _refused(LedgerError, "steps open from another state"):
        ledger.draw_steps(receipt, after=1, upto=2, state="f" * 64, draw=draw)
    _holds(not asked, "what is drawn for a step is drawn before the step may be opened")
    ledger.draw_steps(receipt, after=1, upto=3, state="a" * 64, draw=draw)
    opening, text = ledger.draw_steps(receipt, after=1, upto=2, state="a" * 64, draw=draw)
    _holds(asked == [(None, "secret 4"), (3, "secret 5")], "a step that is opened again does not return what was drawn")
    _holds(text == ledger.kept_text(receipt) == "secret 6", "what is drawn for a step is not kept")
    reached = ledger.progress(receipt)
    hashed = hashlib.sha256(b"secret 6").hexdigest()
    _holds(reached is not None and reached.about == hashed, "an opening does not know what was drawn for it")
    ledger.close_steps(receipt, opening=opening, state="b" * 64, kept="", last=True)
    _holds(ledger.kept_text(receipt) is None, "an empty text does not remove the one before")
    with _refused(LedgerError, "a text is shown for a forged receipt"):
        ledger.kept_text(replace(receipt, account="bob"))
    if isinstance(ledger, LedgerAdmin):
        _holds(not any("secret" in line for line in ledger.export()), "a secret text is exported")
    ledger.verify()


def _steps_raced(make: _Make) -> None:
    if (begun := _stepping(make)) is None:
        return
    ledger, receipt = begun
    early = ledger.open_steps(receipt, after=0, upto=2, state="0" * 64)
    late = ledger.open_steps(receipt, after=0, upto=1, state="0" * 64)
    with _refused(LedgerError, "an overtaken opening closes the steps"):
        ledger.close_steps(receipt, opening=early, state="a" * 64)
    ledger.close_steps(receipt, opening=late, state="b" * 64)
    ledger.open_steps(receipt, after=1, upto=2, state="b" * 64)
    with _refused(LedgerError, "an old opening closes steps that another one has opened since"):
        ledger.close_steps(receipt, opening=early, state="a" * 64)
    with _refused(LedgerError, "an opening closes its steps twice"):
        ledger.close_steps(receipt, opening=late, state="a" * 64)


def _shared_blocks(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))
    if not isinstance(ledger, CountsBlocks):
        return

    def block(number: int, reach: int = 1) -> Touched:
        return Touched("poll", f"poll by party {reach}", "rows", reach, ((number, number + 1),))

    for number in range(4):
        ledger.charge(_pure(Fraction(1, 4)), f"block {number}", account="ana", blocks=block(number))
    _holds(ledger.remaining().amount == Fraction(3, 4), "blocks that no row shares are charged for all rows")
    _holds(ledger.admits(_pure(Fraction(3, 4)), account="ana", blocks=block(2)), "what fits a block is refused")
    with _refused(BudgetError, "a block spends more than there is"):
        ledger.charge(_pure(Fraction(4, 5)), "much", account="ana", blocks=block(2))
    with _refused(BudgetError, "a charge for all data spares what blocks have spent"):
        ledger.charge(_pure(Fraction(4, 5)), "all", account="ana")
    ledger.charge(_pure(Fraction(1, 2)), "all", account="ana")
    _holds(ledger.remaining(blocks=block(9)).largest_epsilon == 0.5, "a charge for all data spares a new block")
    moved = make(Pure(epsilon=1))
    if isinstance(moved, CountsBlocks):
        for number in range(2):
            moved.charge(_pure(Fraction(1, 4)), f"block {number}", account="ana", blocks=block(number, 2))
        _holds(moved.remaining().amount == Fraction(1, 2), "a row that moves between blocks pays in both")
    ledger.verify()


def _threads(make: _Make) -> None:
    ledger = make(Pure(epsilon=1))

    def charge(index: int) -> bool:
        try:
            ledger.charge(_pure(Fraction(1, 10)), f"plan {index}", account="ana")
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(charge, range(40)))
    _holds(granted == 10, f"{granted} charges of a tenth were granted")
    ledger.verify()


# Mechanisms


def check_mechanism(
    make: Callable[[], Mechanism],
    *,
    takes: Sequence[Any],
    refuses: Sequence[Any] = (),
    neighbours: tuple[Any, Any] | None = None,
    samples: int = 20_000,
) -> SuiteReport:
    """Run every law of mechanisms over a mechanism of one's own, and raise those that do not hold.

    Args:
        make: returns the mechanism; called twice, it returns equal ones.
        takes: inputs that it takes, at least one.
        refuses: inputs that it must refuse with a `RequestError` that does not quote them.
        neighbours: two neighbouring inputs; if given, releases of both are audited against the event.
        samples: how many releases of each are audited.

    Raises:
        AssertionError: some law does not hold; the message names each.

    Example:
        >>> make = lambda: privet.Laplace(sensitivity=1, epsilon=1)
        >>> print(testing.check_mechanism(make, takes=[3], refuses=["three"]))
        Laplace: 8 laws hold, 0 do not
    """
    function(make, "make", "a function or class that makes the mechanism")
    if not isinstance(takes, Sequence) or not takes:
        raise BadParameter("takes", takes, "a list of at least one input")
    laws: list[Law] = [
        ("it is a frozen value, equal by what it is", lambda: _frozen_value(make)),
        ("using it does not change it", lambda: _unchanged(make, takes)),
        ("it can be copied and pickled", lambda: _copied(make, takes)),
        ("its cost is that of its event", lambda: _cost(make)),
        ("its event can be written in a ledger and read back", lambda: _written(make)),
        ("it spends from a ledger before it releases", lambda: _spends(make, takes)),
        ("a function of what it released costs nothing more", lambda: _mapped(make, takes)),
        ("what it does not take is refused and not quoted", lambda: _not_quoted(make, refuses)),
    ]
    if neighbours is not None:
        laws.append(("no audit refutes its event", lambda: _audited(make, neighbours, samples)))
    return _run(type(make()).__name__, laws)


def _frozen_value(make: Callable[[], Mechanism]) -> None:
    mechanism: Any = make()
    _holds(isinstance(mechanism, Mechanism), "it is no Mechanism")
    _holds(mechanism == make() and hash(mechanism) == hash(make()), "two that are made alike differ")
    _holds(dataclasses.is_dataclass(mechanism), "it is no frozen dataclass")
    for field in dataclasses.fields(mechanism):
        with _refused(dataclasses.FrozenInstanceError, f"{field.name} can be set"):
            setattr(mechanism, field.name, getattr(mechanism, field.name))
    _holds("Guarantee:" in (inspect.getdoc(type(mechanism)) or ""), "its docstring states no Guarantee:")


def _unchanged(make: Callable[[], Mechanism], takes: Sequence[Any]) -> None:
    mechanism = make()
    for value in takes:
        mechanism.release(value)
    _holds(mechanism == make() and repr(mechanism) == repr(make()), "it differs after a release")


def _copied(make: Callable[[], Mechanism], takes: Sequence[Any]) -> None:
    mechanism = make()
    for twin in (copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
        _holds(twin == mechanism and twin.event == mechanism.event, "a copy differs")
        twin.release(takes[0])


def _cost(make: Callable[[], Mechanism]) -> None:
    mechanism = make()
    _holds(isinstance(mechanism.event, Event), "its event is none")
    pure = float_up(mechanism.event.pure())
    _holds(
        not math.isfinite(pure) or math.isclose(mechanism.epsilon, pure),
        f"epsilon is {mechanism.epsilon}, the event's {pure}",
    )
    _holds(mechanism.event.slack() <= Repeated(mechanism.event, 3).slack(), "three releases cost less than one")


def _written(make: Callable[[], Mechanism]) -> None:
    event = make().event
    _holds(read_event(write_event(event)) == event, "it is read back as another event")


def _spends(make: Callable[[], Mechanism], takes: Sequence[Any]) -> None:
    mechanism = make()
    ledger = MemoryLedger(Approximate(epsilon=1000, delta=Fraction(1, 10)))
    ledger.charge(mechanism.event, "one release", account="suite")
    mechanism.release(takes[0])
    _holds([entry.event for entry in ledger.history()] == [mechanism.event], "the ledger holds another event")


def _mapped(make: Callable[[], Mechanism], takes: Sequence[Any]) -> None:
    mapped = make().map(str)
    _holds(mapped.event == make().event, "a function of what was released has another cost")
    _holds(isinstance(mapped.release(takes[0]), str), "the function was not applied")


def _not_quoted(make: Callable[[], Mechanism], refuses: Sequence[Any]) -> None:
    for value in refuses:
        try:
            make().release(value)
        except RequestError as error:
            _holds(str(value) not in str(error), "a refusal quotes the value that it was given")
        else:
            raise _Broken(f"an input of type {type(value).__name__} that it must refuse was released")


def _audited(make: Callable[[], Mechanism], neighbours: tuple[Any, Any], samples: int) -> None:
    mechanism = make()
    report = audit(mechanism.simulate, neighbours, mechanism.event, samples, batched=True)
    _holds(not report.refuted, f"releases show epsilon >= {report.found:.4g}, and {mechanism.epsilon:.4g} is claimed")


# Aggregates


def check_aggregate(name: str, *, exact: Callable[..., float] | None = None) -> SuiteReport:
    """Run every law of aggregates over a registered one that takes a column, or two, and raise those that do not hold.

    Args:
        name: the name under which it is registered.
        exact: the statistic that it is, of an array of values without NULL for each column; with it, the suite checks
            that exact sums are read as that.

    Raises:
        AssertionError: some law does not hold; the message names each.
        UnknownName: no aggregate is registered under this name.

    Example:
        >>> print(testing.check_aggregate("avg", exact=lambda values: values.mean()))
        avg: 5 laws hold, 0 do not
    """
    laws: list[Law] = [
        ("its sums are bounded by what is declared, and always the same", lambda: _sums(name)),
        ("reading is total and keeps to its ends", lambda: _total(name)),
        ("a linear one is its sum times a factor", lambda: _linear(name)),
        ("a condition is part of every sum", lambda: _filtered(name)),
    ]
    entry_of(name)
    if exact is not None:
        laws.append(("exact sums are read as the statistic", lambda: _exact(name, exact)))
    return _run(name, laws)


_RANGES = ((0, 100), (-5, 20), (3, 4), (-7, -2), (5, 5), (-(10**12), 10**12))


_BEYOND = 1e100
"""Further out than any noisy sum: sums fit into 128 bits."""


def _made(name: str, low: int, high: int, where: Any = None, step: Fraction | None = None) -> Aggregate:
    entry = entry_of(name)
    arguments = (
        Argument(
            expression=ColumnRef(name), low=Fraction(low), high=Fraction(high), step=step, nullable=True, where=where
        )
        for name in _columns(entry)
    )
    return entry(*arguments)


def _columns(entry: NamedAggregate) -> str:
    """Return the names of the columns that an aggregate takes: COUNT(x), which sums rows, has one too."""
    return "xy"[: max(entry.aggregate.arity, 1)]


def _sums(name: str) -> None:
    for (low, high), step in ((ends, step) for ends in _RANGES for step in (None, Fraction(1), Fraction(1, 3))):
        sums = _made(name, low, high, step=step).sums()
        _holds(sums == _made(name, low, high, step=step).sums(), "the same arguments return other sums")
        _holds(1 <= len(sums) <= 6, f"it measures {len(sums)} sums")
        for total in sums:
            _holds(
                total.low <= total.high and max(map(abs, total.ends)) <= total.most, f"the ends of {total} are wrong"
            )


def _total(name: str) -> None:
    wild = np.array([0.0, -1.0, 1.0, 0.5, -1e30, 1e30, _BEYOND, 3.0])
    for low, high in _RANGES:
        aggregate = _made(name, low, high)
        grids = np.meshgrid(*[wild] * len(aggregate.sums()))
        with np.errstate(all="ignore"):
            read = aggregate.read(*(grid.ravel() for grid in grids))
        _holds(read.shape == (wild.size ** len(grids),), "not every row of sums is read")
        if aggregate.linear is None:
            _holds(not np.isnan(read).any(), "some sums are read as no number")
            within = (read >= aggregate.ends[0]).all() and (read <= aggregate.ends[1]).all()
            _holds(bool(within), f"a value lies outside of {aggregate.ends}")


def _linear(name: str) -> None:
    aggregate = _made(name, -5, 20)
    if aggregate.linear is not None:
        values = np.array([-3.0, 0.0, 7.0])
        _holds(len(aggregate.sums()) == 1, "it has several sums")
        _holds(
            np.allclose(aggregate.read(values), values * float(aggregate.linear)), "it is not its sum times the factor"
        )


def _filtered(name: str) -> None:
    condition = Call("greater", (ColumnRef("x"), Literal(3)))
    for total in _made(name, 0, 9, condition).sums():
        within = total.where is not None and condition in (total.where, *_parts(total.where))
        _holds(within, f"{total} has no condition")


def _parts(condition: Any) -> tuple[Any, ...]:
    return condition.arguments if isinstance(condition, Call) else ()


def _exact(name: str, exact: Callable[..., float]) -> None:
    columns = _columns(entry_of(name))
    for low, high in ((0, 100), (-5, 20), (-7, -2)):
        shares = {"x": np.linspace(0, 1, 57) ** 2, "y": np.linspace(1, 0, 57) ** 3 * 0.75 + 0.25}
        values = {column: shares[column] * (high - low) + low for column in columns}
        facts = Table([], unit=Rows(), columns=dict.fromkeys(columns, schema.number(low, high, nullable=True))).schema
        rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
        aggregate = _made(name, low, high)
        sums = [sum(gives(total, row, facts) for row in rows) for total in aggregate.sums()]
        read = float(aggregate.read(*(np.array([float(total)]) for total in sums))[0])
        wanted = float(exact(*values.values()))
        _holds(math.isclose(read, wanted, rel_tol=1e-4, abs_tol=1e-4), f"exact sums are read as {read}, not {wanted}")
