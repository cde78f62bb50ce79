"""Descriptions for analysts: tables and views with their kinds, bounds and groups, and example questions that run.

Everything comes from declarations. Examples are planned before they are shown, which reads no private row.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, PrivetError, UnknownName
from privet.core.schema import ColumnFacts, Schema, shown_columns
from privet.core.unit import person_column, unit_columns
from privet.display import Figures, draw_grid, draw_text, html_facts, html_lines, html_table, printable, written
from privet.query.expressions import typed
from privet.query.nodes import PrivateRows
from privet.query.to_sql import shown_name

from .request import AskOptions, Catalog, plan_question

if TYPE_CHECKING:
    from rich.console import Console

_MAX_VALUES_SHOWN = 6
"""This many values of a category are listed; the others are counted."""

_MOST_GROUPS = 1000
"""A column with more groups than this makes no good example."""


@dataclass(frozen=True)
class ColumnDescription:
    """One column: its kind, the public facts about its values, and its number of groups.

    `groups` is None where groups have to be found in the data, which needs a delta, or where there are none.
    """

    name: str
    kind: str
    values: str
    groups: int | None
    nullable: bool
    use: str

    def row(self) -> tuple[str, ...]:
        """Return it as a row of a table."""
        many = "" if self.groups is None else f"{self.groups:,}"
        return printable(self.name), self.kind, printable(self.values), many, self.use


@dataclass(frozen=True, repr=False)
class TableDescription:
    """One table or view: who is protected, its columns, and example questions that run."""

    name: str
    protects: str
    contribution: str
    columns: tuple[ColumnDescription, ...]
    examples: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "protects": self.protects,
            "contribution": self.contribution,
            "columns": {column.name: {**vars(column), "name": column.name} for column in self.columns},
            "examples": list(self.examples),
        }

    def draw(self, console: Console) -> None:
        """Draw it on a console."""
        draw_text(console, printable(self.name), style="bold")
        for line in self._lines():
            draw_text(console, line)
        console.print()
        draw_grid(console, self._figures(), wraps=True)
        if self.examples:
            draw_text(console, "\nExamples")
            for example in self.examples:
                draw_text(console, example, indent="  ")

    def __repr__(self) -> str:
        return written(self.draw)

    def _repr_html_(self) -> str:
        examples = [("" if index else "examples", example) for index, example in enumerate(self.examples)]
        head = html_facts([("table", printable(self.name))]) + html_lines(self._lines())
        every = html_table(self._figures(), most=len(self.columns))
        return f"<div>{head}{every}{html_facts(examples) if examples else ''}</div>"

    def _lines(self) -> list[str]:
        public = self.protects.startswith("nobody")
        opening = "Public: it can be joined to private tables." if public else f"Protects {self.protects}."
        return [printable(line) for line in (opening, self.contribution) if line]

    def _figures(self) -> list[Figures]:
        heads = ("column", "kind", "values", "groups", "use")
        rows = [column.row() for column in self.columns]
        cells = zip(heads, zip(*rows, strict=True), strict=True)
        return [Figures(head, tuple(column), right=head == "groups") for head, column in cells]


class TableList(Mapping[str, TableDescription]):
    """The tables and views that may be asked about, by name."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> TableDescription:
        """Return the description of one of them."""
        return describe(name, self._catalog)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._catalog.schemas, *self._catalog.views))

    def __len__(self) -> int:
        return len(self._catalog.schemas) + len(self._catalog.views)

    def __repr__(self) -> str:
        return written(lambda console: draw_grid(console, self._figures(), wraps=True))

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures(), most=len(self))}</div>"

    def _figures(self) -> list[Figures]:
        tables = [(name, _schema(name, self._catalog), _named(name, self._catalog)) for name in self]
        return [
            Figures("table", tuple(printable(name) for name, _, _ in tables), right=False),
            Figures("protects", tuple(printable(str(schema.unit)) for _, schema, _ in tables), right=False),
            Figures("columns", tuple(printable(", ".join(named)) for _, _, named in tables), right=False),
        ]


def describe(name: str, catalog: Catalog) -> TableDescription:
    """Return the description of a table or a view."""
    if not isinstance(name, str):
        raise BadParameter("name", type(name).__name__, "the name of a table or a view")
    if name not in catalog.schemas and name not in catalog.views:
        raise UnknownName("table", name, (*catalog.schemas, *catalog.views))
    schema = _schema(name, catalog)
    limit = schema.contribution
    rowwise = schema.unit.rowwise or schema.unit.public
    most = f"{limit.rows:,} row{'s' * (limit.rows != 1)} in each of {limit.groups:,} group"
    full = "a limit that each answer chooses" if limit.chosen else f"{most}{'s' * (limit.groups != 1)}"
    contribution = "" if rowwise else f"Each counts in full up to {full}."
    named = _named(name, catalog)
    owners = tuple(shown for shown, column in named.items() if column in unit_columns(schema.unit)[:1])
    listed = {shown: schema.columns[column] for shown, column in named.items()}
    columns = tuple(_column(shown, facts, owner=shown in owners) for shown, facts in listed.items())
    people = owners if person_column(schema.unit) is not None else ()
    others = {shown: facts for shown, facts in listed.items() if shown not in owners}
    examples = () if schema.unit.public else tuple(_running(_examples(shown_name(name), people, others), catalog))
    return TableDescription(name, str(schema.unit), contribution, columns, examples)


def _schema(name: str, catalog: Catalog) -> Schema:
    view = catalog.views.get(name)
    return catalog.schemas[name] if view is None else _of_view(view)


def _named(name: str, catalog: Catalog) -> dict[str, str]:
    """Return the columns that questions may name, each with its name in the schema."""
    if name in catalog.views:
        return {column: column for column in _schema(name, catalog).columns}
    return shown_columns(name, catalog.schemas[name])


def _of_view(view: PrivateRows) -> Schema:
    """Return the facts of a view's own columns, which have other names in its source."""
    columns = {}
    for name, expression in view.columns.items():
        facts = typed(expression, view.schema.columns)
        values = facts.values if facts.kind in ("text", "boolean") else None
        known = view.schema.columns.get(expression.column or "")
        columns[name] = known or ColumnFacts(kind=facts.kind or "text", values=values, nullable=facts.nullable)
    unit = {column: view.schema.columns[column] for column in unit_columns(view.schema.unit)}
    return replace(view.schema, columns={**columns, **unit}, key=None)


def _column(name: str, facts: ColumnFacts, *, owner: bool) -> ColumnDescription:
    groups = None if owner else _groups(facts)
    if owner:
        use = "identifies who is protected: COUNT(DISTINCT)"
    else:
        sums = facts.kind in ("integer", "number") and facts.values is None
        uses = [] if not sums else ["sums and means" if facts.low is not None else "declare bounds to sum it"]
        by = {"number": "", "text": "groups are found in the data"}
        uses.append("groups" if groups else by.get(facts.kind, "declare bounds to group by it"))
        use = ", ".join(filter(None, uses))
    return ColumnDescription(name, facts.kind, _values(facts), groups, facts.nullable, use)


def _values(facts: ColumnFacts) -> str:
    words = ""
    if facts.values is not None and facts.kind != "boolean":
        listed = ", ".join(map(str, facts.values[:_MAX_VALUES_SHOWN]))
        words = (
            listed
            if len(facts.values) <= _MAX_VALUES_SHOWN
            else f"{listed}, ... and {len(facts.values) - _MAX_VALUES_SHOWN:,} more"
        )
    elif facts.low is not None:
        words = f"{_end(facts.low)} to {_end(facts.high)}"
    return f"{words}, may be NULL".lstrip(", ") if facts.nullable else words


def _end(end: object) -> str:
    return str(end) if isinstance(end, datetime.date) else f"{float(end):,.10g}"  # type: ignore[arg-type]


def _groups(facts: ColumnFacts) -> int | None:
    if facts.values is not None:
        return len(facts.values) + facts.nullable
    if facts.kind == "integer" and facts.low is not None:
        return int(facts.high - facts.low) + 1 + facts.nullable  # type: ignore[operator, arg-type]
    if facts.kind == "date" and facts.low is not None:
        return (facts.high - facts.low).days + 1 + facts.nullable  # type: ignore[operator, union-attr]
    return None


def _examples(table: str, people: Sequence[str], others: Mapping[str, ColumnFacts]) -> Iterator[str]:
    """Yield questions about a table that an analyst may begin with; `people` are columns that identify the person."""
    keys = [name for name, facts in others.items() if (_groups(facts) or 10**9) <= _MOST_GROUPS]
    listed = [name for name in keys if others[name].values is not None] or keys
    sums = [
        name
        for name, facts in others.items()
        if facts.kind in ("integer", "number") and facts.low is not None and name not in listed[:1]
    ]
    days = [name for name, facts in others.items() if facts.kind in ("date", "timestamp") and facts.low is not None]
    hidden = [name for name, facts in others.items() if facts.kind == "text" and facts.values is None]
    yield f"SELECT COUNT(*) AS n FROM {table}"
    for person in people[:1]:
        yield f"SELECT COUNT(DISTINCT {shown_name(person)}) AS people FROM {table}"
    for key in listed[:1]:
        shown = shown_name(key)
        yield f"SELECT {shown}, COUNT(*) AS n FROM {table} GROUP BY {shown}"
        for value in sums[:1]:
            yield f"SELECT {shown}, AVG({shown_name(value)}) AS mean FROM {table} GROUP BY {shown}"
    for value in sums[:1]:
        yield f"SELECT SUM({shown_name(value)}) AS total, MEDIAN({shown_name(value)}) AS median FROM {table}"
    for day in days[:1]:
        yield f"SELECT DATE_TRUNC('month', {shown_name(day)}) AS month, COUNT(*) AS n FROM {table} GROUP BY month"
    for key in hidden[:1]:
        yield f"SELECT {shown_name(key)}, COUNT(*) AS n FROM {table} GROUP BY {shown_name(key)}"


def _running(examples: Iterator[str], catalog: Catalog) -> Iterator[str]:
    """Yield the examples that can be planned under the account's budget."""
    for example in examples:
        try:
            plan_question(example, AskOptions(), catalog)
        except PrivetError:
            continue
        yield example
