"""Conditions in SQL on the rows of a frame: read by the parser of whole questions, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

from privet.core.errors import RequestError
from privet.core.given import plain_text
from privet.core.relation import Expression
from privet.query.sql.parse import parse

from .frame import Frame

_ROWS = "rows_of_the_frame"


def with_condition(rows: Frame, name: str, text: str, parameter: str = "condition") -> Frame:
    """Return rows with one more column: whether each meets a condition, which is SQL over their columns."""
    source = rows._source
    return replace(rows, _source=replace(source, columns={**source.columns, name: _read(rows, text, parameter)}))


def _read(rows: Frame, text: str, parameter: str) -> Expression:
    """Return a condition over the relation's own columns.

    Guarantee: the text is a condition and nothing more, as the question that it is read in is the one without it but
    for the condition: text that closes a bracket, groups, or looks at another table is refused.
    """
    plain_text(text, parameter, "a condition in SQL, such as age > 65", least=1)
    views = {_ROWS: replace(rows._source, where=None)}
    bare = parse(f"SELECT COUNT(*) AS n FROM {_ROWS}", rows._source.tables, views)
    found = parse(f"SELECT COUNT(*) AS n FROM {_ROWS} WHERE {text}", rows._source.tables, views)
    if found.where is None or replace(found, where=None) != bare:
        raise RequestError(
            f"{parameter} must be a condition on the columns of the rows, such as age > 65; got {text!r}"
        )
    return found.where
