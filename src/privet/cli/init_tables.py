"""From the options of `privet init` to a draft: which tables there are, their columns, and what was said about them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet.config.draft import Draft, DraftColumn, DraftTable
from privet.config.problems import nearest
from privet.config.specs import budget_from_spec, column_from_spec, contribution_from_spec
from privet.core.errors import RequestError
from privet.engines.inspection import columns_at
from privet.engines.sources import paths_at

_VALUE = re.compile(r"[\d\s.,:;+\-/%$€£eE]*|.*@.*|true|false|null|none|na|nan", re.IGNORECASE)
_LONGEST_NAME = 80


def make_draft(said: Mapping[str, Any], output: Path) -> Draft:
    """Return a draft of what the options say; refuse an option that is about nothing."""
    sources = _sources(said["files"], said["tables"])
    draft = {name: _table(name, patterns, output) for name, patterns in sources.items()}
    for name in said["public"]:
        draft[_known(name, draft)] = replace(draft[_known(name, draft)], public=True)
    for option in said["links"]:
        name, link = _named(option, "--link", "drugs='visit_id -> visits.id'")
        draft[_known(name, draft)] = replace(draft[_known(name, draft)], link=link)
    for option in said["units"]:
        _say_unit(option, draft)
    for option in said["columns"]:
        _say_column(option, draft)
    for option in said["gifts"]:
        _say_contribution(option, draft)
    analysts = tuple(_named(option, "--analyst", "alice=epsilon=1,delta=1e-7") for option in said["analysts"])
    return Draft(
        tables=tuple(draft.values()),
        budget=None if said["budget"] is None else budget_from_spec(said["budget"]),
        analysts=tuple((name, budget_from_spec(budget)) for name, budget in analysts),
    )


def _sources(files: Iterable[str], tables: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    pairs = [_named(option, "--table", "visits='data/visits-*.parquet'") for option in tables]
    for file in files:
        paths = paths_at(file)
        if not paths:
            raise RequestError(f"there is no file {file!r}")
        pairs += [(_name_of(path), path) for path in paths]
    for name, pattern in pairs:
        if name in found:
            raise RequestError(f"two tables would be called {name!r}; name them: --table NAME={pattern!r}")
        found[name] = [pattern]
    if not found:
        raise RequestError("give the files that hold the tables, such as: privet init data/*.parquet")
    return found


def _name_of(path: str) -> str:
    stem = os.path.basename(path).split(".")[0]
    return re.sub(r"\W+", "_", stem).strip("_") or "table"


def _table(name: str, patterns: list[str], output: Path) -> DraftTable:
    described = columns_at(name, patterns)
    plain = any(path.lower().split(".")[-1] not in ("parquet", "pq") for one in patterns for path in paths_at(one))
    if plain:
        _check_header(name, [column for column, _ in described])
    folder = os.path.dirname(os.path.abspath(output))
    written = tuple(_relative(os.path.abspath(pattern), folder) for pattern in patterns)
    return DraftTable(
        name=name,
        source=written[0] if len(written) == 1 else written,
        columns=tuple(DraftColumn(one, None if plain else kind) for one, kind in described if kind is not None),
        unread=tuple(one for one, kind in described if kind is None),
    )


def _check_header(name: str, columns: list[str]) -> None:
    """Refuse a first line that looks like a row: its values would be written into a file that is public."""
    for column in columns:
        if not column.strip() or len(column) > _LONGEST_NAME or _VALUE.fullmatch(column.strip()):
            raise RequestError(
                f"the first line of table {name!r} does not look like names of columns, and is not shown since it may "
                "be a row; put a line of names above it, or use Parquet"
            )


def _relative(path: str, folder: str) -> str:
    inside = os.path.relpath(path, folder)
    return (path if inside.startswith("..") else inside).replace(os.sep, "/")


def _say_unit(option: str, draft: dict[str, DraftTable]) -> None:
    name, _, column = option.rpartition("=")
    tables = (
        [_known(name, draft)] if name else [table for table, one in draft.items() if not one.public and not one.link]
    )
    holding = [table for table in tables if column == "rows" or column in _names(draft[table])]
    if not holding:
        known = sorted({one for table in tables for one in _names(draft[table])})
        raise RequestError(f"no table has a column {column!r} for --unit; {nearest(column, known)}")
    for table in holding:
        draft[table] = replace(draft[table], unit=column)


def _say_column(option: str, draft: dict[str, DraftTable]) -> None:
    left, spec = _named(option, "--column", "age=integer:0:120")
    table, _, inner = left.partition(".")
    pairs = [(name, left) for name, one in draft.items() if left in _names(one)]
    if table in draft and inner in _names(draft[table]):
        pairs = [(table, inner)]
    if not pairs:
        known = sorted({column for one in draft.values() for column in _names(one)})
        raise RequestError(f"no table has a column {left!r} for --column; {nearest(left, known)}")
    for name, column in pairs:
        draft[name] = with_column(draft[name], column, spec)


def with_column(table: DraftTable, name: str, spec: str) -> DraftTable:
    """Return a table with one of its columns declared as a few signs say."""
    columns = tuple(
        replace(one, declared=column_from_spec(spec, stored=one.kind)) if one.name == name else one
        for one in table.columns
    )
    return replace(table, columns=columns)


def _say_contribution(option: str, draft: dict[str, DraftTable]) -> None:
    name, found, spec = option.partition(":")
    people = [one for one in draft if not draft[one].public and draft[one].unit != "rows"]
    tables = [_known(name, draft)] if found else people
    for table in tables:
        draft[table] = replace(draft[table], contribution=contribution_from_spec(spec if found else option))


def _names(table: DraftTable) -> list[str]:
    return [column.name for column in table.columns]


def _known(name: str, draft: Mapping[str, DraftTable]) -> str:
    if name not in draft:
        raise RequestError(f"there is no table {name!r}; {nearest(name, draft)}")
    return name


def _named(option: str, flag: str, example: str) -> tuple[str, str]:
    name, found, rest = option.partition("=")
    if not found or not name.strip() or not rest.strip():
        raise RequestError(f"{flag} {option!r} is not understood; write {flag} {example}")
    return name.strip(), rest.strip()
