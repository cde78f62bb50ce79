"""Writes the README's table of measurements: `python benchmarks/publish.py`, after `make bench` has left its results.

A few cases of benchmarks/results, which is not kept, go to benchmarks/published/measured.json, which is, with date,
versions and machine. The table is made from that file alone. It shows processor time, which other work on a shared
machine affects least. Cases in which Privet is slower are shown like the others.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PUBLISHED, README = HERE / "published" / "measured.json", HERE.parent / "README.md"
BEGIN, END = "<!-- measured: written by benchmarks/publish.py -->", "<!-- end of measured -->"
NAMES = {
    "privet": "Privet",
    "opendp": "OpenDP",
    "opendp_polars": "OpenDP on Polars",
    "tmlt": "Tumult Core",
    "dp_accounting": "dp_accounting",
    "duckdb": "DuckDB",
    "numpy": "NumPy",
}


@dataclass(frozen=True)
class Row:
    """A row of the table: which case it shows, in which words, and for how many units of work."""

    benchmark: str
    case: str
    task: str
    units: int = 1
    remark: str = ""
    """What the reader must know of a system that does less than Privet does."""


BY_HAND = "DuckDB bounds people by hand, without noise"
EXACT = "DuckDB is exact, and not private"
FLOATS = "NumPy draws unsafe floats"
ROWS = (
    Row(
        "queries",
        "people: COUNT and AVG, 1 million visits",
        "COUNT and AVG by city, people protected, 1 million rows",
        remark=BY_HAND,
    ),
    Row("queries", "people: COUNT and AVG, truncated by hand", "The same on 10 million rows", remark=BY_HAND),
    Row("queries", "rows: COUNT, beside plain", "COUNT by city, 10 million rows", remark=EXACT),
    Row("queries", "rows: MEDIAN, beside the exact one", "MEDIAN, 10 million rows", remark=EXACT),
    Row("noise", "Laplace 1,000", "A million draws of Laplace noise", 10**6, FLOATS),
    Row("noise", "Gaussian 1,000", "A million draws of Gaussian noise", 10**6, FLOATS),
    Row("scalar", "Laplace, scale 10", "A thousand scalar releases", 1000),
    Row("accounting", "1,000 events, peer at 0.0005", "The cost of 1,000 different releases"),
    Row("accounting", "10,000 steps, q 0.01, sigma 1, peer at 0.0001", "The cost of 10,000 sampled Gaussian steps"),
)


def collected(folder: Path) -> dict[str, Any]:
    """Return what is published, from the results of `make bench`."""
    results = {name: json.loads((folder / f"{name}.json").read_text()) for name in {row.benchmark for row in ROWS}}
    versions = dict[str, str]()
    for result in results.values():
        for system, version in result["versions"].items():
            if versions.setdefault(system, version) != version:
                raise SystemExit(f"{system} was measured in two versions; run the benchmarks again")
    rows = []
    for row in ROWS:
        (case,) = (case for case in results[row.benchmark]["cases"] if case["title"] == row.case)
        seconds = {
            system: timing["processor seconds"] / timing["units"] * row.units
            for system, timing in case["systems"].items()
        }
        rows.append({"task": row.task, "remark": row.remark, "processor seconds": seconds})
    used = sorted({system for row in rows for system in row["processor seconds"]})
    return {
        "date": min(result["at"] for result in results.values())[:10],
        "machine": results[ROWS[0].benchmark]["machine"],
        "versions": {system: versions[system] for system in used},
        "rows": rows,
    }


def table(published: dict[str, Any]) -> str:
    """Return the table and the line that dates it, as Markdown."""
    lines = ["| processor time for | Privet | others |", "|---|---|---|"]
    for row in published["rows"]:
        seconds = row["processor seconds"]
        others = ", ".join(f"{NAMES[system]} {shown(time)}" for system, time in seconds.items() if system != "privet")
        remark = f" ({row['remark']})" if row["remark"] else ""
        lines.append(f"| {row['task']} | {shown(seconds['privet'])} | {others}{remark} |")
    versions = ", ".join(f"{NAMES[system]} {version}" for system, version in sorted(published["versions"].items()))
    machine = published["machine"]
    lines += [
        "",
        f"Measured on {published['date']}: {versions};",
        f"Python {machine['python']}, {machine['cores']} cores of a shared machine.",
        "Slow systems did a part of the draws, and their time is scaled up. `make bench` measures it on yours.",
    ]
    return "\n".join(lines)


def shown(seconds: float) -> str:
    """Return a time in two digits, in milliseconds below a tenth of a second."""
    size, unit = (1000, "ms") if seconds < 0.1 else (1, "s")
    return f"{float(f'{size * seconds:.2g}'):g} {unit}"


def with_table(page: str, published: dict[str, Any]) -> str:
    """Return the README with the table of measurements in its place."""
    return put_between(page, BEGIN, END, table(published))


def put_between(page: str, begin: str, end: str, text: str) -> str:
    """Return a page with a text between two marks, each on a line of its own, in place of what stood there."""
    marked = rf"(?<={re.escape(begin)}\n\n).*?(?=\n\n{re.escape(end)})"
    replaced, count = re.subn(marked, lambda _: text, page, flags=re.S)
    if count != 1:
        raise SystemExit(f"the page needs {begin} and {end}, once each")
    return replaced


def main() -> int:
    if "--table-only" not in sys.argv:
        PUBLISHED.parent.mkdir(exist_ok=True)
        PUBLISHED.write_text(json.dumps(collected(HERE / "results"), indent=2) + "\n", encoding="utf-8")
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    README.write_text(with_table(README.read_text(encoding="utf-8"), published), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
