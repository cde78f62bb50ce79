"""One count or bounded sum of a question, for mechanisms that compare such numbers and release none of them.

Its scan, what one integer of it is worth, and how far and in which direction one unit can move it: from declared facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Norm, Pairs, Scan, Sum
from privet.core.schema import Contribution, Schema
from privet.query.nodes import Query, Step
from privet.query.resolve import meanings

from .make import make_plan
from .measures import SumMeasure
from .plan import Spend
from .stability import Rule, sensitivity_of, shift_of

_ANY = Spend(Fraction(1), Fraction(0), None, Fraction(0))
"""A spend without a delta and without rho, so that contributions are bounded in L1."""


@dataclass(frozen=True)
class ScalarQuestion:
    """A scan with one sum and no groups."""

    scan: Scan

    def __post_init__(self) -> None:
        check_scalar_scan(self.scan)
        if len(self.scan.sums) != 1:
            raise InvariantError("a scalar question has one sum")

    @property
    def sum(self) -> Sum:
        """What is summed."""
        return self.scan.sums[0]


def check_scalar_scan(scan: Scan) -> None:
    """Raise unless a scan gives plain sums of all rows together, whose movement is bounded in L1."""
    plain = not (scan.keys or scan.discovery or scan.places or scan.near or scan.cells or scan.sizes) and scan.sums
    if not plain or any(total.origin or total.offset or total.power != 1 for total in scan.sums):
        raise InvariantError("numbers are compared where a scan gives plain sums of all rows together")
    if isinstance(scan.bounding, Norm) and scan.bounding.order != 1:
        raise InvariantError("numbers are compared where contributions are bounded in L1")


def worth_of(total: Sum, scan: Scan) -> Fraction:
    """Return what one integer of a sum is worth, in the units of the question."""
    return total.step / (1 << shift_of(scan.bounding))


@dataclass(frozen=True)
class Movement:
    """How far one unit can move a number, in the units of its question, and whether only up or only down.

    A number `rises` if it cannot fall when a unit comes, nor rise when one goes; it `falls` if that is reversed.
    """

    distance: Fraction
    rises: bool
    falls: bool


def movement_of(total: Sum, scan: Scan) -> Movement:
    """Return how far neighbours differ in a sum, and in which direction.

    Guarantee: `distance` is the L1 bound of `sensitivity_of`. Under add-remove neighbours of one unit, what the others
    give stays as it is, and the unit gives its own rows' numbers times weights of at least 0: where no row's number is
    negative, the sum can only rise when the unit comes. With change-one neighbours, windows of time or several units
    together, one may come as another goes, and of different values it depends on those that others hold: nothing is
    claimed of the direction.
    Cites: [DR14, Def. 3.1].
    """
    schema, (low, high) = scan.schema, total.ends
    one_way = schema.moves == "add-remove" and schema.unit.touches == 1 and not isinstance(scan.bounding, Pairs)
    distance = sensitivity_of(total, scan).l1 * worth_of(total, scan)
    return Movement(distance, one_way and low >= 0, one_way and high <= 0)


def scalar_question(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    what: str = "a question",
) -> ScalarQuestion:
    """Return the scan of a question that asks for one count or bounded sum, or refuse it by name.

    `what` is what such a question is called where it is refused. Reads no data.
    """
    if query.keys or query.levels:
        raise Unsupported(f"{what} here is one number of all rows; leave out GROUP BY, and choose rows with WHERE")
    if query.others or not all(map(_is_plain, query.steps)):
        raise Unsupported(f"{what} here is one number; leave out joins, conditions and limits on what it released")
    columns = list(meanings(query).values())
    if len(columns) != 1 or len(query.aggregates) != 1 or columns[0].column != query.aggregates[0].name:
        raise Unsupported(
            f"{what} here is one COUNT or SUM, and nothing computed from it; put constants into the sum, as in "
            f"SUM(CASE WHEN age > 65 THEN 1 ELSE 0 END)"
        )
    plan = make_plan(query, tables, spend=_ANY, bound=bound, contribution=contribution)
    (reading,) = plan.readings
    if reading.known:
        raise Unsupported(f"{what} here is about private rows, and this number of rows is declared and public")
    one = plan.passes[0]
    summed = len(plan.passes) == 1 and isinstance(one.measure, SumMeasure) and len(one.scan.sums) == 1
    if not summed or reading.aggregate.linear is None:
        if plan.choosing:
            raise Unsupported(
                f"{what} here needs a contribution limit that is declared; pass contribution= with numbers"
            )
        raise Unsupported(
            f"{what} here is a COUNT or a SUM, and {query.aggregates[0].function.upper()} is neither; means and "
            f"quantiles can move too far with one row"
        )
    return ScalarQuestion(one.scan)


def _is_plain(step: Step) -> bool:
    kept = all(one is None for one in (step.where, step.having, step.qualify, step.limit))
    return step.plain and kept and not step.offset
