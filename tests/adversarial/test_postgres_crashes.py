"""Processes that share a ledger in PostgreSQL race for the last of a budget, and charge while their server is killed.

Run as a program, this file is one of those processes, or forks several. Receipts are written outside of the server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import privet
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded, LedgerError
from privet.ledger.postgres import PostgresLedger

TESTS = Path(__file__).resolve().parents[1]
RACERS, UNITS = 8, 20
ROUNDS = 20 if os.environ.get("PRIVET_SOAK") else 3
"""How many times the server is killed."""

SMALL = PureEvent(Fraction(1, 10**6))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")


def run(*arguments: str) -> subprocess.Popen[str]:
    """Start this file as a program."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, env=environment, cwd=TESTS
    )


# Eight processes race for the last unit


def race(address: str) -> None:
    """Fork racers that each charge one unit after another until none fits, and print what they were granted."""
    ledger = PostgresLedger(address, timeout=60)
    ledger.remaining()  # it has a connection when it forks
    pipes = []
    for racer in range(RACERS):
        read, write = os.pipe()
        if os.fork() == 0:
            granted = []
            try:
                for index in range(UNITS + 1):
                    granted.append(ledger.charge(PureEvent(Fraction(1)), f"{racer} {index}", account="ana").entry)
            except BudgetExceeded:
                os.write(write, json.dumps(granted).encode())
            finally:
                os._exit(0)
        os.close(write)
        pipes.append(read)
    print(json.dumps([json.loads(os.fdopen(pipe, "rb").read()) for pipe in pipes]))


@needs_fork
def test_eight_processes_that_race_for_the_last_unit_get_exactly_what_fits(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    PostgresLedger(place, Pure(epsilon=UNITS)).close()
    told, _ = run("race", place).communicate(timeout=300)
    granted = json.loads(told)
    assert len(granted) == RACERS
    assert sorted(entry for one in granted for entry in one) == list(range(2, UNITS + 2))
    with PostgresLedger(place) as ledger:
        assert ledger.remaining().amount == 0
        ledger.verify()


# The server is killed while processes charge


def charge(address: str, receipts: str, name: str) -> None:
    """Charge one plan after another, each until there is a receipt, which is written to a file; until told."""
    opened, ledger = os.open(receipts, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), None
    for index in range(10**9):
        if Path(f"{receipts}.over").exists():
            return
        while True:
            try:
                ledger = ledger or PostgresLedger(address, timeout=20)
                receipt = ledger.charge(SMALL, f"{name} {index}", account="ana", key=f"{name} {index}")
                break
            except LedgerError:
                if Path(f"{receipts}.over").exists():
                    return
                time.sleep(0.05)
        os.write(opened, f"{receipt.entry}\t{receipt.digest}\t{receipt.head}\n".encode())


def test_no_receipt_is_lost_when_the_server_is_killed_while_processes_charge(
    durable_postgres: postgres_server.PostgresServer, tmp_path: Path
) -> None:
    place, receipts = postgres_server.new_ledger(durable_postgres), tmp_path / "receipts"
    PostgresLedger(place, Pure(epsilon=1000)).close()
    receipts.touch()
    chargers = [run("charge", place, str(receipts), f"charger {number}") for number in range(3)]
    try:
        for turn in range(ROUNDS):
            ends = time.monotonic() + 300
            had = len(receipts.read_text().splitlines())
            while len(receipts.read_text().splitlines()) < had + 30 + 7 * turn:  # they charge, and go on doing so
                assert all(one.poll() is None for one in chargers)
                assert time.monotonic() < ends, "the processes do not charge any more"
                time.sleep(0.01)
            durable_postgres.kill()
            durable_postgres.start()
    finally:
        Path(f"{receipts}.over").touch()
        for one in chargers:
            one.communicate(timeout=120)
    told = [line.split("\t") for line in receipts.read_text().splitlines()]
    with PostgresLedger(place) as ledger:
        ledger.verify()
        charged = {entry.number: entry.digest for entry in ledger.history()}
        last = max(told, key=lambda receipt: int(receipt[0]))
        ledger.pin(last[2])
    assert [(number, digest) for number, digest, _ in told if charged.get(int(number)) != digest] == []
    assert [digest for digest, count in Counter(charged.values()).items() if count > 1] == []
    assert len(charged) - len(told) in range(4)  # what was charged and not told: at most one for each process
    print(f"{ROUNDS} kills, {len(told)} receipts, {len(charged)} charges")


# Two hosts share one ledger


def ask(address: str) -> None:
    """Ask a question, as a host does that knows nothing but the address, and print the answer and its entry."""
    import pandas as pd

    visits = privet.Table(
        pd.DataFrame({"ward": ["heart", "lung"] * 500}),
        unit=privet.Rows(),
        columns={"ward": privet.category(["heart", "lung"])},
    )
    with PostgresLedger(address) as ledger, privet.Session({"visits": visits}, ledger=ledger, account="ana") as session:
        answer = session.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.5)
        print(json.dumps([answer.to_dict(), len(session.history())], default=str))


def test_an_answer_that_one_host_paid_for_is_found_by_another(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    PostgresLedger(place, Pure(epsilon=1)).close()
    answers: list[Any] = [json.loads(run("ask", place).communicate(timeout=120)[0]) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0][1] == 1
    with PostgresLedger(place) as ledger:
        assert ledger.remaining().amount == Fraction(1, 2)


if __name__ == "__main__":
    {"race": race, "charge": charge, "ask": ask}[sys.argv[1]](*sys.argv[2:])
