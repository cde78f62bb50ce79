"""`privet ranges`: counts of one column for one charge, from which any range, quantile or histogram is free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .marginals import counting_options, print_tables, read_end
from .one_charge import check_place, run_charged
from .screen import counting_number, number

if TYPE_CHECKING:
    from privet.planner.plan import Plan
    from privet.results.released_ranges import Ranges
    from privet.session import Session


@click.command()
@click.argument("table")
@click.argument("column")
@click.option("--bins", type=counting_number, help="Count in this many bins. [default: every whole number; 256 others]")
@click.option("--range", "spans", multiple=True, metavar="LOW,HIGH", help="Show the count of a range: 18,64 or 65,")
@click.option("--quantile", multiple=True, type=number, help="Show a quantile: 0.5 for the median.")
@click.option("--histogram", type=counting_number, help="Show the counts of this many bins. [default: 10]")
@counting_options
def command(
    table: str,
    column: str,
    bins: int | None,
    spans: tuple[str, ...],
    quantile: tuple[Any, ...],
    histogram: int | None,
    cost: dict[str, Any],
    nonnegative: bool,
    whole: bool,
    confidence: Any,
    plot: Path | None,
    only_plan: bool,
    key: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Count one column for one charge, so that any range, quantile or histogram of it is free from then on.

    TABLE is a table or a view, and COLUMN a column of numbers or dates with declared bounds.

    \b
    Example:
      privet ranges visits age --epsilon 1 --histogram 11
      privet ranges visits age --epsilon 1 --range 18,64 --range 65, --quantile 0.5
      privet ranges visits cost --bins 100 --epsilon 1 --plot cost.png
    """

    level = 0.95 if confidence is None else confidence

    def shown(ranges: Ranges) -> list[Any]:
        tables = []
        if spans:
            tables.append(_spans(ranges, spans, level))
        if quantile:
            tables.append(_quantiles(ranges, quantile, level))
        if histogram is not None or not tables:
            tables.append(ranges.histogram(10 if histogram is None else histogram, confidence=level))
        return tables

    def run(session: Session) -> Ranges:
        from privet.execution.counting import rehearsed_ranges

        rehearsed = rehearsed_ranges(session.plan_ranges(table, column, bins=bins, **cost))
        shown(rehearsed)
        if plot is not None:
            check_place(plot, rehearsed.plot())
        return session.ranges(table, column, bins=bins, **cost, nonnegative=nonnegative, whole=whole, key=key)

    def planned(session: Session) -> tuple[Any, Plan]:
        plan = session.plan_ranges(table, column, bins=bins, **cost)
        return plan, plan.counts.plan

    done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
    if done is None:
        return
    result, charge = done
    tables = shown(result)
    if plot is not None:
        result.plot(plot)
    names = [[series.name for series in table.series if not series.noisy] for table in tables]
    print_tables(result, tables, names, charge, as_json=as_json)


def _spans(ranges: Ranges, spans: tuple[str, ...], level: Any) -> Any:
    """Return a table of ranges and their counts."""
    from privet.answer import Series
    from privet.core.errors import BadParameter
    from privet.results.released_counts import CountTable

    ends, counts = [], []
    for span in spans:
        low, sign, high = span.partition(",")
        if not sign:
            raise BadParameter("range", span, "two ends with a comma between, either of which may be left out: 18,64")
        pair = _end(low, span), _end(high, span)
        ends.append(f"{low.strip() or 'least'} to {high.strip() or 'largest'}")
        counts.append(ranges.count(*pair, confidence=level))
    series = Series(
        "n",
        tuple(count.value for count in counts),
        tuple(count.low for count in counts),
        tuple(count.high for count in counts),
        tuple(count.standard_error for count in counts),
        may_be_low=ranges.may_be_low,
    )
    plain = ranges.histogram(1, confidence=level)
    return CountTable((Series("range", tuple(ends)), series), plain.confidence, plain.notes)


def _quantiles(ranges: Ranges, shares: tuple[Any, ...], level: Any) -> Any:
    """Return a table of quantiles, each with the ends of its interval."""
    from privet.answer import Series
    from privet.results.released_counts import CountTable

    estimates = [ranges.quantile(share, confidence=level) for share in shares]
    plain = ranges.histogram(1, confidence=level)
    values = tuple(estimate.value for estimate in estimates)
    lows, highs = tuple(estimate.low for estimate in estimates), tuple(estimate.high for estimate in estimates)
    quantiles = Series("quantile", tuple(f"{estimate.q:g}" for estimate in estimates))
    columns = (Series("value", values), Series("from", lows), Series("to", highs))
    return CountTable((quantiles, *columns), plain.confidence, plain.notes)


def _end(text: str, span: str) -> Any:
    """Return an end of a range: a number, a date, or None where nothing is written."""
    from privet.core.errors import BadParameter

    written = text.strip()
    if not written:
        return None
    value = read_end(written)
    if value is None:
        raise BadParameter("range", span, "numbers, or dates such as 2025-01-31, with a comma between")
    return value
