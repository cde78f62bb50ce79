"""`privet regress`: a linear regression for one charge; the same again, and every smaller model, is free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words, percent, printable, room

from .asking import asking, opened, read_contribution
from .marginals import print_plan, told_of
from .screen import json_option, number, print_facts, print_json, print_text
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from fractions import Fraction

_NORM = click.Choice(["L1", "L2"])


@click.command("regress")
@click.argument("table")
@click.argument("formula")
@click.option("--epsilon", type=number, help="What the regression costs. [default: a tenth of the budget]")
@click.option("--rho", type=number, help="What the regression costs, as rho.")
@click.option("--norm", type=number, help="A limit on the norm of a row's features; rows above it are scaled down.")
@click.option("--norm-kind", type=_NORM, help="The kind of norm. [default: L1 for Laplace noise, L2 for Gaussian]")
@click.option("--ridge", metavar="NUMBER|auto|adassp", help="Shrink estimates; intervals stay as they are.")
@click.option(
    "--submodel", "submodels", multiple=True, metavar="FORMULA", help="Show this smaller model too, for free."
)
@click.option("--where", help='Use the rows that meet this condition only, such as "age >= 18".')
@click.option("--contribution", metavar="GROUPS,ROWS", help="What nearly every person stays within.")
@click.option("--confidence", type=number, help="Confidence level of the intervals. [default: 0.95]")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the coefficients into this file: .png, .svg, .pdf.")
@click.option("--plan", "only_plan", is_flag=True, help="Show the noise and the price only. Free; reads no data.")
@click.option("--key", help="A name for this: trying again with it after a failure is charged once.")
@analyst_option
@config_option
@json_option
def command(
    table: str,
    formula: str,
    epsilon: Any,
    rho: Any,
    norm: Any,
    norm_kind: str | None,
    ridge: str | None,
    submodels: tuple[str, ...],
    where: str | None,
    contribution: str | None,
    confidence: Any,
    plot: Path | None,
    only_plan: bool,
    key: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Fit a linear regression, with intervals and p-values that hold under the noise.

    \b
    Example:
      privet regress visits "cost ~ age + ward" --epsilon 0.5
    """
    cost: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "contribution": read_contribution(contribution)}
    cost["norm"] = _read_norm(norm, norm_kind)
    shrink = _read_ridge(ridge)
    with opened(config, analyst, plans=only_plan) as place:
        session: Any = place.session
        rows = session.table(table) if where is None else session.table(table).where(where)
        if only_plan:
            plan = session.plan_regress(rows, formula, **cost)
            print_plan(plan, plan.moments.plan, place, as_json=as_json)
            return
        before = place.ledger.head()
        with asking(place):
            found = session.regress(rows, formula, **cost, ridge=shrink, confidence=confidence, key=key)
        told = told_of(place, before)
    others = [found.submodel(one) for one in submodels]
    if plot is not None:
        found.plot(plot)
    if as_json:
        print_json({**found.to_dict(), "submodels": [one.to_dict() for one in others], **told})
        return
    for one in (found, *others):
        for line in repr(one).splitlines():
            print_text(printable(line))
    more = room(told["left"]["largest_epsilon"], told["left"]["largest_rho"])
    paid = "" if told["charged"] else "nothing now: it was answered before, for " + cost_words(found.price)
    left = f"{more} for one more question; {percent(told['left']['spent_share'])} of the budget is spent"
    print_facts([*([("charged", paid)] if paid else []), ("left", left)])


def _read_norm(norm: Any, kind: str | None) -> Any:
    from privet.core.errors import RequestError

    if norm is None:
        if kind is not None:
            raise RequestError("--norm-kind goes with --norm; say how large the norm may be, such as --norm 2")
        return None
    return norm if kind is None else (kind, norm)


def _read_ridge(text: str | None) -> float | str:
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_ratio

    if text is None or text in ("auto", "adassp"):
        return 0.0 if text is None else text
    found: Fraction | None = written_ratio(text)
    if found is None:
        raise BadParameter("ridge", text, 'a number of at least 0, "auto" or "adassp"')
    return float(found)
