"""`privet calibrate`: the least noise with which a number of releases fits a budget, by every theorem that applies."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from .epsilon import delta_option, sensitivity_option, times_option
from .numbers import number
from .output import json_option, print_json, print_theorems

if TYPE_CHECKING:
    from privet.mechanisms import Mechanism

_LEAST = Fraction(1, 10**300)

epsilon_option = click.option("--epsilon", type=number, required=True, help="What all releases together may cost.")


@click.group()
def command() -> None:
    """Tell the least noise with which a number of releases fits a budget.

    \b
    Example:
      privet calibrate gaussian --epsilon 1 --delta 1e-6 --times 50
    """


@command.command()
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def laplace(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
    """Tell the least scale of Laplace noise.

    \b
    Example:
      privet calibrate laplace --epsilon 1 --times 10
    """
    from privet import Laplace

    def make(scale: float) -> Laplace:
        return Laplace(sensitivity=sensitivity, scale=scale, grid="fine")

    _tell("scale", make, _start(sensitivity, times, epsilon), epsilon, delta, times, as_json)


@command.command()
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def gaussian(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
    """Tell the least standard deviation of Gaussian noise; needs a delta above 0.

    \b
    Example:
      privet calibrate gaussian --epsilon 1 --delta 1e-6 --times 50
    """
    from privet import Gaussian
    from privet.core.errors import BadParameter

    if delta == 0:
        raise BadParameter("--delta", "0", "above 0 and below 1: Gaussian noise never reaches delta 0")

    def make(sigma: float) -> Gaussian:
        return Gaussian(sensitivity=sensitivity, sigma=sigma)

    _tell("sigma", make, _start(sensitivity, times, epsilon), epsilon, delta, times, as_json)


def _start(sensitivity: Fraction, times: int, epsilon: Fraction) -> float:
    """Return the noise with which so many releases certainly fit, where the search starts."""
    from privet.core.errors import RequestError
    from privet.core.exact import positive, whole

    many = whole(times, "times", least=1, most=10**9)
    start = positive(sensitivity, "sensitivity") * many / positive(epsilon, "epsilon")
    if not _LEAST <= start <= 1 / _LEAST:
        raise RequestError("choose a sensitivity and an epsilon such that noise lies between 1e-300 and 1e300")
    return float(start)


def _tell(
    name: str,
    make: Callable[[float], Mechanism],
    start: float,
    epsilon: Fraction,
    delta: Fraction,
    times: int,
    as_json: bool,
) -> None:
    from privet import accounting
    from privet.core.budget import Approximate, Pure

    budget = Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)
    figures = accounting.calibrate_by_theorem(make, epsilon, delta, times=times, start=start)
    least = min([accounting.calibrate(make, budget, times=times, start=start), *figures.values()])
    if as_json:
        print_json({name: least, "by": figures})
        return
    print_theorems(f"least {name} with which {times:,} releases fit {budget.describe()}", name, figures, least)
