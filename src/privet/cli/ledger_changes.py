"""What a custodian may change: `privet ledger top-up`, `limit`, `reschedule`, `clear`, each an entry with a reason."""

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


@ledger_command("limit")
@click.option("--epsilon", type=number, help="The most epsilon that one query may cost.")
@click.option("--delta", type=number, help="The delta at which that holds, for an (epsilon, delta) budget.")
@click.option("--rho", type=number, help="The most rho that one query may cost, for a budget that counts rho.")
@click.option("--none", "unlimited", is_flag=True, help="Take the limit away.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def limit(
    config: Path,
    ledger_path: Path | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    unlimited: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Change the most that one query may cost. Say the same in privet.toml, or it will not open.

    \b
    Example:
      privet ledger limit --epsilon 0.5 --delta 1e-8 --reason "no more big questions"
      privet ledger limit --none --reason "the pilot is over"
    """
    from privet.core.errors import RequestError

    if unlimited and (epsilon, delta, rho) != (None, None, None):
        raise RequestError("say how much one query may cost, or --none, not both")
    most = None if unlimited else _budget(epsilon, delta, rho)
    with existing_ledger(config, ledger_path) as ledger:
        ledger.limit(most, reason=reason)
        head = ledger.head()
    told = None if most is None else most.describe()
    if as_json:
        print_json({"per_query": told, "head": head})
        return
    print_text(f"One query may cost {told or 'anything that the budget admits'} from now on.")


@ledger_command("reschedule")
@click.argument("until")
@click.option("--account", help="Whose spending ends then; the data set's if left out.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def reschedule(
    config: Path, ledger_path: Path | None, until: str, account: str | None, reason: str, as_json: bool
) -> None:
    """Change when spending ends, or say never. What was spent stays spent. Say the same in privet.toml.

    \b
    Example:
      privet ledger reschedule 2027-12-31T23:59:59Z --reason "the study was extended"
      privet ledger reschedule never --account ana --reason "ana stays"
    """
    import datetime

    from privet.core.errors import BadParameter
    from privet.ledger.records import write_time

    try:
        when = None if until == "never" else datetime.datetime.fromisoformat(until)
    except ValueError:
        raise BadParameter("UNTIL", until, "a time with its zone, such as 2027-12-31T23:59:59Z, or never") from None
    with existing_ledger(config, ledger_path) as ledger:
        ledger.reschedule(when, reason=reason, account=account)
        ends, head = ledger.expires(account), ledger.head()
    told = None if ends is None else write_time(ends)
    if as_json:
        print_json({"account": account, "expires": told, "head": head})
        return
    print_text(f"Spending of {account or 'the data set'} ends {f'at {told}' if told else 'never'}.")


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
    raise RequestError("say how much in one way: --epsilon, --epsilon and --delta, or --rho")
