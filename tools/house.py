"""Prints figures about the code base, each beside its aim: size, how far a question travels, names, types, time.

Static figures come from the syntax trees and signatures; the way of a question is traced while one is asked. `make
house` runs it.

Absolute aims of size (`FIRST`) were set for the features of one day, and say less with each feature that is added: a
strategy or an engine brings its own files, and no AVG passes them. So ratios stand beside them, which a feature that is
written as well as the rest leaves as they are:

- `isinstance` per 1,000 lines of code. The aims of 400 in 27,500 lines are 14.5. It grows where input is read, which is
  of plain types, and where values are asked for their class instead of for what they know. Only the latter can be
  written better, so checks for classes of our own are counted by themselves.
- Lines of code per file, the median and the mean. A median below 60 is an idea cut in pieces; a mean above 200 is files
  with several ideas. The aims of 27,500 lines in 230 files are a mean of 120.
- The part of all files that a question passes. It should fall with each feature, since a question passes those that it
  uses and no other: a feature that raises the number of files on the way is entered by questions that do not have it.

Calls of `schema_of` are 3 for a JOIN. The reader computes the shape of the join, to resolve names over it, and hands it
on with the rows that a query was read over: it is used for the same relation over the same tables, and for no other.
Then `verify` computes it again before the charge, and the SQL writer before it writes: each is a check of its own that
no plan, however it was made, crosses units, and neither trusts what the reader or the planner found.
"""

from __future__ import annotations

import ast
import collections
import importlib
import inspect
import io
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "privet"
PACKAGES = ("privet", *(f"privet.{one}" for one in ("accounting", "audit", "config", "mechanisms", "noise", "plots")))
"""Where public names are."""

QUESTION = (
    "SELECT v.ward, AVG(v.cost) AS cost FROM visits AS v JOIN people AS p ON v.patient = p.patient "
    "WHERE p.age > 40 GROUP BY v.ward"
)
FIRST = {"files": 230, "lines": 27_500, "isinstance": 400}
"""Aims that were set before strategies, regression, streams, surveys, two more engines, a ledger and a server came."""

MOST_LINES = 200.0
"""The mean number of lines of code in a file, at most."""

PART = 26.0
"""The aims of 60 files on the way of a question among 230, in percent."""

ROWS = 1000
PLANNER = "planner"
FIRST_ANSWER = """
import time
import pyarrow
table = pyarrow.table({"ward": ["A", "B"] * 500, "cost": [float(row % 500) for row in range(1000)]})
start = time.process_time()
import privet
columns = {"ward": privet.category(["A", "B"]), "cost": privet.number(0, 500)}
visits = privet.Table(table, unit=privet.Rows(), columns=columns)
session = privet.Session({"visits": visits}, budget=privet.Approximate(epsilon=1, delta=1e-6))
answer = session.ask("SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=0.5)
rows = list(answer)
print(time.process_time() - start)
"""


@dataclass(frozen=True)
class Figure:
    """A figure: its name, its value with the unit, and the aim, where there is one."""

    name: str
    value: float
    aim: float | None = None
    unit: str = ""

    def line(self, width: int) -> str:
        """Return the figure, its aim, and whether it is reached."""
        text = f"{self.name:<{width}}  {self._written(self.value):>10}"
        if self.aim is None:
            return text
        return f"{text}  aim {self._written(self.aim):>8}  {'reached' if self.value <= self.aim else ''}".rstrip()

    def _written(self, value: float) -> str:
        number = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"
        return f"{number} {self.unit}".rstrip()


def source_files() -> list[Path]:
    """Return the source files; `privet.testing`, which others import to test their own code, is not counted."""
    return sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "testing")


def code_lines(text: str) -> int:
    """Return the number of lines that are not blank, a comment or a docstring."""
    lines: set[int] = set()
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once."""
    return sorted(name for name, times in collections.Counter(names).items() if times > 1)


def is_object(annotation: str) -> bool:
    """Return whether a parameter with such an annotation takes anything at all."""
    return "object" in {part.strip() for part in annotation.split("|")}


def named(check: ast.Call) -> set[str]:
    """Return the names of the classes that a call of isinstance asks for."""
    return {node.id for one in check.args[1:] for node in ast.walk(one) if isinstance(node, ast.Name)}


def parameters(tree: ast.AST) -> Iterator[ast.arg]:
    """Yield the named parameters of every function in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)


def static_figures() -> list[Figure]:
    """Return the figures that need nothing to be run."""
    texts = [path.read_text(encoding="utf-8") for path in source_files()]
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    lines = [code_lines(text) for text in texts]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    modules = [path.stem for path in source_files() if path.stem != "__init__"]
    taken = [one.annotation for tree in trees for one in parameters(tree) if one.annotation is not None]
    checks = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"]
    return [
        Figure("files in src", len(texts), FIRST["files"]),
        Figure("lines of code", sum(lines), FIRST["lines"]),
        Figure("lines of code per file, median", statistics.median(lines)),
        Figure("lines of code per file, mean", sum(lines) / len(lines), MOST_LINES),
        Figure("class names used twice", len(repeated(classes)), 0),
        Figure("module names used twice", len(repeated(modules)), 0),
        Figure("parameters typed object", sum(is_object(ast.unparse(one)) for one in taken)),
        Figure("parameters typed object, public", len(public_objects()), 0),
        Figure("isinstance in src", len(checks), FIRST["isinstance"]),
        Figure("isinstance of our own classes", sum(bool(named(one) & set(classes)) for one in checks)),
        Figure(
            "isinstance per 1,000 lines", 1000 * len(checks) / sum(lines), 1000 * FIRST["isinstance"] / FIRST["lines"]
        ),
    ]


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield every public function, constructor and method, by its public name."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "_HOME", module.__all__):
            value = getattr(module, name)
            if isinstance(value, types.FunctionType):
                yield f"{package}.{name}", value
            if isinstance(value, type):
                yield f"{package}.{name}", value
                for member, held in inspect.getmembers_static(value):
                    function = held.__func__ if isinstance(held, (classmethod, staticmethod)) else held
                    if not member.startswith("_") and isinstance(function, types.FunctionType):
                        yield f"{package}.{name}.{member}", function


def public_objects() -> list[str]:
    """Return the parameters of public functions that take anything, each once, under its first public name."""
    seen: set[int] = set()
    found = []
    for name, function in public_functions():
        if id(function) in seen:
            continue
        seen.add(id(function))
        try:
            listed = inspect.signature(function).parameters.values()
        except ValueError:
            continue
        named = (one for one in listed if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
        texts = ((one.name, one.annotation) for one in named)
        found += [
            f"{name}({parameter})"
            for parameter, annotation in texts
            if annotation is object or (isinstance(annotation, str) and is_object(annotation))
        ]
    return found


def tables() -> dict[str, Any]:
    """Return two small private tables of people."""
    import pyarrow as pa

    import privet

    people, wards = 300, ["A", "B", "C"]
    visits = pa.table(
        {
            "patient": [row % people for row in range(ROWS)],
            "ward": [wards[row % 3] for row in range(ROWS)],
            "cost": [float(row % 500) for row in range(ROWS)],
        }
    )
    persons = pa.table({"patient": list(range(people)), "age": [20 + row % 60 for row in range(people)]})
    columns = {"patient": privet.integer(), "ward": privet.category(wards), "cost": privet.number(0, 500)}
    about = {"patient": privet.integer(), "age": privet.integer(0, 120)}
    unit, limit = privet.Person("patient"), privet.Contribution(groups=3, rows=4)
    return {
        "visits": privet.Table(visits, unit=unit, columns=columns, contribution=limit, rows=ROWS),
        "people": privet.Table(
            persons,
            unit=unit,
            columns=about,
            contribution=privet.Contribution(groups=1, rows=1),
            rows=people,
            key="patient",
        ),
    }


class Way:
    """The way of a question: files that it passes, functions that it calls, and times that it enters the planner.

    A visit to the planner is a call from outside of a function of its modules; fields and properties of what it made
    are no visit. The first frame that visits makes the plan. What comes after it are returns, and those that follow
    each other from one file count as one.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: collections.Counter[str] = collections.Counter()
        self.entries: collections.Counter[tuple[str, str]] = collections.Counter()
        self._visitors: list[types.FrameType] = []
        self._inside = 0

    def profile(self, frame: types.FrameType, event: str, argument: object) -> None:
        """Take notice of a call or a return; for `sys.setprofile`."""
        place = _package_path(frame)
        if event not in ("call", "return") or not place:
            return
        planner = place[0] == PLANNER
        if event == "return":
            self._inside -= planner
            return
        self.files.add("/".join(place))
        self.calls[frame.f_code.co_name] += 1
        caller = _nearest(frame)
        if caller is not None and _package_path(caller)[:1] != place[:1]:
            self.entries[place[0], frame.f_code.co_name] += 1
        enters = planner and not self._inside and "." not in frame.f_code.co_qualname
        if enters and caller is not None and not any(one is caller for one in self._visitors):
            self._visitors.append(caller)
        self._inside += planner

    def returns(self) -> list[str]:
        """Return from which files the planner was entered, once the plan was made."""
        files = [caller.f_code.co_filename for caller in self._visitors[1:]]
        return [Path(name).stem for name, _ in itertools.groupby(files)]


def _package_path(frame: types.FrameType) -> tuple[str, ...]:
    """Return the path of a frame's file within the package; empty where it is in another."""
    name = frame.f_code.co_filename
    return Path(name).relative_to(SOURCE).parts if name.startswith(str(SOURCE)) else ()


def _nearest(frame: types.FrameType) -> types.FrameType | None:
    """Return the frame of the package that a call comes from, straight or through another package."""
    caller = frame.f_back
    while caller is not None and not _package_path(caller):
        caller = caller.f_back
    return caller


def traced(session: Any) -> Way:
    """Return the way of one question that is asked for the first time, once everything is imported."""
    session.ask(QUESTION, epsilon=1)
    way = Way()
    sys.setprofile(way.profile)
    try:
        session.ask(QUESTION, epsilon=2)
    finally:
        sys.setprofile(None)
    return way


def seconds(action: Callable[[float], object], times: int) -> float:
    """Return the lower quartile of the CPU time of an action that is given another epsilon each time.

    What else the machine does makes some runs slower and none faster.
    """
    taken = []
    for step in range(times):
        start = time.process_time()
        action(3 + step / 1000)
        taken.append(time.process_time() - start)
    return statistics.quantiles(taken, n=4)[0]


def first_answer() -> float:
    """Return the least CPU time of five fresh processes from `import privet` to their first answer.

    They have compiled modules, as an installed package does: a process before them leaves these in a folder.
    """
    with tempfile.TemporaryDirectory() as compiled:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        options: dict[str, Any] = {
            "check": True,
            "capture_output": True,
            "env": {**kept, "PYTHONPYCACHEPREFIX": compiled},
        }
        runs = [subprocess.run([sys.executable, "-c", FIRST_ANSWER], **options) for _ in range(6)]
    return min(float(run.stdout) for run in runs[1:])


def traced_figures() -> list[Figure]:
    """Return the figures of one question over a join, and what it takes in time."""
    import privet

    budget = privet.Approximate(epsilon=Fraction(10**6), delta=Fraction(1, 10**6))
    with privet.Session(tables(), budget=budget) as session:
        way = traced(session)
        planning = seconds(lambda epsilon: session.plan(QUESTION, epsilon=epsilon), 100)
        asking = seconds(lambda epsilon: session.ask(QUESTION, epsilon=epsilon), 60)
    return [
        Figure("files on the way of an AVG over a JOIN", len(way.files), 60),
        Figure("files on the way, part of all", 100 * len(way.files) / len(source_files()), PART, unit="%"),
        Figure("returns into the planner", len(way.returns()), 1),
        Figure("calls of schema_of", way.calls["schema_of"], 3),
        Figure("calls of the ledger's find", way.entries["ledger", "find"], 1),
        Figure(f"planning, {ROWS:,} rows, CPU", 1000 * planning, unit="ms"),
        Figure(f"asking, {ROWS:,} rows, CPU", 1000 * asking, unit="ms"),
        Figure("from import to the first answer, CPU", first_answer(), 0.5, unit="s"),
    ]


def main() -> None:
    """Print the figures."""
    figures = [*static_figures(), *traced_figures()]
    width = max(len(figure.name) for figure in figures)
    print("\n".join(figure.line(width) for figure in figures))


if __name__ == "__main__":
    main()
