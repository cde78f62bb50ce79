"""`privet calibrate`: the least noise with which a number of releases fits a budget."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from .epsilon import delta_option, sensitivity_option, times_option
from .numbers import number
from .output import json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from privet.mechanisms import Mechanism

epsilon_option = click.option("--epsilon", type=number, required=True, help="What all releases together may cost.")


@click.group()
def command() -> None:
    """Tell the least noise with which a number of releases fits a budget."""


@command.command()
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def laplace(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
    """The scale of Laplace noise."""
    from privet import Laplace

    _tell("scale", lambda scale: Laplace(sensitivity=sensitivity, scale=scale), epsilon, delta, times, as_json)


@command.command()
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def gaussian(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
    """The standard deviation of Gaussian noise; needs a delta above 0."""
    from privet import Gaussian

    _tell("sigma", lambda sigma: Gaussian(sensitivity=sensitivity, sigma=sigma), epsilon, delta, times, as_json)


def _tell(
    name: str, make: Callable[[float], Mechanism], epsilon: Fraction, delta: Fraction, times: int, as_json: bool
) -> None:
    from privet import accounting
    from privet.core.budget import Approximate, Pure

    budget = Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)
    number = accounting.calibrate(make, budget, times=times)
    if as_json:
        print_json({name: number, "times": times, "budget": {"epsilon": float(epsilon), "delta": float(delta)}})
        return
    click.echo(f"{number!r}")
    click.echo(f"the least {name} with which {times:,} releases fit {budget.describe()}", err=True)
