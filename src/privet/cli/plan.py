"""`privet plan`: what a question would cost and how wide its answer would be. Free, and reads no data."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import print_json
from .questions import amounts, opened, other_option, question_options, read_sql
from .screen import print_facts, print_table, print_text, printable

if TYPE_CHECKING:
    from privet.planner.plan import Plan


@click.command()
@question_options
@other_option
def command(
    sql: str | None,
    file: Path | None,
    epsilon: Fraction | None,
    rho: Fraction | None,
    within: object,
    confidence: Fraction | None,
    at_most: Fraction | None,
    bound: str,
    contribution: str | None,
    other: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Tell what a question would cost, what noise it would get and whether it fits. Free; reads no data.

    SQL is the question itself, or - to read it from standard input.

    \b
    Example:
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
      privet plan "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --within 50
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --within 2% --at-most 0.5
    """
    from privet.core.event import Composed

    text = read_sql(sql, file)
    options = amounts(
        epsilon=epsilon,
        rho=rho,
        within=within,
        confidence=confidence,
        at_most=at_most,
        bound=bound,
        contribution=contribution,
        other=other,
    )
    with opened(config, analyst) as place:
        plan = place.session.plan(text, **options)
        account = place.session.account
        rounds = [plan] if plan.rounds == 1 else [plan.round(index) for index in range(plan.rounds)]
        waiting = [one for one in rounds if place.ledger.find(one.digest, account) is None]
        answered = not waiting
        event = Composed(tuple(event for one in waiting for event in one.event.events))
        fits = answered or place.ledger.admits(event, account=account)
    if as_json:
        print_json({**plan.to_dict(), "answered": answered, "fits": fits})
        return
    _print(plan, "answered before: asking again is free" if answered else _FITS[fits])


_FITS = {True: "fits what is left of the budget", False: "does not fit what is left of the budget"}


def _print(plan: Plan, fits: str) -> None:
    from privet.planner.levels import levels_in
    from privet.planner.widths import heading, widths

    for line in plan.explain().splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", fits)])
    print_text("")
    rows = [
        (printable(f"{one.column} {level}".rstrip()), one.words().replace("; ", "\n"))
        for level, part in levels_in(plan)
        for one in widths(part)
    ]
    heads = ("column", "95% of the noise within" if plan.rounds == 1 else heading(plan))
    print_table(heads, rows)
