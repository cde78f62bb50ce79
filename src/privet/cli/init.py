"""`privet init`: write a first privet.toml. Of the data it reads names and types of columns, and nothing else."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import json_option, print_json
from .screen import print_facts, print_text, printable

if TYPE_CHECKING:
    from privet.config.problems import Problem


@click.command()
@click.argument("files", nargs=-1)
@click.option("--table", "tables", multiple=True, metavar="NAME=PATTERN", help="One table of all files at a pattern.")
@click.option("--unit", "units", multiple=True, metavar="[TABLE=]COLUMN", help="Whose row it is; or: rows.")
@click.option("--link", "links", multiple=True, metavar="TABLE=LINK", help="Such as drugs='visit_id -> visits.id'.")
@click.option("--public", multiple=True, metavar="TABLE", help="A table that protects nobody.")
@click.option("--column", "columns", multiple=True, metavar="[TABLE.]NAME=SPEC", help="Such as age=integer:0:120.")
@click.option("--contribution", "gifts", multiple=True, metavar="[TABLE:]SPEC", help="Such as groups=3,rows=2.")
@click.option("--budget", metavar="SPEC", help="Such as epsilon=1,delta=1e-6, or rho=0.1.")
@click.option("--analyst", "analysts", multiple=True, metavar="NAME=BUDGET", help="Who may ask, with a cap.")
@click.option("--output", type=click.Path(path_type=Path), default="privet.toml", show_default=True, help="The file.")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--ask/--yes", default=None, help="Ask for what is missing, or leave notes where it is to be filled in.")
@json_option
def command(**said: Any) -> None:
    """Write a first privet.toml for Parquet or CSV files, one table for each.

    Names and types of columns come from the files' own schema (of a CSV, from its first line). Everything else must be
    public: it is asked for, or taken from options, and never read from the data. What was not said stands in the file
    as a note that `privet check` points to.

    \b
    Columns: KIND, KIND:LOW:HIGH, number:LOW:HIGH:STEP or category:A,B,C, with
    :nullable behind it where a value may be missing; kinds are integer, number,
    boolean, category, date, timestamp (LOW..HIGH) and text.

    \b
    Example:
      privet init data/*.parquet
      privet init visits.csv --unit patient_id --budget epsilon=1,delta=1e-6 \\
        --column age=integer:0:120 --column ward=category:A,B --yes
    """
    from privet.config.draft import write_draft
    from privet.config.problems import BadConfig
    from privet.core.errors import RequestError

    from .init_questions import ask_for_rest
    from .init_tables import make_draft

    output, as_json = Path(said["output"]), bool(said["as_json"])
    if _is_there(output) and not said["force"]:
        raise RequestError(f"there is a file {str(output)!r} already; give another --output, or --force")
    draft = make_draft(said, output)
    asks = said["ask"] if said["ask"] is not None else sys.stdin.isatty() and not as_json
    if asks:
        draft = ask_for_rest(draft)

    text = write_draft(draft)
    missing, wrong = _left_over(text, output)
    if wrong and not asks:
        raise BadConfig(str(output), wrong)
    _write(output, text, replace=bool(said["force"]))
    missing = sorted([*missing, *wrong])  # answers are kept, to be put right in the file
    if as_json:
        told = [{"line": one.line, "message": one.message} for one in missing]
        print_json({"file": str(output), "tables": [table.name for table in draft.tables], "to_fill_in": told})
        return
    print_text(f"Wrote {output} with {len(draft.tables)} table{'s' if len(draft.tables) > 1 else ''}.")
    if missing:
        print_text("Still to be filled in:")
        print_facts([(f"  line {one.line}", printable(one.message)) for one in missing])
    print_text("Next: privet check" + ("" if str(output) == "privet.toml" else f" --config {output}"))


def _is_there(output: Path) -> bool:
    try:
        return output.exists()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False


def _left_over(text: str, output: Path) -> tuple[list[Problem], list[Problem]]:
    """Return the notes that are left in a text, and what is wrong with it otherwise."""
    from privet.config.problems import BadConfig, Problem
    from privet.config.reading import TO_FILL_IN, parse_config

    try:
        parse_config(text, Path(os.path.abspath(output)), name=str(output))
    except BadConfig as error:
        found = [Problem(**one) for one in error.problems]
    else:
        return [], []
    notes = [one for one in found if one.message.startswith(TO_FILL_IN)]
    wrong = [one for one in found if one not in notes and not _follows(one, notes)]
    end = "; then remove this line"
    plain = [Problem(one.line, one.key, one.message.removeprefix(f"{TO_FILL_IN}: ").removesuffix(end)) for one in notes]
    return plain, wrong


def _follows(problem: Problem, notes: list[Problem]) -> bool:
    """Return whether a problem is only that something is missing that a note asks for."""
    asks = {"no amount is given": "what all answers together", "nothing says who": "who is protected"}
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
