"""`privet budget`: the remainder of each budget, and the meaning of the promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import bar, percent, printable, room

from .screen import json_option, print_json, print_table, print_text
from .targets import analyst_option, config_option, declared_ledger, ledger_option

if TYPE_CHECKING:
    from privet.core.ports import AccountBalance, LedgerAdmin


@click.command()
@analyst_option
@config_option
@ledger_option
@json_option
def command(analyst: str | None, config: Path, ledger_path: Path | str | None, as_json: bool) -> None:
    """Tell what is left of the data set's budget and of each analyst's.

    \b
    Example:
      privet budget
      privet budget --analyst ana
    """
    from privet.core.errors import UnknownName

    with declared_ledger(config, ledger_path) as ledger:
        balances, head = ledger.balances(), ledger.head()
        blocks = _blocks(config, ledger, analyst) if ledger_path is None else {}
    meaning = _meaning(config) if ledger_path is None else []
    chosen = [balance for balance in balances if analyst is None or balance.account == analyst]
    if not chosen:
        raise UnknownName("account", analyst or "", (), advice="the custodian can open one")
    if as_json:
        print_json({"budgets": [row.to_dict() for row in chosen], "head": head, "means": meaning, "blocks": blocks})
        return
    heads = ("account", "budget", "spent", "", "one more question", "state")
    print_table(heads, [_row(balance) for balance in chosen], right=(3,))
    print_text("")
    for sentence in meaning:
        print_text(sentence)
    for name, facts in blocks.items():
        print_text("")
        rows = [
            (printable(run["block"]), bar(run["spent_share"]), percent(run["spent_share"])) for run in facts["blocks"]
        ]
        if rows:
            print_table((f"block of {printable(name)}", "spent", ""), rows, right=(2,))
        print_text(printable(facts["means"]))


def _blocks(config: Path, ledger: LedgerAdmin, analyst: str | None) -> dict[str, dict[str, Any]]:
    """Return for each divided table the spending of its blocks, and its meaning."""
    from privet.config import read_config
    from privet.core.ports import CountsBlocks
    from privet.core.schema import followed
    from privet.execution.request import with_calendars
    from privet.planner.touching import block_promise
    from privet.query.block_reads import block_values, division_of

    tables: dict[str, dict[str, Any]] = {}
    declared = {name: table.schema for name, table in read_config(config).tables.items()}
    for name, schema in with_calendars(followed(declared)).items():
        if schema.blocks is None or not isinstance(ledger, CountsBlocks):
            continue
        values = block_values(schema)
        runs = ledger.block_balances(division, analyst) if (division := division_of(name, schema)) else ()
        spans = [(schema.blocks.name(run.first, values), schema.blocks.name(run.end - 1, values), run) for run in runs]
        tables[name] = {
            "blocks": [
                {"block": first if first == last else f"{first} to {last}", "spent_share": run.spent}
                for first, last, run in spans
            ],
            "means": block_promise(name, schema),
        }
    return tables


def _meaning(config: Path) -> list[str]:
    """Return the promise of the data set's budget: a ledger alone does not know to whom."""
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


def _row(balance: AccountBalance) -> tuple[str, ...]:
    ends = "" if balance.expires is None else f" until {balance.expires:%Y-%m-%d %H:%M} UTC"
    state = balance.state if balance.expired else f"{balance.state}{ends}"
    return (
        "data set" if balance.account is None else printable(balance.account),
        amount(balance),
        bar(balance.spent),
        percent(balance.spent),
        room(balance.largest_epsilon, balance.largest_rho),
        state,
    )
