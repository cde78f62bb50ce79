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


def width(text: str) -> Fraction | str | dict[str, Fraction | str]:
    """Return how far off an answer may be: a number, a percentage as text, or either for each column that is named."""
    if "=" not in str(text):
        return _one_width(str(text))
    found: dict[str, Fraction | str] = {}
    for part in str(text).split(","):
        name, _, amount = part.rpartition("=")
        if not name.strip() or name.strip() in found:
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%")
        found[name.strip()] = _one_width(amount.strip())
    return found


def _one_width(text: str) -> Fraction | str:
    return text if text.rstrip().endswith("%") else number(text)


def show_cost(cost: float, digits: int = 3) -> str:
    """Return a cost in a few significant digits, rounded up from the decimal that Python shows for it."""
    if not math.isfinite(cost):
        return "infinite"
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(cost))):.{digits}g}"


def _decimal(text: str) -> Fraction:
    # Not Fraction(text): of "1e999999999" it would make the integer.
    return rational(Decimal(text), "number")
