"""Running totals of a whole history at one charge: from names to a plan, and to a release of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from privet.core.errors import BadParameter
from privet.core.given import is_a, listed
from privet.display import Figures
from privet.planner.prefix_sums import check_asked, plan_prefixes, steps_of
from privet.query.frame import Frame
from privet.query.nodes import Query
from privet.query.terms import Term, count
from privet.query.terms import sum as sum_of
from privet.results.released_totals import RunningTotals

from .counted_plan import CountedPlan, error_figures
from .counting import held_of, run_counts
from .executor import Executor
from .request import AskOptions, Catalog, spend_of

_TOTAL = "total_of_a_cell"
_NEARER = (
    "Contributions above the declared limit are scaled down, so totals may be nearer to 0 than they are; intervals do "
    "not cover this."
)
_BY = "a column of dates or whole numbers with declared bounds"
_GROUPS = "a list of columns with declared values, such as ['ward']"


@dataclass(frozen=True, repr=False)
class RunningPlan(CountedPlan):
    """Everything about running totals before they are charged: the measurements, the price, and the errors.

    Example:
        >>> plan = session.plan_running("visits", by="day", epsilon=1)
        >>> plan.price["epsilon"]
        1.0
    """

    what: str

    @property
    def error(self) -> float:
        """The standard error of a total: the root of the mean variance over the steps."""
        from privet.strategy import identity, prefixes, product

        shape, axis = self.counts.measure.strategy.shape, self.counts.axes[0]
        factors = [prefixes(size) if place == axis else identity(size) for place, size in enumerate(shape)]
        workload = product(*factors) if len(factors) > 1 else factors[0]
        return workload.rmse(self.counts.measure.covariance) * self.unit

    @property
    def unit(self) -> float:
        """The worth of a step of the measured numbers."""
        return float(self.counts.plan.passes[0].scan.sums[0].step)

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can represent."""
        return {**self.counts.plan.to_dict(), "standard_error": self.error}

    def _figures(self) -> list[Figures]:
        return error_figures("running totals by", {", ".join(self.counts.names): self.error}, self.counts)


def plan_running(
    frame: Frame,
    by: str | Term,
    catalog: Catalog,
    options: AskOptions,
    *,
    of: str | Term | None = None,
    groups: Sequence[str | Term] = (),
) -> RunningPlan:
    """Return the plan of the running totals of a history: of its rows, or of a column, along another one."""
    query, what = _query(frame, by, of, groups)
    counts = plan_prefixes(
        query,
        catalog.schemas,
        spend=spend_of(catalog.budget, options),
        bound=options.bound,
        contribution=options.stated,
    )
    return RunningPlan(counts, what)


def run_running(executor: Executor, plan: RunningPlan, *, nonnegative: bool, key: str | None) -> RunningTotals:
    """Return the release of a plan of running totals: from the ledger, or charged, read and drawn."""
    kept = run_counts(executor, plan.counts, key)
    held = held_of(plan.counts, kept)
    steps = steps_of(plan.counts.keys[0], plan.counts.names[0])
    later = "Totals of a longer history are another release of the same people: charged again, and not to be averaged."
    upward = plan.counts.plan.passes[0].scan.sums[0].ends[0] >= 0
    notes = held["notes"] if upward else (*held["notes"][:1], *((_NEARER,) if held["may_be_low"] else ()))
    held |= {"notes": (*notes, later), "may_be_low": held["may_be_low"] and upward}
    nonnegative = nonnegative and upward
    return RunningTotals(**held, nonnegative=nonnegative, what=plan.what, unit=plan.unit, first=steps.first)


def _query(frame: Frame, by: str | Term, of: str | Term | None, groups: Sequence[str | Term]) -> tuple[Query, str]:
    """Return the question whose groups are the cells, the steps first, and the name of the total."""
    if not is_a(by, (str, Term)):
        raise BadParameter("by", type(by).__name__, _BY)
    if of is not None and not is_a(of, (str, Term)):
        raise BadParameter("of", type(of).__name__, "a column of numbers with declared bounds, or None to count rows")
    if isinstance(groups, str):
        raise BadParameter("groups", groups, _GROUPS)
    others = listed(groups, "groups", _GROUPS, most=1000)
    if not all(is_a(column, (str, Term)) for column in others):
        raise BadParameter("groups", groups, _GROUPS)
    added = count() if of is None else sum_of(of)
    query = frame.group_by(by, *others).agg(**{_TOTAL: added}).query()
    check_asked(query)
    keys = {key.expression for key in query.keys}
    if len(query.keys) != 1 + len(others) or len(keys) != len(query.keys):
        raise BadParameter("groups", groups, f"{_GROUPS}, each another than the steps and than each other")
    what = "n" if of is None else of if isinstance(of, str) else "total"
    return replace(query, each=False), what
