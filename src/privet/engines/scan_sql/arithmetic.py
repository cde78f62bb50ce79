"""Numbers as DuckDB SQL that never raises: what overflows, or is not defined, is NULL."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from privet.core.errors import Unsupported

from .rendered import Bind, Method, Several, as_kind, finite, fit, numbers, unified
from .text import INT64, double, whole


def _arithmetic(operator: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        kind, (x, y) = unified(name, several)
        if kind == "integer" and not safe:  # two 64-bit numbers cannot leave 128 bits by one of these operations
            return fit(f"(CAST({x} AS HUGEINT) {operator} CAST({y} AS HUGEINT))")
        return f"({x} {operator} {y})" if safe or kind is None else finite(bind, f"({x} {operator} {y})")

    return method


def _divide(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x, y = numbers(several)
    return f"({x} / {y})" if safe else finite(bind, f"({x} / {y})")


def _modulo(bind: Bind, name: str, several: Several, safe: bool) -> str:
    kind, (x, y) = unified(name, several)
    if kind == "number":
        return f"({x} % {y})" if safe else finite(bind, f"({x} % {y})")
    wide = f"CAST({x} AS HUGEINT)"  # the least 64-bit number divided by -1 does not fit into 64 bits
    return bind(y, lambda y: fit(f"CASE WHEN {y} <> 0 THEN {wide} % {y} END"))


def _negate(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    return fit(f"(0::HUGEINT - {x})") if several[0].kind == "integer" and not safe else f"(- {x})"


def _abs(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    return fit(f"abs(CAST({x} AS HUGEINT))") if several[0].kind == "integer" and not safe else f"abs({x})"


def _rounding(form: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        x = several[0].sql
        return x if several[0].kind == "integer" else fit(form.format(x))

    return method


def _round_to(bind: Bind, name: str, several: Several, safe: bool) -> str:
    digits = several[1].argument.constant
    power = double(10 ** abs(int(str(digits))))
    up, down = ("*", "/") if int(str(digits)) >= 0 else ("/", "*")
    x = as_kind(several[0], "number")
    return finite(bind, f"(floor({x} {up} {power} + 0.5e0) {down} {power})")


def _sign(bind: Bind, name: str, several: Several, safe: bool) -> str:
    return f"CAST(sign({several[0].sql}) AS BIGINT)"


def _sqrt(bind: Bind, name: str, several: Several, safe: bool) -> str:
    x = numbers(several)[0]
    return f"sqrt({x})" if safe else finite(bind, f"sqrt({x})")


def _real(form: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        return finite(bind, form.format(*numbers(several)))

    return method


def _extreme(which: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        _, values = unified(name, several)
        return f"{which}({', '.join(values)})"  # which leaves NULLs out, and is NULL only if all are

    return method


def _bin(bind: Bind, name: str, several: Several, safe: bool) -> str:
    width = several[1].argument.constant
    if several[0].kind == "number" or isinstance(width, Fraction):
        size = double(Fraction(str(width)))
        if float(Fraction(str(width))) == 0.0:
            raise Unsupported("the width of a bin is too small for a double")
        steps = f"floor({as_kind(several[0], 'number')} / {size})"
        if isinstance(width, Fraction):
            return finite(bind, f"({steps} * {size} + 0e0)")
        return fit(f"(CAST({fit(steps)} AS HUGEINT) * {whole(int(str(width)))})")
    size, x = whole(int(str(width))), as_kind(several[0], "integer")
    low, high = several[0].argument.typed.ends if safe else (None, None)
    # // cuts towards zero, so negative numbers are first moved up by a multiple of the width
    least = INT64[0] if low is None else int(low)
    move = max(0, -(least // int(str(width)))) * int(str(width))
    top = (INT64[1] if high is None else int(high)) + move
    if safe and top <= INT64[1] and least + move >= 0:
        moved = f"({x} + {whole(move)})" if move else x
        return f"({moved} // {size} * {size} - {whole(move)})" if move else f"({moved} // {size} * {size})"
    return fit(f"((CAST({x} AS HUGEINT) + {whole(move)}) // {size} * {size} - {whole(move)})")


def _bucket(bind: Bind, name: str, several: Several, safe: bool) -> str:
    low, high = (Fraction(str(rendered.argument.constant)) for rendered in several[1:3])
    bins = int(str(several[3].argument.constant))
    place = f"floor(({as_kind(several[0], 'number')} - {double(low)}) * {double(bins)} / {double(high - low)})"
    if float(high - low) == 0.0:
        raise Unsupported("the ends of a histogram are too close for doubles")
    top = double(bins - 1)

    def body(x: str) -> str:
        inside = f"WHEN {x} <= {top} THEN CAST({x} AS BIGINT)"
        return f"CASE WHEN {x} < 0e0 THEN 0 {inside} WHEN {x} > {top} THEN {bins - 1} END"

    return bind(place, lambda x: f"CAST({body(x)} AS BIGINT)")


METHODS: Mapping[str, Method] = {
    "add": _arithmetic("+"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _rounding("floor({})"),
    "ceil": _rounding("ceil({})"),
    "round": _rounding("floor({} + 0.5e0)"),
    "round_to": _round_to,
    "sign": _sign,
    "sqrt": _sqrt,
    "ln": _real("ln({})"),
    "exp": _real("exp({})"),
    "power": _real("pow({}, {})"),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "bin": _bin,
    "bucket": _bucket,
}
