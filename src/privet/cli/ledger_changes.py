"""`privet ledger top-up` and `clear`: what a custodian may change, each an entry of its own with a reason."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .numbers import number
from .output import print_json
from .places import existing_ledger, ledger_command
from .screen import print_text

if TYPE_CHECKING:
    from privet.core.budget import Budget


@ledger_command("top-up")
@click.option("--epsilon", type=number, help="How much epsilon is added.")
@click.option("--delta", type=number, help="How much delta is added, for an (epsilon, delta) budget.")
@click.option("--rho", type=number, help="How much rho is added, for a budget that counts rho.")
@click.option("--account", help="Whose budget; the data set's if left out.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def top_up(
    config: Path,
    ledger_path: Path | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    account: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Add to a budget. What was spent stays spent, and the promise is then the sum.

    \b
    Example:
      privet ledger top-up --epsilon 1 --delta 1e-7 --reason "second study"
      privet ledger top-up --epsilon 0.5 --account ana --reason "a question more"
    """
    budget = _budget(epsilon, delta, rho)
    with existing_ledger(config, ledger_path) as ledger:
        ledger.top_up(budget, reason=reason, account=account)
        now, head = ledger.budget_of(account), ledger.head()
    if as_json:
        print_json({"account": account, "budget": now.describe(), "head": head})
        return
    print_text(f"The budget of {account or 'the data set'} is now {now.describe()}.")


@ledger_command("clear")
@click.argument("account")
@click.option("--reason", required=True, help="Why: it is recorded.")
def clear(config: Path, ledger_path: Path | None, account: str, reason: str, as_json: bool) -> None:
    """Let an account spend again that was frozen because the database failed three times in a row.

    \b
    Example:
      privet ledger clear ana --reason "the disk was full"
    """
    with existing_ledger(config, ledger_path) as ledger:
        ledger.clear(account, reason=reason)
        head = ledger.head()
    if as_json:
        print_json({"account": account, "head": head})
        return
    print_text(f"The account {account} may spend again.")


def _budget(epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None) -> Budget:
    from privet.core.budget import Approximate, Pure, Zcdp
    from privet.core.errors import RequestError

    if rho is not None and epsilon is None and delta is None:
        return Zcdp(rho=rho)
    if rho is None and epsilon is not None:
        return Pure(epsilon=epsilon) if delta is None else Approximate(epsilon=epsilon, delta=delta)
    raise RequestError("say how much is added in one way: --epsilon, --epsilon and --delta, or --rho")
