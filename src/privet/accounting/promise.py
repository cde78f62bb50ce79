"""What a budget promises, in sentences that somebody who is in the data can read. They claim no more than is proven."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.rounding import inflate
from privet.core.sensitivity import Neighbors

from .convert import rho_epsilon
from .tradeoff import posterior

EXAMPLE_DELTA = Fraction(1, 10**6)
"""The delta at which a rho is told as an epsilon."""

_HARDLY = 0.999


def promise(budget: Budget, *, neighbors: Neighbors = "add-remove", who: str = "one person") -> tuple[str, ...]:
    """Return what all answers under a budget can tell about one of those it protects, as sentences.

    Guarantee: for whoever knows all other rows, the odds that a unit is present (add-remove), or that it is one of two
    things (change-one), move by at most e**epsilon, by Bayes' rule; what is seen under (epsilon, delta) can be made
    from what is, with probability 1 - delta, epsilon-DP, and otherwise anything. Under add-remove two versions of a
    unit are two steps apart: 2 epsilon and (1 + e**epsilon) delta. A rho is an (epsilon, delta) for each delta.
    Cites: [KS14], [KOV15, tests], [Vad17, Lemma 2.2], [BS16, Prop. 1.3].
    """
    said = []
    match budget:
        case Pure(epsilon=epsilon):
            delta = Fraction(0)
        case Approximate(epsilon=epsilon, delta=delta):
            pass
        case Zcdp(rho=rho):
            epsilon, delta = Fraction(rho_epsilon(rho, EXAMPLE_DELTA)), EXAMPLE_DELTA
            said.append(
                f"A rho of {_up(float(rho))} is an epsilon for each delta: {_up(float(epsilon))} at a delta of "
                f"{_up(float(delta))}, which the following is about."
            )
    present = neighbors == "add-remove"
    two = f"between any two things that the data of {who} might say"
    said.append(
        f"Seeing all answers, even somebody who knows everything about everyone else can change their odds "
        f"{f'that {who} is in the data' if present else two} by at most a factor of {_factor(epsilon)}"
        f"{_unless(delta)}: "
        f"an even bet becomes at most {_percent(posterior(Fraction(1, 2), epsilon))} sure."
    )
    if present:
        twice = min(1.0, inflate(float(delta) * (1 + _exp(epsilon)))) if delta else 0
        said.append(f"The odds {two} change by at most a factor of {_factor(2 * epsilon)}{_unless(twice)}.")
    if posterior(Fraction(1, 2), epsilon) >= _HARDLY:
        said.append("That is hardly a limit.")
    said.append(
        "What the answers tell about people in general is not limited: it is learnt with or without any one person."
    )
    return tuple(said)


def _unless(chance: Fraction | float) -> str:
    return f", except with a probability of at most {_up(float(chance))}" if chance else ""


def _factor(epsilon: Fraction) -> str:
    grown = _exp(epsilon)
    return "more than 10 to the 300" if math.isinf(grown) else _up(grown)


def _exp(epsilon: Fraction) -> float:
    return math.inf if epsilon > 690 else inflate(math.exp(float(epsilon)))


def _up(value: float) -> str:
    """Return a number in three digits, rounded up."""
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):,.3g}" if float(rounded) < 1000 else f"{float(rounded):,.0f}"


def _percent(share: float) -> str:
    return f"{min(100.0, math.ceil(share * 1000) / 10):g}%"
