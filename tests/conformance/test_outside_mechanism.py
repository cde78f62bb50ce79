"""A mechanism from outside the package, in one file and by one call: conformance-tested, audited, paid for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from privet.cli import main
from privet.core.budget import Pure
from privet.core.errors import BudgetError
from privet.core.ports import Ledger
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.testing import check_mechanism

sys.path.insert(0, str(Path(__file__).parent))

from fair_coins import LN_2, CheapCoins, FairCoins


def test_it_passes_the_suite_by_one_call() -> None:
    report = check_mechanism(FairCoins, takes=[0, 7, 10**30], refuses=["secret-77", None, 1.5], neighbours=(10, 11))
    assert len(report.held) == 9


def test_a_claim_that_is_too_small_fails_the_suite() -> None:
    with pytest.raises(AssertionError, match="no audit refutes its event: releases show epsilon"):
        check_mechanism(CheapCoins, takes=[0], neighbours=(10, 11))


def test_it_is_audited_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    said = ["audit", "fair_coins:COINS", "--neighbours", "10", "11", "--samples", "20000"]
    honest = CliRunner().invoke(main, said)
    assert honest.exit_code == 0, honest.output
    refuted = CliRunner().invoke(main, [*said, "--claimed", "0.3"])
    assert refuted.exit_code != 0


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_it_spends_from_a_ledger_and_its_answer_is_stored(kind: str, tmp_path: Path) -> None:
    ledger: Ledger = (
        MemoryLedger(Pure(epsilon=1)) if kind == "memory" else SqliteLedger(tmp_path / "l", Pure(epsilon=1))
    )
    coins = FairCoins()

    def ask(digest: str, count: int) -> Any:
        found = ledger.find(digest, "ana")
        if found is not None:
            return found[1]
        receipt = ledger.charge(coins.event, digest, account="ana")  # charge, then release, then store, then show
        return ledger.store(receipt, (coins.release(count),))[1]

    first = ask("patients on 2024-05-01", 120)
    assert ask("patients on 2024-05-01", 120) == first
    with pytest.raises(BudgetError):
        ask("patients on 2024-05-02", 95)
    assert [entry.event for entry in ledger.history()] == [coins.event]
    assert ledger.remaining().amount == 1 - LN_2
    ledger.verify()
