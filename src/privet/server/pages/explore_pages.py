"""Pages for many counts at one charge, tests and regression: forms to ask for them, and results to explore.

Whatever is read from a result here was released before, and costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

from anyio import to_thread
from starlette.responses import Response

from privet.core.errors import BadParameter, NotFound, PrivetError
from privet.core.estimate import Estimate
from privet.core.schema import Schema
from privet.display import cost_words, shown_amount
from privet.execution.describe import ColumnDescription, TableDescription
from privet.execution.run_choice import ChosenOption
from privet.inference.finding import Finding
from privet.results.released_counts import CountTable, Marginals
from privet.results.released_ranges import Ranges
from privet.server.analyst_api import ANALYST, find_job
from privet.server.http_call import ApiRoute, HttpCall
from privet.study.regression_table import Regression

from .page_serving import fragment
from .page_serving import page as whole_page
from .question_builder import TESTS
from .svg_charts import ChartPoint, draw_chart, place_of, series_point, table_rows

_BARS = 40
_FEW_GROUPS = 50


def explore_page(call: HttpCall) -> Response:
    """Return the forms for marginals, ranges, tests and regressions of one table."""
    tables = dict(call.dataset.desk(call.identity).admitting.tables.items())
    if not tables:
        return whole_page(call, "tables.html", title="Explore", name=call.dataset.name, tables={})
    table = _chosen_table(call, tables)
    return whole_page(
        call,
        "explore.html",
        title="Explore",
        name=call.dataset.name,
        tables=list(tables),
        table=table,
        tests=TESTS,
        **_columns_of(table),
        **_test_values(call, table),
    )


def _chosen_table(call: HttpCall, tables: dict[str, TableDescription]) -> TableDescription:
    asked = call.request.query_params.get("table", "")
    return tables[asked] if asked in tables else next(iter(tables.values()))


def _columns_of(table: TableDescription) -> dict[str, Any]:
    """Return the columns by their possible uses."""
    grouped = [column for column in table.columns if column.groups is not None]
    numbers = [column for column in table.columns if column.kind in ("integer", "number", "date") and column.values]
    return {
        "grouped": grouped,
        "few": [column for column in grouped if (column.groups or 0) <= _FEW_GROUPS],
        "ordered": [column for column in numbers if column.groups is not None or column.kind == "number"],
        "numbers": [column for column in numbers if column.kind != "date"],
    }


def _test_values(call: HttpCall, table: TableDescription) -> dict[str, Any]:
    """Return the values for the form of a test: its kind, and the declared values of the columns that have few."""
    asked, few = call.request.query_params, _columns_of(table)["few"]
    schema = call.dataset.desk(call.identity).admitting._catalog.schemas.get(table.name)
    kind = asked.get("kind", "")
    budget = call.dataset.ledger.budget_of(call.identity.name)
    return {
        "kind": kind if kind in TESTS else "MeanTest",
        "measure": budget.measure,
        "chosen_column": asked.get("hypothesis.column", ""),
        "chosen_by": asked.get("hypothesis.by", ""),
        "groups_of": {column.name: _values(column, schema) for column in few},
        "first_few": few[0].name if few else "",
    }


def _values(column: ColumnDescription, schema: Schema | None) -> list[str]:
    """Return the declared values of a column of texts; none where a view has it, or where they are numbers."""
    facts = None if schema is None else schema.columns.get(column.name)
    return [value for value in (facts.values if facts is not None else None) or () if isinstance(value, str)]


def hypothesis_form(call: HttpCall) -> Response:
    """Return the form of one kind of test about one table. Free."""
    tables = dict(call.dataset.desk(call.identity).admitting.tables.items())
    table = _chosen_table(call, tables)
    return fragment(
        "test_form.html", name=call.dataset.name, table=table, **_columns_of(table), **_test_values(call, table)
    )


def result_page(call: HttpCall, name: str, asked: dict[str, Any], result: Any) -> Response:
    """Return the page of a result that is no plain answer."""
    base: dict[str, Any] = {"name": name, "asked": asked}
    match result:
        case Marginals():
            first = [result.names[0]]
            return whole_page(
                call,
                "marginals.html",
                title="Marginals",
                **base,
                result=result,
                **_counted(result.counts(*first), first),
            )
        case Ranges():
            return whole_page(
                call, "ranges.html", title="Ranges", **base, result=result, **_range_values(result, 0, result.cells - 1)
            )
        case Finding():
            rows = [(label, _estimate(estimate)) for label, estimate in result.estimates.items()]
            price = cost_words(result.cost)
            return whole_page(
                call, "finding.html", title=result.name, **base, result=result, estimates=rows, price=price
            )
        case Regression():
            fitted = [(coefficient, _bounds(coefficient.low, coefficient.high)) for coefficient in result.coefficients]
            return whole_page(
                call,
                "regression.html",
                title="Regression",
                **base,
                result=result,
                coefficients=fitted,
                facts=_fit_facts(result),
            )
        case ChosenOption():
            price = cost_words(result.cost)
            score = call.state.accounts.asked(asked["id"], call.identity.name).body.get("score", "")
            return whole_page(call, "choice.html", title="Choice", **base, result=result, price=price, score=score)
    return whole_page(call, "other_result.html", title="Answer", **base, text=repr(result))


def _fit_facts(fit: Regression) -> list[tuple[str, str]]:
    """Return the facts of a fit that a statistician expects beside the coefficients."""
    rows, explained = fit.rows, fit.r_squared
    bounded = all(math.isfinite(term.low) and math.isfinite(term.high) for term in fit.coefficients)
    share = f"{explained:.3g}" if bounded else "not known: the noise does not bound the coefficients"
    facts = [
        ("Rows, about", "" if rows is None or not math.isfinite(rows) else f"{rows:,.0f}"),
        ("R squared", share if math.isfinite(explained) else ""),
        ("Confidence level", f"{100 * fit.confidence:.4g}%"),
        ("Paid", cost_words(fit.price)),
    ]
    return [(label, value) for label, value in facts if value]


def _counted(table: CountTable, columns: list[str]) -> dict[str, Any]:
    keys = [series for series in table.series if not series.noisy]
    counts = next(series for series in table.series if series.noisy)
    rows = range(len(table))
    points = [point for row in rows if (point := series_point(counts, keys, row)) is not None]
    return {
        "columns": table.series,
        "table": table_rows(table.series, table.confidence),
        "picture": draw_chart(points, title=f"rows by {', '.join(columns) or 'nothing'}"),
        "notes": table.notes,
        "chosen": columns,
    }


async def marginal_part(call: HttpCall) -> Response:
    """Return the counts by some columns of a joint release. Free."""
    result = await _result(call, Marginals)
    columns = call.request.query_params.getlist("columns")

    def counted() -> Response:
        try:
            return fragment("marginal_part.html", **_counted(result.counts(*columns), columns))
        except PrivetError as error:
            return fragment("error_part.html", error=error)

    return await to_thread.run_sync(counted, limiter=call.state.threads)


async def range_part(call: HttpCall) -> Response:
    """Return the count of a range, by the places of its first and last cell. Free."""
    result = await _result(call, Ranges)
    most = result.cells - 1
    low, high = call.number("low", default=0, most=most), call.number("high", default=most, most=most)
    values = await to_thread.run_sync(_range_values, result, min(low, high), max(low, high), limiter=call.state.threads)
    return fragment("range_part.html", **values)


def _range_values(result: Ranges, low: int, high: int) -> dict[str, Any]:
    count, every = result.count(result.starts[low], result.ends[high]), result.count()
    here = ChartPoint(f"{result.starts[low]} to {result.ends[high]}", count.value, count.low, count.high)
    whole = ChartPoint("all", every.value, every.low, every.high)
    table = result.histogram(_BARS)
    keys, counts = [series for series in table.series if not series.noisy][:1], table.series[-1]
    points = [point for row in range(len(table)) if (point := series_point(counts, keys, row)) is not None]
    return {
        "low": low,
        "high": high,
        "first": result.starts[low],
        "last": result.ends[high],
        "found": _estimate(count),
        "bar": draw_chart([here, whole], title=f"rows in a range of {result.column}"),
        "picture": draw_chart(points, title=f"rows by {result.column}", marked=_marked(result, low, high)),
        "notes": table.notes,
    }


def _marked(result: Ranges, low: int, high: int) -> tuple[float, float] | None:
    """Return the ends of a range along the axis of its plot."""
    start, end = place_of(result.starts[low]), place_of(result.ends[high])
    return None if start is None or end is None else (start, end)


def _estimate(estimate: Estimate) -> dict[str, str]:
    decimals = _decimals(estimate.low, estimate.high)
    interval = _bounds(estimate.low, estimate.high)
    return {"value": _number(estimate.value, decimals), "interval": interval, "covers": estimate.covers}


def _bounds(low: float, high: float) -> str:
    decimals = _decimals(low, high)
    known = not (math.isnan(low) or math.isnan(high))
    return f"{_number(low, decimals)} to {_number(high, decimals)}" if known else "not known"


def _decimals(low: float, high: float) -> int | None:
    """Return how many decimals are worth showing: those of two digits of half the interval."""
    half = (high - low) / 2
    return min(max(0, 1 - math.floor(math.log10(half))), 12) if math.isfinite(half) and half > 0 else None


def _number(value: float, decimals: int | None) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "not known"
    return shown_amount(value) if decimals is None else f"{value:,.{decimals}f}"


async def _result(call: HttpCall, kind: type) -> Any:
    job = await find_job(call)
    if job is None or not job.over or not isinstance(job.result, kind):
        raise NotFound("there is no such answer yet")
    return job.result


async def submodel_part(call: HttpCall) -> Response:
    """Return the coefficients of a smaller model of a regression that was released. Free."""
    result = await _result(call, Regression)
    formula = call.request.query_params.get("formula", "")[:2000]

    def fitted() -> Response:
        try:
            if not formula.strip():
                raise BadParameter("formula", formula, "such as cost ~ age")
            small = result.submodel(formula)
        except PrivetError as error:
            return fragment("error_part.html", error=error)
        rows = [(coefficient, _bounds(coefficient.low, coefficient.high)) for coefficient in small.coefficients]
        return fragment("coefficients.html", coefficients=rows, region="Smaller model")

    return await to_thread.run_sync(fitted, limiter=call.state.threads)


EXPLORE_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/d/{dataset}/explore", ANALYST, explore_page, "Many counts, tests and regression."),
    ApiRoute("GET", "/d/{dataset}/explore/test", ANALYST, hypothesis_form, "The form of a test."),
    ApiRoute("GET", "/a/{answer}/marginal", ANALYST, marginal_part, "Counts by some columns."),
    ApiRoute("GET", "/a/{answer}/range", ANALYST, range_part, "The count of a range."),
    ApiRoute("GET", "/a/{answer}/submodel", ANALYST, submodel_part, "A smaller model."),
)
