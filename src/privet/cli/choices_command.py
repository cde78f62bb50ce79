"""`privet choose` and `privet above`: one option of a public list, and questions compared with a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words, printable

from .asking import OpenedSession, asking, opened, read_parameters, read_sql
from .one_charge import print_plan
from .screen import counting_number, json_option, number, print_facts, print_json, print_text
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from privet.planner.comparison_plans import ThresholdPlan

_bound = click.option(
    "--bound",
    type=click.Choice(["norm", "groups"]),
    default="norm",
    show_default=True,
    help="How to limit each person's contribution: `norm` scales it down, `groups` drops excess rows.",
)
_epsilon = click.option("--epsilon", type=number, help="What it may cost. [default: a tenth of the budget]")
_rho = click.option("--rho", type=number, help="What it may cost, as rho.")
_plan = click.option(
    "--plan", "only_plan", is_flag=True, help="Only show what it would cost and how far off it may be. Charges nothing."
)


@click.command()
@click.argument("sql", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Read the SQL from a file.")
@click.option("--option", "options", multiple=True, required=True, metavar="VALUE", help="An option; two or more.")
@_epsilon
@_rho
@click.option(
    "--mechanism",
    type=click.Choice(["permute-and-flip", "exponential"]),
    help="How to choose. [default: the better one for the budget]",
)
@_bound
@_plan
@click.option("--key", help="A name for this: trying again with it after a failure is charged once.")
@analyst_option
@config_option
@json_option
def choose_command(
    sql: str | None,
    file: Path | None,
    options: tuple[str, ...],
    only_plan: bool,
    analyst: str | None,
    config: Path,
    as_json: bool,
    **how: Any,
) -> None:
    """Choose one of several public options by a private score, better ones with higher probability.

    SQL is the score: one COUNT or SUM in which :option stands for the option. It is charged to the ledger before a row
    is read; the same choice again is free. The scores are not released.

    \b
    Example:
      privet choose "SELECT COUNT(*) FROM visits WHERE age >= :option" --option 18 --option 65 --epsilon 0.5
    """
    text = read_sql(sql, file)
    values: Any = read_parameters(tuple(f"={option}" for option in options))
    with opened(config, analyst, plans=only_plan) as place:
        if only_plan:
            how.pop("key")
            plan = place.session.plan_choice(values, text, **how)
            print_plan(plan, plan, place, as_json=as_json)
            return
        before = place.ledger.head()
        with asking(place):
            chosen = place.session.choose(values, text, **how)
        charged = chosen.receipt.entry > int(before.partition(":")[0])
    if as_json:
        print_json({**chosen.to_dict(), "charged": charged})
        return
    print_facts([*chosen.facts(), ("cost", _paid(dict(chosen.cost), chosen.receipt.entry, charged=charged))])


@click.command()
@click.argument("threshold", type=number)
@click.argument("sql", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Read the SQL from a file.")
@click.option(
    "--limit", type=counting_number, required=True, help="How many questions may come out above before it is closed."
)
@_epsilon
@_rho
@click.option("--sensitivity", type=number, help="How far one person may move a question. [default: that of COUNT(*)]")
@click.option("--signed", is_flag=True, help="Take sums of negative numbers too, which takes more noise.")
@click.option("--values", is_flag=True, help="Measure what comes out above as well, for half of the cost.")
@click.option("--table", help="Which table is asked about, where several protect different units.")
@click.option("--name", default="", help="A name: vectors with the same arguments and another name are separate.")
@_bound
@_plan
@analyst_option
@config_option
@json_option
def above_command(
    threshold: Any,
    sql: str | None,
    file: Path | None,
    only_plan: bool,
    analyst: str | None,
    config: Path,
    as_json: bool,
    **how: Any,
) -> None:
    """Tell whether a count or sum is above a threshold, by a sparse vector that was paid for once.

    The first question opens the vector and is charged for all of them; with the same arguments, later questions go on
    where it was, until as many as --limit came out above. SQL is one COUNT or SUM.

    \b
    Example:
      privet above 500 "SELECT COUNT(*) FROM visits WHERE age > 65" --limit 3 --epsilon 0.5
    """
    from privet.execution.request import AskOptions
    from privet.execution.vector import check_first

    text = read_sql(sql, file)
    with opened(config, analyst, plans=only_plan) as place:
        session, options = place.session, AskOptions(bound=how["bound"])
        before = place.ledger.head()
        with asking(place):
            plan = session.plan_above(threshold, **how)
            check_first(session._executor, session._catalog, plan, options, text)
            if only_plan:
                print_plan(plan, plan, place, as_json=as_json, paid=_opened_in_words(plan, place))
                return
            vector = session.above(threshold, **how)
            answer = vector.ask(text)
        entry = vector.receipt.entry
        charged = entry > int(before.partition(":")[0])
    if as_json:
        facts = {"entry": entry, "charged": charged, "asked": vector.asked, "closed": vector.closed}
        print_json({**answer.to_dict(), **facts, "cost": vector.plan.cost})
        return
    print_text(printable(str(answer)), style="bold")
    print_text("")
    print_facts([*vector.facts(), ("cost", _paid(vector.plan.cost, entry, charged=charged))])


def _opened_in_words(plan: ThresholdPlan, place: OpenedSession) -> str:
    """Return which entry has paid for a vector, and whether it is closed; nothing where none has."""
    from privet.core.event import Receipt
    from privet.core.ports import KeepsSecrets

    account, ledger = place.session.account, place.session.ledger
    entries = [entry.number for entry in ledger.history() if (entry.digest, entry.account) == (plan.digest, account)]
    if not entries or not isinstance(ledger, KeepsSecrets):
        return ""
    seen = ledger.progress(Receipt(entries[-1], plan.digest, account))
    if seen is not None and seen.over:
        return f"opened in entry {entries[-1]} of the ledger, and closed; another one needs another --name"
    return f"opened in entry {entries[-1]} of the ledger: its questions cost nothing more"


def _paid(cost: dict[str, float], entry: int, *, charged: bool) -> str:
    paid = f"{cost_words(cost)}, entry {entry} of the ledger"
    return paid if charged else f"nothing more: paid for in entry {entry} of the ledger"
