"""Spending over time, by account and by block: plots of single prices, and shares of the budget as the ledger has them.

Prices of single charges add up to more than is spent, as budgets are counted more tightly; the shares are exact.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from privet.core.event import Entry
from privet.core.ports import CountsBlocks
from privet.core.schema import Schema, followed
from privet.execution.request import with_calendars
from privet.planner.touching import block_promise
from privet.query.block_reads import block_count, block_values, division_of
from privet.server.data_set import DataSet

from .svg_charts import MOST_LINES, ChartPoint, draw_chart, draw_lines, place_of

_OTHERS = "all others"


def charge_facts(entry: Entry) -> dict[str, Any]:
    """Return what pages show of a charge."""
    return {
        "number": entry.number,
        "time": entry.time,
        "account": entry.account,
        "facts": entry.facts,
        "text": entry.text,
        "shared": entry.shared,
    }


def single_price(facts: Mapping[str, Any]) -> float:
    """Return the cost of a charge alone, in the first measure of its plan."""
    cost = facts.get("cost") or {}
    return float(cost.get("epsilon") or cost.get("rho") or 0)


def spending_by_account(history: Sequence[Entry]) -> str:
    """Return a plot of the charges of each account up to each day; bars where all of them were on one day."""
    return _drawn(((entry.account, entry.time[:10], single_price(entry.facts)) for entry in history), "by account")


def spending_by_block(dataset: DataSet, *, most: int) -> list[dict[str, Any]]:
    """Return for each divided table what its blocks have spent, a plot over time, and what blocks promise."""
    declared = {name: table.schema for name, table in dataset.config.tables.items()}
    divided = {
        name: schema
        for name, schema in with_calendars(followed(declared)).items()
        if schema.blocks is not None and division_of(name, schema)
    }
    ledger = dataset.ledger
    if not divided or not isinstance(ledger, CountsBlocks):
        return []
    charges = [entry for entry in dataset.ledger.entries(last=most) if entry.kind == "charge"]
    whole = next(balance.spent for balance in dataset.ledger.balances() if balance.account is None)
    return [_of_table(name, schema, ledger, whole, charges) for name, schema in divided.items()]


def _of_table(name: str, schema: Schema, ledger: CountsBlocks, whole: float, charges: Sequence[Any]) -> dict[str, Any]:
    values, division = block_values(schema), division_of(name, schema)
    runs = ledger.block_balances(division) if division else ()
    rows = [{"name": _run_name(schema, values, run.first, run.end), "spent": run.spent} for run in runs]
    paid: list[tuple[str, str, float]] = []
    for charge in charges:
        touched, price = charge.record.blocks, single_price(charge.record.facts)
        if touched is None:
            ranges: Sequence[tuple[int, int]] = ((0, block_count(schema)),)
        elif touched.division == division:
            ranges = touched.ranges
        else:
            continue
        paid += [(label, str(charge.time)[:10], price) for label in _labels(schema, values, ranges)]
    return {
        "table": name,
        "rows": rows or [{"name": "all blocks", "spent": whole}],
        "picture": _drawn(paid, f"by block of {name}"),
        "means": block_promise(name, schema),
    }


def _labels(schema: Schema, values: Sequence[Any], ranges: Iterable[tuple[int, int]]) -> list[str]:
    """Return the names of some blocks; where a table has many, of the latest ones."""
    count = block_count(schema)
    shown = range(max(0, count - MOST_LINES), count)
    return [_run_name(schema, values, part, part + 1) for first, end in ranges for part in shown if first <= part < end]


def _run_name(schema: Schema, values: Sequence[Any], first: int, end: int) -> str:
    if schema.blocks is None:
        return ""
    start, last = schema.blocks.name(first, tuple(values)), schema.blocks.name(end - 1, tuple(values))
    return start if start == last else f"{start} to {last}"


def _drawn(paid: Iterable[tuple[str, str, float]], title: str) -> str:
    """Return running sums of prices by day, a line for each name; bars of the sums where there is but one day."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for name, day, price in paid:
        sums[name][day] += price
    if len(sums) > MOST_LINES:
        ranked = sorted(sums, key=lambda name: -sum(sums[name].values()))
        for name in ranked[MOST_LINES - 1 :]:
            for day, price in sums.pop(name).items():
                sums[_OTHERS][day] += price
    days = sorted({day for spent in sums.values() for day in spent})
    lines: dict[str, list[ChartPoint]] = {}
    for name, spent in sums.items():
        total, points = 0.0, []
        for day in days:
            total += spent.get(day, 0.0)
            points.append(ChartPoint(day, total, total, total, place_of(datetime.date.fromisoformat(day))))
        lines[name] = points
    if len(days) > 1:
        return draw_lines(lines, title=f"sum of single prices {title}")
    last = [ChartPoint(name, points[-1].value, points[-1].value, points[-1].value) for name, points in lines.items()]
    return draw_chart(last, title=f"sum of single prices {title}")
