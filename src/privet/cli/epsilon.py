"""`privet epsilon`: what releases cost together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from .numbers import number, show_cost
from .output import json_option, print_json

if TYPE_CHECKING:
    from privet.mechanisms import Mechanism

times_option = click.option("--times", type=int, default=1, show_default=True, help="How many releases.")
sensitivity_option = click.option(
    "--sensitivity", type=number, default="1", show_default=True, help="How far one person moves an answer."
)
delta_option = click.option("--delta", type=number, default="0", show_default=True, help="The failure probability.")


@click.group()
def command() -> None:
    """Tell the epsilon of a number of releases from the same data, at a delta."""


@command.command()
@click.option("--scale", type=number, required=True, help="The scale of the noise.")
@sensitivity_option
@times_option
@delta_option
@json_option
def laplace(scale: Fraction, sensitivity: Fraction, times: int, delta: Fraction, as_json: bool) -> None:
    """Laplace noise of a given scale."""
    from privet import Laplace

    _tell(Laplace(sensitivity=sensitivity, scale=scale), times, delta, as_json)


@command.command()
@click.option("--sigma", type=number, required=True, help="The standard deviation of the noise.")
@sensitivity_option
@times_option
@delta_option
@json_option
def gaussian(sigma: Fraction, sensitivity: Fraction, times: int, delta: Fraction, as_json: bool) -> None:
    """Gaussian noise of a given standard deviation."""
    from privet import Gaussian

    _tell(Gaussian(sensitivity=sensitivity, sigma=sigma), times, delta, as_json)


def _tell(mechanism: Mechanism, times: int, delta: Fraction, as_json: bool) -> None:
    from privet import accounting

    event = accounting.Repeated(mechanism.event, times)
    epsilon, theorems = accounting.epsilon(event, delta), accounting.by_theorem(event, delta)
    if as_json:
        print_json(
            {
                "mechanism": repr(mechanism),
                "times": times,
                "delta": float(delta),
                "epsilon": epsilon,
                "by_theorem": theorems,
            }
        )
        return
    click.echo(repr(epsilon))
    click.echo(f"epsilon at delta {float(delta):g} of {times:,} x {mechanism!r}", err=True)
    for name, figure in sorted(theorems.items(), key=lambda item: item[1]):
        click.echo(f"  {name:<14}{show_cost(figure, 6):>12}", err=True)
