"""The common part of commands whose one charge pays for a result that is shown again for free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from privet.display import cost_words, percent, printable, room

from .asking import OpenedSession, asking, opened
from .screen import json_option, number, print_facts, print_json, print_text, screen
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from privet.planner.batch import Batch
    from privet.planner.comparison_plans import ChoicePlan, ThresholdPlan
    from privet.planner.plan import Plan
    from privet.query.frame import Frame
    from privet.session import Session

    Charged = Plan | Batch | ChoicePlan | ThresholdPlan

Option = Callable[[Any], Any]
Result = TypeVar("Result")

_FITS = {True: "fits what is left of the budget", False: "does not fit what is left of the budget"}

where_option = click.option("--where", help='Only rows that meet this condition, such as "age >= 18".')


def charge_options(*own: Option, costs: str, plan: str, plot: str = "") -> tuple[Option, ...]:
    """Return the options of such a command: its price, its own, its display, and the picture if it has one."""
    pictures = (click.option("--plot", type=click.Path(path_type=Path), help=plot),) if plot else ()
    return (
        click.option("--epsilon", type=number, help=f"What {costs}. [default: a tenth of the budget]"),
        click.option("--rho", type=number, help=f"What {costs}, as rho."),
        *own,
        click.option("--confidence", type=number, help="Confidence level of the intervals. [default: 0.95]"),
        *pictures,
        click.option("--plan", "only_plan", is_flag=True, help=plan),
        click.option("--key", help="A name for this: trying again with it after a failure is charged once."),
        analyst_option,
        config_option,
        json_option,
    )


def bound_option(text: str) -> Option:
    """Return the option of how each person's contribution is limited."""
    choices = click.Choice(["norm", "groups"])
    return click.option("--bound", type=choices, default="norm", show_default=True, help=text)


def with_options(command: Callable[..., Any], options: Sequence[Option]) -> Callable[..., Any]:
    """Return a command with options, in their order."""
    for option in reversed(options):
        command = option(command)
    return command


def run_charged(
    run: Callable[[Session], Result],
    plan: Callable[[Session], tuple[Any, Plan | Batch]],
    *,
    config: Path,
    analyst: str | None,
    only_plan: bool,
    as_json: bool,
) -> tuple[Result, dict[str, Any]] | None:
    """Return the result of running with a session and the budget left, or print its plan and return nothing.

    `plan` returns a plan, and the part of it that is charged.
    """
    with opened(config, analyst, plans=only_plan) as place:
        if only_plan:
            print_plan(*plan(place.session), place, as_json=as_json)
            return None
        before = place.ledger.head()
        with asking(place):
            result = run(place.session)
        return result, _told_of(place, before)


def check_place(path: Path, figure: Any) -> None:
    """Refuse a place where a picture cannot be saved, before anything is charged."""
    from privet.core.errors import BadParameter
    from privet.plots.canvas import kind_of

    kind_of(path, figure)
    if path.is_dir() or not path.parent.is_dir():
        raise BadParameter("plot", str(path), "a file in a folder that exists")


def rows_of(session: Session, table: str, where: str | None) -> Frame:
    """Return the rows of a table, or those that meet a condition in SQL."""
    from privet.query.frame import with_condition
    from privet.query.terms import col

    rows = session.table(table)
    name = "the condition of --where"
    return rows if where is None else with_condition(rows, name, where, "--where").where(col(name))


def _told_of(place: OpenedSession, before: str) -> dict[str, Any]:
    """Return whether anything was charged since a state of the ledger, and the remaining budget."""
    balance = place.ledger.balances()
    own = next((entry for entry in balance if entry.account == place.session.account), balance[0])
    return {
        "charged": place.ledger.head() != before,
        "left": {name: own.to_dict()[name] for name in ("largest_epsilon", "largest_rho", "spent_share", "keys_delta")},
        "head": place.ledger.head(),
    }


def left_in_words(told: dict[str, Any]) -> str:
    """Return the remaining budget in words."""
    left = told["left"]
    more = room(left["largest_epsilon"], left["largest_rho"])
    return f"{more} for one more question; {percent(left['spent_share'])} of the budget is spent"


def print_charged(results: Sequence[Any], cost: Any, told: dict[str, Any]) -> None:
    """Print results, their earlier price if nothing was charged, and the remaining budget."""
    for result in results:
        for line in repr(result).splitlines():
            print_text(printable(line))
    paid = [] if told["charged"] else [("charged", f"nothing now: it was answered before, for {cost_words(cost)}")]
    print_facts([*paid, ("left", left_in_words(told))])


def print_plan(plan: Any, charged: Charged, place: OpenedSession, *, as_json: bool, paid: str = "") -> None:
    """Print a plan, and whether its charge fits the budget, or how it was paid for, where that is known."""
    from privet.execution.counted_plan import CountedPlan

    account = place.session.account
    answered = bool(paid) or place.ledger.find(charged.digest, account) is not None
    fits = answered or place.ledger.admits(charged.event, account=account)
    if as_json:
        print_json(
            {**(plan.to_dict() if hasattr(plan, "to_dict") else plan.facts()), "answered": answered, "fits": fits}
        )
        return
    if isinstance(plan, CountedPlan):
        plan.draw(screen())
    else:
        for line in repr(plan).splitlines():
            print_text(printable(line))
    print_text("")
    print_facts([("now", (paid or "answered before: asking again is free") if answered else _FITS[fits])])
