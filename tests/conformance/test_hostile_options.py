"""Every argument and option of every command, found in the parser, given hostile texts.

What is allowed: an answer, or a refusal with a status of 2 (3 where the budget says no, 5 where the ledger does, 6
where there is no such token) and a message on standard error that names the option. Never a status of 70, never a
traceback, and no number out of what is no number in ASCII digits. A fixed tenth of the trials runs always, and all of
them with `PRIVET_SOAK`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parent))

from hostile_examples import ROWS, TOML

from privet import survey
from privet.cli import main
from privet.server import listening
from privet.server.listening import PrivetServer

SOAK = bool(os.environ.get("PRIVET_SOAK"))
SECONDS = 0.3
"""How long the quick trials of one option may take; those that do not fit are left to the soak."""

TEXTS = {
    "empty": "",
    "space": " ",
    "zero": "0",
    "minus zero": "-0",
    "minus one": "-1",
    "one": "1",
    "ten": "10",
    "half": "0.5",
    "third": "1/3",
    "over zero": "1/0",
    "two ratios": "1/2/3",
    "nan": "nan",
    "snan": "sNaN",
    "inf": "inf",
    "minus infinity": "-Infinity",
    "huge": "1e400",
    "enormous": "1e999999999",
    "tiny": "1e-400",
    "least double": "5e-324",
    "largest double": "1.7e308",
    "just below one": "0.99999999999999999999",
    "underscore": "1_0",
    "leading underscore": "_1",
    "Arabic": "١",
    "full width": "１",
    "superscript": "²",
    "blanks": " 1 ",
    "tab": "1\t",
    "newline": "1\n",
    "hexadecimal": "0x10",
    "octal": "0o7",
    "plus": "+1",
    "comma": "1,5",
    "thousands": "1,000",
    "percent": "50%",
    "percent of nothing": "%",
    "minus percent": "-5%",
    "many digits": "9" * 5000,
    "many decimals": "0." + "0" * 5000 + "1",
    "word": "abc",
    "long word": "x" * 100_000,
    "quotes": "'\";--",
    "surrogate": "\ud800",
    "control": "\x1b[31m\x07",
    "emoji": "🜚",
    "dash": "-",
    "dashes": "--",
    "option": "--json",
    "equals": "=",
    "pairs": "a=1,a=2",
    "brackets": "[]",
    "braces": "{}",
    "null": "null",
    "true": "true",
    "device": "/dev/null",
    "folder": "/",
    "here": ".",
    "nowhere": "/nonexistent/place",
    "url": "http://localhost:1/x",
    "select": "SELECT 1",
    "date": "2025-02-30",
    "time": "2025-01-01T00:00:00Z",
}

EXAMPLES = {
    "table": "visits",
    "columns": "ward",
    "column": "age",
    "shares": "A=0.5",
    "equals": "40",
    "first": "A",
    "second": "B",
    "formula": "age ~ ward",
    "tests": "mean age --equals 40",
    "condition": "age > 50",
    "when": "0.6",
    "people": "100",
    "power": "0.8",
    "level": "0.05",
    "norm": "2",
    "norm_kind": "L1",
    "ridge": "1",
    "submodels": "age ~ 1",
    "by": "age",
    "sql": "SELECT COUNT(*) AS n FROM visits",
    "more": "SELECT SUM(age) AS s FROM visits",
    "analyst": "alice",
    "account": "alice",
    "reason": "because",
    "epsilon": "1",
    "delta": "1e-6",
    "rho": "0.1",
    "within": "50",
    "at_most": "5",
    "confidence": "0.9",
    "contribution": "2,2",
    "scale": "1",
    "sigma": "2",
    "sensitivity": "1",
    "rate": "0.5",
    "p": "0.75",
    "number": "3",
    "names": "Exponential",
    "samples": "1000",
    "until": "never",
    "target": "copy.ledger",
    "source": "export.jsonl",
    "files": "visits.csv",
    "limit": "2",
    "options": "18",
    "horizon": "100",
    "window": "24",
    "threshold": "10",
    "folder": "kept.stream",
}
"""An argument that works, by the name of the parameter; needed only where a parameter must be given."""

NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(/[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?", re.ASCII | re.IGNORECASE
)

ALWAYS = {"audit": ("names",), "init": ("files",)}
"""What is given beside required parameters; the question and who asks it, elsewhere."""

SLOW = ("demo",)
"""Commands that take seconds by themselves: the demo makes up a hospital each time. They are left to the soak."""

SURVEY = survey.Survey("s", [survey.SurveyQuestion("q", "What?", ["no", "yes"], epsilon=1)])

SCORE = "SELECT COUNT(*) FROM visits WHERE age >= :option"

OWN = {
    ("choose", "sql"): SCORE,
    ("test fit", "column"): "ward",
    ("test means", "by"): "ward",
    ("test needed", "equals"): "0.5",
    ("test proportion", "equals"): "0.5",
    ("test proportions", "equals"): "0.5",
    ("test independence", "first"): "ward",
    ("test independence", "second"): "age",
    ("test proportions-equal", "column"): "ward",
    ("test proportions-equal", "value"): "A",
    ("test proportions", "by"): "ward",
    ("stream w-event open", "account"): "hourly",
    **{(f"stream w-event {name}", "account"): "daily" for name in ("step", "show", "verify")},
    ("test ranks", "by"): "ward",
    ("test ranks", "groups"): "A,B",
    ("survey new", "folder"): "new.survey",
    **{(f"survey {name}", "folder"): "kept.survey" for name in ("respond", "collect", "simulate")},
    **{(f"survey {name}", "folder"): "made.survey" for name in ("estimate", "plot")},
    ("survey simulate", "shares"): "yes=1",
}
"""Parameters whose example differs from that of others of their name."""

NEEDS = {
    "ledger limit": ["--epsilon=1", "--delta=1e-6"],
    "ledger top-up": ["--epsilon=1", "--delta=1e-6"],
    "init": ["--force", "--unit=patient"],
    "audit": ["--samples=1000"],
    "choose": ["--option=65", "--epsilon=1"],
    "survey new": ["--question=What?", "--answer=no", "--answer=yes", "--epsilon=1"],
    "survey simulate": ["--people=3"],
    "regress": ["--epsilon=1"],
    "test fit": ["--share=B=0.5", "--epsilon=1"],
    "test independence": ["--epsilon=1"],
    "test proportions-equal": ["--epsilon=1"],
    "test ranks": ["--epsilon=1", "--width=10"],
    **{f"test {name}": ["--epsilon=1"] for name in ("mean", "means")},
    "test paired": ["--column=age", "--by=ward", "--epsilon=1"],
    "test proportion": ["--equals=0.5", "--epsilon=1"],
    "test proportions": ["--epsilon=1"],
    "test needed": ["--epsilon=1"],
    "above": ["--epsilon=1"],
    "stream open": ["--epsilon=1", "--account=alice"],
    "stream w-event step": ["--number=2"],
    "calibrate gaussian": ["--delta=1e-6"],
}
"""What a command needs beside its required parameters, since it takes one of several."""


def commands(group: click.Command, path: tuple[str, ...], ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its name, groups opened."""
    if not isinstance(group, click.Group):
        yield " ".join(path), group
        return
    for name in group.list_commands(ctx):
        inner = group.get_command(ctx, name)
        assert inner is not None
        yield from commands(inner, (*path, name), click.Context(inner, parent=ctx))


PARAMETERS = [
    pytest.param(name, command, parameter, id=f"{name} {parameter.name}")
    for name, command in commands(main, (), click.Context(main))
    for parameter in command.params
    if not getattr(parameter, "is_flag", False) and name != "survey serve"  # which serves until it is interrupted
]


TRIED = [0]


@pytest.fixture(scope="module", autouse=True)
def told() -> Iterator[None]:
    """Print how much was tried, where output is shown."""
    yield
    print(f"\n{len(PARAMETERS)} arguments and options, {TRIED[0]:,} trials")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a privet.toml, its table, and a ledger with an answer."""
    folder = tmp_path_factory.mktemp("hostile-options")
    ROWS.to_csv(folder / "visits.csv", index=False)
    (folder / "privet.toml").write_text(TOML)
    asked = CliRunner().invoke(
        main, ["ask", EXAMPLES["sql"], "--epsilon=1", "--analyst=alice", f"--config={folder / 'privet.toml'}"]
    )
    assert asked.exit_code == 0, asked.output
    for words in (["open", "daily", "--epsilon=1", "--window=7"], ["step", "daily", "5"]):
        kept = CliRunner().invoke(main, ["stream", "w-event", *words, f"--config={folder / 'privet.toml'}"])
        assert kept.exit_code == 0, kept.output
    for name in ("kept.survey", "made.survey"):
        survey.SurveyFolder.create(folder / name, SURVEY)
    survey.simulate(survey.SurveyFolder(folder / "made.survey"), 20, {"yes": 0.5, "no": 0.5})
    return folder


@pytest.fixture
def place(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the world, which a command may change; a server stops as soon as it listens."""
    shutil.copytree(world, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run = PrivetServer.run

    def run_briefly(server: PrivetServer, *, signals: bool, started: Callable[[], object]) -> None:
        run(server, started=lambda: (started(), server.stop()))

    monkeypatch.setattr(PrivetServer, "run", run_briefly)
    monkeypatch.setattr(listening, "log_to_stderr", lambda: None)
    return tmp_path


def arguments(name: str, command: click.Command, given: click.Parameter, text: str) -> list[str]:
    """Return the words of a command line: what is needed, and one parameter with a text."""
    options, positional = [], []
    for parameter in command.params:
        flag = getattr(parameter, "is_flag", False)
        needed = (
            parameter.required
            or parameter.name in ("sql", "analyst")
            or (name == "audit" and parameter.name == "names")
        )
        if parameter is not given and (flag or not needed):
            continue
        example = OWN.get((name, parameter.name or ""), EXAMPLES.get(parameter.name or "", ""))
        value = text if parameter is given else example
        if isinstance(parameter, click.Argument):
            positional.append(value)
        elif parameter.nargs == 2:
            options += [parameter.opts[0], value, value]
        else:
            options.append(f"{parameter.opts[0]}={value}")
    extra = [one for one in NEEDS.get(name, []) if not any(one.startswith(f"{opt}=") for opt in given.opts)]
    return [*name.split(), *extra, *options, "--", *positional]


def is_number(parameter: click.Parameter) -> bool:
    """Return whether a parameter is a number: by the parser's own type."""
    kind = parameter.type
    function = getattr(kind, "func", None)
    return isinstance(kind, (click.types.IntParamType, click.types.FloatParamType)) or str(
        getattr(function, "__name__", "")
    ).endswith("number")


def fault(parameter: click.Parameter, text: str, result: Result, seconds: float) -> str | None:
    """Return what is wrong with how a command ended."""
    told = result.stderr
    if result.exit_code not in (0, 1, 2, 3, 5, 6):
        return f"status {result.exit_code}: {told[:200]}"
    if "Traceback" in told or (result.exception is not None and not isinstance(result.exception, SystemExit)):
        return f"raised {result.exception!r}"
    if result.exit_code in (1, 2) and not told.strip() and not result.stdout.strip():
        return f"status {result.exit_code} without a word"
    if is_number(parameter):
        name = (parameter.name or "").replace("_", "[-_ ]?")
        if result.exit_code == 0 and not NUMBER.fullmatch(text.strip(" \t")):
            return "accepted, and it is no number"
        unwritten = "can be written down" in told  # the word itself is quoted, before any option is read
        if result.exit_code == 2 and not unwritten and not re.search(name, told, re.IGNORECASE):
            return f"the message names nothing: {told[:200]}"
    return f"takes {seconds:.1f} s of CPU time" if seconds > 10 else None


@pytest.mark.parametrize(("name", "command", "parameter"), PARAMETERS)
@pytest.mark.filterwarnings("ignore")
def test_a_hostile_text_is_refused_by_name_or_answered(
    place: Path, name: str, command: click.Command, parameter: click.Parameter
) -> None:
    if name in SLOW and not SOAK:
        pytest.skip("left to the soak")
    faults, used = [], 0.0
    for label, text in TEXTS.items():
        tenth = zlib.crc32(f"{name}.{parameter.name}.{label}".encode()) % 10 == 0
        if not SOAK and (not tenth or used > SECONDS):
            continue
        shutil.rmtree("new.survey", ignore_errors=True)
        started = time.process_time()
        result = CliRunner().invoke(main, arguments(name, command, parameter, text))
        seconds = time.process_time() - started
        used += seconds
        TRIED[0] += 1
        wrong = fault(parameter, text, result, seconds)
        if wrong is not None:
            faults.append(f"{name} {parameter.opts[0]} {label!r}: {wrong}")
    assert not faults, "\n".join(faults)
