"""`privet epsilon` and `privet calibrate`: the joint cost of releases, and the least noise that fits a budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from .screen import json_option, number, print_json, print_theorems, told, whole_number

if TYPE_CHECKING:
    from privet.core.event import Event
    from privet.mechanisms import Mechanism


# `privet epsilon`: the joint cost of releases, by every theorem that applies.


sensitivity_option = click.option(
    "--sensitivity", type=number, default="1", show_default=True, help="How far one person moves an answer."
)
times_option = click.option("--times", type=whole_number, default=1, show_default=True, help="How many releases.")
delta_option = click.option("--delta", type=number, default="0", show_default=True, help="The failure probability.")
rate_option = click.option(
    "--rate", type=number, default="1", show_default=True, help="Each release sees a Poisson sample of this rate."
)


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of every kind of release."""
    for option in (json_option, rate_option, delta_option, times_option):
        command = option(command)
    return command


@click.group()
def epsilon_command() -> None:
    """Tell the epsilon of a number of releases from the same data, at a delta.

    \b
    Example:
      privet epsilon laplace --scale 2 --times 100 --delta 1e-6
      privet epsilon gaussian --sigma 1 --rate 0.01 --times 1000 --delta 1e-5
    """


@epsilon_command.command()
@click.option("--scale", type=number, required=True, help="The scale of the noise.")
@sensitivity_option
@click.option("--whole", is_flag=True, help="Integer noise on whole numbers: costs more than on reals when repeated.")
@shared_options
def laplace(scale: Fraction, sensitivity: Fraction, whole: bool, **shared: Any) -> None:
    """Compute the privacy loss of Laplace noise of a scale.

    \b
    Example:
      privet epsilon laplace --scale 2 --times 100 --delta 1e-6
    """
    from privet import Laplace

    made = Laplace(sensitivity=sensitivity, scale=scale, grid="whole" if whole else "fine")
    _tell(made.event, f"Laplace noise of scale {told(scale)}", **shared)


@epsilon_command.command()
@click.option("--sigma", type=number, required=True, help="The standard deviation of the noise.")
@sensitivity_option
@shared_options
def gaussian(sigma: Fraction, sensitivity: Fraction, **shared: Any) -> None:
    """Compute the privacy loss of Gaussian noise of a standard deviation.

    \b
    Example:
      privet epsilon gaussian --sigma 1 --rate 0.01 --times 1000 --delta 1e-5
    """
    from privet import Gaussian

    made = Gaussian(sensitivity=sensitivity, sigma=sigma)
    _tell(made.event, f"Gaussian noise of standard deviation {told(sigma)}", **shared)


@epsilon_command.command()
@click.option("--epsilon", type=number, required=True, help="What one choice costs.")
@shared_options
def exponential(epsilon: Fraction, **shared: Any) -> None:
    """Tell what choices by the exponential mechanism cost.

    \b
    Example:
      privet epsilon exponential --epsilon 0.1 --times 50 --delta 1e-6
    """
    from privet.mechanisms import ExponentialEvent

    _tell(ExponentialEvent(epsilon=epsilon), f"choices at epsilon {told(epsilon)}", **shared)


@epsilon_command.command()
@click.option("--p", type=number, required=True, help="The probability of a true report.")
@click.option("--categories", type=whole_number, default=2, show_default=True, help="How many answers there are.")
@shared_options
def response(p: Fraction, categories: int, **shared: Any) -> None:
    """Tell what reports by randomized response cost.

    \b
    Example:
      privet epsilon response --p 3/4
    """
    from privet.mechanisms import ResponseEvent

    _tell(ResponseEvent(p=p, categories=categories), f"reports that are true with probability {told(p)}", **shared)


def _tell(event: Event, what: str, *, times: int, delta: Fraction, rate: Fraction, as_json: bool) -> None:
    from privet import accounting

    if rate != 1:
        event, what = accounting.Sampled(event, rate), f"{what}, on Poisson samples of rate {told(rate)}"
    repeated = accounting.Repeated(event, times)
    figures = accounting.by_theorem(repeated, delta)
    least = min([accounting.epsilon(repeated, delta), *figures.values()])
    if as_json:
        print_json({"epsilon": least, "by": figures})
        return
    print_theorems(f"epsilon at delta {told(delta)} of {times:,} x {what}", "epsilon", figures, least)


# `privet calibrate`: the least noise with which a number of releases fits a budget, by every theorem that applies.


_LEAST = Fraction(1, 10**300)

epsilon_option = click.option("--epsilon", type=number, required=True, help="What all releases together may cost.")


@click.group()
def calibrate_command() -> None:
    """Tell the least noise with which a number of releases fits a budget.

    \b
    Example:
      privet calibrate gaussian --epsilon 1 --delta 1e-6 --times 50
    """


@calibrate_command.command("laplace")
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def calibrate_laplace(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
    """Tell the least scale of Laplace noise.

    \b
    Example:
      privet calibrate laplace --epsilon 1 --times 10
    """
    from privet import Laplace

    def make(scale: float) -> Laplace:
        return Laplace(sensitivity=sensitivity, scale=scale, grid="fine")

    _print_scales("scale", make, _start(sensitivity, times, epsilon), epsilon, delta, times, as_json)


@calibrate_command.command("gaussian")
@epsilon_option
@delta_option
@sensitivity_option
@times_option
@json_option
def calibrate_gaussian(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, times: int, as_json: bool) -> None:
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

    _print_scales("sigma", make, _start(sensitivity, times, epsilon), epsilon, delta, times, as_json)


def _start(sensitivity: Fraction, times: int, epsilon: Fraction) -> float:
    """Return noise with which this many releases certainly fit, where the search starts."""
    from privet.core.errors import RequestError
    from privet.core.numbers import positive, whole

    many = whole(times, "times", least=1, most=10**9)
    start = positive(sensitivity, "sensitivity") * many / positive(epsilon, "epsilon")
    if not _LEAST <= start <= 1 / _LEAST:
        raise RequestError("choose a sensitivity and an epsilon such that noise lies between 1e-300 and 1e300")
    return float(start)


def _print_scales(
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
