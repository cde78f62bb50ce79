"""`privet ledger list`, `show` and `verify`: what a ledger holds, and the proof that it is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .ledger_words import listed
from .numbers import counting_number, whole_number
from .output import print_json
from .places import existing_ledger, ledger_command
from .screen import print_facts, print_table, print_text, printable, working


@ledger_command("list")
@click.option("--account", help="Only what is about this account.")
@click.option("--last", type=counting_number, help="Only the latest entries, this many.")
@click.option("--after", type=counting_number, help="Begin after the entry of this number.")
@click.option("--limit", type=counting_number, help="At most this many entries.")
def list_entries(
    config: Path,
    ledger_path: Path | None,
    account: str | None,
    last: int | None,
    after: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List entries: charges, answers, failures and changes of the rules. A page of them is read without the rest.

    \b
    Example:
      privet ledger list --last 10
      privet ledger list --after 1000 --limit 50
    """
    with existing_ledger(config, ledger_path) as ledger:
        if account is not None and last is not None:  # the latest of one account, wherever they are
            entries = ledger.entries(account=account)[-last:]
        else:
            entries = ledger.entries(after=after or 0, limit=limit, last=last, account=account)
        head = ledger.head()
    if as_json:
        print_json({"entries": [listed(one) for one in entries], "head": head})
        return
    rows = [_row(listed(one)) for one in entries]
    print_table(("entry", "time (UTC)", "kind", "account", "what"), rows, right=(0,))
    print_text(f"\nhead {head}", style="dim")


@ledger_command("show")
@click.argument("number", type=whole_number)
def show(config: Path, ledger_path: Path | None, number: int, as_json: bool) -> None:
    """Show one entry whole, as it is written.

    \b
    Example:
      privet ledger show 4
    """
    from privet.ledger.entries import write_entry

    with existing_ledger(config, ledger_path) as ledger:
        one = ledger.entry(number)
    body = json.loads(write_entry(one.number, one.time, one.record))
    if "facts" in body:
        body["facts"] = json.loads(body["facts"])
    if as_json:
        print_json(body)
        return
    told = listed(one)
    facts = [(name, str(told[name])) for name in ("entry", "time", "kind", "account", "what") if told[name]]
    apart = {
        name: body.pop(name) for name in ("v", "kind", "number", "time", "account", "text", "facts") if name in body
    }
    facts += [(name, _plain(value)) for name, value in body.items() if value is not None]
    print_facts([(name, printable(text)) for name, text in facts])
    if apart.get("text"):
        print_text("\n" + "\n".join(printable(line) for line in apart["text"].splitlines()))


@ledger_command("verify")
@click.option("--head", help="A head that you kept: the ledger must still hold that entry.")
def verify(config: Path, ledger_path: Path | None, head: str | None, as_json: bool) -> None:
    """Prove the ledger from its file alone: every entry as it was written, every event priced again, none overspent.

    \b
    Example:
      privet ledger verify --head 12:9f3c...
    """
    with existing_ledger(config, ledger_path) as ledger:
        if head is not None:
            type(ledger)(ledger.path, head=head).close()
        with working("reading every entry"):
            ledger.verify()
        last = ledger.head()
    entries = int(last.partition(":")[0])
    if as_json:
        print_json({"valid": True, "entries": entries, "head": last, "pinned": head})
        return
    print_text(f"The ledger is whole: {entries:,} entries, each as it was written, and nothing was overspent.")
    if head is not None:
        print_text(f"It still holds entry {head.partition(':')[0]}, which you kept.")
    print_text(f"Keep this head elsewhere, to know an old copy from this one:\n{last}")


@ledger_command("review")
def review(config: Path, ledger_path: Path | None, as_json: bool) -> None:
    """List releases that an earlier version made with a form of question that leaked. Changes nothing.

    Of old releases the ledger holds the plan in words and not every expression: so some that are listed may be
    harmless, and none is missing.

    \b
    Example:
      privet ledger review
    """
    with existing_ledger(config, ledger_path) as ledger:
        found, head = ledger.review(), ledger.head()
    if as_json:
        print_json({"releases": [one.to_dict() for one in found], "head": head})
        return
    if not found:
        print_text("No release of this ledger used a form of question that leaked.")
        return
    rows = [
        (str(one.entry), one.time.replace("T", " ")[:16], printable(one.account), _sure(one.sure), printable(one.why))
        for one in found
    ]
    print_table(("entry", "time (UTC)", "account", "leaked", "why"), rows, right=(0,))
    sure = sum(one.sure for one in found)
    print_text(
        f"\n{len(found):,} releases to look at; {sure:,} of them name such a form. Ask again what matters, with this "
        "version: see SECURITY.md for what could be learnt."
    )


def _sure(sure: bool) -> str:
    return "can have" if sure else "cannot be excluded"


def _row(told: dict[str, Any]) -> tuple[str, ...]:
    time = str(told["time"]).replace("T", " ")[:16]
    return (
        str(told["entry"]),
        time,
        str(told["kind"]),
        printable(told["account"] or ""),
        printable(str(told["what"])),
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
