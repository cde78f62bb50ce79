"""Processes that ask real questions on one ledger are killed at random and race for the last of a budget.

Run as a program, this file is the driver: one process without threads, which forks the askers and kills them. They are
real sessions on a real DuckDB; only where each is at the moment is written down beside, in memory that they share.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.division import Blocks
from privet.core.errors import BudgetExceeded
from privet.core.schema import Table, integer
from privet.core.unit import Rows
from privet.ledger.entries import Answered, Charged, write_time
from privet.ledger.sqlite.store import SqliteLedger
from privet.ledger.state import utc_now
from privet.session import Session

ASKERS = 4
PORTION = 24
"""How many questions one budget or one top-up pays for."""
WIDE, NARROW = 1500, 25
"""How many counts or medians an answer has: counts are quick to draw and long to store, medians the other way round."""
PHASES = ("think", "plan", "charge", "read", "draw", "store", "show")
"""Where an asker can be: between two calls, or where in a call."""
SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
"""How many rounds of killing to run in `make soak`; 0 for the short version."""
BATCH = 20
"""After how many rounds a new ledger is begun, so that checking it each time does not take ever longer."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")


class Board:
    """Sixteen bytes for each asker, in memory that is shared: its phase, its next question, how long calls take."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16 * ASKERS + 1)

    def enter(self, asker: int, phase: str) -> None:
        self._memory[16 * asker] = PHASES.index(phase)

    def phase(self, asker: int) -> str:
        return PHASES[self._memory[16 * asker]]

    def index(self, asker: int) -> int:
        return int.from_bytes(self._memory[16 * asker + 1 : 16 * asker + 8], "big")

    def answered(self, asker: int, seconds: float) -> None:
        index = self.index(asker)
        self._memory[self._clock(asker, index)] = int(seconds * 1e6).to_bytes(4, "big")
        self._memory[16 * asker + 1 : 16 * asker + 8] = (index + 1).to_bytes(7, "big")

    def seconds(self, asker: int) -> float:
        """Return how long the last call of the same kind took, 0 where there was none."""
        return int.from_bytes(self._memory[self._clock(asker, self.index(asker))], "big") / 1e6

    def _clock(self, asker: int, index: int) -> slice:
        first = 16 * asker + 8 + 4 * (index % 2)
        return slice(first, first + 4)

    @property
    def last_call(self) -> bool:
        return self._memory[16 * ASKERS] == 1

    def announce_last_call(self) -> None:
        self._memory[16 * ASKERS] = 1


class Marked(SqliteLedger):
    """A ledger that says when it charges and when it stores."""

    enter: Any = staticmethod(lambda phase: None)

    def charge(self, *arguments: Any, **options: Any) -> Any:
        self.enter("charge")
        return super().charge(*arguments, **options)

    def store(self, *arguments: Any) -> Any:
        self.enter("store")
        kept = super().store(*arguments)
        self.enter("show")
        return kept


@dataclass
class MarkedEngine:
    """An engine that says when it reads; when it has read, the noise is drawn, until the ledger stores."""

    engine: Any
    enter: Any

    def check(self, scan: Any) -> None:
        self.engine.check(scan)

    def scan(self, scan: Any) -> Any:
        self.enter("read")
        exact = self.engine.scan(scan)
        self.enter("draw")
        return exact

    def close(self) -> None:
        self.engine.close()


def table() -> dict[str, Table]:
    import numpy  # noqa: F401  # once for all, before the forks
    import pyarrow as pa

    sizes = {"wide": WIDE, "narrow": NARROW, "at": 100, "age": 1000}
    rows = {name: [row % size for row in range(3000)] for name, size in sizes.items()}
    columns = {name: integer(0, size - 1) for name, size in {**sizes, "at": 10**6}.items()}
    # all but the first questions read the second block alone, and are charged to it
    blocks = Blocks("at", edges=[0, 10, 10**6 + 1])
    return {"t": Table(pa.table(rows), unit=Rows(), columns=columns, blocks=blocks)}


def question(asker: int, index: int) -> str:
    """Return SQL that no other process asks, or every fifth time one that all ask."""
    least = index * (ASKERS + 1) + (ASKERS if index % 5 == 0 else asker)
    what, by = ("COUNT(*)", "wide") if index % 2 else ("MEDIAN(age)", "narrow")
    return f"SELECT {by}, {what} AS n FROM t WHERE at > {least} GROUP BY {by}"


def note(file: int, *words: object) -> None:
    os.write(file, (json.dumps(words) + "\n").encode())


def fingerprint(numbers: Any) -> str:
    return hashlib.sha256(repr(tuple(int(number) for number in numbers)).encode()).hexdigest()


def ask_on(folder: Path, asker: int, board: Board, tables: dict[str, Table]) -> None:
    """Ask one question after the other, from the one that was left unfinished; add to the budget until last call."""
    notes = os.open(folder / f"notes {asker}", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def enter(phase: str) -> None:
        board.enter(asker, phase)
        if phase == "draw":
            note(notes, "drew", board.index(asker), write_time(utc_now()))

    Marked.enter = staticmethod(enter)
    with Marked(folder / "ledger", timeout=120) as ledger:
        session = Session(tables, ledger=ledger, account=f"account {asker}")
        session._executor.engine = MarkedEngine(session._executor.engine, enter)
        for index in range(2):
            session.plan(question(asker, index), epsilon=1)  # or what is imported late would count as planning
        driver = os.getppid()
        while os.getppid() == driver:
            index, began = board.index(asker), time.monotonic()
            enter("plan")
            try:
                plan = session.plan(question(asker, index), epsilon=Fraction(1, PORTION))
                answer = session.run(plan, key=f"{asker} {index}")
            except BudgetExceeded:
                if board.last_call:
                    return
                ledger.top_up(Pure(epsilon=1), reason="another round")
                continue
            note(notes, "showed", plan.digest, fingerprint(answer["n"].values))
            board.answered(asker, time.monotonic() - began)
            board.enter(asker, "think")
            time.sleep(0.01)


def start(folder: Path, asker: int, board: Board, tables: dict[str, Table]) -> int:
    board.enter(asker, "think")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ask_on(folder, asker, board, tables)
            status = 0
        finally:
            os._exit(status)
    return child


class Watch:
    """Holds the record against the askers' notes, round after round; what was checked once can no longer change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read_to = [0] * ASKERS
        self.head: str | None = None
        self.full: set[str] = set()
        self.paid: dict[tuple[str, str], int] = {}
        self.keys: dict[str | None, str] = {}
        self.answers: dict[str, tuple[str, str]] = {}
        self.given = Fraction(0)
        self.shared = self.draws = self.to_blocks = 0

    def check(self) -> None:
        """Verify the ledger while others spend from it; raise `SystemExit` for anything shown or drawn unduly."""
        notes = [(asker, *note) for asker in range(ASKERS) for note in self.new_notes(asker)]
        with SqliteLedger(self.folder / "ledger", timeout=120, head=self.head) as ledger:
            ledger.verify()  # the chain, the total, one charge for each key, one answer for each question, each paid
            known = 0 if self.head is None else int(self.head.partition(":")[0])
            with ledger._history.reading() as history:
                self.head = str(history.state.head)
                for number in range(known + 1, history.state.head.number + 1):
                    self.add(history.read(number))
            budget = ledger.budget_of()
        self.given = budget.epsilon if isinstance(budget, Pure) else Fraction(0)
        if Fraction(len(self.full), PORTION) > self.given:
            raise SystemExit("more was charged than there was")
        for asker, what, *words in notes:
            (self.showed if what == "showed" else self.drew)(asker, *words)

    def new_notes(self, asker: int) -> list[list[Any]]:
        """Return what an asker noted since the last time: read before the record, which may only run ahead of it."""
        try:
            text = (self.folder / f"notes {asker}").read_bytes()[self.read_to[asker] :]
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self.read_to[asker] += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def add(self, written: Any) -> None:
        record = written.record
        if isinstance(record, Answered):
            self.answers[record.digest] = fingerprint(record.released[1][0][0]), write_time(written.time)
        elif isinstance(record, Charged):
            self.paid[record.digest, record.account] = written.number
            self.keys[record.key] = record.digest
            self.shared += record.shared is not None
            self.to_blocks += record.blocks is not None
            if record.shared is None and record.digest in self.full:
                raise SystemExit("the data set paid twice for one question")
            if record.shared is None:
                self.full.add(record.digest)

    def showed(self, asker: int, digest: str, shown: str) -> None:
        if self.answers.get(digest, ("", ""))[0] != shown:
            raise SystemExit("an answer was shown that was not stored")
        if (digest, f"account {asker}") not in self.paid:
            raise SystemExit("an answer was shown without its charge")

    def drew(self, asker: int, index: int, when: str) -> None:
        self.draws += 1
        digest = self.keys.get(f"{asker} {index}")
        if digest is None:
            raise SystemExit("noise was drawn without a charge")
        # a question that all ask may be drawn by one while another stores: only the first is kept
        if index % 5 and digest in self.answers and when > self.answers[digest][1]:
            raise SystemExit("noise was drawn again after the answer was stored")


def kill_at_random(folder: Path, rounds: int) -> dict[str, Any]:
    """Return in which phase askers were when they were killed, after checking the record each time.

    Each round waits for a time that is uniform over a call of the victim's, while the others go on. In the end all that
    was given is spent.
    """
    tables, board, watch = table(), Board(), Watch(folder)
    SqliteLedger(folder / "ledger", Pure(epsilon=1)).close()
    children = {asker: start(folder, asker, board, tables) for asker in range(ASKERS)}
    hits, restarted = dict.fromkeys(PHASES, 0), dict.fromkeys(range(ASKERS), 0)
    for turn in range(rounds):
        victim = turn % ASKERS
        wait_for_a_call(board, victim, children[victim], restarted[victim])
        time.sleep(random.SystemRandom().uniform(0, board.seconds(victim)))
        os.kill(children[victim], signal.SIGKILL)
        _, status = os.waitpid(children[victim], 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit("an asker failed by itself")
        hits[board.phase(victim)] += 1
        watch.check()
        restarted[victim] = board.index(victim)
        children[victim] = start(folder, victim, board, tables)
    board.announce_last_call()
    for child in children.values():
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise SystemExit("an asker failed by itself")
    watch.check()
    return {
        "hits": hits,
        "charges": len(watch.full),
        "given": int(watch.given * PORTION),
        "shared": watch.shared,
        "to blocks": watch.to_blocks,
        "answers": len(watch.answers),
        "draws": watch.draws,
    }


def wait_for_a_call(board: Board, asker: int, child: int, warm: int) -> None:
    """Wait until an asker that has warmed up begins to plan, and it is known how long such a call of its takes."""
    while board.index(asker) <= warm or board.phase(asker) != "plan" or not board.seconds(asker):
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            raise SystemExit("an asker failed by itself")
        time.sleep(0.0005)


def race(folder: Path, units: int) -> dict[str, Any]:
    """Return how many charges were granted to four processes of sixteen threads each that all want the last ones.

    Half of the threads ask through sessions, four sessions for each process; the others charge the ledger itself.
    """
    SqliteLedger(folder / "ledger", Pure(epsilon=1)).close()
    tables = table()
    gate_read, gate_write = os.pipe()
    children = []
    for asker in range(ASKERS):
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            status = 1
            try:
                contend(folder, asker, units, gate_read, tables)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    os.close(gate_write)
    if any(os.waitpid(child, 0)[1] for child in children):
        raise SystemExit("an asker failed by itself")
    with SqliteLedger(folder / "ledger") as ledger:
        ledger.verify()
        left, written = ledger.remaining().amount, len(ledger.history())
    granted = sum(int((folder / f"granted {asker}").read_text()) for asker in range(ASKERS))
    return {"granted": granted, "written": written, "left": str(left)}


def contend(folder: Path, asker: int, units: int, gate: int, tables: dict[str, Table]) -> None:
    ledger = SqliteLedger(folder / "ledger", timeout=120)
    sessions = [Session(tables, ledger=ledger) for _ in range(4)]
    granted: list[int] = []
    cost = Fraction(1, units)

    def want(thread: int) -> None:
        for attempt in range(2):
            least = (asker * 16 + thread) * 2 + attempt
            with contextlib.suppress(BudgetExceeded):
                if thread % 2:
                    plan = sessions[0].plan(f"SELECT COUNT(*) FROM t WHERE at > {least}", epsilon=cost)
                    sessions[thread // 2 % 4].run(plan)
                else:
                    ledger.charge(PureEvent(cost), f"plan {least}", account="session")
                granted.append(1)

    threads = [threading.Thread(target=want, args=(index,)) for index in range(16)]
    os.read(gate, 1)  # returns when the parent lets go of its end
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (folder / f"granted {asker}").write_text(str(len(granted)))
    ledger.close()


def drive(name: str, folder: Path, *numbers: int) -> dict[str, Any]:
    """Run a part of this file in a process of its own and return what it found."""
    told = subprocess.run(
        [sys.executable, __file__, name, str(folder), *map(str, numbers)],
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


@needs_fork
def test_killed_processes_leave_a_true_record(tmp_path: Path) -> None:
    found = drive("kill", tmp_path, 8)
    assert found["charges"] == found["given"]
    assert found["to blocks"] > 0
    assert sum(found["hits"].values()) == 8


@needs_fork
@pytest.mark.skipif(not SOAK, reason="the long version: PRIVET_SOAK=1000 says how many rounds")
def test_killed_processes_leave_a_true_record_for_a_long_time(tmp_path: Path) -> None:
    told: dict[str, int] = dict.fromkeys(("charges", "shared", "answers", "draws"), 0)
    hits = dict.fromkeys(PHASES, 0)
    for batch in range(-(-SOAK // BATCH)):
        folder = tmp_path / str(batch)
        folder.mkdir()
        found = drive("kill", folder, BATCH)
        assert found["charges"] == found["given"]
        hits = {phase: hits[phase] + found["hits"][phase] for phase in hits}
        told = {name: told[name] + found[name] for name in told}
    print(f"{sum(hits.values())} rounds of killing one of {ASKERS}, who was at {hits}; in all {told}")
    assert all(hits[phase] >= 0.05 * sum(hits.values()) for phase in ("charge", "read", "draw", "store")), hits


@needs_fork
@pytest.mark.parametrize("units", [1, 50])
def test_threads_and_processes_that_race_get_exactly_what_fits(tmp_path: Path, units: int) -> None:
    assert drive("race", tmp_path, units) == {"granted": units, "written": units, "left": "0"}


if __name__ == "__main__":
    part, folder, *numbers = sys.argv[1:]
    told = {"kill": kill_at_random, "race": race}[part](Path(folder), *map(int, numbers))
    print(json.dumps(told))
