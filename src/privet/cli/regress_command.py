"""`privet regress`: a linear regression for one charge; the same again, and every smaller model, is free."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .asking import read_contribution
from .one_charge import charge_options, print_charged, rows_of, run_charged, where_option, with_options
from .screen import number, print_json

if TYPE_CHECKING:
    from fractions import Fraction

    from privet.planner.plan import Plan
    from privet.session import Session
    from privet.study.regression_table import Regression

_OPTIONS = charge_options(
    click.option("--norm", type=number, help="A limit on the norm of a row's features; rows above it are scaled down."),
    click.option(
        "--norm-kind",
        type=click.Choice(["L1", "L2"]),
        help="The kind of norm. [default: L1 for Laplace noise, L2 for Gaussian]",
    ),
    click.option("--ridge", metavar="NUMBER|auto|adassp", help="Shrink estimates; intervals stay as they are."),
    click.option(
        "--submodel", "submodels", multiple=True, metavar="FORMULA", help="Show this smaller model too, for free."
    ),
    where_option,
    click.option("--contribution", metavar="GROUPS,ROWS", help="What nearly every person stays within."),
    costs="the regression costs",
    plot="Draw the coefficients into this file: .png, .svg, .pdf.",
    plan="Show the noise and the price only. Free; reads no data.",
)


@click.command("regress")
@click.argument("table")
@click.argument("formula")
@partial(with_options, options=_OPTIONS)
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
    shrink: Any = _read_ridge(ridge)

    def run(session: Session) -> Regression:
        rows = rows_of(session, table, where)
        return session.regress(rows, formula, **cost, ridge=shrink, confidence=confidence, key=key)

    def planned(session: Session) -> tuple[Any, Plan]:
        plan = session.plan_regress(rows_of(session, table, where), formula, **cost)
        return plan, plan.moments.plan

    done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
    if done is None:
        return
    result, charge = done
    others = [result.submodel(submodel) for submodel in submodels]
    if plot is not None:
        result.plot(plot)
    if as_json:
        print_json({**result.to_dict(), "submodels": [model.to_dict() for model in others], **charge})
        return
    print_charged((result, *others), result.price, charge)


def _read_norm(norm: Any, kind: str | None) -> Any:
    from privet.core.errors import RequestError

    if norm is None:
        if kind is not None:
            raise RequestError("--norm-kind goes with --norm; set the largest norm, such as --norm 2")
        return None
    return norm if kind is None else (kind, norm)


def _read_ridge(text: str | None) -> float | str:
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_ratio

    if text is None or text in ("auto", "adassp"):
        return 0.0 if text is None else text
    ridge: Fraction | None = written_ratio(text)
    if ridge is None:
        raise BadParameter("ridge", text, 'a number of at least 0, "auto" or "adassp"')
    return float(ridge)
