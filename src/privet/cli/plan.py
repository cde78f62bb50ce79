"""`privet plan`: what a question would cost and how wide its answer would be. Free, and reads no data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import print_json
from .questions import Opened, find_option, more_argument, opened, other_option, question_options, read_several
from .screen import print_facts, print_table, print_text, printable

_OF_ONE = ("other", "find_groups")
"""What can be said of one question only."""

if TYPE_CHECKING:
    from privet.planner.batch import Batch
    from privet.planner.plan import Plan


@click.command()
@question_options
@more_argument
@other_option
@find_option
def command(
    sql: str | None,
    more: tuple[str, ...],
    file: Path | None,
    analyst: str | None,
    config: Path,
    terms: dict[str, Any],
    as_json: bool,
) -> None:
    """Tell what a question would cost, what noise it would get and whether it fits. Free; reads no data.

    SQL is the question itself, or - to read it from standard input. Several questions are planned for one charge.

    \b
    Example:
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
      privet plan "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --within 50
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --within 2% --at-most 0.5
    """
    from privet.core.errors import RequestError
    from privet.core.event import Composed

    texts = read_several(sql, more, file, terms)
    if terms["confidence"] is not None and terms["within"] is None:
        raise RequestError(
            "--confidence goes with --within here: a plan shows widths at 0.95; privet ask takes it for its intervals"
        )
    with opened(config, analyst) as place:
        if more:
            _plan_several(texts, place, terms, as_json=as_json)
            return
        plan = place.session.plan(texts[0], **terms)
        account = place.session.account
        rounds = [plan] if plan.rounds == 1 else [plan.round(index) for index in range(plan.rounds)]
        waiting = [one for one in rounds if place.ledger.find(one.digest, account) is None]
        answered = not waiting or _answered(plan, place)
        event = Composed(tuple(event for one in waiting for event in one.event.events))
        fits = answered or place.ledger.admits(event, account=account)
    if as_json:
        print_json({**plan.to_dict(), "answered": answered, "fits": fits})
        return
    _print(plan, "answered before: asking again is free" if answered else _FITS[fits])


_FITS = {True: "fits what is left of the budget", False: "does not fit what is left of the budget"}


def _answered(asked: Plan | Batch, place: Opened) -> bool:
    """Return whether all that is asked is stored, as this or an earlier edition of the planner released it."""
    from privet.planner.batch import digests_of

    account = place.session.account
    return any(
        all(place.ledger.find(digest, account) is not None for digest in digests) for digests in digests_of(asked)
    )


def _plan_several(texts: list[str], place: Opened, terms: dict[str, Any], *, as_json: bool) -> None:
    """Print what several questions cost together, and how wide each answer would be."""
    batch = place.session.plan_all(texts, **{name: said for name, said in terms.items() if name not in _OF_ONE})
    account = place.session.account
    answered = _answered(batch, place)
    fits = answered or place.ledger.admits(batch.event, account=account)
    if as_json:
        told = {"together": {"digest": batch.digest, "cost": batch.cost()}, "answered": answered, "fits": fits}
        print_json([{**plan.to_dict(), **told} for plan in batch.plans])
        return
    for line in batch.explain().splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", "answered before: asking again is free" if answered else _FITS[fits])])
    for index, plan in enumerate(batch.plans):
        print_text("")
        print_text(f"Question {index + 1}", style="bold")
        _print_widths(plan)


def _print(plan: Plan, fits: str) -> None:
    for line in plan.explain().splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", fits)])
    print_text("")
    _print_widths(plan)


def _print_widths(plan: Plan) -> None:
    from privet.planner.levels import levels_in
    from privet.planner.widths import heading, widths

    rows = [
        (printable(f"{one.column} {level}".rstrip()), one.words().replace("; ", "\n"))
        for level, part in levels_in(plan)
        for one in widths(part)
    ]
    heads = ("column", "95% of the noise within" if plan.rounds == 1 else heading(plan))
    print_table(heads, rows)
