"""What pages show of released numbers: cells with intervals, points of pictures; and how answers are found."""

from __future__ import annotations

import math
from typing import Any

from anyio import to_thread

from privet.answer import Series
from privet.display import shown_error
from privet.server.analyst_api import _found_again
from privet.server.http_call import HttpCall
from privet.server.job_queue import Job

from .svg_charts import ChartPoint, place_of


async def find_job(call: HttpCall) -> Job | None:
    """Return a question of the account's own with its outcome; None where it was never answered."""
    identifier = call.request.path_params["answer"]
    job = call.state.jobs.find(identifier, call.identity.name)
    if job is None:
        job = await to_thread.run_sync(_found_again, call, identifier, limiter=call.state.threads)
    return job


def number_cell(series: Series, row: int) -> dict[str, Any]:
    """Return a cell of a table: its value, and its interval if it has one."""
    value = series.values[row]
    cell: dict[str, Any] = {"value": value, "sort": "" if value is None else value, "error": "", "range": ""}
    if series.noisy and series.low is not None and series.high is not None and value is not None:
        low, high = series.low[row], series.high[row]
        if isinstance(value, (int, float)) and isinstance(low, (int, float)) and isinstance(high, (int, float)):
            half = max(high - value, value - low)
            cell["error"] = f"±{shown_error(half)}" if math.isfinite(half) else "no interval"
            cell["range"] = f"{low:,.6g} to {high:,.6g}"
        else:
            cell["range"] = f"{low} to {high}"
    return cell


def series_point(series: Series, keys: list[Series], row: int) -> ChartPoint | None:
    """Return a number of a column as a point of a picture; None where there is none."""
    value = series.values[row]
    if not isinstance(value, (int, float)) or series.low is None or series.high is None:
        return None
    label = " · ".join("none" if one.values[row] is None else str(one.values[row]) for one in keys) or "all rows"
    low, high = series.low[row], series.high[row]
    place = place_of(keys[0].values[row]) if len(keys) == 1 else None
    return ChartPoint(label, float(value), float(low), float(high), place)
