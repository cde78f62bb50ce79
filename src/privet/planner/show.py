"""A plan for people: its words, a table of what is released, and a table of how wide each column will be."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .explain import explain
from .plan import Plan
from .widths import heading, widths

if TYPE_CHECKING:
    from rich.console import Group

_RELEASES = ("released sum", "noise", "sensitivity", "clamped to", "95% within")


def as_rich(plan: Plan) -> Group:
    """Return the plan as rich shows it."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Text | Table] = [Text(explain(plan))]
    for heads, rows in _tables(plan):
        table = Table()
        for head in heads:
            table.add_column(head)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        parts.append(table)
    return Group(*parts)


def as_text(plan: Plan) -> str:
    """Return the plan as plain text."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=120).print(as_rich(plan))
    return out.getvalue().rstrip()


def as_html(plan: Plan) -> str:
    """Return the plan as HTML for notebooks."""
    words = "".join(f"<p>{escape(line)}</p>" for line in explain(plan).splitlines())
    return words + "".join(_html(heads, rows) for heads, rows in _tables(plan))


def _html(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _tables(plan: Plan) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    releases: list[tuple[str, ...]] = []
    for one in plan.passes if plan.rounds == 1 else ():  # of rounds, the words say it shorter
        releases.extend(one.measure.rows(one.scan))
    columns: list[tuple[str, ...]] = [(width.column, width.words()) for width in widths(plan)]
    return [table for table in ((_RELEASES, releases), (("column", heading(plan)), columns)) if table[1]]
