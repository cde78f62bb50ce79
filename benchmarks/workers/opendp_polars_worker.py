"""OpenDP's Polars path, as an expert would ask: integer sums (a float sum needs far more noise), the count shared.

Its own sampling of groups fails on a single text key, so cities are first renamed to random numbers, of which the
first are kept: the same choice. Its bounds are tuned on the true errors, which nobody could do on private data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl
from serve import serve

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import HOME, errors, tuned, visits

dp.enable_features("contrib")
Released = dict[str, tuple[float, float]]


def coded(rows: int) -> tuple[Path, dict[int, str], dict[str, tuple[int, float]]]:
    """Return the visits with a random number for each city, the cities by number, and the truth."""
    file = HOME / f"coded-{rows}.parquet"
    if not file.is_file():
        table = pl.read_parquet(visits(rows))
        numbers = table.select("city").unique().sort("city").with_row_index("code")
        numbers = numbers.with_columns((pl.col("code").cast(pl.Int64) * 2654435761) % 2**31)
        table.join(numbers, on="city").select("person", "code", "amount", "city").write_parquet(file)
    totals = pl.scan_parquet(file).group_by("city", "code").agg(n=pl.len(), mean=pl.col("amount").mean()).collect()
    names = {row["code"]: row["city"] for row in totals.iter_rows(named=True)}
    return file, names, {row["city"]: (row["n"], row["mean"]) for row in totals.iter_rows(named=True)}


def release(file: Path, groups: int, each: int) -> pl.DataFrame:
    context = dp.Context.compositor(
        data=pl.scan_parquet(file).drop("city"),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["code"], max_length=10**7, max_groups=2000)],
    )
    amount = pl.col("amount").cast(pl.Int64).fill_null(0)
    bounded = (
        context.query().truncate_per_group(each, by=["code"]).truncate_num_groups(groups, by=["code"], keep="first")
    )
    return bounded.group_by("code").agg(dp.len(signed=True), amount.dp.sum((0, 1000))).release().collect()


def read(table: pl.DataFrame, names: dict[int, str]) -> Released:
    """Return counts and averages; casting cut half a unit off each amount on average."""
    return {
        names[code]: (count, min(1000.0, max(0.0, total / max(1, count) + 0.5)))
        for code, count, total in table.select("code", "len", "amount").iter_rows()
    }


def by_person_noisy(rows: int, groups: list[int], each: list[int]) -> Callable[[], Any]:
    file, names, true = coded(rows)
    best, told = tuned(
        f"opendp-tuning-{rows}",
        groups,
        each,
        lambda number, most: errors(read(release(file, number, most), names), true),
    )

    def call() -> dict[str, Any]:
        start, spent = time.perf_counter(), time.process_time()
        table = release(file, int(best["groups"]), int(best["rows"]))
        took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - spent, "size": None}
        return {**took, "figures": errors(read(table, names), true), "note": f"{len(table)} cities; {told}"}

    return call


if __name__ == "__main__":
    serve("opendp", {"by_person_noisy": by_person_noisy})
