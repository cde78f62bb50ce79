"""`privet running`: the running counts or sums of a whole history for one charge, shown again for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .marginals import counting_options, print_tables
from .one_charge import run_charged

if TYPE_CHECKING:
    from privet.planner.plan import Plan
    from privet.results.released_totals import RunningTotals
    from privet.session import Session


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

    def run(session: Session) -> RunningTotals:
        return session.running(table, by, **asked, nonnegative=nonnegative, key=key)

    def planned(session: Session) -> tuple[Any, Plan]:
        plan = session.plan_running(table, by, **asked)
        return plan, plan.counts.plan

    done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
    if done is None:
        return
    result, charge = done
    totals = result.totals(confidence=0.95 if confidence is None else confidence)
    if plot is not None:
        totals.plot(plot)
    print_tables(result, [totals], [[by, *groups]], charge, as_json=as_json)
