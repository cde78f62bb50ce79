"""Whatever cannot be shown is refused before it is written: no entry makes the next command fail."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from privet import cli
from privet.accounting.events import ApproximateEvent, PureEvent, ZcdpEvent
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import PrivetError, RequestError
from privet.core.event import Event
from privet.ledger import history as histories
from privet.ledger.entries import Limited, write_time
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger

AMOUNTS = [
    Fraction(10) ** 309,
    Fraction(10) ** 308,
    Fraction(17, 10) * Fraction(10) ** 308,
    Fraction(10) ** 200,
    Fraction(1, 10**320),
    Fraction(1, 10**600),
]
TINY = Fraction(1, 10**6)
KINDS: dict[str, Callable[[Fraction], Budget]] = {
    "pure": lambda amount: Pure(epsilon=amount),
    "approximate": lambda amount: Approximate(epsilon=amount, delta=TINY),
    "small delta": lambda amount: Approximate(epsilon=1, delta=min(amount, Fraction(1, 2))),
    "rho": lambda amount: Zcdp(rho=amount),
}
FIRST = {
    "pure": Pure(epsilon=1),
    "approximate": Approximate(epsilon=1, delta=TINY),
    "small delta": Approximate(epsilon=1, delta=TINY),
    "rho": Zcdp(rho=1),
}
READING = (
    ["ledger", "list"],
    ["ledger", "verify"],
    ["ledger", "show", "1"],
    ["ledger", "export"],
    ["budget"],
)


def check_all_is_shown(path: Path) -> None:
    """Run every command that reads, for people and as JSON, on a file that may hold anything that was accepted."""
    for arguments in READING:
        for more in ([], ["--json"]):
            shown = CliRunner().invoke(cli.main, [*arguments, *more, "--ledger", str(path)])
            assert shown.exit_code == 0, (arguments, shown.stderr)
            assert "nan" not in shown.stdout.lower()
    with SqliteLedger(path) as ledger:
        number = int(ledger.head().partition(":")[0])
        json.dumps([one.to_dict() for one in ledger.balances()], allow_nan=False)
        ledger.history()
    shown = CliRunner().invoke(cli.main, ["ledger", "show", str(number), "--ledger", str(path)])
    assert shown.exit_code == 0, shown.stderr


def attempts(ledger: SqliteLedger | MemoryLedger, budget: Budget) -> list[Callable[[], object]]:
    return [
        lambda: ledger.limit(budget, reason="r"),
        lambda: ledger.top_up(budget, reason="r"),
        lambda: ledger.open_account("ana", budget),
        lambda: ledger.top_up(budget, reason="r", account="ana"),
        lambda: ledger.top_up(budget, reason="again"),
        lambda: ledger.top_up(budget, reason="again", account="ana"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_that_cannot_be_shown_is_refused_before_it_is_written(tmp_path: Path, kind: str) -> None:
    for index, amount in enumerate(AMOUNTS):
        path = tmp_path / f"ledger {index}"
        with SqliteLedger(path, FIRST[kind]) as ledger:
            for attempt in attempts(ledger, KINDS[kind](amount)):
                before = ledger.head()
                try:
                    attempt()
                except PrivetError:
                    assert ledger.head() == before
                ledger.balances()
                ledger.remaining()
        if amount in AMOUNTS[:2]:
            check_all_is_shown(path)
        try:
            SqliteLedger(tmp_path / f"new {index}", KINDS[kind](amount)).close()
        except PrivetError:
            assert not (tmp_path / f"new {index}").exists()
        else:
            with SqliteLedger(tmp_path / f"new {index}") as ledger:
                ledger.balances()
        memory = MemoryLedger(FIRST[kind])
        for attempt in attempts(memory, KINDS[kind](amount)):
            with suppress(PrivetError):
                attempt()
            memory.balances()
            memory.verify()


@pytest.mark.parametrize("account", [None, "ana"])
def test_budgets_that_cannot_be_shown_in_sum_are_refused(tmp_path: Path, account: str | None) -> None:
    """Each top-up could be shown by itself."""
    much = Pure(epsilon=6 * Fraction(10) ** 299)
    with SqliteLedger(tmp_path / "ledger", much, analysts={"ana": much}) as ledger:
        before = ledger.head()
        with pytest.raises(RequestError, match="could not be shown"):
            ledger.top_up(much, reason="r", account=account)
        assert ledger.head() == before
        assert ledger.budget_of(account) == much


@pytest.mark.parametrize("command", ["limit", "top-up"])
@pytest.mark.parametrize("amount", ["1e309", "1e-400", "1e400", "1e700", "1/3", "5e-324", "1.7e308"])
def test_a_command_refuses_what_could_not_be_shown_afterwards(tmp_path: Path, command: str, amount: str) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        before = ledger.head()
    shown = CliRunner().invoke(
        cli.main, ["ledger", command, "--epsilon", amount, "--reason", "r", "--ledger", str(tmp_path / "ledger")]
    )
    assert shown.exit_code in (0, 2), shown.stderr
    if amount in ("1e309", "1e-400", "1e400", "1e700"):
        assert shown.exit_code == 2
        with SqliteLedger(tmp_path / "ledger") as ledger:
            assert ledger.head() == before
    check_all_is_shown(tmp_path / "ledger")


def test_a_ledger_in_which_an_earlier_version_wrote_such_a_limit_is_shown_and_can_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger, monkeypatch.context() as earlier:
        earlier.setattr(histories, "check_shown", lambda *_: None)
        with ledger._history.writing() as history:
            history.append(Limited(Pure(epsilon=Fraction(10) ** 309), "r"))
    check_all_is_shown(tmp_path / "ledger")
    shown = CliRunner().invoke(
        cli.main, ["ledger", "limit", "--none", "--reason", "r", "--ledger", str(tmp_path / "ledger")]
    )
    assert shown.exit_code == 0
    check_all_is_shown(tmp_path / "ledger")


@pytest.mark.parametrize("hours", [-14, 0, 14])
@pytest.mark.parametrize("time", [datetime.datetime.min, datetime.datetime.max])
def test_an_end_that_no_calendar_holds_is_refused(tmp_path: Path, time: datetime.datetime, hours: int) -> None:
    when = time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=1)) as ledger:
        for attempt in (
            lambda: ledger.reschedule(when, reason="r"),
            lambda: ledger.open_account("ana", Pure(epsilon=1), expires=when),
        ):
            before = ledger.head()
            try:
                attempt()
            except PrivetError:
                assert ledger.head() == before
    check_all_is_shown(tmp_path / "ledger")
    text = write_time(datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)).replace("Z", "+23:59").replace("2030", "0001")
    shown = CliRunner().invoke(
        cli.main, ["ledger", "reschedule", text, "--reason", "r", "--ledger", str(tmp_path / "ledger")]
    )
    assert shown.exit_code == 2


TEXTS = ["", "\ud800", "\0", "a\x1b[2J", "\u202e", "x" * 10_000, "é\n\n\t", "{}", "'\"--"]
FACTS: list[Any] = [
    {},
    {"cost": 5},
    {"cost": {"epsilon": 10**400}},
    {"cost": {"epsilon": "much"}},
    {"cost": {"epsilon": 1}, "releases": 3},
    {"cost": {"epsilon": 1}, "releases": [3]},
    {"cost": {"epsilon": 1}, "group_by": 7, "where": []},
    {"entry": "another", "head": None},
    {"deep": {"deep": {"deep": ["\ud800"]}}},
]
EVENTS: list[Event] = [
    PureEvent(Fraction(1, 10**300)),
    PureEvent(Fraction(1, 10**600)),
    ZcdpEvent(Fraction(1, 10**600)),
    ApproximateEvent(Fraction(1, 10**600), Fraction(1, 10**600)),
]


def test_a_charge_is_shown_whatever_its_words_and_its_event_are(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with SqliteLedger(path, Approximate(epsilon=1, delta=TINY)) as ledger:
        number = 0
        for text in TEXTS:
            for account, digest, words, label in (
                (text, "d", "", ""),
                ("a", text, "", ""),
                ("a", "d", text, ""),
                ("a", "d", "", text),
            ):
                number += 1
                before = ledger.head()
                try:
                    ledger.charge(
                        PureEvent(Fraction(1, 10**9)),
                        f"{digest}{number}" if digest == "d" else digest,
                        account=account,
                        text=words,
                        versions={"t": label},
                    )
                except PrivetError:
                    assert ledger.head() == before
        for facts in FACTS:
            number += 1
            ledger.charge(PureEvent(Fraction(1, 10**9)), f"d{number}", account="a", facts=facts)
        for event in EVENTS:
            number += 1
            with suppress(PrivetError):
                ledger.charge(event, f"d{number}", account="a")
        last = int(ledger.head().partition(":")[0])
    check_all_is_shown(path)
    for entry in range(1, last + 1):
        for command in (["ledger", "show"], ["certificate"]):
            for more in ([], ["--json"]):
                shown = CliRunner().invoke(cli.main, [*command, str(entry), *more, "--ledger", str(path)])
                assert shown.exit_code in (0, 2), (command, entry, shown.stderr, shown.exception)
