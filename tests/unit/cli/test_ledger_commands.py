"""The custodian's commands on a real ledger: what they show, what they change, and how they fail."""

from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from privet import cli
from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Pure
from privet.core.errors import BudgetError
from privet.ledger.sqlite.store import SqliteLedger

FACTS = {
    "table": "visits",
    "cost": {"epsilon": 0.125, "delta": 0.0},
    "releases": [{"sum": "the count of rows in each group"}],
    "group_by": ['"ward"'],
    "where": '("age" >= 18)',
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "privet.ledger"
    caps = {"ana": Approximate(epsilon=1, delta=Fraction(1, 10**7)), "ben": Pure(epsilon=1)}
    with SqliteLedger(file, Approximate(epsilon=3, delta=Fraction(1, 10**6)), analysts=caps) as ledger:
        receipt = ledger.charge(PureEvent(Fraction(1, 8)), "d" * 64, account="ana", text="in words", facts=FACTS)
        ledger.store(receipt, ((), ((5,),)))
        ledger.charge(PureEvent(Fraction(1, 8)), "d" * 64, account="ben", facts=FACTS)
        return ledger.path


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli.main, list(arguments), input=text)


def told(*arguments: str) -> Any:
    shown = run(*arguments, "--json")
    assert shown.exit_code == 0, shown.stderr
    return json.loads(shown.stdout)


def test_the_list_names_every_entry_and_the_head(path: Path) -> None:
    listed = told("ledger", "list", "--ledger", str(path))
    assert [entry["kind"] for entry in listed["entries"]] == [
        "open",
        "account",
        "account",
        "charge",
        "answer",
        "charge",
    ]
    assert listed["head"].startswith("6:")
    shown = run("ledger", "list", "--ledger", str(path)).stdout
    assert "epsilon 0.125: count of rows in visits by ward where age >= 18" in " ".join(shown.split())
    assert "repeats the answer that entry 4 paid for" in shown
    assert listed["head"] in shown


def test_the_list_can_be_cut_to_an_account_and_to_the_last(path: Path) -> None:
    entries = told("ledger", "list", "--ledger", str(path), "--account", "ben")["entries"]
    assert [entry["entry"] for entry in entries] == [3, 6]
    entries = told("ledger", "list", "--ledger", str(path), "--last", "1")["entries"]
    assert [entry["entry"] for entry in entries] == [6]


def test_an_entry_is_shown_whole_as_it_is_written(path: Path) -> None:
    body = told("ledger", "show", "4", "--ledger", str(path))
    assert (body["kind"], body["facts"], body["v"]) == ("charge", FACTS, 2)
    shown = run("ledger", "show", "4", "--ledger", str(path)).stdout
    assert "in words" in shown
    assert "d" * 64 in shown
    for number in ("1", "2", "5", "6"):
        assert run("ledger", "show", number, "--ledger", str(path)).exit_code == 0


@pytest.mark.parametrize("number", ["0", "7"])
def test_an_entry_that_does_not_exist_is_refused(path: Path, number: str) -> None:
    shown = run("ledger", "show", number, "--ledger", str(path))
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "from 1 to 6" in shown.stderr


def test_verify_proves_the_ledger_and_the_head_that_was_kept(path: Path) -> None:
    kept = told("ledger", "verify", "--ledger", str(path))
    assert (kept["valid"], kept["entries"]) == (True, 6)
    again = told("ledger", "verify", "--ledger", str(path), "--head", kept["head"])
    assert again["pinned"] == kept["head"]
    assert "which you kept" in run("ledger", "verify", "--ledger", str(path), "--head", kept["head"]).stdout
    other = run("ledger", "verify", "--ledger", str(path), "--head", f"6:{'0' * 64}")
    assert other.exit_code == 5
    assert "pinned" in other.stderr
    assert run("ledger", "verify", "--ledger", str(path), "--head", "x").exit_code == 2


def test_a_ledger_that_was_changed_is_told_with_status_5(path: Path) -> None:
    content = path.read_bytes()
    place = content.index(b'"text":"in words"')
    path.write_bytes(content[: place + 8] + b"o" + content[place + 9 :])
    for arguments in (["ledger", "verify"], ["ledger", "list"], ["certificate", "4"], ["ledger", "export"]):
        shown = run(*arguments, "--ledger", str(path), "--json")
        assert (shown.exit_code, shown.stdout) == (5, ""), arguments
        assert json.loads(shown.stderr)["error"]["code"] == "ledger"


def test_what_is_exported_can_be_imported_and_is_the_same_ledger(path: Path, tmp_path: Path) -> None:
    lines = run("ledger", "export", "--ledger", str(path)).stdout
    assert len(lines.splitlines()) == 6
    file, new = tmp_path / "lines.jsonl", tmp_path / "new.ledger"
    exported = told("ledger", "export", "--ledger", str(path), "--output", str(file))
    assert file.read_text() == lines
    imported = told("ledger", "import", str(file), "--ledger", str(new), "--head", exported["head"])
    assert imported["head"] == exported["head"] == told("ledger", "verify", "--ledger", str(new))["head"]
    assert stat.S_IMODE(new.stat().st_mode) == 0o700
    assert [stat.S_IMODE(one.stat().st_mode) for one in new.iterdir()] == [0o600]
    third = tmp_path / "third.ledger"
    assert run("ledger", "import", "-", "--ledger", str(third), text=lines).exit_code == 0
    assert third.exists()


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text("mine")
    shown = run("ledger", "export", "--ledger", str(path), "--output", str(file))
    assert shown.exit_code == 2
    assert file.read_text() == "mine"
    lines = run("ledger", "export", "--ledger", str(path)).stdout
    before = path.read_bytes()
    assert run("ledger", "import", "-", "--ledger", str(path), text=lines).exit_code == 5
    assert path.read_bytes() == before
    assert run("ledger", "backup", str(file), "--ledger", str(path)).exit_code == 5
    assert file.read_text() == "mine"


def test_lines_that_are_no_ledger_or_miss_the_head_make_none(path: Path, tmp_path: Path) -> None:
    lines = run("ledger", "export", "--ledger", str(path)).stdout.splitlines()
    head = told("ledger", "verify", "--ledger", str(path))["head"]
    new = tmp_path / "new.ledger"
    for text, more in (
        ("hello", []),
        ("\n".join(lines[1:]), []),
        ("\n".join(lines[:-1]), ["--head", head]),
        ("\n".join(lines).replace("in words", "no words"), []),
    ):
        shown = run("ledger", "import", "-", "--ledger", str(new), *more, text=text)
        assert shown.exit_code == 5, text
        assert not new.exists()


def test_a_backup_is_whole(path: Path, tmp_path: Path) -> None:
    made = told("ledger", "backup", str(tmp_path / "copy.ledger"), "--ledger", str(path))
    assert told("ledger", "verify", "--ledger", str(tmp_path / "copy.ledger"))["head"] == made["head"]


def test_a_top_up_is_recorded_with_its_reason_and_raises_the_promise(path: Path) -> None:
    more = ["--epsilon", "1/2", "--account", "ben", "--reason", "a question more"]
    assert "epsilon 1.5" in told("ledger", "top-up", "--ledger", str(path), *more)["budget"]
    last = told("ledger", "list", "--ledger", str(path))["entries"][-1]
    assert (last["kind"], last["account"]) == ("top-up", "ben")
    assert "a question more" in last["what"]
    shown = run("ledger", "top-up", "--ledger", str(path), "--epsilon", "1", "--delta", "1e-7", "--reason", "x")
    assert "the data set is now epsilon 4" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--delta", "1e-7"],
        ["--epsilon", "1", "--rho", "1"],
        ["--epsilon=-1"],
        ["--epsilon", "1", "--account", "ben", "--delta", "1e-9"],
        ["--rho", "1"],
        ["--epsilon", "1", "--account", "nobody"],
    ],
)
def test_a_top_up_that_makes_no_sense_is_refused_and_changes_nothing(path: Path, more: list[str]) -> None:
    shown = run("ledger", "top-up", "--ledger", str(path), "--reason", "x", *more)
    assert shown.exit_code == 2
    assert told("ledger", "verify", "--ledger", str(path))["entries"] == 6


def test_a_top_up_without_a_reason_is_refused(path: Path) -> None:
    assert run("ledger", "top-up", "--ledger", str(path), "--epsilon", "1").exit_code == 2


def test_limits_and_ends_are_changed_with_a_reason(path: Path) -> None:
    at = ("--ledger", str(path), "--reason", "the board agreed")
    assert told("ledger", "limit", "--epsilon", "0.5", *at)["per_query"] == "epsilon 0.5, with no exception"
    assert told("ledger", "limit", "--none", *at)["per_query"] is None
    ends = told("ledger", "reschedule", "2999-12-31T23:00:00+01:00", *at)
    assert ends["expires"] == "2999-12-31T22:00:00.000000Z"
    assert told("ledger", "reschedule", "never", "--account", "ben", *at)["expires"] == ends["expires"]
    assert told("ledger", "reschedule", "never", *at)["expires"] is None
    entries = told("ledger", "list", "--ledger", str(path))["entries"][-5:]
    assert [entry["kind"] for entry in entries] == ["limit", "limit", "expiry", "expiry", "expiry"]
    assert all(entry["what"].endswith("the board agreed") for entry in entries)
    assert run("ledger", "limit", "--none", "--epsilon", "1", *at).exit_code == 2
    assert run("ledger", "limit", *at).exit_code == 2
    for until in ("soon", "2030-01-01", "2030-01-01T00:00:00"):
        assert run("ledger", "reschedule", until, *at).exit_code == 2
    assert "ends never" in run("ledger", "reschedule", "never", *at).output
    assert "cost anything" in run("ledger", "limit", "--none", *at).output


def test_a_frozen_account_is_told_and_can_be_cleared(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        for digest in "abc":
            ledger.fail(ledger.charge(PureEvent(Fraction(1, 100)), digest, account="ben"))
    states = {one["account"]: one["state"] for one in told("budget", "--ledger", str(path))["budgets"]}
    assert states == {None: "open", "ana": "open", "ben": "frozen"}
    assert "frozen" in run("budget", "--ledger", str(path)).stdout
    assert told("ledger", "clear", "ben", "--ledger", str(path), "--reason", "the disk was full")["account"] == "ben"
    (ben,) = told("budget", "--ledger", str(path), "--analyst", "ben")["budgets"]
    assert ben["state"] == "open"


def test_a_custodian_freezes_an_account_and_clears_it(path: Path) -> None:
    at = ("--ledger", str(path), "--reason", "left the project")
    assert told("ledger", "freeze", "ben", *at)["account"] == "ben"
    with SqliteLedger(path) as ledger:
        assert ledger.frozen() == ("ben",)
        with pytest.raises(BudgetError, match="frozen"):
            ledger.charge(PureEvent(Fraction(1, 100)), "new", account="ben")
        ledger.charge(PureEvent(Fraction(1, 100)), "new", account="ana")
    assert "nothing more until it is cleared" in run("ledger", "freeze", "ben", *at).output
    assert run("ledger", "freeze", "nobody", *at).exit_code == 2
    assert run("ledger", "freeze", "ben", "--ledger", str(path)).exit_code == 2
    assert "may spend again" in run("ledger", "clear", "ben", *at).output
    with SqliteLedger(path) as ledger:
        ledger.charge(PureEvent(Fraction(1, 100)), "new", account="ben")
        assert [one.kind for one in ledger.entries()][-5:] == ["freeze", "charge", "freeze", "clear", "charge"]


def test_the_budget_tells_what_is_spent_left_and_meant(path: Path) -> None:
    whole, ana, ben = told("budget", "--ledger", str(path))["budgets"]
    assert (whole["account"], ana["account"], ben["account"]) == (None, "ana", "ben")
    assert (ben["spent_share"], ben["largest_epsilon"]) == (0.125, 0.875)
    assert ben["budget"] == {"epsilon": "1"}
    shown = run("budget", "--ledger", str(path)).stdout
    assert "12.5%" in shown
    assert "up to epsilon 0.875" in shown


def test_the_budget_of_nobody_is_refused(path: Path) -> None:
    shown = run("budget", "--ledger", str(path), "--analyst", "nobody")
    assert shown.exit_code == 2
    assert "nobody" in shown.stderr


def test_a_certificate_is_public_and_tells_the_head(path: Path) -> None:
    certificate = told("certificate", "4", "--ledger", str(path))
    assert certificate["table"] == "visits"
    assert certificate["head"].startswith("6:")
    assert "released" not in json.dumps(certificate)
    repeated = run("certificate", "6", "--ledger", str(path))
    assert "repeats the answer that entry 4 paid for" in " ".join(repeated.stdout.split())
    assert run("certificate", "1", "--ledger", str(path)).exit_code == 2


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for arguments in (["ledger", "list"], ["ledger", "verify"], ["budget"], ["certificate", "1"]):
        shown = run(*arguments, "--ledger", str(tmp_path / "none"))
        assert shown.exit_code == 5
        assert list(tmp_path.iterdir()) == []
    for arguments in (["ledger", "list"], ["budget"], ["certificate", "1"]):
        shown = run(*arguments, "--config", str(tmp_path / "privet.toml"))
        assert shown.exit_code == 2
        assert "cannot be read" in shown.stderr
