"""`privet budget`: what is left of each budget, and what the promise means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from privet.display import bar, percent, printable, room

from .screen import json_option, print_json, print_table, print_text
from .targets import analyst_option, config_option, declared_ledger, ledger_option

if TYPE_CHECKING:
    from privet.core.ports import AccountBalance


@click.command()
@analyst_option
@config_option
@ledger_option
@json_option
def command(analyst: str | None, config: Path, ledger_path: Path | None, as_json: bool) -> None:
    """Tell what is left of the data set's budget and of each analyst's.

    \b
    Example:
      privet budget
      privet budget --analyst ana
    """
    from privet.core.errors import UnknownName

    with declared_ledger(config, ledger_path) as ledger:
        balances, head = ledger.balances(), ledger.head()
    meaning = _meaning(config) if ledger_path is None else []
    chosen = [one for one in balances if analyst is None or one.account == analyst]
    if not chosen:
        raise UnknownName("account", analyst or "", (), advice="the custodian can open one")
    if as_json:
        print_json({"budgets": [one.to_dict() for one in chosen], "head": head, "means": meaning})
        return
    heads = ("account", "budget", "spent", "", "one more question", "state")
    print_table(heads, [_row(one) for one in chosen], right=(3,))
    print_text("")
    for sentence in meaning:
        print_text(sentence)


def _meaning(config: Path) -> list[str]:
    """Return what the data set's budget promises: a ledger alone does not know to whom."""
    from privet.config import read_config
    from privet.config.checking import promise_in_words

    return list(promise_in_words(read_config(config)))


def amount(balance: AccountBalance) -> str:
    """Return a budget in a few signs."""
    from privet.core.budget import Approximate, Pure, Zcdp

    match balance.budget:
        case Pure(epsilon=epsilon):
            return f"epsilon {float(epsilon):.6g}"
        case Approximate(epsilon=epsilon, delta=delta):
            return f"epsilon {float(epsilon):.6g}, delta {float(delta):.3g}"
        case Zcdp(rho=rho):
            return f"rho {float(rho):.6g}"


def _row(one: AccountBalance) -> tuple[str, ...]:
    ends = "" if one.expires is None else f" until {one.expires:%Y-%m-%d %H:%M} UTC"
    state = one.state if one.expired else f"{one.state}{ends}"
    return (
        "data set" if one.account is None else printable(one.account),
        amount(one),
        bar(one.spent),
        percent(one.spent),
        room(one.largest_epsilon, one.largest_rho),
        state,
    )
