"""HISTOGRAM(x, bins): equal bins over the public bounds of x, as one more key and a count.

Each row falls into one bin, so a histogram is a grouped count and costs no more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from privet.core.errors import Unbounded, Unsupported, WrongKind
from privet.core.expression import Call, Expression, Literal

from .functions import typed
from .nodes import Order
from .normal import call, text
from .relation import MARK, Private, Selection, aggregate, has_aggregate
from .resolve import checked
from .typed import clamp_ends

MOST_BINS = 10_000


def with_bins(asked: Selection, source: Private) -> Selection:
    """Return a selection in which HISTOGRAM has become columns bin_low, bin_high and count, in order of the bins.

    The last bin holds its high end. A column that can be NULL has one more bin, without ends.
    """
    place = next((i for i, (_, one) in enumerate(asked.outputs) if _is_histogram(one)), None)
    if place is None:
        return asked
    name, marked = asked.outputs[place]
    others = asked.outputs[:place] + asked.outputs[place + 1 :]
    if name is not None or not isinstance(marked, Call) or any(has_aggregate(one) for _, one in others):
        raise Unsupported(
            "HISTOGRAM makes three columns, bin_low, bin_high and count; it stands alone beside grouping columns, "
            "without AS"
        )
    if asked.levels:
        raise Unsupported("HISTOGRAM has one grouping; use BIN(x, 10) among GROUPING SETS, ROLLUP or CUBE")
    argument, where, bins = marked.arguments
    bucket, low, width = _bucket(checked(argument, source.schema.columns), bins, source)
    start = call("add", call("multiply", bucket, width), low)
    made = (
        ("bin_low", start),
        ("bin_high", call("add", start, width)),
        ("count", aggregate("count_rows", None, where)),
    )
    outputs = (*asked.outputs[:place], *made, *asked.outputs[place + 1 :])
    keys = (*asked.keys, bucket)
    return replace(asked, outputs=outputs, keys=keys, order=asked.order or tuple(Order(key) for key in keys))


def _is_histogram(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == f"{MARK}histogram"


def _bucket(argument: Expression, bins: Expression, source: Private) -> tuple[Expression, Literal, Literal]:
    number = bins.value if isinstance(bins, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_BINS:
        raise WrongKind("HISTOGRAM", f"a constant number of bins from 1 to {MOST_BINS}", ("something else",))
    facts = typed(argument, source.typical)
    if facts.kind not in {"integer", "number"}:
        raise WrongKind("HISTOGRAM", "numbers", (facts.kind or "NULL",), advice="group by the column instead")
    low, high = clamp_ends(argument, facts)
    if low is None or high is None:
        raise Unbounded(text(argument))
    if low == high:
        raise Unsupported(f"HISTOGRAM of {text(argument)} has one value only, {low}; count it")
    width = (high - low) / number
    exact = facts.kind == "integer" and width.denominator == 1
    ends = (Literal(int(low)), Literal(int(high))) if facts.kind == "integer" else (Literal(low), Literal(high))
    first, step = (Literal(int(low)), Literal(int(width))) if exact else (Literal(low), Literal(Fraction(width)))
    return call("bucket", argument, *ends, Literal(number)), first, step
