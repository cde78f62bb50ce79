"""Disks fill up, files are locked or read-only, drives are far away: a clear `LedgerError`, and nothing is released."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import LedgerError
from privet.ledger.sqlite import place
from privet.ledger.sqlite.place import mount_kind
from privet.ledger.sqlite.store import SqliteLedger

STEP = PureEvent(Fraction(1, 1000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        return ledger.path


def run(program: str, *arguments: object, around: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*around, sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


PREAMBLE = """
import os, sys
from fractions import Fraction
from privet.accounting.events import PureEvent
from privet.core.errors import LedgerError
from privet.ledger.sqlite.store import SqliteLedger
STEP = PureEvent(Fraction(1, 1000))
path = sys.argv[1]
"""


@pytest.mark.skipif(os.name != "posix", reason="limits on the size of files are those of POSIX")
def test_a_full_disk_stops_charges_and_answers_and_harms_nothing(path: Path) -> None:
    program = PREAMBLE + textwrap.dedent(
        """
        import resource
        ledger = SqliteLedger(path)
        receipt = ledger.charge(STEP, "first", account="ana")
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))  # the log is written from its start
        for attempt in (lambda: ledger.charge(STEP, "second", account="ana"), lambda: ledger.store(receipt, (1,))):
            try:
                attempt()
            except LedgerError as error:
                print(error)
            else:
                print("granted")
        print(ledger.find("first", "ana"), len(ledger.history()))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(ledger.store(receipt, (2,))[1], ledger.charge(STEP, "second", account="ana").entry)
        ledger.verify()
        """
    )
    told = run(program, path)
    assert told.returncode == 0, told.stderr
    charge, store, between, after = told.stdout.splitlines()
    assert "the ledger cannot be used" in charge
    assert "disk" in charge
    assert "the ledger cannot be used" in store
    assert between == "None 1"
    assert after == "(2,) 4"


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
@pytest.mark.parametrize("locked", ["file", "folder"])
def test_a_read_only_ledger_grants_nothing(locked: str) -> None:
    folder = tempfile.mkdtemp()  # pytest's own folders may not be entered by others than root, if that is who we are
    with SqliteLedger(Path(folder) / "ledger", Pure(epsilon=1)) as ledger:
        path = ledger.path
    program = PREAMBLE + textwrap.dedent(
        """
        os.chdir(os.path.dirname(path))
        if os.geteuid() == 0:
            for name in ("..", ".", "ledger"):
                os.chown(name, 65534, 65534)
            os.setgid(65534)
            os.setuid(65534)
        os.chmod("ledger" if sys.argv[2] == "file" else ".", 0o400 if sys.argv[2] == "file" else 0o500)
        try:
            SqliteLedger("ledger").charge(STEP, "plan", account="ana")
        except LedgerError as error:
            print(error)
        else:
            print("granted")
        os.chmod("." if sys.argv[2] == "folder" else "ledger", 0o700)
        """
    )
    told = run(program, path, locked)
    assert told.returncode == 0, told.stderr
    assert "the ledger cannot be used" in told.stdout
    path.chmod(0o600)
    with SqliteLedger(path) as ledger:
        assert ledger.history() == ()
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_a_ledger_below_a_folder_that_cannot_be_entered_is_refused_as_one() -> None:
    above = tempfile.mkdtemp()
    folder = Path(above) / "own"
    folder.mkdir()
    program = PREAMBLE + textwrap.dedent(
        """
        os.chdir(path)
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        else:
            os.chmod("..", 0)
        try:
            SqliteLedger("ledger")
        except LedgerError as error:
            print(error)
        finally:
            if os.geteuid() != 65534:
                os.chmod("..", 0o700)
        """
    )
    told = run(program, folder)
    assert told.returncode == 0, told.stderr
    assert "the ledger cannot be used" in told.stdout
    assert "check the path and who owns it" in told.stdout
    shutil.rmtree(above)


def test_a_locked_ledger_says_so_after_its_timeout(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    with SqliteLedger(path, timeout=0.05) as ledger:
        receipt = ledger.charge(STEP, "before", account="ana")
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            ledger.charge(STEP, "plan", account="ana")
        with pytest.raises(LedgerError, match="locked"):
            ledger.store(receipt, (1,))
        assert ledger.find("before", "ana") is None
        holder.execute("ROLLBACK")
        holder.close()
        ledger.charge(STEP, "plan", account="ana")


def test_a_damaged_ledger_grants_nothing(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)
    with pytest.raises(LedgerError):
        SqliteLedger(path)


def test_a_file_that_vanished_is_not_made_anew(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        ledger.charge(STEP, "plan", account="ana")
    path.unlink()
    with pytest.raises(LedgerError, match="no ledger"):
        SqliteLedger(path)


def test_a_ledger_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder"):
        SqliteLedger(tmp_path / "nowhere" / "ledger", Pure(epsilon=1))
    with pytest.raises(LedgerError):
        SqliteLedger(tmp_path, Pure(epsilon=1))


def test_a_closed_ledger_grants_nothing(path: Path) -> None:
    ledger = SqliteLedger(path)
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge(STEP, "plan", account="ana")


def test_an_error_inside_a_charge_leaves_nothing_half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.ledger.sqlite.transaction import SqliteTransaction

    with SqliteLedger(path) as ledger:
        real = SqliteTransaction.insert

        def interrupted(self: SqliteTransaction, *arguments: object) -> None:
            real(self, *arguments)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(SqliteTransaction, "insert", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.charge(STEP, "plan", account="ana")
        assert ledger.history() == ()
        assert ledger.remaining().amount == 1
        ledger.charge(STEP, "plan", account="ana")
        ledger.verify()


# Files and folders


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_only_the_owner_may_read_a_ledger_and_what_lies_beside_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with SqliteLedger(path) as ledger:
            ledger.charge(STEP, "plan", account="ana")
            ledger.backup(path.with_name("copy"))
            found = [*path.parent.iterdir(), path.with_name("copy") / "ledger"]
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in found if file.is_file()}
    finally:
        os.umask(before)
    assert modes.keys() == {"ledger", "ledger-wal", "ledger-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.with_name("copy").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_a_ledger_that_others_may_read_is_refused(path: Path) -> None:
    path.chmod(0o640)
    with pytest.raises(LedgerError, match="chmod 600"):
        SqliteLedger(path)


def test_a_ledger_with_a_second_name_is_refused(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        os.link(path, path.with_name("other name"))
        ledger.charge(STEP, "in one log", account="ana")
    with pytest.raises(LedgerError, match="hard link"):
        SqliteLedger(path)
    with pytest.raises(LedgerError, match="hard link"):
        SqliteLedger(path.with_name("other name"))


def test_a_name_that_is_left_from_making_a_ledger_does_no_harm(path: Path) -> None:
    os.link(path, path.with_name(".ledger.0123456789abcdef"))
    with SqliteLedger(path) as ledger:
        ledger.charge(STEP, "plan", account="ana")
    os.link(path, path.with_name(".ledger.0123456789abcde"))
    with pytest.raises(LedgerError, match="hard link"):
        SqliteLedger(path)


@pytest.mark.parametrize("before_listing", [True, False])
def test_a_name_that_its_maker_removes_while_names_are_counted_does_no_harm(
    path: Path, monkeypatch: pytest.MonkeyPatch, before_listing: bool
) -> None:
    making = path.with_name(".ledger.0123456789abcdef")
    os.link(path, making)
    listdir = os.listdir

    def remove_meanwhile(folder: Path) -> list[str]:
        if before_listing:
            making.unlink(missing_ok=True)
        names = listdir(folder)
        making.unlink(missing_ok=True)
        return names

    monkeypatch.setattr(os, "listdir", remove_meanwhile)
    with SqliteLedger(path) as ledger:
        ledger.charge(STEP, "plan", account="ana")
    assert not making.exists()


def test_a_link_to_a_ledger_is_the_ledger(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    with SqliteLedger(path) as ledger, SqliteLedger(link) as same:
        for index in range(50):
            (ledger, same)[index % 2].charge(STEP, str(index), account="ana")
        assert ledger.remaining() == same.remaining()
        assert ledger.remaining().amount == Fraction(950, 1000)
        same.verify()
    assert list(link.parent.iterdir()) == [link]


def test_a_link_to_a_network_drive_is_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/mounts").exists():
        pytest.skip("needs /proc/mounts, which Linux has")
    (tmp_path / "local").mkdir()
    link = tmp_path / "local" / "link"
    link.symlink_to(path)
    far = os.path.realpath(path.parent)
    monkeypatch.setattr(place, "mount_kind", lambda folder, mounts: "nfs4" if folder == far else "ext4")
    with pytest.raises(LedgerError, match="network"):
        SqliteLedger(link)


@pytest.mark.parametrize("how", ["replaced", "moved", "removed"])
def test_a_ledger_notices_that_its_file_is_no_longer_the_one_at_its_path(path: Path, how: str) -> None:
    with SqliteLedger(path) as ledger:
        ledger.backup(path.with_name("copy"))
        receipt = ledger.charge(STEP, "plan", account="ana")
        if how == "replaced":
            os.replace(path.with_name("copy") / "ledger", path)
        elif how == "moved":
            path.rename(path.with_name("moved"))
        else:
            path.unlink()
        for attempt in (
            lambda: ledger.charge(STEP, "other", account="ana"),
            lambda: ledger.store(receipt, (1,)),
            lambda: ledger.find("plan", "ana"),
            ledger.verify,
        ):
            with pytest.raises(LedgerError, match="while it was open"):
                attempt()


def test_no_ledger_is_made_where_its_log_cannot_be_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privet.ledger.sqlite import place as files

    def in_the_way(path: Path, timeout: float, *, check: object) -> sqlite3.Connection:
        connection = real(path, timeout, check=check)  # type: ignore[arg-type]
        reader.append(real(path, timeout, check=check))  # type: ignore[arg-type]
        connection.execute("PRAGMA busy_timeout = 10")
        connection.execute("CREATE TABLE before (x)")
        reader[0].execute("BEGIN")
        reader[0].execute("SELECT * FROM sqlite_schema").fetchall()
        return connection

    real, reader = files.connect, list[sqlite3.Connection]()
    monkeypatch.setattr(files, "connect", in_the_way)
    with pytest.raises(LedgerError, match="cannot be made"):
        SqliteLedger(tmp_path / "ledger", Pure(epsilon=1))
    reader[0].close()
    assert list(tmp_path.iterdir()) == []


MOUNTS = r"""sysfs /sys sysfs rw 0 0
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local\040disk xfs rw 0 0
//host/share /mnt/share cifs rw 0 0
tmpfs /mnt/share/quick tmpfs rw 0 0
ana@host: /mnt/ssh fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/homes", "ext4"),
        ("/home", "nfs4"),
        ("/home/ana", "nfs4"),
        ("/home/local disk/x", "xfs"),
        ("/mnt/share", "cifs"),
        ("/mnt/share/quick/x", "tmpfs"),
        ("/mnt/ssh/x", "fuse.sshfs"),
    ],
)
def test_the_kind_of_drive_is_that_of_the_nearest_mount(folder: str, kind: str) -> None:
    assert mount_kind(folder, MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "ocfs2", "vboxsf", "fuse.sshfs", "fuse.s3fs"]
)
def test_a_network_drive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(place, "mount_kind", lambda folder, mounts: kind)
    if not Path("/proc/self/mounts").exists():
        pytest.skip("needs /proc/mounts, which Linux has")
    with pytest.raises(LedgerError, match="network"):
        SqliteLedger(tmp_path / "ledger", Pure(epsilon=1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuse.ntfs", ""])
def test_a_local_drive_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(place, "mount_kind", lambda folder, mounts: kind)
    SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)).close()


def test_a_ledger_is_made_once_by_however_many_want_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    heads: list[str] = []

    def want() -> None:
        with SqliteLedger(path, Pure(epsilon=1)) as ledger:
            heads.append(ledger.head())

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heads) == 8
    assert len(set(heads)) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"ledger"}


# Sessions

ASKING = PREAMBLE + textwrap.dedent(
    """
    import datetime, resource
    import pyarrow as pa
    from privet.core.schema import Table, integer
    from privet.core.unit import Rows
    from privet.session import Session

    def open_session(ledger):
        columns = {"age": integer(0, 120)}
        return Session({"visits": Table(pa.table({"age": [1, 2, 3]}), unit=Rows(), columns=columns)}, ledger=ledger)

    def ask(session, least):
        try:
            return session.ask(f"SELECT COUNT(*) FROM visits WHERE age > {least}", epsilon=Fraction(1, 1000)).value
        except LedgerError as error:
            return f"LedgerError: {error}"

    class Meanwhile:
        def __init__(self, engine, happens):
            self.engine, self.happens = engine, happens
        def check(self, scan):
            self.engine.check(scan)
        def scan(self, scan):
            self.happens()
            return self.engine.scan(scan)
        def close(self):
            self.engine.close()
    """
)

BETWEEN = {
    "full": (
        "lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))",
        "the ledger cannot be used: the disk",
    ),
    "locked": (
        "lambda: other.execute('BEGIN IMMEDIATE')",
        "other.execute('ROLLBACK')",
        "the ledger cannot be used: it is locked",
    ),
    "clock": (
        "lambda: clock.append(-3600)",
        "clock.append(0)",
        "the ledger's last entry lies in this machine's future",
    ),
    "replaced": (
        "lambda: os.rename(path, path + '.moved')",
        "os.rename(path + '.moved', path)",
        "was moved, removed or replaced while it was open",
    ),
}


@pytest.mark.skipif(os.name != "posix", reason="limits on the size of files are those of POSIX")
@pytest.mark.parametrize("what", BETWEEN)
def test_a_fault_before_the_charge_or_between_it_and_the_answer_releases_nothing(path: Path, what: str) -> None:
    """In a real session nothing is shown, the charge stands, and once the fault is gone it is not charged again."""
    happens, mend, message = BETWEEN[what]
    program = ASKING + textwrap.dedent(
        f"""
        import sqlite3
        clock = [0]
        now = lambda: datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=clock[-1])
        ledger = SqliteLedger(path, timeout=0.05, clock=now)
        other = sqlite3.connect(path, isolation_level=None)
        session = open_session(ledger)
        real = session._executor.engine
        fault = {happens}
        session._executor.engine = Meanwhile(real, fault)
        print(ask(session, 1))
        session._executor.engine = real
        print(ask(session, 2))
        {mend}
        print([entry.number for entry in ledger.history()])
        print(type(ask(session, 1)).__name__, type(ask(session, 2)).__name__)
        print([entry.number for entry in ledger.history()])
        ledger.verify()
        """
    )
    told = run(program, path)
    assert told.returncode == 0, told.stderr
    after_charge, before_charge, between, answers, after = told.stdout.splitlines()
    for error in (after_charge, before_charge):
        assert error.startswith("LedgerError: ")
        assert message in error
    assert (between, answers, after) == ("[2]", "int int", "[2, 4]")


# Durability


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt install strace, or dnf install strace")
def test_a_receipt_and_an_answer_are_on_the_disk_before_they_are_seen(path: Path, tmp_path: Path) -> None:
    program = ASKING + textwrap.dedent(
        """
        def say(what):
            os.write(1, what.encode())
        ledger = SqliteLedger(path)
        for index in range(5):
            say("(charge")
            receipt = ledger.charge(STEP, str(index), account="ana")
            say("charge)")
            say("(store")
            ledger.store(receipt, (index,))
            say("store)")
        say("(find")
        ledger.find("0", "ana")
        say("find)")
        session = open_session(ledger)
        for least in range(3):
            say("(ask")
            ask(session, least)
            say("ask)")
        say("(again")
        ask(session, 0)
        say("again)")
        """
    )
    log = tmp_path / "calls"
    told = run(program, path, around=("strace", "-f", "-o", str(log), "-e", "trace=fsync,fdatasync,write"))
    if "ptrace" in told.stderr and told.returncode != 0:
        pytest.skip("strace may not trace here: allow ptrace (--cap-add=SYS_PTRACE in a container)")
    assert told.returncode == 0, told.stderr
    synced, counts = 0, {"charge": [], "store": [], "find": [], "ask": [], "again": []}
    for line in log.read_text().splitlines():
        # a call that another thread's line interrupts ends in a line of its own
        synced += re.search(r"\b(fsync|fdatasync)(\(| resumed).*= 0$", line.rstrip()) is not None
        for name in counts:
            if f'"({name}"' in line:
                synced = 0
            elif f'"{name})"' in line:
                counts[name].append(synced)
    assert len(counts["charge"]) == len(counts["store"]) == 5
    assert min(counts["charge"]) >= 1
    assert min(counts["store"]) >= 1
    assert len(counts["ask"]) == 3
    assert min(counts["ask"]) >= 2  # one for the charge, one for the answer
    assert counts["find"] == counts["again"] == [0]
