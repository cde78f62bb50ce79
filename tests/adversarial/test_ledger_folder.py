"""A ledger's folder is as safe as its file: others may not write to it, and a new ledger makes its own."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import LedgerError
from privet.ledger.sqlite.store import SqliteLedger

TENTH = PureEvent(Fraction(1, 10))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a ledger in its own folder."""
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        return ledger.path


def test_a_new_ledger_lives_in_a_folder_of_its_own(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with SqliteLedger(tmp_path / "hospital.ledger", Pure(epsilon=1)) as ledger:
            ledger.charge(TENTH, "plan", account="ana")
            ledger.backup(tmp_path / "copy")
            lines = list(ledger.export())
        SqliteLedger.restore(tmp_path / "restored", lines).close()
    finally:
        os.umask(before)
    for name in ("hospital.ledger", "copy", "restored"):
        folder = tmp_path / name
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]
        with SqliteLedger(folder) as ledger:
            assert len(ledger.history()) == 1
            assert ledger.path.parent == folder
    assert {file.name for file in tmp_path.iterdir()} == {"hospital.ledger", "copy", "restored"}


def test_a_ledger_that_is_a_file_by_itself_is_opened_where_its_folder_is_safe(path: Path, tmp_path: Path) -> None:
    single = tmp_path / "single.ledger"
    shutil.copy(path, single)
    single.chmod(0o600)
    with SqliteLedger(single, Pure(epsilon=1)) as ledger:
        ledger.charge(TENTH, "plan", account="ana")
        assert ledger.path == single
    tmp_path.chmod(0o777)
    with pytest.raises(LedgerError, match=f"chmod go-w {tmp_path}"):
        SqliteLedger(single)


@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777, 0o722])
def test_a_folder_that_all_may_write_to_is_refused_with_the_command_that_mends_it(path: Path, mode: int) -> None:
    path.parent.chmod(mode)
    with pytest.raises(LedgerError, match=f"chmod go-w {path.parent}"):
        SqliteLedger(path.parent)
    subprocess.run(["chmod", "go-w", str(path.parent)], check=True)
    SqliteLedger(path.parent).close()


def test_a_folder_above_is_refused_unless_others_cannot_take_names_away_from_it(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "between").mkdir(parents=True)
    above.chmod(0o777)
    for place in (above, above / "between"):
        with pytest.raises(LedgerError, match=f"chmod go-w {above}"):
            SqliteLedger(place / "ledger", Pure(epsilon=1))
        assert not (place / "ledger").exists()
    above.chmod(0o1777)  # as /tmp is
    SqliteLedger(above / "ledger", Pure(epsilon=1)).close()


def test_a_folder_that_a_group_with_others_in_it_may_write_to_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp

    path.parent.chmod(0o770)
    group = path.parent.stat().st_gid
    name = grp.getgrgid(group).gr_name
    SqliteLedger(path.parent).close()  # no other process is in it
    alone = grp.struct_group((name, "x", group, []))
    for members, refused in ((["ana"], True), (["root"], False), ([], False)):
        monkeypatch.setattr(grp, "getgrgid", lambda _, m=members: grp.struct_group((name, "x", group, m)))
        if refused:
            with pytest.raises(LedgerError, match=f"chmod go-w {path.parent}"):
                SqliteLedger(path.parent)
        else:
            SqliteLedger(path.parent).close()
    monkeypatch.setattr(grp, "getgrgid", lambda _: alone)
    import pwd

    other = pwd.struct_passwd(("ben", "x", 4321, group, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", lambda: [other])
    with pytest.raises(LedgerError, match="chmod go-w"):
        SqliteLedger(path.parent)


def test_a_group_that_nobody_knows_may_have_others_in_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp

    def unknown(number: int) -> grp.struct_group:
        raise KeyError(number)

    path.parent.chmod(0o770)
    monkeypatch.setattr(grp, "getgrgid", unknown)
    with pytest.raises(LedgerError, match="chmod go-w"):
        SqliteLedger(path.parent)


def test_a_folder_without_a_ledger_is_not_made_into_one(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for content in (None, "letter"):
        if content:
            (folder / content).write_text("dear ana")
        with pytest.raises(LedgerError):
            SqliteLedger(folder, Pure(epsilon=1))
    assert {file.name for file in folder.iterdir()} == {"letter"}
