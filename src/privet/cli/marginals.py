"""`privet marginals`: many counts of a table for one charge, any of which is shown again for free."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words, percent, printable, room

from .asking import OpenedSession, asking, opened, read_contribution
from .screen import counting_number, json_option, number, print_columns, print_facts, print_json, print_text
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from privet.planner.plan import Plan
    from privet.results.released_counts import CountTable, ReleasedCounts

_FITS = {True: "fits what is left of the budget", False: "does not fit what is left of the budget"}

_OPTIONS = (
    click.option("--epsilon", type=number, help="What all counts cost together. [default: a tenth of the budget]"),
    click.option("--rho", type=number, help="What all counts cost together, as rho."),
    click.option(
        "--bound",
        type=click.Choice(["norm", "groups"]),
        default="norm",
        show_default=True,
        help="How to limit each person's contribution: `norm` scales it down, `groups` drops excess groups and rows.",
    ),
    click.option(
        "--contribution",
        metavar="GROUPS,ROWS",
        help="The groups and rows in each that nearly every person stays within.",
    ),
    click.option("--nonnegative", is_flag=True, help="Keep estimates and intervals at 0 or above."),
    click.option("--whole", is_flag=True, help="Show whole numbers."),
    click.option("--confidence", type=number, help="Confidence level of the intervals. [default: 0.95]"),
    click.option("--plot", type=click.Path(path_type=Path), help="Draw a picture into this file: .png, .svg or .pdf."),
    click.option("--plan", "only_plan", is_flag=True, help="Show the price and the errors only. Free; reads no data."),
    click.option("--key", help="A name for this: trying again with it after a failure is charged once."),
    analyst_option,
    config_option,
    json_option,
)
_COST = ("epsilon", "rho", "bound", "contribution")


def counting_options(counting: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with what many counts need; it receives their cost and bounding as one mapping, `cost`."""

    @wraps(counting)
    def gathered(**said: Any) -> Any:
        cost = {name: said.pop(name) for name in _COST}
        cost["contribution"] = read_contribution(cost["contribution"])
        return counting(**said, cost=cost)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


@click.command()
@click.argument("table")
@click.argument("columns", nargs=-1, required=True)
@click.option("--ways", type=counting_number, help="Count by every set of this many columns. [default: 2]")
@click.option("--subset", "subsets", multiple=True, metavar="A,B", help="Count by these columns, instead of --ways.")
@click.option("--weight", "weights", multiple=True, metavar="A,B=3", help="How much the errors of one table matter.")
@click.option("--show", multiple=True, metavar="A,B", help="Show the counts by these columns; all tables if left out.")
@counting_options
def command(
    table: str,
    columns: tuple[str, ...],
    ways: int | None,
    subsets: tuple[str, ...],
    weights: tuple[str, ...],
    show: tuple[str, ...],
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
    """Count a table by every set of some columns, for one charge and with the least error. Again, it is free.

    TABLE is a table or a view, and COLUMNS are columns of it whose values are declared.

    \b
    Example:
      privet marginals visits ward sex age_group --ways 2 --epsilon 1
      privet marginals visits ward sex age_group --epsilon 1 --show ward,sex --show ward
      privet marginals visits ward sex --subset ward,sex --subset ward --weight ward=5 --plan
    """
    asked: dict[str, Any] = {"ways": ways, "weights": _read_weights(weights), **cost}
    if subsets:
        asked["subsets"] = [_names(one) for one in subsets]
    with opened(config, analyst, plans=only_plan) as place:
        if only_plan:
            plan = place.session.plan_marginals(table, list(columns), **asked)
            print_plan(plan, plan.counts.plan, place, as_json=as_json)
            return
        before = place.ledger.head()
        with asking(place):
            found = place.session.marginals(
                table, list(columns), **asked, nonnegative=nonnegative, whole=whole, key=key
            )
        level = 0.95 if confidence is None else confidence
        sets = [_names(one) for one in show] or [list(one) for one in found.asked]
        tables = [found.counts(*one, confidence=level) for one in sets]
        told = told_of(place, before)
    if plot is not None:
        found.plot(*sets[0][:2], path=plot)
    print_tables(found, tables, sets, told, as_json=as_json)


def _names(text: str) -> list[str]:
    """Return the columns that a text lists; nothing stands for none, which is all rows."""
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _read_weights(written: tuple[str, ...]) -> dict[tuple[str, ...], Any] | None:
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_decimal, written_whole

    found: dict[tuple[str, ...], Any] = {}
    for one in written:
        names, sign, amount = one.rpartition("=")
        whole = written_whole(amount)
        value = whole if whole is not None else written_decimal(amount)
        if not sign or not names or value is None:
            raise BadParameter("weight", one, "columns and a number, such as ward,sex=3")
        found[tuple(_names(names))] = value
    return found or None


def told_of(place: OpenedSession, before: str) -> dict[str, Any]:
    """Return whether something was charged since a state of the ledger, and what is left."""
    balance = place.ledger.balances()
    own = next((one for one in balance if one.account == place.session.account), balance[0])
    return {
        "charged": place.ledger.head() != before,
        "left": {name: own.to_dict()[name] for name in ("largest_epsilon", "largest_rho", "spent_share", "keys_delta")},
        "head": place.ledger.head(),
    }


def print_tables(
    found: ReleasedCounts, tables: list[CountTable], sets: list[list[str]], told: dict[str, Any], *, as_json: bool
) -> None:
    """Print tables of counts, what they cost and what is left."""
    if as_json:
        listed = [{"columns": names, "rows": list(one)} for names, one in zip(sets, tables, strict=True)]
        facts = {"digest": found.digest, "version": found.version, "cost": dict(found.price)}
        notes = list(tables[0].notes) if tables else []
        print_json({"tables": listed, "notes": notes, **facts, **told})
        return
    from privet.display import answer_columns

    for one in tables:
        keys, groups = answer_columns(one.series, one.confidence)
        print_columns(keys, groups, rows=len(one), most=None)
        print_text("")
    more = room(told["left"]["largest_epsilon"], told["left"]["largest_rho"])
    cost = cost_words(found.price)
    under = [("" if index else "notes", note) for index, note in enumerate(tables[0].notes if tables else ())]
    print_facts(
        [
            ("cost", cost if told["charged"] else f"nothing: it was answered before, for {cost}"),
            ("left", f"{more} for one more question; {percent(told['left']['spent_share'])} of the budget is spent"),
            *under,
        ]
    )


def print_plan(plan: Any, charged: Plan, place: OpenedSession, *, as_json: bool) -> None:
    """Print a plan of many counts, and whether it fits the budget."""
    account = place.session.account
    answered = place.ledger.find(charged.digest, account) is not None
    fits = answered or place.ledger.admits(charged.event, account=account)
    if as_json:
        print_json({**plan.to_dict(), "answered": answered, "fits": fits})
        return
    for line in repr(plan).splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", "answered before: asking again is free" if answered else _FITS[fits])])
