"""Charges to blocks: no unit pays more than is promised, exactly what fits is granted, and the record tells it all."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from privet import Approximate, Pure, Zcdp
from privet.accounting import PureEvent, ZcdpEvent
from privet.core.division import Touched
from privet.core.errors import BudgetExceeded, LedgerError, RequestError
from privet.ledger.account import BlockSums
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite import SqliteLedger

BLOCKS = 4
Log = list[tuple[Touched | None, Fraction]]

DIVISIONS = {
    "rows by party": ("rows", "rows"),
    "rows by age": ("rows", "rows"),
    "others by party": ("others", "rows"),
    "people by ward": ("people", "people"),
    "visits by day": ("visits", "windows"),
}


def touched(division: str, *ranges: tuple[int, int], reach: int = 1) -> Touched:
    table, members = DIVISIONS[division]
    return Touched(table, division, members, reach, ranges)  # type: ignore[arg-type]


def some_blocks(draw: random.Random, division: str, reach: int) -> Touched:
    numbers = sorted(draw.sample(range(BLOCKS), draw.choice([1, 1, 2, 3])))
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1][1] += 1
        else:
            ranges.append([number, number + 1])
    return touched(division, *((first, end) for first, end in ranges), reach=reach)


def schedule(draw: random.Random, reach: int) -> Log:
    """Return a few charges, to all data or to blocks of some divisions."""
    several = draw.sample(sorted(DIVISIONS), draw.choice([1, 1, 2, 3]))
    found: Log = []
    for _ in range(draw.randint(1, 7)):
        amount = Fraction(draw.randint(1, 8), 8)
        where = None if draw.random() < 0.2 else some_blocks(draw, draw.choice(several), reach)
        found.append((where, amount))
    return found


def places(division: str, reach: int) -> Iterator[frozenset[int]]:
    """Yield every set of blocks of a division that one unit can be in between neighbours."""
    if DIVISIONS[division][1] == "windows":
        pairs = [frozenset((number, number + 1)) for number in range(-1, BLOCKS)]
        yield from (frozenset().union(*some) for some in combinations(pairs, reach))
    else:
        yield from map(frozenset, combinations(range(BLOCKS), reach))


def paid(log: Log, where: dict[str, frozenset[int]]) -> Fraction:
    """Return what a unit pays that is in some blocks of some divisions, each charge once."""
    total = Fraction(0)
    for one, amount in log:
        if one is None:
            total += amount
        elif one.division in where:
            inside = {number for first, end in one.ranges for number in range(first, end)}
            total += amount if inside & where[one.division] else 0
    return total


def worst_unit(log: Log, reach: int) -> Fraction:
    """Return the most that any unit pays, by trying all: one may have rows in every table."""
    most = paid(log, {})
    own = sorted({one.division for one, _ in log if one is not None})
    for some in product(*(places(name, reach) for name in own)):
        most = max(most, paid(log, dict(zip(own, some, strict=True))))
    return most


def promised(log: Log) -> Fraction:
    sums, common = BlockSums(), Fraction(0)
    for where, amount in log:
        if where is None:
            common += amount
        else:
            sums = sums.add(where, (amount,))
    return common + (sums.worst() or (Fraction(0),))[0]


@pytest.mark.parametrize("reach", [1, 2])
def test_no_unit_pays_more_than_is_promised(reach: int) -> None:
    draw, closest = random.Random(reach), Fraction(0)
    for _ in range(5000):
        log = schedule(draw, reach)
        truth, promise = worst_unit(log, reach), promised(log)
        assert truth <= promise, log
        closest = max(closest, truth / promise)
    assert closest == 1


def events(amounts: Sequence[Fraction], budget: Any) -> list[Any]:
    kind = ZcdpEvent if isinstance(budget, Zcdp) else PureEvent
    return [kind(amount) for amount in amounts]


@pytest.mark.parametrize("budget", [Pure(epsilon=2), Zcdp(rho=2)], ids=["pure", "zcdp"])
@pytest.mark.parametrize("reach", [1, 2])
def test_a_ledger_grants_no_more_than_the_worst_unit_can_pay(budget: Any, reach: int) -> None:
    draw = random.Random(7)
    for _ in range(60):
        ledger, log = MemoryLedger(budget), list[Any]()
        for number in range(12):
            (where, amount), *_ = schedule(draw, reach)
            (event,) = events([amount], budget)
            fits = ledger.admits(event, account="ana", blocks=where)
            assert fits == (promised([*log, (where, amount)]) <= 2)
            try:
                ledger.charge(event, f"plan {number}", account="ana", blocks=where)
            except BudgetExceeded:
                assert not fits
                continue
            assert fits
            log.append((where, amount))
            assert worst_unit(log, reach) <= 2
        ledger.verify()


@pytest.mark.parametrize("reach", [1, 2])
@pytest.mark.parametrize("division", sorted(DIVISIONS))
def test_what_remains_for_blocks_is_what_fits(division: str, reach: int) -> None:
    draw = random.Random(3)
    for _ in range(40):
        ledger = MemoryLedger(Pure(epsilon=20))
        for number, (where, amount) in enumerate(schedule(draw, reach)):
            ledger.charge(PureEvent(amount), f"plan {number}", account="ana", blocks=where)
        asked = some_blocks(draw, division, reach)
        left = Fraction(ledger.remaining("ana", blocks=asked).largest_epsilon)
        assert ledger.admits(PureEvent(left), account="ana", blocks=asked)
        assert not ledger.admits(PureEvent(left + Fraction(1, 1000)), account="ana", blocks=asked)


def test_the_poll_of_the_lecture_is_charged_once_for_both_parties() -> None:
    for reach, left in ((1, 1.25), (2, 1.0)):
        ledger = MemoryLedger(Pure(epsilon=2))
        ledger.charge(PureEvent(Fraction(1, 2)), "everyone", account="ana")
        for number in (0, 1):
            block = touched("rows by party", (number, number + 1), reach=reach)
            ledger.charge(PureEvent(Fraction(1, 4)), f"party {number}", account="ana", blocks=block)
        assert ledger.remaining().largest_epsilon == left


def test_an_approximate_budget_counts_blocks_too() -> None:
    ledger = MemoryLedger(Approximate(epsilon=1, delta=Fraction(1, 10**6)), analysts={"ana": Pure(epsilon=1)})
    for number in range(BLOCKS):
        block = touched("rows by party", (number, number + 1))
        ledger.charge(PureEvent(1), f"plan {number}", account="ana", blocks=block)
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureEvent(Fraction(1, 10)), "more", account="ana", blocks=touched("rows by party", (2, 3)))
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureEvent(Fraction(1, 10)), "all", account="ana")
    ledger.verify()


def test_a_file_keeps_blocks_across_openings_exports_and_top_ups(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    block = touched("visits by day", (1, 3))
    with SqliteLedger(place, Pure(epsilon=1)) as ledger:
        receipt = ledger.charge(PureEvent(Fraction(1, 2)), "plan", account="ana", blocks=block)
        again = ledger.charge(PureEvent(Fraction(1, 2)), "plan", account="ana", blocks=block)
        assert again.entry == receipt.entry
        other = touched("visits by day", (0, 1))
        with pytest.raises(LedgerError, match="two different costs"):
            ledger.charge(PureEvent(Fraction(1, 2)), "plan", account="ana", blocks=other)
        lines = list(ledger.export())
    with SqliteLedger(place) as ledger:
        ledger.verify()
        assert ledger.remaining().largest_epsilon == 0.5
        assert ledger.remaining(blocks=touched("visits by day", (5, 6))).largest_epsilon == 1
        ledger.top_up(Pure(epsilon=1), reason="a second year")
        assert ledger.remaining(blocks=block).largest_epsilon == 1.5
        assert [(one.first, one.end) for one in ledger.block_balances("visits by day")] == [(0, 4)]
    written = [json.loads(line)["entry"] for line in lines]
    assert [entry.get("blocks") for entry in written if entry["kind"] == "charge"] == [
        ["visits", "visits by day", "windows", 1, [[1, 3]]]
    ]
    assert [entry["v"] for entry in written if entry["kind"] == "charge"] == [3]


@pytest.mark.parametrize(
    "changed",
    [
        ["visits", "visits by day", "windows", 1, [[5, 6]]],
        ["visits", "visits by day", "windows", 0, [[1, 3]]],
        ["visits", "visits by day", "rows", 1, [[3, 1]]],
        ["visits", "visits by day", "windows", 1, []],
        None,
        7,
    ],
)
def test_changed_blocks_are_noticed(tmp_path: Path, changed: Any) -> None:
    import sqlite3

    place = tmp_path / "ledger.db"
    with SqliteLedger(place, Pure(epsilon=1)) as ledger:
        ledger.charge(PureEvent(Fraction(1, 2)), "plan", account="ana", blocks=touched("visits by day", (1, 3)))
    (file,) = [one for one in place.iterdir() if one.read_bytes()[:6] == b"SQLite"] if place.is_dir() else [place]
    raw = sqlite3.connect(file)
    raw.executescript("".join(f"DROP TRIGGER IF EXISTS {name};" for name in _triggers(raw)))
    table, column = _bodies(raw)
    (body,) = next(row for row in raw.execute(f"SELECT {column} FROM {table}") if '"blocks"' in row[0])
    entry = {**json.loads(body), "blocks": changed}
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
    raw.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (text, body))
    raw.commit()
    raw.close()
    with pytest.raises(LedgerError), SqliteLedger(place) as ledger:
        ledger.verify()


def _triggers(raw: Any) -> list[str]:
    return [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]


def _bodies(raw: Any) -> tuple[str, str]:
    """Return the table and the column in which entries are."""
    for (table,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        if "body" in columns and "hash" in columns:
            return table, "body"
    raise AssertionError("no table of entries")


def test_one_division_is_of_one_table() -> None:
    ledger = MemoryLedger(Pure(epsilon=1))
    ledger.charge(PureEvent(Fraction(1, 4)), "one", account="ana", blocks=touched("rows by party", (0, 1)))
    other = Touched("others", "rows by party", "rows", 1, ((0, 1),))
    with pytest.raises(LedgerError, match="another table"):
        ledger.charge(PureEvent(Fraction(1, 4)), "two", account="ana", blocks=other)
    with pytest.raises(RequestError, match="blocks"):
        ledger.charge(PureEvent(Fraction(1, 4)), "two", account="ana", blocks="dem")  # type: ignore[arg-type]


@pytest.mark.parametrize("ranges", [(), ((1, 1),), ((2, 3), (1, 2)), ((-1, 2),), ((0, 1), (1, 2)), ((0, 2**40),)])
def test_ranges_of_blocks_rise_and_do_not_touch(ranges: Any) -> None:
    with pytest.raises(RequestError, match="ranges"):
        Touched("poll", "poll by party", "rows", 1, ranges)


def test_a_block_that_is_charged_twice_is_one_block() -> None:
    sums, worst = BlockSums(), []
    for start, end in ((0, 1), (0, 1), (2, 4)):
        sums = sums.add(touched("rows by party", (start, end), reach=2), (Fraction(1),))
        worst.append(sums.worst())
    assert worst == [(1,), (2,), (3,)]  # in the end 2 of the first, and 1 of another


def test_a_longer_reach_counts_for_what_was_charged_before() -> None:
    sums = BlockSums()
    for number, reach in ((0, 1), (1, 1), (2, 2)):
        sums = sums.add(touched("rows by party", (number, number + 1), reach=reach), (Fraction(number + 1),))
    assert sums.worst() == (Fraction(5),)
