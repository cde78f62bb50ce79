"""Whatever happens to the files under an open ledger: no two processes spend one budget twice.

The processes are real. Each reads a command per line and writes what came of it.
"""

from __future__ import annotations

import datetime
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import LedgerError
from privet.ledger.sqlite.store import SqliteLedger

TENTH = PureEvent(Fraction(1, 10))

PROGRAM = """
import os, sys, time
from fractions import Fraction
from pathlib import Path
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import PrivetError
from privet.ledger import sqlite
from privet.ledger.sqlite.store import SqliteLedger

TENTH = PureEvent(Fraction(1, 10))
name, path, *head = sys.argv[1:]
ledger = SqliteLedger(path, head=head[0] if head else None, timeout=5)
folder = ledger.path.parent

def remove_logs():
    for suffix in ("-wal", "-shm"):
        Path(f"{ledger.path}{suffix}").unlink(missing_ok=True)

def meanwhile(when):
    "Remove the log in the middle of the next charge, at the n-th statement that SQLite is given."
    class Between:
        def __init__(self, real):
            self.real = real
        def execute(self, statement, *values):
            if statement.startswith(when):
                remove_logs()
                print("removed", flush=True)
                sys.stdin.readline()
            return self.real.execute(statement, *values)
        def __getattr__(self, name):
            return getattr(self.real, name)
    ledger._sqlite._connected()
    ledger._sqlite._connection = Between(ledger._sqlite._connection)

print("ready", flush=True)
for index, line in enumerate(iter(sys.stdin.readline, "")):
    command, *rest = line.split()
    try:
        if command == "charge":
            ledger.charge(TENTH, f"{name} {index}", account="ana")
        elif command == "read":
            ledger.find("nothing", "ana")
        elif command == "verify":
            ledger.verify()
        elif command == "head":
            print(ledger.head(), flush=True)
            continue
        elif command == "close":
            ledger.close()
        elif command == "open":
            ledger = SqliteLedger(path)
        elif command == "meanwhile":
            meanwhile(" ".join(rest))
        print("ok", flush=True)
    except PrivetError as error:
        print(type(error).__name__, str(error).replace(chr(10), " "), flush=True)
"""


class Process:
    """Another process that has the ledger open."""

    def __init__(self, name: str, path: Path, *head: str) -> None:
        self._run = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, str(path), *head],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
            bufsize=1,
        )

    @cached_property
    def opened(self) -> bool:
        """Whether it could open the ledger."""
        assert self._run.stdout is not None
        return self._run.stdout.readline().strip() == "ready"

    def read(self) -> str:
        if not self.opened:
            return "not opened"
        assert self._run.stdout is not None
        return self._run.stdout.readline().strip()

    def says_anything(self, seconds: float) -> bool:
        """Return whether it writes a line within some seconds."""
        return bool(select.select([self._run.stdout], [], [], seconds)[0])

    def send(self, command: str) -> None:
        assert self._run.stdin is not None
        with suppress(BrokenPipeError):  # it could not open the ledger
            self._run.stdin.write(command + "\n")
            self._run.stdin.flush()

    def do(self, command: str) -> str:
        self.send(command)
        return self.read()

    def end(self) -> None:
        with suppress(BrokenPipeError):
            self._run.stdin.close()  # type: ignore[union-attr]
        self._run.wait(60)
        self._run.stdout.close()  # type: ignore[union-attr]


Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Process] = []

    def begin(name: str, path: Path, *head: str) -> Process:
        started.append(Process(name, path, *head))
        return started[-1]

    yield begin
    for one in started:
        one.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger that pays for ten charges, by the path of its file."""
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        return ledger.path


def beside(path: Path, suffix: str) -> Path:
    return Path(f"{path}{suffix}")


def delete(path: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        beside(path, suffix).unlink()


def copy_over(path: Path, *suffixes: str) -> None:
    """Put a copy in the place of a file: the same bytes, in another file."""
    for suffix in suffixes:
        shutil.copy(beside(path, suffix), beside(path, ".copy"))
        os.replace(beside(path, ".copy"), beside(path, suffix))


def rename(path: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        beside(path, suffix).rename(beside(path, f"{suffix}.away"))


def link_away(path: Path, *suffixes: str) -> None:
    """Put a symbolic link in the place of a file, which leads to that very file."""
    for suffix in suffixes:
        beside(path, suffix).rename(beside(path, f"{suffix}.away"))
        beside(path, suffix).symlink_to(beside(path, f"{suffix}.away"))


BOTH, ALL = ("-wal", "-shm"), ("", "-wal", "-shm")


@pytest.mark.parametrize(
    ("harm", "suffixes"),
    [
        *((delete, suffixes) for suffixes in (BOTH, ("-wal",), ("-shm",), ("",), ALL)),
        *((copy_over, suffixes) for suffixes in (BOTH, ("-shm",), ALL)),
        *((rename, suffixes) for suffixes in (BOTH, ALL)),
        *((link_away, suffixes) for suffixes in (BOTH, ("",))),
    ],
)
def test_two_processes_never_spend_one_budget_twice_whatever_happens_to_its_files(
    path: Path, start: Start, harm: Callable[..., None], suffixes: tuple[str, ...]
) -> None:
    one = start("one", path)
    assert [one.do("charge") for _ in range(6)] == ["ok"] * 6
    harm(path, *suffixes)
    granted = 6
    two = start("two", path)
    for _ in range(6):
        for process in (one, two):
            granted += process.do("charge") == "ok"
    assert granted <= 10
    assert "LedgerError" in one.do("charge")
    assert "LedgerError" in one.do("read")


def test_the_logs_are_checked_when_nothing_happened_to_them_and_found_right(path: Path, start: Start) -> None:
    one, two = start("one", path), start("two", path)
    told = [process.do("charge") for _ in range(5) for process in (one, two)]
    assert told == ["ok"] * 10
    assert "BudgetExceeded" in one.do("charge")
    assert [one.do("close"), two.do("charge")[:14], one.do("open"), one.do("verify")] == [
        "ok",
        "BudgetExceeded",
        "ok",
        "ok",
    ]


@pytest.mark.parametrize("when", ["BEGIN IMMEDIATE", "INSERT INTO entries", "COMMIT", "PRAGMA wal_checkpoint"])
def test_a_log_that_is_removed_in_the_middle_of_a_charge_frees_nothing(path: Path, start: Start, when: str) -> None:
    """One process is stopped where it is most awkward, and another tries to spend meanwhile and afterwards."""
    one = start("one", path)
    for _ in range(4):
        assert one.do("charge") == "ok"
    assert one.do(f"meanwhile {when}") == "ok"
    one.send("charge")
    assert one.read() == "removed"
    two = start("two", path)
    two.send("charge")
    assert not two.says_anything(seconds=2)  # it waits for the lock on the folder
    one.send("go on")
    granted = 4 + (one.read() == "ok") + (two.read() == "ok")
    for _ in range(8):
        granted += two.do("charge") == "ok"
    assert granted <= 10
    assert "LedgerError" in one.do("charge")
    one.do("close")
    two.do("close")
    three = start("three", path)
    assert three.do("verify") == "ok"
    spent = 10 - sum(three.do("charge") == "ok" for _ in range(11))
    assert spent >= granted


def test_nothing_is_committed_to_a_log_that_was_taken_away(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        connection = ledger._sqlite._connected()
        said: list[str] = []
        connection.set_trace_callback(said.append)
        real = ledger._history._clock

        def meanwhile() -> datetime.datetime:
            delete(path, "-wal", "-shm")
            return real()

        ledger._history._clock = meanwhile
        with pytest.raises(LedgerError, match="while it was open"):
            ledger.limit(None, reason="r")
        assert any(words.startswith("INSERT INTO entries") for words in said)
        assert "COMMIT" not in said
        assert "ROLLBACK" in said


def test_a_charge_is_in_the_file_itself_when_its_receipt_is_returned(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        for index in range(5):
            ledger.charge(TENTH, str(index), account="ana")
            alone = path.parent / f"alone {index}"
            shutil.copy(path, alone)  # without its log
            connection = sqlite3.connect(alone)
            assert connection.execute("SELECT count(*) FROM entries WHERE kind = 'charge'").fetchone() == (index + 1,)
            connection.close()
            assert beside(path, "-wal").stat().st_size < 2**20


def test_a_reader_does_not_keep_charges_from_the_file_for_longer_than_it_reads(path: Path) -> None:
    with SqliteLedger(path) as ledger, SqliteLedger(path) as other:
        with other._history.reading():
            ledger.charge(TENTH, "while another reads", account="ana")
            time.sleep(0.1)
        alone = path.parent / "alone"
        shutil.copy(path, alone)
        connection = sqlite3.connect(alone)
        assert connection.execute("SELECT count(*) FROM entries WHERE kind = 'charge'").fetchone() == (1,)
        connection.close()


def test_a_ledger_whose_log_was_taken_away_writes_nothing_back_when_it_is_closed(path: Path, start: Start) -> None:
    """Its old pages would take the place of what others have written since."""
    one, reader = SqliteLedger(path), SqliteLedger(path)
    with suppress(LedgerError), reader._history.reading():  # so that a charge stays in the log
        one.charge(TENTH, "one", account="ana")
        delete(path, "-wal", "-shm")
    two = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom fractions import Fraction\nfrom privet.accounting.events import PureEvent\n"
            "from privet.ledger.sqlite.store import SqliteLedger\nledger = SqliteLedger(sys.argv[1])\n"
            "for index in range(3):\n    ledger.charge(PureEvent(Fraction(1, 10)), f'two {index}', account='ana')\n"
            "print(ledger.head())\nledger.close()\n",
            str(path),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    reader.close()
    one.close()
    three = start("three", path)
    assert [three.do("verify"), three.do("head")] == ["ok", two.stdout.strip()]


def test_a_folder_that_is_reached_by_two_paths_is_one_ledger(path: Path, tmp_path: Path, start: Start) -> None:
    link = tmp_path / "link"
    link.symlink_to(path.parent)
    one, two, three = start("one", path.parent), start("two", link), start("three", path)
    told = [process.do("charge") for _ in range(4) for process in (one, two, three)]
    assert told.count("ok") == 10
    assert all("BudgetExceeded" in words for words in told[10:])


def test_a_folder_that_is_moved_while_it_is_open_is_refused(path: Path, tmp_path: Path, start: Start) -> None:
    one = start("one", path.parent)
    assert one.do("charge") == "ok"
    path.parent.rename(tmp_path / "moved")
    assert "LedgerError" in one.do("charge")
    two = start("two", tmp_path / "moved")
    assert [two.do("charge") for _ in range(9)] == ["ok"] * 9
    assert "BudgetExceeded" in two.do("charge")
    shutil.copytree(tmp_path / "moved", path.parent)
    assert "LedgerError" in one.do("charge")
