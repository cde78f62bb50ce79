"""How a private range is found: a noisy count in each of many public ranges, and how large one must be to be believed.

Everything here comes from public facts. The counts are sums like any other, with one key more: the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from privet.aggregates import Span
from privet.core.errors import InvariantError
from privet.core.expression import Call, Expression
from privet.core.scan import Scan
from privet.core.wire import canonical
from privet.query.normal import conjunction

from .choose import Choice
from .keys import count_cells
from .plan import Measure, Pass, Place
from .stability import sensitivity_of, shift_of

FALSE = Fraction(1, 10_000)
"""The probability, at most, that some range without rows is believed to have some, in each group."""


def wanted_spans(aggregates: Mapping[str, object]) -> list[Span]:
    """Return the ranges that a query asks for, each once and in an order of their own."""
    found = {canonical((one.expression, one.where)): one for one in aggregates.values() if isinstance(one, Span)}
    return [found[text] for text in sorted(found)]


def span_pass(span: Span, scan: Scan, choice: Choice) -> Pass:
    """Return the pass that counts rows by range, in every group. `scan` has the groups, bounds for them, and no sums.

    Guarantee: that of the noise, for how far one unit can move the counts of all ranges of all groups: a row without a
    value is in none, and any other in one.
    Cites: [WZLDSG20, approximate bounds].
    """
    keys = (*scan.keys, span.ranges)
    count_cells(keys, scan.cells)
    where = conjunction(scan.where, span.where, _known(span))
    scan = replace(scan, keys=keys, where=where, sums=span.sums())
    (total,) = scan.sums
    sensitivity = sensitivity_of(total, scan)
    measure = Measure(total, sensitivity, choice.mechanism(sensitivity), shift_of(scan.bounding))
    return Pass(scan, (measure,), None, buckets=True)


def threshold_in(one: Pass) -> float:
    """Return what a noisy count must exceed, in rows, so that ranges without rows hardly ever do.

    Guarantee: each of the R ranges of a group exceeds it by noise alone with probability FALSE / R at most, so that all
    of them stay below with probability 1 - FALSE at least, whatever the other counts are.
    """
    ranges = one.scan.keys[-1].values
    if ranges is None:
        raise InvariantError("the ranges of values are public")
    return one.measures[0].error(float(1 - 2 * FALSE / len(ranges)))


def place_in(span: Span, passes: tuple[Pass, ...], where: Expression | None) -> tuple[Span, tuple[Place, ...]]:
    """Return a range with its threshold, and where its counts are among those of a plan."""
    wanted = (span.ranges.expression, conjunction(where, span.where, _known(span)))
    for index, one in enumerate(passes):
        if one.buckets and (one.scan.keys[-1].expression, one.scan.where) == wanted:
            several = tuple((index, place) for place in range(len(span.ranges.values or ())))
            return replace(span, threshold=threshold_in(one)), several
    raise InvariantError("a range has no pass")


def _known(span: Span) -> Expression:
    return Call("not", (Call("is_null", (span.expression,)),))
