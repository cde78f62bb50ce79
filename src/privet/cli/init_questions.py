"""The questions of `privet init`: who is protected, what may be known of each column, what all answers may tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import click

from privet.config.draft import Draft, DraftColumn, DraftTable
from privet.config.specs import budget_from_spec, contribution_from_spec
from privet.core.errors import RequestError

from .init_tables import with_column
from .screen import printable

_KINDS = ("integer", "number", "boolean", "category", "date", "timestamp", "text")
_ENDS = {"integer": "0:120", "number": "0:2000", "date": "2025-01-01:2025-12-31", "timestamp": "2025-01-01..2026-01-01"}


def ask_for_rest(draft: Draft) -> Draft:
    """Return the draft with what the custodian answers; an empty answer leaves a note, or what is usual."""
    click.echo("All that you answer becomes public. Do not look it up in the data: say what is known anyway.")
    tables = tuple(_ask_table(table) for table in draft.tables)
    budget = draft.budget
    if budget is None:
        budget = _until_read("What may all answers together tell? such as epsilon=1,delta=1e-6", budget_from_spec)
    return replace(draft, tables=tables, budget=budget)


def _ask_table(table: DraftTable) -> DraftTable:
    click.echo("")
    click.echo(f"Table {printable(table.name)}, columns: {', '.join(printable(one.name) for one in table.columns)}")
    names = {one.name for one in table.columns}
    if not table.public and table.unit is None and table.link is None:

        def owner(text: str) -> str:
            if "->" not in text and text != "rows" and text not in names:
                raise RequestError(f"there is no column {text!r}; say one of the columns, rows, or a link")
            return text

        question = "Whose is a row? a column; or rows (each by itself); or a link such as visit_id -> visits.id"
        whose = _until_read(question, owner)
        linked = whose is not None and "->" in whose
        table = replace(table, unit=None if linked else whose, link=whose if linked else None)
    for column in table.columns:
        if column.declared is None:
            table = _ask_column(table, column, bounds=column.name != table.unit)
    if (table.link or table.unit not in (None, "rows")) and table.contribution is None:
        question = "What does one person typically give? such as groups=3,rows=2"
        table = replace(table, contribution=_until_read(question, contribution_from_spec))
    return table


def _ask_column(table: DraftTable, column: DraftColumn, *, bounds: bool) -> DraftTable:
    """Return the table with a column declared; who is protected needs no bounds, and its kind only if unknown."""
    name = printable(column.name)
    if not bounds and column.kind is not None:
        return table
    kind = click.prompt(f"  {name}: kind", type=click.Choice(_KINDS), default=column.kind or "text", err=True)
    while True:
        spec = kind
        if kind in _ENDS and bounds:
            ends = _answer(f"  {name}: lowest and highest, such as {_ENDS[kind]}; empty for none")
            spec = f"{kind}:{ends}" if ends else kind
        if kind in ("category", "text") and bounds:
            values = _answer(f"  {name}: its public values, with commas between them; empty for none")
            spec = f"category:{values}" if values else "text"
        try:
            made = with_column(table, column.name, spec)
        except RequestError as error:
            click.echo(f"  {error}", err=True)
            continue
        if bounds and click.confirm(f"  {name}: may it be missing (NULL)?", default=False, err=True):
            made = with_column(table, column.name, f"{spec}:nullable")
        return made


def _until_read(question: str, reader: Callable[[str], str]) -> str | None:
    while True:
        text = _answer(f"  {question}; empty to fill in later")
        if not text:
            return None
        try:
            return reader(text)
        except RequestError as error:
            click.echo(f"  {error}", err=True)


def _answer(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True)).strip()
