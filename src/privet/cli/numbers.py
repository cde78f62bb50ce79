"""Numbers on the command line: read exactly (`1e-6` is one millionth, `1/3` a third), and costs shown rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction

import click

from privet.core.errors import BadParameter
from privet.core.exact import rational


def number(text: str) -> Fraction:
    """Return a decimal number, or a ratio of two, as the rational that it is."""
    above, _, below = str(text).partition("/")
    try:
        return _decimal(above) / _decimal(below or "1")
    except (BadParameter, InvalidOperation, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3") from None


def show_cost(cost: float, digits: int = 3) -> str:
    """Return a cost in a few significant digits, rounded up from the decimal that Python shows for it."""
    if not math.isfinite(cost):
        return "infinite"
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(cost))):.{digits}g}"


def _decimal(text: str) -> Fraction:
    # Not Fraction(text): of "1e999999999" it would make the integer.
    return rational(Decimal(text), "number")
