"""`privet init`: write a first privet.toml. It reads names and types of columns, and nothing else of the data."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.config.draft import Draft, DraftColumn, DraftTable
from privet.config.problems import nearest
from privet.config.tables import budget_from_spec, column_from_spec, contribution_from_spec
from privet.core.errors import RequestError
from privet.display import printable
from privet.engines.duckdb.sources import SUPPORTED, paths_at
from privet.engines.inspection import columns_at, columns_in, kinds_of_values
from privet.engines.postgres.reader_address import Postgres, has_password
from privet.engines.postgres.stored_tables import PostgresTable

from .screen import json_option, print_facts, print_json, print_text

if TYPE_CHECKING:
    from privet.config.problems import Problem


# The questions of `privet init`: who is protected, the public facts of each column, the budget of all answers.


_KINDS = ("integer", "number", "boolean", "category", "date", "timestamp", "text")
_ENDS = {"integer": "0:120", "number": "0:2000", "date": "2025-01-01:2025-12-31", "timestamp": "2025-01-01..2026-01-01"}


_BACK = "<"
_PERSON = re.compile(
    "patient|person|people|user|customer|client|member|subject|employee|student|citizen|ssn|id$", re.IGNORECASE
)


class _GoBack(Exception):
    """The custodian wants to answer the question before this one again."""


def plausible_units(table: DraftTable) -> list[str]:
    """Return the columns that may identify a person, by their names and kinds alone, the likeliest first."""
    fit = [column for column in table.columns if column.kind in (None, "integer", "text") and column.declared is None]
    named = [column.name for column in fit if _PERSON.search(column.name)]
    return sorted(named, key=lambda name: name.lower() in ("id", f"{table.name.lower()}_id"))


def ask_for_rest(draft: Draft) -> tuple[Draft, bool]:
    """Return the draft with the custodian's answers, and whether they answered to the end.

    An empty answer leaves a note, or the default. `<` goes back by one question; an interrupt ends the questions.
    """
    click.echo("Every answer becomes public. Do not look it up in the data: enter what is known without them.")
    click.echo(f"Enter {_BACK} to go back to the question before; Ctrl-C saves what was entered so far.")
    steps, done, at = list(_steps(draft)), list[tuple[int, Draft]](), 0
    while at < len(steps):
        try:
            asked = steps[at](draft)
        except _GoBack:
            at, draft = done.pop() if done else (at, draft)
            continue
        except click.Abort:
            return draft, False
        if asked is not None:
            done.append((at, draft))
            draft = asked
        at += 1
    return draft, True


def _steps(draft: Draft) -> Iterator[Callable[[Draft], Draft | None]]:
    """Yield the questions, each of which returns the draft with its answer, or None where there is nothing to ask."""
    for place, table in enumerate(draft.tables):
        yield partial(_on_table, place, _ask_owner)
        for column in table.columns:
            yield partial(_on_table, place, partial(_ask_column, name=column.name))
        yield partial(_on_table, place, _ask_limit)
    yield _ask_budget


def _on_table(place: int, ask: Callable[[DraftTable], DraftTable | None], draft: Draft) -> Draft | None:
    asked = ask(draft.tables[place])
    tables = draft.tables
    return None if asked is None else replace(draft, tables=(*tables[:place], asked, *tables[place + 1 :]))


def _ask_budget(draft: Draft) -> Draft | None:
    if draft.budget is not None:
        return None
    return replace(
        draft, budget=_until_read("Total budget of all answers? such as epsilon=1,delta=1e-6", budget_from_spec)
    )


def _ask_owner(table: DraftTable) -> DraftTable | None:
    click.echo("")
    click.echo(f"Table {printable(table.name)}, columns: {', '.join(printable(field.name) for field in table.columns)}")
    names = {column.name for column in table.columns}
    if table.public or table.unit is not None or table.link is not None:
        return None

    def owner(text: str) -> str:
        if "->" not in text and text != "rows" and text not in names:
            raise RequestError(f"there is no column {text!r}; enter one of the columns, rows, or a link")
        return text

    likely = ", ".join(map(printable, plausible_units(table)[:3]))
    question = (
        f"Which column identifies the person? ({f'such as {likely}; ' if likely else ''}or rows, for each row; or a "
        "link such as visit_id -> visits.id)"
    )
    whose = _until_read(question, owner)
    linked = whose is not None and "->" in whose
    return replace(table, unit=None if linked else whose, link=whose if linked else None)


def _ask_limit(table: DraftTable) -> DraftTable | None:
    if not (table.link or table.unit not in (None, "rows")) or table.contribution is not None:
        return None
    question = (
        "Which limit does nearly everyone stay within? (groups that one person has rows in, and rows in each, "
        "such as groups=3,rows=2)"
    )
    return replace(table, contribution=_until_read(question, contribution_from_spec))


def _ask_column(table: DraftTable, *, name: str) -> DraftTable | None:
    """Return the table with a column declared; who is protected needs no bounds, and its kind only if unknown."""
    column = next(candidate for candidate in table.columns if candidate.name == name)
    bounds, shown = name != table.unit, printable(name)
    if column.declared is not None or (not bounds and column.kind is not None):
        return None
    choices = click.Choice((*_KINDS, _BACK))
    kind = _forward(click.prompt(f"  {shown}: kind", type=choices, default=column.kind or "text", err=True))
    while True:
        spec = kind
        if kind in _ENDS and bounds:
            ends = _answer(f"  {shown}: lowest and highest, such as {_ENDS[kind]}; empty for none")
            spec = f"{kind}:{ends}" if ends else kind
        if kind in ("category", "text") and bounds:
            values = _answer(f"  {shown}: its public values, with commas between them; empty for none")
            spec = f"category:{values}" if values else "text"
        try:
            made = with_column(table, name, spec)
        except RequestError as error:
            click.echo(f"  {error}", err=True)
            continue
        if bounds and _answer(f"  {shown}: may it be missing (NULL)? [y/N]").lower() in ("y", "yes"):
            made = with_column(table, name, f"{spec}:nullable")
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
    return _forward(str(click.prompt(question, default="", show_default=False, err=True)).strip())


def _forward(answer: str) -> str:
    if answer == _BACK:
        raise _GoBack
    return answer


# From the options of `privet init` to a draft: the tables, their columns, and the declarations of these.


_VALUE = re.compile(r"[\d\s.,:;+\-/%$€£eE]*|.*@.*|true|false|null|none|na|nan", re.IGNORECASE)
_LONGEST_NAME = 80


def make_draft(said: Mapping[str, Any], output: Path) -> Draft:
    """Return a draft from the options; refuse an option that names no table or column."""
    if said["url"] is None:
        sources = _sources(said["files"], said["tables"])
        draft = {name: _table(name, paths, output, types=said["types_from_data"]) for name, paths in sources.items()}
    else:
        draft = _stored(said["url"], said["files"], said["tables"])
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
        url=said["url"],
        engine=said.get("engine", "duckdb"),
    )


def _stored(url: str, names: Iterable[str], tables: Iterable[str]) -> dict[str, DraftTable]:
    """Return tables of a PostgreSQL server, from its catalog alone: no row is read."""
    if has_password(url):
        raise RequestError("leave the password out of --url: privet.toml is read by many; set PGPASSWORD meanwhile")
    pairs = [_named(option, "--table", "visits=clinic.visits") for option in tables]
    pairs += [(name.rpartition(".")[2], name) for name in names]
    if not pairs:
        raise RequestError("name the tables, such as: privet init --url postgresql://reader@db/hospital clinic.visits")
    drafts: dict[str, DraftTable] = {}
    for name, stored in pairs:
        if name in drafts:
            raise RequestError(f"two tables would be called {name!r}; name them: --table NAME={stored}")
        source = PostgresTable(stored)
        described = columns_in(Postgres(url), source)
        drafts[name] = DraftTable(
            name=name,
            source=source,
            columns=tuple(DraftColumn(column, kind) for column, kind in described if kind is not None),
            unread=tuple(column for column, kind in described if kind is None),
        )
    return drafts


def _sources(files: Iterable[str], tables: Iterable[str]) -> dict[str, list[str]]:
    patterns: dict[str, list[str]] = {}
    pairs = [_named(option, "--table", "visits='data/visits-*.parquet'") for option in tables]
    for file in files:
        paths = paths_at(file)
        if "://" in file:
            raise RequestError(f"{file!r} is an address, and only files here are read: {SUPPORTED}")
        if os.path.isdir(file):
            raise RequestError(f"{file!r} is a folder; name its files, as in {os.path.join(file, '*.parquet')!r}")
        if not paths:
            raise RequestError(f"there is no file {file!r}")
        pairs += [(_name_of(path), path) for path in paths]
    for name, pattern in pairs:
        if name in patterns:
            raise RequestError(f"two tables would be called {name!r}; name them: --table NAME={pattern!r}")
        patterns[name] = [pattern]
    if not patterns:
        raise RequestError("pass the files of the tables, such as: privet init data/*.parquet")
    return patterns


def _name_of(path: str) -> str:
    stem = os.path.basename(path).split(".")[0]
    return re.sub(r"\W+", "_", stem).strip("_") or "table"


def _table(name: str, patterns: list[str], output: Path, *, types: bool) -> DraftTable:
    described = columns_at(name, patterns)
    plain = any(path.lower().split(".")[-1] not in ("parquet", "pq") for glob in patterns for path in paths_at(glob))
    if plain:
        _check_header(name, [column for column, _ in described])
    kinds = kinds_of_values(name, patterns) if plain and types else {}
    folder = os.path.dirname(os.path.abspath(output))
    written = tuple(_relative(os.path.abspath(pattern), folder) for pattern in patterns)
    return DraftTable(
        name=name,
        source=written[0] if len(written) == 1 else written,
        columns=tuple(
            DraftColumn(column, kinds.get(column) if plain else kind) for column, kind in described if kind is not None
        ),
        unread=tuple(column for column, kind in described if kind is None),
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
        [_known(name, draft)] if name else [table for table, part in draft.items() if not part.public and not part.link]
    )
    holding = [table for table in tables if column == "rows" or column in _names(draft[table])]
    if not holding:
        known = sorted({label for table in tables for label in _names(draft[table])})
        raise RequestError(f"no table has a column {column!r} for --unit; {nearest(column, known)}")
    for table in holding:
        draft[table] = replace(draft[table], unit=column)


def _say_column(option: str, draft: dict[str, DraftTable]) -> None:
    left, spec = _named(option, "--column", "age=integer:0:120")
    table, _, inner = left.partition(".")
    pairs = [(name, left) for name, part in draft.items() if left in _names(part)]
    if table in draft and inner in _names(draft[table]):
        pairs = [(table, inner)]
    if not pairs:
        known = sorted({column for part in draft.values() for column in _names(part)})
        raise RequestError(f"no table has a column {left!r} for --column; {nearest(left, known)}")
    for name, column in pairs:
        draft[name] = with_column(draft[name], column, spec)


def with_column(table: DraftTable, name: str, spec: str) -> DraftTable:
    """Return a table with one of its columns declared from a short text."""
    columns = tuple(
        replace(column, declared=column_from_spec(spec, stored=column.kind)) if column.name == name else column
        for column in table.columns
    )
    return replace(table, columns=columns)


def _say_contribution(option: str, draft: dict[str, DraftTable]) -> None:
    name, colon, spec = option.partition(":")
    people = [key for key in draft if not draft[key].public and draft[key].unit != "rows"]
    tables = [_known(name, draft)] if colon else people
    for table in tables:
        draft[table] = replace(draft[table], contribution=contribution_from_spec(spec if colon else option))


def _names(table: DraftTable) -> list[str]:
    return [column.name for column in table.columns]


def _known(name: str, draft: Mapping[str, DraftTable]) -> str:
    if name not in draft:
        raise RequestError(f"there is no table {name!r}; {nearest(name, draft)}")
    return name


def _named(option: str, flag: str, example: str) -> tuple[str, str]:
    name, equals, rest = option.partition("=")
    if not equals or not name.strip() or not rest.strip():
        raise RequestError(f"{flag} {option!r} is not understood; write {flag} {example}")
    return name.strip(), rest.strip()


@click.command()
@click.argument("files", nargs=-1)
@click.option("--table", "tables", multiple=True, metavar="NAME=PATTERN", help="One table of all files at a pattern.")
@click.option("--url", metavar="ADDRESS", help="A PostgreSQL server; FILES are then names of its tables.")
@click.option("--unit", "units", multiple=True, metavar="[TABLE=]COLUMN", help="Whose row it is; or: rows.")
@click.option("--link", "links", multiple=True, metavar="TABLE=LINK", help="Such as drugs='visit_id -> visits.id'.")
@click.option("--public", multiple=True, metavar="TABLE", help="A public table: it protects no one.")
@click.option("--column", "columns", multiple=True, metavar="[TABLE.]NAME=SPEC", help="Such as age=integer:0:120.")
@click.option("--contribution", "gifts", multiple=True, metavar="[TABLE:]SPEC", help="Such as groups=3,rows=2.")
@click.option("--budget", metavar="SPEC", help="Such as epsilon=1,delta=1e-6, or rho=0.1.")
@click.option("--analyst", "analysts", multiple=True, metavar="NAME=BUDGET", help="Who may ask, with a cap.")
@click.option(
    "--types-from-data",
    is_flag=True,
    help="Read the values of CSV files to distinguish numbers, dates and texts. Only the kinds are written.",
)
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", help="What reads the files.")
@click.option("--output", type=click.Path(path_type=Path), default="privet.toml", show_default=True, help="The file.")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--ask/--yes", default=None, help="Ask for what is missing, or leave notes where it is to be filled in.")
@json_option
def command(**said: Any) -> None:
    """Write a first privet.toml for Parquet or CSV files, or tables in PostgreSQL, one table for each.

    Names and types of columns come from the files' own schema (of a CSV, from its first line). Everything else must be
    public: it is asked for, or taken from options, and never read from the data. What was not entered is marked in the
    file by a note that `privet check` points to.

    \b
    Columns: KIND, KIND:LOW:HIGH, number:LOW:HIGH:STEP or category:A,B,C, with
    :nullable behind it where a value may be missing; kinds are integer, number,
    boolean, category, date, timestamp (LOW..HIGH) and text.

    \b
    Example:
      privet init data/*.parquet
      privet init --url postgresql://reader@db/hospital clinic.visits
      privet init visits.csv --unit patient_id --budget epsilon=1,delta=1e-6 \\
        --column age=integer:0:120 --column ward=category:A,B --yes
    """
    from privet.config.draft import write_draft
    from privet.config.problems import BadConfig
    from privet.core.errors import RequestError

    output, as_json = Path(said["output"]), bool(said["as_json"])
    if _is_there(output) and not said["force"]:
        raise RequestError(f"there is a file {str(output)!r} already; pass another --output, or --force")
    draft = make_draft(said, output)
    asks = said["ask"] if said["ask"] is not None else sys.stdin.isatty() and not as_json
    ended = True
    if asks:
        draft, ended = ask_for_rest(draft)

    likely = (replace(table, likely=tuple(plausible_units(table))) for table in draft.tables)
    text = write_draft(replace(draft, tables=tuple(likely)))
    missing, wrong = _left_over(text, output)
    if wrong and not asks:
        raise BadConfig(str(output), wrong)
    _write(output, text, replace=bool(said["force"]))
    missing = sorted([*missing, *wrong])  # answers are kept, to be put right in the file
    if as_json:
        notes = [{"line": note.line, "message": note.message} for note in missing]
        print_json({"file": str(output), "tables": [table.name for table in draft.tables], "to_fill_in": notes})
        return
    if not ended:
        print_text("\nStopped. What was entered is saved; the rest can be filled in there.")
    print_text(f"Wrote {output} with {len(draft.tables)} table{'s' if len(draft.tables) > 1 else ''}.")
    if missing:
        print_text("Still to be filled in:")
        print_facts([(f"  line {note.line}", printable(note.message)) for note in missing])
    print_text("Next: privet check" + ("" if str(output) == "privet.toml" else f" --config {output}"))
    if not ended:
        click.get_current_context().exit(1)


def _is_there(output: Path) -> bool:
    try:
        return output.exists()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False


def _left_over(text: str, output: Path) -> tuple[list[Problem], list[Problem]]:
    """Return the notes that are left in a text, and its other problems."""
    from privet.config.problems import BadConfig, Problem
    from privet.config.reading import TO_FILL_IN, parse_config

    try:
        parse_config(text, Path(os.path.abspath(output)), name=str(output))
    except BadConfig as error:
        problems = [Problem(**fields) for fields in error.problems]
    else:
        return [], []
    notes = [problem for problem in problems if problem.message.startswith(TO_FILL_IN)]
    wrong = [problem for problem in problems if problem not in notes and not _follows(problem, notes)]
    end = "; then remove this line"
    plain = [Problem(gap.line, gap.key, gap.message.removeprefix(f"{TO_FILL_IN}: ").removesuffix(end)) for gap in notes]
    return plain, wrong


def _follows(problem: Problem, notes: list[Problem]) -> bool:
    """Return whether a problem is only a missing declaration that a note asks for."""
    from privet.config.draft import LIMIT
    from privet.config.reading import NO_AMOUNT
    from privet.config.tables import NO_LIMIT, NO_UNIT

    asks = {NO_AMOUNT: "the budget of all answers", NO_UNIT: "who is protected", NO_LIMIT: LIMIT}
    return any(
        problem.message.startswith(missing) and any(asked in note.message for note in notes)
        for missing, asked in asks.items()
    )


def _write(output: Path, text: str, *, replace: bool) -> None:
    from privet.core.errors import RequestError

    temporary = output.with_name(f".{output.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if replace:
            os.replace(temporary, output)
        else:
            os.link(temporary, output)
    except FileExistsError:
        raise RequestError(f"there is a file {str(output)!r} already; replace it with --force") from None
    except OSError:
        raise RequestError(f"{str(output)!r} cannot be written; check its folder and who owns it") from None
    finally:
        temporary.unlink(missing_ok=True)
