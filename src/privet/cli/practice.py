"""`privet practice`: ask made-up rows that fit a privet.toml, at no cost and without the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .answers import note_facts, print_answer
from .output import print_json
from .questions import other_option, question_options, read_sql
from .screen import print_facts, print_text, working

MADE_UP = "made up: these numbers are about nobody"


@click.command()
@question_options
@other_option
def command(
    sql: str | None,
    file: Path | None,
    analyst: str | None,
    config: Path,
    terms: dict[str, Any],
    as_json: bool,
) -> None:
    """Ask a question of made-up rows, to try it out. Opens neither the data nor the ledger; nothing is charged.

    The rows are made from what the file declares, and from nothing else. SQL is the question itself, or - to read it
    from standard input.

    \b
    Example:
      privet practice "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
    """
    from privet.config.practice import practice

    text = read_sql(sql, file)
    with working("making up rows"), practice(config, analyst) as session:
        answer = session.ask(text, **terms)
    if as_json:
        print_json({"data": MADE_UP, **json.loads(answer.to_json())})
        return
    print_text(f"Practice, {MADE_UP}.", style="bold")
    print_text("")
    print_answer(answer)
    print_text("")
    facts = [("data", MADE_UP), ("cost", "nothing: practice has a budget to throw away")]
    print_facts([*facts, *note_facts(answer)])
