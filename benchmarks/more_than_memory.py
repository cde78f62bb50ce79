"""Writes the table and the picture of docs/sizes.md about more rows than memory: `benchmarks/more_than_memory.py`.

What `make bench BENCH=scale` left in benchmarks/results, which is not kept, goes to benchmarks/published/scale.json,
which is, with date, versions and machine. Table and picture are made from that file alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cases.scale import CEILING, SIZES
from publish import put_between, shown

HERE = Path(__file__).resolve().parent
PUBLISHED, DOCS = HERE / "published" / "scale.json", HERE.parent / "docs"
PAGE, PICTURE = DOCS / "sizes.md", DOCS / "pictures" / "more-rows-than-memory.png"
BEGIN, END = (
    "<!-- measured: written by benchmarks/more_than_memory.py -->",
    "<!-- end of measured by more_than_memory -->",
)
SERIES = {
    "plain `GROUP BY person, city`, which protects no one": ("{} rows", "duckdb"),
    "Privet, in parts where declared rows exceed the limit": ("{} rows", "privet"),
    "Privet, read whole": ("{} rows, read whole", "privet"),
}
"""What is shown: the title of its case at each size, and its system there."""


def collected(result: dict[str, Any]) -> dict[str, Any]:
    """Return what is published, from the results of the benchmark."""
    cases = {case["title"]: case["systems"] for case in result["cases"]}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for name, (title, system) in SERIES.items():
        for size in SIZES:
            timing = cases.get(title.format(size), {}).get(system)
            if timing is not None:
                seconds = {"processor seconds": timing["processor seconds"]}
                rows.setdefault(name, {})[size] = seconds | timing["figures"]
    return {
        "date": result["at"][:10],
        "machine": result["machine"],
        "versions": result["versions"],
        "measured": rows,
    }


def table(published: dict[str, Any]) -> str:
    """Return the table and the line that dates it, as Markdown."""
    lines = [
        f"| processor time, and peak of memory | {' | '.join(f'{size} rows' for size in SIZES)} |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for name, found in published["measured"].items():
        cells = (
            f"{shown(found[size]['processor seconds'])}, {found[size]['peak MB']:,.0f} MB" if size in found else ""
            for size in SIZES
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    versions, machine = published["versions"], published["machine"]
    lines += [
        "",
        f"Measured on {published['date']}: Privet {versions['privet']}, DuckDB {versions['duckdb']}, "
        f"Python {machine['python']}, {machine['cores']} cores of a shared machine, the best of several rounds,",
        "each in a process of its own; planning and noise are in Privet's time, and Python is in the peaks.",
    ]
    return "\n".join(lines)


def draw(published: dict[str, Any], file: Path) -> None:
    """Write the picture: processor seconds and peaks of memory against rows, on scales of powers of ten."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    image = Figure(figsize=(8.5, 4.4), layout="constrained", dpi=120)
    FigureCanvasAgg(image)
    figures = {"processor seconds": "processor seconds", "peak MB": "peak of memory, MB"}
    for place, (figure, label) in enumerate(figures.items()):
        axes = image.add_subplot(1, 2, place + 1)
        for number, (name, found) in enumerate(published["measured"].items()):
            rows, line = [SIZES[size] for size in found], "-" if name.startswith("Privet") else "--"
            values = [one[figure] for one in found.values()]
            axes.plot(rows, values, f"{'s^o'[number]}{line}", label=name.replace("`", ""), markersize=6)
        if figure == "peak MB":
            axes.axhline(CEILING, color="grey", linewidth=1, linestyle=":", label="the memory limit")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("rows")
        axes.set_ylabel(label)
        axes.grid(True, alpha=0.3)
    image.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    image.suptitle("COUNT and AVG by 1,000 found cities, people protected, memory limit 4 GiB", fontsize=10)
    image.savefig(file, metadata={"Software": None})


def main() -> int:
    if "--table-only" not in sys.argv:
        result = json.loads((HERE / "results" / "scale.json").read_text(encoding="utf-8"))
        PUBLISHED.write_text(json.dumps(collected(result), indent=2) + "\n", encoding="utf-8")
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(put_between(page, BEGIN, END, table(published)), encoding="utf-8")
    draw(published, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
