"""Processes that share a ledger are killed at random and race for the last of a budget. The record stays true.

Run as a program, this file is the driver: one process without threads, which forks the spenders and kills them.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded
from privet.ledger.records import Answered, Charged
from privet.ledger.sqlite import SqliteLedger

SPENDERS = 4
PORTION = 400
"""How many questions one budget or one top-up pays for: more than four processes can ask before they are killed."""
PHASES = ("charge", "read", "draw", "store", "show")
SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
"""How many rounds of killing to run in `make soak`; 0 for the short version."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")


def ask(ledger: SqliteLedger, digest: str, account: str, key: str, cost: Fraction, enter: Any) -> str:
    """Return an answer the way a session does, saying which phase it is in: charge, read, draw, store, show."""
    enter("charge")
    receipt = ledger.charge(PureEvent(cost), digest, account=account, key=key)
    found = ledger.find(digest, account)
    if found is None:
        enter("read")
        time.sleep(0.002)
        enter("draw")
        drawn = secrets.token_hex(8)
        time.sleep(0.002)
        enter("store")
        answer = ledger.store(receipt, drawn)
    else:
        answer = found[1]
    enter("show")
    return str(answer)


def spend(folder: Path, number: int, board: mmap.mmap, cost: Fraction) -> None:
    """Ask one question after the other, from the one that was left unfinished, until the budget is spent."""
    with SqliteLedger(folder / "ledger", timeout=60) as ledger, open(folder / f"shown {number}", "ab", 0) as shown:
        place = 8 * number
        while True:
            index = int.from_bytes(board[place + 1 : place + 8], "big")
            # every fifth question is asked by all, the others by one each
            digest = f"all {index}" if index % 5 == 0 else f"{number} {index}"

            def enter(phase: str) -> None:
                board[place] = PHASES.index(phase)

            try:
                answer = ask(ledger, digest, f"account {number}", f"{number} {index}", cost, enter)
            except BudgetExceeded:
                return
            shown.write(f"{digest} = {answer}\n".encode())
            board[place + 1 : place + 8] = (index + 1).to_bytes(7, "big")


def start(folder: Path, number: int, board: mmap.mmap, cost: Fraction) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            spend(folder, number, board, cost)
            status = 0
        finally:
            os._exit(status)
    return child


def check(folder: Path) -> tuple[int, int]:
    """Return how many charges in full and answers there are, after holding all that was shown against the record."""
    with SqliteLedger(folder / "ledger", timeout=60) as ledger:
        ledger.verify()  # the chain, the total, one charge for each key, one answer for each question, each paid for
        with ledger._reading() as page:
            records = [written.record for written in page.entries()]
    answers = {record.digest: record.released for record in records if isinstance(record, Answered)}
    charges = {(record.digest, record.account) for record in records if isinstance(record, Charged)}
    for number in range(SPENDERS):
        with contextlib.suppress(FileNotFoundError):
            lines = (folder / f"shown {number}").read_text().split("\n")[:-1]
            for digest, answer in (line.split(" = ") for line in lines):
                if answers.get(digest) != answer:
                    raise SystemExit(f"{digest} was shown as something that was not stored")
                if (digest, f"account {number}") not in charges:
                    raise SystemExit(f"{digest} was shown without its charge")
    paid_in_full = [record for record in records if isinstance(record, Charged) and record.shared is None]
    return len(paid_in_full), len(answers)


def kill_at_random(folder: Path, rounds: int) -> dict[str, Any]:
    """Return in which phase the spenders were when they were killed, after checking the record each time.

    There is always budget for the next round, and in the end all that was given is spent.
    """
    cost, given = Fraction(1, PORTION), PORTION
    SqliteLedger(folder / "ledger", Pure(epsilon=1)).close()
    board = mmap.mmap(-1, 8 * SPENDERS)
    hits = dict.fromkeys(PHASES, 0)
    for _ in range(rounds):
        with SqliteLedger(folder / "ledger") as ledger:
            if ledger.remaining().amount < 1:
                ledger.top_up(Pure(epsilon=1), reason="another round")
                given += PORTION
        children = {number: start(folder, number, board, cost) for number in range(SPENDERS)}
        for number, child in children.items():
            time.sleep(secrets.randbelow(1000) / 1000 * 0.05)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                hits[PHASES[board[8 * number]]] += 1
        check(folder)
    for child in [start(folder, number, board, cost) for number in range(SPENDERS)]:
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise SystemExit("a spender failed")
    charges, answers = check(folder)
    return {"hits": hits, "charges": charges, "given": given, "answers": answers}


def race(folder: Path, units: int) -> dict[str, Any]:
    """Return how many charges were granted to four processes of sixteen threads each that all want the last ones."""
    SqliteLedger(folder / "ledger", Pure(epsilon=1)).close()
    gate_read, gate_write = os.pipe()
    children = []
    for number in range(SPENDERS):
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            ledger = SqliteLedger(folder / "ledger", timeout=60)
            granted: list[int] = []

            def contend(thread: int, number: int = number, ledger: Any = ledger, granted: Any = granted) -> None:
                for attempt in range(2):
                    with contextlib.suppress(BudgetExceeded):
                        name = f"{number} {thread} {attempt}"
                        ledger.charge(PureEvent(Fraction(1, units)), name, account="ana")
                        granted.append(1)

            threads = [threading.Thread(target=contend, args=(index,)) for index in range(16)]
            os.read(gate_read, 1)  # returns when the parent lets go of its end
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (folder / f"granted {number}").write_text(str(len(granted)))
            ledger.close()
            os._exit(0)
        children.append(child)
    os.close(gate_write)
    for child in children:
        os.waitpid(child, 0)
    with SqliteLedger(folder / "ledger") as ledger:
        ledger.verify()
        left = ledger.remaining().amount
        written = len(ledger.history())
    granted_all = sum(int((folder / f"granted {number}").read_text()) for number in range(SPENDERS))
    return {"granted": granted_all, "written": written, "left": str(left)}


def drive(name: str, folder: Path, *numbers: int) -> dict[str, Any]:
    """Run a part of this file in a process of its own and return what it found."""
    told = subprocess.run(
        [sys.executable, __file__, name, str(folder), *map(str, numbers)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


@needs_fork
def test_killed_processes_leave_a_true_record(tmp_path: Path) -> None:
    found = drive("kill", tmp_path, 40)
    assert found["charges"] == found["given"]
    assert sum(found["hits"].values()) == 40 * SPENDERS
    assert all(found["hits"][phase] for phase in ("charge", "read", "draw", "store"))


@needs_fork
@pytest.mark.skipif(not SOAK, reason="the long version: PRIVET_SOAK=1000 says how many rounds")
def test_killed_processes_leave_a_true_record_for_a_long_time(tmp_path: Path) -> None:
    hits = dict.fromkeys(PHASES, 0)
    for batch in range(-(-SOAK // 50)):
        folder = tmp_path / str(batch)
        folder.mkdir()
        found = drive("kill", folder, 50)
        assert found["charges"] == found["given"]
        hits = {phase: hits[phase] + found["hits"][phase] for phase in PHASES}
    print("killed while in", hits)
    total = sum(hits.values())
    assert all(hits[phase] >= 0.05 * total for phase in ("charge", "read", "draw", "store")), hits


@needs_fork
@pytest.mark.parametrize("units", [1, 50])
def test_threads_and_processes_that_race_get_exactly_what_fits(tmp_path: Path, units: int) -> None:
    assert drive("race", tmp_path, units) == {"granted": units, "written": units, "left": "0"}


if __name__ == "__main__":
    part, folder, *numbers = sys.argv[1:]
    told = {"kill": kill_at_random, "race": race}[part](Path(folder), *map(int, numbers))
    print(json.dumps(told))
