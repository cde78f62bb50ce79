"""Entries about people: who acted, and whom the custodian froze."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.accounting import PureEvent
from privet.core.budget import Pure
from privet.core.errors import BadParameter, BudgetError, RequestError
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger

EVENT = PureEvent(epsilon=1)


def test_acts_are_in_the_chain_and_change_no_balance(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", Pure(epsilon=3), analysts={"alice": Pure(epsilon=2)}) as ledger:
        before = ledger.remaining("alice")
        ledger.note_act("log-in", actor="carol", role="custodian", account="alice", note="by a browser")
        assert ledger.remaining("alice") == before
        told = ledger.entries(last=1)[0].to_dict()
        assert (told["kind"], told["v"], told["actor"], told["role"]) == ("act", 4, "carol", "custodian")
        assert (told["act"], told["account"], told["note"]) == ("log-in", "alice", "by a browser")
        ledger.verify()
        lines = list(ledger.export())
    with SqliteLedger.restore(tmp_path / "copy", lines) as again:
        assert list(again.export()) == lines


def test_a_frozen_account_spends_nothing_until_it_is_cleared() -> None:
    ledger = MemoryLedger(Pure(epsilon=3), analysts={"alice": Pure(epsilon=2)})
    receipt = ledger.charge(EVENT, "one", account="alice")
    ledger.freeze("alice", reason="left the project")
    ledger.store(receipt, ((), ()))  # an answer to what was asked before does not let the account spend again
    assert ledger.frozen() == ("alice",)
    with pytest.raises(BudgetError, match="frozen by the custodian"):
        ledger.charge(EVENT, "two", account="alice")
    assert ledger.find("one", "alice") is not None
    ledger.verify()
    ledger.clear("alice", reason="came back")
    assert not ledger.frozen()
    ledger.charge(EVENT, "two", account="alice")
    ledger.verify()


def test_an_act_with_fields_of_another_version_is_refused() -> None:
    from privet.core.errors import LedgerError
    from privet.ledger.codec import canonical
    from privet.ledger.entries import read_entry

    ledger = MemoryLedger(Pure(epsilon=3))
    ledger.note_act("log-in", actor="carol", role="custodian")
    body = json.loads(list(ledger.export())[-1])["entry"]
    data = json.loads(body) if isinstance(body, str) else body
    assert read_entry(canonical(data)).kind == "act"
    for changed in ({**data, "v": 1}, {**data, "more": 1}, {**data, "actor": 7}):
        with pytest.raises(LedgerError):
            read_entry(canonical(changed))


def test_freezing_and_acting_want_names() -> None:
    ledger = MemoryLedger(Pure(epsilon=3), analysts={"alice": Pure(epsilon=2)})
    with pytest.raises(RequestError):
        ledger.freeze("nobody", reason="r")
    with pytest.raises(BadParameter):
        ledger.freeze("alice", reason="")
    with pytest.raises(BadParameter):
        ledger.note_act("", actor="carol", role="custodian")
