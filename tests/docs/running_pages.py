"""Runs the examples of pages and notebooks as a reader would, and compares what they print with what is shown.

The convention, for authors: every ```python block runs, in order, in one namespace. An ```output block after it shows
what it printed, and a ```console block shows commands (`$ privet ...`) with what each printed below it. Words are
compared literally, spaces and the length of rules apart, and so are numbers, except that noise differs between runs:

* of `n ± width`, `n [low, high]` and `n (low, high)`, each n lies within REACH of the other's half-widths, and
  half-widths agree within a factor;
* ```output noisy=30 (or console) states how far other numbers may differ, and noisy=20% by which part of themselves;
* the half-width of a quantile is drawn with it, and now and then many times as wide or narrow: ```output drawn=20%
  states how far numbers may differ whose half-widths do, and says nothing of the half-widths.

A line of three dots stands for lines that are not shown.

`python tests/docs/running_pages.py PAGE ...` (or `make outputs`) writes the outputs of pages anew, from a real run, and
takes over pictures that the run draws under the name of one in docs/pictures.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import Block, read_blocks

ROOT = Path(__file__).resolve().parents[2]
PYTHON = {"python", "python3", "py", "py3", "pycon"}

REACH = 8
"""Two draws of Laplace noise are further apart than this many half-widths of 95% once in two thousand million times."""

WIDTHS_AGREE_WITHIN = 3
"""Half-widths of means depend a little on the noise, and all are rounded; for those of quantiles, see drawn=."""

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
INTERVAL = re.compile(rf"(?P<at>{NUMBER.pattern})%? ± (?P<half>{NUMBER.pattern})")
BOUNDS = re.compile(rf"(?<=\d) ?[\[(]({NUMBER.pattern}), ({NUMBER.pattern})[\])]")
ELLIPSIS = "..."
"""A line of its own in what is shown; it stands for any number of lines. One for each block."""


class Failed(Exception):
    """An example that does not run, or does not print what its page shows: the line of the page, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class Ran:
    """A block that ran, and what it printed."""

    block: Block
    printed: str


def run_blocks(blocks: list[Block], name: str, *, shows_values: bool = False) -> Iterator[Ran]:
    """Run the Python and console blocks in order, in one namespace and one folder, and yield each with what it printed.

    Args:
        blocks: the fenced blocks of a page, or the cells of a notebook.
        name: the page, for errors.
        shows_values: whether a block ends, as a cell does, by showing the value of its last expression.

    Raises:
        Failed: at the first block that raises, or is marked in a way that would keep it from being run.
    """
    module = types.ModuleType("page_of_the_docs")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        for block in blocks:
            if block.kind == "console":
                yield Ran(block, run_commands(block))
            if block.kind.lower() not in PYTHON:
                continue
            if block.label != "python":
                raise Failed(block.line - 1, "every example runs, so a block is ```python and nothing more")
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    run_code(block, name, vars(module), shows_values=shows_values)
            except Exception as error:
                told = "".join(traceback.format_exception_only(error)).strip()
                raise Failed(line_of(error, name) or block.line, told) from error
            yield Ran(block, printed.getvalue())
    finally:
        del sys.modules[module.__name__]


def run_code(block: Block, name: str, namespace: dict[str, object], *, shows_values: bool) -> None:
    """Run one block, and print the value of its last expression if it is to be shown."""
    text = "\n" * (block.line - 1) + block.text
    tree = ast.parse(text, name)
    last = tree.body.pop() if shows_values and tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)
        if value is not None:
            print(repr(value))


def run_commands(block: Block) -> str:
    """Return the block's commands, each followed by what it printed where the block shows that."""
    from privet import cli

    written = list[str]()
    for command, shown in commands_of(block.text):
        written.append(f"$ {command}\n")
        program, *arguments = shlex.split(command)
        if program == "cd":
            os.chdir(arguments[0])
            continue
        if program != "privet":
            raise Failed(block.line, f"a console block runs privet and cd, not {program}; use ```sh")
        result = CliRunner().invoke(cli.main, arguments, env={"COLUMNS": "80"})
        if result.exit_code:
            raise Failed(block.line, f"{command}\n{result.output}")
        if shown:
            written += [result.output.rstrip("\n") + "\n"]
    return "".join(written)


def commands_of(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output that is shown below it."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.M)[1:]
    return [(command, shown) for command, shown in zip(parts[::2], parts[1::2], strict=True)]


def line_of(error: Exception, name: str) -> int | None:
    """Return the line of the page on which the error was raised."""
    if isinstance(error, SyntaxError) and error.filename == name:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return lines[-1] if lines else None


def shown_outputs(blocks: list[Block], ran: list[Ran]) -> Iterator[tuple[Block, str]]:
    """Yield each block that shows output, with what was printed in this run."""
    printed = {id(each.block): each.printed for each in ran}
    for before, block in zip([None, *blocks], blocks, strict=False):
        if block.kind == "console":
            yield block, printed[id(block)]
        elif block.kind == "output":
            if before is None or before.label != "python":
                raise Failed(block.line - 1, "an output block follows the python block that printed it")
            yield block, printed[id(before)]


def check_page(text: str, name: str) -> None:
    """Run a page, and raise Failed where an example does not run or prints something else than is shown."""
    check_blocks(list(read_blocks(text)), name)


def check_blocks(blocks: list[Block], name: str, *, shows_values: bool = False) -> None:
    """Run blocks, and raise Failed where one does not run or prints something else than is shown."""
    ran = list(run_blocks(blocks, name, shows_values=shows_values))
    for block, printed in shown_outputs(blocks, ran):
        if found := difference(block.text, printed, *tolerances_of(block)):
            raise Failed(block.line, found)


def tolerances_of(block: Block) -> tuple[str | None, str | None]:
    """Return the tolerances that an output block states as noisy= and drawn=, such as 30 or 20%."""
    label, *settings = block.label.split()
    stated = dict[str, str]()
    for setting in settings:
        found = re.fullmatch(r"(noisy|drawn)=(\d+(?:\.\d+)?%?)", setting)
        if found is None or found[1] in stated:
            raise Failed(block.line - 1, f"an {label} block may state noisy=30 or drawn=20%, and nothing else")
        stated[found[1]] = found[2]
    return stated.get("noisy"), stated.get("drawn")


def difference(shown: str, printed: str, tolerance: str | None = None, drawn: str | None = None) -> str | None:
    """Return how what is shown differs from what was printed, other than by noise, or None."""
    ours, theirs = ([plain(line) for line in text.strip("\n").splitlines()] for text in (shown, printed))
    if len(ours) <= len(theirs) and ELLIPSIS in ours:
        place = ours.index(ELLIPSIS)
        theirs[place : len(theirs) - (len(ours) - place - 1)] = [ELLIPSIS]
    for one, other in zip(ours, theirs, strict=False):
        if NUMBER.sub("#", one) != NUMBER.sub("#", other):
            return f"shown: {one}\nprinted: {other}"
        allowed = [lesser(*pair, drawn) for pair in zip(slack(one), slack(other), strict=True)]
        for left, right, most in zip(NUMBER.findall(one), NUMBER.findall(other), allowed, strict=True):
            if left != right and not alike(value(left), value(right), most, tolerance):
                return f"shown: {one}\nprinted: {other}\n{left} and {right} differ by more than their noise"
    if len(ours) != len(theirs):
        return f"{len(ours)} lines are shown and {len(theirs)} were printed:\n{printed}"
    return None


def plain(line: str) -> str:
    """Return a line with runs of spaces and of rules as one, and every interval by its half-width."""
    line = re.sub(r"[█░]+", "█", re.sub(r"([━─═-])\1+", r"\1", line))
    return BOUNDS.sub(lambda found: f" ± {(value(found[2]) - value(found[1])) / 2:.6g}", " ".join(line.split()))


def value(number: str) -> float:
    return float(number.replace(",", ""))


@dataclass(frozen=True)
class Slack:
    """How far a number may be from another run's: by its half-width or what is stated; a half-width, by a factor."""

    half: str = ""
    width: bool = False
    drawn: str | None = None


def slack(line: str) -> list[Slack]:
    """Return the slack of each number of a line, from the intervals in it."""
    found = {}
    for interval in INTERVAL.finditer(line):
        found[interval.start("at")] = Slack(interval["half"])
        found[interval.start("half")] = Slack(interval["half"], width=True)
    return [found.get(number.start(), Slack()) for number in NUMBER.finditer(line)]


def lesser(one: Slack, other: Slack, drawn: str | None) -> Slack:
    """Return the slack of two runs' numbers: the lesser, or what is stated where half-widths were drawn otherwise."""
    if drawn is not None and one.half != other.half:
        return Slack(width=one.width, drawn=drawn)
    return min(one, other, key=lambda each: value(each.half) if each.half else 0.0)


def alike(one: float, other: float, most: Slack, tolerance: str | None) -> bool:
    """Return whether two numbers differ by no more than their noise, or the stated tolerance, allows."""
    if most.width:
        return most.drawn is not None or max(one, other) <= WIDTHS_AGREE_WITHIN * min(one, other)
    if most.half:
        return abs(one - other) <= REACH * value(most.half)
    stated = most.drawn or tolerance or "0"
    part = stated.removesuffix("%")
    distance = float(part) / 100 * max(abs(one), abs(other)) if part != stated else float(part)
    return abs(one - other) <= distance


def cells_of(notebook: Path) -> list[Block]:
    """Return the code cells of a notebook as blocks, each followed by the text that it shows; pictures are left out."""
    blocks, line = list[Block](), 1
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        blocks.append(Block("python", code + "\n", line))
        line += code.count("\n") + 2
        texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"]]
        shown = re.sub(r"\x1b\[[\d;]*m", "", "\n".join("".join(text).rstrip("\n") for text in texts))
        settings = [tag for tag in cell["metadata"].get("tags", []) if tag.startswith(("noisy=", "drawn="))]
        blocks.append(Block(" ".join(["output", *settings]), shown + "\n", line))
    return blocks


def rewritten(text: str, name: str) -> str:
    """Return a page with its outputs written anew, from a run."""
    blocks = list(read_blocks(text))
    lines = text.splitlines(keepends=True)
    for block, printed in reversed(list(shown_outputs(blocks, list(run_blocks(blocks, name))))):
        kept = block.text.splitlines()
        told = printed.rstrip("\n").splitlines()
        if ELLIPSIS in kept and len(kept) <= len(told):
            place = kept.index(ELLIPSIS)
            told[place : len(told) - (len(kept) - place - 1)] = [ELLIPSIS]
        margin = " " * (len(lines[block.line - 2]) - len(lines[block.line - 2].lstrip()))
        fresh = [f"{margin}{line}".rstrip() + "\n" for line in told]
        length = 0 if block.text == "\n" else block.text.count("\n")
        lines[block.line - 1 : block.line - 1 + length] = fresh
    return "".join(lines)


NEEDS_POSTGRES = "<!-- runs on PostgreSQL -->"


@contextlib.contextmanager
def served(text: str) -> Iterator[None]:
    """Have a server for a page that states that it runs on one: its own database `hospital`, and its `owner`."""
    if NEEDS_POSTGRES not in text:
        yield
        return
    import postgres_server

    server = postgres_server.shared_durable_server()
    names = {"PGHOST": str(server.folder), "PGPORT": str(postgres_server.PORT)}
    before = {name: os.environ.get(name) for name in names}
    make = ("CREATE ROLE owner LOGIN CREATEROLE", "CREATE DATABASE hospital OWNER owner")
    server.execute(*make, database="postgres")
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        server.execute("DROP DATABASE hospital WITH (FORCE)", "DROP ROLE owner", database="postgres")


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with served(text):
                fresh = rewritten(text, name)
            os.chdir(ROOT)
            for picture in (ROOT / "docs" / "pictures").glob("*.png"):
                for drawn in Path(folder).rglob(picture.name):
                    picture.write_bytes(drawn.read_bytes())
        page.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
