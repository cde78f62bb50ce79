"""Writes the table and the picture of cost against rows in docs/sizes.md: `python benchmarks/cost_by_rows.py`.

What `make bench BENCH=spark` left in benchmarks/results, which is not kept, goes to benchmarks/published/spark.json,
which is, with date, versions and machine. Table and picture are made from that file alone, in processor time, which
other work on a shared machine affects least.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cases.spark import SIZES
from publish import put_between, shown

HERE = Path(__file__).resolve().parent
PUBLISHED, DOCS = HERE / "published" / "spark.json", HERE.parent / "docs"
PAGE, PICTURE = DOCS / "sizes.md", DOCS / "pictures" / "cost-by-rows.png"
BEGIN, END = "<!-- measured: written by benchmarks/cost_by_rows.py -->", "<!-- end of measured -->"
SERIES = {
    "plain `GROUP BY city` on Spark, which protects no one": ("Spark, {} rows, unbounded and exact", "spark"),
    "Privet on DuckDB": ("DuckDB, {} rows", "privet"),
    "truncation by hand on DuckDB": ("DuckDB, {} rows", "duckdb"),
    "Privet on Spark": ("Spark, {} rows", "privet"),
    "truncation by hand on Spark": ("Spark, {} rows", "spark"),
    "Tumult Analytics on Spark": ("Spark, {} rows", "tumult"),
}
"""What is shown: the title of its case at each size, and its system there."""


def collected(result: dict[str, Any]) -> dict[str, Any]:
    """Return what is published, from the results of the benchmark."""
    cases = {case["title"]: case["systems"] for case in result["cases"]}
    rows: dict[str, dict[str, float]] = {}
    for name, (title, system) in SERIES.items():
        found = {size: cases[title.format(size)].get(system) for size in SIZES}
        rows[name] = {size: timing["processor seconds"] for size, timing in found.items() if timing is not None}
    return {
        "date": result["at"][:10],
        "machine": result["machine"],
        "versions": result["versions"],
        "processor seconds": rows,
    }


def table(published: dict[str, Any]) -> str:
    """Return the table and the line that dates it, as Markdown."""
    lines = [
        f"| processor time for | {' | '.join(f'{size} rows' for size in SIZES)} |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for name, seconds in published["processor seconds"].items():
        cells = (shown(seconds[size]) if size in seconds else "" for size in SIZES)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    versions, machine = published["versions"], published["machine"]
    lines += [
        "",
        f"Measured on {published['date']}: Privet {versions['privet']}, Spark {versions['spark']}, "
        f"DuckDB {versions['duckdb']}, Tumult Analytics {versions['tumult']} on its own Spark;",
        f"Python {machine['python']}, {machine['cores']} cores of a shared machine, the best of several rounds, "
        "when JVMs are warm.",
    ]
    return "\n".join(lines)


def draw(published: dict[str, Any], file: Path) -> None:
    """Write the picture: processor seconds against rows, both on scales of powers of ten."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    image = Figure(figsize=(8, 4.2), layout="constrained", dpi=120)
    FigureCanvasAgg(image)
    axes = image.add_subplot()
    for number, (name, seconds) in enumerate(published["processor seconds"].items()):
        rows = [SIZES[size] for size in seconds]
        line = "-" if name.startswith("Privet") else "--"
        axes.plot(rows, list(seconds.values()), f"{'osD^vP'[number]}{line}", label=name.replace("`", ""), markersize=5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("processor seconds")
    axes.set_title("COUNT and AVG by city, people protected", loc="left", fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    image.savefig(file, metadata={"Software": None})


def main() -> int:
    if "--table-only" not in sys.argv:
        result = json.loads((HERE / "results" / "spark.json").read_text(encoding="utf-8"))
        PUBLISHED.write_text(json.dumps(collected(result), indent=2) + "\n", encoding="utf-8")
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(put_between(page, BEGIN, END, table(published)), encoding="utf-8")
    draw(published, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
