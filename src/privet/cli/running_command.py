"""`privet running`: the running counts or sums of a whole history for one charge, shown again for free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .asking import asking, opened
from .marginals import counting_options, print_plan, print_tables, told_of


@click.command()
@click.argument("table")
@click.option("--by", required=True, help="The steps: a column of dates or whole numbers with declared bounds.")
@click.option("--of", help="Add up this column; rows are counted if left out.")
@click.option("--group", "groups", multiple=True, help="Totals of its own for each value of this column; repeatable.")
@counting_options
def command(
    table: str,
    by: str,
    of: str | None,
    groups: tuple[str, ...],
    cost: dict[str, Any],
    nonnegative: bool,
    whole: bool,
    confidence: Any,
    plot: Path | None,
    only_plan: bool,
    key: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Show the running count of rows, or the running sum of a column, up to every step. Again, it is free.

    TABLE is a table or a view.

    \b
    Example:
      privet running visits --by day --epsilon 0.5
      privet running visits --by day --of cost --group ward --epsilon 0.5 --plot costs.png
      privet running visits --by day --epsilon 0.5 --plan
    """
    asked: dict[str, Any] = {"of": of, "groups": list(groups), **cost}
    if whole:
        from privet.core.errors import RequestError

        raise RequestError("running totals are not rounded: leave out --whole")
    with opened(config, analyst, plans=only_plan) as place:
        if only_plan:
            plan = place.session.plan_running(table, by, **asked)
            print_plan(plan, plan.counts.plan, place, as_json=as_json)
            return
        before = place.ledger.head()
        with asking(place):
            found = place.session.running(table, by, **asked, nonnegative=nonnegative, key=key)
        totals = found.totals(confidence=0.95 if confidence is None else confidence)
        told = told_of(place, before)
    if plot is not None:
        totals.plot(plot)
    print_tables(found, [totals], [[by, *groups]], told, as_json=as_json)
