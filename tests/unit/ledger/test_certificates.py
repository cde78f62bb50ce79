"""Certificates and balances: what a ledger tells of a charge later, and what is left of each budget."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privet.accounting.events import PureEvent, ThresholdEvent, ZcdpEvent
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, LedgerError, RequestError
from privet.core.schema import Contribution, Table, integer
from privet.core.unit import Person
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.codec import canonical, link
from privet.ledger.entries import Charged, read_entry, write_entry
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.session import Session

BUDGET = Approximate(epsilon=4, delta=Fraction(1, 10**6))
ACCOUNTS: dict[str, Budget] = {"ana": Approximate(epsilon=2, delta=Fraction(1, 10**7)), "ben": Pure(epsilon=1)}


@pytest.fixture(params=["sqlite", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookkeeping]:
    if request.param == "memory":
        yield MemoryLedger(BUDGET, analysts=ACCOUNTS)
    else:
        with SqliteLedger(tmp_path / "ledger", BUDGET, analysts=ACCOUNTS) as opened:
            yield opened


def ask(ledger: Bookkeeping, account: str = "ana") -> Any:
    rows = pa.table({"person": [i // 2 for i in range(400)], "age": [i % 90 for i in range(400)]})
    table = Table(
        rows,
        unit=Person("person"),
        columns={"person": integer(), "age": integer(0, 100)},
        contribution=Contribution(groups=1, rows=2),
        version="2026-01",
    )
    with Session({"visits": table}, ledger=ledger, account=account) as session:
        return session.ask("SELECT AVG(age) AS age FROM visits WHERE age >= 18", epsilon=Fraction(1, 2))


def test_a_certificate_tells_what_the_answer_told_and_stands_against_the_head(ledger: Bookkeeping) -> None:
    answer = ask(ledger)
    told = ledger.certificate(answer.receipt.entry)
    shown = answer.certificate()
    for name in shown.keys() - {"confidence", "notes"}:
        assert told[name] == shown[name], name
    assert told["protects"]
    assert told["neighbors"] == "add-remove"
    assert told["versions"] == {"visits": "2026-01"}
    assert told["where"] == '("age" >= 18)'
    assert [release["clamped_to"] for release in told["releases"]] == [[18, 100], None]
    assert told["cost"]["epsilon"] <= 0.5
    assert told["answer"] == told["entry"] + 1
    assert told["promise"] == {
        "data set": {"delta": "1/1000000", "epsilon": "4"},
        "account": {"delta": "1/10000000", "epsilon": "2"},
    }
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_the_head_of_a_certificate_is_the_ledgers_and_detects_an_older_copy(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", BUDGET, analysts=ACCOUNTS) as ledger:
        old = list(ledger.export())
        told = ledger.certificate(ask(ledger).receipt.entry)
        assert told["head"] == ledger.head()
        assert told["chain"].partition(":")[0] == str(told["entry"])
        SqliteLedger(tmp_path / "ledger", head=told["chain"]).close()
    with pytest.raises(LedgerError, match="pinned"):
        SqliteLedger.restore(tmp_path / "old", old, head=told["chain"])


def test_a_certificate_may_be_asked_for_by_the_answer_or_the_charge(ledger: Bookkeeping) -> None:
    entry = ask(ledger).receipt.entry
    assert ledger.certificate(entry + 1) == ledger.certificate(entry)


def test_who_repeats_an_answer_has_a_certificate_that_says_so(ledger: Bookkeeping) -> None:
    receipt = ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana")
    ledger.store(receipt, (1,))
    ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ben")
    told = ledger.certificate(ledger.entries()[-1].number)
    assert told["repeats"] == receipt.entry
    assert told["taken"]["data set"] is None
    assert told["taken"]["account"] == ["1/8"]


@pytest.mark.parametrize("number", [0, -1, 99, True, "3", 1.0])
def test_a_certificate_for_no_entry_is_refused(ledger: Bookkeeping, number: Any) -> None:
    with pytest.raises(BadParameter, match="from 1 to 3"):
        ledger.certificate(number)


def test_a_certificate_for_what_released_nothing_is_refused(ledger: Bookkeeping) -> None:
    with pytest.raises(RequestError, match="opens the ledger"):
        ledger.certificate(1)
    with pytest.raises(RequestError, match="opens an account"):
        ledger.certificate(2)


def test_a_charge_without_facts_is_written_as_the_first_version_wrote_it(ledger: Bookkeeping) -> None:
    ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana", text="in words")
    ledger.charge(PureEvent(Fraction(1, 8)), "e", account="ana", facts={"a": [1, 0.1, None]})
    plain, told = ledger.entries()[-2:]
    for written, version in ((plain, 1), (told, 2)):
        body = write_entry(written.number, written.time, written.record)
        assert json.loads(body)["v"] == version
        assert read_entry(body) == written
    assert isinstance(told.record, Charged)
    assert told.entry().facts == {"a": [1, 0.1, None]}
    assert plain.entry().facts == {}
    assert ledger.certificate(plain.number)["words"] == ["in words"]


@pytest.mark.parametrize("facts", [{"a": math.nan}, {"a": object()}, {"a": 1 + 2j}, [1], "text", 3])
def test_facts_that_json_cannot_hold_are_refused_and_nothing_is_charged(ledger: Bookkeeping, facts: Any) -> None:
    with pytest.raises(BadParameter, match="facts"):
        ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana", facts=facts)
    assert ledger.history() == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"v":2', '"v":1'),
        ('"v":2', '"v":3'),
        ('"v":2', '"v":true'),
        ('"facts":"{}"', '"facts":{}'),
        ('"facts":"{}"', '"facts":null'),
    ],
)
def test_facts_belong_to_the_second_version_of_a_charge_alone(ledger: Bookkeeping, old: str, new: str) -> None:
    ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana", facts={})
    written = ledger.entries()[-1]
    body = write_entry(written.number, written.time, written.record)
    assert body.count(old) == 1
    with pytest.raises(LedgerError):
        read_entry(body.replace(old, new))


def test_other_entries_have_no_second_version(ledger: Bookkeeping) -> None:
    first = ledger.entries()[0]
    body = write_entry(first.number, first.time, first.record)
    with pytest.raises(LedgerError):
        read_entry(body.replace('"v":1', '"v":2'))


def test_facts_are_part_of_the_chain(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", BUDGET) as ledger:
        ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana", facts={"protects": "rows"})
        lines = list(ledger.export())
    forged = [line.replace("rows", "cows") for line in lines]
    assert forged != lines
    with pytest.raises(LedgerError, match="chain breaks at entry 2"):
        SqliteLedger.restore(tmp_path / "forged", forged)
    with SqliteLedger.restore(tmp_path / "whole", lines) as restored:
        restored.verify()
        assert restored.history()[0].facts == {"protects": "rows"}


# Balances


def test_balances_are_told_of_the_data_set_first_and_then_by_name(ledger: Bookkeeping) -> None:
    ledger.charge(PureEvent(Fraction(1, 2)), "d", account="ben")
    whole, ana, ben = ledger.balances()
    assert (whole.account, ana.account, ben.account) == (None, "ana", "ben")
    assert (ana.spent, ben.spent) == (0, 0.5)
    assert 0 < whole.spent <= 0.125
    assert ben.largest_epsilon == 0.5
    assert ben.budget == Pure(epsilon=1)
    assert {one.state for one in (whole, ana, ben)} == {"open"}
    assert json.loads(json.dumps(ben.to_dict()))["budget"] == {"epsilon": "1"}


@pytest.mark.parametrize("whole", [Zcdp(rho=1), Zcdp(rho=Fraction(1, 4)), BUDGET])
def test_an_account_that_counts_rho_is_told_the_largest_rho_that_is_admitted(whole: Budget) -> None:
    ledger = MemoryLedger(whole, analysts={"ana": Zcdp(rho=Fraction(1, 2))})
    ledger.charge(ZcdpEvent(Fraction(1, 16)), "d", account="ana")
    most = ledger.balances()[1].largest_rho
    assert most is not None
    assert ledger.admits(ZcdpEvent(Fraction(most)), account="ana")
    assert not ledger.admits(ZcdpEvent(Fraction(most) * Fraction(1001, 1000)), account="ana")
    assert (ledger.balances()[0].largest_rho is None) == isinstance(whole, Approximate)


def test_an_account_has_no_more_left_than_the_data_set() -> None:
    ledger = MemoryLedger(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    ledger.charge(PureEvent(Fraction(3, 4)), "d", account="ana")
    whole, ana, ben = ledger.balances()
    assert (whole.largest_epsilon, ana.largest_epsilon, ben.largest_epsilon) == (0.25, 0.25, 0.25)
    assert ben.spent == 0


def test_a_frozen_and_an_expired_account_are_told() -> None:
    times = [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)]
    ledger = MemoryLedger(Pure(epsilon=1), clock=lambda: times[0])
    ledger.open_account("ana", Pure(epsilon=1))
    ledger.open_account("ben", Pure(epsilon=1), expires=times[0] + datetime.timedelta(days=1))
    for digest in "abc":
        ledger.fail(ledger.charge(PureEvent(Fraction(1, 8)), digest, account="ana"))
    times[0] += datetime.timedelta(days=2)
    whole, ana, ben = ledger.balances()
    assert (whole.state, ana.state, ben.state) == ("open", "frozen", "expired")
    ledger.clear("ana", reason="the disk was full")
    assert ledger.balances()[1].state == "open"


def test_what_runs_out_first_is_what_is_told_as_spent() -> None:
    ledger = MemoryLedger(BUDGET)
    event = ThresholdEvent(PureEvent(Fraction(1, 100)), BUDGET.delta / 4)
    ledger.charge(event, "d", account="ana")
    assert ledger.balances()[0].spent == 0.5
    ledger.charge(event, "e", account="ana")
    assert ledger.balances()[0].spent == 1


def test_the_bodies_of_a_chain_are_what_its_hashes_cover(ledger: Bookkeeping) -> None:
    ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana")
    digest = bytes(32)
    for written in ledger.entries():
        body = write_entry(written.number, written.time, written.record)
        assert canonical(json.loads(body)) == body
        digest = link(digest, body)
    assert ledger.certificate(written.number)["head"] == f"{written.number}:{digest.hex()}"


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "[" * 100_000])
def test_facts_that_are_no_object_are_not_told(ledger: Bookkeeping, text: str) -> None:
    ledger.charge(PureEvent(Fraction(1, 8)), "d", account="ana", facts={})
    record = ledger.entries()[-1].record
    assert isinstance(record, Charged)
    with pytest.raises(LedgerError, match="records of a plan"):
        replace(record, facts_text=text).facts  # noqa: B018
