"""Pages for many counts at one charge, tests and regression: forms to ask for them, and results to move about in.

Whatever is read from a result here was released before, and costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

from anyio import to_thread
from starlette.responses import Response

from privet.core.errors import BadParameter, NotFound, PrivetError
from privet.core.estimate import Estimate
from privet.inference.finding import Finding
from privet.results.released_counts import CountTable, Marginals
from privet.results.released_ranges import Ranges
from privet.server.analyst_api import ANALYST
from privet.server.http_call import ApiRoute, HttpCall
from privet.study.regression_table import Regression

from .answer_values import find_job, number_cell, series_point
from .page_serving import fragment
from .page_serving import page as whole_page
from .svg_charts import ChartPoint, draw_chart

_BARS = 40


def explore_page(call: HttpCall) -> Response:
    """Return the forms for marginals, ranges, tests and regressions of one table."""
    session = call.dataset.desk(call.identity).admitting
    tables = dict(session.tables.items())
    asked = call.request.query_params.get("table", "")
    table = tables[asked] if asked in tables else next(iter(tables.values()))
    grouped = [one for one in table.columns if one.groups is not None]
    numbers = [one for one in table.columns if one.kind in ("integer", "number", "date") and one.values]
    return whole_page(
        call,
        "explore.html",
        title="Explore",
        name=call.dataset.name,
        tables=list(tables),
        table=table,
        grouped=grouped,
        few=[one for one in grouped if (one.groups or 0) <= 50],
        ordered=[one for one in numbers if one.groups is not None or one.kind == "number"],
        numbers=[one for one in numbers if one.kind != "date"],
    )


def result_page(call: HttpCall, name: str, asked: dict[str, Any], result: Any) -> Response:
    """Return the page of a result that is no plain answer."""
    told: dict[str, Any] = {"name": name, "asked": asked}
    match result:
        case Marginals():
            first = [result.names[0]]
            return whole_page(
                call,
                "marginals.html",
                title="Marginals",
                **told,
                result=result,
                **_counted(result.counts(*first), first),
            )
        case Ranges():
            return whole_page(
                call, "ranges.html", title="Ranges", **told, result=result, **_range_values(result, 0, result.cells - 1)
            )
        case Finding():
            rows = [(label, _estimate(one)) for label, one in result.estimates.items()]
            return whole_page(call, "finding.html", title=result.name, **told, result=result, estimates=rows)
        case Regression():
            fitted = [(one, _bounds(one.low, one.high)) for one in result.coefficients]
            return whole_page(call, "regression.html", title="Regression", **told, result=result, coefficients=fitted)
    return whole_page(call, "other_result.html", title="Answer", **told, text=repr(result))


def _counted(table: CountTable, columns: list[str]) -> dict[str, Any]:
    keys = [one for one in table.series if not one.noisy]
    counts = next(one for one in table.series if one.noisy)
    rows = range(len(table))
    points = [point for row in rows if (point := series_point(counts, keys, row)) is not None]
    return {
        "columns": table.series,
        "table": [[number_cell(one, row) for one in table.series] for row in rows],
        "picture": draw_chart(points, title=f"rows by {', '.join(columns) or 'nothing'}"),
        "notes": table.notes,
        "chosen": columns,
    }


async def marginal_part(call: HttpCall) -> Response:
    """Return the counts by some columns of what was measured together. Free."""
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
    found, every = result.count(result.starts[low], result.ends[high]), result.count()
    here = ChartPoint(f"{result.starts[low]} to {result.ends[high]}", found.value, found.low, found.high)
    whole = ChartPoint("all", every.value, every.low, every.high)
    table = result.histogram(_BARS)
    keys, counts = [one for one in table.series if not one.noisy][:1], table.series[-1]
    points = [point for row in range(len(table)) if (point := series_point(counts, keys, row)) is not None]
    return {
        "low": low,
        "high": high,
        "first": result.starts[low],
        "last": result.ends[high],
        "found": _estimate(found),
        "bar": draw_chart([here, whole], title=f"rows in a range of {result.column}"),
        "picture": draw_chart(points, title=f"rows by {result.column}"),
        "notes": table.notes,
    }


def _estimate(one: Estimate) -> dict[str, str]:
    return {"value": _number(one.value), "interval": _bounds(one.low, one.high), "covers": one.covers}


def _bounds(low: float, high: float) -> str:
    return "not known" if math.isnan(low) or math.isnan(high) else f"{_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "not known"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


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
        rows = [(one, _bounds(one.low, one.high)) for one in small.coefficients]
        return fragment("coefficients.html", coefficients=rows, region="Smaller model")

    return await to_thread.run_sync(fitted, limiter=call.state.threads)


EXPLORE_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/d/{dataset}/explore", ANALYST, explore_page, "Many counts, tests and regression."),
    ApiRoute("GET", "/a/{answer}/marginal", ANALYST, marginal_part, "Counts by some columns."),
    ApiRoute("GET", "/a/{answer}/range", ANALYST, range_part, "The count of a range."),
    ApiRoute("GET", "/a/{answer}/submodel", ANALYST, submodel_part, "A smaller model."),
)
