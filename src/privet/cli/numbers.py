"""Numbers on the command line: read exactly (`1e-6` is one millionth, `1/3` a third), and costs shown rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from fractions import Fraction

import click

from privet.core.exact import read_rational, written_decimal, written_whole
from privet.core.rounding import float_up

_LARGEST = 10**300


def number(text: str) -> Fraction:
    """Return a decimal number, or a ratio of two, as the rational that it is."""
    above, _, below = str(text).partition("/")
    top, bottom = _decimal(above), _decimal(below or "1")
    found = None if top is None or not bottom else read_rational(top / bottom)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    if found and not Fraction(1, _LARGEST) <= abs(found) <= _LARGEST:
        raise click.BadParameter(f"{text!r} is beyond the range of numbers, 1e-300 to 1e300")
    return found


def whole_number(text: object) -> int:
    """Return a whole number, in the digits 0 to 9."""
    found = written_whole(str(text))
    if found is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return found


def counting_number(text: object) -> int:
    """Return a whole number of at least 1."""
    found = whole_number(text)
    if found < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1")
    return found


def told(amount: Fraction) -> str:
    """Return a number in a few digits."""
    return f"{float_up(amount):g}"


def width(text: str) -> Fraction | str | dict[str, Fraction | str]:
    """Return how far off an answer may be: a number, a percentage as text, or either for each column that is named."""
    if "=" not in str(text):
        return _one_width(str(text))
    found: dict[str, Fraction | str] = {}
    for part in str(text).split(","):
        name, _, amount = part.rpartition("=")
        if not name.strip() or name.strip() in found:
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%")
        try:
            found[name.strip()] = _one_width(amount.strip())
        except click.BadParameter:  # tells the whole of what was said, as it was said
            raise click.BadParameter(f"{text!r} is not a width for each column, such as n=5,cost=2%") from None
    return found


def _one_width(text: str) -> Fraction | str:
    return text if text.rstrip().endswith("%") else number(text)


def show_cost(cost: float, digits: int = 3) -> str:
    """Return a cost in a few significant digits, rounded up from the decimal that Python shows for it."""
    if not math.isfinite(cost):
        return "infinite"
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(cost))):.{digits}g}"


def _decimal(text: str) -> Fraction | None:
    # Not Fraction(text): of "1e999999999" it would make the integer.
    found = written_decimal(text)
    return None if found is None else read_rational(found)
