"""`privet clipping`: what clamping and bounding take away from a question, and advice on better bounds. Charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .ledger_words import cost_words
from .output import print_json
from .questions import opened, question_options, read_sql
from .screen import print_facts, print_text, printable, working


@click.command()
@question_options
@click.option("--key", help="A name for this: trying again with it after a failure is charged once.")
def command(
    sql: str | None,
    file: Path | None,
    analyst: str | None,
    config: Path,
    terms: dict[str, Any],
    key: str | None,
    as_json: bool,
) -> None:
    """Estimate privately what clamping and bounding take away from a question's answer. Charged like a question.

    SQL is the question itself, or - to read it from standard input. Its own answer is not among what is told.

    \b
    Example:
      privet clipping "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.2
      privet clipping "SELECT SUM(LEAST(cost, 500)) FROM visits" --epsilon 0.2
    """
    from privet.core.errors import RequestError

    within, at_most, confidence = (terms.pop(name) for name in ("within", "at_most", "confidence"))
    if within is not None or at_most is not None:
        raise RequestError(
            "this has no width to ask for: leave out --within and --at-most; say what it may cost: --epsilon or --rho"
        )
    text = read_sql(sql, file)
    if confidence is not None:
        terms["confidence"] = confidence
    with opened(config, analyst) as place, working("asking"):
        found = place.session.clipping(text, **terms, key=key)
    if as_json:
        print_json(found.to_dict())
        return
    for line in found.lines():
        print_text(printable(line))
    print_text("")
    cost = f"{cost_words(found.cost) or 'nothing'}, entry {found.receipt.entry} of the ledger"
    print_facts([("cost", cost), ("covers", f"the noise, with {found.confidence:.3g} probability, each by itself")])
