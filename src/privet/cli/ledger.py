"""`privet ledger`: what was charged and answered, whether it is whole, and copies of it. For custodians."""

from __future__ import annotations

import click

from .ledger_changes import clear, limit, reschedule, top_up
from .ledger_copies import backup, export, restore
from .ledger_reading import list_entries, review, show, verify


@click.group()
def command() -> None:
    """See, prove, copy and mend the ledger. For custodians.

    \b
    Example:
      privet ledger list
      privet ledger verify --head 12:9f3c...
      privet ledger export --output ledger.jsonl
    """


for one in (list_entries, show, verify, review, export, restore, backup, top_up, limit, reschedule, clear):
    command.add_command(one)
