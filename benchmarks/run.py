"""Measure Privet beside its peers: `python benchmarks/run.py [NAME ...] [--only TEXT]`, or `make bench BENCH='noise'`.

All systems are measured in one run, interleaved, so that a busy machine slows them alike; the best of several repeats
counts. Results are printed and written to benchmarks/results/, which is not kept in the repository.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import platform
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmark import Benchmark, Case
from picture import draw
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from systems import BEFORE, SYSTEMS, MissingPeer, System, Worker, check_out

HERE = Path(__file__).resolve().parent
SIZES_AGREE_WITHIN = 0.1
"""Mean absolute sizes of 5,000 or more draws differ by about 0.014 of themselves; seven times that is no accident."""


@dataclass
class Timing:
    """The best run of one system on one case."""

    units: int
    seconds: float = math.inf
    cpu: float = math.inf
    size: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def rate(self) -> float:
        return self.units / self.seconds


def load(name: str) -> Benchmark:
    benchmark: Benchmark = importlib.import_module(f"cases.{name}").BENCHMARK
    return benchmark


def limited(benchmark: Benchmark, only: str) -> Benchmark:
    """Return a benchmark with the cases alone whose title contains a text."""
    return replace(benchmark, cases=tuple(case for case in benchmark.cases if only in case.title))


def with_before(benchmark: Benchmark, earlier: System) -> Benchmark:
    """Return the cases that Privet as of another commit has as well, each run by it too."""
    spec = importlib.util.spec_from_file_location(
        f"before_{benchmark.name}", earlier.worker.parents[1] / "cases" / f"{benchmark.name}.py"
    )
    if spec is None or spec.loader is None or not Path(spec.origin or "").is_file():
        return replace(benchmark, cases=())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    there = {(case.task, json.dumps(dict(case.parameters), sort_keys=True)) for case in module.BENCHMARK.cases}
    cases = (
        replace(
            case,
            units={**case.units, BEFORE: case.units["privet"]},
            settings={**case.settings, BEFORE: case.settings.get("privet", {})},
        )
        for case in benchmark.cases
        if "privet" in case.units and (case.task, json.dumps(dict(case.parameters), sort_keys=True)) in there
    )
    return replace(benchmark, cases=tuple(cases))


def since_table(benchmark: Benchmark, best: dict[str, dict[str, Timing]]) -> Table:
    """Return the least CPU time of each case as of another commit and now, and their ratio."""
    table = Table(title=f"{benchmark.name}: least CPU seconds", title_justify="left", box=SIMPLE)
    table.add_column("case")
    for heading in (BEFORE, "now", "now / before"):
        table.add_column(heading, justify="right")
    for title, row in best.items():
        before, now = row[BEFORE].cpu, row["privet"].cpu
        table.add_row(title, f"{before:.4g}", f"{now:.4g}", f"{now / before:.3f}" if before > 0 else "-")
    return table


def measure(benchmark: Benchmark, workers: dict[str, Worker], repeats: int, full: bool) -> dict[str, dict[str, Timing]]:
    """Return the best timing of each system on each case, by title and system."""
    best: dict[str, dict[str, Timing]] = {}
    for turn in range(repeats):
        for case in benchmark.cases:
            row = best.setdefault(case.title, {})
            # who comes first has a cold machine, and who comes last a warm one: each is both
            for system, few in list(case.units.items())[:: -1 if turn % 2 else 1]:
                if system not in workers:
                    continue
                units = max(case.units.values()) if full else few
                counted = {case.count: units} if case.count else {}
                own = case.settings.get(system, {})
                reply = workers[system].ask(case.task, {**case.parameters, **own, **counted})
                timing = row.setdefault(system, Timing(units))
                timing.seconds = min(timing.seconds, reply["seconds"])
                timing.cpu = min(timing.cpu, reply["cpu"])
                timing.size = reply["size"]
                timing.figures = reply.get("figures", {})
                timing.note = reply.get("note", "")
    return best


def verify_same_work(case: Case, row: dict[str, Timing]) -> None:
    """Raise if the systems' draws differ in size: then they did not do the same work."""
    sizes = {system: timing.size for system, timing in row.items() if timing.size is not None}
    if case.same_draws and sizes and max(sizes.values()) > min(sizes.values()) * (1 + SIZES_AGREE_WITHIN):
        raise SystemExit(f"{case.title}: the systems draw from different distributions: mean sizes {sizes}")


def make_table(benchmark: Benchmark, best: dict[str, dict[str, Timing]], systems: list[str]) -> Table:
    """Return each system's rate, with how many times it Privet's is, and its figures below."""
    faster = "how many times faster Privet is" if benchmark.unit == "seconds" else "Privet's as a multiple"
    table = Table(title=f"{benchmark.title}\n{benchmark.unit} ({faster})", title_justify="left", box=SIMPLE)
    for heading in ("case", *systems, "aims"):
        table.add_column(heading, justify="right" if heading in systems else "left", no_wrap=heading != "aims")
    for case in benchmark.cases:
        row = best[case.title]
        cells = ["-" if system not in row else shown(row[system], benchmark.unit) for system in systems]
        for place, system in enumerate(systems):
            if {system, "privet"} <= row.keys() and system != "privet":
                cells[place] += f" ({multiple(ratio(row, system))})"
            if system in row:
                cells[place] = "\n".join([cells[place], *_figures(row[system])])
        table.add_row(case.title, *cells, "\n".join(aims(case, row)))
    return table


def shown(timing: Timing, unit: str) -> str:
    """Return the time where that is what is measured, else the rate."""
    return f"{timing.seconds:.3g} s [{timing.cpu:.3g}]" if unit == "seconds" else compact(timing.rate)


def _figures(timing: Timing) -> list[str]:
    return [f"{name} {value:.8g}" for name, value in timing.figures.items()]


def multiple(times: float) -> str:
    """Return a ratio as people read it: whole from ten on, in two digits below one."""
    return f"{times:,.0f}x" if times >= 10 else f"{times:.2g}x"


def compact(rate: float) -> str:
    """Return a rate in three digits, with thousands as k and millions as M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"


def ratio(row: dict[str, Timing], peer: str) -> float:
    return row["privet"].rate / row[peer].rate


def aims(case: Case, row: dict[str, Timing]) -> list[str]:
    """Return each aim of a case, and whether it was met."""
    lines = []
    for peer, least in case.targets.items():
        if peer in row:
            worse = [name for name in case.figures if row["privet"].figures[name] > row[peer].figures[name]]
            but = f" (worse {', '.join(worse)})" if worse else ""
            lines.append(f"{multiple(least)} {peer} {_met(ratio(row, peer) >= least and not worse)}{but}")
    for name, largest in case.most.items():
        for peer in row.keys() - {"privet"}:
            times = row["privet"].figures[name] / row[peer].figures[name]
            lines.append(f"{times:.2g} of {largest:g} times {peer}'s {name} {_met(times <= largest)}")
    for name, largest in case.ceilings.items():
        figure = row["privet"].figures[name]
        lines.append(f"{figure:,.0f} of {largest:,.0f} {name} {_met(figure <= largest)}")
    if case.limit is not None:
        seconds = row["privet"].seconds
        lines.append(f"{seconds:.3g} s of {case.limit:g} s {_met(seconds <= case.limit)}")
    return lines


def notes(benchmark: Benchmark, best: dict[str, dict[str, Timing]]) -> list[str]:
    """Return what workers said about how they worked, each remark once."""
    lines = [
        f"{case.title}, {system}: {timing.note}"
        for case in benchmark.cases
        for system, timing in best[case.title].items()
        if timing.note
    ]
    return list(dict.fromkeys(lines))


def _met(reached: bool) -> str:
    return "met" if reached else "MISSED"


def record(benchmark: Benchmark, best: dict[str, dict[str, Timing]], versions: dict[str, str]) -> Path:
    """Write the results as JSON and return the file."""
    results = {
        "benchmark": benchmark.name,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "versions": versions,
        "unit": benchmark.unit,
        "cases": [
            {
                "title": case.title,
                "systems": {
                    system: {
                        "units": timing.units,
                        "seconds": timing.seconds,
                        "processor seconds": timing.cpu,
                        "rate": timing.rate,
                        "figures": timing.figures,
                        "note": timing.note,
                    }
                    for system, timing in best[case.title].items()
                },
                "ratios": {
                    system: ratio(best[case.title], system) for system in best[case.title] if "privet" in case.units
                },
                "aims": aims(case, best[case.title]),
            }
            for case in benchmark.cases
        ],
    }
    file = HERE / "results" / f"{benchmark.name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return file


def pictured(benchmark: Benchmark, best: dict[str, dict[str, Timing]]) -> Path:
    """Write the figures of every case as a picture, a peer's by its name, and return the file."""
    figures = {
        title: {
            name if system == "privet" else f"{system}, {name}": value
            for system, timing in row.items()
            for name, value in timing.figures.items()
        }
        for title, row in best.items()
    }
    return draw(HERE / "results" / f"{benchmark.name}.svg", benchmark.title, benchmark.picture, figures)


def main() -> int:
    names = sorted(file.stem for file in (HERE / "cases").glob("*.py"))
    parser = argparse.ArgumentParser(description="Measure Privet beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which benchmarks: {', '.join(names)} (default: all)")
    parser.add_argument("--without", action="append", default=[], choices=sorted(set(SYSTEMS) - {"privet"}))
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts (default: 5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title contains this")
    parser.add_argument("--before", metavar="COMMIT", help="measure Privet as of this commit as well, in the same run")
    parser.add_argument("--full", action="store_true", help="let slow peers do as much work as Privet")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")

    console = Console(width=None if sys.stdout.isatty() else 230, highlight=False)
    benchmarks = [limited(load(name), options.only) for name in options.names or names]
    benchmarks = [one for one in benchmarks if one.cases and (options.names or not one.by_hand)]
    systems = dict(SYSTEMS)
    try:
        if options.before:
            systems[BEFORE] = check_out(options.before)
            benchmarks = [with_before(one, systems[BEFORE]) for one in benchmarks]
    except MissingPeer as error:
        print(error, file=sys.stderr)
        return 1
    needed = dict.fromkeys(system for benchmark in benchmarks for system in benchmark.systems)
    workers: dict[str, Worker] = {}
    try:
        for system in needed:
            if system not in options.without:
                with console.status(f"preparing {system}"):
                    workers[system] = Worker(systems[system])
        versions = {system: worker.version for system, worker in workers.items()}
        console.print("  ".join(f"{system} {version}" for system, version in versions.items()))
        for benchmark in benchmarks:
            with console.status(f"measuring {benchmark.name}"):
                best = measure(benchmark, workers, options.repeats, options.full)
            for case in benchmark.cases:
                verify_same_work(case, best[case.title])
            console.print(make_table(benchmark, best, [system for system in benchmark.systems if system in workers]))
            if options.before and benchmark.cases:
                console.print(since_table(benchmark, best))
            for line in notes(benchmark, best):
                console.print(line)
            console.print(f"written to {record(benchmark, best, versions).relative_to(HERE.parent)}\n")
            if benchmark.picture:
                console.print(f"drawn in {pictured(benchmark, best).relative_to(HERE.parent)}\n")
    except MissingPeer as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        for worker in workers.values():
            worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
