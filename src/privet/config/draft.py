"""Writes a first privet.toml from the custodian's words. Missing declarations become notes, which are refused.

Nothing here opens a source: names and kinds of columns come in, text goes out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from privet.engines.postgres.stored_tables import PostgresTable

_BARE = re.compile(r"[A-Za-z0-9_-]+")
TODO = "# TODO(privet):"
LIMIT = "declare the limit that nearly everyone stays within"
_BOUNDED = {
    "integer": '{ kind = "integer", low = 0, high = 120 }',
    "number": '{ kind = "number", low = 0, high = 2000 }',
    "date": '{ kind = "date", low = 2025-01-01, high = 2025-12-31 }',
    "timestamp": '{ kind = "timestamp", low = 2025-01-01T00:00:00, high = 2025-12-31T23:59:59 }',
}


@dataclass(frozen=True)
class DraftColumn:
    """A column: its kind if the source has one, and its declaration as TOML, if there is one."""

    name: str
    kind: str | None
    declared: str | None = None


@dataclass(frozen=True, kw_only=True)
class DraftTable:
    """A table: its source as it is written, and who is protected, if that is stated."""

    name: str
    source: str | tuple[str, ...] | PostgresTable
    columns: tuple[DraftColumn, ...]
    unread: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()
    unit: str | None = None
    link: str | None = None
    public: bool = False
    contribution: str | None = None


@dataclass(frozen=True, kw_only=True)
class Draft:
    """All that a first privet.toml declares."""

    tables: tuple[DraftTable, ...]
    budget: str | None = None
    analysts: tuple[tuple[str, str], ...] = field(default=())
    url: str | None = None
    """The address of the server that the tables are in."""
    engine: str = "duckdb"


def write_draft(draft: Draft) -> str:
    """Return the text of a privet.toml."""
    return "\n".join(_lines(draft)) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    yield "# What Privet may release about these tables, and to whom. Everything here is public: never take bounds or"
    yield "# values from the data themselves. `privet check` lists what is still missing, and explains the result."
    yield ""
    yield "[budget]"
    if draft.budget is None:
        yield f"{TODO} choose the budget of all answers together, such as epsilon = 1 and delta = 1e-6"
        yield "# epsilon = 1"
        yield "# delta = 1e-6"
    else:
        yield draft.budget
    if draft.url is not None:
        yield from ("", "[engine]", 'kind = "postgres"', f"url = {toml_text(draft.url)}")
    for table in draft.tables:
        yield ""
        yield from _table(table)
    for name, budget in draft.analysts:
        yield ""
        yield f"[analysts.{toml_key(name)}]"
        yield budget
    if draft.engine != "duckdb":
        yield ""
        yield "[engine]"
        yield f"kind = {toml_text(draft.engine)}"
    if not draft.analysts:
        yield ""
        yield "# Without analysts, everyone who can open this file shares the budget. To set a cap for each:"
        yield "# [analysts.alice]"
        yield "# epsilon = 0.5"
        yield "# delta = 1e-7"


def _source(source: str | tuple[str, ...] | PostgresTable) -> str:
    if isinstance(source, PostgresTable):
        return f"{{ table = {toml_text(source.name)} }}"
    return toml_text(source) if isinstance(source, str) else toml_list(source)


def _table(table: DraftTable) -> Iterator[str]:
    where = f"{'public' if table.public else 'tables'}.{toml_key(table.name)}"
    yield f"[{where}]"
    yield f"source = {_source(table.source)}"
    if not table.public:
        if table.link is not None:
            yield f"link = {toml_text(table.link)}"
        elif table.unit is not None:
            yield f"unit = {toml_text(table.unit)}"
        else:
            yield f"{TODO} declare who is protected: the column that identifies the person, or each row"
            yield from (f"# unit = {toml_text(name)}" for name in table.likely)
            yield '# unit = "rows"'
        if table.contribution is not None:
            yield f"contribution = {table.contribution}"
        elif table.unit != "rows":
            unless = "" if table.unit or table.link else ", unless each row is protected by itself"
            yield f"{TODO} {LIMIT}: the groups that one person has rows in, and the rows in each{unless}"
            yield "# contribution = { groups = 3, rows = 2 }  # more is scaled down, so that totals are too low"
        yield '# version = "1"  # a public label; change it when the data change'
    yield ""
    yield f"[{where}.columns]"
    yield from _notes(table)
    for column in table.columns:
        yield f"{toml_key(column.name)} = {column.declared or toml_text(column.kind or 'text')}"
    for name in table.unread:
        yield f"# {toml_key(name)} is of a type that Privet does not read"


def _notes(table: DraftTable) -> Iterator[str]:
    """Yield one note for all columns of which the same is missing. The column of the unit needs no bounds."""
    open_kinds = [toml_key(column.name) for column in table.columns if column.declared is None and column.kind is None]
    if open_kinds:
        hold = "holds" if len(open_kinds) == 1 else "each hold"
        yield (
            f"{TODO} state what {', '.join(open_kinds)} {hold}: integer, number, boolean, date, timestamp, text, or "
            "the public values"
        )
    for kind, example in _BOUNDED.items():
        names = [toml_key(item.name) for item in table.columns if item.kind == kind and lacks_bounds(table, item)]
        if names:
            yield (
                f"{TODO} give public bounds if {' or '.join(names)} may be summed or grouped by: {names[0]} = {example}"
            )


def lacks_bounds(table: DraftTable, column: DraftColumn) -> bool:
    """Return whether public bounds of a column are still to be given."""
    needless = table.public or column.name in (table.unit, *table.likely) or _links(table, column)
    return column.declared is None and column.kind in _BOUNDED and not needless


def _links(table: DraftTable, column: DraftColumn) -> bool:
    return table.link is not None and table.link.split("->")[0].strip() == column.name


def toml_key(name: str) -> str:
    """Return a name as a TOML key, on one line whatever is in it."""
    return name if _BARE.fullmatch(name) else toml_text(name)


def toml_text(text: str) -> str:
    """Return a text as a TOML string, on one line whatever is in it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").encode("utf-8", "replace").decode()


def toml_list(texts: tuple[str, ...]) -> str:
    """Return texts as a TOML array."""
    return f"[{', '.join(toml_text(text) for text in texts)}]"
