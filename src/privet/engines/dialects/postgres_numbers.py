"""Arithmetic that PostgreSQL would raise on, made total: every operation stands in a CASE on its own arguments.

PostgreSQL raises where a double overflows, and where a product or quotient that is not 0 becomes 0. Here the first is
NULL and the second 0, as IEEE arithmetic has it. Guards compare magnitudes after scaling by powers of two, which is
exact, so that they decide as the operation itself rounds.
"""

from __future__ import annotations

from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.engines.scan_sql.dialect import Bind, quoted
from privet.query.typed import INT64

INFINITY = "'Infinity'::float8"
LARGEST_DOUBLE = Fraction(2**53 - 1) * 2**971


def whole(value: int) -> str:
    """Return a whole number as SQL: bigint, or numeric where that is too small."""
    if INT64[0] <= value <= INT64[1]:
        return f"'{value}'::bigint"
    if -(2**127) < value < 2**127:
        return f"'{value}'::numeric"
    raise InvariantError("a constant does not fit into 128 bits")


def double(value: Fraction | int | float) -> str:
    """Return the double that is nearest to a number, as SQL."""
    try:
        found = float(value)
    except OverflowError:
        raise_alone(Unsupported("a constant is too large for a double"))
    if found in (float("inf"), float("-inf")):
        return f"'{'-' if found < 0 else ''}Infinity'::float8"
    return f"'{found!r}'::float8"


def text(value: str) -> str:
    """Return a text as SQL, compared byte by byte; per cent signs are doubled, see `PostgresDialect.listed`."""
    if "\0" in value:
        raise Unsupported("PostgreSQL has no texts with a NUL character; leave it out of the constant")
    return f"""({quoted(value).replace("%", "%%")}::text COLLATE "C")"""


def fits(x: str) -> str:
    """Return the test that a double or numeric, called by a name, lies within 64 bits: true of no NaN."""
    return f"{x} >= -9223372036854775808 AND {x} < 9223372036854775808"


def fit(bind: Bind, sql: str) -> str:
    """Return a whole number of 64 bits from a whole double or numeric, or NULL where it does not fit."""
    return bind(sql, lambda x: f"CASE WHEN {fits(x)} THEN CAST({x} AS bigint) END")


def _power(exponent: int) -> str:
    return double(Fraction(2) ** exponent)


_MOST = double(LARGEST_DOUBLE)
_ZERO, _HALF = double(0), double(0.5)


def _both(bind: Bind, x: str, y: str, body: str) -> str:
    """Return a text over two values, each named where it is no name or constant: {x}, {y}, {a} and {b} for sizes."""
    return bind(x, lambda u: bind(y, lambda v: body.format(x=u, y=v, a=f"abs({u})", b=f"abs({v})")))


def plus(bind: Bind, x: str, y: str) -> str:
    """Return the sum of two doubles; NULL where it is not finite."""
    small, tiny = _power(1022), _power(969)  # a sum with less than half a step of the largest double cannot overflow
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{a}} <= {small} AND {{b}} <= {small} THEN {{x}} + {{y}} "
        f"WHEN {{a}} > {_MOST} OR {{b}} > {_MOST} THEN NULL "
        f"WHEN ({{x}} < {_ZERO}) <> ({{y}} < {_ZERO}) OR {{a}} < {tiny} OR {{b}} < {tiny} THEN {{x}} + {{y}} "
        f"WHEN abs({{x}} * {_HALF} + {{y}} * {_HALF}) < {_power(1023)} THEN {{x}} + {{y}} END",
    )


def _middle(sizes: str) -> str:
    return f"{sizes} >= {_power(-500)} AND {sizes} <= {_power(500)}"


def times(bind: Bind, x: str, y: str) -> str:
    """Return the product of two doubles; NULL where it is not finite."""
    least, most = "least({a}, {b})", "greatest({a}, {b})"
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{x}} IS NULL OR {{y}} IS NULL OR {{a}} > {_MOST} OR {{b}} > {_MOST} THEN NULL "
        f"WHEN {{x}} = {_ZERO} OR {{y}} = {_ZERO} THEN {_ZERO} "
        f"WHEN {_middle('{a}')} AND {_middle('{b}')} THEN {{x}} * {{y}} "
        f"WHEN {least} > {_power(512)} THEN NULL "
        f"WHEN {most} > {_power(500)} AND {least} < {_power(-500)} THEN {{x}} * {{y}} "
        f"WHEN {most} > {_power(500)} THEN "
        f"CASE WHEN {least} * ({most} * {_power(-600)}) < {_power(424)} THEN {{x}} * {{y}} END "
        f"WHEN {most} < {_power(-600)} THEN {_ZERO} "
        f"WHEN ({least} * {_power(600)}) * {most} > {_power(-475)} THEN {{x}} * {{y}} ELSE {_ZERO} END",
    )


def over(bind: Bind, x: str, y: str) -> str:
    """Return the quotient of two doubles; NULL where it is not finite, or y is 0."""
    up, down = _power(600), _power(-600)
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{x}} IS NULL OR {{y}} IS NULL OR {{y}} = {_ZERO} OR {{a}} > {_MOST} THEN NULL "
        f"WHEN {{b}} > {_MOST} OR {{x}} = {_ZERO} THEN {_ZERO} "
        f"WHEN {_middle('{a}')} AND {_middle('{b}')} THEN {{x}} / {{y}} "
        f"WHEN {{b}} > {_power(500)} THEN CASE WHEN {{a}} > {double(1)} THEN {{x}} / {{y}} "
        f"WHEN {{a}} >= {_power(-500)} THEN "
        f"CASE WHEN {{a}} / ({{b}} * {down}) > {_power(-475)} THEN {{x}} / {{y}} ELSE {_ZERO} END "
        f"WHEN ({{a}} * {up}) / ({{b}} * {down}) > {_power(125)} THEN {{x}} / {{y}} ELSE {_ZERO} END "
        f"WHEN {{b}} < {_power(-500)} THEN CASE WHEN {{a}} < {_power(-500)} THEN {{x}} / {{y}} "
        f"WHEN {{a}} >= {_power(525)} THEN NULL "
        f"WHEN {{a}} / ({{b}} * {up}) < {_power(424)} THEN {{x}} / {{y}} END "
        f"WHEN {{a}} > {_power(500)} THEN CASE WHEN ({{a}} * {down}) / {{b}} < {_power(424)} THEN {{x}} / {{y}} END "
        f"WHEN ({{a}} * {up}) / {{b}} > {_power(-475)} THEN {{x}} / {{y}} ELSE {_ZERO} END",
    )
