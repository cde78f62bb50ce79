"""`privet certificate`: what a release protected, how and at what cost, for anyone who reads its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .ledger_words import cost_words, plain_sql
from .numbers import whole_number
from .output import json_option, print_json
from .places import config_option, existing_ledger, ledger_option
from .screen import print_facts, print_table, print_text, printable


@click.command()
@click.argument("number", type=whole_number)
@config_option
@ledger_option
@json_option
def command(number: int, config: Path, ledger_path: Path | None, as_json: bool) -> None:
    """Give the certificate of a release: NUMBER is the entry of the ledger that charged or answered it.

    It is public: what was protected, bounds and truncation, noise, cost, versions, and the ledger's head.

    \b
    Example:
      privet certificate 4
      privet certificate 4 --json > certificate.json
    """
    with existing_ledger(config, ledger_path) as ledger:
        told = ledger.certificate(number)
    if as_json:
        print_json(told)
        return
    try:
        facts = [(name, printable(text)) for name, text in _facts(told) if text]
        releases = [_release(one) for one in told.get("releases") or []]
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        print_json(told)  # somebody else than Privet told of the plan, in another form
        return
    print_facts(facts)
    if releases:
        print_text("")
        heads = ("noise", "95% within", "sensitivity", "clamped to", "released sum")
        print_table(heads, releases, right=(1,))
    print_text(f"\nchain {told['chain']}\nhead  {told['head']}", style="dim")


def _facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    from privet.ledger.codec import read_budget

    cost = cost_words(told.get("cost") or {})
    versions = [f"{table} {label}" for table, label in told["versions"].items() if label]
    promise = read_budget(told["promise"]["data set"]).describe()
    if told["repeats"] is not None:
        cost += f", but nothing of the data set's budget: it repeats the answer that entry {told['repeats']} paid for"
    return [
        ("entry", f"{told['entry']}, {told['time']}, by {told['account']}"),
        ("protects", _protected(told)),
        ("bounding", str(told.get("bounding") or "")),
        (
            "groups",
            f"{', '.join(map(plain_sql, told['group_by']))} ({told.get('keys')})" if told.get("group_by") else "",
        ),
        ("where", plain_sql(told.get("where") or "")),
        ("cost", cost or " ".join(told["words"])),
        ("promise", f"{promise}, for all releases of this ledger together"),
        ("versions", "; ".join([*versions, f"Privet {told['privet']}" if "privet" in told else ""]).strip("; ")),
        ("answer", "none was released" if told["answer"] is None else f"in entry {told['answer']}"),
    ]


def _protected(told: dict[str, Any]) -> str:
    if "protects" not in told:
        return ""
    return f"{told['protects']} of {told.get('table')}, {told.get('neighbors')} neighbours"


def _release(one: dict[str, Any]) -> tuple[str, ...]:
    """Return one released sum as a row; a later version may tell less of it, or more."""
    ends, width, moved = one.get("clamped_to"), one.get("half_width_95"), one.get("sensitivity")
    return (
        str(one.get("noise", "")),
        "" if width is None else f"±{width:,.4g}",
        "" if moved is None else f"{moved:,.4g} ({one.get('norm')})",
        "" if ends is None else f"{ends[0]:,.6g} to {ends[1]:,.6g}",
        printable(str(one.get("sum", ""))),
    )
