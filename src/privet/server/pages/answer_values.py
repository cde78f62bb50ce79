"""What pages show of released numbers: cells with intervals, points of plots; and how answers are found."""

from __future__ import annotations

from typing import Any

from anyio import to_thread

from privet.answer import Series
from privet.display import figures, labels
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


def table_rows(columns: tuple[Series, ...], confidence: float) -> list[list[dict[str, Any]]]:
    """Return the rows of a table: each cell's text, its interval if it has one, and what it is sorted by.

    Numbers are rounded as in a shell: an error to two digits, and upwards; a value as finely as its error.
    """
    shown = [column_cells(one, confidence) for one in columns]
    return [list(row) for row in zip(*shown, strict=True)]


def column_cells(series: Series, confidence: float) -> list[dict[str, Any]]:
    """Return the cells of one column."""
    keys = series.low is None or series.high is None
    texts, bars = (labels(series).cells, ()) if keys else (one.cells for one in figures(series, confidence))
    cells = []
    for row, value in enumerate(series.values):
        bar = bars[row] if bars else ""
        text = str(texts[row]).removeprefix(series.mark).strip() if bars else texts[row]
        cells.append({"text": text, "error": bar, "sort": "" if value is None else value})
    return cells


def series_point(series: Series, keys: list[Series], row: int) -> ChartPoint | None:
    """Return a number of a column as a point of a plot; None where there is none."""
    value = series.values[row]
    if not isinstance(value, (int, float)) or series.low is None or series.high is None:
        return None
    label = " · ".join("NULL" if one.values[row] is None else str(one.values[row]) for one in keys) or "all rows"
    low, high = series.low[row], series.high[row]
    place = place_of(keys[0].values[row]) if len(keys) == 1 else None
    return ChartPoint(label, float(value), float(low), float(high), place)
